//! The body of an answer to a read by pages: each page of the file, or as much of it as was asked for, behind its sum
//! (CRC32C).

use sapwood::io::ByteRange;

use super::numbers::{PAGE_BYTES, request};
use super::{Broken, take};

const SUM_BYTES: usize = 4;
/// Number of a read by pages, counted from the first request.
const READ_PAGES: u8 = (request::READ_PAGES - request::AUTH) as u8;
const LAST: u8 = 0;
const PARTIAL: u8 = 1;

/// A part of an answer: what is said of it before its bytes come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    /// Where in the file its bytes belong.
    pub(crate) at: u64,
    /// Sums included.
    pub(crate) bytes: u32,
    pub(crate) last: bool,
}

impl Part {
    /// Length of what is said.
    pub(crate) const HEAD_BYTES: u32 = 24;

    pub(crate) fn read(body: &[u8], stream: u16) -> Result<Self, Broken> {
        let (sum, rest) = take::<4>(body)?;
        if crc32c::crc32c(rest) != u32::from_be_bytes(*sum) {
            return Err(Broken("the head of pages has a wrong sum"));
        }
        let ([a, b, request, kind, _, _, _, _], rest) = take::<8>(rest)?;
        let (bytes, rest) = take::<4>(rest)?;
        let (at, _) = take::<8>(rest)?;
        if u16::from_be_bytes([*a, *b]) != stream || *request != READ_PAGES || !matches!(*kind, LAST | PARTIAL) {
            return Err(Broken("the head of pages belongs to something else"));
        }
        Ok(Self { at: u64::from_be_bytes(*at), bytes: u32::from_be_bytes(*bytes), last: *kind == LAST })
    }
}

/// A page whose bytes are not those that its sum was made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wrong {
    pub(crate) at: u64,
    pub(crate) expected: u32,
    pub(crate) found: u32,
}

/// Takes the parts of an answer in any order, and each in any cut.
#[derive(Debug)]
pub(crate) struct Pages {
    range: ByteRange,
    /// Where the next page begins.
    at: u64,
    /// What has come of it, its sum first.
    open: Vec<u8>,
    /// The first that was wrong. Others may be.
    pub(crate) wrong: Option<Wrong>,
}

impl Pages {
    /// Of what was asked for.
    pub(crate) fn of(range: &ByteRange) -> Self {
        Self { range: range.clone(), at: range.start, open: Vec::new(), wrong: None }
    }

    /// The most bytes of an answer: those of the range, and the sums of its pages.
    pub(crate) fn most_bytes(range: &ByteRange) -> u64 {
        let bytes = range.end.saturating_sub(range.start);
        bytes.saturating_add((bytes / PAGE_BYTES + 2) * SUM_BYTES as u64)
    }

    /// A part begins there.
    pub(crate) fn begin(&mut self, at: u64) -> Result<(), Broken> {
        let inside = at == self.range.start || (self.range.contains(&at) && at.is_multiple_of(PAGE_BYTES));
        if !inside && at != self.range.end {
            return Err(Broken("pages that were not asked for"));
        }
        self.at = at;
        self.open.clear();
        Ok(())
    }

    /// Hands out the pages whose sums are right: offsets and data.
    pub(crate) fn feed<E: From<Broken>>(
        &mut self,
        mut bytes: &[u8],
        out: &mut impl FnMut(u64, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        while !bytes.is_empty() {
            let end = (self.at - self.at % PAGE_BYTES + PAGE_BYTES).min(self.range.end);
            let page = usize::try_from(end.saturating_sub(self.at)).unwrap_or(0);
            if page == 0 {
                return Err(Broken("more pages than were asked for").into());
            }
            let (here, rest) = bytes.split_at(bytes.len().min(SUM_BYTES + page - self.open.len()));
            bytes = rest;
            if here.len() == SUM_BYTES + page {
                self.page(here, out)?; // as it came, without a copy
                continue;
            }
            self.open.extend_from_slice(here);
            if self.open.len() == SUM_BYTES + page {
                let whole = std::mem::take(&mut self.open);
                self.page(&whole, out)?;
                self.open = whole;
                self.open.clear();
            }
        }
        Ok(())
    }

    fn page<E: From<Broken>>(
        &mut self,
        page: &[u8],
        out: &mut impl FnMut(u64, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let (sum, data) = take::<SUM_BYTES>(page)?;
        let (expected, found, at) = (u32::from_be_bytes(*sum), crc32c::crc32c(data), self.at);
        self.at += data.len() as u64;
        if expected != found {
            self.wrong.get_or_insert(Wrong { at, expected, found });
            return Ok(());
        }
        out(at, data)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(range: ByteRange) -> Vec<u8> {
        range.map(|at| (at.wrapping_mul(2_654_435_761) >> 16) as u8).collect()
    }

    /// As a server sends it.
    fn body(range: ByteRange) -> Vec<u8> {
        let mut found = Vec::new();
        let mut at = range.start;
        while at < range.end {
            let end = (at / 4096 * 4096 + 4096).min(range.end);
            let data = content(at..end);
            found.extend(crc32c::crc32c(&data).to_be_bytes());
            found.extend(data);
            at = end;
        }
        found
    }

    fn gather(pages: &mut Pages, body: &[u8], cut: usize) -> Result<Vec<(u64, Vec<u8>)>, Broken> {
        let mut got = Vec::new();
        for piece in body.chunks(cut) {
            pages.feed::<Broken>(piece, &mut |at, data| {
                got.push((at, data.to_vec()));
                Ok(())
            })?;
        }
        Ok(got)
    }

    #[test]
    fn the_sums_are_those_of_the_standard() {
        assert_eq!(crc32c::crc32c(b"123456789"), 0xE306_9283);
    }

    #[test]
    fn pages_are_read_in_any_cut() {
        for range in [0..4096, 0..1, 5..4096, 100..20_000, 4095..4097, 8192..12_289] {
            let body = body(range.clone());
            assert!(body.len() as u64 <= Pages::most_bytes(&range));
            for cut in [1, 3, 4, 5, 4099, 4100, 4101, 9_000, usize::MAX] {
                let mut pages = Pages::of(&range);
                let got = gather(&mut pages, &body, cut).unwrap();
                assert_eq!(got.first().map(|(at, _)| *at), Some(range.start));
                assert!(got.into_iter().flat_map(|(_, data)| data).eq(content(range.clone())), "{range:?} {cut}");
                assert_eq!(pages.wrong, None);
                assert!(gather(&mut pages, &[1], 1).is_err(), "that is more");
            }
        }
    }

    #[test]
    fn parts_come_in_any_order_and_end_anywhere() {
        let range = 100..20_000;
        let mut pages = Pages::of(&range);
        let mut got = Vec::new();
        for part in [8192..20_000, 100..8192] {
            pages.begin(part.start).unwrap();
            got.extend(gather(&mut pages, &body(part), 1_000).unwrap());
        }
        got.sort();
        assert!(got.into_iter().flat_map(|(_, data)| data).eq(content(range.clone())));
        // A part that is cut off gives its whole pages.
        pages.begin(100).unwrap();
        assert_eq!(gather(&mut pages, &body(100..8192)[..6_000], 99).unwrap().len(), 1);
        pages.begin(8192).unwrap();
        assert_eq!(gather(&mut pages, &body(8192..12_288), 99).unwrap(), [(8192, content(8192..12_288))]);
        assert!(pages.begin(20_000).is_ok());
        for at in [0, 99, 101, 4095, 20_001, 20_480, u64::MAX] {
            assert!(pages.begin(at).is_err(), "{at}");
        }
    }

    #[test]
    fn wrong_pages_are_left_out() {
        let mut bytes = body(0..12_288);
        bytes[4100 + 4 + 17] ^= 1;
        let mut pages = Pages::of(&(0..12_288));
        let got = gather(&mut pages, &bytes, 4_000).unwrap();
        assert_eq!(got.iter().map(|(at, _)| *at).collect::<Vec<_>>(), [0, 8192]);
        let wrong = pages.wrong.unwrap();
        assert_eq!((wrong.at, wrong.expected), (4096, crc32c::crc32c(&content(4096..8192))));
        assert_ne!(wrong.found, wrong.expected);
    }

    #[test]
    fn heads_are_accepted_if_their_sum_is_right() {
        let mut body = b"\0\0\0\0\x01\x02\x1E\x01\0\0\0\0\0\0\x10\x04\0\0\0\0\0\0\x20\0".to_vec();
        let sum = crc32c::crc32c(&body[4..]);
        body[..4].copy_from_slice(&sum.to_be_bytes());
        assert_eq!(body.len(), Part::HEAD_BYTES as usize);
        assert_eq!(Part::read(&body, 0x0102), Ok(Part { at: 8192, bytes: 4100, last: false }));
        assert!(Part::read(&body, 1).is_err() && Part::read(&body[..23], 0x0102).is_err());
        for at in 0..body.len() {
            body[at] ^= 1;
            assert!(Part::read(&body, 0x0102).is_err(), "{at}");
            body[at] ^= 1;
        }
    }
}
