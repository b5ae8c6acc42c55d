//! Clients of XRootD's protocol that send nonsense, take nothing, or wait for ever.

use std::io::Write;
use std::time::Duration;

use sapwood_serve::{Proxy, ProxyOptions};
use sapwood_store::xrootd_numbers::{HELLO, request};

use crate::common::xrootd_client::{Client, head, range, segment};
use crate::common::{Scrap, content, metric, options, until};
use crate::xrootd::of_file;

/// A proxy of a folder with one file whose clients must not be slow.
fn impatient(scrap: &Scrap, bytes: &[u8]) -> Proxy {
    std::fs::write(scrap.0.join("f"), bytes).expect("a file");
    let options = options(&scrap.0.to_string_lossy(), scrap).xrootd(([127, 0, 0, 1], 0).into());
    Proxy::start(ProxyOptions { idle: Duration::from_millis(500), ..options }).expect("options that make sense")
}

#[test]
fn other_protocols_get_no_answer() {
    let scrap = Scrap::new("hostile-hello");
    let proxy = of_file(&scrap, b"x");
    let mut almost = HELLO;
    almost[19] ^= 1;
    for bytes in [&b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"[..], &[0xFF; 64], &almost, &[0x16; 300]] {
        let mut client = Client::connect(proxy.xrootd_address().unwrap());
        client.write(bytes);
        assert_eq!(client.answer(), None);
    }
}

#[test]
fn nothing_is_served_before_the_login() {
    let scrap = Scrap::new("hostile-login");
    let proxy = of_file(&scrap, b"x");
    for number in [request::OPEN, request::PING, request::STAT, request::AUTH, request::END, 4711] {
        let mut client = Client::greeted(&proxy);
        let answer = client.ask(number, [0; 16], b"/f");
        assert!(answer.code() == 3006 && client.is_closed(), "{number}: {answer:?}");
    }
    let (mut client, session) = Client::logged_in(&proxy);
    for number in [request::LOGIN, request::AUTH, request::BIND] {
        assert_eq!(client.ask(number, session, b"").code(), 3006, "{number}");
    }
    assert_eq!(client.ask(request::PING, [0; 16], b"").status, 0);
}

#[test]
fn lengths_are_limited_before_anything_is_allocated() {
    let scrap = Scrap::new("hostile-length");
    let proxy = of_file(&scrap, b"x");
    for (length, code) in [(65_537, 3002), (i32::MAX as u32, 3002), (0x8000_0000, 3000), (u32::MAX, 3000)] {
        for number in [request::OPEN, request::READ_VECTOR, request::WRITE, request::PING, 9999] {
            let (mut client, _) = Client::logged_in(&proxy);
            client.write(&head(5, number, [0; 16], length));
            assert_eq!(client.whole().code(), code, "{number} {length}");
            assert!(client.is_closed());
        }
    }
    let mut client = Client::greeted(&proxy);
    client.write(&head(5, request::LOGIN, [0; 16], u32::MAX));
    assert!(client.whole().code() == 3000 && client.is_closed());
}

#[test]
fn vectors_that_lie_are_refused() {
    let scrap = Scrap::new("hostile-vector");
    let bytes = content(100_000);
    let proxy = of_file(&scrap, &bytes);
    let (mut client, handle) = Client::opened(&proxy, "/f");
    let good = segment(handle, 0, 10);
    let cases: [(Vec<u8>, u32); 9] = [
        (vec![], 3000),
        (good[..15].to_vec(), 3000),
        ([&good[..], b"x"].concat(), 3000),
        (good.repeat(1025), 3002),
        (segment(handle, 0, u32::MAX), 3000),
        (segment(handle, u64::MAX, 1), 3000),
        (segment(handle, 0, 2_097_137), 3008),
        ([&good[..], &segment(handle, 99_999, 2)].concat(), 3000),
        ([&good[..], &segment(*b"none", 0, 1)].concat(), 3004),
    ];
    for (data, code) in cases {
        let answer = client.ask(request::READ_VECTOR, [0; 16], &data);
        assert_eq!(answer.code(), code, "{} bytes: {}", data.len(), answer.text());
    }
    assert_eq!(client.ask(request::READ_VECTOR, [0; 16], &segment(handle, 1 << 62, 1)).code(), 3000);
    let whole = client.ask(request::READ_VECTOR, [0; 16], &good.repeat(1024));
    assert_eq!((whole.status, whole.data.len()), (0, 1024 * 26));
}

#[test]
fn what_is_unknown_is_refused_and_the_session_goes_on() {
    let scrap = Scrap::new("hostile-unknown");
    let proxy = of_file(&scrap, b"0123456789");
    let (mut client, handle) = Client::opened(&proxy, "/f");
    let wrong = [0xFF, 0, 0, 7];
    assert_eq!(client.read(wrong, 0, 5).code(), 3004);
    assert_eq!(client.ask(request::READ_PAGES, range(wrong, 0, 5), b"").code(), 3004);
    assert_eq!(client.ask(request::CLOSE, range(wrong, 0, 0), b"").code(), 3004);
    let mut body = [0; 16];
    body[12..].copy_from_slice(&wrong);
    assert_eq!(client.ask(request::STAT, body, b"").code(), 3004);
    for path in [1, 15, 16, 255] {
        assert_eq!(client.ask(request::READ, range(handle, 0, 5), &[path, 0, 0, 0, 0, 0, 0, 0]).code(), 3000);
    }
    for number in [0, 1, 2999, 3005, 3029, 3033, 65_535] {
        assert_eq!(client.ask(number, [0xAA; 16], b"some data").code(), 3006, "{number}");
    }
    for path in ["/../f", "/a/../../f", "/f\n", "/\\f", "/f\u{1}"] {
        assert_eq!(client.open(path, 0x10).code(), 3000, "{path:?}");
    }
    assert_eq!(client.open("", 0x10).code(), 3001);
    assert_eq!(client.read(handle, 0, 10).data, b"0123456789");
    assert_eq!(client.ask(request::CLOSE, range(handle, 0, 0), b"").status, 0);
    assert_eq!(client.read(handle, 0, 10).code(), 3004, "a closed handle is not used again");
    let next: [u8; 4] = client.open("/f", 0x10).data[..4].try_into().unwrap();
    assert_ne!(next, handle);
}

#[test]
fn any_bytes_after_the_login_are_answered_or_end_the_connection() {
    let scrap = Scrap::new("hostile-any");
    let proxy = of_file(&scrap, &content(100_000));
    let mut state = 17_u64;
    for round in 0..100 {
        let (mut client, _) = Client::opened(&proxy, "/f");
        let mut bytes = Vec::new();
        for _ in 0..20 {
            let mut draw = || {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 33) as u32
            };
            let body: Vec<u8> = (0..16).map(|_| if draw() % 3 == 0 { draw() as u8 } else { 0 }).collect();
            let data: Vec<u8> = (0..draw() % 64).map(|_| b"/f\0\n\xFFabc"[draw() as usize % 8]).collect();
            let length = if draw() % 20 == 0 { draw() } else { data.len() as u32 };
            let number = 2_998 + (draw() % 38) as u16;
            bytes.extend([&head(1, number, body.try_into().unwrap(), length)[..], &data].concat());
        }
        // The other end may have closed before all is sent.
        let _ = client.0.write_all(&bytes);
        let _ = client.0.shutdown(std::net::Shutdown::Write);
        assert!(client.is_closed(), "round {round}");
    }
    let (mut client, handle) = Client::opened(&proxy, "/f");
    assert_eq!(client.read(handle, 0, 100_000).data, content(100_000));
}

#[test]
fn slow_and_silent_clients_are_disconnected() {
    let scrap = Scrap::new("hostile-slow");
    let proxy = impatient(&scrap, &content(30_000_000));
    let address = proxy.xrootd_address().unwrap();
    let mut slow = Vec::new();
    // A hello that does not end, then one without a request, a login without its data, half of a head.
    for bytes in [HELLO[..7].to_vec(), HELLO.to_vec()] {
        let mut client = Client::connect(address);
        client.write(&bytes);
        slow.push(client);
    }
    let mut client = Client::greeted(&proxy);
    client.write(&head(1, request::LOGIN, [0; 16], 100));
    slow.push(client);
    let (mut client, _) = Client::logged_in(&proxy);
    client.write(&head(1, request::PING, [0; 16], 0)[..10]);
    slow.push(client);
    // A session without a file, and one that is asked for more than it takes.
    slow.push(Client::logged_in(&proxy).0);
    let (mut greedy, handle) = Client::opened(&proxy, "/f");
    for number in 0..40 {
        greedy.send(number, request::READ, range(handle, 0, 30_000_000), b"");
    }
    until("all are served", || metric(&proxy, "connections_total") >= 6);
    until("all have left", || metric(&proxy, "open_connections") == 0);
    for mut client in slow {
        assert!(client.is_closed());
    }
    let (mut client, handle) = Client::opened(&proxy, "/f");
    assert_eq!(client.read(handle, 0, 10).data, content(10));
    // With a file open a client may be silent for longer.
    std::thread::sleep(Duration::from_millis(1500));
    assert_eq!(client.read(handle, 0, 10).data, content(10));
}

#[test]
fn clients_that_take_nothing_keep_no_one_out() {
    let scrap = Scrap::new("hostile-greedy");
    let bytes = content(20_000_000);
    let proxy = of_file(&scrap, &bytes);
    let mut greedy: Vec<_> = (0..20).map(|_| Client::opened(&proxy, "/f")).collect();
    for (client, handle) in &mut greedy {
        for number in 0..10 {
            client.send(number, request::READ, range(*handle, 0, 20_000_000), b"");
            let vector: Vec<u8> = (0..9).flat_map(|i| segment(*handle, i * 2_000_000, 2_000_000)).collect();
            client.send(100 + number, request::READ_VECTOR, [0; 16], &vector);
        }
    }
    let (mut client, handle) = Client::opened(&proxy, "/f");
    assert!(client.read(handle, 0, 20_000_000).data == bytes);
    // All answers come whole once they are taken.
    let (client, _) = &mut greedy[0];
    let mut got = [0_usize; 200];
    while got.iter().filter(|bytes| **bytes > 0).count() < 20 || got.iter().sum::<usize>() < 10 * 38_000_144 {
        let answer = client.answer().expect("an answer");
        got[answer.stream as usize] += answer.data.len();
    }
    assert!(got[..10].iter().all(|bytes| *bytes == 20_000_000));
    assert!(got[100..110].iter().all(|bytes| *bytes == 18_000_144));
}

#[test]
fn two_hundred_idle_clients_and_one_that_reads() {
    let scrap = Scrap::new("hostile-idle");
    let bytes = content(1_000_000);
    std::fs::write(scrap.0.join("f"), &bytes).unwrap();
    let options = options(scrap.0.to_str().unwrap(), &scrap).xrootd(([127, 0, 0, 1], 0).into());
    let proxy = Proxy::start(ProxyOptions { connections: 201, ..options }).unwrap();
    let idle: Vec<_> = (0..200).map(|_| Client::opened(&proxy, "/f")).collect();
    assert_eq!(metric(&proxy, "open_connections"), 200);
    let (mut client, handle) = Client::opened(&proxy, "/f");
    assert!(client.read(handle, 0, 1_000_000).data == bytes);
    // One more is refused by the login.
    let mut more = Client::greeted(&proxy);
    let refused = more.ask(request::LOGIN, [0; 16], b"");
    assert!(refused.code() == 3024 && more.is_closed(), "{refused:?}");
    assert_eq!(metric(&proxy, "protocol_refused_connections_total{protocol=\"xrootd\"}"), 1);
    drop((idle, client));
    until("all have left", || metric(&proxy, "open_connections") == 0);
    assert!(Client::opened(&proxy, "/f").0.ask(request::PING, [0; 16], b"").status == 0);
}

#[test]
fn clients_that_fall_silent_after_a_request_are_let_go() {
    let scrap = Scrap::new("hostile-silent");
    let proxy = impatient(&scrap, b"x");
    let (mut client, _) = Client::logged_in(&proxy);
    assert_eq!(client.ask(request::STAT, [0; 16], b"/f").status, 0);
    assert_eq!(client.ask(request::PING, [0; 16], b"").status, 0);
    assert!(client.is_closed());
}

#[test]
fn further_connections_count_as_others_do() {
    let scrap = Scrap::new("hostile-bind");
    std::fs::write(scrap.0.join("f"), b"x").expect("a file");
    let options = options(&scrap.0.to_string_lossy(), &scrap).xrootd(([127, 0, 0, 1], 0).into());
    let proxy = Proxy::start(ProxyOptions { connections: 1, ..options }).expect("options that make sense");
    let (mut client, session) = Client::logged_in(&proxy);
    let mut more = Client::greeted(&proxy);
    assert!(more.ask(request::BIND, session, b"").code() == 3024 && more.is_closed());
    assert_eq!(client.ask(request::PING, [0; 16], b"").status, 0);
}

#[test]
fn pages_are_whole_in_every_frame() {
    use std::io::Read;
    let scrap = Scrap::new("hostile-pages");
    let bytes = content(9_000_000);
    let proxy = of_file(&scrap, &bytes);
    let (mut client, handle) = Client::opened(&proxy, "/f");
    let start = 100_u64;
    let length = 8_500_000_u32;
    client.send(3, request::READ_PAGES, range(handle, start, length), b"");
    let mut at = start;
    loop {
        let answer = client.answer().expect("an answer");
        assert_eq!((answer.stream, answer.status, answer.data.len()), (3, 4007, 24));
        let sent = u32::from_be_bytes(answer.data[12..16].try_into().unwrap());
        let offset = u64::from_be_bytes(answer.data[16..24].try_into().unwrap());
        assert_eq!(offset, at);
        // Only the first frame may begin within a page: a page has one checksum.
        assert!(at == start || at.is_multiple_of(4096), "{at}");
        let mut pages = vec![0; sent as usize];
        client.0.read_exact(&mut pages).expect("pages");
        let mut rest = &pages[..];
        while !rest.is_empty() {
            let len = ((4096 - at % 4096) as usize).min(rest.len() - 4);
            assert_eq!(rest[4..4 + len], bytes[at as usize..at as usize + len]);
            rest = &rest[4 + len..];
            at += len as u64;
        }
        if answer.data[7] == 0 {
            break;
        }
    }
    assert_eq!(at, start + u64::from(length));
}
