//! Answers: 8 bytes with the number of their stream, and a body whose form follows from the status and the request.

use super::numbers::{kind, server, status};
use super::{Broken, Handle, SessionId, take};

/// Length of what stands before each body.
pub(crate) const HEAD_BYTES: usize = 8;
/// The most of a server's words that is shown.
const WORDS: usize = 400;
/// The most protocols of authentication that are looked at.
const OFFERS: usize = 32;

/// What stands before a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) stream: u16,
    pub(crate) status: Status,
    pub(crate) bytes: u32,
}

/// What kind of an answer it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    Ok,
    /// A part of it; more is to come.
    SoFar,
    /// The server speaks unasked, or answers late.
    Attention,
    AuthMore,
    Error,
    Redirect,
    Wait,
    /// The answer comes later, unasked.
    WaitResponse,
    /// A part of it with sums, which stands behind the body.
    Part,
    Other(u16),
}

impl Head {
    pub(crate) fn read(bytes: [u8; HEAD_BYTES]) -> Result<Self, Broken> {
        let [a, b, c, d, e, f, g, h] = bytes;
        let status = match u16::from_be_bytes([c, d]) {
            status::OK => Status::Ok,
            status::SO_FAR => Status::SoFar,
            status::ATTENTION => Status::Attention,
            status::AUTH_MORE => Status::AuthMore,
            status::ERROR => Status::Error,
            status::REDIRECT => Status::Redirect,
            status::WAIT => Status::Wait,
            status::WAIT_RESPONSE => Status::WaitResponse,
            status::PAGES => Status::Part,
            other => Status::Other(other),
        };
        let bytes = u32::from_be_bytes([e, f, g, h]);
        if i32::try_from(bytes).is_err() {
            return Err(Broken("an answer of a negative length"));
        }
        Ok(Self { stream: u16::from_be_bytes([a, b]), status, bytes })
    }
}

/// Answer to a request for the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Protocol {
    version: u32,
    flags: u32,
}

impl Protocol {
    /// For the login, for the session, for data.
    const NEED_TLS: u32 = server::TLS_LOGIN | server::TLS_SESSION | server::TLS_DATA;
    /// Before this, pages were sent in another form.
    const PAGES_VERSION: u32 = 0x511;

    pub(crate) fn read(body: &[u8]) -> Result<Self, Broken> {
        let (version, rest) = take::<4>(body)?;
        let (flags, _) = take::<4>(rest)?;
        Ok(Self { version: u32::from_be_bytes(*version), flags: u32::from_be_bytes(*flags) })
    }

    /// It can be read by pages with sums.
    pub(crate) fn has_pages(self) -> bool {
        self.version >= Self::PAGES_VERSION && self.flags & server::PAGES != 0
    }

    /// All that follows is TLS.
    pub(crate) fn goes_tls(self) -> bool {
        self.flags & server::GO_TLS != 0
    }

    pub(crate) fn has_tls(self) -> bool {
        self.flags & (server::HAVE_TLS | server::GO_TLS) != 0
    }

    /// Something that we do would need TLS.
    pub(crate) fn needs_tls(self) -> bool {
        self.has_tls() && self.flags & Self::NEED_TLS != 0
    }
}

/// Answer to a login.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Welcome {
    /// How the server calls the session. Old ones do not.
    pub(crate) session: Option<SessionId>,
    /// Protocols of authentication that the server offers, in its order; empty if it wants none.
    pub(crate) offers: Vec<Offer>,
}

/// A protocol of authentication.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Offer {
    pub(crate) name: String,
    /// What the server says of it.
    pub(crate) parameters: String,
}

impl Welcome {
    pub(crate) fn read(body: &[u8]) -> Result<Self, Broken> {
        // Old servers without security say nothing at all.
        let Some((session, rest)) = body.split_first_chunk::<16>() else {
            let silent = Self { session: None, offers: Vec::new() };
            return if body.is_empty() { Ok(silent) } else { Err(Broken("a short login")) };
        };
        let text = text(rest);
        let offers = text.split("&P=").skip(1).take(OFFERS).map(|offer| {
            let offer = offer.split(['&', ' ']).next().unwrap_or_default();
            let (name, parameters) = offer.split_once(',').unwrap_or((offer, ""));
            Offer { name: name.chars().take(8).collect(), parameters: parameters.to_owned() }
        });
        Ok(Self { session: Some(*session), offers: offers.collect() })
    }
}

/// What a server knows of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stat {
    pub(crate) id: String,
    pub(crate) len: u64,
    flags: u64,
    /// Seconds since 1970.
    pub(crate) modified: i64,
}

impl Stat {
    pub(crate) fn read(body: &[u8]) -> Result<Self, Broken> {
        let broken = Broken("malformed status of the file");
        let text = text(body);
        let mut words = text.split_ascii_whitespace();
        let id: String = words.next().ok_or(broken)?.chars().take(64).collect();
        let mut number = || words.next().and_then(|word| word.parse::<i64>().ok()).ok_or(broken);
        let len = u64::try_from(number()?).map_err(|_| broken)?;
        let flags = u64::try_from(number()?).map_err(|_| broken)?;
        Ok(Self { id, len, flags, modified: number()? })
    }

    pub(crate) fn is_folder(&self) -> bool {
        self.flags & kind::FOLDER != 0
    }

    /// A folder, a socket: nothing that has bytes.
    pub(crate) fn is_no_file(&self) -> bool {
        self.flags & (kind::FOLDER | kind::OTHER) != 0
    }
}

/// The names in a folder, and the state of each if the server sends it.
pub(crate) fn names(body: &[u8]) -> Vec<(String, Option<Stat>)> {
    let text = String::from_utf8_lossy(body);
    let text = text.trim_end_matches('\0');
    // Servers that send states begin with an empty one.
    let Some(rest) = text.strip_prefix(".\n0 0 0 0\n") else {
        return text.split('\n').map(|name| (name.to_owned(), None)).collect();
    };
    let mut lines = rest.split('\n');
    let mut found = Vec::new();
    while let (Some(name), Some(stat)) = (lines.next(), lines.next()) {
        found.push((name.to_owned(), Stat::read(stat.as_bytes()).ok()));
    }
    found
}

/// Answer to an open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OpenFile {
    pub(crate) handle: Handle,
    /// Old servers leave it out.
    pub(crate) stat: Option<Stat>,
}

impl OpenFile {
    pub(crate) fn read(body: &[u8]) -> Result<Self, Broken> {
        let (handle, rest) = take::<4>(body)?;
        let stat = match rest.split_first_chunk::<8>() {
            Some((_compression, rest)) if !rest.is_empty() => Some(Stat::read(rest)?),
            _ => None,
        };
        Ok(Self { handle: *handle, stat })
    }
}

/// An error of the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) code: u32,
    pub(crate) words: String,
}

impl Refusal {
    pub(crate) fn read(body: &[u8]) -> Result<Self, Broken> {
        let (code, rest) = take::<4>(body)?;
        Ok(Self { code: u32::from_be_bytes(*code), words: text(rest) })
    }
}

/// Where to ask instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Forward {
    /// None if `to` is a whole URL.
    pub(crate) port: Option<u16>,
    /// A host, or a URL.
    pub(crate) to: String,
    /// To be sent along with the path.
    pub(crate) opaque: String,
    /// To be sent along with the login.
    pub(crate) ticket: String,
}

impl Forward {
    pub(crate) fn read(body: &[u8]) -> Result<Self, Broken> {
        let (port, rest) = take::<4>(body)?;
        let port = i32::from_be_bytes(*port);
        let text = std::str::from_utf8(rest).map_err(|_| Broken("a redirection to no text"))?;
        let text = text.trim_end_matches('\0').trim();
        if text.is_empty() || text.chars().any(char::is_control) {
            return Err(Broken("a redirection to nowhere"));
        }
        if port < 0 {
            return Ok(Self { port: None, to: text.to_owned(), opaque: String::new(), ticket: String::new() });
        }
        let port = u16::try_from(port).map_err(|_| Broken("a redirection to a port that cannot be"))?;
        let mut parts = text.splitn(3, '?');
        let to = parts.next().unwrap_or_default().to_owned();
        let opaque = parts.next().unwrap_or_default().trim_start_matches('&').to_owned();
        Ok(Self { port: Some(port), to, opaque, ticket: parts.next().unwrap_or_default().to_owned() })
    }
}

/// An answer that comes unasked, after a promise: its own head and body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Later {
    pub(crate) head: Head,
    /// Where in the body of the outer answer its own begins.
    pub(crate) start: usize,
}

impl Later {
    /// None if the server says something else unasked.
    pub(crate) fn read(body: &[u8]) -> Result<Option<Self>, Broken> {
        const LATE_RESPONSE: u32 = 5008;
        let (action, rest) = take::<4>(body)?;
        if u32::from_be_bytes(*action) != LATE_RESPONSE {
            return Ok(None);
        }
        let (_, rest) = take::<4>(rest)?;
        let (head, rest) = take::<HEAD_BYTES>(rest)?;
        let head = Head::read(*head)?;
        if head.bytes as usize > rest.len() {
            return Err(Broken("a late answer that is shorter than it says"));
        }
        Ok(Some(Self { head, start: 8 + HEAD_BYTES }))
    }
}

/// The seconds of an answer that asks to wait.
pub(crate) fn wait_seconds(body: &[u8]) -> Result<u32, Broken> {
    let (seconds, _) = take::<4>(body)?;
    Ok(u32::try_from(i32::from_be_bytes(*seconds)).unwrap_or(0))
}

/// How many ranges a vector may have, and how many bytes each, from an answer to `readv_iov_max readv_ior_max`.
pub(crate) fn limits(body: &[u8]) -> Option<(usize, u64)> {
    let text = text(body);
    let mut numbers = text.split_ascii_whitespace().map(str::parse::<u64>);
    let (ranges, bytes) = (numbers.next()?.ok()?, numbers.next()?.ok()?);
    (ranges > 0 && bytes > 0).then(|| (usize::try_from(ranges).unwrap_or(usize::MAX), bytes))
}

/// Words of a server as they may be shown.
fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    let bytes = bytes.get(..end.min(WORDS)).unwrap_or_default();
    let text = String::from_utf8_lossy(bytes);
    text.trim().chars().map(|char| if char.is_control() { ' ' } else { char }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_with_their_states_or_alone() {
        let told = b".\n0 0 0 0\na b.root\n7 16 16 1 1 1 0644 root root\nsub\n8 4096 19 1 1 1 0755 root root\0";
        let found = names(told);
        let states = |(name, stat): &(String, Option<Stat>)| {
            (name.clone(), stat.as_ref().map(|stat| (stat.len, stat.is_folder())))
        };
        let expected = [("a b.root".to_owned(), Some((16, false))), ("sub".to_owned(), Some((4096, true)))];
        assert_eq!(found.iter().map(states).collect::<Vec<_>>(), expected);
        assert_eq!(names(b"a.root\nsub\0"), [("a.root".to_owned(), None), ("sub".to_owned(), None)]);
        assert_eq!(names(b".\n0 0 0 0\na.root\nnonsense\nb.root"), [("a.root".to_owned(), None)]);
        assert_eq!(names(b".\n0 0 0 0\n\0"), []);
    }

    #[test]
    fn heads_have_stream_status_and_length() {
        let head = Head::read(*b"\x01\x02\x0F\xA3\0\0\x01\0").unwrap();
        assert_eq!(head, Head { stream: 258, status: Status::Error, bytes: 256 });
        assert!(Head::read([0xFF; 8]).is_err());
        assert_eq!(Head::read([0; 8]).unwrap().status, Status::Ok);
        assert_eq!(Head::read(*b"\0\0\0\x01\0\0\0\0").unwrap().status, Status::Other(1));
    }

    #[test]
    fn a_protocol_says_what_it_can() {
        let has_pages = |body: &[u8]| Protocol::read(body).unwrap().has_pages();
        assert!(has_pages(b"\0\0\x05\x11\0\x20\0\x01"));
        assert!(!has_pages(b"\0\0\x05\x10\0\x20\0\x01") && !has_pages(b"\0\0\x05\x20\0\0\0\x01"));
    }

    #[test]
    fn a_login_lists_protocols_of_authentication() {
        let names = |text: &str| {
            let body = [&[7; 16], text.as_bytes(), b"\0"].concat();
            Welcome::read(&body).unwrap().offers.into_iter().map(|offer| offer.name).collect::<Vec<_>>()
        };
        assert_eq!(names(""), [""; 0]);
        assert_eq!(names("&P=gsi,v:10600,c:ssl,ca:1&P=ztn,0:4096:TDS&P=unix"), ["gsi", "ztn", "unix"]);
        let welcome = Welcome::read(b"0123456789abcdef&P=sss,0.+13:/etc/keytab&P=unix").unwrap();
        assert_eq!(
            welcome.offers.iter().map(|offer| &*offer.parameters).collect::<Vec<_>>(),
            ["0.+13:/etc/keytab", ""]
        );
        assert_eq!(Welcome::read(b"").unwrap().offers, []);
        assert!(Welcome::read(b"short").is_err());
    }

    #[test]
    fn what_is_known_of_a_file() {
        let open = OpenFile::read(b"\0\0\0\x01\0\0\0\0\0\0\0\x00281 12345 48 1700000000 1 2 0644 a b\0").unwrap();
        let stat = open.stat.unwrap();
        assert_eq!((open.handle, &*stat.id, stat.len, stat.modified), ([0, 0, 0, 1], "281", 12_345, 1_700_000_000));
        assert!(!stat.is_no_file() && Stat::read(b"1 0 2 5").unwrap().is_no_file());
        assert_eq!(OpenFile::read(b"abcd").unwrap().stat, None);
        for wrong in [&b""[..], b"1", b"1 2 3", b"1 -2 3 4", b"1 x 3 4"] {
            assert!(Stat::read(wrong).is_err());
        }
    }

    #[test]
    fn redirections_are_hosts_with_something_to_send_along_or_urls() {
        let read = |port: i32, text: &str| Forward::read(&[&port.to_be_bytes(), text.as_bytes()].concat());
        let of = |port, to: &str, opaque: &str, ticket: &str| {
            Ok(Forward { port, to: to.into(), opaque: opaque.into(), ticket: ticket.into() })
        };
        assert_eq!(read(1094, "a.org"), of(Some(1094), "a.org", "", ""));
        assert_eq!(read(1, "a.org?&x=1&y=2?t"), of(Some(1), "a.org", "x=1&y=2", "t"));
        assert_eq!(read(-1, "root://b.org:2//c?d"), of(None, "root://b.org:2//c?d", "", ""));
        assert!(read(1 << 20, "a").is_err() && read(1, "").is_err() && read(1, "a\nb").is_err());
    }

    #[test]
    fn late_answers_carry_their_own_head() {
        let body = b"\0\0\x13\x90\0\0\0\0\0\x05\0\0\0\0\0\x02ok";
        let later = Later::read(body).unwrap().unwrap();
        assert_eq!((later.head.stream, &body[later.start..]), (5, &b"ok"[..]));
        assert_eq!(Later::read(b"\0\0\x13\x8Ahello"), Ok(None));
        assert!(Later::read(&body[..17]).is_err());
    }

    #[test]
    fn limits_are_two_numbers_or_nothing() {
        assert_eq!(limits(b"1024\n2097136\n"), Some((1_024, 2_097_136)));
        assert_eq!(limits(b"readv_iov_max\nreadv_ior_max\n"), None);
        assert_eq!(limits(b"0\n5"), None);
        assert_eq!(wait_seconds(b"\0\0\0\x05why"), Ok(5));
        assert_eq!(wait_seconds(b"\xFF\0\0\x05"), Ok(0));
    }

    #[test]
    fn any_bytes_are_answers_or_errors() {
        let seeds: [&[u8]; 6] = [
            b"\0\0\0\x01\0\0\0\0\0\0\0\x00281 12345 48 1700000000\0",
            b"0123456789abcdef&P=gsi,v:1&P=unix\0",
            b"\0\0\x13\x90\0\0\0\0\0\x05\0\0\0\0\0\x02ok",
            b"\0\0\x04\x46host.org?a=b&c=d?token",
            b"\xFF\xFF\xFF\xFFroot://host//path",
            b"1024\n2097136\n",
        ];
        let mut state = 11_u64;
        let mut dice = |most: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % most.max(1)
        };
        for round in 0..20_000 {
            let mut bytes = seeds[round % seeds.len()].to_vec();
            bytes.truncate(dice(bytes.len() + 1));
            for _ in 0..dice(4) {
                let at = dice(bytes.len());
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = dice(256) as u8;
                }
            }
            if let Some((head, _)) = bytes.split_first_chunk() {
                let _ = Head::read(*head);
            }
            let _ = (Protocol::read(&bytes), Stat::read(&bytes), OpenFile::read(&bytes), Refusal::read(&bytes));
            let _ = (Forward::read(&bytes), limits(&bytes), wait_seconds(&bytes));
            if let Ok(welcome) = Welcome::read(&bytes) {
                assert!(welcome.offers.len() <= OFFERS);
            }
            if let Ok(Some(later)) = Later::read(&bytes) {
                assert!(bytes.len() - later.start >= later.head.bytes as usize);
            }
        }
    }
}
