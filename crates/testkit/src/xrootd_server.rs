//! An XRootD server with one file, on loopback, that behaves as the test wants.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use bytes::Bytes;

/// How the server behaves.
#[derive(Clone, Debug)]
pub struct Conduct {
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
    /// Whether answers come in another order than requests.
    pub reorders: bool,
    /// Answers are held back until nothing has come for so long: then each of these pauses is a round trip.
    pub gathers: Option<Duration>,
    /// Ways to prove who is there, as the login offers them.
    pub offers: &'static str,
    /// The protocol among them that is believed.
    pub believes: &'static str,
}

impl Default for Conduct {
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
pub enum Mishap {
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
    /// Bytes that make no sense.
    Nonsense,
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
}

/// Number of a request to log in.
pub const LOGIN: u16 = 3007;
/// Number of a request to open a file.
pub const OPEN: u16 = 3010;
/// Number of a request to close a file.
pub const CLOSE: u16 = 3003;
/// Number of a question about a file.
pub const STAT: u16 = 3017;
/// Number of a request for one range.
pub const READ: u16 = 3013;
/// Number of a request for several ranges.
pub const READ_VECTOR: u16 = 3025;

/// A server that runs until it is dropped.
///
/// # Example
///
/// ```
/// use std::io::{Read, Write};
/// use sapwood_testkit::xrootd_server::{Conduct, XrootdServer};
/// let server = XrootdServer::start("hello world", Conduct::default());
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
    conduct: Conduct,
    state: Mutex<State>,
    ended: AtomicBool,
}

#[derive(Debug, Default)]
struct State {
    seen: Vec<Seen>,
    mishaps: VecDeque<Mishap>,
    opens: usize,
    connections: usize,
    round_trips: usize,
    streams: Vec<TcpStream>,
}

impl XrootdServer {
    /// Serves `content` under each path, but for those with `missing` or `folder` in them.
    ///
    /// # Panics
    ///
    /// Where there is no port.
    pub fn start(content: impl Into<Bytes>, conduct: Conduct) -> Self {
        Self::start_with(content, |_| conduct)
    }

    /// The same for a server whose behaviour depends on where it listens.
    ///
    /// # Panics
    ///
    /// Where there is no port.
    pub fn start_with(content: impl Into<Bytes>, conduct: impl FnOnce(SocketAddr) -> Conduct) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
        let address = listener.local_addr().expect("a listener has an address");
        let conduct = conduct(address);
        let shared = Arc::new(Shared {
            content: Mutex::new(content.into()),
            modified: AtomicU64::new(1_700_000_000),
            conduct,
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
    pub fn spoil(&self, mishaps: &[Mishap]) {
        self.shared.state().mishaps.extend(mishaps);
    }

    /// Another content, with another time of change.
    pub fn change(&self, content: impl Into<Bytes>) {
        *self.shared.content.lock().unwrap_or_else(PoisonError::into_inner) = content.into();
        self.shared.modified.fetch_add(1, Ordering::Relaxed);
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
        for stream in self.state().streams.drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    fn content(&self) -> Bytes {
        self.content.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// One connection.
struct Client {
    shared: Arc<Shared>,
    from: TcpStream,
    to: Arc<Mutex<TcpStream>>,
    is_in: bool,
    is_proved: bool,
    /// Open files.
    handles: u32,
    /// Answers that are held back, to come in another order.
    held: Vec<(u16, u16, Vec<u8>)>,
    /// What a server that gathers will say.
    gathered: Vec<u8>,
}

struct Asked {
    stream: u16,
    request: u16,
    body: [u8; 16],
    data: Vec<u8>,
}

impl Client {
    fn new(shared: Arc<Shared>, from: TcpStream) -> io::Result<Self> {
        from.set_nodelay(true)?;
        let to = Arc::new(Mutex::new(from.try_clone()?));
        let is_proved = shared.conduct.offers.is_empty();
        Ok(Self { shared, from, to, is_in: false, is_proved, handles: 0, held: Vec::new(), gathered: Vec::new() })
    }

    fn serve(mut self) -> io::Result<()> {
        let mut hello = [0; 20];
        self.pause()?;
        self.from.read_exact(&mut hello)?;
        self.answer(0, 0, &[0, 0, 5, 0x20, 0, 0, 0, 1])?;
        loop {
            self.pause()?;
            let asked = self.next()?;
            let shared = Arc::clone(&self.shared);
            let ranges = ranges(&asked);
            let text = match asked.request {
                LOGIN | OPEN | 3001 => String::from_utf8_lossy(&asked.data).into_owned(),
                3000 => String::from_utf8_lossy(&asked.body[12..]).trim_end_matches('\0').to_owned(),
                _ => String::new(),
            };
            shared.state().seen.push(Seen { request: asked.request, text: text.clone(), ranges: ranges.clone() });
            match asked.request {
                3006 => self.answer(asked.stream, 0, &[0, 0, 5, 0x20, 0, 0, 0, 1])?,
                LOGIN => {
                    self.is_in = true;
                    let body = [&[7; 16], shared.conduct.offers.as_bytes()].concat();
                    self.answer(asked.stream, 0, &body)?;
                }
                _ if !self.is_in => return self.refuse(asked.stream, 3006, "not logged in"),
                3000 if text == shared.conduct.believes => {
                    self.is_proved = true;
                    self.answer(asked.stream, 0, &[])?;
                }
                3000 => self.refuse(asked.stream, 3030, "nobody believes that")?,
                // As the real one does.
                _ if !self.is_proved => {
                    self.refuse(asked.stream, 3006, "user not authenticated")?;
                    return self.from.shutdown(Shutdown::Both);
                }
                OPEN => self.open(&asked, &text)?,
                3001 => {
                    let Conduct { vector_ranges, vector_bytes, says_limits, .. } = shared.conduct;
                    let words = if says_limits { format!("{vector_ranges}\n{vector_bytes}\n") } else { text };
                    self.answer(asked.stream, 0, words.as_bytes())?;
                }
                STAT => self.answer(asked.stream, 0, self.stat("").as_bytes())?,
                CLOSE => self.answer(asked.stream, 0, &[])?,
                READ | READ_VECTOR => self.read(&asked, &ranges)?,
                _ => self.refuse(asked.stream, 3013, "not known here")?,
            }
        }
    }

    fn next(&mut self) -> io::Result<Asked> {
        let mut head = [0; 24];
        self.from.read_exact(&mut head)?;
        let [a, b, c, d, body @ .., e, f, g, h] = head;
        let mut data = vec![0; u32::from_be_bytes([e, f, g, h]).min(1 << 20) as usize];
        self.from.read_exact(&mut data)?;
        Ok(Asked { stream: u16::from_be_bytes([a, b]), request: u16::from_be_bytes([c, d]), body, data })
    }

    /// If nothing more has come, says what was held back.
    fn pause(&mut self) -> io::Result<()> {
        if let Some(time) = self.shared.conduct.gathers {
            self.from.set_read_timeout(Some(time))?;
            let more = self.from.peek(&mut [0]).is_ok_and(|bytes| bytes > 0);
            self.from.set_read_timeout(None)?;
            if !more && !self.gathered.is_empty() {
                self.shared.state().round_trips += 1;
                let all = std::mem::take(&mut self.gathered);
                self.writer().write_all(&all)?;
            }
            return Ok(());
        }
        if self.held.is_empty() {
            return Ok(());
        }
        self.from.set_nonblocking(true)?;
        let more = self.from.peek(&mut [0]).is_ok_and(|bytes| bytes > 0);
        self.from.set_nonblocking(false)?;
        if more { Ok(()) } else { self.release() }
    }

    /// Sends what was held back, the last first.
    fn release(&mut self) -> io::Result<()> {
        while let Some((stream, status, body)) = self.held.pop() {
            self.send(stream, status, &body, usize::MAX)?;
        }
        Ok(())
    }

    fn stat(&self, text: &str) -> String {
        let flags = if text.contains("folder") { 19 } else { 16 };
        let (length, modified) = (self.shared.content().len(), self.shared.modified.load(Ordering::Relaxed));
        format!("4711 {length} {flags} {modified}\0")
    }

    fn open(&mut self, asked: &Asked, text: &str) -> io::Result<()> {
        let shared = Arc::clone(&self.shared);
        let mut state = shared.state();
        let count = state.opens;
        state.opens += 1;
        let mishap = match state.mishaps.front() {
            Some(Mishap::OpenError(_)) => state.mishaps.pop_front(),
            _ => None,
        };
        drop(state);
        if let Some(Mishap::OpenError(code)) = mishap {
            return self.refuse(asked.stream, code, "by plan");
        }
        if count < shared.conduct.waits {
            return self.answer(asked.stream, 4005, &[0, 0, 0, 0, b'w', b'a', b'i', b't']);
        }
        let elsewhere = &shared.conduct.elsewhere;
        if let Some(Elsewhere { port, to }) = elsewhere.get(count - shared.conduct.waits).or(elsewhere.last()) {
            let body = [&port.to_be_bytes(), to.as_bytes()].concat();
            return self.answer(asked.stream, 4004, &body);
        }
        if text.contains("missing") {
            return self.refuse(asked.stream, 3011, "no such file");
        }
        self.handles += 1;
        let mut body = self.handles.to_be_bytes().to_vec();
        if shared.conduct.says_stat {
            body.extend_from_slice(&[0; 8]);
            body.extend_from_slice(self.stat(text).as_bytes());
        }
        self.answer(asked.stream, 0, &body)
    }

    fn read(&mut self, asked: &Asked, ranges: &[(u64, u32)]) -> io::Result<()> {
        let shared = Arc::clone(&self.shared);
        let mut state = shared.state();
        let mishap = state.mishaps.pop_front().unwrap_or(Mishap::None);
        drop(state);
        let (content, stream) = (shared.content(), asked.stream);
        match mishap {
            Mishap::Error(code) => return self.refuse(stream, code, "by plan"),
            Mishap::Forgotten => return self.refuse(stream, 3004, "file not open"),
            Mishap::Wait(seconds) => return self.answer(stream, 4005, &seconds.to_be_bytes()),
            Mishap::Nonsense => {
                self.writer().write_all(&[0xFF; 16])?;
                return Ok(());
            }
            _ => {}
        }
        let is_vector = asked.request == READ_VECTOR;
        if is_vector {
            if ranges.len() > shared.conduct.vector_ranges {
                return self.refuse(stream, 3002, "Read vector is too long");
            }
            if ranges.iter().any(|(_, bytes)| *bytes > shared.conduct.vector_bytes) {
                return self.refuse(stream, 3000, "Single readv transfer is too large");
            }
        }
        let mut body = Vec::new();
        for (number, (start, bytes)) in ranges.iter().enumerate() {
            let from = usize::try_from(*start).unwrap_or(usize::MAX).min(content.len());
            let to = from.saturating_add(*bytes as usize).min(content.len());
            if is_vector {
                body.extend_from_slice(asked.data.get(number * 16..number * 16 + 16).unwrap_or_default());
            }
            body.extend_from_slice(&content[from..to]);
        }
        match mishap {
            Mishap::Short => {
                body.pop();
            }
            Mishap::CutAfter(most) | Mishap::StallAfter(most) => {
                self.release()?;
                self.send(stream, 0, &body, most)?;
                while matches!(mishap, Mishap::StallAfter(_)) && !shared.ended.load(Ordering::Relaxed) {
                    thread::sleep(Duration::from_millis(5));
                }
                return self.from.shutdown(Shutdown::Both);
            }
            _ => {}
        }
        self.answer(stream, 0, &body)
    }

    fn refuse(&mut self, stream: u16, code: u32, words: &str) -> io::Result<()> {
        let body = [&code.to_be_bytes(), words.as_bytes(), b"\0"].concat();
        self.answer(stream, 4003, &body)
    }

    fn writer(&self) -> MutexGuard<'_, TcpStream> {
        self.to.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers now, later, or in another order, as the conduct has it.
    fn answer(&mut self, stream: u16, status: u16, body: &[u8]) -> io::Result<()> {
        if self.is_in && self.is_proved && stream != 0 {
            if let Some(late) = self.shared.conduct.late {
                self.send(stream, 4006, &5_u32.to_be_bytes(), usize::MAX)?;
                let mut inner = 5008_u32.to_be_bytes().to_vec();
                inner.extend_from_slice(&[0; 4]);
                inner.extend_from_slice(&head(stream, status, body.len()));
                inner.extend_from_slice(body);
                let mut frame = head(0, 4001, inner.len()).to_vec();
                frame.extend_from_slice(&inner);
                let to = Arc::clone(&self.to);
                thread::spawn(move || {
                    thread::sleep(late);
                    let _ = to.lock().unwrap_or_else(PoisonError::into_inner).write_all(&frame);
                });
                return Ok(());
            }
            if self.shared.conduct.reorders {
                self.held.push((stream, status, body.to_vec()));
                return Ok(());
            }
        }
        self.send(stream, status, body, usize::MAX)
    }

    /// Sends an answer, in frames if it has to be, up to so many bytes.
    fn send(&mut self, stream: u16, status: u16, body: &[u8], most: usize) -> io::Result<()> {
        let mut bytes = Vec::new();
        let step = self.shared.conduct.split_bytes.filter(|_| status == 0).unwrap_or(usize::MAX).max(1);
        let mut rest = body;
        while rest.len() > step {
            let (here, more) = rest.split_at(step);
            bytes.extend_from_slice(&head(stream, 4000, here.len()));
            bytes.extend_from_slice(here);
            rest = more;
        }
        bytes.extend_from_slice(&head(stream, status, rest.len()));
        bytes.extend_from_slice(rest);
        bytes.truncate(most);
        if self.shared.conduct.gathers.is_some() {
            self.gathered.extend_from_slice(&bytes);
            return Ok(());
        }
        self.writer().write_all(&bytes)
    }
}

fn head(stream: u16, status: u16, bytes: usize) -> [u8; 8] {
    let ([a, b], [c, d], [e, f, g, h]) = (stream.to_be_bytes(), status.to_be_bytes(), (bytes as u32).to_be_bytes());
    [a, b, c, d, e, f, g, h]
}

/// What a read asks for, as start and length.
fn ranges(asked: &Asked) -> Vec<(u64, u32)> {
    let number = |bytes: &[u8]| bytes.iter().fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte));
    match asked.request {
        READ => vec![(number(&asked.body[4..12]), number(&asked.body[12..]) as u32)],
        READ_VECTOR => asked.data.chunks_exact(16).map(|one| (number(&one[8..]), number(&one[4..8]) as u32)).collect(),
        _ => Vec::new(),
    }
}
