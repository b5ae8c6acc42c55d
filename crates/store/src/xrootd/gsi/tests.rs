//! The handshake with a server that the tests play, which is good or not.

use std::path::Path;
use std::time::{Duration, SystemTime};

use aes::cipher::block_padding::Pkcs7;
use aes::cipher::{BlockModeDecrypt, KeyIvInit};
use rsa::PrivateKey;
use rsa::pkcs8::DecodePrivateKey;

use super::agreement::Agreement;
use super::message::{Kind, Message};
use super::signature::{recover, sign};
use super::*;

const KEY: &str = include_str!("../../../tests/data/gsi/test.key");
const HOST: &str = include_str!("../../../tests/data/gsi/host.pem");
const CLIENT: &str = include_str!("../../../tests/data/gsi/client.pem");
const PROXY: &str = include_str!("../../../tests/data/gsi/proxy.pem");
const GROUP: &str = include_str!("../../../tests/data/gsi/group.pem");
const OFFER: &str = "v:10600,c:ssl,ca:5d4e69ff.0";
const TAG_OF_SERVER: &[u8] = b"ABCDEFGH";
/// The server's half for the exponent 5: two to the fifth.
const PUBLIC: &str = "20";

fn key() -> PrivateKey {
    PrivateKey::from_pkcs8_pem(KEY).unwrap()
}

fn identity() -> Identity {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    Identity::parse(Path::new("here"), [PROXY, CLIENT].concat().as_bytes(), KEY.as_bytes(), now).unwrap()
}

fn authority() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/gsi/authority.pem")
}

fn start<'a>(offer: &str, authority: &'a Path, host: &'a str) -> Result<(Gsi<'a>, Vec<u8>)> {
    Gsi::start(offer, identity(), authority, host)
}

/// Parts of the answer of a good server.
struct Server {
    step: u32,
    tag: Vec<u8>,
    signed_tag: Vec<u8>,
    half: Vec<u8>,
    certificates: Vec<u8>,
    ciphers: &'static str,
}

impl Server {
    fn new(first: &[u8]) -> Self {
        let first = Message::read(first).unwrap();
        assert_eq!((first.step, first.get(Kind::CryptoModule)), (1000, Some(&b"ssl"[..])));
        assert_eq!(first.get(Kind::IssuerHash), Some(&b"5d4e69ff.0"[..]));
        assert_eq!(first.get(Kind::Options), Some(&[0; 4][..]), "no delegation");
        let main = Message::read(first.get(Kind::Main).unwrap()).unwrap();
        Self {
            step: 2001,
            tag: TAG_OF_SERVER.to_vec(),
            signed_tag: sign(&key(), main.get(Kind::Tag).unwrap()).unwrap(),
            half: sign(&key(), format!("{GROUP}---BPUB---{PUBLIC}---EPUB---").as_bytes()).unwrap(),
            certificates: HOST.into(),
            ciphers: "bf-cbc:aes-128-cbc",
        }
    }

    fn message(self) -> Vec<u8> {
        let main = Message::new(self.step).with(Kind::SignedTag, self.signed_tag).with(Kind::Tag, self.tag);
        Message::new(self.step)
            .with(Kind::CryptoModule, *b"ssl")
            .with(Kind::Main, main.write())
            .with(Kind::Agreement, self.half)
            .with(Kind::Ciphers, self.ciphers)
            .with(Kind::Digests, *b"sha256")
            .with(Kind::Certificates, self.certificates)
            .write()
    }
}

#[test]
fn a_good_server_gets_what_it_needs() {
    let authority = authority();
    let (mut gsi, first) = start(OFFER, &authority, "host.example.org").unwrap();
    let answer = Message::read(&gsi.answer(&Server::new(&first).message()).unwrap()).unwrap();
    assert_eq!((answer.step, answer.get(Kind::Ciphers)), (1001, Some(&b"aes-128-cbc#16"[..])));
    assert_eq!(answer.get(Kind::Digests), Some(&b"sha256"[..]));
    let public = key().to_public_key();
    let pem = String::from_utf8(answer.get(Kind::PublicKey).unwrap().to_vec()).unwrap();
    assert_eq!(PublicKey::from_public_key_pem(&pem).unwrap(), public);
    // The server computes the secret from the client's half, and its own exponent.
    let half = recover(&public, answer.get(Kind::Agreement).unwrap()).unwrap();
    let secret = Agreement::read(&half).unwrap().with_exponent(&[5], true).unwrap().secret;
    let (block, sealed) = answer.get(Kind::Main).unwrap().split_at(16);
    let cipher = cbc::Decryptor::<aes::Aes128>::new_from_slices(&secret[..16], block).unwrap();
    let main = Message::read(&cipher.decrypt_padded_vec::<Pkcs7>(sealed).unwrap()).unwrap();
    assert_eq!(main.step, 1001);
    assert_eq!(recover(&public, main.get(Kind::SignedTag).unwrap()).unwrap(), TAG_OF_SERVER);
    let chain = String::from_utf8(main.get(Kind::Certificates).unwrap().to_vec()).unwrap();
    assert_eq!(chain, [PROXY, CLIENT].concat());
    assert!(!chain.contains("PRIVATE"));
}

#[test]
fn servers_that_cheat_are_refused() {
    let authority = authority();
    let other_half = format!("{GROUP}---BPUB---1---EPUB---");
    let digest =
        [&b"\x30\x31\x30\x0d\x06\x09\x60\x86\x48\x01\x65\x03\x04\x02\x01\x05\0\x04\x20"[..], &[7; 32]].concat();
    let host = "host.example.org";
    type Change<'a> = &'a dyn Fn(&mut Server);
    let cases: [(&str, Change<'_>, &str); 13] = [
        (host, &|server| server.signed_tag = sign(&key(), b"another1").unwrap(), "has not the key of its certificate"),
        (host, &|server| server.signed_tag.clear(), "has not the key of its certificate"),
        (host, &|server| server.half[300] ^= 1, "a signature that is not of the server's certificate"),
        (host, &|server| server.half = other_half.clone().into(), "a signature that is not of the server's"),
        (host, &|server| server.half = sign(&key(), other_half.as_bytes()).unwrap(), "shows the secret"),
        // A signature of this would be one of a certificate.
        (host, &|server| server.tag.clone_from(&digest), "a tag that is not to be signed"),
        (host, &|server| server.tag.clear(), "a tag that is not to be signed"),
        (host, &|server| server.ciphers = "bf-cbc:null", "no cipher but bf-cbc:null"),
        (host, &|server| server.certificates.clear(), "certificates that cannot be read"),
        (host, &|server| server.certificates = CLIENT.into(), "the certificate is not for"),
        ("evil.example.org", &|_| {}, "the certificate is not for evil.example.org"),
        (host, &|server| server.step = 2002, "none is passed on"),
        (host, &|server| server.step = 2003, "a step of gsi that does not follow"),
    ];
    for (host, change, words) in cases {
        let (mut gsi, first) = start(OFFER, &authority, host).unwrap();
        let mut server = Server::new(&first);
        change(&mut server);
        let error = gsi.answer(&server.message()).unwrap_err();
        let shown = format!("{error} {error:?}");
        assert!(shown.contains(words), "{words}: {shown}");
        assert!(!shown.contains("PRIVATE"), "{shown}");
    }
}

#[test]
fn there_are_two_rounds_and_no_more() {
    let authority = authority();
    let (mut gsi, first) = start(OFFER, &authority, "127.0.0.1").unwrap();
    gsi.answer(&Server::new(&first).message()).unwrap();
    let error = gsi.answer(&Server::new(&first).message()).unwrap_err();
    assert!(error.message().contains("does not follow"), "{error}");
}

#[test]
fn a_downgrade_is_refused() {
    let authority = authority();
    for (offer, words) in [
        ("v:10300,c:ssl", "version 10300 of gsi"),
        ("", "version 0 of gsi"),
        ("v:-1,c:ssl", "version 0 of gsi"),
        ("v:10600,c:local", "unknown cryptography"),
    ] {
        let error = start(offer, &authority, "host.example.org").map(|_| ()).unwrap_err();
        assert!(error.message().contains(words), "{offer}: {error}");
    }
    let unpadded = start("v:10600,c:local|sslnopad", &authority, "host.example.org").unwrap().1;
    assert_eq!(Message::read(&unpadded).unwrap().get(Kind::CryptoModule), Some(&b"sslnopad"[..]));
}

#[test]
fn damaged_messages_are_errors() {
    let authority = authority();
    let (_, first) = start(OFFER, &authority, "host.example.org").unwrap();
    let whole = Server::new(&first).message();
    let began = std::time::Instant::now();
    for at in (0..whole.len()).step_by(37) {
        let (mut gsi, _) = start(OFFER, &authority, "host.example.org").unwrap();
        assert!(gsi.answer(&whole[..at]).is_err());
        let mut damaged = whole.clone();
        damaged[at] ^= 0x55;
        // Another client's tag was signed, so that none of them is good.
        let (mut gsi, _) = start(OFFER, &authority, "host.example.org").unwrap();
        assert!(gsi.answer(&damaged).is_err());
    }
    assert!(began.elapsed() < Duration::from_secs(60));
}
