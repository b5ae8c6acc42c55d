//! The identity of the user: a chain of certificates, and the key of the first one. A proxy is a certificate that the
//! user signed.

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rsa::pkcs1::DecodeRsaPrivateKey;
use rsa::pkcs8::{DecodePrivateKey, DecodePublicKey};
use rsa::{PrivateKey, PublicKey};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use sapwood::{Error, ErrorKind, Result};
use x509_cert::certificate::{CertificateInner, Raw};
use x509_cert::der::asn1::ObjectIdentifier;
use x509_cert::der::pem::{LineEnding, encode_string};
use x509_cert::der::{Decode, Encode};
use x509_cert::time::Validity;

use super::name_hash::name_hash;
use super::{private_key_file, read};
use crate::private_file::Others;

/// A longer chain is an error; proxies of proxies have four.
const MAX_CHAIN: usize = 16;
/// Certificates with these extensions are proxies: of RFC 3820, and of the draft before it.
const PROXY_EXTENSIONS: [ObjectIdentifier; 2] =
    [ObjectIdentifier::new_unwrap("1.3.6.1.5.5.7.1.14"), ObjectIdentifier::new_unwrap("1.3.6.1.4.1.3536.1.222")];
const COMMON_NAME: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.4.3");
/// Advice at the end of errors.
const RENEW: &str = "make one with voms-proxy-init, grid-proxy-init or arcproxy";

type Certificate = CertificateInner<Raw>;

/// A certificate, and its bytes as they were signed: written again, some would differ.
struct Signed {
    parsed: Certificate,
    bytes: CertificateDer<'static>,
}

/// A chain of certificates and the key of its first one.
pub(crate) struct Identity {
    place: PathBuf,
    chain: Vec<Signed>,
    key: PrivateKey,
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Nothing of the key.
        f.debug_struct("Identity").field("place", &self.place).finish_non_exhaustive()
    }
}

impl Identity {
    /// Reads a file with certificates, and the key from it or from another one.
    ///
    /// # Errors
    ///
    /// A file cannot be read, others may read the key, the key has a password, is not of RSA or belongs to another
    /// certificate, or a certificate is not valid now.
    pub(crate) fn read(certificate: &Path, key: Option<&Path>) -> Result<Self> {
        let here = |path: &Path| path.to_string_lossy().into_owned();
        let made = Self::load(certificate, key.unwrap_or(certificate), now())?;
        made.map_err(|error| error.in_file(here(certificate)))
    }

    /// The inner result is about the certificates; the outer one about files, which it names.
    fn load(certificate: &Path, key: &Path, now: Duration) -> Result<Result<Self>> {
        let secret = private_key_file(key, Others::Nothing).map_err(missing)?;
        if key == certificate {
            return Ok(Self::parse(certificate, &secret, &secret, now));
        }
        let content = read(certificate).map_err(missing)?;
        Ok(Self::parse(certificate, &content, &secret, now))
    }

    /// [`read`](Self::read) for the contents of files.
    pub(crate) fn parse(place: &Path, content: &[u8], key: &[u8], now: Duration) -> Result<Self> {
        let wrong =
            |error: &dyn fmt::Display| Error::mismatch("its certificates cannot be read").because(error.to_string());
        let mut found = Vec::new();
        for one in CertificateDer::pem_slice_iter(content).take(MAX_CHAIN + 1) {
            let one = one.map_err(|error| wrong(&error))?;
            let parsed = Certificate::from_der(&one).map_err(|error| wrong(&error))?;
            found.push(Signed { parsed, bytes: one });
        }
        if found.is_empty() || found.len() > MAX_CHAIN {
            return Err(Error::mismatch(format!("it has {} certificates, not 1 to {MAX_CHAIN}", found.len())));
        }
        let key = rsa(&private_key(key)?)?;
        let ours = key.to_public_key();
        let first = found.iter().position(|one| public_key(&one.parsed).is_some_and(|key| key == ours));
        let first = first.ok_or_else(|| Error::mismatch("the key belongs to none of its certificates"))?;
        let made = Self { place: place.to_owned(), chain: in_order(found, first), key };
        made.check(now)?;
        Ok(made)
    }

    /// Every certificate has to be valid.
    fn check(&self, now: Duration) -> Result<()> {
        for (number, one) in self.chain.iter().enumerate() {
            let what = if number == 0 && self.is_proxy() { "the X.509 proxy" } else { "the certificate" };
            let Validity { not_before: begins, not_after: ends, .. } = one.parsed.tbs_certificate().validity();
            let words = if ends.to_unix_duration() <= now {
                format!("{what} expired at {}: {RENEW}", ends.to_date_time())
            } else if begins.to_unix_duration() > now {
                format!("{what} is valid from {} on: is the clock of this machine right?", begins.to_date_time())
            } else {
                continue;
            };
            return Err(Error::new(ErrorKind::Denied, words));
        }
        Ok(())
    }

    fn is_proxy(&self) -> bool {
        self.chain.first().is_some_and(|one| is_proxy(&one.parsed))
    }

    /// The key of the first certificate.
    pub(crate) fn key(&self) -> &PrivateKey {
        &self.key
    }

    /// The public key as PEM.
    pub(crate) fn public_pem(&self) -> Result<String> {
        let wrong = || Error::internal("a public key that cannot be written");
        let first = self.chain.first().ok_or_else(wrong)?;
        let key = first.parsed.tbs_certificate().subject_public_key_info().to_der().map_err(|_| wrong())?;
        encode_string("PUBLIC KEY", LineEnding::LF, &key).map_err(|_| wrong())
    }

    /// The certificates as PEM, ours first, without an authority that signed itself.
    pub(crate) fn chain_pem(&self) -> Result<String> {
        let wrong = || Error::internal("a certificate that cannot be written");
        let mut text = String::new();
        for one in &self.chain {
            text.push_str(&encode_string("CERTIFICATE", LineEnding::LF, &one.bytes).map_err(|_| wrong())?);
        }
        Ok(text)
    }

    /// The hash of the authority that signed the user's own certificate.
    pub(crate) fn issuer_hash(&self) -> Result<String> {
        let wrong = || Error::mismatch("the name of the authority cannot be read");
        let own = self.chain.iter().find(|one| !is_proxy(&one.parsed)).or(self.chain.last()).ok_or_else(wrong)?;
        name_hash(own.parsed.tbs_certificate().issuer()).map_err(|_| wrong())
    }
}

/// The error of a file that has to be there.
fn missing(error: Error) -> Error {
    if error.kind() != ErrorKind::NotFound {
        return error;
    }
    let words = Error::not_found(format!("no such X.509 proxy or certificate: {RENEW}"));
    match error.place().file.as_deref() {
        Some(file) => words.in_file(file),
        None => words,
    }
}

/// The time in which all certificates are valid, since 1970: none before the first, nor from the second on.
///
/// # Errors
///
/// A certificate cannot be read.
pub(crate) fn valid_time(chain: &[CertificateDer<'_>]) -> Result<Range<Duration>> {
    let mut time = Duration::ZERO..Duration::MAX;
    for one in chain {
        let parsed = Certificate::from_der(one)
            .map_err(|error| Error::mismatch("a certificate cannot be read").because(error.to_string()))?;
        let validity = parsed.tbs_certificate().validity();
        time.start = time.start.max(validity.not_before.to_unix_duration());
        time.end = time.end.min(validity.not_after.to_unix_duration());
    }
    Ok(time)
}

fn private_key(content: &[u8]) -> Result<PrivateKeyDer<'static>> {
    if content.windows(9).any(|word| word == b"ENCRYPTED") {
        return Err(Error::mismatch(format!("the key has a password; for a proxy without one, {RENEW}")));
    }
    PrivateKeyDer::from_pem_slice(content).map_err(|_| Error::mismatch("the key cannot be read"))
}

fn rsa(key: &PrivateKeyDer<'_>) -> Result<PrivateKey> {
    // The reason is not repeated: it could show a part of the key.
    let wrong = || Error::mismatch("its key of RSA cannot be read");
    match key {
        PrivateKeyDer::Pkcs1(key) => PrivateKey::from_pkcs1_der(key.secret_pkcs1_der()).map_err(|_| wrong()),
        PrivateKeyDer::Pkcs8(key) => {
            let bytes = key.secret_pkcs8_der();
            PrivateKey::from_pkcs8_der(bytes).map_err(|_| if is_of_curve(bytes) { other_key() } else { wrong() })
        }
        _ => Err(other_key()),
    }
}

fn other_key() -> Error {
    Error::unsupported("its key is not of RSA; servers of XRootD take no other (gsi)")
}

/// Whether a key is one of elliptic curves: it names that algorithm.
fn is_of_curve(bytes: &[u8]) -> bool {
    bytes.windows(7).any(|word| word == [0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01])
}

fn public_key(one: &Certificate) -> Option<PublicKey> {
    let key = one.tbs_certificate().subject_public_key_info().to_der().ok()?;
    PublicKey::from_public_key_der(&key).ok()
}

/// The chain from this certificate upwards, each signed by the next. What does not belong to it is left out, and so is
/// an authority that signed itself.
fn in_order(mut found: Vec<Signed>, first: usize) -> Vec<Signed> {
    let mut chain = vec![found.swap_remove(first)];
    while let Some(last) = chain.last() {
        let issuer = last.parsed.tbs_certificate().issuer();
        let is_above = |one: &Signed| one.parsed.tbs_certificate().subject() == issuer;
        let is_root = |one: &Signed| one.parsed.tbs_certificate().issuer() == one.parsed.tbs_certificate().subject();
        let Some(at) = found.iter().position(|one| is_above(one) && !is_root(one)) else { break };
        chain.push(found.swap_remove(at));
    }
    chain
}

/// Whether a user signed this, not an authority.
fn is_proxy(one: &Certificate) -> bool {
    let inner = one.tbs_certificate();
    if inner.extensions().is_some_and(|all| all.iter().any(|one| PROXY_EXTENSIONS.contains(&one.extn_id))) {
        return true;
    }
    // Legacy proxies have the user's name and one of these words.
    let subject = inner.subject();
    let issuer = inner.issuer();
    let mut parts = subject.iter();
    subject.len() == issuer.len() + 1
        && issuer.iter().zip(parts.by_ref()).all(|(one, other)| one == other)
        && subject.iter().last().is_some_and(|last| {
            last.oid == COMMON_NAME && [&b"proxy"[..], b"limited proxy"].contains(&last.value.value())
        })
}

/// Since 1970.
pub(crate) fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = include_str!("../../tests/data/gsi/test.key");
    const AUTHORITY: &str = include_str!("../../tests/data/gsi/authority.pem");
    const CLIENT: &str = include_str!("../../tests/data/gsi/client.pem");
    const PROXY: &str = include_str!("../../tests/data/gsi/proxy.pem");
    const LEGACY: &str = include_str!("../../tests/data/gsi/legacy.pem");

    fn parse(content: &str, key: &str, now: Duration) -> Result<Identity> {
        Identity::parse(Path::new("here"), content.as_bytes(), key.as_bytes(), now)
    }

    #[test]
    fn a_chain_is_read_in_order_without_its_authority() {
        // All have the same key here; in files the proxy stands first.
        for proxy in [PROXY, LEGACY] {
            let text = format!("{proxy}{KEY}{AUTHORITY}{CLIENT}");
            let found = parse(&text, &text, now()).unwrap();
            assert!(found.is_proxy());
            assert_eq!(found.chain_pem().unwrap(), format!("{proxy}{CLIENT}"));
            assert_eq!(found.issuer_hash().unwrap(), "5d4e69ff", "of the user's certificate, not of the proxy");
            assert!(found.public_pem().unwrap().starts_with("-----BEGIN PUBLIC KEY-----\nMII"));
            assert_eq!(format!("{found:?}"), r#"Identity { place: "here", .. }"#);
        }
        let own = parse(CLIENT, KEY, now()).unwrap();
        assert!(!own.is_proxy() && own.issuer_hash().unwrap() == "5d4e69ff");
    }

    #[test]
    fn certificates_are_passed_on_as_they_were_signed() {
        // It has a default value that the standard leaves out, and would be shorter if written again.
        let text = include_str!("../../tests/data/gsi/explicit.pem");
        assert_eq!(parse(text, KEY, now()).unwrap().chain_pem().unwrap(), text);
    }

    #[test]
    fn what_is_wrong_is_said_without_the_key() {
        let locked = include_str!("../../tests/data/gsi/locked.key");
        let curve = include_str!("../../tests/data/gsi/curve.key");
        let damaged = format!("{}AAAA{}", &KEY[..300], &KEY[304..]);
        for (content, key, words) in [
            ("", KEY, "it has 0 certificates, not 1 to 16"),
            (&CLIENT.repeat(17), KEY, "it has 17 certificates, not 1 to 16"),
            (CLIENT, "", "the key cannot be read"),
            (CLIENT, locked, "the key has a password"),
            (CLIENT, curve, "its key is not of RSA"),
            (CLIENT, &damaged, "key"),
            ("-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n", KEY, "its certificates cannot be read"),
        ] {
            let error = parse(content, key, now()).unwrap_err();
            let shown = format!("{error} {error:?}");
            assert!(shown.contains(words), "{words}: {shown}");
            assert!(!KEY.lines().any(|line| line.len() > 20 && shown.contains(&line[..20])), "{shown}");
        }
    }

    #[test]
    fn certificates_have_their_time() {
        let late = parse(&format!("{PROXY}{CLIENT}"), KEY, Duration::from_secs(5_000_000_000)).unwrap_err();
        assert_eq!(late.kind(), ErrorKind::Denied);
        assert!(late.message().starts_with("the X.509 proxy expired at 21"), "{late}");
        let late = parse(CLIENT, KEY, Duration::from_secs(5_000_000_000)).unwrap_err();
        assert!(late.message().starts_with("the certificate expired at 21"), "{late}");
        let early = parse(CLIENT, KEY, Duration::from_secs(1_000_000_000)).unwrap_err();
        assert!(early.message().ends_with("is the clock of this machine right?"), "{early}");
    }
}
