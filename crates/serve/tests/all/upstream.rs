//! What the upstream sees, and what becomes of it when it changes, refuses, breaks or dies.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use sapwood::io::{Store, load};
use sapwood_serve::{Proxy, ProxyOptions};
use sapwood_store::HttpStore;
use sapwood_testkit::dcap_server::{self, DcapServer};
use sapwood_testkit::http_server::{Fault, HttpServer, ServerConfig, Tag};
use sapwood_testkit::tcp_proxy::{TcpProxy, Wire};

use crate::common::{Scrap, content, get, metric, options, quick, start, until};

/// A link to a server that lets answers through when it is told to.
struct PausingLink {
    address: SocketAddr,
    open: Arc<(Mutex<bool>, Condvar)>,
}

impl PausingLink {
    fn before(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
        let address = listener.local_addr().expect("a listener has an address");
        let open = Arc::new((Mutex::new(true), Condvar::new()));
        let of_thread = Arc::clone(&open);
        // Ends with the test program.
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let Ok(server) = TcpStream::connect(server) else { continue };
                let (Ok(mut from), Ok(mut to)) = (client.try_clone(), server.try_clone()) else { continue };
                std::thread::spawn(move || std::io::copy(&mut from, &mut to));
                let (state, mut from, mut to) = (Arc::clone(&of_thread), server, client);
                std::thread::spawn(move || {
                    let mut buffer = [0; 4096];
                    while let Ok(count @ 1..) = from.read(&mut buffer) {
                        let mut open = state.0.lock().expect("no panic under this lock");
                        while !*open {
                            open = state.1.wait(open).expect("no panic under this lock");
                        }
                        drop(open);
                        if to.write_all(&buffer[..count]).is_err() {
                            return;
                        }
                    }
                });
            }
        });
        Self { address, open }
    }

    fn set(&self, open: bool) {
        *self.open.0.lock().expect("no panic under this lock") = open;
        self.open.1.notify_all();
    }
}

#[test]
fn what_many_clients_miss_at_once_is_asked_for_once() {
    let bytes = content(1_000_000);
    let scrap = Scrap::new("once");
    let server = HttpServer::start(bytes.clone(), ServerConfig::default());
    let link = PausingLink::before(server.address());
    let options = ProxyOptions {
        net: sapwood_store::NetOptions { timeout: Duration::from_secs(60), ..quick() },
        ..options("", &scrap)
    };
    let proxy = Proxy::start(ProxyOptions { upstream: format!("http://{}", link.address), ..options }).unwrap();
    for with_token in [false, true] {
        // Each client has shown what the upstream lets in.
        let tokens: Vec<_> = (0..12)
            .map(|i| if with_token { format!("Authorization: Bearer {i}\r\n") } else { String::new() })
            .collect();
        for token in &tokens {
            assert_eq!(get(&proxy, "/f", &format!("{token}If-None-Match: *\r\n")).status, 304);
        }
        server.forget();
        link.set(false);
        let first = if with_token { 600_000 } else { 100_000 };
        std::thread::scope(|scope| {
            let clients: Vec<_> = tokens
                .iter()
                .map(|token| {
                    let proxy = &proxy;
                    scope.spawn(move || {
                        get(proxy, "/f", &format!("{token}Range: bytes={first}-{}\r\n", first + 299_999))
                    })
                })
                .collect();
            until("all wait", || metric(&proxy, "waiting_reads") == 12);
            link.set(true);
            for client in clients {
                assert!(client.join().unwrap().body == bytes[first..first + 300_000]);
            }
        });
        assert_eq!(server.requests(), 1, "{:?}", server.seen());
    }
    assert!(metric(&proxy, "joined_blocks_total") > 0);
}

#[test]
fn a_file_that_changes_is_another_one_and_never_a_mixture() {
    let (old, new) = (content(1_000_000), content(1_000_001)[1..].to_vec());
    for etag in [Tag::Strong, Tag::Modified, Tag::None] {
        let scrap = Scrap::new(&format!("changed-{etag:?}"));
        let server = HttpServer::start(old.clone(), ServerConfig { etag, ..ServerConfig::default() });
        let upstream = format!("http://{}", server.address());
        let now = Proxy::start(ProxyOptions { max_age: Duration::ZERO, ..options(&upstream, &scrap) }).unwrap();
        let later = start(&upstream, &scrap);
        let ask = |proxy: &Proxy, range: &str| get(proxy, "/f", &format!("Range: bytes={range}\r\n"));
        let first = ask(&now, "0-99");
        assert!(first.body == old[..100]);
        assert!(ask(&later, "0-99").body == old[..100]);
        server.replace_after(0, new.clone());
        let second = ask(&now, "500000-600000");
        assert!(second.body == new[500_000..=600_000], "{etag:?}");
        assert_ne!(first.header("ETag"), second.header("ETag"));
        // What was kept of the old state is of the old state.
        let kept = ask(&later, "10-19");
        assert!(kept.body == old[10..20] && kept.header("ETag") == first.header("ETag"));
        if etag == Tag::None {
            continue; // a server that names no state is asked for it after the time alone
        }
        // What is not kept cannot be had any more: it is noticed, and the new state is served.
        let fresh = ask(&later, "800000-800009");
        assert!(
            fresh.body == new[800_000..800_010] && fresh.header("ETag") == second.header("ETag"),
            "{}",
            fresh.text()
        );
        let guarded = get(&later, "/f", &format!("Range: bytes=0-9\r\nIf-Range: {}\r\n", first.header("ETag")));
        assert!(guarded.status == 200 && guarded.body == new);
    }
}

#[test]
fn a_file_that_changes_while_it_is_sent_ends_the_answer() {
    let old = content(12_000_000);
    let scrap = Scrap::new("midway");
    let server = HttpServer::start(old.clone(), ServerConfig::default());
    let proxy = start(&format!("http://{}", server.address()), &scrap);
    get(&proxy, "/f", "If-None-Match: *\r\n");
    server.replace_after(1, content(12_000_003));
    let got = get(&proxy, "/f", "");
    assert_eq!((got.status, got.header("Content-Length")), (200, "12000000"));
    assert!(got.body.len() < 12_000_000 && got.body == old[..got.body.len()], "{} bytes", got.body.len());
    assert_eq!(get(&proxy, "/f", "Range: bytes=0-0\r\n").header("Content-Range"), "bytes 0-0/12000003");
}

#[test]
fn access_of_one_client_is_not_shared_with_another() {
    let bytes = content(300_000);
    let scrap = Scrap::new("tokens");
    let config = ServerConfig { token: Some("sesame-7391".into()), ..ServerConfig::default() };
    let server = HttpServer::start(bytes.clone(), config);
    let upstream = format!("http://{}", server.address());
    // The proxy's own token is used for no client.
    let mine = sapwood_store::NetOptions { token: Some("sesame-7391".into()), ..quick() };
    let proxy = Proxy::start(ProxyOptions { net: mine.clone(), ..options(&upstream, &scrap) }).unwrap();
    let shown = |token: &str| get(&proxy, "/f", &format!("Authorization: Bearer {token}\r\n"));
    assert!(shown("sesame-7391").body == bytes);
    for _ in 0..2 {
        assert_eq!((shown("wrong-5512").status, get(&proxy, "/f", "").status), (403, 401));
        assert_eq!(get(&proxy, "/f", "Range: bytes=0-9\r\nAuthorization: Basic c2VzYW1l\r\n").status, 403);
    }
    assert_eq!(get(&proxy, "/f", "").header("WWW-Authenticate"), "Bearer");
    server.forget();
    assert!(shown("sesame-7391").body == bytes);
    assert_eq!(server.requests(), 0, "the client was admitted, and all blocks are there");
    // A proxy that checks.
    let checks = ProxyOptions { token: Some("knock-8824".into()), net: mine, ..options(&upstream, &scrap) };
    assert!(!format!("{checks:?}").contains("8824") && !format!("{checks:?}").contains("7391"));
    let checks = Proxy::start(checks).unwrap();
    assert!(get(&checks, "/f", "Authorization: Bearer knock-8824\r\n").body == bytes);
    for wrong in ["", "Authorization: Bearer sesame-7391\r\n", "Authorization: Bearer knock-882\r\n"] {
        assert_eq!((get(&checks, "/f", wrong).status, get(&checks, "/metrics", wrong).status), (401, 401));
    }
    assert_eq!(get(&checks, "/health", "").status, 200);
    assert!(server.seen().iter().all(|seen| !seen.authorization.as_deref().unwrap_or_default().contains("knock")));
    // Nothing of it is written down.
    let mut seen = scrap.files();
    seen.push(("metrics".into(), (proxy.metrics() + &checks.metrics()).into_bytes()));
    seen.push(("answers".into(), [shown("wrong-5512").body, get(&checks, "/health", "").body].concat()));
    for (place, bytes) in seen {
        for secret in [&b"7391"[..], b"5512", b"8824"] {
            let found = bytes.windows(4).any(|four| four == secret);
            // Four digits may stand in the content by chance: it is compared with the words before them.
            let found = found
                && [&b"sesame-"[..], b"wrong-", b"knock-"]
                    .iter()
                    .any(|word| bytes.windows(word.len()).any(|part| part == *word));
            assert!(!found, "{}", place.display());
        }
    }
}

#[test]
fn a_dcache_is_read_by_any_client_of_http() {
    let bytes = content(1_000_000);
    let scrap = Scrap::new("dcap");
    let server = DcapServer::start("", dcap_server::ServerConfig::default());
    server.put("/pnfs/a file.root", bytes.clone());
    let proxy = start(&format!("dcap://{}/pnfs/", server.address()), &scrap);
    for _ in 0..2 {
        let got = get(&proxy, "/a%20file.root", "Authorization: Bearer sesame\r\nRange: bytes=500000-500099\r\n");
        assert_eq!((got.status, &got.body[..]), (206, &bytes[500_000..500_100]));
        let told = |seen: &dcap_server::Seen| matches!(seen, dcap_server::Seen::Line(line) if line.contains("sesame"));
        assert!(!server.seen().iter().any(told), "a client's secret is not sent there");
    }
    let reads = server.seen().into_iter().filter(|seen| matches!(seen, dcap_server::Seen::Read(_))).count();
    assert_eq!((reads, server.connections()), (2, (1, 1)), "both ends, and the block that was wanted, once");
    assert_eq!(get(&proxy, "/none.root", "").status, 404);
    assert_eq!(get(&proxy, "/a%20file.root", "").body, bytes);
}

#[test]
fn a_revoked_token_is_refused_after_max_age() {
    let bytes = content(200_000);
    let scrap = Scrap::new("revoked");
    let config = ServerConfig { token: Some("a".into()), ..ServerConfig::default() };
    let server = HttpServer::start(bytes.clone(), config);
    let proxy = Proxy::start(ProxyOptions {
        max_age: Duration::ZERO,
        ..options(&format!("http://{}", server.address()), &scrap)
    })
    .unwrap();
    let ask = || get(&proxy, "/f", "Authorization: Bearer a\r\n");
    assert!(ask().body == bytes);
    server.spoil(&[Fault::Status(403, None)]);
    assert_eq!(ask().status, 403);
    assert!(ask().body == bytes);
}

#[test]
fn errors_of_the_upstream_have_a_status_and_name_the_host() {
    let bytes = content(500_000);
    let scrap = Scrap::new("trouble");
    let server = HttpServer::start(bytes.clone(), ServerConfig::default());
    let host = server.address().to_string();
    let proxy = ProxyOptions { max_age: Duration::ZERO, ..options(&format!("http://{host}"), &scrap) };
    let proxy = Proxy::start(proxy).unwrap();
    for (status, shown) in [(404, 404), (410, 404), (403, 401), (500, 502), (503, 502), (504, 504)] {
        server.spoil(&[Fault::Status(status, Some(0)); 4]);
        let got = get(&proxy, "/f", "");
        assert!(got.status == shown && got.text().contains(&host), "{status}: {} {}", got.status, got.text());
        // As many answers as were spoilt, whatever was asked how often.
        while get(&proxy, "/f", "").status != 200 {}
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let nobody = listener.local_addr().unwrap();
    drop(listener);
    let got = get(&start(&format!("http://{nobody}"), &scrap), "/f", "");
    assert!(got.status == 502 && got.text().contains(&nobody.to_string()), "{}", got.text());
    let stalled = TcpProxy::start(server.address(), |_| Wire::StallAfter(0));
    let got = get(&start(&format!("http://{}", stalled.address()), &scrap), "/g", "");
    assert!(got.status == 504 && got.text().contains(&stalled.address().to_string()), "{} {}", got.status, got.text());
}

#[test]
fn an_upstream_that_dies_midway_ends_the_answer_and_what_is_kept_is_served() {
    let bytes = content(20_000_000);
    let scrap = Scrap::new("dies");
    let server = HttpServer::start(bytes.clone(), ServerConfig::default());
    let link =
        TcpProxy::start(
            server.address(),
            |connection| if connection < 2 { Wire::CutAfter(6_000_000) } else { Wire::CutAfter(0) },
        );
    let proxy = start(&format!("http://{}", link.address()), &scrap);
    let got = get(&proxy, "/f", "");
    assert_eq!(got.status, 200);
    assert!(got.body.len() < bytes.len() && got.body.len() >= 4 << 20, "{} bytes", got.body.len());
    assert!(got.body == bytes[..got.body.len()]);
    // The file is requested again after the error, and no server is there.
    assert_eq!(get(&proxy, "/f", "Range: bytes=0-9\r\n").status, 502);
    drop(link);
    let proxy = start(&format!("http://{}", server.address()), &scrap);
    let got = get(&proxy, "/f", "");
    assert!(got.body == bytes, "{} {} bytes", got.head, got.body.len());
}

#[test]
fn broken_links_are_retried_without_the_client_noticing() {
    let bytes = content(2_000_000);
    let scrap = Scrap::new("mended");
    let server = HttpServer::start(bytes.clone(), ServerConfig::default());
    let link = TcpProxy::start(server.address(), |connection| match connection % 4 {
        0 => Wire::CutAfter(300_000),
        1 => Wire::ResetAfter(200_000),
        2 => Wire::Slow(4_000_000),
        _ => Wire::Good,
    });
    let proxy = start(&format!("http://{}", link.address()), &scrap);
    let store = HttpStore::new(&format!("{}/f", proxy.url()), &quick()).unwrap();
    store.ends(0, 0).unwrap();
    let ranges: Vec<_> = (0..40_u64).map(|i| i * 49_000..i * 49_000 + 30_000).collect();
    for (range, got) in ranges.iter().zip(load(&store, &ranges).unwrap()) {
        assert!(got == bytes[range.start as usize..range.end as usize]);
    }
}

#[test]
fn what_is_too_much_for_the_cache_is_served_without_it() {
    let bytes = content(3_000_000);
    let scrap = Scrap::new("small");
    let server = HttpServer::start(bytes.clone(), ServerConfig::default());
    for size in [0, 1_000_000, 40_000_000] {
        let mut options = options(&format!("http://{}", server.address()), &scrap);
        options.cache.bytes = size;
        let proxy = Proxy::start(options).unwrap();
        assert!(get(&proxy, "/f", "").body == bytes, "{size}");
    }
    let mut options = options(&format!("http://{}", server.address()), &scrap);
    options.cache.bytes = 20_000_000;
    let proxy = Proxy::start(options).unwrap();
    for number in 0..12 {
        assert!(get(&proxy, &format!("/{number}"), "").body == bytes);
    }
    assert!(metric(&proxy, "evictions_total") > 0);
    let kept: usize = scrap.files().iter().map(|(_, bytes)| bytes.len()).sum();
    assert!(kept < 25_000_000, "{kept}");
}
