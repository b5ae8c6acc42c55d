//! A bounded big-endian reader.

use crate::error::{Error, Result};

/// Reads big-endian values from a slice and never beyond it.
///
/// Positions count from the start of the record's *key*, as ROOT's own buffer positions do, so that class tags and
/// object references can be compared with them: `origin` is the key's length.
///
/// # Example
///
/// ```
/// use sapwood::wire::Reader;
/// let mut reader = Reader::new(&[0, 0, 0, 7, 2, b'h', b'i']);
/// assert_eq!(reader.u32()?, 7);
/// assert_eq!(reader.string()?, b"hi");
/// assert!(reader.u8().is_err());
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    origin: usize,
}

macro_rules! primitives {
    ($($name:ident $type:ty),* $(,)?) => {$(
        #[doc = concat!("Reads one big-endian `", stringify!($type), "`.")]
        #[inline]
        pub fn $name(&mut self) -> Result<$type> {
            Ok(<$type>::from_be_bytes(self.array()?))
        }
    )*};
}

impl<'a> Reader<'a> {
    /// A reader over a payload that no key precedes.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0, origin: 0 }
    }

    /// A reader over a payload whose first byte has position `origin` (the key's length).
    pub fn with_origin(bytes: &'a [u8], origin: usize) -> Self {
        Self { bytes, at: 0, origin }
    }

    primitives!(u8 u8, i8 i8, u16 u16, i16 i16, u32 u32, i32 i32, u64 u64, i64 i64, f32 f32, f64 f64);

    /// Bytes read so far.
    #[inline]
    pub fn at(&self) -> usize {
        self.at
    }

    /// Position counted from the start of the key.
    #[inline]
    pub fn position(&self) -> usize {
        self.origin + self.at
    }

    /// Bytes left.
    #[inline]
    pub fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// The whole slice, read or not.
    pub fn whole(&self) -> &'a [u8] {
        self.bytes
    }

    /// Position of the first byte of the slice.
    pub fn origin(&self) -> usize {
        self.origin
    }

    /// The next `N` bytes.
    #[inline]
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        match self.bytes[self.at..].first_chunk::<N>() {
            Some(chunk) => {
                self.at += N;
                Ok(*chunk)
            }
            None => Err(self.short(N)),
        }
    }

    /// The next `count` bytes.
    #[inline]
    pub fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        if count > self.left() {
            return Err(self.short(count));
        }
        let taken = &self.bytes[self.at..self.at + count];
        self.at += count;
        Ok(taken)
    }

    /// Skips `count` bytes.
    #[inline]
    pub fn skip(&mut self, count: usize) -> Result<()> {
        self.take(count).map(drop)
    }

    /// Moves to byte `at` of the slice.
    pub fn seek(&mut self, at: usize) -> Result<()> {
        if at > self.bytes.len() {
            return Err(Error::malformed("a position lies beyond the end")
                .at(self.position() as u64)
                .wanted(self.bytes.len() as u64, at as u64));
        }
        self.at = at;
        Ok(())
    }

    /// Passes over words of zero, at most so many; gives their number.
    pub(crate) fn zeros(&mut self, most: usize) -> usize {
        const BLOCK: usize = 8;
        let (words, _) = self.bytes[self.at..].as_chunks::<4>();
        let words = &words[..most.min(words.len())];
        let (blocks, _) = words.as_chunks::<BLOCK>();
        let blocks = BLOCK * blocks.iter().take_while(|block| **block == [[0; 4]; BLOCK]).count();
        let zeros = blocks + words[blocks..].iter().take_while(|word| **word == [0; 4]).count();
        self.at += 4 * zeros;
        zeros
    }

    /// The next four bytes as a number, without reading them.
    #[inline]
    pub fn peek_u32(&self) -> Result<u32> {
        match self.bytes[self.at..].first_chunk::<4>() {
            Some(chunk) => Ok(u32::from_be_bytes(*chunk)),
            None => Err(self.short(4)),
        }
    }

    /// The next four bytes as a number, to decide how to go on; 0 where fewer are left, which reading them then
    /// reports.
    pub(crate) fn peek_or_zero(&self) -> u32 {
        self.peek_u32().unwrap_or(0)
    }

    /// A counted string: one length byte, or 255 and four.
    ///
    /// Source: `TString::Streamer`, `TBufferFile::ReadStdString`.
    #[inline]
    pub fn string(&mut self) -> Result<&'a [u8]> {
        let length = match self.u8()? {
            255 => self.count()?,
            short => usize::from(short),
        };
        self.take(length)
    }

    /// A counted string as text. ROOT gives no encoding: what is no UTF-8 is taken as Latin-1.
    pub fn text(&mut self) -> Result<String> {
        Ok(text(self.string()?))
    }

    /// A string that ends with a zero byte.
    pub fn zero_ended(&mut self) -> Result<&'a [u8]> {
        let rest = &self.bytes[self.at..];
        match rest.iter().position(|&byte| byte == 0) {
            Some(length) => {
                self.at += length + 1;
                Ok(&rest[..length])
            }
            None => Err(Error::malformed("a string has no end").at(self.position() as u64)),
        }
    }

    /// A count as `i32` that is neither negative nor more than the bytes left: nothing that is counted takes no byte,
    /// so a caller may allocate by it.
    #[inline]
    pub fn count(&mut self) -> Result<usize> {
        let at = self.position();
        let count = self.i32()?;
        match usize::try_from(count) {
            Ok(count) if count <= self.left() => Ok(count),
            _ => Err(Error::malformed("a count is negative or larger than what follows")
                .at(at as u64)
                .wanted(self.left() as u64, count as u32 as u64)),
        }
    }

    /// The error for `wanted` bytes that are not there.
    #[cold]
    pub fn short(&self, wanted: usize) -> Error {
        Error::malformed("the bytes end too early").at(self.position() as u64).wanted(wanted as u64, self.left() as u64)
    }
}

/// Bytes as text. ROOT gives no encoding: what is no UTF-8 is taken as Latin-1.
pub fn text(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => bytes.iter().map(|&byte| char::from(byte)).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_strings_have_a_four_byte_length() {
        let mut bytes = vec![255, 0, 0, 1, 4];
        bytes.extend([b'x'; 260]);
        assert_eq!(Reader::new(&bytes).string().unwrap().len(), 260);
    }

    #[test]
    fn a_count_larger_than_the_rest_is_refused_before_anyone_allocates() {
        let error = Reader::with_origin(&[0x7f, 0xff, 0xff, 0xff, 0], 60).count().unwrap_err();
        assert_eq!(error.place().offset, Some(60));
        assert_eq!(error.place().expected, Some(1));
    }

    #[test]
    fn zeros_end_with_another_word_the_most_and_the_bytes() {
        let mut bytes = [0; 4 * 21 + 3];
        bytes[4 * 20 + 3] = 1;
        let zeros = |from: usize, most| {
            let mut reader = Reader::new(&bytes);
            reader.skip(from).unwrap();
            (reader.zeros(most), reader.at())
        };
        assert_eq!(zeros(0, 100), (20, 80));
        assert_eq!(zeros(0, 20), (20, 80));
        assert_eq!(zeros(0, 17), (17, 68));
        assert_eq!(zeros(0, 0), (0, 0));
        assert_eq!(zeros(80, 1), (0, 80));
        assert_eq!(zeros(84, 1), (0, 84), "three bytes are no word");
    }

    #[test]
    fn reading_beyond_the_end_says_where() {
        let mut reader = Reader::with_origin(&[1, 2], 10);
        reader.u8().unwrap();
        let error = reader.u32().unwrap_err();
        assert_eq!((error.place().offset, error.place().expected, error.place().found), (Some(11), Some(4), Some(1)));
    }
}
