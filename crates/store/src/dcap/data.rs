//! The data connection: commands and bytes between a client and a pool.

use std::time::{Duration, Instant};

use sapwood::io::ByteRange;
use sapwood::{Error, ErrorKind};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::control::{ControlConnection, Leave, OPEN, broken, clean, connect, nonsense};
use crate::net::{Ask, LinkStats, Pace, RequestError, RetryWhen};

const CLOSE: i32 = 4;
const ACK: i32 = 6;
const FIN: i32 = 7;
const DATA: i32 = 8;
const LOCATE: i32 = 9;
const SEEK_READ: i32 = 11;
const READ_VECTOR: i32 = 13;
/// The most ranges of a command: a pool takes 16 KiB.
pub(super) const RANGES: usize = 1024;
/// The longest message that is accepted: its text has two bytes for its length.
const MESSAGE_BYTES: usize = 14 + 65_535;
/// Commands that are on their way at a time: they stay in the buffers of the connection while the pool sends.
const AHEAD: usize = 4;
const BUFFER_BYTES: usize = 64 << 10;

/// An open file: one connection to a door and one to a pool.
#[derive(Debug)]
pub(super) struct DataConnection {
    stream: BufReader<TcpStream>,
    /// The pool's host and port, for messages.
    name: String,
    patience: Duration,
    pace: Pace,
    /// All that was asked is answered.
    idle: bool,
    pub(super) opened: Instant,
    /// When it was last read.
    pub(super) used: Instant,
    /// The file is open for as long as this is.
    _door: ControlConnection,
}

/// What a read ends in.
pub(super) enum Halt {
    /// The pool knows no commands of several ranges.
    NoVectors,
    RequestError(RequestError),
}

impl From<RequestError> for Halt {
    fn from(failure: RequestError) -> Self {
        Self::RequestError(failure)
    }
}

impl Drop for DataConnection {
    fn drop(&mut self) {
        if self.idle {
            // If it does not come through, the end of the connection says the same.
            let _ = self.stream.get_ref().try_write(&command(CLOSE, &[]));
        }
    }
}

impl DataConnection {
    /// Connects to the pool that a door named.
    pub(super) async fn connect(
        door: ControlConnection,
        leave: &Leave,
        patience: Duration,
    ) -> Result<Self, RequestError> {
        let (host, port) = &leave.pool;
        let host = clean(host);
        let name = if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") };
        let stream = connect(&host, *port, &name, patience).await?;
        let stream = BufReader::with_capacity(BUFFER_BYTES, stream);
        let opened = Instant::now();
        let pace = Pace::new(patience);
        let mut line = Self { stream, name, patience, pace, idle: false, opened, used: opened, _door: door };
        let challenge = leave.challenge.as_bytes();
        let length = i32::try_from(challenge.len()).unwrap_or(i32::MAX);
        line.send(&[&OPEN.to_be_bytes(), &length.to_be_bytes(), challenge].concat()).await?;
        Ok(line)
    }

    /// Asks for ranges, gives what comes of them to `put`, and tells how long the file is.
    pub(super) async fn read(
        &mut self,
        asks: &[Ask],
        link_stats: &LinkStats,
        put: &mut impl FnMut(u64, &[u8]) -> Result<(), RequestError>,
    ) -> Result<u64, Halt> {
        self.idle = false;
        self.pace = Pace::new(self.patience);
        let mut commands = asks.iter().map(encode).chain([command(LOCATE, &[])]);
        for first in commands.by_ref().take(AHEAD) {
            self.send(&first).await?;
        }
        for ask in asks {
            match ask {
                Ask::One(range) => self.one(range, link_stats, put).await?,
                Ask::Many(ranges) => self.many(ranges, link_stats, put).await?,
            }
            if let Some(next) = commands.next() {
                self.send(&next).await?;
            }
        }
        let told = self.read_message(ACK, LOCATE).await?;
        let len = told.first_chunk().map(|bytes| u64::from_be_bytes(*bytes));
        (self.idle, self.used) = (true, Instant::now());
        Ok(len.ok_or_else(|| nonsense(&self.name, "no length"))?)
    }

    /// Bytes of one range, which are handed on as they come.
    async fn one(
        &mut self,
        range: &ByteRange,
        link_stats: &LinkStats,
        put: &mut impl FnMut(u64, &[u8]) -> Result<(), RequestError>,
    ) -> Result<(), Halt> {
        self.begun(SEEK_READ).await?;
        let (mut at, began) = (range.start, Instant::now());
        loop {
            let block = self.int().await?;
            if block == -1 {
                break;
            }
            let mut left = self.fits(block, range.end - at)?;
            while left > 0 {
                let come = self.piece(left).await?;
                put(at, come)?;
                let come = come.len();
                self.stream.consume(come);
                (at, left) = (at + come as u64, left - come);
            }
        }
        self.read_message(FIN, SEEK_READ).await?;
        link_stats.flowed(at - range.start, began.elapsed());
        if at < range.end {
            return Err(self.short().into());
        }
        Ok(())
    }

    /// Bytes of many ranges. A pool that cannot read one of them leaves it out and goes on with the next; only the end
    /// says that something went wrong, and so nothing is handed on before.
    async fn many(
        &mut self,
        ranges: &[ByteRange],
        link_stats: &LinkStats,
        put: &mut impl FnMut(u64, &[u8]) -> Result<(), RequestError>,
    ) -> Result<(), Halt> {
        self.begun(READ_VECTOR).await?;
        let (mut bytes, began) = (Vec::new(), Instant::now());
        for range in ranges {
            let mut wanted = range.end - range.start;
            while wanted > 0 {
                let block = self.int().await?;
                let mut left = self.fits(block, wanted)?;
                wanted -= left as u64;
                while left > 0 {
                    let come = self.piece(left).await?;
                    bytes.extend_from_slice(come);
                    let come = come.len();
                    self.stream.consume(come);
                    left -= come;
                }
            }
        }
        self.read_message(FIN, READ_VECTOR).await?;
        link_stats.flowed(bytes.len() as u64, began.elapsed());
        let mut rest = &bytes[..];
        for range in ranges {
            let length = usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
            let (one, more) = rest.split_at_checked(length).ok_or_else(|| self.short())?;
            put(range.start, one)?;
            rest = more;
        }
        Ok(())
    }

    /// The pool begins to send what a command asked for.
    async fn begun(&mut self, number: i32) -> Result<(), Halt> {
        match self.message().await? {
            (ACK, of, code, _) if of == number && code == 0 => {}
            // So a pool answers that does not know the request.
            (ACK, 666, ..) if number == READ_VECTOR => return Err(Halt::NoVectors),
            (ACK, _, code, words) if code != 0 => return Err(self.refused(code, &words).into()),
            _ => return Err(nonsense(&self.name, "an answer to something else").into()),
        }
        match self.message().await? {
            (DATA, ..) => Ok(()),
            _ => Err(nonsense(&self.name, "no data where data begin").into()),
        }
    }

    /// What a message of this kind tells of a command that went well.
    async fn read_message(&mut self, kind: i32, number: i32) -> Result<Vec<u8>, RequestError> {
        match self.message().await? {
            (found, of, 0, more) if found == kind && of == number => Ok(more),
            (found, _, code, words) if found == kind && code != 0 => Err(self.refused(code, &words)),
            _ => Err(nonsense(&self.name, "an answer to something else")),
        }
    }

    /// Kind, number of the command, how it went, and the rest of a message.
    async fn message(&mut self) -> Result<(i32, i32, i32, Vec<u8>), RequestError> {
        let length = usize::try_from(self.int().await?).ok().filter(|length| (4..=MESSAGE_BYTES).contains(length));
        let mut left = length.ok_or_else(|| nonsense(&self.name, "a message of no length"))?;
        let mut bytes = Vec::with_capacity(left);
        while left > 0 {
            let come = self.piece(left).await?;
            bytes.extend_from_slice(come);
            let come = come.len();
            self.stream.consume(come);
            left -= come;
        }
        let int = |index: usize| {
            bytes.get(index * 4..).and_then(|rest| rest.first_chunk()).map_or(0, |four| i32::from_be_bytes(*four))
        };
        let (kind, number, code) = (int(0), int(1), int(2));
        if kind != DATA && bytes.len() < 12 {
            return Err(nonsense(&self.name, "a message that ends early"));
        }
        Ok((kind, number, code, bytes.split_off(bytes.len().min(12))))
    }

    /// The length of a block, which may not be more than what is wanted.
    fn fits(&self, block: i32, wanted: u64) -> Result<usize, RequestError> {
        let fits = usize::try_from(block).ok().filter(|block| *block > 0 && *block as u64 <= wanted);
        fits.ok_or_else(|| nonsense(&self.name, "a block of another length than what was asked for"))
    }

    fn short(&self) -> RequestError {
        RequestError::later(Error::new(ErrorKind::Io, format!("{} sent less than it was asked for", self.name)))
    }

    /// A command that failed, with what the pool says: two bytes of length, and words.
    fn refused(&self, code: i32, words: &[u8]) -> RequestError {
        let said = clean(&String::from_utf8_lossy(words.get(2..).unwrap_or_default()));
        let words = if said.is_empty() { format!("no, with the number {code}") } else { said };
        RequestError::later(Error::new(ErrorKind::Io, format!("{} says: {words}", self.name)))
    }

    async fn int(&mut self) -> Result<i32, RequestError> {
        let mut bytes = [0; 4];
        let began = Instant::now();
        let came = timeout(self.patience, self.stream.read_exact(&mut bytes)).await;
        came.map_err(|_| RequestError::late(&self.name, self.patience))?.map_err(|error| broken(&self.name, error))?;
        self.keep_up(bytes.len(), began)?;
        Ok(i32::from_be_bytes(bytes))
    }

    /// What has come, at most so much; it is for the caller to consume it.
    async fn piece(&mut self, most: usize) -> Result<&[u8], RequestError> {
        let began = Instant::now();
        let come = timeout(self.patience, self.stream.fill_buf()).await;
        let come = come.map_err(|_| RequestError::late(&self.name, self.patience))?;
        let come = come.map_err(|error| broken(&self.name, error))?.len().min(most);
        if come == 0 {
            return Err(broken(&self.name, std::io::ErrorKind::UnexpectedEof.into()));
        }
        self.keep_up(come, began)?;
        Ok(self.stream.buffer().get(..come).unwrap_or_default())
    }

    /// Gives up a pool that sends too little in the time since `began`.
    fn keep_up(&mut self, bytes: usize, began: Instant) -> Result<(), RequestError> {
        if self.pace.keeps_up(bytes, began.elapsed()) { Ok(()) } else { Err(RequestError::slow(&self.name)) }
    }

    async fn send(&mut self, bytes: &[u8]) -> Result<(), RequestError> {
        let sent = timeout(self.patience, self.stream.get_mut().write_all(bytes)).await;
        sent.map_err(|_| RequestError::late(&self.name, self.patience))?.map_err(|error| broken(&self.name, error))
    }
}

impl Halt {
    /// What to do about it, where vectors will not be asked for again.
    pub(super) fn failure(self) -> RequestError {
        match self {
            Self::RequestError(failure) => failure,
            Self::NoVectors => RequestError {
                again: RetryWhen::After(Duration::ZERO),
                ..RequestError::later(Error::unsupported("the pool reads one range at a time"))
            },
        }
    }
}

fn encode(ask: &Ask) -> Vec<u8> {
    match ask {
        Ask::One(range) => {
            let from_the_start = 0_i32.to_be_bytes();
            let (start, length) = (range.start.to_be_bytes(), (range.end - range.start).to_be_bytes());
            command(SEEK_READ, &[&start, &from_the_start[..], &length].concat())
        }
        Ask::Many(ranges) => {
            let mut rest = (ranges.len() as u32).to_be_bytes().to_vec();
            for range in ranges {
                rest.extend(range.start.to_be_bytes());
                rest.extend(((range.end - range.start) as u32).to_be_bytes()); // no request is so long
            }
            command(READ_VECTOR, &rest)
        }
    }
}

fn command(number: i32, rest: &[u8]) -> Vec<u8> {
    let length = 4 + rest.len() as u32; // a few kilobytes
    [&length.to_be_bytes(), &number.to_be_bytes(), rest].concat()
}
