//! Checks records that were written after the last save.
//!
//! If only the process died, the file holds every byte that it wrote. If the machine died, some pages may be missing
//! and read as zeros, although later pages reached the disk.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;

use crate::codec::{Scratch, inflate};
use crate::container::{Directory, Key};
use crate::error::{Error, ErrorKind, Result};
use crate::file::File;
use crate::schema::{Encoder, StreamerInfo};
use crate::tree::{Basket, BasketBytes};
use crate::wire::Reader;

/// The page size of all systems that ROOT runs on is a multiple of this.
const PAGE_BYTES: u64 = 4096;
/// Fewer zeros than this at the end of the file are taken for the end of a record, not for a missing page.
const ZEROS: usize = 8;

/// A basket that was checked.
#[derive(Clone, Debug)]
pub(crate) struct CheckedBasket {
    pub(crate) entries: u64,
    /// The first page of zeros in an uncompressed payload: either values or a missing page.
    pub(crate) zeros_at: Option<u64>,
}

/// Checks records, each once.
pub(crate) struct Judge<'f> {
    file: &'f File,
    baskets: HashMap<u64, Result<CheckedBasket>>,
    memory: Vec<u8>,
    scratch: Scratch,
}

/// The outcome of checking an object's record.
pub(crate) enum Object {
    /// It is whole; reading it takes these classes.
    Whole(Vec<Arc<StreamerInfo>>),
    /// Its bytes are there, but the file does not describe its class.
    Undescribed(Error),
    /// It is the list of keys of another directory, which looks like a directory.
    List,
}

impl<'f> Judge<'f> {
    pub(crate) fn new(file: &'f File) -> Self {
        Self { file, baskets: HashMap::new(), memory: Vec::new(), scratch: Scratch::default() }
    }

    /// The file that is recovered.
    pub(crate) fn file(&self) -> &'f File {
        self.file
    }

    /// Reads, inflates and checks a basket.
    ///
    /// # Errors
    ///
    /// What reading it reports, and [`Malformed`](crate::ErrorKind::Malformed) if a page of its record is missing.
    pub(crate) fn basket(&mut self, key: &Key) -> Result<CheckedBasket> {
        if let Some(known) = self.baskets.get(&key.seek_key) {
            return known.clone();
        }
        let checked = self.look(key);
        self.baskets.insert(key.seek_key, checked.clone());
        checked
    }

    fn look(&mut self, key: &Key) -> Result<CheckedBasket> {
        let (record, zeros_at) = self.read(key)?;
        let basket = Basket::read(record, &self.file.options().limits)?;
        if let Some(at) = zeros_at.filter(|_| basket.key.is_compressed()) {
            return Err(Error::malformed("a page of the basket never reached the disk").at(at));
        }
        basket.unseal(&mut self.memory, &mut self.scratch)?;
        Ok(CheckedBasket { entries: u64::from(basket.entries), zeros_at })
    }

    /// A record, and the offset of its first page of zeros.
    fn read(&self, key: &Key) -> Result<(Bytes, Option<u64>)> {
        let room = key.room();
        let page_end = room.end.next_multiple_of(PAGE_BYTES).min(self.file.identity().len).max(room.end);
        let mut record = self.file.read_one(room.start..page_end)?;
        let zeros_at = lost_page(room.start, &record);
        record.truncate((room.end - room.start) as usize);
        Ok((record, zeros_at))
    }

    /// Checks the record of an object. Of a tree or an RNTuple, the baskets or pages after offset `behind` are checked
    /// as well: the last save covers those before it.
    ///
    /// # Errors
    ///
    /// Errors of reading the object, a basket of the tree or a page of the RNTuple.
    pub(crate) fn object(&mut self, key: &Key, behind: u64) -> Result<Object> {
        let payload = self.file.payload(key)?;
        if key.is_directory() {
            let record = Directory::read(&mut Reader::new(&payload))?;
            return Ok(if record.seek_dir == key.seek_key { Object::Whole(Vec::new()) } else { Object::List });
        }
        if let Some(at) = self.read(key)?.1.filter(|_| key.is_compressed()) {
            return Err(Error::malformed("a page of the record never reached the disk").at(at));
        }
        if key.is_tree() {
            self.tree(key, behind)?;
        }
        if key.is_ntuple() {
            self.ntuple(key, behind)?;
            return Ok(Object::Whole(Vec::new()));
        }
        match self.file.draft_at(key) {
            Ok(draft) => Ok(Object::Whole(Encoder::record(usize::from(key.keylen), &Arc::new(draft))?.1)),
            Err(error) if error.kind() == ErrorKind::Unsupported => Ok(Object::Undescribed(error)),
            Err(error) => Err(error),
        }
    }

    fn ntuple(&mut self, key: &Key, behind: u64) -> Result<()> {
        let ntuple = self.file.ntuple_at(key)?;
        if let Some((_, error)) = ntuple.unknown_clusters()?.into_iter().next() {
            return Err(error);
        }
        let (pages, faults) = ntuple.listed_pages()?;
        if let Some(fault) = faults.into_iter().find(|fault| !fault.is_harmless) {
            return Err(fault.error);
        }
        let mut inflated = Vec::new();
        for page in pages.iter().filter(|page| page.place.0 >= behind) {
            let stored = ntuple.stored_page(page)?;
            if stored.stored.len() < stored.inflated_bytes {
                inflated.resize(stored.inflated_bytes, 0);
                inflate(&stored.stored, &mut inflated, &mut self.scratch)?;
            }
        }
        Ok(())
    }

    fn tree(&mut self, key: &Key, behind: u64) -> Result<()> {
        let tree = self.file.tree_at(key)?;
        for branch in tree.branches().iter().filter(|branch| branch.file_name.is_empty()) {
            for basket in branch.baskets().iter() {
                let BasketBytes::Stored { seek, nbytes } = basket.bytes else { continue };
                if seek < behind {
                    continue;
                }
                let within = |error: Error| error.in_object(&branch.path);
                let there = self.file.key_at(seek).map_err(within)?;
                if there.nbytes != nbytes || there.seek_key != seek {
                    let error = Error::malformed("no basket stands where the tree says").at(seek);
                    return Err(within(error.wanted(u64::from(nbytes), u64::from(there.nbytes))));
                }
                self.basket(&there).map_err(within)?;
            }
        }
        Ok(())
    }
}

/// The first page of zeros in bytes that begin at `start` and end with a page or with the file.
fn lost_page(start: u64, bytes: &[u8]) -> Option<u64> {
    let mut at = start;
    let mut rest = bytes;
    while !rest.is_empty() {
        let length = (PAGE_BYTES - at % PAGE_BYTES).min(rest.len() as u64) as usize;
        let (page, behind) = rest.split_at(length);
        if page.len() >= ZEROS && page.iter().all(|&byte| byte == 0) {
            return Some(at);
        }
        at += length as u64;
        rest = behind;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_aligned_to_the_file() {
        let mut record = vec![1; 3 * PAGE_BYTES as usize];
        assert_eq!(lost_page(100, &record), None);
        let first = PAGE_BYTES as usize - 100;
        record[first..first + PAGE_BYTES as usize].fill(0);
        assert_eq!(lost_page(100, &record), Some(PAGE_BYTES));
        assert_eq!(lost_page(99, &record), None, "the zeros are no page there");
        let end = [[1; 100], [0; 100]].concat();
        assert_eq!(lost_page(PAGE_BYTES - 100, &end), Some(PAGE_BYTES));
        assert_eq!(lost_page(PAGE_BYTES - 96, &end), None);
        assert_eq!(lost_page(PAGE_BYTES - 100, &end[..104]), None, "four zeros at the end of the file");
    }
}
