//! Trees over http: how many requests it takes to open a file and to read columns.

use std::time::Duration;

use sapwood::column::Number;
use sapwood::write::{BranchSpec, Every, FileWriter, TreeOptions, Values, WriteOptions};
use sapwood::{File, OpenOptions, Session};
use sapwood_store::NetOptions;
use sapwood_testkit::http_server::{HttpServer, Ranges, ServerConfig};
use sapwood_testkit::tcp_proxy::{TcpProxy, Wire};

const ENTRIES: u32 = 120_000;

/// Numbers that do not get smaller: baskets keep their distance.
fn value(entry: i64, column: i64) -> i64 {
    (entry * 100 + column).wrapping_mul(0x9E37_79B9_7F4A_7C15_u64 as i64)
}

/// The bytes of a file with sixteen columns of numbers, in forty clusters.
fn file(test: &str) -> Vec<u8> {
    let path = std::env::temp_dir().join(format!("sapwood-reading-{test}-{}.root", std::process::id()));
    let compression = "lz4:1".parse().ok();
    let mut file =
        FileWriter::recreate(&path, WriteOptions { compression, ..WriteOptions::default() }).expect("a good file");
    let names: Vec<String> = (0..16).map(|i| format!("x{i}")).collect();
    let specs = names.iter().map(|name| BranchSpec::number(&**name, Number::I64)).collect();
    let options = TreeOptions { auto_flush: Every::Entries(3_000), ..TreeOptions::default() };
    let mut tree = file.tree("t", specs, options).expect("a good file");
    let columns: Vec<Vec<i64>> =
        (0..16).map(|i| (0..i64::from(ENTRIES)).map(|entry| value(entry, i)).collect()).collect();
    let rows: Vec<_> = names.iter().zip(&columns).map(|(name, values)| (&**name, Values::from(values))).collect();
    tree.extend(&rows).expect("a good file");
    tree.close().expect("a good file");
    file.close().expect("a good file");
    let bytes = std::fs::read(&path).expect("a good file");
    std::fs::remove_file(path).expect("a good file");
    bytes
}

fn open(url: &str, threads: usize) -> File {
    let store = sapwood_store::open(url, &NetOptions::default()).expect("a good file");
    File::from_store(store, OpenOptions { session: Session::with_threads(threads), ..OpenOptions::default() })
        .expect("a good file")
}

fn check(file: &File, names: &[&str]) {
    let tree = file.tree("t").expect("a good file");
    let ids: Vec<_> = names.iter().map(|name| tree.branch(name).expect("a good file").id).collect();
    let columns = sapwood::read::columns(&tree, &ids, 0..tree.entries).expect("a good file");
    for (name, column) in names.iter().zip(columns) {
        let number: i64 = name[1..].parse().expect("a good file");
        let values: Vec<i64> = column.numbers().expect("a good file");
        assert!(values.iter().copied().eq((0..i64::from(ENTRIES)).map(|entry| value(entry, number))), "{name}");
    }
}

#[test]
fn a_file_opens_with_two_requests_at_once_and_a_column_takes_one() {
    let server = HttpServer::start(file("open"), ServerConfig::default());
    let file = open(&server.url(), 2);
    file.keys(true).unwrap();
    assert_eq!(server.requests(), 2);
    // Held, so that it is read once. Its record lies before the tail.
    let tree = file.tree("t").unwrap();
    assert_eq!((tree.entries, server.requests()), (u64::from(ENTRIES), 3));
    check(&file, &["x3"]);
    assert_eq!(server.requests(), 4);
    assert!(server.connections() <= 2, "connections are used again: {}", server.connections());
    let ranges = server.seen()[3].range.clone().unwrap_or_default();
    assert_eq!(ranges.matches(',').count(), 39, "one range a basket: {ranges}");
}

#[test]
fn where_only_one_range_is_answered_eight_go_together() {
    let server = HttpServer::start(file("single"), ServerConfig { ranges: Ranges::Most(1), ..ServerConfig::default() });
    let file = open(&server.url(), 2);
    check(&file, &["x3"]);
    // Both ends and the tree. Forty baskets: at once, then in three requests, then one by one.
    assert_eq!(server.requests(), 3 + 1 + 3 + 40);
    // Eight, those of the answers that were stopped, and some that were no longer needed when they stood.
    assert!(server.connections() <= 20, "{}", server.connections());
}

#[test]
fn one_thread_reads_a_far_file_in_few_round_trips() {
    let bytes = file("far");
    let length = bytes.len();
    let server = HttpServer::start(bytes, ServerConfig::default());
    let names: Vec<String> = (0..16).map(|i| format!("x{i}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let proxy = TcpProxy::start(server.address(), |_| Wire::Delayed(Duration::from_millis(3)));
    let file = open(&format!("http://{}/", proxy.address()), 1);
    server.forget();
    check(&file, &names);
    // Sixteen megabytes, in requests of eight at most.
    assert!(length > 15_000_000 && server.requests() <= 4, "{} requests", server.requests());
}
