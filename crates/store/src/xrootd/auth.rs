//! Authentication: what a server offers, and which credentials we have.

use std::net::SocketAddr;

use sapwood::{Error, ErrorKind, Result};

use super::gsi::Gsi;
use super::keytab::Key;
use super::sss;
use super::wire::Offer;
use crate::NetOptions;
use crate::x509::Identity;

// What lies between a server's name, its offers, and the rest. An error is copied for all that wait for one connection,
// and its words are what every copy has.
const WANTS: &str = " requires authentication by ";
const REASONS: &str = "; ";
const NOT_TRUSTED: &str = " did not show that it is the server of this name, and";

/// A token that is longer is none.
const TOKEN_BYTES: usize = 4096;
/// The most of a reason that is shown.
const REASON_CHARS: usize = 400;
/// The user name of the login where the URL has none.
pub(super) const DEFAULT_USER: &str = "sapwood";

/// What can be proved to a server.
pub(super) struct Means<'a> {
    pub(super) user: &'a str,
    /// A token that this server may see.
    pub(super) token: Option<&'a str>,
    /// Where files with keys and certificates are.
    pub(super) options: &'a NetOptions,
    /// The server's host, as it was named.
    pub(super) host: &'a str,
    /// Whether the connection is encrypted.
    pub(super) tls: bool,
    /// Our end of the connection.
    pub(super) here: SocketAddr,
}

/// Bytes to send to a server.
pub(super) struct Proof<'a> {
    pub(super) bytes: Vec<u8>,
    /// A method of several rounds, to go on when the server has answered.
    pub(super) more: Option<Gsi<'a>>,
}

impl<'a> Means<'a> {
    /// The proof of a kind. Secrets are shown over TLS alone.
    ///
    /// # Errors
    ///
    /// This kind lacks something, such as a token.
    pub(super) fn proof(&self, offer: &Offer) -> Result<Proof<'a>> {
        let lacks = |words: &'static str| Error::new(ErrorKind::Denied, words);
        let bytes = match offer.name.as_str() {
            // The server accepts any name; servers that are open to all ask so.
            "unix" => format!("unix\0{} users\0", self.user).into_bytes(),
            "host" => b"host\0localhost\0".to_vec(),
            "ztn" => match self.token {
                None => return Err(lacks("no token (BEARER_TOKEN, BEARER_TOKEN_FILE)")),
                Some(_) if !self.tls => return Err(lacks("the token is shown over TLS alone")),
                Some(token) => of_token(token).ok_or_else(|| lacks("the token is too long"))?,
            },
            "sss" => match self.options.keytab.as_deref() {
                None => return Err(Error::new(ErrorKind::Denied, no_keytab(&offer.parameters))),
                Some(path) => sss::proof(&offer.parameters, &Key::read(path)?, self.user, self.here)?,
            },
            "gsi" => {
                let certificate = self.options.certificate.as_deref();
                let certificate = certificate
                    .ok_or_else(|| lacks("no X.509 proxy was named (X509_USER_PROXY, --certificate, certificate=)"))?;
                let authorities = self.options.authorities.as_deref();
                let authorities = authorities.ok_or_else(|| {
                    lacks("no folder with authorities was named (X509_CERT_DIR, --authorities, authorities=)")
                })?;
                let identity = Identity::read(certificate, self.options.key.as_deref())?;
                let (gsi, bytes) = Gsi::start(&offer.parameters, identity, authorities, self.host)?;
                return Ok(Proof { bytes, more: Some(gsi) });
            }
            _ => return Err(lacks("not supported")),
        };
        Ok(Proof { bytes, more: None })
    }
}

fn of_token(token: &str) -> Option<Vec<u8>> {
    let token = token.trim();
    let length = u16::try_from(token.len() + 1).ok().filter(|_| token.len() <= TOKEN_BYTES)?;
    let mut proof = b"ztn\0\0T\0\0".to_vec();
    proof.extend_from_slice(&length.to_be_bytes());
    proof.extend_from_slice(token.as_bytes());
    proof.push(0);
    Some(proof)
}

/// The error of a server that none of our proofs convinced, with a reason for each of its offers.
pub(super) fn unproved(server: &str, is_trusted: bool, offers: &[Offer], reasons: &[(String, String)]) -> Error {
    let and = if is_trusted { "" } else { NOT_TRUSTED };
    let mut words = format!("{server}{and}{WANTS}{}", names(offers));
    for (name, reason) in reasons {
        words.push_str(REASONS);
        words.extend(format!("{name}: {reason}").chars().take(REASON_CHARS));
    }
    Error::new(ErrorKind::Denied, words)
}

/// The server that refused the login, and those of its protocols of authentication that are not implemented here:
/// `krb5` and the like. None of any other error, nor of a server that takes nothing but names, tokens, shared keys and
/// certificates, nor of one that did not show that it is the server of its name.
///
/// # Example
///
/// ```
/// use sapwood::io::Store;
/// use sapwood_store::{NetOptions, XrootdStore, unknown_proofs};
/// use sapwood_testkit::xrootd_server::{ServerConfig, XrootdServer};
/// let config = ServerConfig { offers: "&P=gsi,v:10600&P=krb5,host", accepts: "gsi", ..ServerConfig::default() };
/// let server = XrootdServer::start("hello", config);
/// let error = XrootdStore::new(&server.url(), &NetOptions::default())?.ends(5, 0).unwrap_err();
/// assert_eq!(unknown_proofs(&error), Some((&*server.address().to_string(), vec!["krb5"])));
/// # Ok::<(), sapwood::Error>(())
/// ```
pub fn unknown_proofs(error: &Error) -> Option<(&str, Vec<&str>)> {
    const KNOWN: [&str; 6] = ["unix", "host", "ztn", "sss", "gsi", ""];
    let (server, rest) = error.message().split_once(WANTS)?;
    // Another program may check less.
    if server.ends_with(NOT_TRUSTED) {
        return None;
    }
    let offers = rest.split(REASONS).next().unwrap_or(rest);
    let unknown: Vec<&str> = offers.split(", ").filter(|name| !KNOWN.contains(name)).collect();
    (error.kind() == ErrorKind::Denied && !unknown.is_empty()).then_some((server, unknown))
}

/// A server may say where its users have the keytab. Which file is opened here is not for it to say.
fn no_keytab(parameters: &str) -> String {
    match parameters.split_once(':') {
        Some((_, path)) if path.starts_with('/') => format!("no keytab was named, the server's users have {path}"),
        _ => "no keytab was named".to_owned(),
    }
}

/// The offers in words.
fn names(offers: &[Offer]) -> String {
    offers.iter().map(|offer| offer.name.as_str()).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offer(name: &str) -> Offer {
        Offer { name: name.into(), parameters: "0.+13:/etc/keytab".into() }
    }

    fn proof(tls: bool, token: Option<&str>, name: &str) -> Result<Vec<u8>> {
        let options = NetOptions::default();
        let means = Means { user: "me", token, options: &options, host: "host", tls, here: ([127, 0, 0, 1], 1).into() };
        means.proof(&offer(name)).map(|proof| proof.bytes)
    }

    #[test]
    fn credentials_have_the_form_that_servers_expect_and_tokens_need_tls() {
        assert_eq!(proof(false, None, "unix").unwrap(), b"unix\0me users\0");
        assert_eq!(proof(true, Some(" ab\n"), "ztn").unwrap(), b"ztn\0\0T\0\0\0\x03ab\0");
        let lacks = |tls, token, name| proof(tls, token, name).unwrap_err().message().to_owned();
        assert!(lacks(false, Some("ab"), "ztn").contains("over TLS alone"));
        assert!(lacks(true, None, "ztn").contains("BEARER_TOKEN"));
        let long = "x".repeat(5_000);
        assert!(lacks(true, Some(&long), "ztn").contains("too long"));
        assert!(lacks(true, Some("ab"), "gsi").contains("X509_USER_PROXY"));
        assert_eq!(lacks(true, None, "sss"), "no keytab was named, the server's users have /etc/keytab");
        assert_eq!(lacks(true, None, "krb5"), "not supported");
        assert_eq!(names(&[offer("gsi"), offer("krb5")]), "gsi, krb5");
    }

    #[test]
    fn what_is_missing_is_named() {
        let wanted = |names: &[&str]| {
            let offers: Vec<Offer> = names.iter().map(|name| offer(name)).collect();
            let reasons: Vec<_> = names.iter().map(|name| ((*name).to_owned(), "none; here".to_owned())).collect();
            unproved("host:1", true, &offers, &reasons)
        };
        let error = wanted(&["ztn", "gsi", "unix", "krb5"]);
        assert_eq!(unknown_proofs(&error), Some(("host:1", vec!["krb5"])));
        assert!(error.message().ends_with("; unix: none; here; krb5: none; here"), "{error}");
        assert_eq!(unknown_proofs(&wanted(&["pwd", "sss"])), Some(("host:1", vec!["pwd"])));
        assert_eq!(unknown_proofs(&wanted(&["ztn", "unix", "host", "sss", "gsi"])), None);
        assert_eq!(unknown_proofs(&wanted(&[])), None);
        let offers = [offer("gsi"), offer("krb5")];
        let impostor = unproved("host:1", false, &offers, &[("gsi".to_owned(), "revoked".to_owned())]);
        assert_eq!(unknown_proofs(&impostor), None);
        let words = "host:1 did not show that it is the server of this name, and requires authentication by gsi, krb5";
        assert!(impostor.message().starts_with(words), "{impostor}");
        assert_eq!(unknown_proofs(&Error::new(ErrorKind::Denied, "host:1 says: no")), None);
    }
}
