//! Requests: 24 bytes with the number of their stream, and what belongs to them.

use sapwood::io::ByteRange;

use super::Pages;
use super::numbers::{LIST_STAT, VERSION, ability, open, query, request};

/// Redirections may be whole URLs, and there is IPv6.
const ABILITY: u8 = 1 | 8;
/// Answers may come later by themselves; the newest form of a login.
const CAPABILITY: u8 = 128 | 5;
/// Of files: all may read, the owner may write.
const MODE: u16 = 0o644;

/// An open file, as its server calls it.
pub(crate) type Handle = [u8; 4];

/// A session, as its server calls it.
pub(crate) type SessionId = [u8; 16];

/// What is asked of a server.
#[derive(Clone, Debug)]
pub(crate) enum Request<'a> {
    /// Which version, whether TLS is possible and wanted, and whether the connection is to join a session.
    Protocol { able_tls: bool, want_tls: bool, joins: bool },
    /// The login. The ticket comes from the server that redirected us here.
    Login { process: u32, user: &'a str, ticket: &'a str },
    /// The connection is a further one of a session.
    Bind { session: SessionId },
    /// Credentials.
    Auth { protocol: &'a str, proof: &'a [u8] },
    /// A file to be read, and what is known of it.
    Open { path: &'a str },
    /// A new file, to be written, in folders that are made.
    Create { path: &'a str },
    /// What is known of a file or a folder.
    StatPath { path: &'a str },
    /// A file is to go away.
    Remove { path: &'a str },
    /// A file gets another name.
    Rename { from: &'a str, to: &'a str },
    /// The checksum of a file.
    Checksum { path: &'a str },
    /// Bytes of an open file.
    Write { handle: Handle, at: u64, bytes: &'a [u8] },
    /// What was written is to be on storage.
    Sync { handle: Handle },
    /// The names in a folder, and what is known of each.
    List { path: &'a str },
    /// What is known of an open file.
    Stat { handle: Handle },
    /// An open file is not needed any longer.
    Close { handle: Handle },
    /// Values of the server's configuration.
    Config { names: &'a str },
    /// One range.
    Read { handle: Handle, range: ByteRange },
    /// One, by pages with sums. The server compares them with its own, too, where it asks `again`.
    ReadPages { handle: Handle, range: ByteRange, again: bool },
    /// Several.
    ReadVector { handle: Handle, ranges: &'a [ByteRange] },
}

impl Request<'_> {
    /// Appends the request as it goes over the wire.
    pub(crate) fn put(&self, stream: u16, to: &mut Vec<u8>) {
        self.put_by(stream, 0, to);
    }

    /// The same for an answer that is to come by a further connection, of this number.
    pub(crate) fn put_by(&self, stream: u16, path: u8, to: &mut Vec<u8>) {
        let (number, body, data): (u16, [u8; 16], Vec<u8>) = match self {
            Self::Auth { protocol, proof } => {
                let mut body = [0; 16];
                copy(&mut body[12..], protocol.as_bytes());
                (request::AUTH, body, proof.to_vec())
            }
            Self::Config { names } => {
                let mut body = [0; 16];
                body[..2].copy_from_slice(&query::CONFIG.to_be_bytes());
                (request::QUERY, body, names.as_bytes().to_vec())
            }
            Self::Close { handle } => (request::CLOSE, with_handle(*handle), Vec::new()),
            Self::Protocol { able_tls, want_tls, joins } => {
                let mut body = [0; 16];
                body[..4].copy_from_slice(&VERSION.to_be_bytes());
                body[4] = if *able_tls { ability::TLS } else { 0 } | if *want_tls { ability::WANTS_TLS } else { 0 };
                body[5] = if *joins { ability::NEXT_BIND } else { ability::NEXT_LOGIN };
                (request::PROTOCOL, body, Vec::new())
            }
            Self::Login { process, user, ticket } => {
                let mut body = [0; 16];
                body[..4].copy_from_slice(&process.to_be_bytes());
                copy(&mut body[4..12], user.as_bytes());
                (body[13], body[14]) = (ABILITY, CAPABILITY);
                (request::LOGIN, body, ticket.as_bytes().to_vec())
            }
            Self::Open { path } => {
                let mut body = [0; 16];
                body[2..4].copy_from_slice(&(open::READ | open::STAT).to_be_bytes());
                (request::OPEN, body, path.as_bytes().to_vec())
            }
            Self::Create { path } => {
                let mut body = [0; 16];
                body[..2].copy_from_slice(&MODE.to_be_bytes());
                let options = open::NEW | open::UPDATE | open::MAKE_PATH | open::STAT | open::PERSIST_ON_CLOSE;
                body[2..4].copy_from_slice(&options.to_be_bytes());
                (request::OPEN, body, path.as_bytes().to_vec())
            }
            Self::StatPath { path } => (request::STAT, [0; 16], path.as_bytes().to_vec()),
            Self::Remove { path } => (request::REMOVE, [0; 16], path.as_bytes().to_vec()),
            Self::Rename { from, to } => {
                let mut body = [0; 16];
                // A URL is far shorter.
                body[14..].copy_from_slice(&u16::try_from(from.len()).unwrap_or(0).to_be_bytes());
                (request::RENAME, body, format!("{from} {to}").into_bytes())
            }
            Self::Checksum { path } => {
                let mut body = [0; 16];
                body[..2].copy_from_slice(&query::CHECKSUM.to_be_bytes());
                (request::QUERY, body, path.as_bytes().to_vec())
            }
            Self::Write { handle, at, bytes } => {
                let mut body = with_handle(*handle);
                body[4..12].copy_from_slice(&at.to_be_bytes());
                (request::WRITE, body, bytes.to_vec())
            }
            Self::Sync { handle } => (request::SYNC, with_handle(*handle), Vec::new()),
            Self::List { path } => {
                let mut body = [0; 16];
                body[15] = LIST_STAT;
                (request::LIST, body, path.as_bytes().to_vec())
            }
            Self::Read { handle, range } => {
                let data = if path == 0 { Vec::new() } else { vec![path, 0, 0, 0, 0, 0, 0, 0] };
                (request::READ, with_range(*handle, range), data)
            }
            Self::ReadPages { handle, range, again } => {
                (request::READ_PAGES, with_range(*handle, range), vec![path, u8::from(*again)])
            }
            Self::Bind { session } => (request::BIND, *session, Vec::new()),
            Self::Stat { handle } => {
                let mut body = [0; 16];
                body[12..].copy_from_slice(handle);
                (request::STAT, body, Vec::new())
            }
            Self::ReadVector { handle, ranges } => {
                let mut data = Vec::with_capacity(ranges.len() * 16);
                for range in *ranges {
                    data.extend_from_slice(handle);
                    data.extend_from_slice(&length(range).to_be_bytes());
                    data.extend_from_slice(&range.start.to_be_bytes());
                }
                (request::READ_VECTOR, [0; 16], data)
            }
        };
        to.extend_from_slice(&stream.to_be_bytes());
        to.extend_from_slice(&number.to_be_bytes());
        to.extend_from_slice(&body);
        // What is sent is far shorter: a URL, a token, a thousand ranges, a few MB of a file.
        to.extend_from_slice(&u32::try_from(data.len()).unwrap_or(0).to_be_bytes());
        to.extend_from_slice(&data);
    }

    /// Whether its answer may come by a further connection. Servers send vectors by the first.
    pub(crate) fn travels(&self) -> bool {
        matches!(self, Self::Read { .. } | Self::ReadPages { .. })
    }

    /// The most bytes that its answer may have, all frames together.
    pub(crate) fn answer_bytes(&self) -> u64 {
        const WORDS: u64 = 64 << 10;
        const NAMES: u64 = 32 << 20;
        match self {
            Self::Read { range, .. } => u64::from(length(range)).max(WORDS),
            Self::ReadPages { range, .. } => Pages::most_bytes(range).max(WORDS),
            Self::ReadVector { ranges, .. } => {
                ranges.iter().fold(WORDS, |sum, range| sum + 16 + u64::from(length(range)))
            }
            Self::List { .. } => NAMES,
            _ => WORDS,
        }
    }
}

/// Ranges are cut before they come here, to a few MB.
fn length(range: &ByteRange) -> u32 {
    u32::try_from(range.end.saturating_sub(range.start)).unwrap_or(0).min(i32::MAX as u32)
}

fn with_handle(handle: Handle) -> [u8; 16] {
    let mut body = [0; 16];
    body[..4].copy_from_slice(&handle);
    body
}

fn with_range(handle: Handle, range: &ByteRange) -> [u8; 16] {
    let mut body = with_handle(handle);
    body[4..12].copy_from_slice(&range.start.to_be_bytes());
    body[12..].copy_from_slice(&length(range).to_be_bytes());
    body
}

/// As much of `from` as there is room for.
fn copy(to: &mut [u8], from: &[u8]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to = *from;
    }
}

#[cfg(test)]
mod tests {
    use super::super::HELLO;
    use super::*;

    fn bytes(request: &Request<'_>) -> Vec<u8> {
        let mut bytes = Vec::new();
        request.put(0x0102, &mut bytes);
        assert_eq!(bytes[..2], [1, 2]);
        bytes
    }

    #[test]
    fn requests_are_24_bytes_and_what_belongs_to_them() {
        assert_eq!(HELLO, *b"\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x04\0\0\x07\xDC");
        let protocol = bytes(&Request::Protocol { able_tls: true, want_tls: false, joins: false });
        assert_eq!(protocol[2..], *b"\x0B\xBE\0\0\x05\x20\x02\x03\0\0\0\0\0\0\0\0\0\0\0\0\0\0");
        let login = bytes(&Request::Login { process: 7, user: "someone-long", ticket: "t" });
        assert_eq!(login[2..], *b"\x0B\xBF\0\0\0\x07someone-\0\x09\x85\0\0\0\0\x01t");
        let open = bytes(&Request::Open { path: "/a?b" });
        assert_eq!(open[2..], *b"\x0B\xC2\0\0\x04\x10\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x04/a?b");
        let new = bytes(&Request::Create { path: "/a" });
        assert_eq!(new[2..], *b"\x0B\xC2\x01\xA4\x15\x28\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x02/a");
        let write = bytes(&Request::Write { handle: *b"abcd", at: 256, bytes: b"xyz" });
        assert_eq!(write[2..], *b"\x0B\xCBabcd\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\0\x03xyz");
        let sync = bytes(&Request::Sync { handle: *b"abcd" });
        assert_eq!(sync[2..], *b"\x0B\xC8abcd\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0");
        let rename = bytes(&Request::Rename { from: "/a", to: "/bc" });
        assert_eq!(rename[2..], *b"\x0B\xC1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x02\0\0\0\x06/a /bc");
        let stat = bytes(&Request::StatPath { path: "/a" });
        assert_eq!(stat[2..], *b"\x0B\xC9\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x02/a");
        let remove = bytes(&Request::Remove { path: "/a" });
        assert_eq!(remove[2..], *b"\x0B\xC6\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x02/a");
        let sum = bytes(&Request::Checksum { path: "/a" });
        assert_eq!(sum[2..], *b"\x0B\xB9\0\x03\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x02/a");
        let list = bytes(&Request::List { path: "/a" });
        assert_eq!(list[2..], *b"\x0B\xBC\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x02\0\0\0\x02/a");
        let auth = bytes(&Request::Auth { protocol: "ztn", proof: b"xy" });
        assert_eq!(auth[2..], *b"\x0B\xB8\0\0\0\0\0\0\0\0\0\0\0\0ztn\0\0\0\0\x02xy");
        let read = bytes(&Request::Read { handle: *b"abcd", range: 256..258 });
        assert_eq!(read[2..], *b"\x0B\xC5abcd\0\0\0\0\0\0\x01\0\0\0\0\x02\0\0\0\0");
        let pages = bytes(&Request::ReadPages { handle: *b"abcd", range: 256..258, again: true });
        assert_eq!(pages[2..], *b"\x0B\xD6abcd\0\0\0\0\0\0\x01\0\0\0\0\x02\0\0\0\x02\0\x01");
        let mut read = Vec::new();
        Request::Read { handle: *b"abcd", range: 256..258 }.put_by(1, 3, &mut read);
        assert_eq!(read[16..], *b"\0\0\0\x02\0\0\0\x08\x03\0\0\0\0\0\0\0");
        let bind = bytes(&Request::Bind { session: *b"0123456789abcdef" });
        assert_eq!(bind[2..], *b"\x0B\xD00123456789abcdef\0\0\0\0");
        let config = bytes(&Request::Config { names: "x" });
        assert_eq!(config[2..], *b"\x0B\xB9\0\x07\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01x");
        let stat = bytes(&Request::Stat { handle: *b"abcd" });
        assert_eq!(stat[2..], *b"\x0B\xC9\0\0\0\0\0\0\0\0\0\0\0\0abcd\0\0\0\0");
        let close = bytes(&Request::Close { handle: *b"abcd" });
        assert_eq!(close[2..], *b"\x0B\xBBabcd\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0");
    }

    #[test]
    fn a_vector_names_handle_length_and_offset_of_each_range() {
        let request = Request::ReadVector { handle: *b"abcd", ranges: &[1..3, 5..10] };
        let bytes = bytes(&request);
        assert_eq!(bytes[2..4], 3025_u16.to_be_bytes());
        assert_eq!(bytes[20..], *b"\0\0\0\x20abcd\0\0\0\x02\0\0\0\0\0\0\0\x01abcd\0\0\0\x05\0\0\0\0\0\0\0\x05");
        assert_eq!(request.answer_bytes(), (64 << 10) + 16 + 2 + 16 + 5);
    }
}
