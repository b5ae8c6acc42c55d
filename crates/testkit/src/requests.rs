//! Requests in what a client sends, over http or root://, in the clear.

/// Counts the requests of one connection. What it does not know (TLS) has none.
#[derive(Debug, Default)]
pub(crate) struct Requests {
    kind: Kind,
    /// Of http, so much of the empty line behind the headers; of root://, so much of the head of a request.
    matched: usize,
    /// Of root://, the bytes before the next head.
    skip: usize,
    /// The length behind a head of root://, as far as it came.
    length: u32,
}

#[derive(Debug, Default, PartialEq, Eq)]
enum Kind {
    /// Nothing came.
    #[default]
    New,
    Http,
    Xrootd,
    Unknown,
}

/// A connection of root:// begins with so many bytes that are no request.
const HELLO_BYTES: usize = 20;
/// A request of root:// has a head of so many bytes, the last four of which say how many follow.
const HEAD_BYTES: usize = 24;
const END_OF_HEADERS: &[u8] = b"\r\n\r\n";

impl Requests {
    /// How many requests ended with these bytes (of http: their headers; of root://: their heads).
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> u64 {
        if let (Kind::New, Some(first)) = (&self.kind, bytes.first()) {
            self.kind = match first {
                0 => Kind::Xrootd,
                b'A'..=b'Z' => Kind::Http,
                _ => Kind::Unknown,
            };
            self.skip = HELLO_BYTES;
        }
        match self.kind {
            Kind::Http => bytes.iter().map(|&byte| u64::from(self.http(byte))).sum(),
            Kind::Xrootd => bytes.iter().map(|&byte| u64::from(self.xrootd(byte))).sum(),
            Kind::New | Kind::Unknown => 0,
        }
    }

    fn http(&mut self, byte: u8) -> bool {
        self.matched = match byte {
            _ if byte == END_OF_HEADERS[self.matched] => self.matched + 1,
            b'\r' => 1,
            _ => 0,
        };
        let ended = self.matched == END_OF_HEADERS.len();
        if ended {
            self.matched = 0;
        }
        ended
    }

    fn xrootd(&mut self, byte: u8) -> bool {
        if self.skip > 0 {
            self.skip -= 1;
            return false;
        }
        self.matched += 1;
        if self.matched > HEAD_BYTES - 4 {
            self.length = self.length << 8 | u32::from(byte);
        }
        if self.matched < HEAD_BYTES {
            return false;
        }
        self.skip = self.length as usize;
        (self.matched, self.length) = (0, 0);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Requests of a text that comes in pieces of each length.
    fn counted(text: &[u8]) -> Vec<u64> {
        let of = |step| {
            let mut requests = Requests::default();
            text.chunks(step).map(|piece| requests.feed(piece)).sum()
        };
        (1..=text.len().max(1)).map(of).collect()
    }

    #[test]
    fn requests_of_http_end_with_an_empty_line() {
        let text = b"GET /a HTTP/1.1\r\nHost: b\r\n\r\nHEAD / HTTP/1.1\r\nA: \r\r\n\r\nGET";
        assert!(counted(text).iter().all(|&count| count == 2));
    }

    #[test]
    fn requests_of_xrootd_say_how_long_they_are() {
        let mut text = vec![0; HELLO_BYTES];
        for length in [0_u32, 300, 2] {
            text.extend([1; HEAD_BYTES - 4]);
            text.extend(length.to_be_bytes());
            text.extend(vec![7; length as usize]);
        }
        assert!(counted(&text).iter().all(|&count| count == 3));
    }

    #[test]
    fn what_is_not_known_has_none() {
        assert!(counted(b"\x16\x03\x01\r\n\r\n").iter().all(|&count| count == 0));
        assert_eq!(Requests::default().feed(&[]), 0);
    }
}
