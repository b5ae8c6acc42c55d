//! Frames: the heads of requests and of answers.

use sapwood_store::xrootd_numbers::request;

/// A number that the client chose for a request; its answer has the same.
pub(super) type StreamId = [u8; 2];

/// Head of a request, before its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) stream: StreamId,
    pub(super) number: u16,
    pub(super) body: [u8; 16],
    /// Length of the data; negative ones make no sense.
    pub(super) bytes: i32,
}

impl Head {
    pub(super) const BYTES: usize = 24;

    pub(super) fn read(bytes: &[u8; Self::BYTES]) -> Self {
        let [a, b, c, d, rest @ ..] = bytes;
        let mut body = [0; 16];
        let (of_body, length) = rest.split_at(16);
        body.copy_from_slice(of_body);
        let length = length.first_chunk::<4>().copied().unwrap_or_default();
        Self { stream: [*a, *b], number: u16::from_be_bytes([*c, *d]), body, bytes: i32::from_be_bytes(length) }
    }

    /// `N` bytes of the body from `at` on.
    pub(super) fn field<const N: usize>(&self, at: usize) -> [u8; N] {
        self.body.get(at..).and_then(|rest| rest.first_chunk::<N>()).copied().unwrap_or([0; N])
    }
}

/// Head of an answer, before its data.
pub(super) fn head(stream: StreamId, status: u16, bytes: usize) -> [u8; 8] {
    let [a, b] = stream;
    let [c, d] = status.to_be_bytes();
    // Answers are sent in pieces that are far shorter.
    let [e, f, g, h] = u32::try_from(bytes).unwrap_or(u32::MAX).to_be_bytes();
    [a, b, c, d, e, f, g, h]
}

/// Length of the head of pages, without its own sum.
const PAGES_BYTES: usize = 20;

/// Head of pages: their file offset, their length with all sums, and whether they are the last ones.
pub(super) fn pages_head(stream: StreamId, offset: u64, bytes: usize, last: bool) -> [u8; PAGES_BYTES + 4] {
    let mut body = [0; PAGES_BYTES];
    let [a, b] = stream;
    body[..4].copy_from_slice(&[a, b, (request::READ_PAGES - request::AUTH) as u8, u8::from(!last)]);
    body[8..12].copy_from_slice(&u32::try_from(bytes).unwrap_or(u32::MAX).to_be_bytes());
    body[12..].copy_from_slice(&offset.to_be_bytes());
    let mut all = [0; PAGES_BYTES + 4];
    all[..4].copy_from_slice(&crc32c::crc32c(&body).to_be_bytes());
    all[4..].copy_from_slice(&body);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_have_their_numbers_in_their_places() {
        let bytes = *b"\x01\x02\x0B\xC5abcd\0\0\0\0\0\0\x01\0\0\0\0\x02\0\0\0\x07";
        let head_of = Head::read(&bytes);
        assert_eq!((head_of.stream, head_of.number, head_of.bytes), ([1, 2], 3013, 7));
        assert_eq!(
            (head_of.field(0), head_of.field(4), head_of.field(12)),
            (*b"abcd", 256_u64.to_be_bytes(), [0, 0, 0, 2])
        );
        assert_eq!(head_of.field::<8>(12), [0; 8]);
        assert_eq!(head([1, 2], 4000, 258), *b"\x01\x02\x0F\xA0\0\0\x01\x02");
        let pages = pages_head([1, 2], 8192, 4100, false);
        assert_eq!(pages[4..], *b"\x01\x02\x1E\x01\0\0\0\0\0\0\x10\x04\0\0\0\0\0\0\x20\0");
        assert_eq!(pages[..4], crc32c::crc32c(&pages[4..]).to_be_bytes());
    }
}
