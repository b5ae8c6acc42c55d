//! One file at several places: the contract, places that fail at any moment or hold another file, and what each is
//! asked.

use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use sapwood::ErrorKind;
use sapwood::io::{Flow, MemoryStore, Receive, Recorded, Store, load};
use sapwood_store::{CacheKind, CacheOptions, NetOptions, Replicas, open_replicas};
use sapwood_testkit::http_server::{Fault, HttpServer, ServerConfig, Tag};
use sapwood_testkit::store_contract;
use sapwood_testkit::tcp_proxy::{TcpProxy, Wire};
use sapwood_testkit::xrootd_server::{self, XrootdServer};
use sapwood_testkit::{Fault as StoreFault, Faulty};

use crate::common::{Dice, content, quick, read_at_random, run_schedules, schedules};

fn patient() -> NetOptions {
    NetOptions { timeout: Duration::from_secs(5), ..quick() }
}

/// An address where no server listens.
fn nobody() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
    let address = listener.local_addr().expect("a listener has an address");
    format!("http://{address}/data.root")
}

#[test]
fn replicas_fulfil_the_contract_whichever_answers() {
    for length in [0, 1, 700, 100_000] {
        let content = content(length);
        let near = HttpServer::start(content.clone(), ServerConfig { etag: Tag::Modified, ..ServerConfig::default() });
        let far = XrootdServer::start(content.clone(), xrootd_server::ServerConfig::default());
        let options = NetOptions { retries: 0, ..patient() };
        for urls in [[near.url(), far.url()], [far.url(), near.url()], [nobody(), near.url()]] {
            store_contract::check(&*open_replicas(&urls, &options).unwrap(), &content);
        }
    }
}

#[test]
fn a_failed_replica_is_skipped_and_tried_last() {
    let content = content(1_000_000);
    let one = HttpServer::start(content.clone(), ServerConfig::default());
    let two = HttpServer::start(content.clone(), ServerConfig::default());
    let options = NetOptions { retries: 0, ..patient() };
    let store = open_replicas(&[one.url(), two.url()], &options).unwrap();
    let ends = store.ends(10, 10).unwrap();
    assert_eq!((&*ends.identity.name, ends.identity.validator), (&*one.url(), None));
    assert_eq!((one.requests(), one.body_bytes(), two.requests()), (2, 4_096 + 65_536, 0));
    store.ends(10, 10).unwrap();
    load(&*store, &[5..10]).unwrap();
    assert_eq!(
        (one.requests(), two.requests()),
        (5, 0),
        "a place that has proved itself is asked for no more than is wanted"
    );

    // It breaks within the second of three ranges: one was delivered, two are asked for elsewhere.
    one.forget();
    one.spoil(&[Fault::CutAfter(70_000), Fault::Status(404, None)]);
    let ranges = [0..50_000, 100_000..150_000, 200_000..250_000];
    let got = load(&*store, &ranges).unwrap();
    assert!(ranges.iter().zip(&got).all(|(range, got)| *got == content[range.start as usize..range.end as usize]));
    let seen: Vec<_> = two.seen().into_iter().filter_map(|seen| seen.range).collect();
    assert_eq!(one.requests(), 2);
    assert_eq!(seen.len(), 3, "both ends, as a proof, and what is missing: {seen:?}");
    assert_eq!(seen[2], "bytes=100000-149999,200000-249999");

    // From now on the second is the first; what failed is asked again when that fails.
    one.forget();
    two.forget();
    load(&*store, &[5..10]).unwrap();
    assert_eq!((one.requests(), two.requests()), (0, 1));
    two.spoil(&[Fault::Status(404, None)]);
    load(&*store, &[5..10]).unwrap();
    assert_eq!((one.requests(), two.requests()), (1, 2));
    assert_eq!(&*store.ends(0, 0).unwrap().identity.name, &*one.url());
}

#[test]
fn random_failures_of_one_replica_give_right_bytes() {
    let content = content(400_000);
    for seed in 0..schedules() {
        let mut dice = Dice(seed);
        let one = HttpServer::start(content.clone(), ServerConfig::default());
        let good = HttpServer::start(content.clone(), ServerConfig::default());
        let (moment, way) = (dice.below(6) as usize, dice.below(6));
        let dying = TcpProxy::start(one.address(), move |connection| {
            let bytes = Dice::of(seed, connection).below(150_000) as usize;
            match (connection < moment, way) {
                (true, _) => Wire::CutAfter(bytes),
                (false, 0) => Wire::StallAfter(0),
                (false, 1) => Wire::ResetAfter(0),
                (false, 2) => Wire::CutAfter(0),
                (false, other) => Wire::Answers([404, 403, 503][other as usize % 3]),
            }
        });
        let urls = [format!("http://{}/data.root", dying.address()), good.url()];
        let store = open_replicas(&urls, &quick()).unwrap();
        read_at_random(seed, &content, &*store, &mut dice).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
    }
}

#[test]
fn random_faults_of_all_replicas_give_right_bytes_or_a_clear_error_in_time() {
    run_schedules(|seed, content, _| {
        let servers: Vec<_> = (0..2)
            .map(|which| {
                let server = HttpServer::start(content.to_vec(), ServerConfig::default());
                let wire = move |connection| {
                    let mut dice = Dice::of(seed * 2 + which, connection);
                    let bytes = dice.below(60_000) as usize;
                    match dice.below(4) {
                        0 | 1 => Wire::CutAfter(bytes),
                        2 => Wire::Answers(503),
                        _ => Wire::Good,
                    }
                };
                (TcpProxy::start(server.address(), wire), server)
            })
            .collect();
        let urls: Vec<_> = servers.iter().map(|(proxy, _)| format!("http://{}/", proxy.address())).collect();
        (open_replicas(&urls, &quick()).expect("the URLs make sense"), servers)
    });
}

#[test]
fn a_replica_with_another_file_is_an_error_that_names_both() {
    let right = content(200_000);
    let (mut other, longer) = (right.clone(), content(200_001));
    other[150] ^= 1;
    for wrong in [other, longer] {
        let one = HttpServer::start(right.clone(), ServerConfig::default());
        let two = HttpServer::start(wrong, ServerConfig::default());
        let store = open_replicas(&[one.url(), two.url()], &NetOptions { retries: 0, ..patient() }).unwrap();
        store.ends(10, 10).unwrap();
        one.spoil(&[Fault::Status(503, None)]);
        let error = load(&*store, &[100_000..100_010]).unwrap_err();
        let words = error.to_string();
        assert_eq!(error.kind(), ErrorKind::Changed, "{words}");
        assert!(words.contains(&format!("{} is no replica of {}", two.url(), one.url())), "{words}");
        assert!(words.contains("503"), "why it was looked at: {words}");
    }
}

#[test]
fn a_stopped_read_does_not_try_the_next_replica() {
    struct Gone;
    impl Receive for Gone {
        fn buffer(&self, bytes: usize) -> BytesMut {
            BytesMut::zeroed(bytes)
        }
        fn deliver(&mut self, _: usize, _: Bytes) -> Flow {
            Flow::Stop
        }
        fn stopped(&self) -> bool {
            true
        }
    }
    let server = HttpServer::start(content(100_000), ServerConfig::default());
    let store = open_replicas(&["/no/such/file".to_owned(), server.url()], &patient()).unwrap();
    let error = store.read_ranges(&[0..10], &mut Gone).unwrap_err();
    assert_eq!((error.kind(), server.requests()), (ErrorKind::Cancelled, 0));
}

#[test]
fn a_changed_replica_is_an_error() {
    let path = std::env::temp_dir().join(format!("sapwood-replicas-{}.root", std::process::id()));
    std::fs::write(&path, content(100_000)).unwrap();
    let store = open_replicas(&[path.to_str().unwrap()], &patient()).unwrap();
    store.ends(10, 10).unwrap();
    std::fs::write(&path, content(100_001)).unwrap();
    let error = store.ends(10, 10).unwrap_err();
    std::fs::remove_file(path).ok();
    assert_eq!(error.kind(), ErrorKind::Changed, "{error}");
}

#[test]
fn when_all_replicas_fail_the_error_has_all_reasons_and_no_secret() {
    let content = content(200_000);
    let one = HttpServer::start(content.clone(), ServerConfig::default());
    let two = HttpServer::start(content, ServerConfig::default());
    let login = |server: &HttpServer| server.url().replace("http://", "http://me:sesame@");
    let store = open_replicas(&[login(&one), login(&two)], &NetOptions { retries: 1, ..patient() }).unwrap();
    store.ends(1, 1).unwrap();
    let basic = |server: &HttpServer| server.seen().iter().all(|seen| seen.authorization.is_some());
    assert!(basic(&one));
    one.spoil(&[Fault::Status(503, Some(0)); 2]);
    two.spoil(&[Fault::Status(404, None); 2]);
    let error = load(&*store, &[100_000..100_010]).unwrap_err();
    let words = format!("{error} {error:?}");
    assert_eq!((error.kind(), error.place().offset), (ErrorKind::Io, Some(100_000)), "{words}");
    for part in ["all 2 replicas failed", "503", "at attempt 2", "404", "offset 100000"] {
        assert!(words.contains(part), "{part}: {words}");
    }
    assert!(words.contains(&one.address().to_string()) && words.contains(&two.address().to_string()), "{words}");
    assert!(!words.contains("sesame"), "{words}");
    // Neither is given up for ever.
    load(&*store, &[100_000..100_010]).unwrap();

    let error = open_replicas(&["/no/such/file", "/nor/this"], &patient()).unwrap().ends(1, 1).unwrap_err();
    assert!(error.kind() == ErrorKind::NotFound && error.to_string().contains("/nor/this"), "{error}");
    assert_eq!(
        open_replicas(&[nobody(), "gopher://a/b".into()], &patient()).err().map(|error| error.kind()),
        Some(ErrorKind::Unsupported)
    );
    assert_eq!(open_replicas::<&str>(&[], &patient()).err().map(|error| error.kind()), Some(ErrorKind::Mismatch));
}

#[test]
fn a_token_is_sent_to_all_replicas_and_a_login_to_its_own_host() {
    let content = content(1_000);
    let config = ServerConfig { token: Some("sesame".into()), ..ServerConfig::default() };
    let one = HttpServer::start(content.clone(), config.clone());
    let two = HttpServer::start(content.clone(), config.clone());
    one.spoil(&[Fault::Status(404, None); 2]);
    let token = Some("sesame".to_owned());
    open_replicas(&[one.url(), two.url()], &NetOptions { token, ..patient() }).unwrap().ends(1, 1).unwrap();

    // Servers of their own: a request of before may still be on its way to the others.
    let one = HttpServer::start(content.clone(), config);
    let three = HttpServer::start(content, ServerConfig::default());
    one.spoil(&[Fault::Status(404, None); 2]);
    let login = one.url().replace("http://", "http://me:sesame@");
    open_replicas(&[login, three.url()], &patient()).unwrap().ends(1, 1).unwrap();
    assert!(one.seen().iter().all(|seen| seen.authorization.as_ref().is_some_and(|said| said.starts_with("Basic "))));
    assert!(three.seen().iter().all(|seen| seen.authorization.is_none()), "{:?}", three.seen());
}

#[test]
fn interrupted_ranges_are_delivered_once() {
    let content = content(1_000);
    let recorded = Arc::new(Recorded::new(MemoryStore::new("memory://two", content.clone())));
    let (two, one) = (Arc::clone(&recorded), content.clone());
    let open = move |url: &str| {
        let fails = [StoreFault::FailAfter(2, ErrorKind::TimedOut)];
        let store: Arc<dyn Store> = match url {
            "memory://one" => Arc::new(Faulty::new(MemoryStore::new(url, one.clone()), fails)),
            _ => Arc::new(Arc::clone(&two)),
        };
        Ok(store)
    };
    let store = Replicas::new(&["memory://one", "memory://two"], open).unwrap();
    let ranges = [0..10, 20..30, 40..50, 60..70];
    let got = load(&store, &ranges).unwrap();
    assert!(ranges.iter().zip(&got).all(|(range, got)| *got == content[range.start as usize..range.end as usize]));
    assert_eq!(recorded.take_calls().last().map(|call| call.ranges.clone()), Some(vec![40..50, 60..70]));
}

#[test]
fn a_cache_knows_the_file_in_whatever_order_its_places_are_named() {
    let content = content(1_000_000);
    let one = HttpServer::start(content.clone(), ServerConfig::default());
    let two = HttpServer::start(content.clone(), ServerConfig { etag: Tag::None, ..ServerConfig::default() });
    let folder = std::env::temp_dir().join(format!("sapwood-replicas-{}", std::process::id()));
    for kind in [CacheKind::Blocks, CacheKind::Whole] {
        let dir = folder.join(kind.as_str());
        let options = NetOptions { cache: Some(CacheOptions::new(kind, dir)), ..patient() };
        for (round, urls) in [[one.url(), two.url()], [two.url(), one.url()]].into_iter().enumerate() {
            one.forget();
            two.forget();
            let store = open_replicas(&urls, &options).unwrap();
            assert!(store.ends(4_000, 10_000).unwrap().tail == content[990_000..]);
            assert!(load(&*store, &[500_000..500_100]).unwrap()[0] == content[500_000..500_100]);
            if round == 1 {
                // Whose file it is is asked, as of all servers that name no state; the rest is here.
                assert_eq!((one.requests(), two.requests()), (0, 2), "{kind:?}: {:?}", two.seen());
            }
        }
    }
    std::fs::remove_dir_all(folder).ok();
}
