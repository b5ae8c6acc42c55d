//! The blocks of one state of a file, over all its segments.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};

use sapwood::io::ByteRange;

use super::folder::Folder;
use super::segment::{BLOCK_BYTES, BLOCKS, DATA_AT, Segment, Table, blocks};
use super::state::State;

/// Segments that stay open.
const OPEN: usize = 32;
/// So many blocks are read in one call: 256 KiB, which a core's own cache holds, so that their checksums cost no second
/// trip to memory.
const AT_ONCE: usize = (256 << 10) / BLOCK_BYTES as usize;

/// Segments that are open.
pub(crate) type Opened = Mutex<Vec<Arc<Segment>>>;

/// What is kept of a state of a file.
pub(crate) struct BlockIndex<'a> {
    pub(crate) folder: &'a Folder,
    pub(crate) state: &'a State,
    pub(crate) opened: &'a Opened,
    /// Of the file.
    pub(crate) len: u64,
}

impl<'a> BlockIndex<'a> {
    /// Reads blocks: for one call, since it looks once at what there is.
    pub(crate) fn reader(&'a self) -> Reader<'a> {
        Reader { block_index: self, views: HashMap::new(), edge: None }
    }

    fn length_of(&self, block: u64) -> usize {
        // At most the length of a block.
        self.len.saturating_sub(block * BLOCK_BYTES).min(BLOCK_BYTES) as usize
    }

    /// Segments that are open; none where a thread has them that a fork left behind.
    fn opened(&self) -> Option<MutexGuard<'_, Vec<Arc<Segment>>>> {
        match self.opened.try_lock() {
            Ok(guard) => Some(guard),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            // Held for a few instructions at a time: to open a file once more is no loss.
            Err(TryLockError::WouldBlock) => None,
        }
    }

    fn segment(&self, number: u64, create: bool) -> std::io::Result<Option<Arc<Segment>>> {
        if let Some(opened) = self.opened()
            && let Some(found) = opened.iter().find(|segment| segment.number() == number)
        {
            return Ok(Some(Arc::clone(found)));
        }
        let Some(found) = Segment::open(self.folder, self.state, number, create)?.map(Arc::new) else {
            return Ok(None);
        };
        if let Some(mut opened) = self.opened() {
            if opened.len() >= OPEN {
                opened.remove(0);
            }
            opened.push(Arc::clone(&found));
        }
        Ok(Some(found))
    }

    /// Keeps blocks that have come; a failure ends the keeping, and is said once.
    pub(crate) fn keep(&self, run: &ByteRange, bytes: &[u8]) {
        if !self.folder.is_open() || self.state.text().is_none() {
            return;
        }
        let mut block = run.start / BLOCK_BYTES;
        let mut rest = bytes;
        while !rest.is_empty() {
            let (number, slot) = (block / BLOCKS, block % BLOCKS);
            let most = ((BLOCKS - slot) * BLOCK_BYTES) as usize;
            let (here, behind) = rest.split_at(most.min(rest.len()));
            if let Err(error) = self.keep_in(number, slot, here) {
                self.folder.stop_writing("nothing more is kept", &error);
                return;
            }
            (block, rest) = (block + BLOCKS - slot, behind);
        }
    }

    fn keep_in(&self, number: u64, slot: u64, bytes: &[u8]) -> std::io::Result<()> {
        // A page more than the blocks, for what they share.
        if !self.folder.admit(bytes.len() as u64 + DATA_AT) {
            return Ok(());
        }
        let mut segment = self.segment(number, true)?;
        if segment.as_ref().is_some_and(|segment| !segment.takes()) {
            // It was removed to make room: there may be another one by now.
            if let Some(mut opened) = self.opened() {
                opened.retain(|segment| segment.number() != number);
            }
            segment = self.segment(number, true)?;
        }
        match segment {
            Some(segment) if segment.takes() => segment.write(slot, bytes),
            Some(_) => Err(std::io::ErrorKind::PermissionDenied.into()),
            None => Ok(()),
        }
    }
}

/// A segment, and what it had when it was looked at.
type View = (Arc<Segment>, Table);

/// The segment of that number as it was when it was first looked at.
fn view<'v>(
    views: &'v mut HashMap<u64, Option<View>>,
    block_index: &BlockIndex<'_>,
    number: u64,
) -> Option<&'v mut View> {
    let view = views.entry(number).or_insert_with(|| {
        if !block_index.folder.is_usable() {
            return None;
        }
        Some((block_index.segment(number, false).ok().flatten()?, Table::default()))
    });
    view.as_mut()
}

/// Reads what is kept.
pub(crate) struct Reader<'a> {
    block_index: &'a BlockIndex<'a>,
    views: HashMap<u64, Option<View>>,
    /// A block that was wanted in part: its neighbour may want the rest.
    edge: Option<(u64, Vec<u8>)>,
}

impl Reader<'_> {
    /// Whether a block has an entry; whether it is damaged shows when it is read.
    pub(crate) fn has(&mut self, block: u64) -> bool {
        let view = view(&mut self.views, self.block_index, block / BLOCKS);
        view.is_some_and(|(segment, table)| table.sum(segment, block % BLOCKS).is_some())
    }

    /// Reads a range; blocks that are not kept, or damaged, are added to `missing`, and their bytes are anything.
    pub(crate) fn read(&mut self, range: &ByteRange, into: &mut [u8], missing: &mut Vec<u64>) {
        let all = blocks(range);
        let mut block = all.start;
        while block < all.end {
            let number = block / BLOCKS;
            let last = all.end.min((number + 1) * BLOCKS);
            let block_index = self.block_index;
            let Some((segment, table)) = view(&mut self.views, block_index, number) else {
                missing.extend(block..last);
                block = last;
                continue;
            };
            if table.sum(segment, block % BLOCKS).is_none() {
                missing.push(block);
                block += 1;
                continue;
            }
            let start = block * BLOCK_BYTES;
            let inside = |block: u64| {
                let start = block * BLOCK_BYTES;
                range.start <= start && start + block_index.length_of(block) as u64 <= range.end
            };
            if inside(block) {
                let mut kept = |block: &u64| table.sum(segment, block % BLOCKS).is_some() && inside(*block);
                let some = (block..last).take(AT_ONCE).take_while(&mut kept).count() as u64;
                let bytes: usize = (block..block + some).map(|block| block_index.length_of(block)).sum();
                let at = (start - range.start) as usize;
                let Some(place) = into.get_mut(at..at + bytes) else { return };
                let good = segment.read(block % BLOCKS, table, place);
                missing.extend((block..).zip(good).filter(|(_, good)| !good).map(|(block, _)| block));
                block += some;
                continue;
            }
            if self.edge.as_ref().is_none_or(|(of, _)| *of != block) {
                let mut whole = vec![0; block_index.length_of(block)];
                let good = segment.read(block % BLOCKS, table, &mut whole).first() == Some(&true);
                self.edge = good.then_some((block, whole));
            }
            match &self.edge {
                Some((_, whole)) => {
                    let here = range.start.max(start)..range.end.min(start + whole.len() as u64);
                    let to = (here.start - range.start) as usize..(here.end - range.start) as usize;
                    let from = (here.start - start) as usize..(here.end - start) as usize;
                    if let (Some(to), Some(from)) = (into.get_mut(to), whole.get(from)) {
                        to.copy_from_slice(from);
                    }
                }
                None => missing.push(block),
            }
            block += 1;
        }
    }
}
