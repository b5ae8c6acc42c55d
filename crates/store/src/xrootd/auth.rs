//! Proof of who is there: what a server offers, and what we have.

use super::wire::Offer;

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

/// The offers in words.
pub(super) fn names(offers: &[Offer]) -> String {
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
    }
}
