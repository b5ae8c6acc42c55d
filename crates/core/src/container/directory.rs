//! Directories: a small record that points at a list of keys.
//!
//! Format page: `docs/format/container.md`. Source: `TDirectoryFile::Streamer`, `TDirectoryFile::ReadKeys`.

use super::Key;
use crate::error::{Error, Result};
use crate::wire::{Limits, Reader, Writer};

/// `TDirectoryFile`'s record.
///
/// # Example
///
/// ```
/// use sapwood::container::Directory;
/// use sapwood::wire::Reader;
/// let directory = Directory { seek_dir: 100, seek_keys: 5000, ..Directory::default() };
/// assert_eq!(Directory::read(&mut Reader::new(&directory.to_bytes()))?, directory);
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Directory {
    /// `fDatimeC`, packed.
    pub created: u32,
    /// `fDatimeM`, packed.
    pub modified: u32,
    /// `fNbytesKeys`: bytes of the list of keys.
    pub nbytes_keys: u32,
    /// `fNbytesName`: bytes from the record's start to the directory's data.
    pub nbytes_name: u32,
    /// `fSeekDir`: this record.
    pub seek_dir: u64,
    /// `fSeekParent`: the parent's record; unreliable before ROOT 6.38.
    pub seek_parent: u64,
    /// `fSeekKeys`: the list of keys; 0 when it was never written.
    pub seek_keys: u64,
    /// `fUUID`, zero in old files.
    pub uuid: [u8; 16],
}

const VERSION: i16 = 5;
const BIG_VERSION: i16 = 1000;
/// The reserve that a record with 32-bit offsets keeps after them.
const RESERVE_BYTES: usize = 12;

impl Directory {
    /// Reads the record's data.
    pub fn read(reader: &mut Reader<'_>) -> Result<Self> {
        let version = reader.i16()?;
        let created = reader.u32()?;
        let modified = reader.u32()?;
        let nbytes_keys = reader.u32()?;
        let nbytes_name = reader.u32()?;
        let big = version > BIG_VERSION;
        let offset = |reader: &mut Reader<'_>| if big { reader.u64() } else { reader.u32().map(u64::from) };
        let seek_dir = offset(reader)?;
        let seek_parent = offset(reader)?;
        let seek_keys = offset(reader)?;
        let uuid = if version % BIG_VERSION > 1 && reader.left() >= 18 {
            reader.skip(2)?;
            reader.array()?
        } else {
            [0; 16]
        };
        Ok(Self { created, modified, nbytes_keys, nbytes_name, seek_dir, seek_parent, seek_keys, uuid })
    }

    /// The record's data in its stored form. Offsets take 64 bits where one needs them; the 32-bit form keeps 12 bytes
    /// in reserve, as ROOT's does, so that it can grow in place.
    pub fn to_bytes(&self) -> Vec<u8> {
        let limit = super::BIG_FILE;
        let big = [self.seek_dir, self.seek_parent, self.seek_keys].iter().any(|&seek| seek > limit);
        let mut writer = Writer::default();
        writer.i16(if big { VERSION + BIG_VERSION } else { VERSION });
        writer.u32(self.created);
        writer.u32(self.modified);
        writer.u32(self.nbytes_keys);
        writer.u32(self.nbytes_name);
        for seek in [self.seek_dir, self.seek_parent, self.seek_keys] {
            if big { writer.u64(seek) } else { writer.u32(seek as u32) }
        }
        writer.i16(1);
        writer.bytes(&self.uuid);
        if !big {
            writer.bytes(&[0; RESERVE_BYTES]);
        }
        writer.into_bytes()
    }

    /// The record's data, cut to so many bytes; the reserve may be cut, as files of old versions have none. None if it
    /// does not fit.
    pub(crate) fn to_bytes_within(&self, room: usize) -> Option<Vec<u8>> {
        let mut bytes = self.to_bytes();
        let is_big = bytes.first() != Some(&0);
        if bytes.len() > room && !is_big {
            bytes.truncate(room.max(bytes.len() - RESERVE_BYTES));
        }
        (bytes.len() <= room).then_some(bytes)
    }
}

/// Reads the payload of a list of keys.
///
/// # Errors
///
/// [`Malformed`](crate::ErrorKind::Malformed) where the list ends early or its count cannot be true.
pub fn read_key_list(reader: &mut Reader<'_>, limits: &Limits) -> Result<Vec<Key>> {
    const SMALLEST_KEY: usize = 29;
    let at = reader.position() as u64;
    let count = reader.i32()?;
    let most = (reader.left() / SMALLEST_KEY).min(limits.keys as usize);
    if count < 0 || count as usize > most {
        return Err(Error::malformed("a directory cannot have so many keys")
            .at(at)
            .wanted(most as u64, count as u32 as u64));
    }
    (0..count).map(|_| Key::parse(reader)).collect()
}

/// The payload of a list of keys.
pub(crate) fn write_key_list(keys: &[Key]) -> Vec<u8> {
    let mut bytes = (keys.len() as u32).to_be_bytes().to_vec();
    for key in keys {
        bytes.extend(key.to_bytes());
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_come_back_in_both_widths() {
        let small = Directory { nbytes_keys: 5, seek_dir: 100, seek_keys: 300, uuid: [1; 16], ..Directory::default() };
        let big = Directory { seek_keys: 1 << 33, ..small.clone() };
        for directory in [small, big] {
            let bytes = directory.to_bytes();
            assert_eq!(Directory::read(&mut Reader::new(&bytes)).unwrap(), directory);
        }
    }

    #[test]
    fn only_the_reserve_is_left_out_where_room_is_short() {
        let small = Directory { seek_dir: 100, uuid: [1; 16], ..Directory::default() };
        let whole = small.to_bytes();
        assert_eq!(small.to_bytes_within(whole.len()).unwrap(), whole);
        let cut = small.to_bytes_within(whole.len() - 5).unwrap();
        assert_eq!(Directory::read(&mut Reader::new(&cut)).unwrap(), small);
        assert_eq!(small.to_bytes_within(whole.len() - 13), None);
        let big = Directory { seek_keys: 1 << 33, ..small };
        assert_eq!(big.to_bytes_within(big.to_bytes().len() - 1), None);
    }

    #[test]
    fn key_lists_come_back_and_impossible_counts_do_not_allocate() {
        let keys = vec![Key { name: "a".into(), ..Key::default() }.sized(3); 4];
        let bytes = write_key_list(&keys);
        assert_eq!(read_key_list(&mut Reader::new(&bytes), &Limits::default()).unwrap(), keys);
        let mut broken = bytes;
        broken[0] = 0x7f;
        assert!(read_key_list(&mut Reader::new(&broken), &Limits::default()).is_err());
    }
}
