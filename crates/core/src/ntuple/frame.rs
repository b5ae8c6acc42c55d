//! Little-endian values, strings and frames: what envelopes are made of.

use crate::error::{Error, Result};

/// Reads little-endian values from a slice and never beyond it. Positions count from the envelope's first byte.
#[derive(Clone, Debug)]
pub(crate) struct FrameReader<'a> {
    bytes: &'a [u8],
    at: usize,
    origin: usize,
}

macro_rules! numbers {
    ($($name:ident $type:ty),* $(,)?) => {$(
        pub(crate) fn $name(&mut self) -> Result<$type> {
            Ok(<$type>::from_le_bytes(self.array()?))
        }
    )*};
}

impl<'a> FrameReader<'a> {
    /// A reader of `bytes`, the first of which has position `origin`.
    pub(crate) fn new(bytes: &'a [u8], origin: usize) -> Self {
        Self { bytes, at: 0, origin }
    }

    numbers!(u16 u16, u32 u32, i32 i32, u64 u64, i64 i64, f64 f64);

    /// Position of the next byte.
    pub(crate) fn position(&self) -> usize {
        self.origin + self.at
    }

    /// Bytes left.
    pub(crate) fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        match self.bytes[self.at..].first_chunk::<N>() {
            Some(chunk) => {
                self.at += N;
                Ok(*chunk)
            }
            None => Err(self.short(N)),
        }
    }

    /// The next `count` bytes.
    pub(crate) fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        if count > self.left() {
            return Err(self.short(count));
        }
        let taken = &self.bytes[self.at..self.at + count];
        self.at += count;
        Ok(taken)
    }

    #[cold]
    fn short(&self, wanted: usize) -> Error {
        Error::malformed("an envelope or a frame ends too early")
            .at(self.position() as u64)
            .wanted(wanted as u64, self.left() as u64)
    }

    /// A string: four bytes of length, UTF-8.
    pub(crate) fn string(&mut self) -> Result<&'a str> {
        let bytes = self.blob()?;
        std::str::from_utf8(bytes)
            .map_err(|error| Error::malformed("a name or text is not UTF-8").at(self.position() as u64).because(error))
    }

    /// Bytes after four bytes of length.
    pub(crate) fn blob(&mut self) -> Result<&'a [u8]> {
        let length = self.u32()?;
        self.take(length as usize)
    }

    /// The members of a record frame; moves behind the frame. What follows the known members is for later versions.
    pub(crate) fn record(&mut self) -> Result<Self> {
        let at = self.position();
        match self.frame()? {
            (inside, None) => Ok(inside),
            (_, Some(_)) => Err(Error::malformed("there is a list frame in place of a record frame").at(at as u64)),
        }
    }

    /// The items of a list frame, and how many there are; moves behind the frame. What follows the items is the
    /// caller's, or for later versions.
    ///
    /// `item_bytes` is the least that an item takes: a count that the frame cannot hold is an error, so that the caller
    /// may allocate by it.
    pub(crate) fn list(&mut self, item_bytes: usize) -> Result<(Self, usize)> {
        let at = self.position();
        match self.frame()? {
            (inside, Some(items)) if items.saturating_mul(item_bytes) <= inside.left() => Ok((inside, items)),
            (inside, Some(items)) => Err(Error::malformed("a list frame is too short for its items")
                .at(at as u64)
                .wanted(items.saturating_mul(item_bytes) as u64, inside.left() as u64)),
            (_, None) => Err(Error::malformed("there is a record frame in place of a list frame").at(at as u64)),
        }
    }

    fn frame(&mut self) -> Result<(Self, Option<usize>)> {
        let (start, at) = (self.at, self.position());
        let size = self.i64()?;
        let items = if size < 0 { Some(self.u32()? as usize) } else { None };
        let whole = usize::try_from(size.unsigned_abs()).unwrap_or(usize::MAX);
        let (head, all) = (self.at - start, self.bytes.len() - start);
        if whole < head || whole > all {
            let message = "a frame's size does not fit what it is in";
            return Err(Error::malformed(message).at(at as u64).wanted(all as u64, size.unsigned_abs()));
        }
        let end = start + whole;
        let inside = Self { bytes: &self.bytes[self.at..end], at: 0, origin: self.position() };
        self.at = end;
        Ok((inside, items))
    }
}

/// Appends little-endian values, strings and frames.
#[derive(Debug, Default)]
pub(crate) struct FrameWriter {
    pub(crate) bytes: Vec<u8>,
}

macro_rules! write_numbers {
    ($($name:ident $type:ty),* $(,)?) => {$(
        pub(crate) fn $name(&mut self, value: $type) {
            self.bytes.extend_from_slice(&value.to_le_bytes());
        }
    )*};
}

impl FrameWriter {
    write_numbers!(u16 u16, u32 u32, i32 i32, u64 u64, i64 i64, f64 f64);

    /// A string.
    pub(crate) fn string(&mut self, text: &str) -> Result<()> {
        self.blob(text.as_bytes())
    }

    /// Bytes with their length before them.
    pub(crate) fn blob(&mut self, bytes: &[u8]) -> Result<()> {
        let length = u32::try_from(bytes.len())
            .map_err(|_| Error::limit("a text is too long for an RNTuple", u64::from(u32::MAX), bytes.len() as u64))?;
        self.u32(length);
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    /// A record frame around what `members` appends.
    pub(crate) fn record(&mut self, members: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        let start = self.bytes.len();
        self.i64(0);
        members(self)?;
        let size = (self.bytes.len() - start) as i64;
        self.patch(start, size)
    }

    /// A list frame of `count` items around what `items` appends.
    pub(crate) fn list(&mut self, count: usize, items: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        let count = u32::try_from(count)
            .map_err(|_| Error::limit("a list of an RNTuple is too long", u64::from(u32::MAX), count as u64))?;
        let start = self.bytes.len();
        self.i64(0);
        self.u32(count);
        items(self)?;
        let size = (self.bytes.len() - start) as i64;
        self.patch(start, -size)
    }

    fn patch(&mut self, at: usize, size: i64) -> Result<()> {
        let place = self.bytes.get_mut(at..at + 8).ok_or_else(|| Error::internal("a frame has no size"))?;
        place.copy_from_slice(&size.to_le_bytes());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_come_back_and_unknown_members_are_skipped() -> Result<()> {
        let mut writer = FrameWriter::default();
        writer.record(|record| {
            record.u16(7);
            record.string("later")?;
            record.list(2, |list| {
                list.u32(1);
                list.u32(2);
                list.u64(99); // a trailer
                Ok(())
            })
        })?;
        writer.u32(5);
        let mut reader = FrameReader::new(&writer.bytes, 100);
        let mut record = reader.record()?;
        assert_eq!((record.u16()?, reader.u32()?, reader.left()), (7, 5, 0));
        assert_eq!(record.string()?, "later");
        let (mut list, items) = record.list(4)?;
        assert_eq!((items, list.u32()?, list.u32()?, list.u64()?), (2, 1, 2, 99));
        Ok(())
    }

    #[test]
    fn lies_about_sizes_are_errors() {
        let mut list = FrameWriter::default();
        list.list(1_000_000, |_| Ok(())).unwrap();
        let error = FrameReader::new(&list.bytes, 8).list(4).unwrap_err();
        assert_eq!(
            (error.place().offset, error.place().expected, error.place().found),
            (Some(8), Some(4_000_000), Some(0))
        );
        for size in [i64::MIN, -11, 0, 7, 100, i64::MAX] {
            let mut bytes = size.to_le_bytes().to_vec();
            bytes.extend([0; 8]);
            let mut reader = FrameReader::new(&bytes, 0);
            assert!(reader.frame().is_err(), "{size}");
        }
        assert!(FrameReader::new(&[0xff, 0xff, 0xff, 0xff, 1], 0).string().is_err());
    }
}
