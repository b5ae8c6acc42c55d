//! Files in buckets: the contract, what is asked, what goes wrong.

use std::time::{Duration, Instant};

use sapwood::ErrorKind;
use sapwood::io::{Store, load};
use sapwood_store::{CacheKind, CacheOptions, CloudStore, NetOptions, open};
use sapwood_testkit::http_server::{Fault, HttpServer, Ranges, ServerConfig, Tag};
use sapwood_testkit::store_contract;
use sapwood_testkit::tcp_proxy::{TcpProxy, Wire};

use crate::common::wire::wire;
use crate::common::{RETRIES, TIMEOUT, content, quick, run_schedules};

const SECRET: &str = "c2VocmdlaGVpbQ==";

/// Settings for the cloud of a URL whose service is at this address, with keys.
fn settings(url: &str, address: std::net::SocketAddr) -> Vec<(String, String)> {
    let at = format!("http://{address}");
    let pairs = match url.split_once("://").map_or("", |(scheme, _)| scheme) {
        "s3" => vec![("AWS_ENDPOINT_URL", &*at), ("AWS_ACCESS_KEY_ID", "me"), ("AWS_SECRET_ACCESS_KEY", SECRET)],
        "gs" => vec![("GOOGLE_BASE_URL", &*at), ("GOOGLE_BEARER_TOKEN", SECRET)],
        _ => vec![
            ("AZURE_STORAGE_ENDPOINT", &*at),
            ("AZURE_STORAGE_ACCOUNT_NAME", "me"),
            ("AZURE_STORAGE_ACCOUNT_KEY", SECRET),
        ],
    };
    let mut pairs: Vec<_> = pairs.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    pairs.push(("HOME".to_owned(), "/home/me".to_owned())); // means nothing
    pairs
}

fn at(url: &str, address: std::net::SocketAddr) -> CloudStore {
    CloudStore::new(url, &NetOptions { clouds: settings(url, address), ..quick() }).expect("the URL makes sense")
}

const URLS: [(&str, &str); 3] = [
    ("s3://bucket/a/data.root", "AWS4-HMAC-SHA256 "),
    ("gs://bucket/data.root", "Bearer "),
    ("az://box/data.root", "SharedKey me:"),
];

#[test]
fn every_cloud_fulfils_the_contract_and_gets_credentials() {
    let usual = ServerConfig::default;
    let configs = [
        ServerConfig { ranges: Ranges::Most(1), ..usual() },
        ServerConfig { ranges: Ranges::First, suffixes: false, etag: Tag::Modified, ..usual() },
        ServerConfig { ranges: Ranges::Ignored, ..usual() },
    ];
    for (url, proof) in URLS {
        for config in &configs {
            for length in [0, 1, 700, 100_000] {
                let content = content(length);
                let server = HttpServer::start(content.clone(), config.clone());
                let patient = Duration::from_secs(5);
                let options = NetOptions { clouds: settings(url, server.address()), timeout: patient, ..quick() };
                store_contract::check(&CloudStore::new(url, &options).unwrap(), &content);
                let seen = server.seen();
                let proved = |said: &Option<String>| said.as_ref().is_some_and(|said| said.starts_with(proof));
                assert!(seen.iter().all(|seen| proved(&seen.authorization)), "{url}: {:?}", seen.first());
                let several = seen.iter().filter_map(|seen| seen.range.as_ref()).find(|range| range.contains(','));
                assert_eq!(several, None, "one range a request");
            }
        }
    }
}

#[test]
fn both_ends_take_one_round_trip_where_the_cloud_knows_suffixes() {
    let content = content(1_000_000);
    for (url, _) in URLS {
        let server =
            HttpServer::start(content.clone(), ServerConfig { ranges: Ranges::Most(1), ..ServerConfig::default() });
        let store = at(url, server.address());
        let ends = store.ends(4_000, 64_000).unwrap();
        assert!(ends.head == content[..4_000] && ends.tail == content[936_000..]);
        assert_eq!((&*ends.identity.name, ends.identity.validator.as_deref()), (url, Some("\"v0\"")));
        let mut seen: Vec<_> = server.seen().into_iter().filter_map(|seen| seen.range).collect();
        seen.sort();
        let tail = if url.starts_with("az") { "bytes=936000-999999" } else { "bytes=-64000" };
        assert!(seen.contains(&"bytes=0-3999".to_owned()) && seen.contains(&tail.to_owned()), "{seen:?}");
        assert_eq!((seen.len(), server.body_bytes()), (2, 68_000));
    }
}

#[test]
fn the_key_is_taken_literally_and_no_login_is_requested() {
    let server = HttpServer::start(content(1_000), ServerConfig::default());
    let mut clouds = settings("s3://", server.address());
    clouds.retain(|(name, _)| name == "AWS_ENDPOINT_URL");
    clouds.push(("aws_skip_signature".into(), "true".into()));
    let store = CloudStore::new("s3://bucket/a b%20c#d.root", &NetOptions { clouds, ..quick() }).unwrap();
    store.ends(10, 10).unwrap();
    assert!(server.seen().iter().all(|seen| seen.authorization.is_none()), "{:?}", server.seen());
}

#[test]
fn random_faults_give_right_bytes_or_a_clear_error_in_time() {
    run_schedules(|seed, content, _| {
        let server =
            HttpServer::start(content.to_vec(), ServerConfig { ranges: Ranges::Most(1), ..ServerConfig::default() });
        let proxy = TcpProxy::start(server.address(), move |connection| wire(seed, connection));
        (at(URLS[seed as usize % 3].0, proxy.address()), (proxy, server))
    });
}

#[test]
fn what_is_missing_is_asked_for_again_with_a_new_proof() {
    let content = content(1_000_000);
    let server =
        HttpServer::start(content.clone(), ServerConfig { ranges: Ranges::Most(1), ..ServerConfig::default() });
    let store = at(URLS[0].0, server.address());
    store.ends(10, 10).unwrap();
    server.forget();
    server.spoil(&[Fault::CutAfter(70_000), Fault::Status(503, Some(0))]);
    assert!(load(&store, &[0..100_000]).unwrap()[0] == content[..100_000]);
    let seen: Vec<_> = server.seen().into_iter().filter_map(|seen| seen.range).collect();
    assert_eq!(seen.len(), 3, "{seen:?}");
    assert!(seen[0] == "bytes=0-99999" && seen[1] == seen[2] && !seen[1].starts_with("bytes=0-"), "{seen:?}");
}

#[test]
fn a_stalled_cloud_ends_in_an_error_after_the_time_that_was_set() {
    let server = HttpServer::start(content(100_000), ServerConfig::default());
    let proxy = TcpProxy::start(server.address(), |_| Wire::StallAfter(0));
    let began = Instant::now();
    let error = at(URLS[0].0, proxy.address()).ends(10, 10).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TimedOut);
    let words = error.to_string();
    assert!(words.contains("at attempt 4") && words.contains(&proxy.address().to_string()), "{words}");
    let attempts = RETRIES + 1;
    assert!(began.elapsed() >= TIMEOUT * attempts && began.elapsed() < TIMEOUT * attempts + Duration::from_secs(3));
}

#[test]
fn a_file_that_changes_is_an_error() {
    for etag in [Tag::Strong, Tag::Modified] {
        let config = ServerConfig { etag, ranges: Ranges::Most(1), ..ServerConfig::default() };
        let server = HttpServer::start(content(500_000), config);
        let store = at(URLS[0].0, server.address());
        store.ends(10, 10).unwrap();
        server.replace_after(0, vec![7; 500_000]);
        let error = load(&store, &[1_000..2_000]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Changed, "{error}");
    }
}

#[test]
fn refusals_have_kinds_and_hold_no_keys() {
    for (status, kind) in
        [(404, ErrorKind::NotFound), (403, ErrorKind::Denied), (400, ErrorKind::Io), (301, ErrorKind::Io)]
    {
        for (url, _) in URLS {
            let server = HttpServer::start(content(1_000), ServerConfig::default());
            server.spoil(&[Fault::Status(status, None); 2]);
            let error = at(url, server.address()).ends(1, 1).unwrap_err();
            assert_eq!(error.kind(), kind, "{url} {status}: {error}");
            let words = format!("{error} {error:?}");
            assert!(words.contains(url) && words.contains(&server.address().to_string()), "{words}");
            assert!(!words.contains(SECRET), "{words}");
        }
    }
}

#[test]
fn the_region_of_a_bucket_is_learnt() {
    let server = HttpServer::start(content(1_000), ServerConfig { ranges: Ranges::Most(1), ..ServerConfig::default() });
    server.spoil(&[Fault::Region("eu-central-1")]);
    let store = at(URLS[0].0, server.address());
    store.ends(0, 10).unwrap();
    let regions: Vec<_> = server.seen().into_iter().filter_map(|seen| seen.authorization).collect();
    assert_eq!(regions.len(), 2);
    assert!(regions[0].contains("/us-east-1/s3/") && regions[1].contains("/eu-central-1/s3/"), "{regions:?}");
    load(&store, &[0..5]).unwrap();
    assert_eq!(server.requests(), 3);
}

#[test]
fn credentials_are_not_sent_in_clear_and_missing_ones_are_an_error() {
    // No machine has this name, and none is asked.
    let setting = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let keys = [setting("aws_access_key_id", "me"), setting("aws_secret_access_key", SECRET)];
    let clouds = [&keys[..], &[setting("AWS_ENDPOINT_URL", "http://far.invalid")]].concat();
    let error = CloudStore::new("s3://b/a", &NetOptions { clouds, ..quick() }).unwrap().ends(1, 1).unwrap_err();
    assert!(error.to_string().contains("in clear") && error.kind() == ErrorKind::Denied, "{error}");

    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let nobody = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let clouds = vec![setting("AWS_METADATA_ENDPOINT", &nobody)];
    let error = CloudStore::new("s3://b/a", &NetOptions { clouds, ..quick() }).unwrap().ends(1, 1).unwrap_err();
    assert!(error.to_string().contains("no credentials") && error.kind() == ErrorKind::Denied, "{error}");

    let clouds = vec![setting("aws_access_key_id", "me")];
    let error = CloudStore::new("s3://b/a", &NetOptions { clouds, ..quick() }).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Mismatch, "{error}");
}

#[test]
fn caches_keep_what_a_cloud_gave() {
    let content = content(1_000_000);
    for kind in [CacheKind::Blocks, CacheKind::Whole] {
        let folder = std::env::temp_dir().join(format!("sapwood-clouds-{}-{kind:?}", std::process::id()));
        let server =
            HttpServer::start(content.clone(), ServerConfig { ranges: Ranges::Most(1), ..ServerConfig::default() });
        let url = URLS[0].0;
        let mut cache = CacheOptions::new(kind, folder.clone());
        cache.bytes = 100_000_000;
        let clouds = settings(url, server.address());
        let options = NetOptions { clouds, timeout: Duration::from_secs(5), cache: Some(cache), ..quick() };
        for round in 0..2 {
            server.forget();
            let store = open(url, &options).unwrap();
            assert!(store.ends(4_000, 10_000).unwrap().tail == content[990_000..]);
            let got = load(&*store, &[500_000..500_100, 0..10]).unwrap();
            assert!(got[0] == content[500_000..500_100] && got[1] == content[..10]);
            if round == 1 {
                assert!(server.body_bytes() <= 1, "{kind:?}: {:?}", server.seen());
            }
        }
        // The same name at another endpoint is another file.
        let other =
            HttpServer::start(vec![7; 1_000_000], ServerConfig { ranges: Ranges::Most(1), ..ServerConfig::default() });
        let options = NetOptions { clouds: settings(url, other.address()), ..options };
        assert_eq!(load(&*open(url, &options).unwrap(), &[0..3]).unwrap(), [vec![7; 3]]);
        std::fs::remove_dir_all(folder).ok();
    }
}
