//! Writes records: reserves space and marks it as a gap, fills it, and writes its first word last, which turns it into
//! records.
//!
//! Source: `TKey::Create`, `TKey::WriteFile`, `TFile::MakeFree`.

use std::io::IoSlice;
use std::ops::Range;
use std::sync::{Arc, MutexGuard, PoisonError};

use crate::codec::{self, Compression};
use crate::container::{BIG_FILE, Key};
use crate::error::{Error, ErrorKind, Result};
use crate::schema::{Draft, Encoder};
use crate::write::basket::buffer::RowBuffer;
use crate::write::basket::{PlacedBasket, SealedBasket};
use crate::write::file::state::{Output, State};

/// Objects below that many bytes are not worth compressing (`TKey`).
const LEAST_COMPRESSED_BYTES: usize = 256;

impl Output {
    pub(crate) fn put(&self, at: u64, parts: &[&[u8]]) -> Result<()> {
        let parts: Vec<IoSlice<'_>> = parts.iter().map(|part| IoSlice::new(part)).collect();
        self.sink.write_at(at, &parts).map_err(|error| self.in_file(error.at(at)))
    }

    /// Marks a range as a gap, so that a record walk skips it.
    pub(crate) fn mark_gap(&self, gap: &Range<u64>) -> Result<()> {
        /// A marker is a 32-bit number.
        const LONGEST: u64 = 2_000_000_000;
        let mut start = gap.start;
        while start < gap.end {
            let left = gap.end - start;
            // The remainder must hold a marker itself.
            let bytes = if left <= LONGEST { left } else { LONGEST.min(left - 4) };
            self.put(start, &[&Key::gap_marker(bytes as u32)])?;
            start += bytes;
        }
        Ok(())
    }

    /// Marks unused space as a gap, now or before the next record is written.
    pub(crate) fn mark_or_defer_gap(&self, room: Range<u64>) {
        if self.mark_gap(&room).is_err() {
            self.unmarked.lock().unwrap_or_else(PoisonError::into_inner).push(room);
        }
    }

    /// Marks the gaps whose markers failed before.
    pub(crate) fn mark_deferred_gaps(&self) -> Result<()> {
        let mut unmarked = self.unmarked.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(room) = unmarked.last() {
            self.mark_gap(room)?;
            unmarked.pop();
        }
        Ok(())
    }

    /// Writes records at `at`: a gap until everything but the first word is written, then records. If this process
    /// dies, the file holds one or the other.
    ///
    /// # Errors
    ///
    /// What the sink reports. The space is a gap then, and the caller releases it.
    pub(crate) fn write_records(&self, at: u64, parts: &[&[u8]]) -> Result<()> {
        let bytes: usize = parts.iter().map(|part| part.len()).sum();
        let room = at..at + bytes as u64;
        self.mark_deferred_gaps()
            .and_then(|()| self.mark_gap(&room))
            .inspect_err(|_| self.mark_or_defer_gap(room.clone()))?;
        self.fill_gap(at, parts)
    }

    /// Fills a gap with records. The first word, which turns the gap into records, is written last.
    pub(crate) fn fill_gap(&self, at: u64, parts: &[&[u8]]) -> Result<()> {
        /// The length of the first record.
        const WORD: usize = 4;
        let Some((first, rest)) = parts.split_first().filter(|(first, _)| first.len() >= WORD) else {
            return Err(self.in_file(Error::mismatch("a record without a key")));
        };
        let (word, behind) = first.split_at(WORD);
        let mut body = vec![behind];
        body.extend_from_slice(rest);
        self.put(at + WORD as u64, &body)?;
        self.put(at, &[word])
    }

    /// Writes baskets one after another at the end of the file; returns their offsets. `directory` is the offset of the
    /// record of the directory that holds their tree, `rows` what each was sealed from, `number` its number in its
    /// branch. Only space and numbers are taken under the lock; on failure the space is a gap.
    pub(crate) fn append<'r>(
        &self,
        mut state: MutexGuard<'_, State>,
        directory: u64,
        baskets: &mut [SealedBasket],
        rows: impl Fn(usize) -> Option<&'r RowBuffer>,
        mut number: impl FnMut(&State, usize) -> usize,
    ) -> Result<Vec<u64>> {
        let bytes: u64 = baskets.iter().map(|basket| u64::from(basket.nbytes())).sum();
        let start = state.free_list.allocate_at_end(bytes);
        let (mut at, mut places) = (start, Vec::with_capacity(baskets.len()));
        let mut outcome = Ok(());
        for (index, basket) in baskets.iter_mut().enumerate() {
            outcome = outcome.and(basket.patch_location(at, directory, number(&state, index)));
            places.push(at);
            at += u64::from(basket.nbytes());
        }
        drop(state);
        if places.is_empty() {
            return Ok(places);
        }
        let baskets: &[SealedBasket] = baskets;
        let parts: Vec<&[u8]> =
            baskets.iter().enumerate().flat_map(|(index, basket)| basket.parts(rows(index))).collect();
        let outcome = match outcome {
            Ok(()) => self.write_records(start, &parts),
            Err(error) => {
                self.mark_or_defer_gap(start..at);
                Err(self.in_file(error))
            }
        };
        if let Err(error) = outcome {
            self.lock_state()?.free_list.release(start..at);
            return Err(error);
        }
        Ok(places)
    }

    /// Releases baskets that no header names and no reader will see. Each becomes a gap at once, so that recovery does
    /// not take them for clusters of a writer that died.
    pub(crate) fn release_baskets(&self, state: &mut State, baskets: &[PlacedBasket]) {
        baskets.iter().for_each(|basket| self.release_as_gap(state, basket.room()));
    }

    /// Releases space that no header names, and marks it as a gap at once.
    pub(crate) fn release_as_gap(&self, state: &mut State, room: Range<u64>) {
        self.mark_or_defer_gap(room.clone());
        state.free_list.release(room);
    }

    /// [`write_records`](Self::write_records) that releases the space on failure.
    pub(crate) fn write_or_release(&self, state: &mut State, at: u64, parts: &[&[u8]]) -> Result<()> {
        self.write_records(at, parts).inspect_err(|_| {
            let bytes: usize = parts.iter().map(|part| part.len()).sum();
            state.free_list.release(at..at + bytes as u64);
        })
    }

    /// A key without offset and lengths. Whether it uses 64-bit offsets is decided here, since its length shifts
    /// positions in the payload; no record is longer than the margin.
    pub(crate) fn key(&self, state: &State, class: &str, name: &Arc<str>, title: &Arc<str>) -> Key {
        const MARGIN: u64 = 1 << 30;
        /// `TKey` cuts titles at so many bytes: the length of a key is a 16-bit number.
        const LONGEST_TITLE: usize = 30_000;
        Key {
            version: if state.free_list.end() > BIG_FILE - MARGIN { 1004 } else { 4 },
            class: class.into(),
            name: Arc::clone(name),
            title: cut_text(title, LONGEST_TITLE),
            datime: self.now(),
            ..Key::default()
        }
    }

    /// Reserves space for a record: returns the key with offset and lengths.
    pub(crate) fn reserve(
        &self,
        state: &mut State,
        folder: usize,
        key: Key,
        objlen: usize,
        stored: usize,
    ) -> Result<Key> {
        let key = Key { objlen: objlen as u32, seek_pdir: state.folder_seek(folder), ..key };
        let key = key.sized(stored as u32);
        let (at, rest) = state.free_list.allocate(u64::from(key.nbytes));
        // Until the rest has its own marker, the marker of the whole gap covers it: write to neither part.
        if let Some(rest) = rest
            && let Err(error) = self.mark_gap(&rest)
        {
            state.free_list.undo_allocate(at..at + u64::from(key.nbytes));
            return Err(error);
        }
        Ok(Key { seek_key: at, ..key })
    }

    /// Writes a record, compressed if it is large enough and gets smaller.
    pub(crate) fn put_record(&self, state: &mut State, folder: usize, key: Key, payload: &[u8]) -> Result<Key> {
        self.put_packed(state, folder, key, payload, self.compression)
    }

    /// The same, compressed in another way than the file's.
    fn put_packed(
        &self,
        state: &mut State,
        folder: usize,
        key: Key,
        payload: &[u8],
        compression: Compression,
    ) -> Result<Key> {
        let mut packed = Vec::new();
        let mut scratch = self.options.session.scratches().take();
        let is_packed =
            payload.len() > LEAST_COMPRESSED_BYTES && codec::deflate(payload, compression, &mut packed, &mut scratch)?;
        let stored = if is_packed { &packed } else { payload };
        self.put_stored(state, folder, key, payload.len(), stored)
    }

    /// Writes a record whose payload is already in its stored form.
    pub(crate) fn put_stored(
        &self,
        state: &mut State,
        folder: usize,
        key: Key,
        objlen: usize,
        stored: &[u8],
    ) -> Result<Key> {
        let key = self.reserve(state, folder, key, objlen, stored.len())?;
        self.write_or_release(state, key.seek_key, &[&key.to_bytes(), stored])?;
        Ok(key)
    }

    /// Writes an object under the name in `key`, with the next cycle, or replacing `old`.
    pub(crate) fn write_object(
        &self,
        state: &mut State,
        folder: usize,
        key: Key,
        object: &Arc<Draft>,
        old: Option<&Key>,
    ) -> Result<Key> {
        let key = self.with_cycle(state, folder, key, old)?;
        let keylen = usize::from(key.clone().sized(0).keylen);
        let (payload, classes) =
            Encoder::record(keylen, object).map_err(|error| self.in_file(error.in_object(&key.name)))?;
        let key = self.put_object(state, folder, key, &payload, self.compression, old)?;
        state.describe(classes);
        Ok(key)
    }

    /// The key of an object with the next cycle of its name, or with that of `old`.
    pub(crate) fn with_cycle(&self, state: &State, folder: usize, key: Key, old: Option<&Key>) -> Result<Key> {
        let folder = &state.folders[folder];
        if old.is_none() && folder.named(&key.name, None).any(|key| key.is_directory()) {
            let words = format!("{:?} is a directory", key.name);
            return Err(self.in_file(Error::new(ErrorKind::Exists, words)));
        }
        let cycle = old.map_or_else(|| folder.next_cycle(&key.name), |old| Ok(old.cycle))?;
        Ok(Key { cycle, ..key })
    }

    /// Writes an object's payload under a key that has its cycle, replacing `old`.
    pub(crate) fn put_object(
        &self,
        state: &mut State,
        folder: usize,
        key: Key,
        payload: &[u8],
        compression: Compression,
        old: Option<&Key>,
    ) -> Result<Key> {
        let key = self.put_packed(state, folder, key, payload, compression)?;
        match old {
            Some(old) => {
                state.folders[folder].replace(old, key.clone());
                state.free_list.release(old.room());
            }
            None => state.folders[folder].add(key.clone()),
        }
        Ok(key)
    }
}

/// The text, cut to at most so many bytes.
fn cut_text(text: &Arc<str>, bytes: usize) -> Arc<str> {
    if text.len() <= bytes {
        return Arc::clone(text);
    }
    let end = (0..=bytes).rev().find(|&end| text.is_char_boundary(end)).unwrap_or(0);
    text.get(..end).unwrap_or_default().into()
}
