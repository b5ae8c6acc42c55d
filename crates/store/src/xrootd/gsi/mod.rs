//! Authentication by certificates of X.509 (`gsi`), in two rounds. The client asks for the server's certificate and
//! gets it with the server's half of a key agreement, signed; it answers with its own half, signed, and its own
//! certificates, encrypted. Each side signs eight bytes of the other. A proxy is not delegated: a server that asks for
//! it is refused.
//!
//! Source: `XrdSecProtocolgsi` of XRootD.

mod agreement;
mod cipher;
mod message;
mod signature;
#[cfg(test)]
mod tests;

use std::path::Path;

use rsa::pkcs8::DecodePublicKey;
use rsa::{Pkcs1v15Sign, PublicKey};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use sapwood::{Error, ErrorKind, Result};
use x509_cert::certificate::{CertificateInner, Raw};
use x509_cert::der::{Decode, Encode};

use self::agreement::Agreement;
use self::cipher::Cipher;
use self::message::{Kind, Message};
use self::signature::{recover, sign};
use super::random::fill;
use super::wire::Broken;
use crate::x509::{Identity, check_host};

/// The version that we speak.
const VERSION: u32 = 10_600;
/// Since this version both halves of the key agreement are signed. Without, anyone on the way could read along.
const SIGNED_VERSION: u32 = 10_400;
/// The only module of cryptography that there is: OpenSSL.
const MODULE: &str = "ssl";
/// Its name for servers that leave out zeros at the beginning of a secret.
const UNPADDED: &str = "sslnopad";
/// No proxy may be asked for, neither to be signed nor to be passed on.
const OPTIONS: u32 = 0;

const ASK: u32 = 1000;
const ANSWER: u32 = 1001;
const CERTIFICATE: u32 = 2001;
const PROXY_REQUEST: u32 = 2002;

/// Bytes of what is to be signed.
const TAG_BYTES: usize = 8;
/// Longer tags are not signed: without a digest, they could be the digest of something else, such as a new proxy.
const MAX_TAG_BYTES: usize = 16;
/// Maximum number of certificates that a server may send.
const MAX_CERTIFICATES: usize = 8;

/// A handshake under way.
pub(super) struct Gsi<'a> {
    identity: Identity,
    authorities: &'a Path,
    host: &'a str,
    module: &'static str,
    /// Bytes for the server to sign.
    tag: [u8; TAG_BYTES],
    answered: bool,
    /// Whether the server has shown nothing that is wrong.
    is_trusted: bool,
}

impl<'a> Gsi<'a> {
    /// Starts with a server that offers `parameters`; also returns the first message.
    pub(super) fn start(
        parameters: &str,
        identity: Identity,
        authorities: &'a Path,
        host: &'a str,
    ) -> Result<(Self, Vec<u8>)> {
        let value = |name: &str| parameters.split(',').find_map(|one| one.strip_prefix(name)?.strip_prefix(':'));
        let version = value("v").and_then(|version| version.parse::<u32>().ok()).unwrap_or(0);
        if version < SIGNED_VERSION {
            return Err(Error::unsupported(format!(
                "the server speaks version {version} of gsi, in which keys are not signed; {SIGNED_VERSION} is needed"
            )));
        }
        let offered = value("c")
            .unwrap_or(MODULE)
            .split('|')
            .find_map(|one| [MODULE, UNPADDED].into_iter().find(|known| one == *known));
        let module = offered.ok_or_else(|| Error::unsupported("the server asks for unknown cryptography"))?;
        let tag = tag()?;
        let main = Message::new(ASK).with(Kind::Tag, tag);
        let first = Message::new(ASK)
            .with(Kind::CryptoModule, module)
            .with(Kind::Version, VERSION.to_be_bytes())
            .with(Kind::IssuerHash, format!("{}.0", identity.issuer_hash()?))
            .with(Kind::Options, OPTIONS.to_be_bytes())
            .with(Kind::Main, main.write());
        Ok((Self { identity, authorities, host, module, tag, answered: false, is_trusted: true }, first.write()))
    }

    /// The next message, after this one of the server.
    pub(super) fn answer(&mut self, said: &[u8]) -> Result<Vec<u8>> {
        let said = Message::read(said).map_err(broken)?;
        if let Some(words) = said.get(Kind::Words).filter(|_| said.step != CERTIFICATE) {
            let words: String = String::from_utf8_lossy(words).chars().filter(|char| !char.is_control()).collect();
            let words: String = words.chars().take(200).collect();
            return Err(Error::new(ErrorKind::Denied, format!("refused by the server: {words}")));
        }
        match said.step {
            CERTIFICATE if !self.answered => {
                self.answered = true;
                self.prove(&said)
            }
            PROXY_REQUEST => Err(Error::new(
                ErrorKind::Denied,
                "the server asks for a proxy to act as the user, and none is passed on",
            )),
            _ => Err(broken(Broken("a step of gsi that does not follow"))),
        }
    }

    /// Whether the server may be the one that was named: it has shown no certificate that says otherwise.
    pub(super) fn is_trusted(&self) -> bool {
        self.is_trusted
    }

    /// The key and the main bucket of a server that has shown who it is.
    fn check(&self, said: &Message) -> Result<(PublicKey, Message)> {
        let chain = certificates(said.get(Kind::Certificates).ok_or_else(|| broken(Broken("no certificate")))?)?;
        check_host(self.authorities, &chain, self.host)?;
        let theirs = chain.first().and_then(public_key);
        let theirs = theirs.ok_or_else(|| Error::unsupported("the key of the server's certificate is not of RSA"))?;
        let main = said.get(Kind::Main).ok_or_else(|| broken(Broken("no main bucket of gsi")))?;
        let main = Message::read(main).map_err(broken)?;
        let signed = main.get(Kind::SignedTag).unwrap_or_default();
        if theirs.verify(Pkcs1v15Sign::new_unprefixed(), &self.tag, signed).is_err() {
            return Err(Error::new(ErrorKind::Denied, "the server has not the key of its certificate"));
        }
        Ok((theirs, main))
    }

    /// Checks who the server is, and shows who we are.
    fn prove(&mut self, said: &Message) -> Result<Vec<u8>> {
        self.is_trusted = false;
        let (theirs, main) = self.check(said)?;
        self.is_trusted = true;
        let half = said.get(Kind::Agreement).ok_or_else(|| broken(Broken("a key agreement that is not signed")))?;
        let half = Agreement::read(&recover(&theirs, half).map_err(broken)?).map_err(broken)?;
        let list = said.get(Kind::Ciphers).unwrap_or(b"aes-128-cbc");
        let cipher = Cipher::choose(list)
            .ok_or_else(|| Error::unsupported(format!("the server has no cipher but {}; here is aes", shown(list))))?;
        let digest = digest(said.get(Kind::Digests).unwrap_or(b"sha256"));
        let tag_of_server = main.get(Kind::Tag).filter(|tag| (1..=MAX_TAG_BYTES).contains(&tag.len()));
        let tag_of_server = tag_of_server.ok_or_else(|| broken(Broken("a tag that is not to be signed")))?;

        let agreed = half.agree(self.module == MODULE)?;
        let inner = Message::new(ANSWER)
            .with(Kind::SignedTag, sign(self.identity.key(), tag_of_server)?)
            .with(Kind::Certificates, self.identity.chain_pem()?)
            .with(Kind::Tag, tag()?);
        let answer = Message::new(ANSWER)
            .with(Kind::CryptoModule, self.module)
            .with(Kind::Main, cipher.seal(&agreed.secret, &inner.write())?)
            .with(Kind::Ciphers, cipher.name())
            .with(Kind::Digests, digest)
            .with(Kind::Agreement, sign(self.identity.key(), agreed.ours.as_bytes())?)
            .with(Kind::PublicKey, self.identity.public_pem()?);
        Ok(answer.write())
    }
}

/// A violation of the handshake's form.
fn broken(broken: Broken) -> Error {
    Error::new(ErrorKind::Io, format!("the server sends {}", broken.0))
}

/// Eight random bytes of the alphabet that XRootD takes them from.
fn tag() -> Result<[u8; TAG_BYTES]> {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789./";
    let mut tag = [0; TAG_BYTES];
    fill(&mut tag)?;
    Ok(tag.map(|byte| ALPHABET[usize::from(byte % 64)]))
}

/// The digest for later messages: none are sent, but servers want one of theirs to be named.
fn digest(list: &[u8]) -> Vec<u8> {
    let mut names = list.split(|byte| *byte == b':');
    let first = names.clone().next().unwrap_or_default();
    names.find(|name| *name == b"sha256").unwrap_or(first).to_vec()
}

fn shown(list: &[u8]) -> String {
    String::from_utf8_lossy(list).chars().filter(|char| !char.is_control()).take(100).collect()
}

fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).take(MAX_CERTIFICATES + 1).collect();
    match found {
        Ok(found) if (1..=MAX_CERTIFICATES).contains(&found.len()) => Ok(found),
        _ => Err(broken(Broken("certificates that cannot be read"))),
    }
}

fn public_key(one: &CertificateDer<'_>) -> Option<PublicKey> {
    let one = CertificateInner::<Raw>::from_der(one).ok()?;
    PublicKey::from_public_key_der(&one.tbs_certificate().subject_public_key_info().to_der().ok()?).ok()
}
