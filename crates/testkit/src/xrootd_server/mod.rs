//! An XRootD server with one file, on loopback, that behaves as the test wants.

mod client;
mod config;

use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use bytes::Bytes;

use client::Client;
use config::Shared;
pub use config::{BIND, CLOSE, Elsewhere, Fault, LOGIN, OPEN, READ, READ_PAGES, READ_VECTOR, STAT, Seen, ServerConfig};

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
