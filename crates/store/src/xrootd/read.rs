//! Ranges of an open file, into an assembly.

use std::cell::{Cell, RefCell};
use std::time::{Duration, Instant};

use futures_util::future::Either;
use futures_util::stream::{FuturesUnordered, StreamExt};
use sapwood::{Error, ErrorKind};

use super::XrootdStore;
use super::connection::Event;
use super::open::{Opened, WAITS};
use super::refusal::{
    ARGUMENT_TOO_LONG, FILE_NOT_OPEN, INVALID_ARGUMENT, INVALID_REQUEST, UNSUPPORTED, nonsense, refused,
};
use super::session::wait;
use super::wire::{Broken, Refusal, Request, Stat, Status, Vector};
use crate::net::{Again, Ask, Assembly, PARALLEL, Trouble, requests};

/// What one attempt reads into.
pub(super) struct Reading<'a, 'b> {
    pub(super) assembly: &'a RefCell<Assembly<'b>>,
    /// Bytes that came and had been missing.
    pub(super) news: &'a Cell<u64>,
}

/// What feeding a vector may end in.
enum Halt {
    Broken(Broken),
    Trouble(Trouble),
}

impl From<Broken> for Halt {
    fn from(broken: Broken) -> Self {
        Self::Broken(broken)
    }
}

impl XrootdStore {
    /// Asks for all that is missing, once.
    pub(super) async fn attempt(&self, opened: &Opened, reading: &Reading<'_, '_>) -> Result<(), Trouble> {
        let (ranges, bytes) = opened.session().limits(self.options.timeout).await;
        let missing = reading.assembly.borrow().missing();
        let mut waiting = requests(&missing, ranges, bytes).into_iter();
        let one = |ask| Either::Right(self.exchange(opened, ask, reading));
        // As many as pay are on their way; each that is done makes room for the next.
        let mut working = FuturesUnordered::new();
        if opened.is_due() {
            working.push(Either::Left(self.look(opened)));
        }
        working.extend(waiting.by_ref().take(PARALLEL).map(one));
        while let Some(done) = working.next().await {
            done?;
            if let Some(ask) = waiting.next() {
                working.push(one(ask));
            }
        }
        Ok(())
    }

    /// Asks whether the file is what it was: a file that is written in place keeps its handle. The question goes along with the
    /// reads and takes no round trip of its own.
    async fn look(&self, opened: &Opened) -> Result<(), Trouble> {
        let mut pending = opened.session().connection.ask(&Request::Stat { handle: opened.handle });
        match pending.whole(self.options.timeout).await? {
            (Status::Ok, body) => match Stat::read(&body) {
                Ok(now) => self.check(&now).map_err(Trouble::never),
                Err(broken) => Err(nonsense(&opened.host, broken)),
            },
            // Servers that do not tell.
            _ => Ok(()),
        }
    }

    /// One request and its answer.
    async fn exchange(&self, opened: &Opened, ask: Ask, reading: &Reading<'_, '_>) -> Result<(), Trouble> {
        let session = opened.session();
        let name = opened.host.as_str();
        let _permit = session.permits.acquire().await;
        let handle = opened.handle;
        let request = match &ask {
            Ask::One(range) => Request::Read { handle, range: range.clone() },
            Ask::Many(ranges) => Request::ReadVector { handle, ranges },
        };
        let asked = Instant::now();
        let mut pending = session.connection.ask(&request);
        let (mut flow, mut vector) = (Flow::default(), Vector::default());
        let mut at = if let Ask::One(range) = &ask { range.start } else { 0 };
        loop {
            match pending.next(self.options.timeout).await? {
                Event::Data(bytes) => {
                    if flow.first.is_none() && pending.alone {
                        self.gauge.answered_in(pending.sent.elapsed());
                    }
                    flow.came(bytes.len());
                    match &ask {
                        Ask::One(_) => {
                            self.put(reading, at, &bytes)?;
                            at = at.saturating_add(bytes.len() as u64);
                        }
                        Ask::Many(_) => vector
                            .feed(&bytes, &mut |offset, data| self.put(reading, offset, data).map_err(Halt::Trouble))
                            .map_err(|halt| match halt {
                                Halt::Broken(broken) => nonsense(name, broken),
                                Halt::Trouble(trouble) => trouble,
                            })?,
                    }
                }
                Event::Done => break,
                Event::Other(Status::Wait, body) => {
                    let trouble = wait(name, &body);
                    let Again::After(pause) = trouble.again else { return Err(trouble) };
                    if asked.elapsed() + pause > self.options.timeout * WAITS {
                        return Err(Trouble { again: Again::Never, ..trouble });
                    }
                    tokio::time::sleep(pause.max(Duration::from_millis(10))).await;
                    pending = session.connection.ask(&request);
                    vector = Vector::default();
                    at = if let Ask::One(range) = &ask { range.start } else { 0 };
                }
                Event::Other(Status::Error, body) => {
                    let refusal = Refusal::read(&body).map_err(|broken| nonsense(name, broken))?;
                    return self.refused(opened, &ask, &refusal);
                }
                // The file has to be opened there.
                Event::Other(Status::Redirect, _) => {
                    self.lose(opened);
                    let words = format!("{name} has the file no longer");
                    return Err(Trouble::later(Error::new(ErrorKind::Io, words)));
                }
                Event::Other(..) => {
                    return Err(nonsense(name, Broken("an answer that belongs to something else")));
                }
                Event::Broken(trouble) => return Err(trouble),
            }
        }
        self.gauge.flowed(flow.bytes, flow.time());
        let came = match &ask {
            Ask::One(range) => at >= range.end,
            Ask::Many(ranges) => vector.may_end() && reading.assembly.borrow().missing_of(ranges).is_empty(),
        };
        if came {
            return Ok(());
        }
        let words = format!("{name} sent less than it was asked for");
        Err(Trouble::later(Error::new(ErrorKind::Io, words)))
    }

    fn put(&self, reading: &Reading<'_, '_>, offset: u64, data: &[u8]) -> Result<(), Trouble> {
        let news = reading.assembly.borrow_mut().put(offset, data).map_err(Trouble::never)?;
        reading.news.set(reading.news.get() + news);
        Ok(())
    }

    /// A read that the server refuses.
    fn refused(&self, opened: &Opened, ask: &Ask, refusal: &Refusal) -> Result<(), Trouble> {
        let mut trouble = refused(&opened.host, refusal);
        let no_vectors = [INVALID_ARGUMENT, ARGUMENT_TOO_LONG, INVALID_REQUEST, UNSUPPORTED].contains(&refusal.code);
        if matches!(ask, Ask::Many(_)) && no_vectors {
            // Not in this form; one range at a time may be.
            opened.session().knows_no_vectors();
            trouble.again = Again::After(Duration::ZERO);
        }
        if refusal.code == FILE_NOT_OPEN {
            self.lose(opened); // a server that was started anew knows nothing of it
        }
        Err(trouble)
    }
}

/// How bytes came.
#[derive(Debug, Default)]
struct Flow {
    first: Option<Instant>,
    last: Option<Instant>,
    /// Behind the first piece.
    bytes: u64,
}

impl Flow {
    fn came(&mut self, bytes: usize) {
        let now = Instant::now();
        if self.first.is_some() {
            self.bytes += bytes as u64;
        }
        self.first.get_or_insert(now);
        self.last = Some(now);
    }

    fn time(&self) -> Duration {
        match (self.first, self.last) {
            (Some(first), Some(last)) => last - first,
            _ => Duration::ZERO,
        }
    }
}
