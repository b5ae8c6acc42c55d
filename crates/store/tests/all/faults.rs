//! Links that are slow, break and stall: right bytes or a clear error, in time.

use std::time::{Duration, Instant};

use sapwood::ErrorKind;
use sapwood::io::{Store, load};
use sapwood_store::{HttpStore, NetOptions};
use sapwood_testkit::http_server::{Fault, HttpServer, Ranges, ServerConfig};
use sapwood_testkit::tcp_proxy::{TcpProxy, Wire};

use crate::common::impatient::does_not_wait;
use crate::common::wire::wire;
use crate::common::{RETRIES, TIMEOUT, content, quick, run_schedules};

fn behind(proxy: &TcpProxy) -> HttpStore {
    HttpStore::new(&format!("http://{}/data.root", proxy.address()), &quick()).expect("the URL of a server makes sense")
}

fn config(seed: u64) -> ServerConfig {
    let usual = ServerConfig::default;
    match seed % 5 {
        0 => ServerConfig { ranges: Ranges::Most(1), ..usual() },
        1 => ServerConfig { ranges: Ranges::Ignored, ..usual() },
        2 => ServerConfig { reorders: true, splits_at: Some(1_000), ..usual() },
        3 => ServerConfig { joins_within: Some(100), says_length: false, ..usual() },
        _ => usual(),
    }
}

#[test]
fn random_faults_give_right_bytes_or_a_clear_error_in_time() {
    run_schedules(|seed, content, _| {
        let server = HttpServer::start(content.to_vec(), config(seed));
        let proxy = TcpProxy::start(server.address(), move |connection| wire(seed, connection));
        (behind(&proxy), (proxy, server))
    });
}

#[test]
fn only_what_is_missing_is_asked_for_again() {
    let content = content(1_000_000);
    let server = HttpServer::start(content.clone(), ServerConfig::default());
    let store = HttpStore::new(&server.url(), &quick()).unwrap();
    store.ends(10, 10).unwrap();
    server.forget();
    server.spoil(&[Fault::CutAfter(70_000), Fault::Status(503, Some(0)), Fault::TooLong(5)]);
    let ranges = [0..50_000, 100_000..150_000, 200_000..250_000];
    let got = load(&store, &ranges).unwrap();
    assert!(got[1] == content[100_000..150_000] && got[2] == content[200_000..250_000]);
    let seen: Vec<_> = server.seen().into_iter().filter_map(|seen| seen.range).collect();
    assert_eq!(seen.len(), 3, "{seen:?}");
    assert_eq!(seen[0], "bytes=0-49999,100000-149999,200000-249999");
    assert!(seen[1].starts_with("bytes=119") && seen[1].ends_with("-149999,200000-249999"), "{seen:?}");
    assert_eq!(seen[1], seen[2]);
}

#[test]
fn a_stalled_link_ends_in_an_error_after_the_time_that_was_set() {
    let server = HttpServer::start(content(100_000), ServerConfig::default());
    let proxy = TcpProxy::start(server.address(), |_| Wire::StallAfter(0));
    let began = Instant::now();
    let error = behind(&proxy).ends(10, 10).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TimedOut);
    assert!(error.to_string().contains("at attempt 4"), "{error}");
    let attempts = RETRIES + 1;
    assert!(began.elapsed() >= TIMEOUT * attempts && began.elapsed() < TIMEOUT * attempts + Duration::from_secs(3));
}

#[test]
fn a_slow_link_that_goes_on_is_not_cut() {
    let content = content(200_000);
    let server = HttpServer::start(content.clone(), ServerConfig::default());
    let proxy = TcpProxy::start(server.address(), |_| Wire::Slow(200_000));
    let began = Instant::now();
    let got = load(&behind(&proxy), &[0..200_000]).unwrap();
    assert!(got[0] == content && began.elapsed() > TIMEOUT * 2, "{:?}", began.elapsed());
    assert!(proxy.connections() <= 2);
}

#[test]
fn a_reader_that_stops_does_not_wait_for_the_link() {
    let server = HttpServer::start(content(100_000), ServerConfig::default());
    let proxy = TcpProxy::start(server.address(), |at| if at < 2 { Wire::CutAfter(500) } else { Wire::StallAfter(0) });
    let options = NetOptions { timeout: Duration::from_secs(30), ..quick() };
    let store = HttpStore::new(&format!("http://{}/", proxy.address()), &options).unwrap();
    store.ends(1, 1).unwrap();
    does_not_wait(&store);
}

#[test]
fn a_refused_connection_is_an_error_that_names_the_host() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let error = HttpStore::new(&format!("http://{address}/x"), &quick()).unwrap().ends(1, 1).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io);
    assert!(error.to_string().contains(&format!("no connection to {address}, at attempt 4")), "{error}");
}

#[test]
fn a_dripping_server_times_out() {
    let server = HttpServer::start(content(100_000), ServerConfig::default());
    // The heads come at once, and of the bodies a few bytes a second.
    let proxy = TcpProxy::start(server.address(), |_| Wire::DripAfter(300, Duration::from_millis(40)));
    let options = NetOptions { retries: 0, ..quick() };
    let store = HttpStore::new(&format!("http://{}/", proxy.address()), &options).unwrap();
    let error = store.ends(10_000, 0).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TimedOut);
    assert!(error.to_string().contains("less than 1024 bytes a second"), "{error}");
}

#[test]
fn one_byte_per_connection_is_given_up() {
    let content = content(100_000);
    let server = HttpServer::start(content.clone(), ServerConfig::default());
    let store = HttpStore::new(&server.url(), &NetOptions { retries: 1, ..quick() }).unwrap();
    store.ends(10, 0).unwrap();
    server.forget();
    server.spoil(&[Fault::CutAfter(1); 1_000]);
    let error = load(&store, &[0..50_000]).unwrap_err();
    assert_eq!((error.kind(), error.place().offset), (ErrorKind::Io, Some(9)));
    assert_eq!(server.requests(), 9, "{error}");
}

#[test]
fn an_endless_body_is_given_up() {
    let server =
        HttpServer::start(content(1_000_000), ServerConfig { ranges: Ranges::Ignored, ..ServerConfig::default() });
    let store = HttpStore::new(&server.url(), &quick()).unwrap();
    server.spoil(&[Fault::Endless; 100]);
    let error = store.ends(10, 10).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit);
    assert!(error.to_string().contains("without ranges and without saying how long"), "{error}");
}

#[test]
fn parts_that_were_not_asked_for_are_given_up() {
    let content = content(1_000_000);
    let server = HttpServer::start(content.clone(), ServerConfig::default());
    let store = HttpStore::new(&server.url(), &quick()).unwrap();
    store.ends(10, 10).unwrap();
    server.forget();
    server.spoil(&[Fault::Unasked]);
    // One range at a time is asked for then, and answered.
    let got = load(&store, &[100..200, 500_000..500_100]).unwrap();
    assert!(got[0] == content[100..200] && got[1] == content[500_000..500_100]);
    assert_eq!(server.requests(), 3);
    server.spoil(&[Fault::Unasked; 100]);
    let error = load(&store, &[300..400]).unwrap_err();
    assert!(error.to_string().contains("bytes that were not asked for, at attempt 4"), "{error}");
}

#[test]
fn a_server_that_refuses_suffixes_is_asked_from_the_start() {
    let content = content(100_000);
    for status in [400, 501] {
        let config = ServerConfig { suffix_status: Some(status), ..ServerConfig::default() };
        let server = HttpServer::start(content.clone(), config);
        let store = HttpStore::new(&server.url(), &quick()).unwrap();
        for _ in 0..2 {
            let ends = store.ends(4096, 1000).unwrap();
            assert!(ends.head == content[..4096] && ends.tail == content[99_000..] && ends.identity.len == 100_000);
        }
        let suffixes = server.seen().iter().filter(|seen| seen.range.as_deref() == Some("bytes=-1000")).count();
        assert_eq!(suffixes, 1, "it is asked for once");
    }
}
