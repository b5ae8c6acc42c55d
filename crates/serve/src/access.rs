//! Access: the token that a client presents, and what is presented to the upstream for it.

use std::fmt;

use hyper::HeaderMap;
use hyper::header::AUTHORIZATION;
use sapwood::{Error, Result};
use sapwood_store::NetOptions;

/// Longer tokens are none.
const MOST_BYTES: usize = 16 << 10;

/// What a client presents. It is part of the key of an open file, so that no client reads what the upstream allows
/// another one.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) enum Secret {
    /// Nothing, or nothing that is passed on.
    None,
    /// A proof that this proxy accepts: it reads with its own rights for this client.
    Own,
    /// The value of `Authorization`.
    Passed(String),
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "None",
            Self::Own => "Own",
            Self::Passed(_) => "Passed",
        })
    }
}

/// The rules.
pub(crate) struct Access {
    /// What has to be shown here.
    token: Option<String>,
    /// Whether the upstream decides by what clients show.
    passes: bool,
    /// How the proxy reads for clients that it knows,
    own: NetOptions,
    /// and for all others, who would otherwise read with its rights.
    anonymous: NetOptions,
}

impl Access {
    /// `passes` where the upstream is a server.
    pub(crate) fn new(token: Option<&str>, net: &NetOptions, passes: bool) -> Result<Self> {
        let token = token.map(|token| token.trim().to_owned());
        if token.as_ref().is_some_and(|token| token.is_empty() || token.len() > MOST_BYTES) {
            return Err(Error::mismatch("the token that clients have to present is empty, or too long"));
        }
        let own = NetOptions { cache: None, ..net.clone() };
        let anonymous = own.clone().anonymous();
        let passes = passes && token.is_none();
        Ok(Self { token, passes, own, anonymous })
    }

    /// Whether clients have to present a token.
    pub(crate) fn needs_token(&self) -> bool {
        self.token.is_some()
    }

    /// Whether tokens of clients are passed on to the upstream.
    pub(crate) fn passes(&self) -> bool {
        self.passes
    }

    /// Rights of a client that presents this token; `None` if another one is required.
    pub(crate) fn admit_token(&self, shown: &str) -> Option<Secret> {
        match &self.token {
            Some(token) => same(shown.as_bytes(), token.as_bytes()).then_some(Secret::Own),
            None if self.passes => Some(Secret::Passed(format!("Bearer {shown}"))),
            None => Some(Secret::None),
        }
    }

    /// What the client presents; none where it is not the token that this proxy requires.
    pub(crate) fn admit(&self, headers: &HeaderMap) -> Option<Secret> {
        let shown = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok()).map(str::trim);
        if let Some(token) = &self.token {
            return same(bearer(shown?)?.as_bytes(), token.as_bytes()).then_some(Secret::Own);
        }
        match shown {
            // One that cannot be passed on is refused: without it the client might read what others may.
            None if headers.contains_key(AUTHORIZATION) => None,
            Some(shown) if self.passes && !shown.is_empty() => Some(Secret::Passed(shown.to_owned())),
            _ => Some(Secret::None),
        }
    }

    /// Options for reading the upstream on behalf of a client.
    pub(crate) fn net(&self, secret: &Secret) -> NetOptions {
        let Secret::Passed(shown) = secret else {
            return if *secret == Secret::Own { self.own.clone() } else { self.anonymous.clone() };
        };
        let mut net = self.anonymous.clone();
        match bearer(shown) {
            Some(token) => net.token = Some(token.to_owned()),
            None => net.headers.push(("Authorization".to_owned(), shown.clone())),
        }
        net
    }
}

/// The token of a header.
fn bearer(shown: &str) -> Option<&str> {
    let (scheme, token) = shown.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// Whether both are the same, in a time that does not tell where they differ.
fn same(one: &[u8], two: &[u8]) -> bool {
    one.len() == two.len() && one.iter().zip(two).fold(0, |differ, (a, b)| differ | (a ^ b)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(value: &[u8]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        if !value.is_empty() {
            headers.insert(AUTHORIZATION, hyper::header::HeaderValue::from_bytes(value).unwrap());
        }
        headers
    }

    #[test]
    fn a_token_is_checked_or_passed_on_and_never_both() {
        let own =
            NetOptions { token: Some("mine".into()), certificate: Some("mine.pem".into()), ..NetOptions::default() };
        let checks = Access::new(Some("sesame\n"), &own, true).unwrap();
        assert!(checks.admit(&with(b"bearer  sesame")) == Some(Secret::Own));
        assert!(checks.admit_token("sesame") == Some(Secret::Own) && checks.admit_token("sesam").is_none());
        for wrong in [&b""[..], b"sesame", b"Bearer sesam", b"Bearer sesame2", b"Basic sesame", b"Bearer \xff"] {
            assert!(checks.admit(&with(wrong)).is_none());
        }
        assert_eq!(checks.net(&Secret::Own).token.as_deref(), Some("mine"));
        assert_eq!(checks.net(&Secret::None).token, None);
        let passes = Access::new(None, &own, true).unwrap();
        let anonymous = passes.net(&passes.admit(&with(b"")).unwrap());
        assert_eq!((anonymous.token, anonymous.certificate), (None, None), "no client reads with the proxy's rights");
        assert_eq!(passes.net(&passes.admit(&with(b"Bearer client")).unwrap()).token.as_deref(), Some("client"));
        let basic = passes.net(&passes.admit(&with(b"Basic eDp5")).unwrap());
        assert_eq!((basic.token, &*basic.headers[0].1), (None, "Basic eDp5"));
        assert!(passes.admit(&with(b"Bearer \xff")).is_none());
        assert!(passes.admit_token("client") == Some(Secret::Passed("Bearer client".into())));
        assert!(Access::new(Some(" "), &own, true).is_err());
    }
}
