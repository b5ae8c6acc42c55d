//! Byte counts, versions and class tags: what stands in front of every object.
//!
//! Format page: `docs/format/framing.md`. Source: `TBufferFile::ReadVersion`, `ReadClass`, `ReadObjectAny`.

use super::{BYTE_COUNT, Fixup, Reader, Writer};
use crate::error::{Error, Result};

/// Bit of a collection's version word: streamed member by member.
pub const MEMBER_WISE: i16 = 0x4000;
const NEW_CLASS: u32 = 0xFFFF_FFFF;
const CLASS_REFERENCE: u32 = 0x8000_0000;
/// Positions in tags are shifted by two, because 0 and 1 have meanings of their own.
const MAP_OFFSET: u32 = 2;

/// What stands in front of an object's members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Class version as written, with the member-wise bit where it is set.
    pub version: i16,
    /// Where the object ends, as a byte of the reader's slice; `None` where the file gives no byte count.
    pub end: Option<usize>,
}

impl Frame {
    /// The version without the member-wise bit.
    pub fn class_version(&self) -> i16 {
        if self.version > 0 { self.version & !MEMBER_WISE } else { self.version }
    }

    /// Whether the body is written member by member.
    pub fn is_member_wise(&self) -> bool {
        self.version > 0 && self.version & MEMBER_WISE != 0
    }
}

/// What an object slot holds: the place of a pointer in the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slot<'a> {
    /// A null pointer.
    Null,
    /// An object that stands at another position of the same bytes, most often an earlier one.
    Reference(usize),
    /// A reference with this tag to what the bytes do not have.
    Nowhere(u32),
    /// An object that follows.
    Object {
        /// Its class.
        class: &'a [u8],
        /// Where the slot begins: what later references to the object name.
        position: usize,
        /// Where it ends, as a byte of the slice; `None` where the file gives no byte count.
        end: Option<usize>,
    },
}

impl<'a> Reader<'a> {
    /// Reads an optional byte count and a version.
    #[inline]
    pub fn frame(&mut self) -> Result<Frame> {
        let word = if self.left() >= 4 { self.peek_u32()? } else { 0 };
        let end = if word & BYTE_COUNT != 0 && word & CLASS_REFERENCE == 0 {
            self.skip(4)?;
            Some(self.end_after(word & !BYTE_COUNT)?)
        } else {
            None
        };
        Ok(Frame { version: self.i16()?, end })
    }

    fn end_after(&self, count: u32) -> Result<usize> {
        let end = self.at() + count as usize;
        if end > self.whole().len() || count < 2 {
            return Err(Error::malformed("a byte count does not fit")
                .at(self.position() as u64)
                .wanted(self.left() as u64, u64::from(count)));
        }
        Ok(end)
    }

    /// Checks that a frame was read to its end, and moves there if not all of it was wanted.
    ///
    /// # Errors
    ///
    /// [`Malformed`](crate::ErrorKind::Malformed) if more was read than the frame holds, or less.
    #[inline]
    pub fn finish(&mut self, frame: Frame, what: &str) -> Result<()> {
        match frame.end {
            Some(end) if end != self.at() => Err(self.out_of_step(end, what)),
            _ => Ok(()),
        }
    }

    #[cold]
    fn out_of_step(&self, end: usize, what: &str) -> Error {
        Error::malformed(format!("{what} does not end where its byte count says"))
            .at(self.position() as u64)
            .wanted((self.origin() + end) as u64, self.position() as u64)
    }

    /// Reads the head of an object slot; for [`Slot::Object`] the reader stands at the object's frame afterwards.
    ///
    /// `displacement` corrects tags of entries that a circular tree moved; it is 0 everywhere else.
    pub fn slot(&mut self, displacement: i64) -> Result<Slot<'a>> {
        let position = self.position();
        let mut tag = self.u32()?;
        let mut end = None;
        if tag & BYTE_COUNT != 0 && tag != NEW_CLASS && tag & CLASS_REFERENCE == 0 {
            end = Some(self.end_after(tag & !BYTE_COUNT)?);
            tag = self.u32()?;
        }
        if tag == NEW_CLASS {
            return Ok(Slot::Object { class: self.zero_ended()?, position, end });
        }
        if tag & CLASS_REFERENCE != 0 {
            let class = self.class_at(tag & !CLASS_REFERENCE, displacement)?;
            return Ok(Slot::Object { class, position, end });
        }
        match tag {
            0 => Ok(Slot::Null),
            tag => {
                let target = i64::from(tag) - i64::from(MAP_OFFSET) + displacement;
                let bytes = self.origin()..self.origin() + self.whole().len();
                Ok(match usize::try_from(target) {
                    // ROOT looks at later positions, too: `TBufferFile::CheckObject`.
                    Ok(target) if bytes.contains(&target) => Slot::Reference(target),
                    // 1 stands for the record itself.
                    _ if tag == 1 => Slot::Reference(self.origin()),
                    _ => Slot::Nowhere(tag),
                })
            }
        }
    }

    /// The class name that a class reference points at: it stands in the bytes, so no map is needed.
    fn class_at(&self, tag: u32, displacement: i64) -> Result<&'a [u8]> {
        let wrong = || {
            Error::malformed("a class reference points at no class")
                .at(self.position() as u64)
                .wanted(0, u64::from(tag))
        };
        let place = i64::from(tag) - i64::from(MAP_OFFSET) + displacement - self.origin() as i64;
        let place = usize::try_from(place).map_err(|_| wrong())?;
        let mut there = self.clone();
        there.seek(place).map_err(|_| wrong())?;
        if there.u32().map_err(|_| wrong())? != NEW_CLASS {
            return Err(wrong());
        }
        there.zero_ended().map_err(|_| wrong())
    }
}

impl Writer {
    /// Writes an object slot: a byte count, the class's name or a reference to where it stands already, and what `body`
    /// writes. Gives the position that later references name.
    pub fn object(&mut self, class: &str, body: impl FnOnce(&mut Self)) -> usize {
        let (position, slot) = self.open_object(class);
        body(self);
        self.close(slot);
        position
    }

    /// Begins an object slot; gives the position that later references name, and what [`close`](Self::close) takes.
    pub(crate) fn open_object(&mut self, class: &str) -> (usize, usize) {
        let position = self.position();
        let slot = self.open();
        let place = self.position() as u32;
        match self.classes.get(class) {
            Some(&first) => self.tag(CLASS_REFERENCE, first),
            None => {
                self.classes.insert(class.into(), place);
                self.u32(NEW_CLASS);
                self.bytes(class.as_bytes());
                self.u8(0);
            }
        }
        (position, slot)
    }

    /// Forgets where the names of classes stand: what follows refers to none of them.
    pub(crate) fn forget_classes(&mut self) {
        self.classes.clear();
    }

    /// Writes an object slot that names an object written before, by what [`object`](Self::object) gave.
    pub fn reference(&mut self, position: usize) {
        self.tag(0, position as u32);
    }

    /// Writes a tag that names a position.
    pub(crate) fn tag(&mut self, bits: u32, position: u32) {
        self.fixup(Fixup::Tag { bits, position });
        self.u32(bits | position.saturating_add(MAP_OFFSET));
    }

    /// Writes a null pointer.
    pub fn null(&mut self) {
        self.u32(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_object_of_a_class_refers_to_the_first_ones_name() {
        let origin = 50;
        let mut bytes = vec![0x40, 0, 0, 10, 0xff, 0xff, 0xff, 0xff, b'A', b'b', 0, 0, 1, 9];
        let tag = CLASS_REFERENCE | (origin + 4 + MAP_OFFSET);
        bytes.extend([0x40, 0, 0, 6]);
        bytes.extend(tag.to_be_bytes());
        bytes.extend([0, 1]);
        bytes.extend((origin + MAP_OFFSET).to_be_bytes());
        bytes.extend([0; 4]);
        let mut reader = Reader::with_origin(&bytes, origin as usize);
        assert_eq!(reader.slot(0).unwrap(), Slot::Object { class: b"Ab", position: 50, end: Some(14) });
        reader.seek(14).unwrap();
        assert_eq!(reader.slot(0).unwrap(), Slot::Object { class: b"Ab", position: 64, end: Some(24) });
        reader.seek(24).unwrap();
        assert_eq!(reader.slot(0).unwrap(), Slot::Reference(50));
        assert_eq!(reader.slot(0).unwrap(), Slot::Null);
    }

    #[test]
    fn slots_come_back() {
        let mut writer = Writer::with_origin(50);
        let first = writer.object("Ab", |writer| writer.framed(1, |writer| writer.u8(7)));
        writer.object("Ab", |writer| writer.framed(1, |writer| writer.u8(8)));
        writer.object("C", |writer| writer.framed(2, |_| ()));
        writer.reference(first);
        writer.null();
        let bytes = writer.into_bytes();
        let mut reader = Reader::with_origin(&bytes, 50);
        for (class, version) in [(&b"Ab"[..], 1), (b"Ab", 1), (b"C", 2)] {
            let Slot::Object { class: found, end: Some(end), .. } = reader.slot(0).unwrap() else {
                panic!("no object")
            };
            assert_eq!((found, reader.frame().unwrap()), (class, Frame { version, end: Some(end) }));
            reader.seek(end).unwrap();
        }
        assert_eq!((reader.slot(0).unwrap(), reader.slot(0).unwrap()), (Slot::Reference(50), Slot::Null));
    }

    #[test]
    fn a_frame_without_byte_count_is_a_bare_version() {
        let frame = Reader::new(&[0, 3, 0, 0]).frame().unwrap();
        assert_eq!(frame, Frame { version: 3, end: None });
    }

    #[test]
    fn tags_that_point_nowhere_are_errors() {
        for word in [0x8000_0001_u32, 0x8fff_ffff, 0x7fff_ffff] {
            let bytes = word.to_be_bytes();
            assert!(Reader::with_origin(&bytes, 60).slot(0).is_err(), "{word:#x}");
        }
        // A dangling reference to an object is reported only when the pointer is followed.
        for tag in [0x0fff_ffff, 61, 66] {
            let bytes = u32::to_be_bytes(tag);
            assert_eq!(Reader::with_origin(&bytes, 60).slot(0).unwrap(), Slot::Nowhere(tag));
        }
    }
}
