//! The contract of stores against a dCache, in all its manners and with all that goes wrong: right bytes or a clear
//! error, in time.

use std::time::{Duration, Instant};

use sapwood::io::{Store, load};
use sapwood::{ErrorKind, Result};
use sapwood_store::{DcapStore, NetOptions};
use sapwood_testkit::dcap_server::{DcapServer, Fault, Seen, ServerConfig};
use sapwood_testkit::store_contract;
use sapwood_testkit::tcp_proxy::{TcpProxy, Wire};

use crate::common::impatient::does_not_wait;
use crate::common::{Dice, RETRIES, TIMEOUT, content, quick, run_schedules};

fn at(url: &str, options: &NetOptions) -> DcapStore {
    DcapStore::new(url, options).expect("the URL makes sense")
}

fn store(server: &DcapServer) -> DcapStore {
    at(&server.url(), &quick())
}

fn kinds() -> Vec<(&'static str, ServerConfig)> {
    let usual = ServerConfig::default;
    vec![
        ("usual", usual()),
        ("small blocks", ServerConfig { block_bytes: 7, ..usual() }),
        ("no vectors", ServerConfig { vectors: false, ..usual() }),
        ("tells nothing of the file", ServerConfig { says_stat: false, ..usual() }),
    ]
}

/// The ranges of each read so far.
fn reads(server: &DcapServer) -> Vec<Vec<(u64, u64)>> {
    server
        .seen()
        .into_iter()
        .filter_map(|seen| if let Seen::Read(ranges) = seen { Some(ranges) } else { None })
        .collect()
}

#[test]
fn every_kind_of_server_fulfils_the_contract() {
    let patient = NetOptions { timeout: Duration::from_secs(10), retries: 2, ..NetOptions::default() };
    for (name, config) in kinds() {
        for length in [0, 1, 700, 100_000] {
            println!("{name}, {length} bytes");
            let content: Vec<u8> = (0..length as u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
            let server = DcapServer::start(content.clone(), config.clone());
            store_contract::check(&at(&server.url(), &patient), &content);
        }
    }
}

#[test]
fn an_idle_file_is_closed_and_reopened() {
    let content = content(100_000);
    let server = DcapServer::start(content.clone(), ServerConfig::default());
    let store = store(&server);
    store.ends(10, 10).unwrap();
    // A reader that goes on keeps it.
    for _ in 0..4 {
        std::thread::sleep(TIMEOUT);
        load(&store, &[0..10]).unwrap();
    }
    assert_eq!(server.connections(), (1, 1));
    let closed = || server.seen().contains(&Seen::Close);
    let began = Instant::now();
    while !closed() && began.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(closed() && began.elapsed() >= TIMEOUT, "{:?}", began.elapsed());
    assert_eq!(load(&store, &[5..9]).unwrap(), [&content[5..9]]);
    assert_eq!(server.connections(), (2, 2));
}

#[test]
fn clients_with_long_timeouts_are_served() {
    let content = content(100_000);
    let server = DcapServer::start(content.clone(), ServerConfig::default());
    let store = at(&server.url(), &NetOptions { timeout: Duration::MAX, ..quick() });
    assert_eq!(load(&store, &[5..9]).unwrap(), [&content[5..9]]);
}

#[test]
fn many_ranges_are_one_command_on_one_connection() {
    let content = content(3_000_000);
    let server = DcapServer::start(content.clone(), ServerConfig::default());
    let store = store(&server);
    let ends = store.ends(4_000, 64_000).unwrap();
    assert!(ends.head == content[..4_000] && ends.tail == content[2_936_000..]);
    assert_eq!((&*ends.identity.name, ends.identity.len), (&*server.url(), 3_000_000));
    assert_eq!(ends.identity.validator.as_deref(), Some("3000000-1700000000-4711"));
    server.forget();
    let ranges: Vec<_> = (0..1_024_u64).map(|i| i * 900..i * 900 + 10).chain([1_000_000..2_000_000]).collect();
    let got = load(&store, &ranges).unwrap();
    assert!(ranges.iter().zip(got).all(|(range, got)| got == content[range.start as usize..range.end as usize]));
    let reads = reads(&server);
    assert_eq!((reads.len(), reads[1].len(), &reads[0][..]), (2, 1_024, &[(1_000_000, 1_000_000)][..]));
    assert_eq!(server.connections(), (1, 1));
    drop(store);
    let began = Instant::now();
    while !server.seen().contains(&Seen::Close) {
        assert!(began.elapsed() < Duration::from_secs(5), "the file is closed");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn names_are_what_stands_in_the_url() {
    let server = DcapServer::start("", ServerConfig::default());
    server.put("/a b/%20\"ü.root", "hello");
    let url = format!("dcap://{}/a b/%20\"ü.root", server.address());
    assert_eq!(load(&at(&url, &quick()), &[0..5]).unwrap(), ["hello"]);
}

#[test]
fn only_what_is_missing_is_asked_for_again() {
    let content = content(1_000_000);
    let server = DcapServer::start(content.clone(), ServerConfig { block_bytes: 10_000, ..ServerConfig::default() });
    let store = store(&server);
    store.ends(1, 1).unwrap();
    server.forget();
    server.spoil(&[Fault::CutAfter(16 + 8 + 3 * 10_004)]);
    assert!(load(&store, &[100_000..700_000]).unwrap()[0] == content[100_000..700_000]);
    assert_eq!(reads(&server), [[(100_000, 600_000)], [(130_000, 570_000)]]);
}

#[test]
fn a_failed_range_is_never_filled_from_the_next_one() {
    let content = content(100_000);
    let ranges = [0..100, 50_000..50_100, 70_000..70_100];
    for fault in [Fault::Failed, Fault::Short, Fault::Denied, Fault::Nonsense] {
        let server = DcapServer::start(content.clone(), ServerConfig::default());
        let store = store(&server);
        store.ends(1, 1).unwrap();
        server.spoil(&[fault]);
        for (range, got) in ranges.iter().zip(load(&store, &ranges).unwrap()) {
            assert!(got == content[range.start as usize..range.end as usize], "{fault:?}");
        }
        server.spoil(&[fault; 4]);
        let error = load(&store, &ranges).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Io | ErrorKind::TimedOut), "{fault:?}: {error}");
        assert!(error.to_string().contains("127.0.0.1:") && error.to_string().contains("at attempt 4"), "{error}");
        assert_eq!(error.place().offset, Some(0), "{error}");
    }
}

#[test]
fn refusals_of_doors_have_error_kinds() {
    let failed = |faults: &[Fault]| -> sapwood::Error {
        let server = DcapServer::start("hello", ServerConfig::default());
        server.spoil(faults);
        store(&server).ends(1, 1).unwrap_err()
    };
    let refused = failed(&[Fault::Refused(33, "EPERM")]);
    assert_eq!(refused.kind(), ErrorKind::Denied);
    assert!(refused.to_string().contains("says: by plan"), "{refused}");
    assert_eq!(failed(&[Fault::Refused(1, "EISDIR")]).kind(), ErrorKind::Mismatch);
    let again = failed(&[Fault::Retry; 4]);
    assert!(again.to_string().contains("says: try again, at attempt 4"), "{again}");
    assert_eq!(failed(&[Fault::Silence; 4]).kind(), ErrorKind::TimedOut);
    for (name, config) in kinds() {
        let server = DcapServer::start("hello", config);
        server.spoil(&[Fault::Retry, Fault::HangUp, Fault::Refused(104, "")]);
        assert_eq!(load(&store(&server), &[0..5]).unwrap(), ["hello"], "{name}");
        let missing = at(&format!("dcap://{}/missing", server.address()), &quick()).ends(1, 1).unwrap_err();
        assert_eq!(missing.kind(), ErrorKind::NotFound, "{name}: {missing}");
        assert!(missing.to_string().contains("No such file"), "{missing}");
    }
}

#[test]
fn a_replaced_file_is_an_error_and_never_mixed() {
    for says_stat in [true, false] {
        let server = DcapServer::start(content(100_000), ServerConfig { says_stat, ..ServerConfig::default() });
        let store = store(&server);
        let before = load(&store, &[0..100_000]).unwrap();
        let other = vec![7_u8; if says_stat { 100_000 } else { 99_999 }];
        server.put("/data.root", other);
        assert_eq!(load(&store, &[0..100_000]).unwrap(), before, "a pool goes on with what is open");
        server.hang_up();
        let error = load(&store, &[0..100_000]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Changed, "{error}");
    }
}

fn fault(dice: &mut Dice) -> Fault {
    let bytes = dice.below(30_000) as usize;
    match dice.below(20) {
        0 => Fault::Denied,
        1 => Fault::Failed,
        2 => Fault::CutAfter(bytes),
        3 => Fault::StallAfter(bytes),
        4 => Fault::Short,
        5 => Fault::Nonsense,
        6 => Fault::Retry,
        7 => Fault::HangUp,
        _ => Fault::None,
    }
}

#[test]
fn random_faults_give_right_bytes_or_a_clear_error_in_time() {
    run_schedules(|seed, content, dice| {
        let kinds = kinds();
        let (_, mut config) = kinds[seed as usize % kinds.len()].clone();
        config.block_bytes = config.block_bytes.max(1_000);
        let server = DcapServer::start(content.to_vec(), config);
        let faults: Vec<Fault> = (0..20).map(|_| fault(dice)).collect();
        server.spoil(&faults);
        let proxy = TcpProxy::start(server.address(), move |connection| match Dice::of(seed, connection).below(8) {
            0 => Wire::CutAfter(200),
            1 => Wire::ResetAfter(50),
            2 => Wire::Delayed(Duration::from_millis(20)),
            _ => Wire::Good,
        });
        (at(&format!("dcap://{}/data.root", proxy.address()), &quick()), (proxy, server))
    });
}

#[test]
fn a_silent_door_times_out_for_all_callers() -> Result<()> {
    let server = DcapServer::start(content(100_000), ServerConfig::default());
    let proxy = TcpProxy::start(server.address(), |_| Wire::StallAfter(0));
    let store = at(&format!("dcap://{}/data.root", proxy.address()), &quick());
    let began = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let error = load(&store, &[0..10]).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::TimedOut);
                assert!(error.to_string().contains("sent nothing for 0.3 s, at attempt 4"), "{error}");
            });
        }
    });
    assert!(began.elapsed() < TIMEOUT * 2 * (RETRIES + 1) + Duration::from_secs(4), "{:?}", began.elapsed());
    Ok(())
}

#[test]
fn a_reader_that_stops_does_not_wait_for_the_pool() {
    let content = content(100_000);
    let server = DcapServer::start(content.clone(), ServerConfig::default());
    let store = at(&server.url(), &NetOptions { timeout: Duration::from_secs(30), ..quick() });
    store.ends(1, 1).unwrap();
    server.spoil(&[Fault::StallAfter(1_000)]);
    does_not_wait(&store);
    assert!(load(&store, &[0..100_000]).unwrap()[0] == content, "the next read is not the worse for it");
}

#[test]
fn tunnels_are_refused_with_an_explanation() {
    for url in ["gsidcap://example.org/a.root", "kerberosdcap://example.org/a.root"] {
        let error = sapwood_store::open(url, &NetOptions::default()).err().expect("it is refused");
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(error.to_string().contains("root://"), "{error}");
    }
}

#[test]
fn a_dripping_server_times_out() {
    let server = DcapServer::start(content(100_000), ServerConfig::default());
    let store = at(&server.url(), &NetOptions { retries: 0, ..quick() });
    store.ends(1, 1).unwrap();
    server.spoil(&[Fault::DripAfter(1_000); 10]);
    let error = load(&store, &[0..100_000]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TimedOut);
    assert!(error.to_string().contains("less than 1024 bytes a second"), "{error}");
}
