//! How the server behaves, and what it has seen.

use std::collections::{HashMap, VecDeque};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;

/// How the server behaves.
#[derive(Clone, Debug)]
pub struct ServerConfig {
    /// Opens are sent elsewhere: to these in turn, the last one again and again. See [`Elsewhere`].
    pub elsewhere: Vec<Elsewhere>,
    /// So many opens are answered by "wait" first.
    pub waits: usize,
    /// Opens and reads are answered by a promise, and the answer comes unasked after so long.
    pub late: Option<Duration>,
    /// Answers are cut into frames of at most so many bytes.
    pub split_bytes: Option<usize>,
    /// The most ranges of a vector.
    pub vector_ranges: usize,
    /// The most bytes of a range in a vector.
    pub vector_bytes: u32,
    /// Whether the limits of vectors are told.
    pub says_limits: bool,
    /// Whether an open tells of the file what there is to tell.
    pub says_stat: bool,
    /// Whether it says that it can be read by pages with sums.
    pub says_pages: bool,
    /// Whether it is, then.
    pub knows_pages: bool,
    /// Whether answers come in another order than requests.
    pub reorders: bool,
    /// Answers are held back until nothing has come for so long: then each of these pauses is a round trip.
    pub gathers: Option<Duration>,
    /// Ways to prove who is there, as the login offers them.
    pub offers: &'static str,
    /// The protocol among them whose credentials are accepted.
    pub accepts: &'static str,
}

impl Default for ServerConfig {
    fn default() -> Self {
        Self {
            elsewhere: Vec::new(),
            waits: 0,
            late: None,
            split_bytes: None,
            vector_ranges: 1024,
            vector_bytes: 2_097_136,
            says_limits: true,
            says_stat: true,
            says_pages: false,
            knows_pages: true,
            reorders: false,
            gathers: None,
            offers: "",
            accepts: "",
        }
    }
}

/// Where an open is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Elsewhere {
    /// Negative where `to` is a URL.
    pub port: i32,
    /// A host, with what is to be sent along behind a question mark; or a URL.
    pub to: String,
}

impl Elsewhere {
    /// To the server at this address.
    pub fn at(address: SocketAddr) -> Self {
        Self { port: address.port().into(), to: address.ip().to_string() }
    }
}

/// What goes wrong with one read, or with one open where it says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Nothing.
    None,
    /// An error with this number.
    Error(u32),
    /// The connection ends after so many bytes of the answer.
    CutAfter(usize),
    /// Nothing comes after so many bytes of the answer.
    StallAfter(usize),
    /// "Wait" for so many seconds.
    Wait(u32),
    /// The answer lacks its last byte, and says so.
    Short,
    /// Bytes that violate the protocol.
    Nonsense,
    /// A byte of the page of this number is another one. Its sum is not. Nothing, for answers without sums.
    WrongPage(usize),
    /// The head of the pages has another sum.
    WrongHead,
    /// The pages are said to be elsewhere than was asked for, and all sums are right.
    Misplaced,
    /// An open fails with this error.
    OpenError(u32),
    /// The file is not open, as after a restart.
    Forgotten,
}

/// A request as it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Its number in the protocol.
    pub request: u16,
    /// The text that came along: a path, a ticket, names.
    pub text: String,
    /// Ranges of a read, as start and length.
    pub ranges: Vec<(u64, u32)>,
    /// The connection of the session by which the answer is wanted.
    pub path: u8,
}

/// Number of a request to log in.
pub const LOGIN: u16 = 3007;

/// Number of a request to join a session.
pub const BIND: u16 = 3024;

/// Number of a request to open a file.
pub const OPEN: u16 = 3010;

/// Number of a request to close a file.
pub const CLOSE: u16 = 3003;

/// Number of a question about a file.
pub const STAT: u16 = 3017;

/// Number of a request for one range.
pub const READ: u16 = 3013;

/// Number of a request for one range by pages with sums.
pub const READ_PAGES: u16 = 3030;

/// Number of a request for several ranges.
pub const READ_VECTOR: u16 = 3025;

#[derive(Debug)]
pub(super) struct Shared {
    pub(super) content: Mutex<Bytes>,
    pub(super) modified: AtomicU64,
    pub(super) config: ServerConfig,
    pub(super) state: Mutex<State>,
    pub(super) ended: AtomicBool,
}

#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) seen: Vec<Seen>,
    pub(super) faults: VecDeque<Fault>,
    pub(super) opens: usize,
    pub(super) connections: usize,
    pub(super) round_trips: usize,
    pub(super) streams: Vec<TcpStream>,
    /// Further connections of sessions, which have the numbers of their first ones.
    pub(super) bound: HashMap<[u8; 16], Vec<TcpStream>>,
}

impl Shared {
    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn close_all(&self) {
        let mut state = self.state();
        state.bound.clear();
        for stream in state.streams.drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    pub(super) fn content(&self) -> Bytes {
        self.content.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
