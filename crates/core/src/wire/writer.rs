//! The big-endian counterpart of [`Reader`](super::Reader).

use std::collections::HashMap;

use super::Fixup;

/// Appends big-endian values to a buffer.
///
/// # Example
///
/// ```
/// use sapwood::wire::{Reader, Writer};
/// let mut writer = Writer::default();
/// writer.i32(-2);
/// writer.string(b"name");
/// let bytes = writer.into_bytes();
/// let mut reader = Reader::new(&bytes);
/// assert_eq!((reader.i32()?, reader.string()?), (-2, &b"name"[..]));
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Writer {
    bytes: Vec<u8>,
    origin: usize,
    /// Where the names of classes stand that were written with an object.
    pub(super) classes: HashMap<Box<str>, u32>,
    /// Fixups and how many bytes stand before each, where they are wanted.
    fixups: Option<Vec<(usize, Fixup)>>,
}

macro_rules! primitives {
    ($($name:ident $type:ty),* $(,)?) => {$(
        #[doc = concat!("Appends one big-endian `", stringify!($type), "`.")]
        #[inline]
        pub fn $name(&mut self, value: $type) {
            self.bytes.extend_from_slice(&value.to_be_bytes());
        }
    )*};
}

impl Writer {
    /// A writer whose first byte has position `origin` (the key's length).
    pub fn with_origin(origin: usize) -> Self {
        Self { origin, ..Self::default() }
    }

    /// A writer that appends to bytes, and keeps their memory.
    pub(crate) fn behind(bytes: Vec<u8>) -> Self {
        Self { bytes, ..Self::default() }
    }

    /// The same, where the first of these bytes has position `origin`.
    pub(crate) fn behind_at(origin: usize, bytes: Vec<u8>) -> Self {
        Self { bytes, origin, ..Self::default() }
    }

    primitives!(u8 u8, i8 i8, u16 u16, i16 i16, u32 u32, i32 i32, u64 u64, i64 i64, f32 f32, f64 f64);

    /// Position counted from the start of the key.
    pub fn position(&self) -> usize {
        self.origin + self.bytes.len()
    }

    /// Appends bytes as they are.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Makes room for so many bytes more.
    pub(crate) fn reserve(&mut self, bytes: usize) {
        self.bytes.reserve(bytes);
    }

    /// Appends so many bytes, for the caller to fill.
    pub(crate) fn room(&mut self, bytes: usize) -> &mut [u8] {
        let at = self.bytes.len();
        self.bytes.resize(at + bytes, 0);
        &mut self.bytes[at..]
    }

    /// Appends a counted string: one length byte, or 255 and four.
    pub fn string(&mut self, text: &[u8]) {
        match u8::try_from(text.len()) {
            Ok(short) if short < 255 => self.u8(short),
            _ => {
                self.u8(255);
                self.u32(text.len() as u32);
            }
        }
        self.bytes(text);
    }

    /// Writes what `body` writes inside a byte-counted frame of class version `version`.
    pub fn framed(&mut self, version: i16, body: impl FnOnce(&mut Self)) {
        let frame = self.open();
        self.i16(version);
        body(self);
        self.close(frame);
    }

    /// Takes note of fixups from here on.
    pub(crate) fn note_fixups(&mut self) {
        self.fixups = Some(Vec::new());
    }

    /// The fixups that were noted.
    pub(crate) fn take_fixups(&mut self) -> Vec<(usize, Fixup)> {
        self.fixups.take().unwrap_or_default()
    }

    /// Notes what is written next, where that is wanted.
    #[inline]
    pub(crate) fn fixup(&mut self, fixup: Fixup) {
        if let Some(fixups) = &mut self.fixups {
            fixups.push((self.bytes.len(), fixup));
        }
    }

    /// Begins what has a byte count in front.
    pub(crate) fn open(&mut self) -> usize {
        self.fixup(Fixup::Open);
        self.u32(0);
        self.bytes.len()
    }

    /// Ends what was begun with [`open`](Self::open).
    pub(crate) fn close(&mut self, opened: usize) {
        let count = (self.bytes.len() - opened) as u32 | super::BYTE_COUNT;
        self.bytes[opened - 4..opened].copy_from_slice(&count.to_be_bytes());
        self.fixup(Fixup::Close);
    }

    /// What was written.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// What was written, to look at.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Reader;

    #[test]
    fn strings_of_every_border_length_come_back() {
        for length in [0, 1, 254, 255, 256, 70_000] {
            let text = vec![b'a'; length];
            let mut writer = Writer::default();
            writer.string(&text);
            let bytes = writer.into_bytes();
            let mut reader = Reader::new(&bytes);
            assert_eq!(reader.string().unwrap(), text);
            assert_eq!(reader.left(), 0);
        }
    }

    #[test]
    fn frames_nest() {
        let mut writer = Writer::default();
        writer.framed(3, |outer| {
            outer.u8(1);
            outer.framed(4, |inner| inner.u16(2));
        });
        let bytes = writer.into_bytes();
        let mut reader = Reader::new(&bytes);
        let outer = reader.frame().unwrap();
        assert_eq!((outer.version, outer.end), (3, Some(15)));
        reader.u8().unwrap();
        let inner = reader.frame().unwrap();
        assert_eq!((inner.version, inner.end), (4, Some(15)));
    }
}
