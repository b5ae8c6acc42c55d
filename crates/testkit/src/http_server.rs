//! A small HTTP/1.1 server of one file on loopback, that behaves as it is told and counts.

use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use bytes::Bytes;

/// How a server answers.
#[derive(Clone, Debug)]
pub struct ServerConfig {
    /// What it makes of the header `Range`.
    pub ranges: Ranges,
    /// What it does with more ranges than it likes.
    pub too_many: TooMany,
    /// Parts that lie this near to one another are sent as one, with what is between.
    pub joins_within: Option<u64>,
    /// Sends parts in the opposite order.
    pub reorders: bool,
    /// Splits each part into parts of at most so many bytes.
    pub splits_at: Option<u64>,
    /// Knows `bytes=-100`.
    pub suffixes: bool,
    /// Answers `bytes=-100` by this status.
    pub suffix_status: Option<u16>,
    /// Says `Content-Range` where an answer has one range.
    pub says_range: bool,
    /// Says the length of the file in `Content-Range`.
    pub says_total: bool,
    /// Says how long a body is; else it is sent in chunks.
    pub says_length: bool,
    /// Parts have a `Content-Type`, and a `Content-Range` in this spelling.
    pub range_name: &'static str,
    /// How the state of the file is named.
    pub etag: Tag,
    /// Redirects every request there.
    pub redirect: Option<String>,
    /// Redirects requests whose path starts with the first text to the second one.
    pub routes: Vec<(String, String)>,
    /// Answers 401 without this token.
    pub token: Option<String>,
    /// Knows headers only as `Range` and `Authorization`, in no other spelling.
    pub strict: bool,
    /// Ends the connection after each answer.
    pub closes: bool,
    /// Takes `PUT` and `DELETE`.
    pub writable: bool,
}

/// What a server makes of the header `Range`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ranges {
    /// Nothing: the whole file is sent.
    Ignored,
    /// One range is answered; of several the first.
    First,
    /// So many, in parts.
    Most(usize),
}

/// What a server does with more ranges than it likes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TooMany {
    /// It sends the whole file.
    Whole,
    /// It answers with this status.
    Status(u16),
}

/// How the state of a file is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tag {
    /// Not at all.
    None,
    /// By a strong ETag.
    Strong,
    /// By a weak one.
    Weak,
    /// By the time of the last change.
    Modified,
}

impl Default for ServerConfig {
    /// A server that knows all there is to know.
    fn default() -> Self {
        Self {
            ranges: Ranges::Most(200),
            too_many: TooMany::Whole,
            joins_within: None,
            reorders: false,
            splits_at: None,
            suffixes: true,
            suffix_status: None,
            says_range: true,
            says_total: true,
            says_length: true,
            range_name: "Content-Range",
            etag: Tag::Strong,
            redirect: None,
            routes: Vec::new(),
            token: None,
            strict: false,
            closes: false,
            writable: false,
        }
    }
}

/// What goes wrong with one answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Nothing.
    None,
    /// This status, and a `Retry-After` of so many seconds.
    Status(u16, Option<u32>),
    /// 301, with the region that the bucket is in and no place to go to, as S3 says it.
    Region(&'static str),
    /// The body ends after so many bytes, and with it the connection.
    CutAfter(usize),
    /// Says that the body is longer by so much than it is, and ends the connection.
    TooLong(usize),
    /// The whole file, again and again, without a length and without an end.
    Endless,
    /// Parts that hold the first byte of the file, without an end, whatever was asked for.
    Unasked,
    /// Of what is put so many bytes are kept.
    KeepsOnly(usize),
    /// The connection ends when so many bytes of a body came; they are kept.
    CutPut(usize),
}

/// What a server has seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// `GET`, `HEAD` ...
    pub method: String,
    /// The value of `Range`.
    pub range: Option<String>,
    /// The value of `Authorization`.
    pub authorization: Option<String>,
}

/// A server of one file. It ends when this is dropped.
///
/// # Example
///
/// ```
/// use std::io::{Read, Write};
/// use sapwood_testkit::http_server::{ServerConfig, HttpServer};
/// let server = HttpServer::start("hello world", ServerConfig::default());
/// let mut stream = std::net::TcpStream::connect(server.address())?;
/// stream.write_all(b"GET / HTTP/1.1\r\nRange: bytes=6-10\r\nConnection: close\r\n\r\n")?;
/// let mut answer = String::new();
/// stream.read_to_string(&mut answer)?;
/// assert!(answer.starts_with("HTTP/1.1 206") && answer.ends_with("\r\n\r\nworld"));
/// assert_eq!(server.requests(), 1);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct HttpServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    thread: Option<thread::JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    config: ServerConfig,
    state: Mutex<State>,
    ended: AtomicBool,
    connections: AtomicU64,
    body_bytes: AtomicU64,
}

#[derive(Debug, Default)]
struct State {
    content: Bytes,
    /// It was deleted.
    missing: bool,
    version: u32,
    /// After so many more requests the content is another one.
    next: Option<(usize, Bytes)>,
    faults: VecDeque<Fault>,
    seen: Vec<Seen>,
    streams: Vec<TcpStream>,
}

impl HttpServer {
    /// Serves `content` at a free port of loopback.
    ///
    /// # Panics
    ///
    /// Where there is no port.
    pub fn start(content: impl Into<Bytes>, config: ServerConfig) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
        let address = listener.local_addr().expect("a listener has an address");
        let state = Mutex::new(State { content: content.into(), ..State::default() });
        let (ended, connections, body_bytes) = Default::default();
        let shared = Arc::new(Shared { config, state, ended, connections, body_bytes });
        let of_thread = Arc::clone(&shared);
        let thread = thread::spawn(move || of_thread.accept(&listener));
        Self { address, shared, thread: Some(thread) }
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The URL of its file; every other path is the same file.
    pub fn url(&self) -> String {
        format!("http://{}/data.root", self.address)
    }

    /// How many requests were answered so far.
    pub fn requests(&self) -> usize {
        self.shared.state().seen.len()
    }

    /// All requests.
    pub fn seen(&self) -> Vec<Seen> {
        self.shared.state().seen.clone()
    }

    /// Forgets what was counted.
    pub fn forget(&self) {
        self.shared.state().seen.clear();
        self.shared.connections.store(0, Ordering::Relaxed);
        self.shared.body_bytes.store(0, Ordering::Relaxed);
    }

    /// How many connections were made.
    pub fn connections(&self) -> u64 {
        self.shared.connections.load(Ordering::Relaxed)
    }

    /// Bytes of all bodies that were taken by the system.
    pub fn body_bytes(&self) -> u64 {
        self.shared.body_bytes.load(Ordering::Relaxed)
    }

    /// What it has now; none of what was deleted.
    pub fn content(&self) -> Option<Bytes> {
        let state = self.shared.state();
        (!state.missing).then(|| state.content.clone())
    }

    /// What goes wrong with the next answers.
    pub fn spoil(&self, faults: &[Fault]) {
        self.shared.state().faults.extend(faults);
    }

    /// From the request after the next `requests` on, the file is another one.
    pub fn replace_after(&self, requests: usize, content: impl Into<Bytes>) {
        self.shared.state().next = Some((requests, content.into()));
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::Relaxed);
        let _ = TcpStream::connect(self.address); // so that it stops waiting
        for stream in self.shared.state().streams.drain(..) {
            let _ = stream.shutdown(std::net::Shutdown::Both);
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A request, as far as it matters.
#[derive(Debug, Default)]
struct Asked {
    method: String,
    path: String,
    range: Option<String>,
    authorization: Option<String>,
    closes: bool,
    /// Length of the body.
    body: u64,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn accept(self: &Arc<Self>, listener: &TcpListener) {
        for stream in listener.incoming() {
            if self.ended.load(Ordering::Relaxed) {
                return;
            }
            let Ok(stream) = stream else { continue };
            self.connections.fetch_add(1, Ordering::Relaxed);
            let _ = stream.set_nodelay(true);
            if let Ok(copy) = stream.try_clone() {
                self.state().streams.push(copy);
            }
            let shared = Arc::clone(self);
            thread::spawn(move || {
                let _ = shared.serve(&stream); // the client may leave at any time
                let _ = stream.shutdown(std::net::Shutdown::Both);
            });
        }
    }

    fn serve(&self, stream: &TcpStream) -> io::Result<()> {
        let (mut input, mut output) = (BufReader::new(stream.try_clone()?), stream);
        while let Some(asked) = read_request(&mut input, self.config.strict)? {
            let (content, version, fault, missing) = {
                let mut state = self.state();
                let seen = Seen {
                    method: asked.method.clone(),
                    range: asked.range.clone(),
                    authorization: asked.authorization.clone(),
                };
                state.seen.push(seen);
                match state.next.take() {
                    Some((0, content)) => {
                        state.content = content;
                        state.version += 1;
                    }
                    Some((left, content)) => state.next = Some((left - 1, content)),
                    None => {}
                }
                let fault = state.faults.pop_front().unwrap_or(Fault::None);
                (state.content.clone(), state.version, fault, state.missing)
            };
            let mut put = input.by_ref().take(match fault {
                Fault::CutPut(bytes) => asked.body.min(bytes as u64),
                _ => asked.body,
            });
            let mut given = Vec::new();
            put.read_to_end(&mut given)?;
            let endless = match fault {
                Fault::Endless => Some(("200 X\r\n".to_owned(), content.to_vec())),
                Fault::Unasked => {
                    let part = format!("\r\n--x\r\nContent-Range: bytes 0-0/{}\r\n\r\n", content.len());
                    let part = [part.as_bytes(), &content[..1]].concat();
                    Some(("206 X\r\nContent-Type: multipart/byteranges; boundary=x\r\n".to_owned(), part.repeat(500)))
                }
                _ => None,
            };
            if let Some((head, body)) = endless {
                output.write_all(format!("HTTP/1.1 {head}Connection: close\r\n\r\n").as_bytes())?;
                while !self.ended.load(Ordering::Relaxed) {
                    self.send(&mut output, &body)?;
                }
                return Ok(());
            }
            let answer = match fault {
                Fault::Status(status, after) => {
                    let after = after.map(|seconds| format!("Retry-After: {seconds}\r\n")).unwrap_or_default();
                    Answer { status, head: after, body: b"busy".to_vec() }
                }
                Fault::Region(region) => {
                    Answer { status: 301, head: format!("x-amz-bucket-region: {region}\r\n"), body: Vec::new() }
                }
                Fault::CutPut(_) => {
                    self.put(given);
                    return Ok(());
                }
                _ if self.config.writable && asked.method == "PUT" => {
                    if let Fault::KeepsOnly(bytes) = fault {
                        given.truncate(bytes);
                    }
                    self.put(given);
                    Answer { status: 201, head: String::new(), body: Vec::new() }
                }
                _ if self.config.writable && asked.method == "DELETE" => {
                    self.state().missing = true;
                    Answer { status: 204, head: String::new(), body: Vec::new() }
                }
                _ if !matches!(&*asked.method, "GET" | "HEAD") => {
                    Answer { status: 405, head: String::new(), body: Vec::new() }
                }
                _ if missing => Answer { status: 404, head: String::new(), body: Vec::new() },
                _ => self.answer(&asked, &content, version),
            };
            let mut length = answer.body.len();
            let mut body = &answer.body[..];
            match fault {
                Fault::CutAfter(bytes) => body = &body[..bytes.min(body.len())],
                Fault::TooLong(bytes) => length += bytes,
                _ => {}
            }
            let closes = asked.closes || self.config.closes || length != body.len();
            let mut head = format!("HTTP/1.1 {} X\r\n{}", answer.status, answer.head);
            if closes {
                head.push_str("Connection: close\r\n");
            }
            if self.config.says_length || asked.method == "HEAD" {
                output.write_all(format!("{head}Content-Length: {length}\r\n\r\n").as_bytes())?;
                if asked.method != "HEAD" {
                    self.send(&mut output, body)?;
                }
            } else {
                output.write_all(format!("{head}Transfer-Encoding: chunked\r\n\r\n").as_bytes())?;
                for piece in body.chunks(10_000) {
                    output.write_all(format!("{:x}\r\n", piece.len()).as_bytes())?;
                    self.send(&mut output, piece)?;
                    output.write_all(b"\r\n")?;
                }
                if length == body.len() {
                    output.write_all(b"0\r\n\r\n")?;
                }
            }
            if closes {
                return Ok(());
            }
        }
        Ok(())
    }

    fn put(&self, content: Vec<u8>) {
        let mut state = self.state();
        state.content = content.into();
        state.version += 1;
        state.missing = false;
    }

    fn send(&self, output: &mut &TcpStream, body: &[u8]) -> io::Result<()> {
        for piece in body.chunks(16 << 10) {
            self.body_bytes.fetch_add(piece.len() as u64, Ordering::Relaxed);
            output.write_all(piece)?;
        }
        Ok(())
    }

    fn answer(&self, asked: &Asked, content: &[u8], version: u32) -> Answer {
        let config = &self.config;
        let route = config.routes.iter().find(|(start, _)| asked.path.starts_with(start)).map(|(_, to)| to);
        if let Some(to) = route.or(config.redirect.as_ref()) {
            return Answer { status: 302, head: format!("Location: {to}\r\n"), body: b"elsewhere".to_vec() };
        }
        if config.token.as_ref().is_some_and(|token| asked.authorization != Some(format!("Bearer {token}"))) {
            return Answer { status: 401, head: String::new(), body: b"who are you?".to_vec() };
        }
        let tag = match config.etag {
            Tag::None => String::new(),
            Tag::Strong => format!("ETag: \"v{version}\"\r\n"),
            Tag::Weak => format!("ETag: W/\"v{version}\"\r\n"),
            Tag::Modified => format!("Last-Modified: Thu, 01 Jan 1970 00:00:{version:02} GMT\r\n"),
        };
        let whole = || Answer { status: 200, head: tag.clone(), body: content.to_vec() };
        let is_suffix = asked.range.as_ref().is_some_and(|range| range.starts_with("bytes=-"));
        if let Some(status) = config.suffix_status.filter(|_| is_suffix) {
            return Answer { status, head: String::new(), body: b"what range?".to_vec() };
        }
        let length = content.len() as u64;
        let wanted = asked.range.as_deref().and_then(|range| self.wanted(range, length));
        let most = match config.ranges {
            Ranges::Ignored => return whole(),
            Ranges::First => 1,
            Ranges::Most(most) => most,
        };
        let Some(mut wanted) = wanted else { return whole() };
        let total = if config.says_total { length.to_string() } else { "*".to_owned() };
        if wanted.is_empty() {
            let head = if config.says_range { format!("Content-Range: bytes */{total}\r\n") } else { String::new() };
            return Answer { status: 416, head, body: Vec::new() };
        }
        if config.ranges == Ranges::First {
            wanted.truncate(1);
        }
        if wanted.len() > most {
            return match config.too_many {
                TooMany::Whole => whole(),
                TooMany::Status(status) => Answer { status, head: String::new(), body: b"too many".to_vec() },
            };
        }
        let wanted = self.cut(wanted);
        let bytes = |range: &Range<u64>| &content[range.start as usize..range.end as usize];
        let line =
            |name: &str, range: &Range<u64>| format!("{name}: bytes {}-{}/{total}\r\n", range.start, range.end - 1);
        if let [range] = &wanted[..] {
            let said = if config.says_range { line(config.range_name, range) } else { String::new() };
            return Answer { status: 206, head: tag + &said, body: bytes(range).to_vec() };
        }
        let mut body = Vec::new();
        for range in &wanted {
            body.extend_from_slice(b"\r\n--123456\r\n");
            if config.range_name == "Content-Range" {
                body.extend_from_slice(b"Content-Type: application/octet-stream\r\n");
            }
            body.extend_from_slice(line(config.range_name, range).as_bytes());
            body.extend_from_slice(b"\r\n");
            body.extend_from_slice(bytes(range));
        }
        body.extend_from_slice(b"\r\n--123456--\r\n");
        Answer { status: 206, head: tag + "Content-Type: multipart/byteranges; boundary=123456\r\n", body }
    }

    /// Ranges of a header that lie in the file, at least in part. None if it is malformed.
    fn wanted(&self, header: &str, length: u64) -> Option<Vec<Range<u64>>> {
        let mut found = Vec::new();
        for text in header.strip_prefix("bytes=")?.split(',') {
            let (first, last) = text.trim().split_once('-')?;
            let range = if first.is_empty() {
                if !self.config.suffixes {
                    return None;
                }
                length.saturating_sub(last.parse().ok()?)..length
            } else {
                let end = if last.is_empty() { length } else { last.parse::<u64>().ok()?.checked_add(1)? };
                first.parse().ok()?..end.min(length)
            };
            if range.start < range.end {
                found.push(range);
            }
        }
        Some(found)
    }

    /// Joins, splits and turns ranges around.
    fn cut(&self, wanted: Vec<Range<u64>>) -> Vec<Range<u64>> {
        let mut ranges: Vec<Range<u64>> = Vec::new();
        for range in wanted {
            match (ranges.last_mut(), self.config.joins_within) {
                (Some(last), Some(gap)) if last.start <= range.start && range.start <= last.end + gap => {
                    last.end = last.end.max(range.end);
                }
                _ => ranges.push(range),
            }
        }
        if let Some(bytes) = self.config.splits_at
            && ranges.len() > 1
        {
            let split = |range: Range<u64>| {
                let end = range.end;
                range.step_by(bytes as usize).map(move |start| start..end.min(start + bytes))
            };
            ranges = ranges.into_iter().flat_map(split).collect();
        }
        if self.config.reorders {
            ranges.reverse();
        }
        ranges
    }
}

struct Answer {
    status: u16,
    head: String,
    body: Vec<u8>,
}

/// The next request, without its body; none at the end of the connection.
fn read_request(input: &mut BufReader<TcpStream>, strict: bool) -> io::Result<Option<Asked>> {
    let mut asked = Asked::default();
    let mut line = String::new();
    loop {
        line.clear();
        if input.by_ref().take(64 << 10).read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let text = line.trim_end();
        if text.is_empty() {
            return Ok(Some(asked));
        }
        if asked.method.is_empty() {
            let mut words = text.split(' ').map(str::to_owned);
            asked.method = words.next().unwrap_or_default();
            asked.path = words.next().unwrap_or_default();
        } else if let Some((name, value)) = text.split_once(':') {
            let value = value.trim().to_owned();
            let capital = name.starts_with(|first: char| first.is_ascii_uppercase());
            match name.to_ascii_lowercase().as_str() {
                "range" | "authorization" if strict && !capital => {}
                "range" => asked.range = Some(value),
                "authorization" => asked.authorization = Some(value),
                "content-length" => asked.body = value.parse().unwrap_or(0),
                "connection" => asked.closes = value.eq_ignore_ascii_case("close"),
                _ => {}
            }
        }
    }
}
