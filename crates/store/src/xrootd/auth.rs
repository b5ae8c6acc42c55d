//! Authentication: what a server offers, and which credentials we have.

use std::net::SocketAddr;
use std::path::Path;

use sapwood::{Error, ErrorKind, Result};

use super::keytab::Key;
use super::sss;
use super::wire::Offer;

// What lies between a server's name, its offers, and the rest. An error is copied for all that wait for one connection,
// and its words are what every copy has.
const WANTS: &str = " requires authentication by ";
const HERE: &str = "; here are unix, tokens (ztn) and keys (sss)";

/// A token that is longer is none.
const TOKEN_BYTES: usize = 4096;
/// The user name of the login where the URL has none.
pub(super) const DEFAULT_USER: &str = "sapwood";

/// What can be proved to a server.
pub(super) struct Means<'a> {
    pub(super) user: &'a str,
    /// A token that this server may see.
    pub(super) token: Option<&'a str>,
    /// Where keys are that servers have, too.
    pub(super) keytab: Option<&'a Path>,
    /// Whether the connection is encrypted.
    pub(super) tls: bool,
    /// Our end of the connection.
    pub(super) here: SocketAddr,
}

impl Means<'_> {
    /// The proof of a kind, if we have one. Secrets are shown over TLS alone.
    ///
    /// # Errors
    ///
    /// The keytab cannot be read, or has no key.
    pub(super) fn proof(&self, offer: &Offer) -> Result<Option<Vec<u8>>> {
        Ok(match offer.name.as_str() {
            // The server accepts any name; servers that are open to all ask so.
            "unix" => Some(format!("unix\0{} users\0", self.user).into_bytes()),
            "host" => Some(b"host\0localhost\0".to_vec()),
            "ztn" if self.tls => self.token.and_then(of_token),
            "sss" => match self.keytab {
                Some(path) => Some(sss::proof(&offer.parameters, &Key::read(path)?, self.user, self.here)?),
                None => None,
            },
            _ => None,
        })
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

/// The error of a server that none of our proofs convinced.
pub(super) fn unproved(server: &str, offers: &[Offer], means: &Means<'_>) -> Error {
    let token = match (means.token.is_some(), means.tls) {
        (true, false) => "; the token is shown over TLS alone",
        _ => "",
    };
    let keytab = match offers.iter().find(|offer| offer.name == "sss") {
        Some(offer) if means.keytab.is_none() => no_keytab(&offer.parameters),
        _ => String::new(),
    };
    Error::new(ErrorKind::Denied, format!("{server}{WANTS}{}{HERE}{token}{keytab}", names(offers)))
}

/// The server that refused the login, and those of its protocols of authentication that are not implemented here:
/// `gsi`, `krb5` and the like. None of any other error, nor of a server that takes nothing but names, tokens and shared
/// keys.
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
/// assert_eq!(unknown_proofs(&error), Some((&*server.address().to_string(), vec!["gsi", "krb5"])));
/// # Ok::<(), sapwood::Error>(())
/// ```
pub fn unknown_proofs(error: &Error) -> Option<(&str, Vec<&str>)> {
    let (server, rest) = error.message().split_once(WANTS)?;
    let (offers, _) = rest.split_once(HERE)?;
    let unknown: Vec<&str> =
        offers.split(", ").filter(|name| !matches!(*name, "unix" | "host" | "ztn" | "sss" | "")).collect();
    (error.kind() == ErrorKind::Denied && !unknown.is_empty()).then_some((server, unknown))
}

/// A server may say where its users have the keytab. Which file is opened here is not for it to say.
fn no_keytab(parameters: &str) -> String {
    match parameters.split_once(':') {
        Some((_, path)) if path.starts_with('/') => format!("; no keytab was named, the server's users have {path}"),
        _ => "; no keytab was named".to_owned(),
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

    fn means(tls: bool, token: Option<&str>) -> Means<'_> {
        Means { user: "me", token, keytab: None, tls, here: ([127, 0, 0, 1], 1).into() }
    }

    #[test]
    fn credentials_have_the_form_that_servers_expect_and_tokens_need_tls() {
        let proof = |tls, token, name| means(tls, token).proof(&offer(name)).unwrap();
        assert_eq!(proof(false, None, "unix").unwrap(), b"unix\0me users\0");
        assert_eq!(proof(true, Some(" ab\n"), "ztn").unwrap(), b"ztn\0\0T\0\0\0\x03ab\0");
        assert_eq!(proof(false, Some("ab"), "ztn"), None);
        assert_eq!(proof(true, None, "ztn"), None);
        let long = "x".repeat(5_000);
        assert_eq!(proof(true, Some(&long), "ztn"), None);
        assert_eq!(proof(true, Some("ab"), "gsi"), None);
        assert_eq!(proof(true, None, "sss"), None);
        assert_eq!(names(&[offer("gsi"), offer("krb5")]), "gsi, krb5");
    }

    #[test]
    fn what_is_missing_is_named() {
        let wanted = |names: &[&str]| {
            let offers: Vec<Offer> = names.iter().map(|name| offer(name)).collect();
            unproved("host:1", &offers, &means(false, Some("ab")))
        };
        assert_eq!(unknown_proofs(&wanted(&["ztn", "gsi", "unix", "krb5"])), Some(("host:1", vec!["gsi", "krb5"])));
        assert_eq!(unknown_proofs(&wanted(&["sss", "gsi"])), Some(("host:1", vec!["gsi"])));
        assert_eq!(unknown_proofs(&wanted(&["ztn", "unix", "host", "sss"])), None);
        assert_eq!(unknown_proofs(&wanted(&[])), None);
        assert_eq!(unknown_proofs(&Error::new(ErrorKind::Denied, "host:1 says: no")), None);
        let words = wanted(&["sss"]);
        assert!(words.message().ends_with("; no keytab was named, the server's users have /etc/keytab"), "{words}");
        assert!(!wanted(&["ztn"]).message().contains("keytab"));
    }
}
