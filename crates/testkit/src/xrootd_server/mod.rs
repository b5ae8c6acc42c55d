//! An XRootD server with one file, on loopback, that behaves as the test wants.

mod client;

use std::collections::{HashMap, VecDeque};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use bytes::Bytes;

use client::Client;

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
    /// The protocol among them that is believed.
    pub believes: &'static str,
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
            believes: "",
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

/// A server that runs until it is dropped.
///
/// # Example
///
/// ```
/// use std::io::{Read, Write};
/// use sapwood_testkit::xrootd_server::{ServerConfig, XrootdServer};
/// let server = XrootdServer::start("hello world", ServerConfig::default());
/// let mut stream = std::net::TcpStream::connect(server.address())?;
/// stream.write_all(&[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 7, 220])?;
/// let mut answer = [0; 16];
/// stream.read_exact(&mut answer)?;
/// assert_eq!(answer[..8], [0, 0, 0, 0, 0, 0, 0, 8]);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct XrootdServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    thread: Option<thread::JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    content: Mutex<Bytes>,
    modified: AtomicU64,
    config: ServerConfig,
    state: Mutex<State>,
    ended: AtomicBool,
}

#[derive(Debug, Default)]
struct State {
    seen: Vec<Seen>,
    faults: VecDeque<Fault>,
    opens: usize,
    connections: usize,
    round_trips: usize,
    streams: Vec<TcpStream>,
    /// Further connections of sessions, which have the numbers of their first ones.
    bound: HashMap<[u8; 16], Vec<TcpStream>>,
}

impl XrootdServer {
    /// Serves `content` under each path, but for those with `missing` or `folder` in them.
    ///
    /// # Panics
    ///
    /// Where there is no port.
    pub fn start(content: impl Into<Bytes>, config: ServerConfig) -> Self {
        Self::start_with(content, |_| config)
    }

    /// The same for a server whose behaviour depends on where it listens.
    ///
    /// # Panics
    ///
    /// Where there is no port.
    pub fn start_with(content: impl Into<Bytes>, config: impl FnOnce(SocketAddr) -> ServerConfig) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
        let address = listener.local_addr().expect("a listener has an address");
        let config = config(address);
        let shared = Arc::new(Shared {
            content: Mutex::new(content.into()),
            modified: AtomicU64::new(1_700_000_000),
            config,
            state: Mutex::default(),
            ended: AtomicBool::new(false),
        });
        let of_thread = Arc::clone(&shared);
        let thread = thread::spawn(move || {
            for stream in listener.incoming() {
                if of_thread.ended.load(Ordering::Relaxed) {
                    return;
                }
                let Ok(stream) = stream else { continue };
                let of_client = Arc::clone(&of_thread);
                let mut state = of_thread.state();
                state.connections += 1;
                state.streams.extend(stream.try_clone());
                drop(state);
                thread::spawn(move || drop(Client::new(of_client, stream).and_then(Client::serve)));
            }
        });
        Self { address, shared, thread: Some(thread) }
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The file's URL.
    pub fn url(&self) -> String {
        format!("root://{}//data.root", self.address)
    }

    /// What was asked so far.
    pub fn seen(&self) -> Vec<Seen> {
        self.shared.state().seen.clone()
    }

    /// How often a server that gathers has answered.
    pub fn round_trips(&self) -> usize {
        self.shared.state().round_trips
    }

    /// Connections that were made.
    pub fn connections(&self) -> usize {
        self.shared.state().connections
    }

    /// Forgets what was asked.
    pub fn forget(&self) {
        let mut state = self.shared.state();
        state.seen.clear();
        state.round_trips = 0;
    }

    /// The next reads and opens go wrong so, one after the other.
    pub fn spoil(&self, faults: &[Fault]) {
        self.shared.state().faults.extend(faults);
    }

    /// Another content, with another time of change.
    pub fn change(&self, content: impl Into<Bytes>) {
        *self.shared.content.lock().unwrap_or_else(PoisonError::into_inner) = content.into();
        self.shared.modified.fetch_add(1, Ordering::Relaxed);
    }

    /// Further connections that joined a session.
    pub fn bound(&self) -> usize {
        self.shared.state().bound.values().map(Vec::len).sum()
    }

    /// Ends those.
    pub fn hang_up_bound(&self) {
        for stream in self.shared.state().bound.values_mut().flat_map(|bound| bound.drain(..)) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    /// Ends all connections.
    pub fn hang_up(&self) {
        self.shared.close_all();
    }
}

impl Drop for XrootdServer {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::Relaxed);
        let _ = TcpStream::connect(self.address); // so that it stops waiting
        self.shared.close_all();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        self.shared.close_all();
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn close_all(&self) {
        let mut state = self.state();
        state.bound.clear();
        for stream in state.streams.drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    fn content(&self) -> Bytes {
        self.content.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
