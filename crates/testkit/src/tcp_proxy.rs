//! A link on loopback that is slow or breaks by plan.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use crate::link_shaper::LinkShaper;
use crate::requests::Requests;

/// What one connection is like. Bytes are counted from the server to the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wire {
    /// As fast as loopback.
    Good,
    /// Each direction takes so long.
    Delayed(Duration),
    /// As if the server were far away: each direction takes so long, and so many bytes a second go either way, which
    /// all such connections share. Connecting takes a round trip, too: what a client sends first waits for it. Bytes on
    /// their way are kept here, without a bound, so that nothing of TCP's own windows is seen.
    Far {
        /// One way.
        delay: Duration,
        /// Bytes a second.
        rate: u64,
    },
    /// So many bytes a second.
    Slow(u64),
    /// Ends in order after so many bytes.
    CutAfter(usize),
    /// Breaks after so many bytes.
    ResetAfter(usize),
    /// After so many bytes nothing comes, and the connection stays.
    StallAfter(usize),
    /// After so many bytes each byte takes so long.
    DripAfter(usize, Duration),
    /// Whatever is asked, the answer is this status.
    Answers(u16),
}

/// Forwards connections to a server. It ends when this is dropped.
///
/// # Example
///
/// ```
/// use std::io::{Read, Write};
/// use sapwood_testkit::http_server::{ServerConfig, HttpServer};
/// use sapwood_testkit::tcp_proxy::{TcpProxy, Wire};
/// let server = HttpServer::start("hello world", ServerConfig::default());
/// let proxy = TcpProxy::start(server.address(), |_| Wire::CutAfter(4));
/// let mut stream = std::net::TcpStream::connect(proxy.address())?;
/// stream.write_all(b"GET / HTTP/1.1\r\n\r\n")?;
/// let mut answer = String::new();
/// stream.read_to_string(&mut answer)?;
/// assert_eq!(answer, "HTTP");
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct TcpProxy {
    address: SocketAddr,
    shared: Arc<Shared>,
    thread: Option<thread::JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    ended: AtomicBool,
    connections: AtomicUsize,
    streams: Mutex<Vec<TcpStream>>,
    requests: AtomicU64,
    up_bytes: AtomicU64,
    down_bytes: AtomicU64,
    up: LinkShaper,
    down: LinkShaper,
}

/// What went through.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Connections of clients.
    pub connections: usize,
    /// Requests of http and root:// in the clear.
    pub requests: u64,
    /// Bytes of clients.
    pub up_bytes: u64,
    /// Bytes that clients were given.
    pub down_bytes: u64,
}

/// Which way bytes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Up,
    Down,
}

impl TcpProxy {
    /// Forwards to `server`; `plan` says what each connection is like, counted from zero.
    ///
    /// # Panics
    ///
    /// Where there is no port.
    pub fn start(server: SocketAddr, plan: impl Fn(usize) -> Wire + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
        let address = listener.local_addr().expect("a listener has an address");
        let shared = Arc::new(Shared::default());
        let of_thread = Arc::clone(&shared);
        let thread = thread::spawn(move || {
            for client in listener.incoming() {
                if of_thread.ended.load(Ordering::Relaxed) {
                    return;
                }
                let wire = plan(of_thread.connections.fetch_add(1, Ordering::Relaxed));
                if let Ok(client) = client {
                    let _ = of_thread.forward(&client, server, wire);
                }
            }
        });
        Self { address, shared, thread: Some(thread) }
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// How many connections were made.
    pub fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::Relaxed)
    }

    /// What went through so far.
    pub fn counts(&self) -> Counts {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let Shared { requests, up_bytes, down_bytes, .. } = &*self.shared;
        Counts {
            connections: self.connections(),
            requests: of(requests),
            up_bytes: of(up_bytes),
            down_bytes: of(down_bytes),
        }
    }
}

impl Drop for TcpProxy {
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
    fn close_all(&self) {
        for stream in self.streams.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    fn forward(self: &Arc<Self>, client: &TcpStream, server: SocketAddr, wire: Wire) -> io::Result<()> {
        let server = TcpStream::connect(server)?;
        client.set_nodelay(true)?;
        server.set_nodelay(true)?;
        let mut streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        streams.extend([client.try_clone()?, server.try_clone()?]);
        drop(streams);
        let (up, down) = ((client.try_clone()?, server.try_clone()?), (server, client.try_clone()?));
        let there = match wire {
            Wire::Delayed(_) | Wire::Far { .. } => wire,
            Wire::ResetAfter(_) => Wire::ResetAfter(usize::MAX),
            _ => Wire::Good,
        };
        let (one, two) = (Arc::clone(self), Arc::clone(self));
        thread::spawn(move || one.pump(up.0, up.1, there, Way::Up));
        thread::spawn(move || two.pump(down.0, down.1, wire, Way::Down));
        Ok(())
    }

    /// Moves bytes until either side ends or the plan does.
    fn pump(self: &Arc<Self>, mut from: TcpStream, mut to: TcpStream, wire: Wire, way: Way) {
        let mut buffer = vec![0; 16 << 10];
        let mut sent = 0;
        let mut tally = Tally::new(self, way);
        let began = Instant::now();
        match wire {
            Wire::Delayed(delay) => {
                return pump_late(from, to, tally, move |now, _| now + delay);
            }
            Wire::Far { delay, rate } => {
                let shared = Arc::clone(self);
                let arrival = move |now: Instant, bytes| match way {
                    Way::Up => shared.up.arrival(now.max(began + 2 * delay), bytes, rate, delay),
                    Way::Down => shared.down.arrival(now, bytes, rate, delay),
                };
                return pump_late(from, to, tally, arrival);
            }
            _ => {}
        }
        if let Wire::Answers(status) = wire {
            // Asked first, as a server would be.
            let _ = from.set_read_timeout(Some(Duration::from_millis(500)));
            let _ = from.read(&mut buffer);
            let answer = format!("HTTP/1.1 {status} By plan\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
            let _ = to.write_all(answer.as_bytes());
            close(&from, &to);
            return;
        }
        while let Ok(count @ 1..) = from.read(&mut buffer) {
            let left = match wire {
                Wire::CutAfter(most) | Wire::ResetAfter(most) | Wire::StallAfter(most) => most - sent,
                _ => usize::MAX,
            };
            let here = count.min(left);
            if let Wire::Slow(rate) = wire {
                let due = Duration::from_secs_f64((sent + here) as f64 / rate.max(1) as f64);
                thread::sleep(due.saturating_sub(began.elapsed()));
            }
            let written = match wire {
                Wire::DripAfter(after, each) => drip(&mut to, &buffer[..here], after.saturating_sub(sent), each),
                _ => to.write_all(&buffer[..here]),
            };
            if written.is_err() {
                break;
            }
            sent += here;
            tally.passed(&buffer[..here]);
            if here < left {
                continue;
            }
            match wire {
                Wire::StallAfter(_) => {
                    while !self.ended.load(Ordering::Relaxed) {
                        thread::sleep(Duration::from_millis(5));
                    }
                }
                Wire::ResetAfter(_) => {
                    // With no time to linger, closing is a reset. All copies of the socket have to go, unclosed: the
                    // other direction's as soon as nothing can be read from it.
                    let _ = rustix::net::sockopt::set_socket_linger(&to, Some(Duration::ZERO));
                    self.forget(&to);
                    let _ = to.shutdown(Shutdown::Read);
                    let _ = from.shutdown(Shutdown::Both);
                    return;
                }
                _ => {}
            }
            break;
        }
        if matches!(wire, Wire::ResetAfter(usize::MAX)) {
            let _ = to.shutdown(Shutdown::Both);
            return;
        }
        close(&from, &to);
    }

    /// Drops our own copy of a stream.
    fn forget(&self, stream: &TcpStream) {
        let Ok(peer) = stream.peer_addr() else { return };
        let mut streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        streams.retain(|one| one.peer_addr().ok() != Some(peer));
    }
}

/// Writes `free` bytes at once, and each of the others after a pause. Ends with the connection.
fn drip(to: &mut TcpStream, bytes: &[u8], free: usize, each: Duration) -> io::Result<()> {
    let (first, rest) = bytes.split_at(free.min(bytes.len()));
    to.write_all(first)?;
    for byte in rest {
        thread::sleep(each);
        to.write_all(std::slice::from_ref(byte))?;
    }
    Ok(())
}

/// Counts what goes one way of a connection.
struct Tally {
    shared: Arc<Shared>,
    way: Way,
    requests: Requests,
}

impl Tally {
    fn new(shared: &Arc<Shared>, way: Way) -> Self {
        Self { shared: Arc::clone(shared), way, requests: Requests::default() }
    }

    fn passed(&mut self, bytes: &[u8]) {
        let add = |count: &AtomicU64, more| {
            count.fetch_add(more, Ordering::Relaxed);
        };
        match self.way {
            Way::Up => {
                add(&self.shared.up_bytes, bytes.len() as u64);
                add(&self.shared.requests, self.requests.feed(bytes));
            }
            Way::Down => add(&self.shared.down_bytes, bytes.len() as u64),
        }
    }
}

/// Moves bytes, each when it arrives: what is behind it does not wait for it.
fn pump_late(mut from: TcpStream, mut to: TcpStream, mut tally: Tally, arrival: impl Fn(Instant, usize) -> Instant) {
    let (sender, receiver) = mpsc::channel::<(Instant, Vec<u8>)>();
    let (ends, target) = (from.try_clone(), to.try_clone());
    let late = thread::spawn(move || {
        for (due, bytes) in receiver {
            thread::sleep(due.saturating_duration_since(Instant::now()));
            if to.write_all(&bytes).is_err() {
                break;
            }
            tally.passed(&bytes);
        }
        if let Ok(from) = ends {
            close(&from, &to);
        }
    });
    let mut buffer = vec![0; 16 << 10];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        let due = arrival(Instant::now(), count);
        if sender.send((due, buffer[..count].to_vec())).is_err() {
            break;
        }
    }
    drop(sender);
    let _ = late.join();
    if let Ok(to) = target {
        close(&from, &to);
    }
}

fn close(from: &TcpStream, to: &TcpStream) {
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http_server::{HttpServer, ServerConfig};

    #[test]
    fn far_links_delay_and_count_bytes() {
        let server = HttpServer::start(vec![7; 100_000], ServerConfig::default());
        let (delay, rate) = (Duration::from_millis(20), 1_000_000);
        let proxy = TcpProxy::start(server.address(), move |_| Wire::Far { delay, rate });
        let began = Instant::now();
        let ask = || {
            let mut stream = TcpStream::connect(proxy.address()).unwrap();
            stream.write_all(b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n").unwrap();
            let mut answer = Vec::new();
            stream.read_to_end(&mut answer).unwrap();
            answer.len() as u64
        };
        let bytes: u64 = thread::scope(|scope| {
            let both = [scope.spawn(ask), scope.spawn(ask)];
            both.map(|one| one.join().unwrap()).iter().sum()
        });
        // Two round trips each, side by side, and all bytes at one rate.
        assert!(began.elapsed() >= 4 * delay + Duration::from_millis(200), "{:?}", began.elapsed());
        let counts = proxy.counts();
        assert_eq!((counts.connections, counts.requests, counts.down_bytes), (2, 2, bytes));
        assert!(counts.up_bytes > 50);
    }
}
