//! Nothing that a user or a server sees of a file shows what proves who asks.

use sapwood::io::Store;
use sapwood_store::{DcapStore, HttpStore, NetOptions, XrootdStore, open};
use sapwood_testkit::dcap_server::{self, DcapServer};
use sapwood_testkit::http_server::{HttpServer, ServerConfig};
use sapwood_testkit::xrootd_server::{self, XrootdServer};

fn quick() -> NetOptions {
    NetOptions { timeout: std::time::Duration::from_secs(2), retries: 0, ..NetOptions::default() }
}

/// In every secret of these tests, and in nothing else.
const MARK: &str = "geheim";

fn check(what: &str, shown: &str) {
    assert!(!shown.contains(MARK), "{what}: {shown}");
}

/// Error, debug text and, where the file is there, name.
fn check_store(url: &str, store: &(impl Store + std::fmt::Debug), is_there: bool) {
    check(url, &format!("{store:?}"));
    match store.ends(1, 1) {
        Ok(ends) => {
            assert!(is_there, "{url}");
            check(url, &ends.identity.name);
            let error = sapwood::io::load(store, &[5..1_000]).expect_err("beyond the end");
            check(url, &format!("{error} {error:?}"));
        }
        Err(error) => {
            assert!(!is_there, "{url}: {error}");
            check(url, &format!("{error} {error:?}"));
        }
    }
}

#[test]
fn http_shows_no_secrets() {
    let query = "authz=geheim-1&X-Amz-Signature=geheim2&x=1";
    for token in [None, Some("geheim-token".to_owned())] {
        let config = ServerConfig { token: token.clone(), ..ServerConfig::default() };
        let server = HttpServer::start("hello", config);
        let url = format!("http://me:geheim-pass@{}/f?{query}", server.address());
        let headers = vec![("Cookie".to_owned(), "a=geheim-cookie".to_owned())];
        let store = HttpStore::new(&url, &NetOptions { headers, ..quick() }).unwrap();
        check_store(&url, &store, token.is_none());
    }
}

#[test]
fn root_shows_no_secrets_though_the_server_repeats_them() {
    let server = XrootdServer::start("hello", xrootd_server::ServerConfig::default());
    for path in ["data.root", "missing"] {
        let url = format!("root://me:geheim-pass@{}//{path}?authz=Bearer%20geheim-1&other=geheim-2", server.address());
        let options = NetOptions { token: Some("geheim-token".into()), ..quick() };
        let store = XrootdStore::new(&url, &options).unwrap();
        check_store(&url, &store, path != "missing");
    }
    let url = format!("root://{}//missing?authz=geheim-1", server.address());
    let error = XrootdStore::new(&url, &quick()).unwrap().ends(1, 1).unwrap_err();
    assert!(error.to_string().contains("no such file: /missing?authz=..."), "{error}");
}

#[test]
fn dcap_shows_no_secrets() {
    let server = DcapServer::start("hello", dcap_server::ServerConfig::default());
    let url = format!("{}?authz=geheim-1", server.url());
    check_store(&url, &DcapStore::new(&url, &quick()).unwrap(), false);
}

#[test]
fn urls_that_are_refused_show_no_secrets() {
    for url in [
        "http://me:geheim/1@a.org/f",
        "http://me:geheim@a.org:port/f",
        "https://me:geheim@/f",
        "http://?token=geheim",
        "root://me:geheim@a.org:port//f?authz=geheim",
        "root://me:geheim@a.org",
        "dcap://me:geheim@a.org/f",
        "dcap://a.org:port/f?authz=geheim",
        "gsidcap://me:geheim@a.org/f?authz=geheim",
        "gopher://me:geheim@a.org/f?authz=geheim",
        "s3://me:geheim@bucket/f",
        "s3://bucket/f/?X-Amz-Signature=geheim/",
        "az://me:geheim@box?sig=geheim",
    ] {
        let error = open(url, &NetOptions::default()).err().expect("it is refused");
        check(url, &format!("{error} {error:?}"));
    }
}

#[cfg(feature = "clouds")]
#[test]
fn clouds_show_no_secrets() {
    let server = HttpServer::start("hello", ServerConfig { token: Some("another".into()), ..ServerConfig::default() });
    let clouds = vec![
        ("AWS_ENDPOINT_URL".to_owned(), format!("http://{}", server.address())),
        ("AWS_ACCESS_KEY_ID".to_owned(), "geheim-id".to_owned()),
        ("AWS_SECRET_ACCESS_KEY".to_owned(), "geheim-key".to_owned()),
    ];
    let url = "s3://bucket/f?X-Amz-Signature=geheim";
    let store = sapwood_store::CloudStore::new(url, &NetOptions { clouds, ..quick() }).unwrap();
    check_store(url, &store, false);
}
