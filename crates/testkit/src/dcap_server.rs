//! A dCache in miniature, on loopback: a door and a pool that speak dcap in its passive mode, and behave as the test
//! wants.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use bytes::Bytes;

/// How the server behaves.
#[derive(Clone, Debug)]
pub struct ServerConfig {
    /// The pool sends blocks of at most so many bytes.
    pub block_bytes: usize,
    /// Whether the pool knows reads of several ranges.
    pub vectors: bool,
    /// Whether the door tells what a file is.
    pub says_stat: bool,
}

impl Default for ServerConfig {
    fn default() -> Self {
        Self { block_bytes: 262_140, vectors: true, says_stat: true }
    }
}

/// What goes wrong with one open, or with one read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Nothing, with one read.
    None,
    /// The door refuses to open, with this number and this word of POSIX.
    Refused(u32, &'static str),
    /// The door asks for another try.
    Retry,
    /// The door hangs up instead of an answer.
    HangUp,
    /// The door never says which pool.
    Silence,
    /// The pool refuses to read.
    Denied,
    /// The pool cannot read the first range, and says so at the end.
    Failed,
    /// The connection ends after so many bytes of the answer.
    CutAfter(usize),
    /// Nothing comes after so many bytes of the answer.
    StallAfter(usize),
    /// After so many bytes of the answer, each byte takes a twentieth of a second.
    DripAfter(usize),
    /// The last byte is missing, and nothing is said of it.
    Short,
    /// Bytes that violate the protocol.
    Nonsense,
}

impl Fault {
    fn is_of_an_open(self) -> bool {
        matches!(self, Self::Refused(..) | Self::Retry | Self::HangUp | Self::Silence)
    }
}

/// What was asked of the door, or of the pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seen {
    /// A line at the door, behind its first three words.
    Line(String),
    /// The pool was asked where the file ends.
    Locate,
    /// The pool was asked for these ranges, as start and length.
    Read(Vec<(u64, u64)>),
    /// The file was closed.
    Close,
}

#[derive(Clone, Debug)]
struct Held {
    content: Bytes,
    modified: u64,
    number: u64,
}

/// A server that runs until it is dropped.
///
/// # Example
///
/// ```
/// use std::io::{BufRead, BufReader, Write};
/// use sapwood_testkit::dcap_server::{ServerConfig, DcapServer};
/// let server = DcapServer::start("hello world", ServerConfig::default());
/// let mut stream = std::net::TcpStream::connect(server.address())?;
/// writeln!(stream, "0 0 client hello 0 0 2 47 14 test")?;
/// writeln!(stream, "1 0 client stat dcap://127.0.0.1/data.root")?;
/// let mut lines = BufReader::new(stream).lines();
/// assert_eq!(lines.next().unwrap()?, "0 0 server welcome 2 47");
/// assert!(lines.next().unwrap()?.starts_with("1 0 client stat -st_size=11 "));
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct DcapServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    threads: Vec<thread::JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    config: ServerConfig,
    pool: SocketAddr,
    ended: AtomicBool,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    files: BTreeMap<String, Held>,
    seen: Vec<Seen>,
    faults: VecDeque<Fault>,
    /// All that are open.
    streams: Vec<TcpStream>,
    /// Doors' clients, so far.
    clients: usize,
    /// Connections to the pool, so far.
    movers: usize,
    /// Files that were opened and wait for their client, by session and challenge.
    waiting: HashMap<(i32, String), Waiting>,
}

/// A file that a pool holds ready for the client that knows the challenge.
#[derive(Debug)]
struct Waiting {
    file: Held,
    session: i32,
    command: String,
    door: TcpStream,
    /// Connections to the pool that end with the one to the door.
    fates: Arc<Mutex<Vec<TcpStream>>>,
}

const READ: i32 = 2;
const SEEK: i32 = 3;
const CLOSE: i32 = 4;
const ACK: i32 = 6;
const FIN: i32 = 7;
const DATA: i32 = 8;
const LOCATE: i32 = 9;
const SEEK_READ: i32 = 11;
const READ_VECTOR: i32 = 13;
/// A pool takes commands of at most so many bytes.
const COMMAND_BYTES: usize = 16_384;

impl DcapServer {
    /// A server with one file, `/data.root`.
    ///
    /// # Panics
    ///
    /// If there is no port.
    pub fn start(content: impl Into<Bytes>, config: ServerConfig) -> Self {
        let door = low_port().expect("a port for the door");
        let pool = TcpListener::bind("127.0.0.1:0").expect("a port for the pool");
        let address = door.local_addr().expect("the door has an address");
        let at = pool.local_addr().expect("the pool has an address");
        let shared = Arc::new(Shared { config, pool: at, ended: AtomicBool::new(false), state: Mutex::default() });
        let serve = |listener: TcpListener, one: fn(Arc<Shared>, TcpStream)| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                for stream in listener.incoming().map_while(Result::ok) {
                    if shared.ended.load(Ordering::Relaxed) {
                        break;
                    }
                    let _ = stream.set_nodelay(true);
                    shared.state().streams.extend(stream.try_clone());
                    let shared = Arc::clone(&shared);
                    thread::spawn(move || one(shared, stream));
                }
            })
        };
        let threads = vec![
            serve(door, |shared, stream| drop(at_the_door(&shared, stream))),
            serve(pool, |shared, stream| drop(at_the_pool(&shared, stream))),
        ];
        let server = Self { address, shared, threads };
        server.put("/data.root", content);
        server
    }

    /// Where its door is.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The URL of its file.
    pub fn url(&self) -> String {
        format!("dcap://{}/data.root", self.address)
    }

    /// Puts a file at a path, or another one in its place: with another time of change and another number. A client
    /// that has the old one open goes on with it, as in a dCache.
    pub fn put(&self, path: &str, content: impl Into<Bytes>) {
        let mut state = self.shared.state();
        let number = state.files.get(path).map_or(4711, |file| file.number + 1);
        let file = Held { content: content.into(), modified: 1_700_000_000 + number - 4711, number };
        state.files.insert(path.to_owned(), file);
    }

    /// What was asked so far.
    pub fn seen(&self) -> Vec<Seen> {
        self.shared.state().seen.clone()
    }

    /// Forgets what was asked.
    pub fn forget(&self) {
        self.shared.state().seen.clear();
    }

    /// Connections so far: to the door, and to the pool.
    pub fn connections(&self) -> (usize, usize) {
        let state = self.shared.state();
        (state.clients, state.movers)
    }

    /// The next opens and reads go wrong so, one after the other.
    pub fn spoil(&self, faults: &[Fault]) {
        self.shared.state().faults.extend(faults);
    }

    /// Ends all connections.
    pub fn hang_up(&self) {
        self.shared.close_all();
    }
}

impl Drop for DcapServer {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::Relaxed);
        for address in [self.address, self.shared.pool] {
            let _ = TcpStream::connect(address); // so that it stops waiting
        }
        for thread in self.threads.drain(..) {
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

    fn note(&self, seen: Seen) {
        self.state().seen.push(seen);
    }

    fn fault(&self, of_an_open: bool) -> Fault {
        let mut state = self.state();
        match state.faults.front() {
            Some(next) if next.is_of_an_open() == of_an_open => state.faults.pop_front().unwrap_or(Fault::None),
            _ => Fault::None,
        }
    }
}

/// A free port below 32,768: `dccp` keeps the door's in sixteen bits with a sign.
fn low_port() -> Option<TcpListener> {
    let first = std::process::id().wrapping_mul(7_919) % 12_000;
    (0..12_000).find_map(|step| {
        let port = 20_000 + (first + step) % 12_000;
        TcpListener::bind(("127.0.0.1", u16::try_from(port).ok()?)).ok()
    })
}

/// Words of a line; blanks between quotation marks are part of one.
fn words(line: &str) -> Vec<String> {
    let (mut found, mut word, mut quoted, mut any) = (Vec::new(), String::new(), false, false);
    for letter in line.chars() {
        match letter {
            '"' => (quoted, any) = (!quoted, true),
            blank if blank.is_whitespace() && !quoted => {
                if any {
                    found.push(std::mem::take(&mut word));
                }
                any = false;
            }
            other => {
                word.push(other);
                any = true;
            }
        }
    }
    if any {
        found.push(word);
    }
    found
}

/// The path of a URL, with `%20` and the like resolved.
fn path_of(url: &str) -> Option<String> {
    let (_, rest) = url.strip_prefix("dcap://")?.split_once('/')?;
    let mut path = vec![b'/'];
    let mut bytes = rest.bytes();
    while let Some(byte) = bytes.next() {
        path.push(match byte {
            b'%' => {
                let digits = [bytes.next()?, bytes.next()?];
                u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?
            }
            other => other,
        });
    }
    String::from_utf8(path).ok()
}

/// One client at the door, until it goes.
fn at_the_door(shared: &Arc<Shared>, stream: TcpStream) -> io::Result<()> {
    shared.state().clients += 1;
    let fates = Arc::<Mutex<Vec<TcpStream>>>::default();
    let done = lines_at_the_door(shared, &stream, &fates);
    // A door ends what its client began.
    for mover in fates.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
        let _ = mover.shutdown(Shutdown::Both);
    }
    let _ = stream.shutdown(Shutdown::Both);
    done
}

fn lines_at_the_door(shared: &Arc<Shared>, stream: &TcpStream, fates: &Arc<Mutex<Vec<TcpStream>>>) -> io::Result<()> {
    let (mut from, mut to, mut greeted) = (BufReader::new(stream), stream, false);
    loop {
        let mut line = String::new();
        if (&mut from).take(COMMAND_BYTES as u64).read_line(&mut line)? == 0 {
            return Ok(());
        }
        let words = words(&line);
        let [session, command, who, order, rest @ ..] = &words[..] else { return Ok(()) };
        let Ok(number) = session.parse::<i32>() else { return Ok(()) };
        shared.note(Seen::Line(words[3..].join(" ")));
        let head = format!("{session} {command} {who}");
        let file = || rest.first().and_then(|url| shared.state().files.get(&path_of(url)?).cloned());
        let answer = match order.as_str() {
            "hello" if rest.len() >= 6 => {
                greeted = true;
                format!("0 0 server welcome {} {}", rest[2], rest[3])
            }
            _ if !greeted => return Ok(()),
            "byebye" => return Ok(()),
            "ping" => format!("{session} {command} server pong"),
            "stat" | "lstat" if shared.config.says_stat => match file() {
                Some(Held { content, modified, number }) => format!(
                    "{head} stat -st_size={} -st_uid=0 -st_gid=0 -st_atime={modified} \
                     -st_mtime={modified} -st_ctime={modified} \
                     -st_mode=-rw-r--r-- -st_ino={number}",
                    content.len()
                ),
                None => format!("{head} failed 10001 \"No such file or directory\" ENOENT"),
            },
            "open" => match shared.fault(true) {
                Fault::HangUp => return Ok(()),
                Fault::Silence => continue,
                Fault::Retry => format!("{head} retry"),
                Fault::Refused(code, word) => format!("{head} failed {code} \"by plan\" {word}"),
                _ if !rest.iter().any(|word| word == "-passive") => {
                    format!("{head} failed 104 \"here clients connect to pools\" EINVAL")
                }
                _ if rest.get(1).is_none_or(|mode| mode != "r") => {
                    format!("{head} failed 1 \"File is readOnly\" EPERM")
                }
                _ => match file() {
                    None => format!("{head} failed 2 \"No such file or directory\""),
                    Some(file) => {
                        let mut state = shared.state();
                        let challenge = format!("Y2hhbGxlbmdl{:08}", state.waiting.len() + state.movers);
                        let door = stream.try_clone()?;
                        let fates = Arc::clone(fates);
                        let ready = Waiting { file, session: number, command: command.clone(), door, fates };
                        state.waiting.insert((number, challenge.clone()), ready);
                        format!("{head} connect {} {} {challenge}", shared.pool.ip(), shared.pool.port())
                    }
                },
            },
            _ => format!("{head} failed 9 \"command not found: {order}\""),
        };
        to.write_all(format!("{answer}\n").as_bytes())?;
    }
}

/// Numbers of a command.
struct Command<'a>(&'a [u8]);

impl Command<'_> {
    fn int(&mut self) -> io::Result<i32> {
        let mut bytes = [0; 4];
        self.0.read_exact(&mut bytes)?;
        Ok(i32::from_be_bytes(bytes))
    }

    fn long(&mut self) -> io::Result<i64> {
        let mut bytes = [0; 8];
        self.0.read_exact(&mut bytes)?;
        Ok(i64::from_be_bytes(bytes))
    }
}

fn int(stream: &mut impl Read) -> io::Result<i32> {
    let mut bytes = [0; 4];
    stream.read_exact(&mut bytes)?;
    Ok(i32::from_be_bytes(bytes))
}

/// One client at the pool, until it goes or closes its file.
fn at_the_pool(shared: &Arc<Shared>, mut stream: TcpStream) -> io::Result<()> {
    let session = int(&mut stream)?;
    let length = usize::try_from(int(&mut stream)?).unwrap_or(usize::MAX).min(1024);
    let mut challenge = vec![0; length];
    stream.read_exact(&mut challenge)?;
    let key = (session, String::from_utf8_lossy(&challenge).into_owned());
    let Some(waiting) = shared.state().waiting.remove(&key) else {
        return stream.shutdown(Shutdown::Both);
    };
    shared.state().movers += 1;
    waiting.fates.lock().unwrap_or_else(PoisonError::into_inner).extend(stream.try_clone());
    let closed = Mover { shared, content: waiting.file.content, position: 0 }.serve(&mut stream)?;
    stream.shutdown(Shutdown::Both)?;
    if closed {
        writeln!(&waiting.door, "{} {} client ok", waiting.session, waiting.command)?;
    }
    Ok(())
}

/// A file that is read by one client.
struct Mover<'a> {
    shared: &'a Shared,
    content: Bytes,
    position: usize,
}

impl Mover<'_> {
    /// True when the file was closed.
    fn serve(&mut self, stream: &mut TcpStream) -> io::Result<bool> {
        loop {
            let length = usize::try_from(int(stream)?).unwrap_or(usize::MAX);
            if !(4..=COMMAND_BYTES).contains(&length) {
                return Ok(false);
            }
            let mut bytes = vec![0; length];
            stream.read_exact(&mut bytes)?;
            let mut command = Command(&bytes);
            let number = command.int()?;
            let ranges = match number {
                CLOSE => {
                    self.shared.note(Seen::Close);
                    stream.write_all(&told(ACK, CLOSE, &[]))?;
                    return Ok(true);
                }
                LOCATE => {
                    self.shared.note(Seen::Locate);
                    let place = [self.content.len(), self.position].map(|one| (one as u64).to_be_bytes());
                    stream.write_all(&told(ACK, LOCATE, &place.concat()))?;
                    continue;
                }
                SEEK => {
                    self.seek(command.long()?, command.int()?);
                    stream.write_all(&told(ACK, SEEK, &(self.position as u64).to_be_bytes()))?;
                    continue;
                }
                READ => vec![self.here(command.long()?)],
                SEEK_READ => {
                    self.seek(command.long()?, command.int()?);
                    vec![self.here(command.long()?)]
                }
                READ_VECTOR if self.shared.config.vectors => {
                    let count = command.int()?;
                    let range = |_| Ok((command.long()? as u64, command.int()? as u64));
                    (0..count).map(range).collect::<io::Result<Vec<_>>>()?
                }
                _ => {
                    stream.write_all(&refused(ACK, 666, 9, "Invalid mover command"))?;
                    continue;
                }
            };
            self.shared.note(Seen::Read(ranges.clone()));
            let fault = self.shared.fault(false);
            let answer = self.answer(number, &ranges, fault);
            match fault {
                Fault::CutAfter(bytes) if bytes < answer.len() => {
                    stream.write_all(&answer[..bytes])?;
                    return Ok(false);
                }
                Fault::StallAfter(bytes) if bytes < answer.len() => {
                    stream.write_all(&answer[..bytes])?;
                    return io::copy(stream, &mut io::sink()).map(|_| false);
                }
                Fault::DripAfter(bytes) if bytes < answer.len() => {
                    stream.write_all(&answer[..bytes])?;
                    for byte in &answer[bytes..] {
                        thread::sleep(std::time::Duration::from_millis(50));
                        stream.write_all(std::slice::from_ref(byte))?;
                    }
                }
                _ => stream.write_all(&answer)?,
            }
            if matches!(fault, Fault::Denied | Fault::Failed) {
                return Ok(false); // a pool whose disk failed has done with the file
            }
        }
    }

    /// Beyond the end of the file there is nowhere to go, and a pool says nothing of it.
    fn seek(&mut self, offset: i64, whence: i32) {
        let from = [0, self.position as i64, self.content.len() as i64];
        let place = from.get(whence as usize).and_then(|from| usize::try_from(from + offset).ok());
        if let Some(place) = place.filter(|place| *place <= self.content.len()) {
            self.position = place;
        }
    }

    /// So many bytes from here on, or what there is of them.
    fn here(&mut self, bytes: i64) -> (u64, u64) {
        let start = self.position;
        let bytes = usize::try_from(bytes).unwrap_or(0).min(self.content.len() - start);
        self.position += bytes;
        (start as u64, bytes as u64)
    }

    fn answer(&self, number: i32, ranges: &[(u64, u64)], fault: Fault) -> Vec<u8> {
        match fault {
            Fault::Denied => return refused(ACK, number, 204, "READ denied (IO not ok)"),
            Fault::Nonsense => return [0x7F, 0xFF, 0xFF, 0xFF, 1, 2, 3, 4].repeat(100),
            _ => {}
        }
        let mut answer = told(ACK, number, &[]);
        answer.extend([4, DATA].map(i32::to_be_bytes).concat());
        for (index, (start, bytes)) in ranges.iter().enumerate() {
            let cut = |place: u64| usize::try_from(place).unwrap_or(usize::MAX).min(self.content.len());
            let (from, mut to) = (cut(*start), cut(start.saturating_add(*bytes)));
            match fault {
                Fault::Failed if index == 0 => continue,
                Fault::Short if index + 1 == ranges.len() => to = to.saturating_sub(1).max(from),
                _ => {}
            }
            for block in self.content[from..to].chunks(self.shared.config.block_bytes) {
                answer.extend((block.len() as u32).to_be_bytes());
                answer.extend(block);
            }
        }
        // A vector has no mark where its bytes end.
        if number != READ_VECTOR {
            answer.extend((-1_i32).to_be_bytes());
        }
        answer.extend(match fault {
            Fault::Failed => refused(FIN, number, 204, "READ failed (IO not ok)"),
            _ => told(FIN, number, &[]),
        });
        answer
    }
}

/// That a command is well, with what else there is to tell.
fn told(kind: i32, number: i32, more: &[u8]) -> Vec<u8> {
    let length = 12 + more.len() as i32;
    [&[length, kind, number, 0].map(i32::to_be_bytes).concat()[..], more].concat()
}

/// That a command failed.
fn refused(kind: i32, number: i32, code: i32, words: &str) -> Vec<u8> {
    let length = 14 + words.len() as i32;
    let head = [length, kind, number, code].map(i32::to_be_bytes).concat();
    [&head[..], &(words.len() as u16).to_be_bytes(), words.as_bytes()].concat()
}
