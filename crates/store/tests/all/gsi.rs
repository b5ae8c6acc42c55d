//! Logins by certificates of X.509 at XRootD's server; skipped, by name, if it is not installed.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use sapwood::ErrorKind;
use sapwood::io::Store;
use sapwood_store::{NetOptions, XrootdStore};
use sapwood_testkit::scratch;

use crate::common::grid::{Clients, Grid, Proxy, Server};

const CONTENT: &[u8] = b"what only members may read";

/// A store with this certificate that trusts the authority of the grid.
fn options(grid: &Grid, certificate: PathBuf) -> NetOptions {
    NetOptions {
        certificate: Some(certificate),
        authorities: Some(grid.path("ca")),
        timeout: Duration::from_secs(10),
        retries: 0,
        ..NetOptions::default()
    }
}

/// The content of the file, or the error.
fn read(url: &str, options: &NetOptions) -> Result<Vec<u8>, String> {
    let ends = XrootdStore::new(url, options).and_then(|store| store.ends(1_000, 0));
    ends.map(|ends| ends.head.to_vec()).map_err(|error| {
        assert_eq!(error.kind(), ErrorKind::Denied, "{error:?}");
        let shown = format!("{error} {error:?}");
        assert!(!shown.contains("PRIVATE KEY") && !shown.contains("MII"), "{shown}");
        shown
    })
}

fn url(server: &Server) -> String {
    format!("root://127.0.0.1:{}//data.root", server.port)
}

fn grid() -> Option<Grid> {
    let grid = Grid::new()?;
    fs::write(grid.path("data/data.root"), CONTENT).expect("a file");
    Some(grid)
}

#[test]
fn gsi_opens_with_proxies_and_certificates() {
    let Some(grid) = grid() else { return };
    let proxy = grid.proxy("rfc", "client", Proxy::Rfc3820, 1);
    let of_proxy = grid.proxy("second", "rfc", Proxy::Rfc3820, 1);
    let limited = grid.proxy("limited", "client", Proxy::Limited, 1);
    let legacy = grid.proxy("legacy", "client", Proxy::Legacy, 1);
    // The second server asks for delegation, but goes on without.
    for more in ["", "-dlgpxy:1", "-hashcomp:0"] {
        let server = grid.serve("server", "ca", more);
        for certificate in [&proxy, &of_proxy, &limited, &legacy] {
            let found = read(&url(&server), &options(&grid, certificate.clone()));
            assert_eq!(found.as_deref(), Ok(CONTENT), "{certificate:?} {more}");
        }
        let both = NetOptions { key: Some(grid.path("client.key")), ..options(&grid, grid.path("client.pem")) };
        assert_eq!(read(&url(&server), &both).as_deref(), Ok(CONTENT));
        // By name, and with several connections.
        let named = NetOptions { streams: 3, ..options(&grid, proxy.clone()) };
        assert_eq!(read(&url(&server).replace("127.0.0.1", "localhost"), &named).as_deref(), Ok(CONTENT));
    }
}

#[test]
fn gsi_opens_over_tls() {
    let Some(grid) = grid() else { return };
    let proxy = grid.proxy("rfc", "client", Proxy::Rfc3820, 1);
    let more = "\nxrd.tls @/server.pem @/server.key\nxrd.tlsca certdir @/ca\nxrootd.tls capable all";
    let server = grid.serve("server", "ca", more);
    for scheme in ["root", "roots"] {
        let url = url(&server).replace("root:", &format!("{scheme}:"));
        assert_eq!(read(&url, &options(&grid, proxy.clone())).as_deref(), Ok(CONTENT), "{scheme}");
    }
}

#[test]
fn a_proxy_is_the_client_certificate_of_https() {
    let Some(grid) = grid() else { return };
    let proxy = grid.proxy("rfc", "client", Proxy::Rfc3820, 1);
    let second = grid.proxy("second", "rfc", Proxy::Rfc3820, 1);
    let server = grid.serve_https(CONTENT, Clients::NeedCertificate);
    let url = format!("https://localhost:{}/data.root", server.port);
    let read = |options: &NetOptions| sapwood_store::open(&url, options)?.ends(1_000, 0).map(|ends| ends.head.to_vec());
    for certificate in [&proxy, &second] {
        assert_eq!(read(&options(&grid, certificate.clone())).unwrap(), CONTENT);
    }
    let both = NetOptions { key: Some(grid.path("client.key")), ..options(&grid, grid.path("client.pem")) };
    assert_eq!(read(&both).unwrap(), CONTENT);
    assert!(read(&NetOptions { certificate: None, ..both.clone() }).is_err());
    // A key of another certificate, and a file that is not there, are errors before anything is sent.
    let error = read(&NetOptions { key: Some(grid.path("other.key")), ..both }).unwrap_err();
    assert!(error.to_string().contains("do not fit"), "{error}");
    assert_eq!(read(&options(&grid, grid.path("later.pem"))).unwrap_err().kind(), ErrorKind::NotFound);
    // Unless the environment named it; once it exists, it is shown.
    let later = NetOptions { certificate_if_usable: true, ..options(&grid, grid.path("later.pem")) };
    assert!(read(&later).is_err());
    fs::copy(&proxy, grid.path("later.pem")).unwrap();
    assert_eq!(read(&later).unwrap(), CONTENT);
}

#[test]
fn an_expired_proxy_that_nobody_named_is_not_shown() {
    let Some(grid) = grid() else { return };
    let old = grid.proxy("old", "client", Proxy::Rfc3820, -1);
    let server = grid.serve_https(CONTENT, Clients::MayHaveCertificate);
    let url = format!("https://localhost:{}/data.root", server.port);
    let read = |options: &NetOptions| sapwood_store::open(&url, options)?.ends(1_000, 0).map(|ends| ends.head.to_vec());
    assert_eq!(read(&NetOptions { certificate: None, ..options(&grid, old.clone()) }).unwrap(), CONTENT);
    assert_eq!(read(&NetOptions { certificate_if_usable: true, ..options(&grid, old.clone()) }).unwrap(), CONTENT);
    // If the user named it, it is shown, and the server refuses it.
    assert!(read(&options(&grid, old)).is_err());
}

#[test]
fn authorities_that_nobody_named_are_read_for_tls_alone() {
    let Some(grid) = grid() else { return };
    let server = grid.serve_https(CONTENT, Clients::MayHaveCertificate);
    let url = format!("https://localhost:{}/data.root", server.port);
    let empty = grid.path("no authorities");
    fs::create_dir(&empty).unwrap();
    for place in [empty.clone(), grid.path("gone")] {
        let named = NetOptions { certificate: None, authorities: Some(place), ..options(&grid, empty.clone()) };
        let found = NetOptions { authorities_if_usable: true, ..named.clone() };
        // A file without TLS is opened all the same; the user's own choice is an error at once.
        let plain = XrootdStore::new("root://127.0.0.1:1//data.root", &found).unwrap();
        assert!(!plain.ends(1, 0).unwrap_err().to_string().contains("authority"));
        let error = sapwood_store::open(&url, &found).unwrap().ends(1, 0).unwrap_err();
        assert!(format!("{error:?}").contains("UnknownIssuer"), "{error:?}");
        let error = sapwood_store::open(&url, &named).err().expect("an error");
        assert!(error.place().file.is_some(), "{error}");
    }
}

#[test]
fn gsi_errors_say_what_is_missing() {
    let Some(grid) = grid() else { return };
    let proxy = grid.proxy("rfc", "client", Proxy::Rfc3820, 1);
    let server = grid.serve("server", "ca", "");
    let url = url(&server);
    let fails = |options: &NetOptions| read(&url, options).unwrap_err();
    let with = |certificate: &str| options(&grid, grid.path(certificate));

    let none = fails(&NetOptions { certificate: None, ..with("") });
    assert!(none.contains("requires authentication by gsi; gsi: no X.509 proxy was named (X509_USER_PROXY"), "{none}");
    let none = fails(&NetOptions { authorities: None, ..options(&grid, proxy.clone()) });
    assert!(none.contains("no folder with authorities was named (X509_CERT_DIR"), "{none}");

    let usable = |certificate: &str| NetOptions { certificate_if_usable: true, ..with(certificate) };
    let gone = fails(&usable("gone.pem"));
    assert!(gone.contains("no such X.509 proxy or certificate: make one with voms-proxy-init"), "{gone}");
    assert!(gone.contains("gone.pem"), "{gone}");
    grid.proxy("old", "client", Proxy::Rfc3820, -1);
    let old = fails(&with("old.pem"));
    assert!(old.contains("the X.509 proxy expired at 20") && old.contains("voms-proxy-init"), "{old}");

    let open = grid.path("open.pem");
    fs::copy(&proxy, &open).unwrap();
    fs::set_permissions(&open, fs::Permissions::from_mode(0o644)).unwrap();
    let open = fails(&with("open.pem"));
    assert!(open.contains("its mode is 644 and should be 600"), "{open}");
    let unlike = NetOptions { key: Some(grid.path("other.key")), ..usable("client.pem") };
    let unlike = fails(&unlike);
    assert!(unlike.contains("the key belongs to none of its certificates"), "{unlike}");
    assert_eq!(read(&url, &options(&grid, proxy)).as_deref(), Ok(CONTENT), "and the server is well");
}

#[test]
fn gsi_trusts_the_right_servers_alone() {
    let Some(grid) = grid() else { return };
    let proxy = grid.proxy("rfc", "client", Proxy::Rfc3820, 1);
    let ours = options(&grid, proxy);

    // The certificate is for another host.
    let elsewhere = grid.serve("other", "ca", "");
    let error = read(&url(&elsewhere), &ours).unwrap_err();
    assert!(error.contains("the certificate is not for 127.0.0.1"), "{error}");
    drop(elsewhere);

    // Another authority signed it, whom only the server knows.
    grid.authority("foreign", "Foreign");
    grid.trust("foreign", "both");
    grid.trust("ca", "both");
    grid.certificate("alien", "foreign", "subjectAltName=IP:127.0.0.1\nbasicConstraints=CA:FALSE\n");
    let alien = grid.serve("alien", "both", "");
    let error = read(&url(&alien), &ours).unwrap_err();
    assert!(error.contains("no authority here signed the certificate of 127.0.0.1: CN=Foreign"), "{error}");
    let both = NetOptions { authorities: Some(grid.path("both")), ..ours.clone() };
    assert_eq!(read(&url(&alien), &both).as_deref(), Ok(CONTENT));
    // A file in the place of the folder, and a folder without hashes.
    let file = NetOptions { authorities: Some(grid.path("foreign.pem")), ..ours.clone() };
    assert_eq!(read(&url(&alien), &file).as_deref(), Ok(CONTENT));
    drop(alien);

    // Revoked in the client's list, and not in the server's.
    let server = grid.serve("server", "ca", "");
    fs::create_dir(grid.path("strict")).unwrap();
    grid.trust("ca", "strict");
    let strict = NetOptions { authorities: Some(grid.path("strict")), ..ours.clone() };
    assert_eq!(read(&url(&server), &strict).as_deref(), Ok(CONTENT));
    grid.revoke("server", "ca", "strict");
    // With other options the connections are others, too.
    let strict = NetOptions { retries: 1, ..strict };
    let error = read(&url(&server), &strict).unwrap_err();
    assert!(error.contains("the certificate of 127.0.0.1 was revoked"), "{error}");
    assert_eq!(read(&url(&server), &ours).as_deref(), Ok(CONTENT));
    let list = fs::read_dir(grid.path("strict")).unwrap().map(|entry| entry.unwrap().path());
    let list = list.into_iter().find(|path| path.extension().is_some_and(|end| end == "r0")).unwrap();
    fs::write(list, "-----BEGIN X509 CRL-----\nnonsense\n-----END X509 CRL-----\n").unwrap();
    let error = read(&url(&server), &strict).unwrap_err();
    assert!(error.contains("list of revoked certificates"), "{error}");
}

#[test]
fn gsi_says_whom_the_server_refuses() {
    let Some(grid) = grid() else { return };
    grid.authority("foreign", "Foreign");
    grid.certificate("stranger", "foreign", "basicConstraints=CA:FALSE\n");
    let stranger = grid.proxy("strange", "stranger", Proxy::Rfc3820, 1);
    let server = grid.serve("server", "ca", "");
    let error = read(&url(&server), &options(&grid, stranger)).unwrap_err();
    assert!(error.contains("by gsi; gsi: 127.0.0.1") && error.contains("unknown CA"), "{error}");
}

/// A server that offers `gsi`, and answers every proof with the same frame.
fn hostile(frame: &'static [u8]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("a port");
    std::thread::spawn(move || {
        for stream in listener.incoming().take(20) {
            let Ok(stream) = stream else { return };
            std::thread::spawn(move || talk(stream, frame));
        }
    });
    format!("root://{address}//data.root")
}

fn talk(mut stream: TcpStream, frame: &[u8]) -> Option<()> {
    let answer = |stream: &mut TcpStream, number: [u8; 2], status: u16, length: usize, body: &[u8]| {
        let head = [&number[..], &status.to_be_bytes(), &(length as u32).to_be_bytes()].concat();
        stream.write_all(&[&head, body].concat()).ok()
    };
    let protocol = [0, 0, 5, 0x20, 0, 0, 0, 1];
    stream.read_exact(&mut [0; 20]).ok()?;
    answer(&mut stream, [0; 2], 0, 8, &protocol)?;
    loop {
        let mut head = [0; 24];
        stream.read_exact(&mut head).ok()?;
        let [a, b, c, d, .., e, f, g, h] = head;
        let mut data = vec![0; u32::from_be_bytes([e, f, g, h]) as usize];
        stream.read_exact(&mut data).ok()?;
        match u16::from_be_bytes([c, d]) {
            3006 => answer(&mut stream, [a, b], 0, 8, &protocol)?,
            3007 => {
                let login = *b"0123456789abcdef&P=gsi,v:10600,c:ssl,ca:5d4e69ff.0\0";
                answer(&mut stream, [a, b], 0, login.len(), &login)?;
            }
            3000 => {
                assert!(!data.windows(7).any(|word| word == b"PRIVATE"), "the key is never sent");
                let (status, rest) = frame.split_at(2);
                let (length, body) = rest.split_at(4);
                let status = u16::from_be_bytes([status[0], status[1]]);
                let length = u32::from_be_bytes([length[0], length[1], length[2], length[3]]);
                answer(&mut stream, [a, b], status, length as usize, body)?;
            }
            _ => return None,
        }
    }
}

#[test]
fn gsi_ends_with_servers_that_lie() {
    let data = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/gsi");
    let proxy = scratch("proxy.pem");
    let read = |name: &str| fs::read_to_string(format!("{data}/{name}")).unwrap();
    fs::write(&proxy, [read("proxy.pem"), read("test.key"), read("client.pem")].concat()).unwrap();
    fs::set_permissions(&*proxy, fs::Permissions::from_mode(0o600)).unwrap();
    let options = NetOptions {
        certificate: Some(proxy.to_path_buf()),
        authorities: Some(format!("{data}/authority.pem").into()),
        timeout: Duration::from_millis(500),
        retries: 1,
        ..NetOptions::default()
    };
    // Status 4002 is "more"; then the length of the frame, and its body.
    for (frame, words) in [
        (&b"\x0F\xA2\0\0\0\0"[..], "a message of gsi under another name"),
        (b"\x0F\xA2\0\0\0\x10gsi\0\0\0\x07\xD1\0\0\x0B\xB9\xFF\xFF\xFF\xFF", "a message of gsi that is cut off"),
        (b"\x0F\xA2\0\0\0\x10gsi\0\0\0\x07\xD1\0\0\x0B\xB9\x7F\xFF\xFF\xFF", "a message of gsi that is cut off"),
        (b"\x0F\xA2\0\0\0\x0Cgsi\0\0\0\x07\xD1\0\0\0\0", "the server sends no certificate"),
        (b"\x0F\xA2\0\0\0\x0Cgsi\0\0\0\x07\xD2\0\0\0\0", "none is passed on"),
        (b"\x0F\xA2\0\0\0\x0Cgsi\0\0\0\x03\xE8\0\0\0\0", "a step of gsi that does not follow"),
        // A frame of 2 GB, one that never comes whole, and a promise.
        (b"\x0F\xA2\x7F\xFF\xFF\xFF", ""),
        (b"\x0F\xA2\0\0\x10\0gsi", ""),
        (b"\x0F\xA6\0\0\0\x04\0\0\xFF\xFF", ""),
    ] {
        let began = Instant::now();
        let error = XrootdStore::new(&hostile(frame), &options).and_then(|store| store.ends(1, 1)).unwrap_err();
        let shown = format!("{error} {error:?}");
        assert!(shown.contains(words) && !shown.contains("MII"), "{words}: {shown}");
        assert!(began.elapsed() < Duration::from_secs(30), "{:?}: {shown}", began.elapsed());
    }
}
