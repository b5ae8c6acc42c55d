//! Authentication by a shared key (`sss`): user, host and time, sealed with it.

use std::net::{IpAddr, SocketAddr};

use blowfish::Blowfish;
use sapwood::{Error, Result};
use zeroize::Zeroizing;

use super::keytab::{Key, now};
use super::random::fill;

/// When the clock of proofs began, in seconds since 1970.
const BEGAN: i64 = 1_222_183_880;
/// Blowfish, the only way to seal that there is.
const SEAL: &str = "0.";
const NAME: u8 = 1;
const GROUP: u8 = 4;
const HOST: u8 = 32;

/// The proof for a server that offers `parameters`, over a connection that begins `here`.
pub(super) fn proof(parameters: &str, key: &Key, user: &str, here: SocketAddr) -> Result<Vec<u8>> {
    let Some(offer) = parameters.strip_prefix(SEAL) else {
        return Err(Error::unsupported("the server requires an unknown encryption of the shared secret"));
    };
    let mut random = [0; 32];
    fill(&mut random)?;
    let clock = i32::try_from(now() - BEGAN).unwrap_or(i32::MAX);
    let mut bytes = head(key, offer.starts_with('+'));
    bytes.extend(seal(&key.secret, body(key, user, here, &random, clock))?);
    Ok(bytes)
}

/// What the server finds the key by. Newer ones are told its name, padded to eights.
fn head(key: &Key, with_name: bool) -> Vec<u8> {
    let padded = if with_name { (key.name.len() + 8) & !7 } else { 0 };
    let mut bytes = b"sss\0\0\0".to_vec();
    bytes.extend([u8::try_from(padded).unwrap_or(0), b'0']);
    bytes.extend(key.number.to_be_bytes());
    if with_name {
        bytes.extend(key.name.as_bytes());
        bytes.resize(16 + padded, 0);
    }
    bytes
}

/// User and host. The server compares the host with the connection, so that the credential is of no use elsewhere.
fn body(key: &Key, user: &str, here: SocketAddr, random: &[u8; 32], clock: i32) -> Zeroizing<Vec<u8>> {
    let address = match here.ip() {
        IpAddr::V4(address) => address.to_ipv6_mapped(),
        IpAddr::V6(address) => address,
    };
    let user = if ["anybody", "allusers"].contains(&&*key.user) { user } else { &key.user };
    let group = if ["anygroup", "usrgroup"].contains(&&*key.group) { "users" } else { &key.group };
    let mut bytes = Zeroizing::new(random.to_vec());
    bytes.extend(clock.to_be_bytes());
    bytes.extend([0; 4]);
    for (what, text) in [(HOST, &*format!("[{address}]:{}", here.port())), (NAME, user), (GROUP, group)] {
        bytes.push(what);
        bytes.extend(u16::try_from(text.len() + 1).unwrap_or(0).to_be_bytes());
        bytes.extend(text.as_bytes());
        bytes.push(0);
    }
    bytes
}

/// The bytes and their checksum, by Blowfish with feedback (`CFB`) from nothing.
fn seal(secret: &[u8], mut bytes: Zeroizing<Vec<u8>>) -> Result<Vec<u8>> {
    if secret.is_empty() {
        return Err(Error::mismatch("a key without bytes"));
    }
    let sum = libdeflater::crc32(&bytes);
    bytes.extend(sum.to_be_bytes());
    feed_back(secret, &mut bytes, true);
    Ok(std::mem::take(&mut *bytes))
}

/// Seals bytes, or opens them.
fn feed_back(secret: &[u8], bytes: &mut [u8], seals: bool) {
    // With the crate's plain form keys of more than 56 bytes would be none.
    let mut cipher = Blowfish::bc_init_state();
    cipher.bc_expand_key(secret);
    let mut last = [0; 2];
    let words = |block: &[u8]| match *block {
        [a, b, c, d, e, f, g, h] => [u32::from_be_bytes([a, b, c, d]), u32::from_be_bytes([e, f, g, h])],
        // Nothing follows a short block.
        _ => [0; 2],
    };
    for block in bytes.chunks_mut(8) {
        let mask = cipher.bc_encrypt(last).map(u32::to_be_bytes);
        if !seals {
            last = words(block);
        }
        for (byte, mask) in block.iter_mut().zip(mask.as_flattened()) {
            *byte ^= mask;
        }
        if seals {
            last = words(block);
        }
    }
}

/// Opens sealed bytes; `None` if they were sealed with another key.
fn open(secret: &[u8], sealed: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
    let mut bytes = Zeroizing::new(sealed.to_vec());
    feed_back(secret, &mut bytes, false);
    let length = bytes.len().checked_sub(4)?;
    let (text, sum) = bytes.split_at(length);
    let is_whole = libdeflater::crc32(text).to_be_bytes() == *sum;
    bytes.truncate(length);
    is_whole.then_some(bytes)
}

/// Whether a client at `there` has sealed a proof with this key, and when: seconds since 1970.
pub(super) fn proved(key: &Key, proof: &[u8], there: IpAddr) -> Option<i64> {
    let (head, rest) = proof.split_first_chunk::<16>()?;
    let [b's', b's', b's', 0, _, _, padded, b'0', number @ ..] = *head else { return None };
    let (name, sealed) = rest.split_at_checked(usize::from(padded))?;
    let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
    if key.number != i64::from_be_bytes(number) || (padded > 0 && name != key.name.as_bytes()) {
        return None;
    }
    let bytes = open(&key.secret, sealed)?;
    let (_random, rest) = bytes.split_first_chunk::<32>()?;
    let (clock, rest) = rest.split_first_chunk::<4>()?;
    let (_options, mut rest) = rest.split_first_chunk::<4>()?;
    let mut is_there = false;
    while let Some(([what, high, low], behind)) = rest.split_first_chunk::<3>() {
        let (text, behind) = behind.split_at_checked(usize::from(u16::from_be_bytes([*high, *low])))?;
        if *what == HOST {
            // An address in brackets and a port, which gateways change; XRootD's client adds the name of its host.
            let text = std::str::from_utf8(text).ok()?;
            let address = text.strip_prefix('[').and_then(|text| text.split(']').next()?.parse::<IpAddr>().ok());
            is_there |= address.is_some_and(|address| address.to_canonical() == there.to_canonical());
        }
        rest = behind;
    }
    is_there.then(|| BEGAN + i64::from(i32::from_be_bytes(*clock)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str, user: &str, group: &str) -> Key {
        let [name, user, group] = [name, user, group].map(str::to_owned);
        Key {
            number: 0x0102,
            name,
            user,
            group,
            secret: Zeroizing::new(b"0123456789abcdef".to_vec()),
            ..Key::default()
        }
    }

    #[test]
    fn the_head_says_which_key_it_is() {
        let bare = *b"sss\0\0\0\x000\0\0\0\0\0\0\x01\x02";
        assert_eq!(head(&key("x", "", ""), false), bare);
        assert_eq!(head(&key("mine", "", ""), true)[6..], *b"\x080\0\0\0\0\0\0\x01\x02mine\0\0\0\0");
        assert_eq!(head(&key("mine-too", "", ""), true)[6..], *b"\x100\0\0\0\0\0\0\x01\x02mine-too\0\0\0\0\0\0\0\0");
    }

    #[test]
    fn the_body_has_user_and_host() {
        let here = "127.0.0.1:80".parse().unwrap();
        let bytes = body(&key("", "me", "us"), "other", here, &[7; 32], 5);
        let (random, rest) = bytes.split_at(32);
        assert_eq!(random, [7; 32]);
        assert_eq!(rest, b"\0\0\0\x05\0\0\0\0\x20\0\x16[::ffff:127.0.0.1]:80\0\x01\0\x03me\0\x04\0\x03us\0");
        let bytes = body(&key("", "anybody", "anygroup"), "other", "[::1]:80".parse().unwrap(), &[7; 32], 5);
        assert!(bytes.ends_with(b"\x20\0\x09[::1]:80\0\x01\0\x06other\0\x04\0\x06users\0"), "{bytes:?}");
    }

    #[test]
    fn it_is_sealed_as_openssl_does() {
        // openssl enc -bf-cfb -iv 0, of the text and its CRC32 0x0D4A1185.
        let bytes = seal(b"0123456789abcdef", Zeroizing::new(b"hello world".to_vec())).unwrap();
        assert_eq!(bytes, b"\x9F\x76\x3C\xD5\xBC\x4C\xCA\x1A\x18\x60\xFA\x85\xD3\xBF\xD6");
        assert!(seal(b"", Zeroizing::default()).is_err());
    }

    #[test]
    fn proofs_are_those_of_a_key_and_a_place() {
        let here: SocketAddr = "127.0.0.1:80".parse().unwrap();
        let mine = key("mine", "anybody", "us");
        for parameters in ["0.13:/etc/keytab", "0.+13:/etc/keytab"] {
            let proof = proof(parameters, &mine, "me", here).unwrap();
            let when = proved(&mine, &proof, here.ip()).unwrap();
            assert!((now() - when).abs() < 60);
            assert_eq!(proved(&mine, &proof, "127.0.0.2".parse().unwrap()), None);
            let other = Key { secret: Zeroizing::new(b"0123456789abcdeg".to_vec()), ..key("mine", "anybody", "us") };
            assert_eq!(proved(&other, &proof, here.ip()), None);
            assert_eq!(proved(&Key { number: 7, ..key("mine", "anybody", "us") }, &proof, here.ip()), None);
            for at in 0..proof.len() {
                let mut wrong = proof.clone();
                wrong[at] ^= 1;
                // Two bytes of the head have no meaning, nor what stands after the end of the name.
                let is_idle = matches!(at, 4 | 5) || (parameters.contains('+') && (21..24).contains(&at));
                assert_eq!(proved(&mine, &wrong, here.ip()).is_some(), is_idle, "{at}");
                assert_eq!(proved(&mine, &proof[..at], here.ip()), None);
            }
        }
        assert_eq!(proved(&mine, b"", here.ip()), None);
        // XRootD's client names its host as well, and fills up with a text that means nothing.
        let text = b"\x20\0\x19[::ffff:127.0.0.1]:41308\0\x20\0\x03vm\0\x01\0\x07nobody\0\x07\0\x03\xAD\x6E\0";
        let theirs = |text: &[u8]| {
            let body = [&[7; 32], &5_i32.to_be_bytes()[..], &[0; 4], text].concat();
            let sealed = seal(&mine.secret, Zeroizing::new(body)).unwrap();
            proved(&mine, &[head(&mine, true), sealed].concat(), here.ip())
        };
        assert_eq!(theirs(text), Some(BEGAN + 5));
        assert_eq!(theirs(b"\x20\0\x03vm\0"), None);
        assert_eq!(theirs(&text[..20]), None);
    }

    #[test]
    fn what_is_not_known_is_said() {
        let error = proof("1.13:", &key("", "", ""), "me", "127.0.0.1:80".parse().unwrap()).unwrap_err();
        assert_eq!(error.kind(), sapwood::ErrorKind::Unsupported);
    }
}
