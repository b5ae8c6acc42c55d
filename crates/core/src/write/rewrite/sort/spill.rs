//! A temporary file that holds entries by bucket: their keys, and their bytes branch by branch.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::keys::Keys;
use crate::codec::{Algorithm, Compression, Scratch, deflate, inflate};
use crate::error::{Error, Result};
use crate::write::basket::raw_entries::RawEntries;

/// The fastest compression.
const FAST: Compression = Compression { algorithm: Algorithm::Lz4, level: 1 };

/// A file that exists as long as this value. It has no name while it is open, so that nothing is left of it, however
/// the process ends.
#[derive(Debug)]
pub(super) struct Spill {
    file: File,
    path: PathBuf,
    end: u64,
}

/// Entries of one bucket that came together.
#[derive(Debug)]
pub(super) struct Chunk {
    keys: Block,
    rows: Block,
    /// Entries.
    pub(super) len: usize,
}

/// Bytes in the file.
#[derive(Clone, Debug)]
struct Block {
    at: u64,
    stored_bytes: usize,
    bytes: usize,
}

/// A chunk before it has its place.
pub(super) struct Packed {
    keys: (Vec<u8>, usize),
    rows: (Vec<u8>, usize),
    len: usize,
}

impl Spill {
    /// Creates an empty file in a folder.
    pub(super) fn new(folder: &Path) -> Result<Self> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = folder.join(format!("sapwood-sort-{}-{number}", std::process::id()));
        let named = |error| Error::system("cannot create a temporary file", error).in_file(path.to_string_lossy());
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(&path).map_err(named)?;
        std::fs::remove_file(&path).map_err(named)?;
        Ok(Self { file, path, end: 0 })
    }

    fn named(&self, words: &'static str, error: std::io::Error) -> Error {
        Error::system(words, error).in_file(self.path.to_string_lossy())
    }

    /// Appends a chunk.
    pub(super) fn add(&mut self, packed: &Packed) -> Result<Chunk> {
        let keys = self.append(&packed.keys)?;
        let rows = self.append(&packed.rows)?;
        Ok(Chunk { keys, rows, len: packed.len })
    }

    fn append(&mut self, (stored, bytes): &(Vec<u8>, usize)) -> Result<Block> {
        let written = self.file.write_all_at(stored, self.end);
        written.map_err(|error| self.named("cannot write a temporary file", error))?;
        let block = Block { at: self.end, stored_bytes: stored.len(), bytes: *bytes };
        self.end += stored.len() as u64;
        Ok(block)
    }

    fn read(&self, block: &Block, scratch: &mut Scratch) -> Result<Vec<u8>> {
        let mut stored = vec![0; block.stored_bytes];
        let read = self.file.read_exact_at(&mut stored, block.at);
        read.map_err(|error| self.named("cannot read a temporary file", error))?;
        if block.stored_bytes == block.bytes {
            return Ok(stored);
        }
        let mut bytes = vec![0; block.bytes];
        inflate(&stored, &mut bytes, scratch).map_err(|error| error.in_file(self.path.to_string_lossy()))?;
        Ok(bytes)
    }

    /// Appends the keys of a chunk, and the bytes of each of its entries.
    pub(super) fn keys(
        &self,
        chunk: &Chunk,
        keys: &mut Keys,
        sizes: &mut Vec<u32>,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let bytes = self.read(&chunk.keys, scratch)?;
        let mut bytes = Taken(&bytes);
        let words = bytes.take(8 * keys.width * chunk.len)?;
        keys.words.extend(words.as_chunks().0.iter().map(|word| u64::from_ne_bytes(*word)));
        sizes.extend(bytes.take(4 * chunk.len)?.as_chunks().0.iter().map(|size| u32::from_ne_bytes(*size)));
        Ok(())
    }

    /// Appends the wanted entries of a chunk to those of each branch; `wanted` has a word for each entry.
    pub(super) fn rows(
        &self,
        chunk: &Chunk,
        wanted: &[bool],
        into: &mut [RawEntries],
        scratch: &mut Scratch,
    ) -> Result<()> {
        let bytes = self.read(&chunk.rows, scratch)?;
        let mut bytes = Taken(&bytes);
        for into in into {
            match bytes.number()? {
                ABSENT => {}
                VARIES => {
                    let lengths: &[[u8; 4]] = bytes.take(4 * chunk.len)?.as_chunks().0;
                    let lengths = || lengths.iter().map(|length| u32::from_ne_bytes(*length) as usize);
                    let data = bytes.take(lengths().sum())?;
                    let mut start = 0;
                    let mut all = RawEntries { starts: vec![0], ..RawEntries::default() };
                    for (length, &is_wanted) in lengths().zip(wanted) {
                        if is_wanted {
                            all.data.extend_from_slice(data.get(start..start + length).unwrap_or_default());
                            all.starts.push(all.data.len());
                        }
                        start += length;
                    }
                    into.append(all)?;
                }
                width => {
                    let width = width as usize;
                    let data = bytes.take(width.saturating_mul(chunk.len))?;
                    let mut all = RawEntries { starts: vec![0], width: Some(width), ..RawEntries::default() };
                    for (row, _) in wanted.iter().enumerate().filter(|(_, is_wanted)| **is_wanted) {
                        all.data.extend_from_slice(data.get(row * width..(row + 1) * width).unwrap_or_default());
                        all.starts.push(all.data.len());
                    }
                    into.append(all)?;
                }
            }
        }
        Ok(())
    }
}

/// Marks of branches: one without entries, and one whose entries differ in length. Others have the length of all.
const ABSENT: u64 = u64::MAX;
const VARIES: u64 = u64::MAX - 1;

/// Packs some entries.
pub(super) fn pack(keys: &Keys, sizes: &[u32], branches: &[RawEntries], rows: &[u32]) -> Result<Packed> {
    let mut scratch = Scratch::default();
    let mut bytes = Vec::with_capacity(rows.len() * (8 * keys.width + 4));
    for &row in rows {
        keys.row(row as usize).iter().for_each(|word| bytes.extend_from_slice(&word.to_ne_bytes()));
    }
    rows.iter().for_each(|&row| {
        let size = sizes.get(row as usize).copied().unwrap_or(0);
        bytes.extend_from_slice(&size.to_ne_bytes());
    });
    let keys = squeeze(bytes, &mut scratch)?;
    let total = rows.iter().map(|&row| sizes.get(row as usize).map_or(0, |&size| size as usize)).sum();
    let mut bytes = Vec::with_capacity(total);
    for branch in branches {
        let entry = |row: u32| branch.entry(row as usize).ok_or_else(|| Error::internal("an entry was not read"));
        match (branch.starts.is_empty(), branch.width) {
            (true, _) => {
                bytes.extend_from_slice(&ABSENT.to_ne_bytes());
                continue;
            }
            (_, Some(width)) => bytes.extend_from_slice(&(width as u64).to_ne_bytes()),
            (_, None) => {
                bytes.extend_from_slice(&VARIES.to_ne_bytes());
                for &row in rows {
                    let length = u32::try_from(entry(row)?.len())
                        .map_err(|_| Error::limit("bytes of an entry", u64::from(u32::MAX), u64::MAX))?;
                    bytes.extend_from_slice(&length.to_ne_bytes());
                }
            }
        }
        for &row in rows {
            bytes.extend_from_slice(entry(row)?);
        }
    }
    Ok(Packed { keys, rows: squeeze(bytes, &mut scratch)?, len: rows.len() })
}

/// Compressed bytes, or the bytes themselves if that makes them no smaller; and how many they were.
fn squeeze(bytes: Vec<u8>, scratch: &mut Scratch) -> Result<(Vec<u8>, usize)> {
    let mut packed = Vec::new();
    let length = bytes.len();
    Ok(if deflate(&bytes, FAST, &mut packed, scratch)? { (packed, length) } else { (bytes, length) })
}

/// Bytes that are taken one after another.
struct Taken<'b>(&'b [u8]);

impl<'b> Taken<'b> {
    fn take(&mut self, bytes: usize) -> Result<&'b [u8]> {
        let cut = self.0.split_at_checked(bytes);
        let (taken, rest) = cut.ok_or_else(|| Error::internal("a temporary file ends too early"))?;
        self.0 = rest;
        Ok(taken)
    }

    fn number(&mut self) -> Result<u64> {
        Ok(self.take(8)?.first_chunk().map_or(0, |bytes| u64::from_ne_bytes(*bytes)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_come_back_and_the_file_has_no_name() {
        let folder = sapwood_testkit::scratch("spill");
        std::fs::create_dir_all(&folder).unwrap();
        let mut spill = Spill::new(&folder).unwrap();
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
        let keys = Keys { width: 1, words: vec![5, 4, 3] };
        let texts = RawEntries { data: b"abbccc".to_vec(), starts: vec![0, 1, 3, 6], width: None };
        let numbers = RawEntries { data: vec![1, 2, 3], starts: vec![0, 1, 2, 3], width: Some(1) };
        let packed = pack(&keys, &[2, 3, 4], &[texts, RawEntries::default(), numbers], &[0, 2]).unwrap();
        let chunk = spill.add(&packed).unwrap();
        let mut scratch = Scratch::default();
        let mut read = Keys { width: 1, words: vec![] };
        let mut sizes = Vec::new();
        spill.keys(&chunk, &mut read, &mut sizes, &mut scratch).unwrap();
        assert_eq!((read.words, sizes, chunk.len), (vec![5, 3], vec![2, 4], 2));
        let mut all = [RawEntries::default(), RawEntries::default(), RawEntries::default()];
        spill.rows(&chunk, &[true, true], &mut all, &mut scratch).unwrap();
        spill.rows(&chunk, &[false, true], &mut all, &mut scratch).unwrap();
        assert_eq!((&all[0].data[..], &all[0].starts[..]), (&b"acccccc"[..], &[0, 1, 4, 7][..]));
        assert!(all[1].starts.is_empty());
        assert_eq!((&all[2].data[..], all[2].width), (&[1, 3, 3][..], Some(1)));
    }
}
