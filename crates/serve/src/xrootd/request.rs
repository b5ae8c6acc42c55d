//! Requests, read from the bytes of a client. No length is believed before it was compared with a limit.

use std::collections::HashSet;

use sapwood_store::xrootd_numbers::{LIST_STAT, MAX_VECTOR, MAX_VECTOR_BYTES, open, query, request};
use sapwood_store::xrootd_numbers::{ability, code};

use super::frame::Head;
use super::open_files::Handle;
use super::session::SessionId;
use super::trouble::Trouble;
use crate::path::Path;

/// The most data of a request: a proof, or the paths of many files. Longer ones end the connection.
pub(super) const MAX_DATA: usize = 64 << 10;
/// Bytes that say what a range of a vector is.
const SEGMENT_BYTES: usize = 16;
/// Paths of one request.
const MAX_PATHS: usize = 256;
/// With any of these a file is to be written.
const WRITES: u16 = open::DELETE | open::NEW | open::UPDATE | open::APPEND | open::WRITE | open::PERSIST_ON_CLOSE;

/// A path, and what follows the question mark after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) path: Path,
    pub(super) rest: String,
}

/// A range of an open file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Segment {
    pub(super) handle: Handle,
    pub(super) offset: u64,
    pub(super) bytes: u32,
}

/// A request of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Request {
    Protocol {
        able_tls: bool,
        wants_tls: bool,
    },
    Login,
    Auth {
        kind: [u8; 4],
        proof: Vec<u8>,
    },
    Bind {
        session: SessionId,
    },
    End {
        session: SessionId,
    },
    Open {
        place: Place,
        with_stat: bool,
    },
    Close {
        handle: Handle,
    },
    Stat {
        place: Place,
    },
    StatOpen {
        handle: Handle,
    },
    /// The kinds of several paths.
    Kinds {
        places: Vec<Place>,
    },
    List {
        place: Place,
        with_stat: bool,
    },
    Locate {
        place: Place,
    },
    Checksum {
        place: Place,
    },
    ChecksumOpen {
        handle: Handle,
    },
    Config {
        names: String,
    },
    Read {
        segment: Segment,
        by: u8,
    },
    ReadPages {
        segment: Segment,
        by: u8,
    },
    ReadVector {
        segments: Vec<Segment>,
    },
    /// Answered by nothing: signs of life, and what this server has no use for.
    Nothing,
}

impl Request {
    /// # Errors
    ///
    /// The answer to a request that makes no sense, or is not served.
    pub(super) fn read(head: &Head, data: Vec<u8>) -> Result<Self, Trouble> {
        let handle = head.field::<4>(0);
        Ok(match head.number {
            request::PROTOCOL => {
                let [flags] = head.field(4);
                let wants_tls = flags & ability::WANTS_TLS != 0;
                Self::Protocol { able_tls: wants_tls || flags & ability::TLS != 0, wants_tls }
            }
            request::LOGIN => Self::Login,
            request::AUTH => Self::Auth { kind: head.field(12), proof: data },
            request::BIND => Self::Bind { session: head.body },
            request::END => Self::End { session: head.body },
            request::OPEN => {
                let options = u16::from_be_bytes(head.field(2));
                if options & WRITES != 0 {
                    return Err(read_only());
                }
                Self::Open { place: place(&data)?, with_stat: options & open::STAT != 0 }
            }
            request::CLOSE => Self::Close { handle },
            request::STAT if data.is_empty() => Self::StatOpen { handle: head.field(12) },
            request::STAT => match head.field(0) {
                [0] => Self::Stat { place: place(&data)? },
                _ => return Err(unsupported("this proxy does not know the space of a file system")),
            },
            request::STAT_KINDS => {
                let paths = data.split(|byte| *byte == b'\n').filter(|path| !path.is_empty());
                let places = paths.take(MAX_PATHS + 1).map(place).collect::<Result<Vec<_>, _>>()?;
                match places.len() {
                    0 => return Err(Trouble::refused(code::MISSING_ARGUMENT, "no path")),
                    count if count > MAX_PATHS => return Err(too_long("too many paths")),
                    _ => Self::Kinds { places },
                }
            }
            request::LIST => {
                let [options] = head.field(15);
                Self::List { place: place(&data)?, with_stat: options & LIST_STAT != 0 }
            }
            // A path after `*` means all servers that have it, which is this one.
            request::LOCATE => Self::Locate { place: place(data.strip_prefix(b"*").unwrap_or(&data))? },
            request::QUERY => match u16::from_be_bytes(head.field(0)) {
                query::CHECKSUM if data.is_empty() => Self::ChecksumOpen { handle: head.field(4) },
                query::CHECKSUM => Self::Checksum { place: place(&data)? },
                query::CONFIG => Self::Config { names: text(&data)?.to_owned() },
                _ => return Err(unsupported("this proxy answers queries for checksums and for its configuration")),
            },
            request::READ => Self::Read { segment: range(head)?, by: path_of(&data) },
            request::READ_PAGES => Self::ReadPages { segment: range(head)?, by: path_of(&data) },
            request::READ_VECTOR => Self::ReadVector { segments: segments(&data)? },
            request::PING | request::SET | request::PREPARE => Self::Nothing,
            number if is_writing(number) => return Err(read_only()),
            number => return Err(Trouble::refused(code::INVALID_REQUEST, format!("request {number} is unknown here"))),
        })
    }
}

impl Request {
    /// The handles that it names.
    pub(super) fn handles(&self) -> HashSet<Handle> {
        match self {
            Self::StatOpen { handle } | Self::ChecksumOpen { handle } => HashSet::from([*handle]),
            Self::Read { segment, .. } | Self::ReadPages { segment, .. } => HashSet::from([segment.handle]),
            Self::ReadVector { segments } => segments.iter().map(|segment| segment.handle).collect(),
            _ => HashSet::new(),
        }
    }
}

fn is_writing(number: u16) -> bool {
    use request::*;
    [
        CHANGE_MODE,
        MAKE_FOLDER,
        RENAME,
        CHECKPOINT,
        REMOVE,
        REMOVE_FOLDER,
        SYNC,
        WRITE,
        ATTRIBUTES,
        WRITE_PAGES,
        TRUNCATE,
        WRITE_VECTOR,
        CLONE,
    ]
    .contains(&number)
}

fn read_only() -> Trouble {
    Trouble::refused(code::READ_ONLY, "this proxy serves files to read; write them to its upstream")
}

fn unsupported(words: &str) -> Trouble {
    Trouble::refused(code::UNSUPPORTED, words)
}

fn too_long(words: &str) -> Trouble {
    Trouble::refused(code::ARGUMENT_TOO_LONG, words)
}

fn invalid(words: &str) -> Trouble {
    Trouble::refused(code::INVALID_ARGUMENT, words)
}

/// Text, up to the zero that ends it.
fn text(data: &[u8]) -> Result<&str, Trouble> {
    let end = data.iter().position(|byte| *byte == 0).unwrap_or(data.len());
    let text = data.get(..end).unwrap_or_default();
    std::str::from_utf8(text).map_err(|_| invalid("the argument is not text"))
}

fn place(data: &[u8]) -> Result<Place, Trouble> {
    let text = text(data)?;
    let (path, rest) = text.split_once('?').unwrap_or((text, ""));
    if path.is_empty() {
        return Err(Trouble::refused(code::MISSING_ARGUMENT, "no path"));
    }
    Ok(Place { path: Path::plain(path).map_err(invalid)?, rest: rest.to_owned() })
}

/// The range of a read.
fn range(head: &Head) -> Result<Segment, Trouble> {
    segment(head.field(0), i32::from_be_bytes(head.field(12)), i64::from_be_bytes(head.field(4)))
}

fn segment(handle: Handle, bytes: i32, offset: i64) -> Result<Segment, Trouble> {
    match (u32::try_from(bytes), u64::try_from(offset)) {
        // No sum of both overflows.
        (Ok(bytes), Ok(offset)) => Ok(Segment { handle, offset, bytes }),
        _ => Err(invalid("a range begins before the file, or has a negative length")),
    }
}

/// By which connection the answer to a read is to come.
fn path_of(data: &[u8]) -> u8 {
    data.first().copied().unwrap_or(0)
}

fn segments(data: &[u8]) -> Result<Vec<Segment>, Trouble> {
    let (all, rest) = data.as_chunks::<SEGMENT_BYTES>();
    if !rest.is_empty() || all.is_empty() {
        return Err(invalid("the vector does not consist of ranges"));
    }
    if all.len() > MAX_VECTOR {
        return Err(too_long("the vector has too many ranges"));
    }
    let one = |[a, b, c, d, e, f, g, h, offset @ ..]: &[u8; SEGMENT_BYTES]| {
        let segment = segment([*a, *b, *c, *d], i32::from_be_bytes([*e, *f, *g, *h]), i64::from_be_bytes(*offset))?;
        if u64::from(segment.bytes) > MAX_VECTOR_BYTES {
            return Err(Trouble::refused(code::NO_MEMORY, "a range of the vector is too long"));
        }
        Ok(segment)
    };
    all.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(number: u16, body: &[(usize, &[u8])], data: &[u8]) -> Result<Request, Trouble> {
        let mut head = Head { stream: [0, 1], number, body: [0; 16], bytes: data.len() as i32 };
        for (at, bytes) in body {
            head.body[*at..at + bytes.len()].copy_from_slice(bytes);
        }
        Request::read(&head, data.to_vec())
    }

    fn code(result: Result<Request, Trouble>) -> u32 {
        match result {
            Err(Trouble::Refused(code, _)) => code,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn requests_are_read_or_refused_by_their_codes() {
        let place = |path: &str, rest: &str| Place { path: Path::plain(path).unwrap(), rest: rest.into() };
        let open = read(request::OPEN, &[(2, b"\x04\x10")], b"//store/a.root?x=1\0");
        assert_eq!(open, Ok(Request::Open { place: place("store/a.root", "x=1"), with_stat: true }));
        for flag in [0x2, 0x8, 0x20, 0x200, 0x1000, 0x8000_u16] {
            assert_eq!(code(read(request::OPEN, &[(2, &(flag | 0x10).to_be_bytes())], b"/a")), 3025, "{flag:x}");
        }
        assert_eq!(code(read(request::OPEN, &[], b"")), 3001);
        assert_eq!(code(read(request::OPEN, &[], b"/a/../b")), 3000);
        assert_eq!(code(read(request::OPEN, &[], b"/a\xFF")), 3000);
        assert_eq!(code(read(request::OPEN, &[], &[b'x'; 5000])), 3000);
        let segment = Segment { handle: *b"abcd", offset: 256, bytes: 2 };
        let body: [(usize, &[u8]); 2] = [(0, b"abcd\0\0\0\0\0\0\x01\0"), (12, b"\0\0\0\x02")];
        assert_eq!(read(request::READ, &body, b""), Ok(Request::Read { segment: segment.clone(), by: 0 }));
        assert_eq!(read(request::READ_PAGES, &body, b"\x03\0"), Ok(Request::ReadPages { segment, by: 3 }));
        assert_eq!(code(read(request::READ, &[(12, b"\xFF")], b"")), 3000);
        assert_eq!(code(read(request::READ, &[(4, b"\xFF")], b"")), 3000);
        assert_eq!(read(request::STAT, &[(12, b"abcd")], b""), Ok(Request::StatOpen { handle: *b"abcd" }));
        assert_eq!(code(read(request::STAT, &[(0, b"\x01")], b"/")), 3013);
        assert_eq!(read(request::LOCATE, &[], b"*/a"), Ok(Request::Locate { place: place("a", "") }));
        assert_eq!(code(read(request::QUERY, &[(0, b"\0\x05")], b"/")), 3013);
        for number in [3002, 3008, 3009, 3014, 3015, 3016, 3019, 3026, 3028, 3031] {
            assert_eq!(code(read(number, &[], b"/a")), 3025, "{number}");
        }
        for number in [0, 2999, 3005, 3029, 3033, 65535] {
            assert_eq!(code(read(number, &[], b"/a")), 3006, "{number}");
        }
        assert_eq!(code(read(request::STAT_KINDS, &[], b"/a\n".repeat(300).as_slice())), 3002);
    }

    #[test]
    fn vectors_are_ranges_within_limits() {
        let one = |bytes: i32, offset: i64| [b"hand", &bytes.to_be_bytes()[..], &offset.to_be_bytes()].concat();
        let of = |data: &[u8]| read(request::READ_VECTOR, &[], data);
        let Ok(Request::ReadVector { segments }) = of(&[one(5, 7), one(0, 1 << 40)].concat()) else { panic!() };
        assert_eq!((segments[0].bytes, segments[0].offset, segments[1].offset), (5, 7, 1 << 40));
        assert_eq!(code(of(b"")), 3000);
        assert_eq!(code(of(&one(1, 1)[..15])), 3000);
        assert_eq!(code(of(&one(-1, 1))), 3000);
        assert_eq!(code(of(&one(1, -1))), 3000);
        assert_eq!(code(of(&one(2_097_137, 1))), 3008);
        assert!(of(&one(2_097_136, i64::MAX)).is_ok() && of(&one(1, 1).repeat(1024)).is_ok());
        assert_eq!(code(of(&one(1, 1).repeat(1025))), 3002);
    }
}
