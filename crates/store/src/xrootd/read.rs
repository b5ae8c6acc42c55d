//! Ranges of an open file, into an assembly.

use std::cell::{Cell, RefCell};
use std::time::{Duration, Instant};

use futures_util::future::Either;
use futures_util::stream::{FuturesUnordered, StreamExt};
use sapwood::{Error, ErrorKind};

use super::connection::{BUSY_TIMES, Event, WAITS};
use super::handshake::wait;
use super::open::Opened;
use super::refusal::{nonsense, refused};
use super::store::XrootdStore;
use super::wire::numbers::code::{ARGUMENT_TOO_LONG, FILE_NOT_OPEN, INVALID_ARGUMENT, INVALID_REQUEST, UNSUPPORTED};
use super::wire::{Broken, Handle, Pages, Refusal, Request, Stat, Status, Vector, Wrong};
use crate::net::{Ask, Assembly, PARALLEL, Pace, RequestError, RetryWhen, requests};

/// What one attempt reads into.
pub(super) struct Reading<'a, 'b> {
    pub(super) assembly: &'a RefCell<Assembly<'b>>,
    /// Bytes that came and had been missing.
    pub(super) news: &'a Cell<u64>,
}

/// What an answer is made of.
enum Body {
    Plain(u64),
    Vector(Vector),
    Pages(Pages),
}

/// How it ended.
enum Ended {
    Whole,
    Wrong(Wrong),
    /// The further connection is gone by which it came.
    Cut,
}

/// What feeding it may end in.
enum Halt {
    Broken(Broken),
    RequestError(RequestError),
}

impl From<Broken> for Halt {
    fn from(broken: Broken) -> Self {
        Self::Broken(broken)
    }
}

/// A request, and its answer as far as it has come.
struct Asked<'a> {
    request: Request<'a>,
    body: Body,
}

impl<'a> Asked<'a> {
    fn new(handle: Handle, ask: &'a Ask, by_pages: bool, again: bool) -> Self {
        let (request, body) = match ask {
            Ask::One(range) if by_pages => {
                (Request::ReadPages { handle, range: range.clone(), again }, Body::Pages(Pages::of(range)))
            }
            Ask::One(range) => (Request::Read { handle, range: range.clone() }, Body::Plain(range.start)),
            Ask::Many(ranges) => (Request::ReadVector { handle, ranges }, Body::Vector(Vector::default())),
        };
        Self { request, body }
    }
}

impl Body {
    /// What follows belongs there.
    fn part(&mut self, at: u64) -> Result<(), Broken> {
        match self {
            Self::Pages(pages) => pages.begin(at),
            _ => Err(Broken("pages that were not asked for")),
        }
    }

    fn feed(&mut self, bytes: &[u8], put: &mut impl FnMut(u64, &[u8]) -> Result<(), Halt>) -> Result<(), Halt> {
        match self {
            Self::Plain(at) => {
                put(*at, bytes)?;
                *at = at.saturating_add(bytes.len() as u64);
                Ok(())
            }
            Self::Vector(vector) => vector.feed(bytes, put),
            Self::Pages(pages) => pages.feed(bytes, put),
        }
    }
}

impl XrootdStore {
    /// Asks for all that is missing, once.
    pub(super) async fn attempt(&self, opened: &Opened, reading: &Reading<'_, '_>) -> Result<(), RequestError> {
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

    /// Asks whether the file is what it was: a file that is written in place keeps its handle. The question goes along
    /// with the reads and takes no round trip of its own.
    async fn look(&self, opened: &Opened) -> Result<(), RequestError> {
        let mut pending = opened.session().connection.ask(&Request::Stat { handle: opened.handle });
        match pending.whole(self.options.timeout).await? {
            (Status::Ok, body) => match Stat::read(&body) {
                Ok(now) => self.check(&now).map_err(RequestError::never),
                Err(broken) => Err(nonsense(&opened.host, broken)),
            },
            // Servers that do not tell.
            _ => Ok(()),
        }
    }

    /// One request and its answer. Pages whose sums are wrong are asked for again, and what a further connection took
    /// along.
    async fn exchange(&self, opened: &Opened, mut ask: Ask, reading: &Reading<'_, '_>) -> Result<(), RequestError> {
        let mut times = 1;
        loop {
            match self.answer(opened, &ask, times > 1, reading).await? {
                Ended::Whole => return Ok(()),
                Ended::Cut => {} // there are only so many
                Ended::Wrong(wrong) if times > self.options.retries => {
                    let words = format!("{} sent a page with a wrong checksum, at attempt {times}", opened.host);
                    let error = Error::new(ErrorKind::Io, words).at(wrong.at);
                    return Err(RequestError::never(error.wanted(wrong.expected.into(), wrong.found.into())));
                }
                Ended::Wrong(_) => times += 1,
            }
            let missing = reading.assembly.borrow().missing_of(ask.ranges());
            let (Some(first), Some(last)) = (missing.first(), missing.last()) else { return Ok(()) };
            ask = Ask::One(first.start..last.end);
        }
    }

    /// One request and its answer.
    async fn answer(
        &self,
        opened: &Opened,
        ask: &Ask,
        again: bool,
        reading: &Reading<'_, '_>,
    ) -> Result<Ended, RequestError> {
        let session = opened.session();
        let name = opened.host.as_str();
        let _permit = session.permits.acquire().await;
        let asked = || Asked::new(opened.handle, ask, session.has_pages(), again);
        let (began, mut now) = (Instant::now(), asked());
        let mut pending = session.connection.ask(&now.request);
        let mut flow = Flow::default();
        // Other answers on the same connection take their share of it.
        let mut pace = Pace::new(self.options.timeout.saturating_mul(BUSY_TIMES));
        loop {
            let waiting = Instant::now();
            let event = match pending.next(self.options.timeout).await {
                Err(failure) if pending.was_cut(&failure) => return Ok(Ended::Cut),
                event => event?,
            };
            let bytes = if let Event::Data(bytes) = &event { bytes.len() } else { 0 };
            if !pace.keeps_up(bytes, waiting.elapsed()) && !matches!(event, Event::Done) {
                return Err(RequestError::slow(name));
            }
            match event {
                Event::Part(at) => now.body.part(at).map_err(|broken| nonsense(name, broken))?,
                Event::Data(bytes) => {
                    if flow.first.is_none() && pending.alone {
                        self.link_stats.answered_in(pending.sent.elapsed());
                    }
                    flow.came(bytes.len());
                    let put = |offset, data: &[u8]| self.put(reading, offset, data).map_err(Halt::RequestError);
                    now.body.feed(&bytes, &mut { put }).map_err(|halt| match halt {
                        Halt::Broken(broken) => nonsense(name, broken),
                        Halt::RequestError(failure) => failure,
                    })?;
                }
                Event::Done => break,
                Event::Other(Status::Wait, body) => {
                    let failure = wait(name, &body);
                    let RetryWhen::After(pause) = failure.again else { return Err(failure) };
                    if began.elapsed() + pause > self.options.timeout * WAITS {
                        return Err(RequestError { again: RetryWhen::Never, ..failure });
                    }
                    tokio::time::sleep(pause.max(Duration::from_millis(10))).await;
                    now = asked();
                    pending = session.connection.ask(&now.request);
                }
                Event::Other(Status::Error, body) => {
                    let refusal = Refusal::read(&body).map_err(|broken| nonsense(name, broken))?;
                    let failure = refused(name, &refusal);
                    if refusal.code == INVALID_ARGUMENT && pending.path != 0 {
                        session.connection.leave(pending.path, failure); // the server knows it no longer
                        return Ok(Ended::Cut);
                    }
                    return Err(self.refused(opened, &now.request, failure));
                }
                // The file has to be opened there.
                Event::Other(Status::Redirect, _) => {
                    self.lose(opened);
                    let words = format!("{name} has the file no longer");
                    return Err(RequestError::later(Error::new(ErrorKind::Io, words)));
                }
                Event::Other(..) => {
                    return Err(nonsense(name, Broken("an answer that belongs to something else")));
                }
                Event::Broken(failure) => return Err(failure),
            }
        }
        self.link_stats.flowed(flow.bytes, flow.time());
        let ended = match now.body {
            Body::Pages(Pages { wrong: Some(wrong), .. }) => return Ok(Ended::Wrong(wrong)),
            Body::Vector(vector) => vector.may_end(),
            _ => true,
        };
        if ended && reading.assembly.borrow().missing_of(ask.ranges()).is_empty() {
            return Ok(Ended::Whole);
        }
        let words = format!("{name} sent less than it was asked for");
        Err(RequestError::later(Error::new(ErrorKind::Io, words)))
    }

    fn put(&self, reading: &Reading<'_, '_>, offset: u64, data: &[u8]) -> Result<(), RequestError> {
        let news = reading.assembly.borrow_mut().put(offset, data).map_err(RequestError::never)?;
        reading.news.set(reading.news.get() + news);
        Ok(())
    }

    /// A read that the server refuses.
    fn refused(&self, opened: &Opened, request: &Request<'_>, mut failure: RequestError) -> RequestError {
        let code = failure.code.map_or(0, u32::from);
        let not_so = [INVALID_ARGUMENT, ARGUMENT_TOO_LONG, INVALID_REQUEST, UNSUPPORTED].contains(&code);
        // Not in this form; one range at a time, or without sums, it may be.
        match request {
            Request::ReadVector { .. } if not_so => opened.session().knows_no_vectors(),
            Request::ReadPages { .. } if not_so => opened.session().knows_no_pages(),
            _ if code == FILE_NOT_OPEN => {
                self.lose(opened); // a server that was started anew knows nothing of it
                return failure;
            }
            _ => return failure,
        }
        failure.again = RetryWhen::After(Duration::ZERO);
        failure
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
