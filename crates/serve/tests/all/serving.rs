//! What clients see: the contract of stores through the proxy, headers, ranges, refusals.

use std::net::SocketAddr;

use sapwood::io::{Store, load};
use sapwood_serve::{Proxy, ProxyOptions};
use sapwood_store::{HttpStore, NetOptions};
use sapwood_testkit::http_server::{HttpServer, Ranges, ServerConfig, Tag};
use sapwood_testkit::{store_contract, xrootd_server};

use crate::common::{Got, Scrap, content, get, metric, options, quick, send, start};

fn store(proxy: &Proxy, path: &str) -> HttpStore {
    HttpStore::new(&format!("{}{path}", proxy.url()), &quick()).expect("a URL that makes sense")
}

#[test]
fn a_store_through_the_proxy_fulfils_the_contract() {
    let usual = ServerConfig::default;
    let configs = [
        usual(),
        ServerConfig { etag: Tag::None, ..usual() },
        ServerConfig { etag: Tag::Weak, ..usual() },
        ServerConfig { etag: Tag::Modified, ranges: Ranges::Most(1), ..usual() },
        ServerConfig { ranges: Ranges::Ignored, says_length: false, ..usual() },
    ];
    let scrap = Scrap::new("contract");
    for (number, length) in [0, 1, 700, 65_536, 300_000].into_iter().enumerate() {
        let content = content(length);
        for config in &configs {
            let server = HttpServer::start(content.clone(), config.clone());
            let proxy = start(&format!("http://{}", server.address()), &scrap);
            for _ in 0..2 {
                store_contract::check(&store(&proxy, "/data.root"), &content);
            }
        }
        let server = xrootd_server::XrootdServer::start(content.clone(), xrootd_server::ServerConfig::default());
        let proxy = start(&format!("root://{}", server.address()), &scrap);
        store_contract::check(&store(&proxy, "/data.root"), &content);
        let name = format!("file {number}.bin");
        std::fs::write(scrap.0.join(&name), &content).unwrap();
        let proxy = start(scrap.0.to_str().unwrap(), &scrap);
        store_contract::check(&store(&proxy, &format!("/file%20{number}.bin")), &content);
    }
}

#[test]
fn the_second_reader_asks_nothing_of_the_upstream() {
    let bytes = content(2_000_000);
    let scrap = Scrap::new("second");
    let server = HttpServer::start(bytes.clone(), ServerConfig::default());
    let proxy = start(&format!("http://{}/", server.address()), &scrap);
    let ranges: Vec<_> = (0..20_u64).map(|i| i * 90_000..i * 90_000 + 5_000).collect();
    for run in 0..3 {
        let store = store(&proxy, "/store/data.root");
        store.ends(0, 0).unwrap();
        for (range, got) in ranges.iter().zip(load(&store, &ranges).unwrap()) {
            assert!(got == bytes[range.start as usize..range.end as usize], "{range:?}");
        }
        // Both ends show the state; the first block; all the others in one request.
        assert_eq!(server.requests(), 4, "run {run}");
    }
    assert_eq!((metric(&proxy, "misses_total"), metric(&proxy, "hits_total")), (2, 4));
    assert_eq!((metric(&proxy, "upstream_reads_total"), metric(&proxy, "served_bytes_total")), (3, 3 * 100_001));
    let asked = server.body_bytes();
    assert_eq!(get(&proxy, "/store/data.root", "").body, bytes);
    assert!(server.body_bytes() <= asked + 2_000_000 - 20 * 5_000);
    // Another proxy with the same folder asks for the state alone.
    drop(proxy);
    let proxy = start(&format!("http://{}/", server.address()), &scrap);
    server.forget();
    assert_eq!(get(&proxy, "/store/data.root", "").body, bytes);
    assert_eq!((server.requests(), server.body_bytes()), (1, 1));
}

fn plain_server(bytes: &[u8], scrap: &Scrap) -> (HttpServer, Proxy) {
    let server = HttpServer::start(bytes.to_vec(), ServerConfig::default());
    let proxy = start(&format!("http://{}", server.address()), scrap);
    (server, proxy)
}

/// Parts of a multipart answer: what its head says, and its bytes.
fn parts(got: &Got) -> Vec<(String, Vec<u8>)> {
    let boundary = got.header("Content-Type").split_once("boundary=").expect("a boundary").1;
    let mut rest = &got.body[..];
    let mut found = Vec::new();
    loop {
        let start = format!("\r\n--{boundary}");
        rest = rest.strip_prefix(start.as_bytes()).expect("a boundary");
        if rest == b"--\r\n" {
            return found;
        }
        let end = rest.windows(4).position(|four| four == b"\r\n\r\n").expect("an end of the head") + 4;
        let head = String::from_utf8(rest[..end].to_vec()).expect("a head that makes sense");
        let said = head.lines().find_map(|line| line.strip_prefix("Content-Range: bytes ")).expect("a range");
        let (range, _) = said.split_once('/').expect("a head that makes sense");
        let (first, last) = range.split_once('-').expect("a head that makes sense");
        let length = last.parse::<usize>().expect("a head that makes sense") + 1
            - first.parse::<usize>().expect("a head that makes sense");
        found.push((said.to_owned(), rest[end..end + length].to_vec()));
        rest = &rest[end + length..];
    }
}

#[test]
fn ranges_are_answered_as_the_standard_says() {
    let bytes = content(500_000);
    let scrap = Scrap::new("ranges");
    let (_server, proxy) = plain_server(&bytes, &scrap);
    let ask = |range: &str| get(&proxy, "/f", &format!("Range: {range}\r\n"));
    let whole = get(&proxy, "/f", "");
    assert!(whole.status == 200 && whole.body == bytes, "{}", whole.head);
    assert_eq!((whole.header("ETag"), whole.header("Accept-Ranges")), ("\"v0\"", "bytes"));
    assert_eq!(whole.header("Content-Length"), "500000");
    for (range, first, last) in [
        ("bytes=0-0", 0, 0),
        ("bytes=65530-131080", 65_530, 131_080),
        ("bytes=-5", 499_995, 499_999),
        ("bytes=499000-", 499_000, 499_999),
        ("bytes=5-9999999", 5, 499_999),
        ("bytes=7-8,600000-", 7, 8),
    ] {
        let got = ask(range);
        assert_eq!((got.status, got.header("Content-Range")), (206, &*format!("bytes {first}-{last}/500000")));
        assert!(got.body == bytes[first..=last], "{range}");
    }
    let many = ask("bytes=100-199,0-0,-1,65000-330000,100-150");
    let places = ["100-199", "0-0", "499999-499999", "65000-330000", "100-150"];
    let found = parts(&many);
    assert_eq!(many.header("Content-Length"), many.body.len().to_string());
    assert_eq!((many.status, found.len()), (206, places.len()));
    for (place, (said, got)) in places.iter().zip(found) {
        let (first, last) = place.split_once('-').unwrap();
        assert_eq!(said, format!("{place}/500000"));
        assert!(got == bytes[first.parse().unwrap()..=last.parse().unwrap()], "{place}");
    }
    for wrong in ["bytes=500000-", "bytes=-0", &format!("bytes={}", "0-0,".repeat(1025))] {
        let got = ask(wrong);
        assert_eq!((got.status, got.header("Content-Range")), (416, "bytes */500000"));
    }
    for unknown in ["lines=1-2", "bytes=2-1", "bytes=x"] {
        assert_eq!((ask(unknown).status, ask(unknown).body.len()), (200, 500_000), "{unknown}");
    }
    assert_eq!(ask(&format!("bytes={}", ["0-"; 1024].join(","))).body, bytes, "once, and not a thousand times");
}

#[test]
fn states_are_compared_as_the_standard_says() {
    let bytes = content(1_000);
    let scrap = Scrap::new("states");
    for etag in [Tag::Strong, Tag::Modified, Tag::Weak, Tag::None] {
        let server = HttpServer::start(bytes.clone(), ServerConfig { etag, ..ServerConfig::default() });
        let proxy = start(&format!("http://{}", server.address()), &scrap);
        let ask = |headers: &str| get(&proxy, "/f", headers);
        let first = ask("");
        let tag = first.header("ETag").to_owned();
        assert!(tag.len() > 3 && tag.starts_with('"') && tag.ends_with('"'), "{etag:?}: {tag}");
        assert_eq!(ask(&format!("If-None-Match: \"x\", W/{tag}\r\n")).status, 304);
        let known = ask("If-None-Match: *\r\n");
        assert_eq!((known.status, known.header("ETag"), known.body.len()), (304, &*tag, 0));
        assert_eq!(ask("If-None-Match: \"x\"\r\n").status, 200);
        assert_eq!(ask(&format!("Range: bytes=0-9\r\nIf-Range: {tag}\r\n")).body, bytes[..10]);
        assert_eq!(ask("Range: bytes=0-9\r\nIf-Range: \"x\"\r\n").body, bytes);
        let modified = first.header("Last-Modified").to_owned();
        assert_eq!(modified.is_empty(), etag != Tag::Modified);
        if etag == Tag::Modified {
            assert_eq!(ask(&format!("If-Modified-Since: {modified}\r\n")).status, 304);
            assert_eq!(ask(&format!("Range: bytes=0-9\r\nIf-Range: {modified}\r\n")).body, bytes[..10]);
        }
    }
}

#[test]
fn methods_and_versions() {
    let bytes = content(100_000);
    let scrap = Scrap::new("methods");
    let (_server, proxy) = plain_server(&bytes, &scrap);
    let head = send(proxy.address(), "HEAD /f HTTP/1.1\r\nHost: x\r\nConnection: close\r\nRange: bytes=0-1\r\n\r\n");
    assert_eq!((head.status, head.header("Content-Length"), head.body.len()), (200, "100000", 0));
    for method in ["POST", "PUT", "DELETE", "OPTIONS", "PROPFIND"] {
        let got = send(proxy.address(), &format!("{method} /f HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"));
        assert_eq!((got.status, got.header("Allow")), (405, "GET, HEAD"), "{method}");
    }
    let old = send(proxy.address(), "GET /f HTTP/1.0\r\nRange: bytes=1-2\r\n\r\n");
    assert_eq!((old.status, &old.body[..]), (206, &bytes[1..3]));
    // Two requests on one connection, sent at once.
    let one = "GET /f HTTP/1.1\r\nHost: x\r\nRange: bytes=0-3\r\n\r\n";
    let both = send(proxy.address(), &format!("{one}{}", one.replace("Host: x", "Host: x\r\nConnection: close")));
    assert_eq!(both.body.len(), 4 + both.head.len() + "Connection: close\r\n".len() + 4, "{}", both.text());
    let nonsense = send(proxy.address(), "what is this\r\n\r\n");
    assert_eq!(nonsense.status, 400);
    let long = send(proxy.address(), &format!("GET /f HTTP/1.1\r\nHost: x\r\nX: {}\r\n\r\n", "x".repeat(400_000)));
    assert!(matches!(long.status, 0 | 431), "{}", long.head);
    let many = send(proxy.address(), &format!("GET /f HTTP/1.1\r\n{}\r\n", "A: b\r\n".repeat(100)));
    assert_eq!(many.status, 431);
    let health = get(&proxy, "/health", "");
    assert!(health.status == 200 && health.text().starts_with("ok\n"), "{}", health.text());
    let metrics = get(&proxy, "/metrics", "");
    assert!(metrics.text().contains("sapwood_proxy_requests_total{status=\"4xx\"} 5\n"), "{}", metrics.text());
}

#[test]
fn paths_that_lead_elsewhere_are_refused_before_anything_is_asked() {
    let scrap = Scrap::new("paths");
    let (server, proxy) = plain_server(&content(10), &scrap);
    for path in [
        "/",
        "/a/",
        "/..",
        "/a/../../b",
        "/%2e%2e/b",
        "/a/%2E%2e/b",
        "/.%2e/b",
        "/a%00",
        "/a%2f..%2fb",
        "/a\\..\\b",
        "/%5c..",
        "/a%0d%0aX:%20y",
        "/a%",
        "/f?x=1",
        "/f?token=sesame",
    ] {
        let got = get(&proxy, path, "");
        assert_eq!(got.status, 400, "{path}: {}", got.head);
        assert!(got.text().contains(&server.address().to_string()) && !got.text().contains("sesame"), "{}", got.text());
    }
    assert_eq!(server.requests(), 0);
    std::fs::write(scrap.0.join("secret"), "secret").unwrap();
    std::fs::create_dir(scrap.0.join("served")).unwrap();
    std::os::unix::fs::symlink("../secret", scrap.0.join("served/link")).unwrap();
    let folder = start(scrap.0.join("served").to_str().unwrap(), &scrap);
    for (path, status) in [("/link", 404), ("/../secret", 400), ("//../secret", 400), ("/none", 404)] {
        let got = get(&folder, path, "");
        assert_eq!(got.status, status, "{path}");
        assert!(!got.text().contains(&*scrap.0.to_string_lossy()), "{}", got.text());
    }
}

#[test]
fn a_proxy_over_tls_is_read_by_those_who_trust_it() {
    let scrap = Scrap::new("tls");
    let bytes = content(300_000);
    let server = HttpServer::start(bytes.clone(), ServerConfig::default());
    let key = scrap.0.join("key.pem");
    let certificate = scrap.0.join("certificate.pem");
    let made = std::process::Command::new("openssl")
        .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"])
        .args([
            "-subj",
            "/CN=proxy",
            "-addext",
            "subjectAltName=IP:127.0.0.1",
            "-addext",
            "basicConstraints=critical,CA:FALSE",
        ])
        .arg("-keyout")
        .arg(&key)
        .arg("-out")
        .arg(&certificate)
        .output();
    if !made.is_ok_and(|made| made.status.success()) {
        println!("no openssl here");
        return;
    }
    let upstream = format!("http://{}", server.address());
    let with = |tls| Proxy::start(ProxyOptions { tls: Some(tls), ..options(&upstream, &scrap) });
    let proxy = with((certificate.clone(), key.clone())).unwrap();
    let trusting = NetOptions { authorities: Some(certificate.clone()), ..quick() };
    let url = format!("{}/f", proxy.url());
    assert!(url.starts_with("https://"));
    let got = load(&HttpStore::new(&url, &trusting).unwrap(), &[0..300_000]).unwrap();
    assert!(got[0] == bytes);
    assert!(HttpStore::new(&url, &quick()).unwrap().ends(0, 0).is_err());
    let address: SocketAddr = proxy.address();
    assert_eq!(send(address, "GET /f HTTP/1.1\r\nHost: x\r\n\r\n").status, 0, "what is no TLS is closed");
    assert!(with((key.clone(), key)).is_err() && with((certificate, scrap.0.join("none"))).is_err());
}
