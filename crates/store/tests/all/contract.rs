//! The contract of stores against every kind of server, and how many requests that takes.

use std::time::Duration;

use sapwood::ErrorKind;
use sapwood::io::{Store, load};
use sapwood_store::{HttpStore, NetOptions};
use sapwood_testkit::http_server::{Fault, HttpServer, Ranges, ServerConfig, Tag, TooMany};
use sapwood_testkit::store_contract;
use sapwood_testkit::tcp_proxy::{TcpProxy, Wire};

/// Bytes that do not repeat themselves.
fn content(length: usize) -> Vec<u8> {
    (0..length as u32)
        .flat_map(|i| i.wrapping_mul(2_654_435_761).to_be_bytes())
        .skip(1)
        .step_by(3)
        .take(length)
        .collect()
}

fn quick() -> NetOptions {
    NetOptions { timeout: Duration::from_secs(5), retries: 2, ..NetOptions::default() }
}

fn store(server: &HttpServer) -> HttpStore {
    HttpStore::new(&server.url(), &quick()).expect("the URL of a server makes sense")
}

fn kinds() -> Vec<(&'static str, ServerConfig)> {
    let usual = ServerConfig::default;
    vec![
        ("all", usual()),
        ("no ranges", ServerConfig { ranges: Ranges::Ignored, ..usual() }),
        (
            "no ranges, no length",
            ServerConfig { ranges: Ranges::Ignored, says_length: false, etag: Tag::None, ..usual() },
        ),
        ("the first range alone", ServerConfig { ranges: Ranges::First, ..usual() }),
        ("one range, else all", ServerConfig { ranges: Ranges::Most(1), ..usual() }),
        ("one range, else 400", ServerConfig { ranges: Ranges::Most(1), too_many: TooMany::Status(400), ..usual() }),
        ("ten ranges, else 416", ServerConfig { ranges: Ranges::Most(10), too_many: TooMany::Status(416), ..usual() }),
        ("joins", ServerConfig { joins_within: Some(20), ..usual() }),
        ("joins all", ServerConfig { joins_within: Some(1 << 40), ..usual() }),
        ("turns around", ServerConfig { reorders: true, range_name: "content-range", ..usual() }),
        ("splits", ServerConfig { splits_at: Some(7), etag: Tag::Weak, ..usual() }),
        ("no suffixes", ServerConfig { suffixes: false, etag: Tag::Modified, ..usual() }),
        ("tells no total", ServerConfig { says_total: false, ..usual() }),
        ("tells no range", ServerConfig { says_range: false, ..usual() }),
        ("chunks", ServerConfig { says_length: false, ..usual() }),
        ("closes", ServerConfig { closes: true, ..usual() }),
    ]
}

#[test]
fn every_kind_of_server_fulfils_the_contract() {
    for (name, config) in kinds() {
        for length in [0, 1, 700, 100_000] {
            println!("{name}, {length} bytes");
            let content = content(length);
            let server = HttpServer::start(content.clone(), config.clone());
            store_contract::check(&store(&server), &content);
        }
    }
}

#[test]
fn many_separate_ranges_are_right_from_every_kind_of_server() {
    let content = content(3_000_000);
    let ranges: Vec<_> = (0..1_000_u64).map(|i| i * 2_900..i * 2_900 + 1 + i % 100).collect();
    for (name, config) in kinds() {
        let server = HttpServer::start(content.clone(), config);
        let got = load(&store(&server), &ranges).unwrap();
        for (range, got) in ranges.iter().zip(got) {
            assert!(got == content[range.start as usize..range.end as usize], "{name}: {range:?}");
        }
    }
}

#[test]
fn headers_are_sent_in_title_case() {
    let config = ServerConfig { strict: true, suffixes: false, etag: Tag::None, ..ServerConfig::default() };
    let server = HttpServer::start(content(1_000_000), config);
    let store = store(&server);
    store.ends(4_000, 64_000).unwrap();
    load(&store, &[0..10, 500_000..500_010]).unwrap();
    let seen: Vec<_> = server.seen().into_iter().filter_map(|seen| seen.range).collect();
    // Both ends, the tail again since this server knows no suffixes, and the read.
    assert_eq!(seen[2..], ["bytes=936000-999999", "bytes=0-9,500000-500009"]);
}

#[test]
fn both_ends_take_two_requests_at_once_and_a_read_takes_one() {
    let content = content(1_000_000);
    let server = HttpServer::start(content.clone(), ServerConfig::default());
    let store = store(&server);
    let ends = store.ends(4_000, 64_000).unwrap();
    assert!(ends.head == content[..4_000] && ends.tail == content[936_000..]);
    assert_eq!((&*ends.identity.name, ends.identity.len), (&*server.url(), 1_000_000));
    assert_eq!(ends.identity.validator.as_deref(), Some("\"v0\""));
    let seen: Vec<_> = server.seen().into_iter().filter_map(|seen| seen.range).collect();
    assert_eq!(seen.len(), 2);
    assert!(seen.contains(&"bytes=0-3999".to_owned()) && seen.contains(&"bytes=-64000".to_owned()), "{seen:?}");
    assert_eq!(server.body_bytes(), 68_000);
    assert!(server.connections() <= 2);

    server.forget();
    let ranges: Vec<_> = (0..200_u64).map(|i| i * 5_000..i * 5_000 + 10).collect();
    load(&store, &ranges).unwrap();
    assert_eq!(server.requests(), 1);
    load(&store, &[ranges.clone(), vec![999_999..1_000_000]].concat()).unwrap();
    assert_eq!(server.requests(), 3);
    assert!(server.connections() <= 1, "connections are used again: {}", server.connections());
}

#[test]
fn ends_take_one_round_trip_of_time() {
    let server = HttpServer::start(content(1_000_000), ServerConfig::default());
    let delay = Duration::from_millis(250);
    let proxy = TcpProxy::start(server.address(), move |_| Wire::Delayed(delay));
    let store = HttpStore::new(&format!("http://{}/", proxy.address()), &quick()).unwrap();
    store.ends(1, 1).unwrap(); // two connections
    let began = std::time::Instant::now();
    store.ends(4_000, 10_000).unwrap();
    let took = began.elapsed();
    assert!(took >= 2 * delay && took < 3 * delay, "{took:?}");
    assert!(store.profile().latency_ns > 400_000_000, "{:?}", store.profile());
}

#[test]
fn capabilities_are_probed_once() {
    // Longer than what the buffers of two sockets hold.
    let content = content(24_000_000);
    let ranges: Vec<_> = (0..20_u64).map(|i| i * 100_000..i * 100_000 + 10).collect();
    for (too_many, most) in [(TooMany::Whole, 1), (TooMany::Status(400), 1), (TooMany::Status(416), 16)] {
        let server = HttpServer::start(
            content.clone(),
            ServerConfig { ranges: Ranges::Most(most), too_many, ..ServerConfig::default() },
        );
        let store = store(&server);
        store.ends(10, 10).unwrap();
        server.forget();
        load(&store, &ranges).unwrap();
        // Twenty at once, then sixteen and four, and then, if that is too many, twenty times one.
        let tried = if most == 16 { 1 + 2 } else { 1 + 2 + 20 };
        assert_eq!(server.requests(), tried, "{too_many:?}");
        assert!(server.body_bytes() < 24_000_000, "the whole file was stopped: {}", server.body_bytes());
        server.forget();
        load(&store, &ranges).unwrap();
        assert_eq!(server.requests(), if most == 16 { 2 } else { 20 });
    }
}

#[test]
fn a_short_file_of_a_server_without_ranges_is_read_once() {
    let content = content(1_000_000);
    let server =
        HttpServer::start(content.clone(), ServerConfig { ranges: Ranges::Ignored, ..ServerConfig::default() });
    let store = store(&server);
    let ends = store.ends(4_000, 64_000).unwrap();
    assert!(ends.tail == content[936_000..]);
    let asked = server.requests();
    assert!(asked <= 2, "{asked}");
    assert_eq!(load(&store, &[500_000..500_010]).unwrap(), [&content[500_000..500_010]]);
    assert_eq!(server.requests(), asked);
}

#[test]
fn a_file_that_changes_is_an_error_and_never_two_files_in_one() {
    let (old, new) = (content(500_000), vec![7; 500_000]);
    for etag in [Tag::Strong, Tag::Weak, Tag::Modified] {
        let server = HttpServer::start(old.clone(), ServerConfig { etag, ..ServerConfig::default() });
        let store = store(&server);
        store.ends(10, 10).unwrap();
        server.replace_after(0, new.clone());
        let error = load(&store, &[5..10, 1_000..2_000]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Changed, "{error}");
        assert_eq!(store.ends(10, 10).unwrap_err().kind(), ErrorKind::Changed);
    }
    // Without any name of the state the length has to tell, and also between the two ends.
    let server = HttpServer::start(old, ServerConfig { etag: Tag::None, ..ServerConfig::default() });
    server.replace_after(1, new[1..].to_vec());
    assert_eq!(store(&server).ends(10, 10).unwrap_err().kind(), ErrorKind::Changed);
}

#[test]
fn refusals_have_kinds_and_name_the_host() {
    let server =
        HttpServer::start(content(1000), ServerConfig { token: Some("sesame".into()), ..ServerConfig::default() });
    let error = store(&server).ends(1, 1).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Denied);
    assert!(error.to_string().contains(&server.address().to_string()), "{error}");
    let options = NetOptions { token: Some("sesame".into()), ..quick() };
    assert!(HttpStore::new(&server.url(), &options).unwrap().ends(1, 1).is_ok());

    for (status, kind) in
        [(404, ErrorKind::NotFound), (410, ErrorKind::NotFound), (403, ErrorKind::Denied), (418, ErrorKind::Io)]
    {
        // A server each: of the two ends one may still be asked for when the other's refusal is known.
        let server = HttpServer::start(content(1000), ServerConfig::default());
        server.spoil(&[Fault::Status(status, None); 2]);
        assert_eq!(store(&server).ends(1, 1).unwrap_err().kind(), kind, "{status}");
        assert!(server.requests() <= 2, "{status} is not tried again");
    }
}

#[test]
fn redirections_are_followed_and_remembered_and_secrets_stay() {
    let target = HttpServer::start(content(100_000), ServerConfig::default());
    let origin = HttpServer::start("", ServerConfig { redirect: Some(target.url()), ..ServerConfig::default() });
    let options = NetOptions { token: Some("sesame".into()), ..quick() };
    let store = HttpStore::new(&origin.url(), &options).unwrap();
    let ends = store.ends(10, 10).unwrap();
    assert_eq!(&*ends.identity.name, &*origin.url());
    assert_eq!((origin.requests(), target.requests()), (2, 2));
    load(&store, &[5..10]).unwrap();
    assert_eq!((origin.requests(), target.requests()), (2, 3));
    assert!(origin.seen().iter().all(|seen| seen.authorization.as_deref() == Some("Bearer sesame")));
    assert!(target.seen().iter().all(|seen| seen.authorization.is_none()), "another port is another host");
    // An expired ticket: its source gives another.
    target.spoil(&[Fault::Status(403, None)]);
    load(&store, &[5..10]).unwrap();
    assert_eq!((origin.requests(), target.requests()), (3, 5));

    let round = HttpServer::start("", ServerConfig { redirect: Some("/again".into()), ..ServerConfig::default() });
    let error = HttpStore::new(&round.url(), &quick()).unwrap().ends(1, 0).unwrap_err();
    assert_eq!((error.kind(), round.requests()), (ErrorKind::Io, 17), "{error}");
    let away =
        HttpServer::start("", ServerConfig { redirect: Some("file:///etc/passwd".into()), ..ServerConfig::default() });
    assert!(HttpStore::new(&away.url(), &quick()).unwrap().ends(1, 0).is_err());
}

#[test]
fn a_long_file_of_a_server_without_ranges_is_passed_over_for_each_read() {
    let content = content(70_000_000); // more than is kept
    let server =
        HttpServer::start(content.clone(), ServerConfig { ranges: Ranges::Ignored, ..ServerConfig::default() });
    let store = store(&server);
    let ends = store.ends(4_000, 64_000).unwrap();
    assert!(ends.head == content[..4_000] && ends.tail == content[69_936_000..]);
    for start in [69_000_000, 5_000] {
        server.forget();
        let got = load(&store, &[start..start + 10, 0..7]).unwrap();
        assert!(got[0] == content[start as usize..start as usize + 10] && got[1] == content[..7]);
        assert_eq!(server.requests(), 1);
    }
    assert!(server.body_bytes() < 70_000_000, "what lies behind the last byte is not sent: {}", server.body_bytes());
}

#[test]
fn a_proxy_is_asked_for_what_it_should_be_asked_for() {
    let content = content(100_000);
    // It serves its file whatever it is asked for, as a proxy would that has it.
    let proxy = HttpServer::start(content.clone(), ServerConfig::default());
    let url = "http://far.invalid/data.root";
    let options = NetOptions { http_proxy: Some(format!("http://{}", proxy.address())), retries: 0, ..quick() };
    let store = HttpStore::new(url, &options).unwrap();
    assert_eq!(&*store.ends(10, 10).unwrap().identity.name, url);
    assert_eq!(load(&store, &[5..9]).unwrap(), [&content[5..9]]);
    assert_eq!(proxy.requests(), 3);
    let options = NetOptions { no_proxy: Some("other.org,far.invalid".into()), ..options };
    assert!(HttpStore::new(url, &options).unwrap().ends(10, 10).is_err());
    assert_eq!(proxy.requests(), 3);
    let options = NetOptions { http_proxy: Some("::".into()), ..quick() };
    assert_eq!(HttpStore::new(url, &options).unwrap_err().kind(), ErrorKind::Mismatch);
}
