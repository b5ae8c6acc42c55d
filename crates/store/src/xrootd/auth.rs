//! Proof of who is there: what a server offers, and what we have.

use sapwood::{Error, ErrorKind};

use super::wire::Offer;

// What lies between a server's name, its offers, and the rest. An error is copied for all who wait for one connection, and its words are
// what every copy has.
const WANTS: &str = " wants a proof of who is there, by ";
const HERE: &str = "; here are unix and tokens (ztn)";

/// A token that is longer is none.
const TOKEN_BYTES: usize = 4096;
/// As whom we log in where the URL names nobody.
pub(super) const NOBODY: &str = "sapwood";

/// What can be proved to a server.
#[derive(Clone, Debug)]
pub(super) struct Means<'a> {
    pub(super) user: &'a str,
    /// A token that this server may see.
    pub(super) token: Option<&'a str>,
    /// Whether nobody else can read along.
    pub(super) tls: bool,
}

impl Means<'_> {
    /// The proof of a kind, if we have one. Secrets are shown over TLS alone.
    pub(super) fn proof(&self, offer: &Offer) -> Option<Vec<u8>> {
        match offer.name.as_str() {
            // Whoever says a name is believed; so do servers ask that are open to all.
            "unix" => Some(format!("unix\0{} users\0", self.user).into_bytes()),
            "host" => Some(b"host\0localhost\0".to_vec()),
            "ztn" if self.tls => {
                let token = self.token?.trim();
                let length = u16::try_from(token.len() + 1).ok().filter(|_| token.len() <= TOKEN_BYTES)?;
                let mut proof = b"ztn\0\0T\0\0".to_vec();
                proof.extend_from_slice(&length.to_be_bytes());
                proof.extend_from_slice(token.as_bytes());
                proof.push(0);
                Some(proof)
            }
            _ => None,
        }
    }
}

/// The error of a server that none of our proofs convinced.
pub(super) fn unproved(server: &str, offers: &[Offer], means: &Means<'_>) -> Error {
    let token = match (means.token.is_some(), means.tls) {
        (true, false) => "; the token is shown over TLS alone",
        _ => "",
    };
    Error::new(ErrorKind::Denied, format!("{server}{WANTS}{}{HERE}{token}", names(offers)))
}

/// The server that let nobody in, and the proofs among those that it takes which nothing here can give: `gsi`, `krb5` and the like.
/// None of any other error, nor of a server that takes nothing but names and tokens.
///
/// # Example
///
/// ```
/// use sapwood::io::Store;
/// use sapwood_store::{NetOptions, XrootdStore, unknown_proofs};
/// use sapwood_testkit::xrootd_server::{Conduct, XrootdServer};
/// let conduct = Conduct { offers: "&P=gsi,v:10600&P=krb5,host", believes: "gsi", ..Conduct::default() };
/// let server = XrootdServer::start("hello", conduct);
/// let error = XrootdStore::new(&server.url(), &NetOptions::default())?.ends(5, 0).unwrap_err();
/// assert_eq!(unknown_proofs(&error), Some((&*server.address().to_string(), vec!["gsi", "krb5"])));
/// # Ok::<(), sapwood::Error>(())
/// ```
pub fn unknown_proofs(error: &Error) -> Option<(&str, Vec<&str>)> {
    let (server, rest) = error.message().split_once(WANTS)?;
    let (offers, _) = rest.split_once(HERE)?;
    let unknown: Vec<&str> = offers.split(", ").filter(|name| !matches!(*name, "unix" | "host" | "ztn" | "")).collect();
    (error.kind() == ErrorKind::Denied && !unknown.is_empty()).then_some((server, unknown))
}

/// The offers in words.
fn names(offers: &[Offer]) -> String {
    offers.iter().map(|offer| offer.name.as_str()).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proofs_are_as_servers_want_them_and_tokens_are_for_tls_alone() {
        let offer = |name: &str| Offer { name: name.into() };
        let means = |tls, token| Means { user: "me", token, tls };
        assert_eq!(means(false, None).proof(&offer("unix")).unwrap(), b"unix\0me users\0");
        assert_eq!(means(true, Some(" ab\n")).proof(&offer("ztn")).unwrap(), b"ztn\0\0T\0\0\0\x03ab\0");
        assert_eq!(means(false, Some("ab")).proof(&offer("ztn")), None);
        assert_eq!(means(true, None).proof(&offer("ztn")), None);
        let long = "x".repeat(5_000);
        assert_eq!(means(true, Some(&long)).proof(&offer("ztn")), None);
        assert_eq!(means(true, Some("ab")).proof(&offer("gsi")), None);
        assert_eq!(names(&[offer("gsi"), offer("krb5")]), "gsi, krb5");
        let wanted = |names: &[&str]| {
            let offers: Vec<Offer> = names.iter().map(|name| offer(name)).collect();
            unproved("host:1", &offers, &means(false, Some("ab")))
        };
        assert_eq!(unknown_proofs(&wanted(&["ztn", "gsi", "unix", "krb5"])), Some(("host:1", vec!["gsi", "krb5"])));
        assert_eq!(unknown_proofs(&wanted(&["ztn", "unix", "host"])), None);
        assert_eq!(unknown_proofs(&wanted(&[])), None);
        assert_eq!(unknown_proofs(&Error::new(ErrorKind::Denied, "host:1 says: no")), None);
    }
}
