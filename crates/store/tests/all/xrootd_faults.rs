//! XRootD over links that are slow, break and stall, and by servers that fail: right bytes or a clear error, in time.

use std::time::{Duration, Instant};

use sapwood::ErrorKind;
use sapwood::io::{Flow, Receive, Store, load};
use sapwood_store::{NetOptions, XrootdStore};
use sapwood_testkit::tcp_proxy::{TcpProxy, Wire};
use sapwood_testkit::xrootd_server::{Fault, OPEN, READ_VECTOR, ServerConfig, XrootdServer};

use crate::common::impatient::does_not_wait;
use crate::common::{Dice, RETRIES, TIMEOUT, content, quick, run_schedules};

fn behind(proxy: &TcpProxy) -> XrootdStore {
    XrootdStore::new(&format!("root://{}//data.root", proxy.address()), &quick()).expect("the URL makes sense")
}

/// What the connection of this number is like: every other goes wrong.
fn wire(seed: u64, connection: usize) -> Wire {
    let mut dice = Dice::of(seed, connection);
    let bytes = dice.below(80_000) as usize;
    match dice.below(12) {
        0 | 1 => Wire::CutAfter(bytes),
        2 | 3 => Wire::ResetAfter(bytes),
        4 => Wire::StallAfter(bytes),
        5 => Wire::Delayed(Duration::from_millis(dice.below(20))),
        6 => Wire::Slow(500_000 + dice.below(1_000_000)),
        _ => Wire::Good,
    }
}

fn fault(dice: &mut Dice) -> Fault {
    let bytes = dice.below(30_000) as usize;
    match dice.below(24) {
        0 => Fault::Error([3005, 3007, 3012, 3024][dice.below(4) as usize]),
        1 => Fault::CutAfter(bytes),
        2 => Fault::StallAfter(bytes),
        3 => Fault::Wait(0),
        4 => Fault::Short,
        5 => Fault::Nonsense,
        6 => Fault::OpenError(3024),
        7 => Fault::Forgotten,
        8 => Fault::WrongPage(dice.below(4) as usize),
        9 => Fault::WrongHead,
        10 => Fault::Misplaced,
        _ => Fault::None,
    }
}

fn config(seed: u64) -> ServerConfig {
    let usual = ServerConfig::default;
    match seed % 8 {
        0 => ServerConfig { split_bytes: Some(1_000), ..usual() },
        1 => ServerConfig { reorders: true, ..usual() },
        2 => ServerConfig { vector_ranges: 7, waits: 1, ..usual() },
        3 => ServerConfig { says_stat: false, says_limits: false, ..usual() },
        4 => ServerConfig { offers: "&P=unix", accepts: "unix", ..usual() },
        // One range a request, each by pages.
        5 => ServerConfig { says_pages: true, vector_ranges: 1, ..usual() },
        6 => ServerConfig { says_pages: true, vector_ranges: 1, split_bytes: Some(5_000), ..usual() },
        _ => usual(),
    }
}

#[test]
fn random_faults_give_right_bytes_or_a_clear_error_in_time() {
    run_schedules(|seed, content, dice| {
        let server = XrootdServer::start(content.to_vec(), config(seed));
        let proxy = TcpProxy::start(server.address(), move |connection| wire(seed, connection));
        let faults: Vec<Fault> = (0..20).map(|_| fault(dice)).collect();
        server.spoil(&faults);
        // Some have further connections, which go wrong as the first one does.
        let options = NetOptions { streams: [1, 1, 4][seed as usize % 3], ..quick() };
        let store = XrootdStore::new(&format!("root://{}//data.root", proxy.address()), &options);
        (store.expect("the URL makes sense"), (proxy, server))
    });
}

#[test]
fn only_what_is_missing_is_asked_for_again() {
    let content = content(1_000_000);
    let server = XrootdServer::start(content.clone(), ServerConfig::default());
    let store = XrootdStore::new(&server.url(), &quick()).unwrap();
    store.ends(10, 10).unwrap();
    server.forget();
    server.spoil(&[Fault::CutAfter(8 + 16 + 50_000 + 16 + 19_000)]);
    let ranges = [0..50_000, 100_000..150_000, 200_000..250_000];
    let got = load(&store, &ranges).unwrap();
    assert!(got[1] == content[100_000..150_000] && got[2] == content[200_000..250_000]);
    let seen = server.seen();
    let reads: Vec<_> = seen.iter().filter(|seen| seen.request == READ_VECTOR).map(|seen| &seen.ranges[..]).collect();
    assert_eq!(
        reads,
        [&[(0, 50_000), (100_000, 50_000), (200_000, 50_000)][..], &[(119_000, 31_000), (200_000, 50_000)]]
    );
    assert_eq!(seen.iter().filter(|seen| seen.request == OPEN).count(), 1);
}

#[test]
fn a_stalled_link_ends_in_an_error_after_the_time_that_was_set() {
    let server = XrootdServer::start(content(100_000), ServerConfig::default());
    let proxy = TcpProxy::start(server.address(), |_| Wire::StallAfter(0));
    let began = Instant::now();
    let error = behind(&proxy).ends(10, 10).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TimedOut);
    assert!(error.to_string().contains("at attempt 4"), "{error}");
    let attempts = RETRIES + 1;
    assert!(began.elapsed() >= TIMEOUT * attempts && began.elapsed() < TIMEOUT * attempts + Duration::from_secs(3));
}

#[test]
fn callers_of_a_dead_server_share_one_timeout() {
    let server = XrootdServer::start(content(100_000), ServerConfig::default());
    let proxy = TcpProxy::start(server.address(), |_| Wire::StallAfter(0));
    let store = behind(&proxy);
    let began = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| assert_eq!(load(&store, &[0..10]).unwrap_err().kind(), ErrorKind::TimedOut));
        }
    });
    assert!(began.elapsed() < TIMEOUT * 2 * (RETRIES + 1) + Duration::from_secs(4), "{:?}", began.elapsed());
}

#[test]
fn a_slow_link_that_goes_on_is_not_cut() {
    let content = content(200_000);
    let server = XrootdServer::start(content.clone(), ServerConfig::default());
    let proxy = TcpProxy::start(server.address(), |_| Wire::Slow(200_000));
    let began = Instant::now();
    let got = load(&behind(&proxy), &[0..200_000]).unwrap();
    assert!(got[0] == content && began.elapsed() > TIMEOUT * 2, "{:?}", began.elapsed());
    assert_eq!(proxy.connections(), 1);
}

#[test]
fn ranges_are_delivered_as_they_come() {
    struct Timed(Vec<(usize, Duration)>, Instant);
    impl Receive for Timed {
        fn buffer(&self, bytes: usize) -> bytes::BytesMut {
            bytes::BytesMut::zeroed(bytes)
        }
        fn deliver(&mut self, index: usize, _: bytes::Bytes) -> Flow {
            self.0.push((index, self.1.elapsed()));
            Flow::Go
        }
        fn stopped(&self) -> bool {
            false
        }
    }
    let server = XrootdServer::start(content(400_000), ServerConfig::default());
    let proxy = TcpProxy::start(server.address(), |_| Wire::Slow(400_000));
    let store = behind(&proxy);
    store.ends(1, 1).unwrap();
    let mut timed = Timed(Vec::new(), Instant::now());
    store.read_ranges(&[0..10, 1_000..151_000, 200_000..400_000], &mut timed).unwrap();
    assert_eq!(timed.0.iter().map(|(index, _)| *index).collect::<Vec<_>>(), [0, 1, 2]);
    assert!(timed.0[2].1 - timed.0[0].1 > Duration::from_millis(400), "{:?}", timed.0);
}

#[test]
fn a_reader_that_stops_does_not_wait_for_the_link() {
    let content = content(100_000);
    let server = XrootdServer::start(content.clone(), ServerConfig::default());
    let options = NetOptions { timeout: Duration::from_secs(30), ..quick() };
    let store = XrootdStore::new(&server.url(), &options).unwrap();
    store.ends(1, 1).unwrap();
    server.spoil(&[Fault::StallAfter(1_000)]);
    does_not_wait(&store);
    server.hang_up();
    assert!(load(&store, &[0..100_000]).unwrap()[0] == content, "the next read is not the worse for it");
}

#[test]
fn a_refused_connection_is_an_error_that_names_the_host() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let error = XrootdStore::new(&format!("root://{address}//x"), &quick()).unwrap().ends(1, 1).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io);
    assert!(error.to_string().contains(&format!("no connection to {address}, at attempt 4")), "{error}");
}

#[test]
fn a_dripping_server_times_out() {
    let server = XrootdServer::start(content(100_000), ServerConfig::default());
    // What comes before the first bytes of the file comes at once.
    let proxy = TcpProxy::start(server.address(), |_| Wire::DripAfter(2_000, Duration::from_millis(40)));
    let options = NetOptions { retries: 0, ..quick() };
    let store = XrootdStore::new(&format!("root://{}//data.root", proxy.address()), &options).unwrap();
    let error = load(&store, &[0..50_000]).unwrap_err();
    // Too few bytes of an answer, or of its head.
    assert_eq!(error.kind(), ErrorKind::TimedOut, "{error}");
}
