//! What the server says on one connection.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use super::config::{
    BIND, CLOSE, Elsewhere, Fault, LOGIN, OPEN, READ, READ_PAGES, READ_VECTOR, STAT, Seen, ServerConfig, Shared,
};

const PAGE_BYTES: usize = 4096;

/// One connection.
pub(super) struct Client {
    shared: Arc<Shared>,
    from: TcpStream,
    to: Arc<Mutex<TcpStream>>,
    is_in: bool,
    is_proved: bool,
    /// The number of the session, as the login says it and as further connections name it.
    session: [u8; 16],
    /// By which connection of the session the answer is wanted.
    path: u8,
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
    pub(super) fn new(shared: Arc<Shared>, from: TcpStream) -> io::Result<Self> {
        from.set_nodelay(true)?;
        let to = Arc::new(Mutex::new(from.try_clone()?));
        let is_proved = shared.config.offers.is_empty();
        let session = u128::from(from.peer_addr()?.port()).to_be_bytes();
        Ok(Self {
            shared,
            from,
            to,
            is_in: false,
            is_proved,
            session,
            path: 0,
            handles: 0,
            held: Vec::new(),
            gathered: Vec::new(),
        })
    }

    pub(super) fn serve(mut self) -> io::Result<()> {
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
            let path = match asked.request {
                READ | READ_PAGES => asked.data.first().copied().unwrap_or(0),
                _ => 0,
            };
            let seen = Seen { request: asked.request, text: text.clone(), ranges: ranges.clone(), path };
            shared.state().seen.push(seen);
            self.path = path;
            if self.is_in {
                // Further connections may join after the next request: servers know of a login a moment after their
                // answer.
                shared.state().bound.entry(self.session).or_default();
            }
            match asked.request {
                3006 => {
                    let can = if shared.config.says_pages { 0x20 } else { 0 };
                    self.answer(asked.stream, 0, &[0, 0, 5, 0x20, 0, can, 0, 1])?;
                }
                LOGIN => {
                    self.is_in = true;
                    let body = [&self.session[..], shared.config.offers.as_bytes()].concat();
                    self.answer(asked.stream, 0, &body)?;
                }
                BIND => {
                    let mut state = shared.state();
                    let Some(bound) = state.bound.get_mut(&asked.body) else {
                        drop(state);
                        return self.refuse(asked.stream, 3000, "session not logged in");
                    };
                    bound.push(self.from.try_clone()?);
                    let path = bound.len() as u8;
                    drop(state);
                    self.answer(asked.stream, 0, &[path])?;
                    let mut rest = [0; 1];
                    while self.from.read(&mut rest)? > 0 {}
                    return Ok(());
                }
                _ if !self.is_in => return self.refuse(asked.stream, 3006, "not logged in"),
                3000 if text == shared.config.accepts => {
                    self.is_proved = true;
                    self.answer(asked.stream, 0, &[])?;
                }
                3000 => self.refuse(asked.stream, 3030, "credentials refused")?,
                // As the real one does.
                _ if !self.is_proved => {
                    self.refuse(asked.stream, 3006, "user not authenticated")?;
                    return self.from.shutdown(Shutdown::Both);
                }
                OPEN => self.open(&asked, &text)?,
                3001 => {
                    let ServerConfig { vector_ranges, vector_bytes, says_limits, .. } = shared.config;
                    let words = if says_limits { format!("{vector_ranges}\n{vector_bytes}\n") } else { text };
                    self.answer(asked.stream, 0, words.as_bytes())?;
                }
                STAT => self.answer(asked.stream, 0, self.stat("").as_bytes())?,
                CLOSE => self.answer(asked.stream, 0, &[])?,
                READ_PAGES if !shared.config.knows_pages => self.refuse(asked.stream, 3006, "Invalid request code")?,
                READ | READ_PAGES | READ_VECTOR => self.read(&asked, &ranges)?,
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
        if let Some(time) = self.shared.config.gathers {
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
        let fault = match state.faults.front() {
            Some(Fault::OpenError(_)) => state.faults.pop_front(),
            _ => None,
        };
        drop(state);
        if let Some(Fault::OpenError(code)) = fault {
            return self.refuse(asked.stream, code, "by plan");
        }
        if count < shared.config.waits {
            return self.answer(asked.stream, 4005, &[0, 0, 0, 0, b'w', b'a', b'i', b't']);
        }
        let elsewhere = &shared.config.elsewhere;
        if let Some(Elsewhere { port, to }) = elsewhere.get(count - shared.config.waits).or(elsewhere.last()) {
            let body = [&port.to_be_bytes(), to.as_bytes()].concat();
            return self.answer(asked.stream, 4004, &body);
        }
        if text.contains("missing") {
            // Servers repeat what they were asked for, with all that was sent along.
            return self.refuse(asked.stream, 3011, &format!("no such file: {text}"));
        }
        self.handles += 1;
        let mut body = self.handles.to_be_bytes().to_vec();
        if shared.config.says_stat {
            body.extend_from_slice(&[0; 8]);
            body.extend_from_slice(self.stat(text).as_bytes());
        }
        self.answer(asked.stream, 0, &body)
    }

    fn read(&mut self, asked: &Asked, ranges: &[(u64, u32)]) -> io::Result<()> {
        let shared = Arc::clone(&self.shared);
        let mut state = shared.state();
        let fault = state.faults.pop_front().unwrap_or(Fault::None);
        drop(state);
        let (content, stream) = (shared.content(), asked.stream);
        match fault {
            Fault::Error(code) => return self.refuse(stream, code, "by plan"),
            Fault::Forgotten => return self.refuse(stream, 3004, "file not open"),
            Fault::Wait(seconds) => return self.answer(stream, 4005, &seconds.to_be_bytes()),
            Fault::Nonsense => {
                self.writer().write_all(&[0xFF; 16])?;
                return Ok(());
            }
            _ => {}
        }
        let is_vector = asked.request == READ_VECTOR;
        if is_vector {
            if ranges.len() > shared.config.vector_ranges {
                return self.refuse(stream, 3002, "Read vector is too long");
            }
            if ranges.iter().any(|(_, bytes)| *bytes > shared.config.vector_bytes) {
                return self.refuse(stream, 3000, "Single readv transfer is too large");
            }
        }
        if self.path > 0 && self.bound().is_none() {
            self.path = 0;
            return self.refuse(stream, 3000, "invalid path ID");
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
        let is_pages = asked.request == READ_PAGES;
        if is_pages {
            let at = ranges.first().map_or(0, |(start, _)| *start);
            let step = shared.config.split_bytes.unwrap_or(usize::MAX);
            body = pages(stream, at, &body, step, fault);
        }
        match fault {
            Fault::Short if !is_pages => {
                body.pop();
            }
            Fault::CutAfter(most) | Fault::StallAfter(most) => {
                self.release()?;
                if is_pages {
                    body.truncate(most);
                    self.put(&body)?;
                } else {
                    self.send(stream, 0, &body, most)?;
                }
                while matches!(fault, Fault::StallAfter(_)) && !shared.ended.load(Ordering::Relaxed) {
                    thread::sleep(Duration::from_millis(5));
                }
                if self.path > 0 {
                    let _ = self.bound().map(|bound| bound.shutdown(Shutdown::Both));
                    self.path = 0;
                    return self.refuse(stream, 3000, "invalid path ID");
                }
                return self.from.shutdown(Shutdown::Both);
            }
            _ => {}
        }
        // Parts of an answer by pages are frames already.
        if is_pages { self.put(&body) } else { self.answer(stream, 0, &body) }
    }

    fn refuse(&mut self, stream: u16, code: u32, words: &str) -> io::Result<()> {
        let body = [&code.to_be_bytes(), words.as_bytes(), b"\0"].concat();
        self.answer(stream, 4003, &body)
    }

    fn writer(&self) -> MutexGuard<'_, TcpStream> {
        self.to.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers now, later, or in another order, as the config has it.
    fn answer(&mut self, stream: u16, status: u16, body: &[u8]) -> io::Result<()> {
        if self.is_in && self.is_proved && stream != 0 {
            if let Some(late) = self.shared.config.late {
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
            if self.shared.config.reorders {
                self.held.push((stream, status, body.to_vec()));
                return Ok(());
            }
        }
        self.send(stream, status, body, usize::MAX)
    }

    /// Sends an answer, in frames if it has to be, up to so many bytes.
    fn send(&mut self, stream: u16, status: u16, body: &[u8], most: usize) -> io::Result<()> {
        let mut bytes = Vec::new();
        let step = self.shared.config.split_bytes.filter(|_| status == 0).unwrap_or(usize::MAX).max(1);
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
        self.put(&bytes)
    }

    /// The further connection by which the answer is wanted.
    fn bound(&self) -> Option<TcpStream> {
        let state = self.shared.state();
        state.bound.get(&self.session)?.get(usize::from(self.path).checked_sub(1)?)?.try_clone().ok()
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.shared.config.gathers.is_some() {
            self.gathered.extend_from_slice(bytes);
            return Ok(());
        }
        if self.path == 0 {
            return self.writer().write_all(bytes);
        }
        // The client may have hung up meanwhile.
        let _ = self.bound().map(|mut to| to.write_all(bytes));
        Ok(())
    }
}

fn head(stream: u16, status: u16, bytes: usize) -> [u8; 8] {
    let ([a, b], [c, d], [e, f, g, h]) = (stream.to_be_bytes(), status.to_be_bytes(), (bytes as u32).to_be_bytes());
    [a, b, c, d, e, f, g, h]
}

/// An answer by pages: frames that hold about so many bytes each, the last one first if there are several, as storage
/// that answers out of order has it.
fn pages(stream: u16, at: u64, content: &[u8], step: usize, fault: Fault) -> Vec<u8> {
    let mut data = content.to_vec();
    if fault == Fault::Short {
        data.pop();
    }
    let (mut frames, mut open, mut from, mut done) = (Vec::new(), Vec::new(), at, 0);
    let mut number = 0;
    while done < data.len() {
        let here = at + done as u64;
        let end = data.len().min(done + PAGE_BYTES - here as usize % PAGE_BYTES);
        let mut page = data[done..end].to_vec();
        let sum = crc32c::crc32c(&page);
        if fault == Fault::WrongPage(number) {
            page[0] ^= 0x10;
        }
        (number, done) = (number + 1, end);
        open.extend_from_slice(&sum.to_be_bytes());
        open.extend_from_slice(&page);
        if open.len() >= step {
            frames.push((from, std::mem::take(&mut open)));
            from = at + done as u64;
        }
    }
    frames.push((from, open));
    let mut answer = Vec::new();
    while let Some((from, body)) = frames.pop() {
        let from = if fault == Fault::Misplaced { from + (1 << 40) } else { from };
        let mut said = stream.to_be_bytes().to_vec();
        said.extend([30, u8::from(!frames.is_empty()), 0, 0, 0, 0]);
        said.extend((body.len() as u32).to_be_bytes());
        said.extend(from.to_be_bytes());
        let sum = crc32c::crc32c(&said) ^ u32::from(fault == Fault::WrongHead);
        answer.extend(head(stream, 4007, 4 + said.len()));
        answer.extend(sum.to_be_bytes());
        answer.extend(said);
        answer.extend(body);
    }
    answer
}

/// What a read asks for, as start and length.
fn ranges(asked: &Asked) -> Vec<(u64, u32)> {
    let number = |bytes: &[u8]| bytes.iter().fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte));
    match asked.request {
        READ | READ_PAGES => vec![(number(&asked.body[4..12]), number(&asked.body[12..]) as u32)],
        READ_VECTOR => asked.data.chunks_exact(16).map(|one| (number(&one[8..]), number(&one[4..8]) as u32)).collect(),
        _ => Vec::new(),
    }
}
