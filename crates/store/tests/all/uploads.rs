//! Files that are sent to servers: what arrives, what is asked, what goes wrong.

use std::path::PathBuf;

use sapwood::ErrorKind;
use sapwood::io::AtomicFile;
use sapwood_store::{NetOptions, target};
use sapwood_testkit::http_server::{Fault, HttpServer, ServerConfig};

fn quick() -> NetOptions {
    NetOptions { timeout: std::time::Duration::from_millis(300), retries: 3, ..NetOptions::default() }
}

fn content(length: usize) -> Vec<u8> {
    (0..length as u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 23) as u8).collect()
}

/// A server that takes files, without a way to rename them.
fn server() -> HttpServer {
    HttpServer::start("old", ServerConfig { writable: true, ..ServerConfig::default() })
}

/// A file that is ready to be sent.
fn staged(url: &str, content: &[u8], options: &NetOptions) -> (AtomicFile, PathBuf) {
    let file = target(url, true, options).expect("the server takes files");
    std::fs::write(file.path(), content).expect("the temporary folder takes files");
    let folder = file.path().parent().expect("a file has a folder").to_owned();
    (file, folder)
}

fn methods(server: &HttpServer) -> Vec<String> {
    server.seen().into_iter().map(|seen| seen.method).filter(|method| method != "GET" && method != "HEAD").collect()
}

#[test]
fn a_file_is_one_request_where_a_server_does_not_rename() {
    for length in [1, 1_000, 1_000_000] {
        let (server, content) = (server(), content(length));
        let (file, folder) = staged(&server.url(), &content, &quick());
        file.publish().unwrap();
        assert!(server.content().unwrap() == content);
        assert_eq!(methods(&server), ["MOVE", "PUT"]);
        assert!(!folder.exists());
    }
}

#[test]
fn a_file_that_is_there_is_replaced_only_where_that_is_wanted() {
    let server = server();
    let error = target(&server.url(), false, &quick()).unwrap_err();
    assert_eq!((error.kind(), error.message()), (ErrorKind::Exists, "there is a file of that name"));
    assert_eq!(error.place().file.as_deref(), Some(&*server.url()));
    assert_eq!(methods(&server), [""; 0]);
}

#[test]
fn a_refusal_keeps_the_finished_file_and_what_was_there() {
    for (status, kind) in
        [(403, ErrorKind::Denied), (507, ErrorKind::Io), (405, ErrorKind::Unsupported), (501, ErrorKind::Unsupported)]
    {
        let (server, content) = (server(), content(500_000));
        let (file, folder) = staged(&server.url(), &content, &quick());
        server.forget();
        // The question whether it renames, and what is there.
        server.spoil(&[Fault::None, Fault::None, Fault::Status(status, None)]);
        let error = file.publish().unwrap_err();
        let words = error.to_string();
        assert_eq!(error.kind(), kind, "{words}");
        let kept = folder.join("data.root");
        let parts = ["the file was not sent:", &format!("{} answered {status}", server.address()), &*server.url()];
        assert!(parts.iter().all(|part| words.contains(part)), "{words}");
        assert!(words.contains(&format!("the finished file is kept as {}", kept.display())), "{words}");
        assert!(std::fs::read(kept).unwrap() == content);
        assert_eq!(server.content().unwrap(), "old");
        std::fs::remove_dir_all(folder).unwrap();
    }
}

#[test]
fn what_arrives_incomplete_loses_its_name() {
    let options = NetOptions { retries: 0, ..quick() };
    for (fault, kind, said) in [
        (Fault::KeepsOnly(400_000), ErrorKind::Checksum, "the server has another length"),
        (Fault::CutPut(300_000), ErrorKind::Io, "the file was not sent: the connection to"),
    ] {
        let (server, content) = (server(), content(500_000));
        let (file, folder) = staged(&server.url(), &content, &options);
        server.spoil(&[Fault::None, Fault::None, fault]);
        let error = file.publish().unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.message().contains(said), "{error}");
        assert_eq!(server.content(), None, "{fault:?}");
        assert!(std::fs::read(folder.join("data.root")).unwrap() == content);
        std::fs::remove_dir_all(folder).unwrap();
    }
}

#[test]
fn other_bytes_of_the_same_length_are_noticed() {
    let (server, content) = (server(), content(500_000));
    let (file, folder) = staged(&server.url(), &content, &quick());
    let mut other = content.clone();
    other[499_999] ^= 1;
    // After the questions, the request and the length: what is read back is another one.
    server.replace_after(3, other);
    let error = file.publish().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Checksum, "{error}");
    assert!(error.message().starts_with("what was sent is not what arrived: the server has other bytes"), "{error}");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_broken_connection_is_tried_again() {
    let (server, content) = (server(), content(500_000));
    let (file, _) = staged(&server.url(), &content, &quick());
    server.spoil(&[Fault::None, Fault::None, Fault::CutPut(300_000), Fault::Status(503, Some(0))]);
    file.publish().unwrap();
    assert!(server.content().unwrap() == content);
    assert_eq!(methods(&server), ["MOVE", "PUT", "PUT", "PUT"]);
}

#[test]
fn secrets_stay_out_of_errors_and_of_names() {
    let server = server();
    let url = server.url().replace("http://", "http://me:geheim1@") + "?authz=geheim2";
    let options = NetOptions { token: Some("geheim3".into()), ..quick() };
    let (file, folder) = staged(&url, b"content", &options);
    assert_eq!(file.path().file_name(), Some("data.root".as_ref()));
    server.spoil(&[Fault::None, Fault::None, Fault::Status(403, None)]);
    let error = file.publish().unwrap_err();
    let shown = format!("{error} {error:?}");
    assert!(!shown.contains("geheim") && shown.contains("authz=..."), "{shown}");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn places_that_are_only_read_are_named() {
    for url in ["dcap://a.org/b.root", "gopher://a.org/b.root"] {
        let error = target(url, true, &quick()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(error.message().contains("are read, and cannot be written"), "{error}");
        assert!(!sapwood_store::is_writable(url));
    }
    for url in ["https://a.org/", "root://a.org//folder/"] {
        assert_eq!(target(url, true, &quick()).unwrap_err().kind(), ErrorKind::Mismatch, "{url}");
    }
}

#[test]
fn an_upload_tells_how_far_it_is_and_can_be_ended() {
    use sapwood::progress::{Progress, telling};
    use sapwood_testkit::tcp_proxy::{TcpProxy, Wire};
    use std::{cell::RefCell, rc::Rc};
    let (server, content) = (server(), content(1_000_000));
    let far = Wire::Far { delay: std::time::Duration::from_millis(1), rate: 2_000_000 };
    let slow = TcpProxy::start(server.address(), move |_| far);
    let url = server.url().replace(&server.address().to_string(), &slow.address().to_string());
    let send = |most: u64| {
        let told = Rc::new(RefCell::new(Vec::new()));
        let seen = Rc::clone(&told);
        let tell = move |now: Progress| {
            seen.borrow_mut().push(now);
            match now.done_bytes >= most {
                true => Err(sapwood::Error::new(ErrorKind::Cancelled, "enough")),
                false => Ok(()),
            }
        };
        let (file, folder) = staged(&url, &content, &NetOptions::default());
        (telling(tell, || file.publish()), told.take(), folder)
    };
    let (ended, told, folder) = send(1);
    let error = ended.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Cancelled);
    assert!(error.message().contains("enough; the finished file is kept as"), "{error}");
    assert!(server.content().unwrap() == b"old"[..]);
    assert!(told.len() > 1 && told[0] == Progress { done_bytes: 0, total_bytes: 1_000_000 }, "{told:?}");
    std::fs::remove_dir_all(folder).unwrap();
    let (sent, told, _) = send(u64::MAX);
    sent.unwrap();
    assert!(server.content().unwrap() == content);
    assert!(told.is_sorted_by_key(|now| now.done_bytes) && told.last().unwrap().done_bytes > 0, "{told:?}");
}
