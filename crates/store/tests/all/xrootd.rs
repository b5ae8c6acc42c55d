//! The contract of stores against every kind of XRootD server, and how many requests and round trips that takes.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use sapwood::io::{Store, load};
use sapwood::{ErrorKind, Result};
use sapwood_store::{NetOptions, XrootdStore};
use sapwood_testkit::store_contract;
use sapwood_testkit::tcp_proxy::{TcpProxy, Wire};
use sapwood_testkit::xrootd_server::{
    CLOSE, Elsewhere, Fault, LOGIN, OPEN, READ, READ_PAGES, READ_VECTOR, STAT, Seen, ServerConfig, XrootdServer,
};

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

fn at(url: &str) -> XrootdStore {
    XrootdStore::new(url, &quick()).expect("the URL makes sense")
}

fn store(server: &XrootdServer) -> XrootdStore {
    at(&server.url())
}

fn numbers(server: &XrootdServer) -> Vec<u16> {
    // But for looks at whether the file has changed, which come by the clock.
    server.seen().iter().map(|seen| seen.request).filter(|request| *request != STAT).collect()
}

fn opens(server: &XrootdServer) -> Vec<String> {
    server.seen().into_iter().filter(|seen| seen.request == OPEN).map(|seen| seen.text).collect()
}

/// It can be read by pages with sums.
fn pages() -> ServerConfig {
    ServerConfig { says_pages: true, ..ServerConfig::default() }
}

fn kinds() -> Vec<(&'static str, ServerConfig)> {
    let usual = ServerConfig::default;
    vec![
        ("usual", usual()),
        ("splits", ServerConfig { split_bytes: Some(7), ..usual() }),
        ("splits a little", ServerConfig { split_bytes: Some(30_000), ..usual() }),
        ("reorders", ServerConfig { reorders: true, ..usual() }),
        ("few ranges", ServerConfig { vector_ranges: 10, ..usual() }),
        ("short ranges", ServerConfig { vector_bytes: 1_000, ..usual() }),
        ("hides its limits", ServerConfig { vector_ranges: 10, says_limits: false, ..usual() }),
        ("tells nothing of the file", ServerConfig { says_stat: false, ..usual() }),
        ("asks to wait", ServerConfig { waits: 3, ..usual() }),
        ("answers late", ServerConfig { late: Some(Duration::from_millis(1)), ..usual() }),
        ("sums", pages()),
        ("sums, in another order", ServerConfig { split_bytes: Some(5_000), ..pages() }),
        ("sums, in name only", ServerConfig { knows_pages: false, ..pages() }),
        ("wants a name", ServerConfig { offers: "&P=gsi,v:1&P=unix", accepts: "unix", ..usual() }),
    ]
}

#[test]
fn every_kind_of_server_fulfils_the_contract() {
    for (name, config) in kinds() {
        for length in [0, 1, 700, 100_000] {
            println!("{name}, {length} bytes");
            let content = content(length);
            let server = XrootdServer::start(content.clone(), config.clone());
            store_contract::check(&store(&server), &content);
        }
    }
}

#[test]
fn many_separate_ranges_are_right_from_every_kind_of_server() {
    let content = content(9_000_000);
    let mut ranges: Vec<_> = (0..3_000_u64).map(|i| i * 2_900..i * 2_900 + 1 + i % 100).collect();
    ranges.extend([0..9_000_000, 100_000..1_000_000, 5..600_000]);
    for (name, config) in kinds() {
        if config.late.is_some() || config.split_bytes == Some(7) {
            continue; // late answers are short, and so small frames take their time
        }
        let server = XrootdServer::start(content.clone(), config);
        let got = load(&store(&server), &ranges).unwrap();
        for (range, got) in ranges.iter().zip(got) {
            assert!(got == content[range.start as usize..range.end as usize], "{name}: {range:?}");
        }
    }
}

#[test]
fn a_file_opens_with_both_ends_in_two_round_trips_and_a_read_takes_one() {
    let content = content(1_000_000);
    let config = ServerConfig { gathers: Some(Duration::from_millis(40)), ..ServerConfig::default() };
    let server = XrootdServer::start(content.clone(), config);
    let store = store(&server);
    let ends = store.ends(4_000, 64_000).unwrap();
    assert!(ends.head == content[..4_000] && ends.tail == content[936_000..]);
    assert_eq!((&*ends.identity.name, ends.identity.len), (&*server.url(), 1_000_000));
    assert_eq!(ends.identity.validator.as_deref(), Some("1700000000-4711"));
    assert_eq!(numbers(&server), [3006, LOGIN, OPEN, 3001, READ_VECTOR]);
    assert_eq!((server.round_trips(), server.connections()), (2, 1));

    server.forget();
    let ranges: Vec<_> = (0..1_024_u64).map(|i| i * 900..i * 900 + 10).collect();
    load(&store, &ranges).unwrap();
    assert_eq!((numbers(&server), server.round_trips()), (vec![READ_VECTOR], 1));
    server.forget();
    load(&store, &[ranges, vec![999_999..1_000_000]].concat()).unwrap();
    assert_eq!(numbers(&server), [READ_VECTOR, READ]);
    server.forget();
    load(&store, &[0..1_000_000, 7..8]).unwrap();
    assert_eq!(numbers(&server), [READ]);
    assert!(server.seen().iter().any(|seen| seen.ranges == [(0, 1_000_000)]));
    assert_eq!(server.connections(), 1);
    drop(store);
    let closed = || server.seen().iter().any(|seen| seen.request == CLOSE);
    let began = Instant::now();
    while !closed() {
        assert!(began.elapsed() < Duration::from_secs(5), "the file is closed");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn opening_takes_two_round_trips_of_time() {
    // The link delays each write: what is answered together has to be written together.
    let config = ServerConfig { gathers: Some(Duration::from_millis(5)), ..ServerConfig::default() };
    let server = XrootdServer::start(content(1_000_000), config);
    let delay = Duration::from_millis(250);
    let proxy = TcpProxy::start(server.address(), move |_| Wire::Delayed(delay));
    let store = at(&format!("root://{}//x", proxy.address()));
    let began = Instant::now();
    store.ends(4_000, 10_000).unwrap();
    let took = began.elapsed();
    assert!(took >= 4 * delay && took < 5 * delay, "{took:?}");
    assert!(store.profile().latency_ns > 400_000_000, "{:?}", store.profile());
}

#[test]
fn clients_with_long_timeouts_are_served() {
    let server = XrootdServer::start(content(1_000), ServerConfig::default());
    let options = NetOptions { timeout: Duration::MAX, ..NetOptions::default() };
    let store = XrootdStore::new(&server.url(), &options).unwrap();
    assert_eq!(load(&store, &[5..9]).unwrap(), [&content(1_000)[5..9]]);
}

#[test]
fn an_answer_that_is_announced_and_does_not_come_is_awaited_once() {
    let config = ServerConfig { late: Some(Duration::from_secs(3600)), ..ServerConfig::default() };
    let server = XrootdServer::start(content(1_000), config);
    let options = NetOptions { timeout: Duration::from_millis(50), retries: 5, ..NetOptions::default() };
    let error = XrootdStore::new(&server.url(), &options).unwrap().ends(1, 1).unwrap_err();
    assert!(error.to_string().contains("announced an answer, and did not send it"), "{error}");
    assert_eq!(numbers(&server).iter().filter(|&&number| number == OPEN).count(), 1);
}

#[test]
fn files_of_a_server_share_a_connection() {
    let server = XrootdServer::start(content(1_000), ServerConfig::default());
    let stores: Vec<_> = (0..70).map(|i| at(&format!("root://{}//f{i}", server.address()))).collect();
    stores.iter().take(64).for_each(|store| assert_eq!(store.ends(1, 1).unwrap().identity.len, 1_000));
    assert_eq!(server.connections(), 1);
    stores.iter().for_each(|store| assert_eq!(store.ends(1, 1).unwrap().identity.len, 1_000));
    assert_eq!(server.connections(), 2, "but not too many");
}

#[test]
fn redirections_are_followed_with_their_opaque_data() {
    let content = content(5_000);
    let data = XrootdServer::start(content.clone(), ServerConfig::default());
    let [to, port] = [data.address().ip().to_string(), data.address().port().to_string()];
    let number = i32::from(data.address().port());
    for (elsewhere, path) in [
        (Elsewhere { port: number, to: to.clone() }, "/a?x=1"),
        (Elsewhere { port: number, to: format!("{to}?&x=2&y=3?ticket") }, "/a?x=2&y=3"),
        (Elsewhere { port: -1, to: format!("root://{to}:{port}//b?z=4") }, "/b?x=1&z=4"),
    ] {
        let manager = XrootdServer::start("", ServerConfig { elsewhere: vec![elsewhere], ..ServerConfig::default() });
        data.forget();
        let store = at(&format!("root://{}//a?x=1", manager.address()));
        let ends = store.ends(10, 10).unwrap();
        assert!(ends.head == content[..10] && ends.tail == content[4_990..]);
        assert!(!ends.identity.name.contains('?'), "what is sent along is no part of the name");
        assert!(!format!("{store:?}").contains("x=1"), "it may hold a secret");
        assert_eq!(opens(&data), [path]);
        let tickets: Vec<Seen> = data.seen().into_iter().filter(|seen| seen.request == LOGIN).collect();
        if path.contains("y=3") {
            assert_eq!(tickets[0].text, "ticket");
        }
    }
}

#[test]
fn circular_redirects_are_an_error() {
    // It sends us to itself.
    let own = XrootdServer::start_with("x", |at| ServerConfig {
        elsewhere: vec![Elsewhere::at(at)],
        ..ServerConfig::default()
    });
    let error = store(&own).ends(1, 1).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io);
    assert!(error.to_string().contains("too many redirects (limit 16)"), "{error}");
}

#[test]
fn a_manager_is_told_which_server_failed() {
    let content = content(5_000);
    let good = XrootdServer::start(content.clone(), ServerConfig::default());
    for (code, why) in [(3011, "enoent"), (3007, "ioerr"), (3005, "fserr"), (3024, "srverr")] {
        let bad = XrootdServer::start("", ServerConfig::default());
        bad.spoil(&[Fault::OpenError(code)]);
        let elsewhere = vec![Elsewhere::at(bad.address()), Elsewhere::at(good.address())];
        let manager = XrootdServer::start("", ServerConfig { elsewhere, ..ServerConfig::default() });
        assert!(store(&manager).ends(10, 0).unwrap().head == content[..10]);
        let tried = format!("/data.root?tried=127.0.0.1&triedrc={why}");
        assert_eq!(opens(&manager), ["/data.root".to_owned(), tried.clone()]);
        assert_eq!(opens(&good).last(), Some(&tried));
    }
    // No server listens there.
    let gone = XrootdServer::start("", ServerConfig::default());
    let elsewhere = vec![Elsewhere::at(gone.address()), Elsewhere::at(good.address())];
    drop(gone);
    let manager = XrootdServer::start("", ServerConfig { elsewhere, ..ServerConfig::default() });
    assert!(store(&manager).ends(10, 0).unwrap().head == content[..10]);
    // A manager that knows no other: what the first one said is the error.
    let bad = XrootdServer::start("", ServerConfig::default());
    let manager = XrootdServer::start(
        "",
        ServerConfig { elsewhere: vec![Elsewhere::at(bad.address())], ..ServerConfig::default() },
    );
    let error = at(&format!("root://{}//missing", manager.address())).ends(1, 1).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(error.to_string().contains("says: no such file"), "{error}");
}

#[test]
fn reading_goes_on_elsewhere_when_a_server_fails() {
    let content = content(300_000);
    let [bad, good] = [0, 1].map(|_| XrootdServer::start(content.clone(), ServerConfig::default()));
    let elsewhere = vec![Elsewhere::at(bad.address()), Elsewhere::at(good.address())];
    let manager = XrootdServer::start("", ServerConfig { elsewhere, ..ServerConfig::default() });
    let store = store(&manager);
    store.ends(10, 10).unwrap();
    bad.spoil(&[Fault::Error(3007)]);
    assert!(load(&store, &[5..200_000]).unwrap()[0] == content[5..200_000]);
    assert_eq!(opens(&manager)[1], "/data.root?tried=127.0.0.1&triedrc=ioerr");
}

#[test]
fn capabilities_are_probed_once() {
    let config = ServerConfig { vector_ranges: 1, says_limits: false, ..ServerConfig::default() };
    let server = XrootdServer::start(content(100_000), config);
    let store = store(&server);
    store.ends(0, 10).unwrap();
    server.forget();
    let ranges = [0..10, 1_000..1_010, 2_000..2_010];
    load(&store, &ranges).unwrap();
    assert_eq!(numbers(&server), [READ_VECTOR, READ, READ, READ]);
    server.forget();
    load(&store, &ranges).unwrap();
    assert_eq!(numbers(&server), [READ; 3]);
}

#[test]
fn a_file_that_changes_is_never_mixed() {
    let server = XrootdServer::start(content(100_000), ServerConfig::default());
    for other in [content(100_001), content(100_000)] {
        let store = store(&server);
        store.ends(10, 10).unwrap();
        server.change(other);
        server.hang_up();
        let error = load(&store, &[0..50]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Changed, "{error}");
    }
}

#[test]
fn a_file_that_is_written_in_place_is_noticed() {
    let server = XrootdServer::start(content(100_000), ServerConfig::default());
    let store = store(&server);
    store.ends(10, 10).unwrap();
    server.change(content(100_000));
    std::thread::sleep(Duration::from_millis(1_050));
    let error = load(&store, &[0..50]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Changed, "{error}");
}

#[test]
fn errors_contain_the_text_of_the_server() {
    let server = XrootdServer::start(content(1_000), ServerConfig::default());
    let open = |path: &str| at(&format!("root://{}//{path}", server.address())).ends(1, 1).map(|_| ()).unwrap_err();
    let error = open("missing");
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(error.to_string().contains(&format!("{} says: no such file", server.address())), "{error}");
    assert_eq!(open("folder").kind(), ErrorKind::Mismatch);
    server.spoil(&[Fault::OpenError(3010)]);
    assert_eq!(open("x").kind(), ErrorKind::Denied);
}

#[test]
fn an_unsupported_authentication_is_named() {
    let config = ServerConfig { offers: "&P=gsi,v:10600&P=krb5,host", accepts: "gsi", ..ServerConfig::default() };
    let error = store(&XrootdServer::start("x", config)).ends(1, 1).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Denied);
    let shown = error.to_string();
    assert!(shown.contains("by gsi, krb5; gsi: no X.509 proxy was named (X509_USER_PROXY, "), "{error}");
    assert!(shown.contains("; krb5: not supported"), "{error}");
    let config = ServerConfig { offers: "&P=unix", accepts: "gsi", ..ServerConfig::default() };
    let error = store(&XrootdServer::start("x", config)).ends(1, 1).unwrap_err();
    assert!(error.kind() == ErrorKind::Denied && format!("{error:?}").contains("credentials refused"), "{error:?}");
    // Tokens are shown over TLS alone.
    let config = ServerConfig { offers: "&P=ztn", accepts: "ztn", ..ServerConfig::default() };
    let server = XrootdServer::start("x", config);
    let options = NetOptions { token: Some("secret".into()), ..quick() };
    let error = XrootdStore::new(&server.url(), &options).unwrap().ends(1, 1).unwrap_err();
    assert!(error.to_string().contains("the token is shown over TLS alone"), "{error}");
    assert!(!format!("{:?}", server.seen()).contains("secret"));
}

#[test]
fn a_known_authentication_saves_one_connection() {
    let config = ServerConfig { offers: "&P=unix", accepts: "unix", ..ServerConfig::default() };
    let server = XrootdServer::start(content(100), config);
    store(&server).ends(1, 1).unwrap();
    assert_eq!(server.connections(), 2);
    server.hang_up();
    store(&server).ends(1, 1).unwrap();
    assert_eq!(server.connections(), 3);
}

#[test]
fn tls_is_kept_across_redirections() {
    let server = XrootdServer::start("x", ServerConfig::default());
    let error = at(&server.url().replace("root:", "roots:")).ends(1, 1).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Denied);
    assert!(error.to_string().contains("does not support TLS"), "{error}");
    assert!(!numbers(&server).contains(&LOGIN));
}

#[test]
fn reads_that_wait_are_asked_again() -> Result<()> {
    let content = content(10_000);
    let server = XrootdServer::start(content.clone(), ServerConfig::default());
    let store = store(&server);
    store.ends(1, 1)?;
    server.spoil(&[Fault::Wait(0), Fault::None, Fault::Forgotten]);
    assert!(load(&store, &[0..10_000])?[0] == content);
    server.forget();
    assert!(load(&store, &[0..10])?[0] == content[..10]);
    assert_eq!(numbers(&server), [READ, CLOSE, OPEN, READ], "a server that forgot the file is asked to open it");
    Ok(())
}

#[test]
fn pages_cost_no_request_more_and_only_single_ranges_have_them() {
    let content = content(9_000_000);
    let server = XrootdServer::start(content.clone(), pages());
    let store = store(&server);
    store.ends(10, 10).unwrap();
    server.forget();
    let ranges = [4_097..8_900_001, 1..5, 9..20];
    for (range, got) in ranges.iter().zip(load(&store, &ranges).unwrap()) {
        assert!(got == content[range.start as usize..range.end as usize], "{range:?}");
    }
    assert_eq!(numbers(&server), [READ_PAGES, READ_PAGES, READ_PAGES, READ_VECTOR]);
}

#[test]
fn pages_that_are_wrong_are_asked_for_again() {
    let content = content(200_000);
    let server = XrootdServer::start(content.clone(), pages());
    let store = store(&server);
    store.ends(10, 10).unwrap();
    server.forget();
    server.spoil(&[Fault::WrongPage(3), Fault::WrongPage(0)]);
    assert!(load(&store, &[100..150_000]).unwrap()[0] == content[100..150_000]);
    let seen: Vec<_> = server.seen().into_iter().map(|seen| (seen.request, seen.ranges)).collect();
    let page = (READ_PAGES, vec![(12_288, 4_096)]);
    assert_eq!(seen, [(READ_PAGES, vec![(100, 149_900)]), page.clone(), page]);

    // Nothing of a wrong page is handed on.
    server.spoil(&[Fault::WrongPage(2), Fault::WrongPage(0), Fault::WrongPage(0)]);
    let error = load(&store, &[0..20_000]).unwrap_err();
    let words = error.to_string();
    assert!(
        words.contains(&format!("{} sent a page with a wrong checksum, at attempt 3", server.address())),
        "{words}"
    );
    assert_eq!(error.place().offset, Some(8_192));
    let right = crc32c::crc32c(&content[8_192..12_288]);
    assert_eq!(error.place().expected, Some(right.into()));
    assert!(error.place().found.is_some_and(|found| found != u64::from(right)));
}

#[test]
fn a_server_without_pages_is_asked_once() {
    let server = XrootdServer::start(content(100_000), ServerConfig { knows_pages: false, ..pages() });
    let store = store(&server);
    store.ends(0, 10).unwrap();
    assert_eq!(numbers(&server), [3006, LOGIN, OPEN, 3001, READ_PAGES, READ]);
    server.forget();
    load(&store, &[5..10]).unwrap();
    assert_eq!(numbers(&server), [READ]);
}

#[test]
fn heads_of_pages_are_verified() {
    let content = content(200_000);
    let server = XrootdServer::start(content.clone(), pages());
    for fault in [Fault::WrongHead, Fault::Misplaced, Fault::Short, Fault::CutAfter(9), Fault::CutAfter(50_000)] {
        let store = store(&server);
        store.ends(10, 10).unwrap();
        server.spoil(&[fault]);
        assert!(load(&store, &[4_096..150_000]).unwrap()[0] == content[4_096..150_000], "{fault:?}");
        server.spoil(&[fault; 3]);
        let error = load(&store, &[4_096..4_100]).map(|got| assert!(got[0] == content[4_096..4_100])).err();
        assert!(matches!(fault, Fault::CutAfter(50_000)) || error.is_some(), "{fault:?}");
        server.hang_up();
    }
}

/// By which connections ranges came.
fn paths(server: &XrootdServer) -> BTreeSet<u8> {
    server.seen().iter().filter(|seen| !seen.ranges.is_empty()).map(|seen| seen.path).collect()
}

/// A store of a long file with this many connections, each of which has brought something: a server knows of one before
/// we do.
fn wide(server: &XrootdServer, streams: u8) -> XrootdStore {
    let store = XrootdStore::new(&server.url(), &NetOptions { streams, ..quick() }).expect("the URL makes sense");
    let bytes = store.ends(10, 10).expect("the server runs").identity.len;
    let began = Instant::now();
    while paths(server).len() < usize::from(streams) {
        assert!(began.elapsed() < Duration::from_secs(5), "they join");
        server.forget();
        load(&store, &[0..bytes]).expect("all of it");
    }
    server.forget();
    store
}

#[test]
fn long_ranges_come_by_all_connections() {
    let content = content(30_000_000);
    for config in [ServerConfig::default(), pages(), ServerConfig { offers: "&P=unix", accepts: "unix", ..pages() }] {
        let server = XrootdServer::start(content.clone(), config);
        let store = wide(&server, 4);
        let connections = server.connections();
        assert!(load(&store, &[5..29_999_999]).unwrap()[0] == content[5..29_999_999]);
        let asked = server.seen().iter().filter(|seen| !seen.ranges.is_empty()).count();
        assert_eq!((asked, paths(&server)), (8, [0, 1, 2, 3].into()), "no request more");
        assert_eq!(server.connections(), connections);
        server.forget();
        load(&store, &[0..10, 50..60]).unwrap();
        assert!(server.seen().iter().all(|seen| seen.path == 0), "vectors come by the first");
    }
}

#[test]
fn reads_survive_the_loss_of_a_further_connection() {
    let content = content(20_000_000);
    let server = XrootdServer::start(content.clone(), ServerConfig::default());
    let store = wide(&server, 3);
    let connections = server.connections();
    server.spoil(&[Fault::CutAfter(1_000)]); // the first to be asked for comes by one of these
    assert!(load(&store, &[0..20_000_000]).unwrap()[0] == content);
    server.hang_up_bound();
    assert!(load(&store, &[0..20_000_000]).unwrap()[0] == content);
    assert!(server.seen().iter().all(|seen| ![OPEN, LOGIN].contains(&seen.request)), "the session is what it was");
    std::thread::sleep(Duration::from_millis(50));
    server.forget();
    assert!(load(&store, &[1..20_000_000]).unwrap()[0] == content[1..]);
    assert!(server.seen().iter().all(|seen| seen.path == 0));
    assert_eq!(server.connections(), connections);
}

#[test]
fn further_connections_go_where_the_file_is() {
    let content = content(1_000_000);
    let server = XrootdServer::start(content.clone(), ServerConfig::default());
    let elsewhere = vec![Elsewhere::at(server.address())];
    let manager = XrootdServer::start("", ServerConfig { elsewhere, ..ServerConfig::default() });
    let options = NetOptions { streams: 3, ..quick() };
    let store = XrootdStore::new(&manager.url(), &options).expect("the URL makes sense");
    assert!(load(&store, &[0..1_000_000]).unwrap()[0] == content);
    let began = Instant::now();
    while server.bound() < 2 {
        assert!(began.elapsed() < Duration::from_secs(5), "they join");
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!((manager.connections(), manager.bound(), server.connections()), (1, 0, 3));
}

#[test]
fn one_connection_is_used_by_default() {
    let server = XrootdServer::start(content(1_000_000), ServerConfig::default());
    let store = store(&server);
    load(&store, &[0..1_000_000]).unwrap();
    assert_eq!((server.connections(), server.bound()), (1, 0));
}
