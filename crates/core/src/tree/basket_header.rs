//! `TBasket`'s own fields, which follow the key of a basket: read and written.
//!
//! Format page: `docs/format/basket.md`. Source: `TBasket::Streamer`.

use crate::container::Key;
use crate::error::{Error, Result};
use crate::wire::{Reader, Writer};

/// The fields of a basket after its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BasketHeader {
    /// The version of `TBasket` that wrote it.
    pub(crate) version: i16,
    /// `fBufferSize`: bytes that a basket of the branch holds before compression.
    pub(crate) buffer_bytes: i32,
    /// `fNevBufSize`: bytes of an entry, or, if there are offsets, their number.
    pub(crate) entry_bytes: i32,
    /// `fIOBits`: 0 unless offsets are left out or stored as differences.
    pub(crate) io_bits: u8,
    /// `fNevBuf`.
    pub(crate) entries: i32,
    /// `fLast`: the end of the entries, counted from the key's first byte.
    pub(crate) last: i32,
    /// What follows: from 80 on, offsets that were left out.
    pub(crate) flag: u8,
}

/// The only feature of `fIOBits` that exists: offsets are stored as differences, or not at all (`kGenerateOffsetMap`).
pub(crate) const GENERATE_OFFSETS: u8 = 1;

impl BasketHeader {
    /// The version of `TBasket` that we write.
    pub(crate) const VERSION: i16 = 3;
    /// Its bytes if there are no I/O features.
    pub(crate) const BYTES: usize = 19;
    /// The offsets of `fNevBufSize` and `fLast` in it then.
    const ENTRY_BYTES_AT: usize = 6;
    const LAST_AT: usize = 14;

    /// Reads the fields after a key.
    ///
    /// # Errors
    ///
    /// [`Malformed`](crate::ErrorKind::Malformed) for a negative length of entries or a header that is cut off;
    /// [`Unsupported`](crate::ErrorKind::Unsupported) for features of later versions.
    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self> {
        let version = reader.i16()?;
        let buffer_bytes = reader.i32()?;
        let mut entry_bytes = reader.i32()?;
        let mut io_bits = 0;
        // A negative length means that features follow.
        if entry_bytes < 0 {
            entry_bytes = entry_bytes.checked_neg().ok_or_else(|| {
                Error::malformed("a basket's entries have an impossible length").wanted(0, u64::from(i32::MIN as u32))
            })?;
            io_bits = reader.u8()?;
            if io_bits != GENERATE_OFFSETS {
                return Err(Error::unsupported("a basket has features of a later version")
                    .wanted(u64::from(GENERATE_OFFSETS), u64::from(io_bits)));
            }
        }
        let (entries, last, flag) = (reader.i32()?, reader.i32()?, reader.u8()?);
        Ok(Self { version, buffer_bytes, entry_bytes, io_bits, entries, last, flag })
    }

    /// Writes the fields.
    pub(crate) fn write(&self, writer: &mut Writer) {
        writer.i16(self.version);
        writer.i32(self.buffer_bytes);
        match self.io_bits {
            0 => writer.i32(self.entry_bytes),
            bits => {
                writer.i32(-self.entry_bytes);
                writer.bytes(&[bits]);
            }
        }
        writer.i32(self.entries);
        writer.i32(self.last);
        writer.bytes(&[self.flag]);
    }

    /// Changes the header in a finished record, which begins with the key of the basket; features stay as they are.
    ///
    /// # Errors
    ///
    /// Those of [`read`](Self::read).
    pub(crate) fn update(record: &mut [u8], change: impl FnOnce(&mut Self)) -> Result<()> {
        let mut reader = Reader::new(record);
        Key::parse_nameless(&mut reader)?;
        let start = reader.position();
        let mut header = Self::read(&mut reader)?;
        let io_bits = header.io_bits;
        change(&mut header);
        let mut writer = Writer::default();
        Self { io_bits, ..header }.write(&mut writer);
        let bytes = writer.into_bytes();
        let found = record.get_mut(start..start + bytes.len());
        found.ok_or_else(|| Error::malformed("a basket is shorter than its header"))?.copy_from_slice(&bytes);
        Ok(())
    }

    /// Writes what is known only once the entries are in the basket, into a header that [`write`](Self::write) wrote.
    pub(crate) fn patch(header: &mut [u8; Self::BYTES], entry_bytes: i32, last: i32) {
        for (at, word) in [(Self::ENTRY_BYTES_AT, entry_bytes), (Self::LAST_AT, last)] {
            header[at..at + 4].copy_from_slice(&word.to_be_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_and_patched_is_read() {
        let header = BasketHeader {
            version: BasketHeader::VERSION,
            buffer_bytes: 32_000,
            entry_bytes: 0,
            io_bits: 0,
            entries: 7,
            last: 0,
            flag: 0,
        };
        let mut writer = Writer::default();
        header.write(&mut writer);
        let mut bytes: [u8; BasketHeader::BYTES] = writer.into_bytes().try_into().unwrap();
        BasketHeader::patch(&mut bytes, 8, 126);
        let found = BasketHeader::read(&mut Reader::new(&bytes)).unwrap();
        assert_eq!(found, BasketHeader { entry_bytes: 8, last: 126, ..header });
    }

    #[test]
    fn a_finished_record_is_changed_as_if_it_had_been_written_so() {
        for io_bits in [0, GENERATE_OFFSETS] {
            let header =
                BasketHeader { version: 2, buffer_bytes: 1, entry_bytes: 4, io_bits, entries: 7, last: 90, flag: 80 };
            let record = |header: BasketHeader| {
                let key = Key { class: "TBasket".into(), name: "b".into(), title: "t".into(), ..Key::default() };
                let mut writer = Writer::default();
                writer.bytes(&key.sized(30).to_bytes());
                header.write(&mut writer);
                writer.bytes(b"payload");
                writer.into_bytes()
            };
            let mut changed = record(header);
            BasketHeader::update(&mut changed, |header| {
                header.buffer_bytes = 2;
                header.entry_bytes = 8;
                header.last = 120;
            })
            .unwrap();
            assert_eq!(changed, record(BasketHeader { buffer_bytes: 2, entry_bytes: 8, last: 120, ..header }));
            let cut = changed.len() - 12;
            assert!(BasketHeader::update(&mut changed[..cut], |_| ()).is_err(), "cut off");
        }
    }

    #[test]
    fn features_of_later_versions_are_refused() {
        let mut bytes = vec![0, 3, 0, 0, 0, 100];
        bytes.extend((-8_i32).to_be_bytes());
        let rest = [0; 9];
        let read = |bits: u8| BasketHeader::read(&mut Reader::new(&[&bytes[..], &[bits], &rest].concat()));
        assert_eq!(read(1).unwrap().entry_bytes, 8);
        assert!(read(2).is_err());
        bytes[6..10].copy_from_slice(&i32::MIN.to_be_bytes());
        assert!(BasketHeader::read(&mut Reader::new(&[&bytes[..], &rest].concat())).is_err());
    }
}
