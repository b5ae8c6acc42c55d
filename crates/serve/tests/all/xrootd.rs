//! Clients of XRootD's protocol: the contract of stores, and answers byte by byte.

use std::time::Duration;

use sapwood::io::load;
use sapwood_serve::{Proxy, ProxyOptions};
use sapwood_store::xrootd_numbers::request;
use sapwood_store::{NetOptions, XrootdStore, list};
use sapwood_testkit::http_server::{HttpServer, ServerConfig};
use sapwood_testkit::{store_contract, xrootd_server};

use crate::common::xrootd_client::{Client, range, segment};
use crate::common::{Scrap, content, get, metric, options, quick, until};

/// A proxy that speaks both.
pub fn start(upstream: &str, scrap: &Scrap) -> Proxy {
    Proxy::start(options(upstream, scrap).xrootd(([127, 0, 0, 1], 0).into())).expect("options that make sense")
}

/// A proxy of a folder with one file.
pub fn of_file(scrap: &Scrap, bytes: &[u8]) -> Proxy {
    std::fs::create_dir_all(scrap.0.join("data/sub")).expect("a folder");
    std::fs::write(scrap.0.join("data/f"), bytes).expect("a file");
    start(&scrap.0.join("data").to_string_lossy(), scrap)
}

fn store(proxy: &Proxy, path: &str) -> XrootdStore {
    let url = proxy.xrootd_url().expect("XRootD is spoken");
    XrootdStore::new(&format!("{url}{path}"), &quick()).expect("a URL that makes sense")
}

#[test]
fn a_store_through_the_proxy_fulfils_the_contract() {
    let scrap = Scrap::new("xrootd-contract");
    for (number, length) in [0, 1, 700, 65_536, 300_000].into_iter().enumerate() {
        let content = content(length);
        let server = HttpServer::start(content.clone(), ServerConfig::default());
        let proxy = start(&format!("http://{}", server.address()), &scrap);
        for _ in 0..2 {
            store_contract::check(&store(&proxy, "/data.root"), &content);
        }
        let server = xrootd_server::XrootdServer::start(content.clone(), xrootd_server::ServerConfig::default());
        let proxy = start(&format!("root://{}", server.address()), &scrap);
        store_contract::check(&store(&proxy, "/data.root"), &content);
        let name = format!("file{number}.bin");
        std::fs::write(scrap.0.join(&name), &content).unwrap();
        let proxy = start(scrap.0.to_str().unwrap(), &scrap);
        store_contract::check(&store(&proxy, &format!("/{name}")), &content);
    }
}

#[test]
fn both_protocols_read_one_cache() {
    let bytes = content(2_000_000);
    let scrap = Scrap::new("xrootd-both");
    let server = HttpServer::start(bytes.clone(), ServerConfig::default());
    let proxy = start(&format!("http://{}/", server.address()), &scrap);
    assert!(get(&proxy, "/f", "").body == bytes);
    let asked = server.requests();
    let ranges: Vec<_> = (0..200_u64).map(|i| i * 9_000..i * 9_000 + 5_000).collect();
    for (range, got) in ranges.iter().zip(load(&store(&proxy, "/f"), &ranges).unwrap()) {
        assert!(got == bytes[range.start as usize..range.end as usize], "{range:?}");
    }
    assert!(load(&store(&proxy, "/f"), &[3..1_999_999]).unwrap()[0] == bytes[3..1_999_999]);
    assert_eq!(server.requests(), asked, "the upstream is asked for nothing that http brought");
    assert_eq!(metric(&proxy, "protocol_misses_total{protocol=\"xrootd\"}"), 0);
    assert_eq!(metric(&proxy, "protocol_misses_total{protocol=\"http\"}"), 1);
    let hits = metric(&proxy, "protocol_hits_total{protocol=\"xrootd\"}");
    assert_eq!((hits > 1, metric(&proxy, "hits_total")), (true, hits));
    let served = 200 * 5_000 + 1_999_996;
    assert_eq!(metric(&proxy, "protocol_served_bytes_total{protocol=\"xrootd\"}"), served);
}

#[test]
fn reads_are_cut_at_the_end_of_the_file_and_come_in_pieces() {
    let bytes = content(3_000_000);
    let scrap = Scrap::new("xrootd-reads");
    let proxy = of_file(&scrap, &bytes);
    let (mut client, handle) = Client::opened(&proxy, "/f");
    for (offset, length) in [(0, 10), (5, 2_999_995), (0, 3_000_000), (0, i32::MAX as u32), (2_999_999, 5)] {
        let answer = client.read(handle, offset, length);
        let end = (offset as usize + length as usize).min(bytes.len());
        assert!(answer.status == 0 && answer.data == bytes[offset as usize..end], "{offset} {length}");
    }
    for (offset, length) in [(3_000_000, 1), (1 << 62, 5), (7, 0)] {
        let answer = client.read(handle, offset, length);
        assert_eq!((answer.status, answer.data.len()), (0, 0));
    }
    client.send(3, request::READ, range(handle, 0, 3_000_000), b"");
    let first = client.answer().unwrap();
    assert_eq!((first.stream, first.status, first.data.len()), (3, 4000, 128 << 10));
    assert_eq!(client.whole().data.len(), 3_000_000 - (128 << 10));
}

#[test]
fn a_file_may_be_closed_before_its_reads_are_answered() {
    let bytes = content(3_000_000);
    let scrap = Scrap::new("xrootd-close");
    let proxy = of_file(&scrap, &bytes);
    for _ in 0..50 {
        let (mut client, handle) = Client::opened(&proxy, "/f");
        for stream in 1..6 {
            client.send(stream, request::READ, range(handle, 1_000, 400_000), b"");
        }
        client.send(9, request::CLOSE, range(handle, 0, 0), b"");
        let mut found = std::collections::HashMap::<u16, usize>::new();
        while found.values().sum::<usize>() < 5 * 400_000 || found.len() < 6 {
            let answer = client.answer().unwrap();
            assert_eq!(answer.code(), 0, "{}", answer.text());
            *found.entry(answer.stream).or_default() += answer.data.len();
        }
        assert_eq!(client.read(handle, 0, 1).code(), 3004);
    }
}

#[test]
fn vectors_name_their_ranges_and_frames_have_whole_ones() {
    let bytes = content(3_000_000);
    let scrap = Scrap::new("xrootd-vectors");
    let proxy = of_file(&scrap, &bytes);
    std::fs::write(scrap.0.join("data/g"), b"another").unwrap();
    let (mut client, handle) = Client::opened(&proxy, "/f");
    let other: [u8; 4] = client.open("/g", 0x10).data[..4].try_into().unwrap();
    let wanted = [(handle, 5, 70_000), (handle, 4, 0), (other, 0, 7), (handle, 1_000, 1_900_000), (handle, 9, 90_000)];
    let data: Vec<u8> = wanted.iter().flat_map(|(handle, offset, bytes)| segment(*handle, *offset, *bytes)).collect();
    client.send(9, request::READ_VECTOR, [0; 16], &data);
    let mut found = Vec::new();
    loop {
        let answer = client.answer().unwrap();
        let mut rest = &answer.data[..];
        while !rest.is_empty() {
            let (name, after) = rest.split_at(16);
            let length = u32::from_be_bytes(name[4..8].try_into().unwrap());
            let (data, after) = after.split_at(length as usize);
            found.push((name[..4].try_into().unwrap(), u64::from_be_bytes(name[8..].try_into().unwrap()), length));
            let (_, offset, _) = found[found.len() - 1];
            let whole = if found[found.len() - 1].0 == handle { &bytes[..] } else { b"another" };
            assert!(data == &whole[offset as usize..offset as usize + length as usize]);
            rest = after;
        }
        if answer.status == 0 {
            break;
        }
        assert_eq!(answer.status, 4000);
    }
    assert_eq!(found, wanted);
}

#[test]
fn states_names_and_places_are_told() {
    let scrap = Scrap::new("xrootd-about");
    let proxy = of_file(&scrap, b"0123456789");
    let (mut client, _) = Client::logged_in(&proxy);
    let stat = |answer: &str| answer.split(' ').skip(1).take(2).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(stat(&client.ask(request::STAT, [0; 16], b"//f").text()), ["10", "16"]);
    for folder in ["/", "/sub", "/sub/"] {
        assert_eq!(stat(&client.ask(request::STAT, [0; 16], folder.as_bytes()).text()), ["0", "19"], "{folder}");
    }
    assert_eq!(client.ask(request::STAT, [0; 16], b"/none").code(), 3011);
    assert_eq!(client.ask(request::STAT_KINDS, [0; 16], b"/f\n/sub").data, [0, 2]);
    assert_eq!(client.open("/sub", 0x10).code(), 3016);
    assert_eq!(client.open("/none", 0x10).code(), 3011);
    assert_eq!(client.ask(request::LIST, [0; 16], b"/").text(), "f\nsub");
    assert_eq!(client.ask(request::LIST, [0; 16], b"/none").code(), 3011);
    let mut body = [0; 16];
    body[15] = 2;
    let listed = client.ask(request::LIST, body, b"/").text();
    let lines: Vec<&str> = listed.lines().collect();
    assert_eq!((lines.len(), lines[0], lines[1], lines[2], lines[4]), (6, ".", "0 0 0 0", "f", "sub"), "{listed}");
    assert_eq!((stat(lines[3]), stat(lines[5])), (vec!["10".into(), "16".into()], vec!["0".into(), "19".into()]));
    let located = client.ask(request::LOCATE, [0; 16], b"/f").text();
    assert_eq!(located, format!("Sr{}", proxy.xrootd_address().unwrap()));
    assert_eq!(client.ask(request::LOCATE, [0; 16], b"/none").code(), 3011);
    let mut body = [0; 16];
    body[1] = 7;
    assert_eq!(
        client.ask(request::QUERY, body, b"readv_ior_max chksum x").text(),
        "2097136\n0:adler32,1:crc32c,2:md5\nx\n"
    );
    body[1] = 3;
    assert_eq!(client.ask(request::QUERY, body, b"/f").text(), "adler32 0aff020e");
    assert_eq!(client.ask(request::QUERY, body, b"/f?cks.type=crc32c").text(), "crc32c 280c069e");
    assert_eq!(client.ask(request::QUERY, body, b"/f?cks.type=sha0").code(), 3013);
    assert_eq!(client.ask(request::QUERY, body, b"/sub").code(), 3016);
    for number in [request::PING, request::SET, request::PREPARE] {
        assert_eq!(client.ask(number, [0; 16], b"").status, 0);
    }
    // Sapwood's own list.
    let found = list(&format!("{}/", proxy.xrootd_url().unwrap()), &NetOptions::default()).unwrap();
    let found: Vec<_> = found.into_iter().map(|one| (one.name, one.is_folder, one.len)).collect();
    assert_eq!(found, [("f".to_owned(), false, Some(10)), ("sub".to_owned(), true, None)]);
}

#[test]
fn states_of_files_come_from_upstreams_that_only_list_names() {
    let scrap = Scrap::new("xrootd-index");
    let page = "<title>Index of /</title> <a href='a.root'>a.root</a> <a href='run1/'>run1</a>";
    let server = HttpServer::start(page, ServerConfig::default());
    let proxy = start(&format!("http://{}", server.address()), &scrap);
    let found = list(&format!("{}/", proxy.xrootd_url().unwrap()), &NetOptions::default()).unwrap();
    let found: Vec<_> = found.into_iter().map(|one| (one.name, one.is_folder, one.len)).collect();
    // All paths of this server have the bytes of its page.
    let expected = [("a.root".to_owned(), false, Some(page.len() as u64)), ("run1".to_owned(), true, None)];
    assert_eq!(found, expected);
}

#[test]
fn nothing_is_written() {
    let scrap = Scrap::new("xrootd-writes");
    let proxy = of_file(&scrap, b"0123456789");
    let (mut client, handle) = Client::opened(&proxy, "/f");
    for options in [0x2, 0x8, 0x20, 0x200, 0x8000] {
        assert_eq!(client.open("/f", options).code(), 3025, "{options:x}");
        assert_eq!(client.open("/new", options).code(), 3025, "{options:x}");
    }
    for number in [request::REMOVE, request::RENAME, request::MAKE_FOLDER, request::TRUNCATE, request::CHANGE_MODE] {
        assert_eq!(client.ask(number, [0; 16], b"/f").code(), 3025, "{number}");
    }
    assert_eq!(client.ask(request::WRITE, range(handle, 0, 0), b"xyz").code(), 3025);
    assert_eq!(client.read(handle, 0, 10).data, b"0123456789");
    assert_eq!(std::fs::read(scrap.0.join("data/f")).unwrap(), b"0123456789");
    assert!(!scrap.0.join("data/new").exists());
}

#[test]
fn a_file_that_changes_is_an_error_of_its_handle() {
    let scrap = Scrap::new("xrootd-change");
    std::fs::create_dir_all(scrap.0.join("data")).unwrap();
    std::fs::write(scrap.0.join("data/f"), content(500_000)).unwrap();
    let options = ProxyOptions { max_age: Duration::ZERO, ..options(scrap.0.join("data").to_str().unwrap(), &scrap) };
    let proxy = Proxy::start(options.xrootd(([127, 0, 0, 1], 0).into())).unwrap();
    let (mut client, handle) = Client::opened(&proxy, "/f");
    assert_eq!(client.read(handle, 0, 10).data, content(10));
    std::fs::write(scrap.0.join("data/f"), b"other").unwrap();
    let answer = client.read(handle, 0, 10);
    assert!(answer.code() == 3007 && answer.text().contains("changed"), "{answer:?}");
    let handle: [u8; 4] = client.open("/f", 0x10).data[..4].try_into().unwrap();
    assert_eq!(client.read(handle, 0, 10).data, b"other");
}

#[test]
fn further_connections_carry_answers_and_end_with_their_session() {
    let bytes = content(1_000_000);
    let scrap = Scrap::new("xrootd-bound");
    let proxy = of_file(&scrap, &bytes);
    let (mut client, session) = Client::logged_in(&proxy);
    let handle: [u8; 4] = client.open("/f", 0x10).data[..4].try_into().unwrap();
    let mut bound: Vec<Client> = (0..15).map(|_| Client::greeted(&proxy)).collect();
    for (number, one) in (1..).zip(&mut bound) {
        assert_eq!(one.ask(request::BIND, session, b"").data, [number]);
    }
    let mut more = Client::greeted(&proxy);
    assert_eq!(more.ask(request::BIND, session, b"").code(), 3008);
    for (number, one) in (1_u8..).zip(&mut bound) {
        client.send(u16::from(number), request::READ, range(handle, 7, 500_000), &[number, 0, 0, 0, 0, 0, 0, 0]);
        let answer = one.whole();
        assert!(answer.stream == u16::from(number) && answer.data == bytes[7..500_007]);
    }
    client.send(4, request::READ_PAGES, range(handle, 0, 4096), &[2, 0]);
    let pages = bound[1].answer().unwrap();
    assert_eq!((pages.stream, pages.status, pages.data.len()), (4, 4007, 24));
    assert_eq!(client.ask(request::PING, [0; 16], b"").status, 0);
    // One that has left may be replaced.
    drop(bound.remove(4));
    until("it has left", || {
        let mut again = Client::greeted(&proxy);
        again.ask(request::BIND, session, b"").data == [5]
    });
    let mut unknown = Client::greeted(&proxy);
    assert_eq!(unknown.ask(request::BIND, [7; 16], b"").code(), 3011);
    drop(client);
    assert!(bound[0].is_closed());
    until("all have left", || metric(&proxy, "open_connections") == 0);
}
