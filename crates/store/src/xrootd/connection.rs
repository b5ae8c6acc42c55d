//! One connection, many requests: each has a number, and its answer comes back under that number, whole or in parts, in
//! whatever order the server likes.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use sapwood::{Error, ErrorKind};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::runtime::Handle;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::AbortHandle;

use super::wire::{Broken, HEAD_BYTES, Head, Later, Part, Request, Status, wait_seconds};
use crate::net::RequestError;

/// What is read from the socket at once.
const BUFFER_BYTES: usize = 128 << 10;
/// The longest body that is no data.
const CONTROL_BYTES: usize = 128 << 10;
/// The stream of the hello, which has no number of its own.
const HELLO_STREAM: u16 = 0;
/// An idle connection is closed after this time.
const IDLE_TIME: Duration = Duration::from_secs(20);
/// So many times the time-out may servers ask to wait in all: a tape takes its time.
pub(super) const WAITS: u32 = 20;
/// So many times its time may a request wait while the connection is busy with others.
pub(super) const BUSY_TIMES: u32 = 4;

/// Something of an answer.
#[derive(Debug)]
pub(crate) enum Event {
    /// What follows belongs there in the file.
    Part(u64),
    /// Bytes of the body, in order.
    Data(Bytes),
    /// The body is whole.
    Done,
    /// A whole answer that is no data.
    Other(Status, Bytes),
    /// There will be no answer.
    Broken(RequestError),
}

/// An open connection. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Connection {
    shared: Arc<Shared>,
    to_writer: UnboundedSender<Vec<u8>>,
}

#[derive(Debug)]
struct Shared {
    server: String,
    slots: Mutex<Slots>,
    /// When the last bytes came.
    last_received: Mutex<Instant>,
    /// Open files.
    users: AtomicUsize,
    tasks: Mutex<Vec<AbortHandle>>,
}

#[derive(Debug, Default)]
struct Slots {
    open: HashMap<u16, Slot>,
    last: u16,
    /// Further connections by their numbers, each with the task that reads it.
    paths: HashMap<u8, AbortHandle>,
    /// Why there is no connection any longer.
    end: Option<RequestError>,
}

#[derive(Debug)]
struct Slot {
    to: UnboundedSender<Event>,
    /// So many bytes may still come.
    left: u64,
    /// By which connection.
    path: u8,
}

/// A request whose answer is on its way. The answer is thrown away when this is dropped.
#[derive(Debug)]
pub(crate) struct Pending {
    shared: Arc<Shared>,
    events: UnboundedReceiver<Event>,
    pub(crate) sent: Instant,
    /// Nothing else was on its way when it was sent, so that its time is the link's.
    pub(crate) alone: bool,
    /// When something of it came.
    last: Instant,
    /// The server promised an answer until then.
    promised: Instant,
    /// The connection by which it comes.
    pub(crate) path: u8,
}

impl Connection {
    /// Speaks over a stream that stands.
    pub(crate) fn start<R, W>(runtime: &Handle, server: String, from: R, to: W) -> Self
    where
        R: AsyncRead + Unpin + Send + 'static,
        W: AsyncWrite + Unpin + Send + 'static,
    {
        let shared = Arc::new(Shared {
            server,
            slots: Mutex::default(),
            last_received: Mutex::new(Instant::now()),
            users: AtomicUsize::new(0),
            tasks: Mutex::default(),
        });
        let (to_writer, requests) = unbounded_channel();
        let (reading, writing) = (Arc::clone(&shared), Arc::clone(&shared));
        let tasks = [
            runtime.spawn(async move {
                let failure = reading.read(from).await;
                reading.end(failure);
            }),
            runtime.spawn(async move {
                if let Err(error) = write(to, requests).await {
                    writing.end(writing.broke(error));
                }
            }),
        ];
        shared.tasks().extend(tasks.iter().map(|task| task.abort_handle()));
        if !shared.lives() {
            shared.stop();
        }
        Self { shared, to_writer }
    }

    /// Reads a further connection, too. When it ends, what was to come by it is lost, and nothing else.
    pub(crate) fn join(&self, runtime: &Handle, path: u8, from: impl AsyncRead + Unpin + Send + 'static) {
        let shared = Arc::clone(&self.shared);
        let mut slots = self.shared.slots();
        if path == 0 || slots.end.is_some() || slots.paths.contains_key(&path) {
            return;
        }
        let task = runtime.spawn(async move {
            let failure = shared.read(from).await;
            shared.leave(path, failure);
        });
        slots.paths.insert(path, task.abort_handle());
    }

    /// Nothing more is to come by a further connection.
    pub(crate) fn leave(&self, path: u8, failure: RequestError) {
        self.shared.leave(path, failure);
    }

    /// Sends requests one after another, before any is answered. `first` goes ahead of them, and its answer is the
    /// first.
    pub(crate) fn submit(&self, first: Option<&[u8]>, requests: &[Request<'_>]) -> Vec<Pending> {
        let now = Instant::now();
        let mut bytes = first.unwrap_or_default().to_vec();
        let mut pending = Vec::with_capacity(requests.len() + 1);
        let mut slots = self.shared.slots();
        let mut add = |slots: &mut Slots, stream: Option<u16>, left: u64, path: u8| {
            let (to, events) = unbounded_channel();
            let stream = stream.or_else(|| slots.free());
            match (&slots.end, stream) {
                (None, Some(stream)) => {
                    let alone = slots.open.values().all(|slot| slots.is_lost(slot));
                    slots.open.insert(stream, Slot { to, left, path });
                    let shared = Arc::clone(&self.shared);
                    pending.push(Pending { shared, events, sent: now, alone, last: now, promised: now, path });
                    return Some(stream);
                }
                (Some(failure), _) => drop(to.send(Event::Broken(failure.copy()))),
                (None, None) => {
                    let words = format!("{} leaves too many requests unanswered", self.shared.server);
                    let _ = to.send(Event::Broken(RequestError::later(Error::new(ErrorKind::Io, words))));
                }
            }
            let shared = Arc::clone(&self.shared);
            pending.push(Pending { shared, events, sent: now, alone: false, last: now, promised: now, path });
            None
        };
        if first.is_some() {
            add(&mut slots, Some(HELLO_STREAM), 64, 0);
        }
        for request in requests {
            let path = if request.travels() { slots.lightest() } else { 0 };
            if let Some(stream) = add(&mut slots, None, request.answer_bytes(), path) {
                request.put_by(stream, path, &mut bytes);
            }
        }
        // Under the lock, so that requests are sent in the order of their numbers' use.
        let _ = self.to_writer.send(bytes);
        drop(slots);
        pending
    }

    /// Sends one request.
    pub(crate) fn ask(&self, request: &Request<'_>) -> Pending {
        let mut pending = self.submit(None, std::slice::from_ref(request));
        match pending.pop() {
            Some(pending) => pending,
            None => Pending::never(&self.shared), // one request has one answer
        }
    }

    pub(crate) fn lives(&self) -> bool {
        self.shared.lives()
    }

    /// How many files are open, or about to be.
    pub(crate) fn users(&self) -> &AtomicUsize {
        &self.shared.users
    }

    /// Host and port.
    pub(crate) fn server(&self) -> &str {
        &self.shared.server
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        let words = format!("the connection to {} was closed", self.shared.server);
        self.shared.end(RequestError::later(Error::new(ErrorKind::Io, words)));
    }
}

impl Pending {
    /// What comes next of the answer.
    ///
    /// # Errors
    ///
    /// Nothing came for so long, or the connection ended.
    pub(crate) async fn next(&mut self, timeout: Duration) -> Result<Event, RequestError> {
        loop {
            let busy = (self.last + timeout * BUSY_TIMES).min(self.shared.last_received() + timeout);
            let until = (self.last + timeout).max(busy).max(self.promised + timeout);
            let left = until.saturating_duration_since(Instant::now());
            match tokio::time::timeout(left, self.events.recv()).await {
                Ok(Some(Event::Broken(failure))) => return Err(failure),
                Ok(Some(Event::Other(Status::WaitResponse, body))) => {
                    let seconds = wait_seconds(&body).map_err(|broken| self.shared.nonsense(broken))?;
                    self.last = Instant::now();
                    if self.last.duration_since(self.sent) > timeout * WAITS {
                        return Err(RequestError::unanswered(&self.shared.server, timeout * WAITS));
                    }
                    let announced = self.last + Duration::from_secs(seconds.into()).min(timeout * WAITS);
                    // However often the server announces it, an answer comes in this time.
                    self.promised = announced.min(self.sent + timeout * WAITS);
                }
                Ok(Some(event)) => {
                    self.last = Instant::now();
                    return Ok(event);
                }
                Ok(None) => {
                    let words = format!("the connection to {} was closed", self.shared.server);
                    return Err(RequestError::later(Error::new(ErrorKind::Io, words)));
                }
                Err(_)
                    if self.shared.last_received() + timeout > until
                        && self.last + timeout * BUSY_TIMES > Instant::now() => {}
                Err(_) => {
                    let server = &self.shared.server;
                    let failure = if self.promised > self.sent {
                        RequestError::unanswered(server, self.sent.elapsed())
                    } else {
                        RequestError::late(server, timeout)
                    };
                    match self.path {
                        0 => self.shared.end(failure.copy()),
                        path => self.shared.leave(path, failure.copy()),
                    }
                    return Err(failure);
                }
            }
        }
    }

    /// Whether this is the end of a further connection, and of nothing else.
    pub(crate) fn was_cut(&self, failure: &RequestError) -> bool {
        let slots = self.shared.slots();
        let gone = self.path != 0 && !slots.paths.contains_key(&self.path);
        gone && slots.end.is_none() && failure.error.kind() != ErrorKind::TimedOut
    }

    /// The whole answer, where it is short.
    pub(crate) async fn whole(&mut self, timeout: Duration) -> Result<(Status, Bytes), RequestError> {
        let mut data = BytesMut::new();
        loop {
            match self.next(timeout).await? {
                // What comes is bounded by what was asked for.
                Event::Data(bytes) => data.extend_from_slice(&bytes),
                Event::Part(_) => return Err(self.shared.nonsense(Broken("pages that were not asked for"))),
                Event::Done => return Ok((Status::Ok, data.freeze())),
                Event::Other(status, body) => return Ok((status, body)),
                Event::Broken(failure) => return Err(failure),
            }
        }
    }

    fn never(shared: &Arc<Shared>) -> Self {
        let (_, events) = unbounded_channel();
        let now = Instant::now();
        Self { shared: Arc::clone(shared), events, sent: now, alone: false, last: now, promised: now, path: 0 }
    }
}

impl Slots {
    /// The connection by which the least is to come.
    fn lightest(&self) -> u8 {
        let load = |path: u8| self.open.values().filter(|slot| slot.path == path).map(|slot| slot.left).sum::<u64>();
        self.paths.keys().copied().chain([0]).min_by_key(|path| load(*path)).unwrap_or(0)
    }

    /// Whether the connection is gone by which the answer was to come.
    fn is_lost(&self, slot: &Slot) -> bool {
        slot.path != 0 && !self.paths.contains_key(&slot.path)
    }

    /// A number that no request has.
    fn free(&mut self) -> Option<u16> {
        for _ in 0..u16::MAX {
            self.last = self.last.wrapping_add(1);
            if self.last != HELLO_STREAM && !self.open.contains_key(&self.last) {
                return Some(self.last);
            }
        }
        None
    }
}

impl Shared {
    fn slots(&self) -> MutexGuard<'_, Slots> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tasks(&self) -> MutexGuard<'_, Vec<AbortHandle>> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn last_received(&self) -> Instant {
        *self.last_received.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lives(&self) -> bool {
        self.slots().end.is_none()
    }

    fn broke(&self, error: std::io::Error) -> RequestError {
        let words = format!("the connection to {} broke", self.server);
        RequestError::later(Error::new(ErrorKind::Io, words).because(error))
    }

    fn nonsense(&self, broken: Broken) -> RequestError {
        RequestError::later(Error::new(ErrorKind::Io, format!("protocol error from {}: {}", self.server, broken.0)))
    }

    fn stop(&self) {
        for task in self.tasks().drain(..) {
            task.abort();
        }
    }

    /// What was to come by a further connection will not.
    fn leave(&self, path: u8, failure: RequestError) {
        let mut slots = self.slots();
        let Some(task) = slots.paths.remove(&path) else { return };
        task.abort();
        // They keep their numbers: the server may say by the first one that it cannot.
        for slot in slots.open.values().filter(|slot| slot.path == path) {
            let _ = slot.to.send(Event::Broken(failure.copy()));
        }
    }

    /// No request is answered any longer.
    fn end(&self, failure: RequestError) {
        let mut slots = self.slots();
        for (_, slot) in slots.open.drain() {
            let _ = slot.to.send(Event::Broken(failure.copy()));
        }
        slots.end.get_or_insert(failure);
        slots.paths.drain().for_each(|(_, task)| task.abort());
        drop(slots);
        self.stop();
    }

    /// Reads until the end, and says why it ended.
    async fn read(&self, mut from: impl AsyncRead + Unpin) -> RequestError {
        let mut buffer = BytesMut::with_capacity(BUFFER_BYTES);
        let mut frame: Option<(Head, usize)> = None;
        loop {
            if let Err(broken) = self.take_frames(&mut buffer, &mut frame) {
                return self.nonsense(broken);
            }
            if buffer.capacity() - buffer.len() < BUFFER_BYTES / 4 {
                buffer.reserve(BUFFER_BYTES);
            }
            match tokio::time::timeout(IDLE_TIME, from.read_buf(&mut buffer)).await {
                Ok(Ok(0)) => {
                    let words = format!("the connection to {} broke", self.server);
                    return RequestError::later(Error::new(ErrorKind::Io, words).because("it was closed there"));
                }
                Ok(Ok(_)) => *self.last_received.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now(),
                Ok(Err(error)) => return self.broke(error),
                Err(_) if self.users.load(Ordering::Relaxed) == 0 && self.last_received().elapsed() >= IDLE_TIME => {
                    let words = format!("the connection to {} was idle", self.server);
                    return RequestError::later(Error::new(ErrorKind::Io, words));
                }
                Err(_) => {}
            }
        }
    }

    /// Hands on what is in the buffer; `frame` is the one under way, with what is missing of its body.
    fn take_frames(&self, buffer: &mut BytesMut, frame: &mut Option<(Head, usize)>) -> Result<(), Broken> {
        loop {
            let (head, left) = match *frame {
                Some(under_way) => under_way,
                None => {
                    let Some((bytes, _)) = buffer.split_first_chunk::<HEAD_BYTES>() else { return Ok(()) };
                    let head = Head::read(*bytes)?;
                    let _ = buffer.split_to(HEAD_BYTES);
                    self.expect(head)?;
                    (head, head.bytes as usize)
                }
            };
            *frame = None;
            if matches!(head.status, Status::Ok | Status::SoFar) {
                let here = left.min(buffer.len());
                if here > 0 {
                    self.send(head.stream, Event::Data(buffer.split_to(here).freeze()));
                }
                if here < left {
                    *frame = Some((head, left - here));
                    return Ok(());
                }
                if head.status == Status::Ok {
                    self.finish(head.stream, Event::Done);
                }
            } else if buffer.len() >= left {
                let body = buffer.split_to(left).freeze();
                if head.status == Status::Part {
                    *frame = Some(self.part(head, &body)?);
                    continue;
                }
                self.other(head, body)?;
            } else {
                *frame = Some((head, left));
                return Ok(());
            }
        }
    }

    /// What has been said of a part: its bytes follow as if they were a frame.
    fn part(&self, head: Head, body: &[u8]) -> Result<(Head, usize), Broken> {
        let part = Part::read(body, head.stream)?;
        let data = Head { status: if part.last { Status::Ok } else { Status::SoFar }, bytes: part.bytes, ..head };
        self.expect(data)?;
        self.send(head.stream, Event::Part(part.at));
        Ok((data, part.bytes as usize))
    }

    /// Compares what a frame says of itself with what was asked for.
    fn expect(&self, head: Head) -> Result<(), Broken> {
        let mut slots = self.slots();
        let bytes = u64::from(head.bytes);
        match (head.status, slots.open.get_mut(&head.stream)) {
            (Status::Ok | Status::SoFar, Some(slot)) => {
                slot.left =
                    slot.left.checked_sub(bytes).ok_or(Broken("an answer is longer than what was asked for"))?;
                Ok(())
            }
            (Status::Part, Some(_)) if head.bytes != Part::HEAD_BYTES => {
                Err(Broken("the head of pages has another length"))
            }
            (Status::Other(_), _) => Err(Broken("an answer with an unknown status")),
            (Status::Attention, _) | (_, Some(_)) if bytes <= CONTROL_BYTES as u64 => Ok(()),
            (Status::Attention, _) | (_, Some(_)) => Err(Broken("an answer is too long")),
            (_, None) => Err(Broken("an answer to what was not asked")),
        }
    }

    /// A whole answer that is no data.
    fn other(&self, head: Head, body: Bytes) -> Result<(), Broken> {
        match head.status {
            Status::WaitResponse => self.send(head.stream, Event::Other(head.status, body)),
            Status::Attention => {
                let Some(later) = Later::read(&body)? else { return Ok(()) }; // words for a log
                let end = later.start + later.head.bytes as usize;
                let inner = body.slice(later.start..end.min(body.len()));
                self.expect(later.head)?;
                match later.head.status {
                    Status::Ok | Status::SoFar => {
                        self.send(later.head.stream, Event::Data(inner));
                        if later.head.status == Status::Ok {
                            self.finish(later.head.stream, Event::Done);
                        }
                    }
                    Status::Attention => return Err(Broken("a late answer within a late answer")),
                    Status::Part => return Err(Broken("pages within a late answer")),
                    Status::WaitResponse => self.send(later.head.stream, Event::Other(later.head.status, inner)),
                    status => self.finish(later.head.stream, Event::Other(status, inner)),
                }
            }
            status => self.finish(head.stream, Event::Other(status, body)),
        }
        Ok(())
    }

    /// Hands an event to the request that waits for it, if it still does.
    fn send(&self, stream: u16, event: Event) {
        if let Some(slot) = self.slots().open.get(&stream) {
            let _ = slot.to.send(event);
        }
    }

    /// The last of an answer.
    fn finish(&self, stream: u16, event: Event) {
        if let Some(slot) = self.slots().open.remove(&stream) {
            let _ = slot.to.send(event);
        }
    }
}

/// Writes requests as they come, several at once where several wait.
async fn write(mut to: impl AsyncWrite + Unpin, mut requests: UnboundedReceiver<Vec<u8>>) -> std::io::Result<()> {
    while let Some(mut bytes) = requests.recv().await {
        while let Ok(more) = requests.try_recv() {
            bytes.extend_from_slice(&more);
        }
        to.write_all(&bytes).await?;
        to.flush().await?;
    }
    Ok(())
}
