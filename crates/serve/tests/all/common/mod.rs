//! What tests of the proxy share: a folder, a proxy with short times, a client that sees every byte.

#![allow(dead_code)] // each test program uses some of it

pub mod xrootd_client;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::time::Duration;

use sapwood_serve::{Proxy, ProxyOptions};
use sapwood_store::NetOptions;

/// Bytes that do not repeat themselves.
pub fn content(length: usize) -> Vec<u8> {
    let words = (0..length as u32).map(|i| i.wrapping_mul(2_654_435_761).to_be_bytes());
    words.flatten().skip(1).step_by(3).take(length).collect()
}

/// A folder of one test, removed at its end.
pub struct Scrap(pub PathBuf);

impl Scrap {
    pub fn new(test: &str) -> Self {
        let place = std::env::temp_dir().join(format!("sapwood-serve-{test}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&place);
        std::fs::create_dir_all(&place).expect("a folder");
        Self(place)
    }

    /// All files below, and what they hold.
    pub fn files(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let (mut found, mut waiting) = (Vec::new(), vec![self.0.clone()]);
        while let Some(folder) = waiting.pop() {
            for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
                match entry.path() {
                    path if path.is_dir() => waiting.push(path),
                    path => found.push((path.clone(), std::fs::read(path).unwrap_or_default())),
                }
            }
        }
        found
    }
}

impl Drop for Scrap {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The network of a test: a server that does not answer is given up soon.
pub fn quick() -> NetOptions {
    NetOptions { timeout: Duration::from_secs(2), retries: 1, ..NetOptions::default() }
}

/// Options of a test: nothing is fetched ahead unless the test is about that.
pub fn options(upstream: &str, scrap: &Scrap) -> ProxyOptions {
    ProxyOptions { net: quick(), prefetch: false, ..ProxyOptions::new(upstream, scrap.0.join("cache")) }
}

pub fn start(upstream: &str, scrap: &Scrap) -> Proxy {
    Proxy::start(options(upstream, scrap)).expect("options that make sense")
}

/// An answer, head and body.
#[derive(Debug)]
pub struct Got {
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
}

impl Got {
    /// The value of a header; empty where it is not there.
    pub fn header(&self, name: &str) -> &str {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(':'));
        lines.find(|(one, _)| one.eq_ignore_ascii_case(name)).map_or("", |(_, value)| value.trim())
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// Sends a request as it stands, and takes what comes until the other end closes.
pub fn send(address: SocketAddr, request: &str) -> Got {
    let mut stream = TcpStream::connect(address).expect("a connection");
    stream.set_read_timeout(Some(Duration::from_secs(30))).expect("a time");
    stream.write_all(request.as_bytes()).expect("an open connection");
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes); // an end that is no good one is one, too
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n").map_or(bytes.len(), |at| at + 4);
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    Got { status, head, body: bytes[end..].to_vec() }
}

/// `GET` with these headers, each with its line end.
pub fn get(proxy: &Proxy, path: &str, headers: &str) -> Got {
    send(proxy.address(), &format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{headers}\r\n"))
}

/// A number of `/metrics`.
pub fn metric(proxy: &Proxy, name: &str) -> u64 {
    let text = proxy.metrics();
    let start = format!("sapwood_proxy_{name} ");
    let line = text.lines().find_map(|line| line.strip_prefix(&start));
    line.unwrap_or_else(|| panic!("no {name} in {text}")).parse().expect("a number")
}

/// Until something holds that other threads bring about.
pub fn until(what: &str, holds: impl Fn() -> bool) {
    for _ in 0..3000 {
        if holds() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("it does not come to pass: {what}");
}
