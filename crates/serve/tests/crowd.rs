//! Many clients, slow ones, and more than there may be.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use sapwood_serve::{Proxy, ProxyOptions, raise_open_files};
use sapwood_testkit::http_server::{HttpServer, ServerConfig};

#[path = "all/common/mod.rs"]
mod common;
use common::{Scrap, content, get, metric, options, until};

/// What this process has in memory, in bytes.
fn resident() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or(0) * 1024
}

fn ask(proxy: &Proxy, request: &str) -> TcpStream {
    let mut stream = TcpStream::connect(proxy.address()).expect("a connection");
    stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a time");
    // What a thousand of them may hold by the system's default is more than it has for all connections.
    rustix::net::sockopt::set_socket_recv_buffer_size(&stream, 64 << 10).expect("a buffer");
    stream.write_all(request.as_bytes()).expect("an open connection");
    stream
}

#[test]
fn many_clients_that_read_nothing_hold_little_memory() {
    raise_open_files();
    let many: usize = std::env::var("SAPWOOD_CLIENTS").ok().and_then(|count| count.parse().ok()).unwrap_or(100);
    let bytes = content(20_000_000);
    let scrap = Scrap::new("crowd");
    std::fs::write(scrap.0.join("f"), &bytes).unwrap();
    let options = options(scrap.0.to_str().unwrap(), &scrap);
    let proxy = Proxy::start(ProxyOptions { connections: many + 10, ..options }).unwrap();
    assert!(get(&proxy, "/f", "").body == bytes);
    let before = resident();
    let clients: Vec<_> =
        (0..many).map(|_| ask(&proxy, "GET /f HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")).collect();
    until("all are served", || metric(&proxy, "open_connections") >= many as u64);
    // Each client has got what the system buffers for it, and takes no more.
    let sent = || metric(&proxy, "served_bytes_total");
    let last = AtomicU64::new(0);
    until("nothing goes on", || {
        std::thread::sleep(Duration::from_millis(200));
        last.swap(sent(), Ordering::Relaxed) == sent()
    });
    let more = resident().saturating_sub(before);
    println!("{many} clients: {} MB more, {} MB sent", more >> 20, sent() >> 20);
    assert!(more < ((many as u64 * 256) << 10) + (64 << 20), "{more} bytes more in memory");
    // One more is served as if they were not there.
    assert!(get(&proxy, "/f", "Range: bytes=1000000-1999999\r\n").body == bytes[1_000_000..2_000_000]);
    // Every tenth client reads its response in the end.
    for mut client in clients.into_iter().step_by(many.div_ceil(10)) {
        let mut got = Vec::new();
        client.read_to_end(&mut got).unwrap();
        assert!(got.ends_with(&bytes));
    }
    until("all have left", || metric(&proxy, "open_connections") == 0);
}

#[test]
fn connections_beyond_the_limit_get_503_with_retry_after() {
    let scrap = Scrap::new("limit");
    let server = HttpServer::start(content(1000), ServerConfig::default());
    let options = options(&format!("http://{}", server.address()), &scrap);
    let proxy = Proxy::start(ProxyOptions { connections: 3, ..options }).unwrap();
    let request = "GET /f HTTP/1.1\r\nHost: x\r\n\r\n";
    let waiting: Vec<_> = (0..3).map(|_| ask(&proxy, request)).collect();
    until("three are there", || metric(&proxy, "open_connections") == 3);
    let refused = get(&proxy, "/f", "");
    assert_eq!((refused.status, refused.header("Retry-After"), refused.header("Connection")), (503, "1", "close"));
    assert!(refused.text().contains(&server.address().to_string()));
    drop(waiting);
    until("they have left", || metric(&proxy, "open_connections") == 0);
    assert_eq!((get(&proxy, "/f", "").status, metric(&proxy, "refused_connections_total")), (200, 1));
}

#[test]
fn idle_clients_are_disconnected() {
    let scrap = Scrap::new("idle");
    std::fs::write(scrap.0.join("f"), content(20_000_000)).unwrap();
    let options = options(scrap.0.to_str().unwrap(), &scrap);
    let proxy = Proxy::start(ProxyOptions { idle: Duration::from_millis(300), ..options }).unwrap();
    let silent = ask(&proxy, "");
    let slow = ask(&proxy, "GET /f HT");
    let idle = ask(&proxy, "GET /f HTTP/1.1\r\nHost: x\r\nRange: bytes=0-9\r\n\r\n");
    let greedy = ask(&proxy, "GET /f HTTP/1.1\r\nHost: x\r\n\r\n");
    // One that sends nothing does not count.
    until("three are there", || metric(&proxy, "connections_total") == 3);
    until("all have left", || metric(&proxy, "open_connections") == 0);
    drop((silent, slow, idle, greedy));
    assert_eq!(get(&proxy, "/f", "Range: bytes=0-9\r\n").body.len(), 10);
}

#[test]
fn clients_that_send_nothing_keep_no_one_out() {
    let scrap = Scrap::new("silent");
    std::fs::write(scrap.0.join("f"), content(1000)).unwrap();
    let proxy = Proxy::start(ProxyOptions { connections: 2, ..options(scrap.0.to_str().unwrap(), &scrap) }).unwrap();
    let mut silent: Vec<TcpStream> = (0..300).map(|_| ask(&proxy, "")).collect();
    for _ in 0..3 {
        assert_eq!(get(&proxy, "/f", "").body, content(1000));
    }
    assert_eq!(metric(&proxy, "refused_connections_total"), 0);
    // The oldest was closed for the last ones. What still waits may ask.
    let mut oldest = silent.remove(0);
    oldest.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    assert_eq!(oldest.read(&mut [0]).unwrap_or(0), 0);
    let mut last = silent.pop().unwrap();
    last.write_all(b"GET /f HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    last.read_to_end(&mut answer).unwrap();
    assert!(answer.ends_with(&content(1000)));
}

#[test]
fn stopping_finishes_answers_in_progress() {
    let bytes = content(8_000_000);
    let scrap = Scrap::new("end");
    std::fs::write(scrap.0.join("f"), &bytes).unwrap();
    let proxy = Proxy::start(options(scrap.0.to_str().unwrap(), &scrap)).unwrap();
    let address = proxy.address();
    let idle = ask(&proxy, "GET /f HTTP/1.1\r\nHost: x\r\nRange: bytes=0-9\r\n\r\n");
    let mut taking = ask(&proxy, "GET /f HTTP/1.1\r\nHost: x\r\n\r\n");
    let mut got = vec![0; 1000];
    taking.read_exact(&mut got).unwrap();
    let began = Instant::now();
    let end = std::thread::spawn(move || proxy.stop());
    taking.read_to_end(&mut got).unwrap();
    assert!(got.ends_with(&bytes));
    end.join().unwrap();
    assert!(began.elapsed() < Duration::from_secs(9), "no client waits for an idle connection");
    assert!(TcpStream::connect(address).is_err());
    drop(idle);
}
