//! A server that never answers, and clients that wait for it, must not stop the others.

use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use sapwood_serve::{Proxy, ProxyOptions};
use sapwood_store::NetOptions;
use sapwood_store::xrootd_numbers::request;
use sapwood_testkit::http_server::{HttpServer, ServerConfig};

use crate::common::xrootd_client::Client;
use crate::common::{Scrap, content, get, metric, options, quick, until};

/// More clients than the proxy had threads for its upstream when they could stop one another.
const CLIENTS: usize = 64;

/// A client that has asked, and waits.
fn ask(proxy: &Proxy, path: &str) -> TcpStream {
    let mut stream = TcpStream::connect(proxy.address()).expect("a connection");
    stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes()).expect("an open connection");
    stream
}

/// Whether nothing has come to a client.
fn waits(client: &TcpStream) -> bool {
    client.set_nonblocking(true).expect("an open connection");
    let found = client.peek(&mut [0]);
    found.is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock)
}

#[test]
fn clients_of_xrootd_that_wait_for_a_silent_server_do_not_block_others() {
    let bytes = content(300_000);
    let scrap = Scrap::new("silent-xrootd");
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let routes = vec![("/dead".to_owned(), format!("http://{}/f", silent.local_addr().unwrap()))];
    let front = HttpServer::start(bytes.clone(), ServerConfig { routes, ..ServerConfig::default() });
    let net = NetOptions { timeout: Duration::from_secs(100), ..quick() };
    let options = ProxyOptions { net, ..options(&format!("http://{}", front.address()), &scrap) };
    let proxy = Proxy::start(options.xrootd(([127, 0, 0, 1], 0).into())).unwrap();
    let (mut client, handle) = Client::opened(&proxy, "/kept");
    assert!(client.read(handle, 0, 300_000).data == bytes);
    let mut body = [0; 16];
    body[3] = 0x10;
    // Ten requests of each client: those that wait, and those that are answered meanwhile.
    let mut clients: Vec<Client> = (0..6).map(|_| Client::logged_in(&proxy).0).collect();
    for (number, waiting) in clients.iter_mut().enumerate() {
        for stream in 0..10 {
            waiting.send(stream, request::OPEN, body, format!("/dead/{number}/{stream}").as_bytes());
        }
    }
    until("all wait", || metric(&proxy, "waiting_reads") == 60);
    assert!(client.read(handle, 1_000, 200_000).data == bytes[1_000..201_000]);
    let (mut fresh, other) = Client::opened(&proxy, "/good");
    assert!(fresh.read(other, 0, 300_000).data == bytes);
    for waiting in &mut clients {
        assert!(waits(&waiting.0));
        waiting.0.set_nonblocking(false).unwrap();
        assert_eq!(waiting.ask(request::PING, [0; 16], b"").status, 0);
    }
}

#[test]
fn clients_of_a_silent_server_do_not_block_others() {
    let bytes = content(300_000);
    let scrap = Scrap::new("silent");
    // Takes connections and says nothing.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let other = HttpServer::start(bytes.clone(), ServerConfig::default());
    let routes = vec![
        ("/dead".to_owned(), format!("http://{}/f", silent.local_addr().unwrap())),
        ("/good".to_owned(), other.url()),
    ];
    let front = HttpServer::start(bytes.clone(), ServerConfig { routes, ..ServerConfig::default() });
    let net = NetOptions { timeout: Duration::from_secs(100), ..quick() };
    let proxy = ProxyOptions { net, ..options(&format!("http://{}", front.address()), &scrap) };
    let proxy = Proxy::start(proxy).unwrap();
    assert!(get(&proxy, "/kept", "").body == bytes);
    front.forget();
    let check = |clients: &[TcpStream], fresh: &str| {
        // What is kept needs no server at all; what is elsewhere, one that answers.
        assert!(get(&proxy, "/kept", "Range: bytes=1000-200000\r\n").body == bytes[1000..=200_000]);
        assert!(get(&proxy, fresh, "").body == bytes, "{fresh}");
        assert!(clients.iter().all(waits), "a client got an answer from a server that gave none");
    };
    // Of one file each.
    let clients: Vec<_> = (0..CLIENTS).map(|number| ask(&proxy, &format!("/dead/{number}"))).collect();
    until("all wait", || metric(&proxy, "waiting_reads") == CLIENTS as u64);
    check(&clients, "/good/1");
    // They leave, and come again: what their predecessors wait for is not asked for once more.
    drop(clients);
    until("they have left", || metric(&proxy, "open_connections") == 0);
    let clients: Vec<_> = (0..CLIENTS).map(|number| ask(&proxy, &format!("/dead/{number}"))).collect();
    until("all are there", || metric(&proxy, "open_connections") == CLIENTS as u64);
    check(&clients, "/good/2");
    assert_eq!(metric(&proxy, "waiting_reads"), CLIENTS as u64);
    // All of the same one.
    let more: Vec<_> = (0..CLIENTS).map(|_| ask(&proxy, "/dead/0")).collect();
    until("all are there", || metric(&proxy, "open_connections") == 2 * CLIENTS as u64);
    check(&more, "/good/3");
    assert_eq!(metric(&proxy, "waiting_reads"), CLIENTS as u64);
}
