//! Where a file is: the given URL, where it redirects to, and the secrets that only the given host may see.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::BoxFuture;
use reqwest::header::{AUTHORIZATION, COOKIE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, Request, StatusCode, Url};
use sapwood::{Error, Result};

use crate::NetOptions;
use crate::net::{Link, RequestError};
use crate::secrets::{Secrets, redact};

/// Makes the requests for files that cannot be asked for by their URL alone.
pub(crate) trait Signer: fmt::Debug + Send + Sync {
    /// A request for the file, or for one range of it, with its credentials.
    fn sign<'a>(
        &'a self,
        link: &'a Link,
        method: &'a Method,
        ranges: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Request, RequestError>>;

    /// Whether a refusal says something by which the next request goes better.
    fn learn(&self, link: &Link, status: StatusCode, headers: &HeaderMap) -> bool;

    /// Whether the last bytes of a file can be asked for without its length.
    fn knows_suffixes(&self) -> bool;
}

/// A file on a server.
pub(crate) struct Target {
    /// The URL as it was named, without secrets: for messages and for identities. Where a server sends us is often good
    /// for one visit only, and holds a ticket.
    pub(crate) name: Arc<str>,
    origin: Url,
    /// For every host.
    open: HeaderMap,
    /// For the host that was named.
    secret: HeaderMap,
    /// Name and password of the URL, for the host that was named.
    login: Option<(String, Option<String>)>,
    /// Where the last answer came from, if it came from elsewhere.
    moved: Mutex<Option<Url>>,
    /// Makes the requests for files that need a signature.
    pub(crate) signer: Option<Arc<dyn Signer>>,
    /// Whether a redirection from https to http is followed.
    pub(crate) insecure_redirects: bool,
    /// What errors must not say.
    pub(crate) secrets: Secrets,
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // URLs and logins hold secrets.
        f.debug_struct("Target").field("name", &self.name).field("signer", &self.signer).finish_non_exhaustive()
    }
}

impl Target {
    pub(crate) fn new(url: &str, options: &NetOptions) -> Result<Self> {
        let shown = || redact(url).into_owned();
        let mut origin =
            Url::parse(url).map_err(|error| Error::mismatch("malformed URL").because(error).in_file(shown()))?;
        if !origin.has_host() {
            return Err(Error::mismatch("the URL names no host").in_file(shown()));
        }
        let login = (!origin.username().is_empty() || origin.password().is_some()).then(|| {
            let plain = |text: &str| percent_decoded(text);
            (plain(origin.username()), origin.password().map(plain))
        });
        // Both work for every URL with a host.
        let _ = origin.set_username("");
        let _ = origin.set_password(None);
        origin.set_fragment(None);
        let (mut open, mut secret) = (HeaderMap::new(), HeaderMap::new());
        for (name, value) in &options.headers {
            let wrong = || Error::mismatch(format!("malformed header {name:?}"));
            let name = HeaderName::try_from(name).map_err(|_| wrong())?;
            let mut value = HeaderValue::try_from(value).map_err(|_| wrong())?;
            let is_secret = name == AUTHORIZATION || name == COOKIE;
            value.set_sensitive(is_secret);
            if is_secret {
                secret.append(name, value)
            } else {
                open.append(name, value)
            };
        }
        if let Some(token) = &options.token {
            let value = HeaderValue::try_from(format!("Bearer {}", token.trim()));
            let mut value = value.map_err(|_| Error::mismatch("the token is no text that a header may hold"))?;
            value.set_sensitive(true);
            secret.insert(AUTHORIZATION, value);
        }
        let login = login.filter(|_| !secret.contains_key(AUTHORIZATION));
        let name = redact(origin.as_str()).into();
        let (secrets, insecure_redirects) = (Secrets::of(url, options), options.insecure_redirects);
        let (moved, signer) = Default::default();
        Ok(Self { name, origin, open, secret, login, moved, signer, insecure_redirects, secrets })
    }

    /// A file that is asked for by requests of `signer`.
    #[cfg(feature = "clouds")]
    pub(crate) fn signed(name: Arc<str>, origin: Url, signer: Arc<dyn Signer>) -> Self {
        let (open, secret, login, moved, secrets) = Default::default();
        let (signer, insecure_redirects) = (Some(signer), false);
        Self { name, origin, open, secret, login, moved, signer, insecure_redirects, secrets }
    }

    /// Where to ask next, and whether that is elsewhere than was named.
    pub(crate) fn place(&self) -> (Url, bool) {
        match &*self.moved.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(moved) => (moved.clone(), true),
            None => (self.origin.clone(), false),
        }
    }

    /// An answer came from here.
    pub(crate) fn found_at(&self, url: &Url) {
        let elsewhere = (*url != self.origin).then(|| url.clone());
        *self.moved.lock().unwrap_or_else(PoisonError::into_inner) = elsewhere;
    }

    /// What was there is there no more.
    pub(crate) fn lost(&self) {
        *self.moved.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// A request with the headers that `url` may see: secrets go to the same scheme, host and port as were named, and
    /// nowhere else.
    pub(crate) fn dress(&self, url: &Url, mut request: reqwest::RequestBuilder) -> reqwest::RequestBuilder {
        request = request.headers(self.open.clone());
        if url.origin() == self.origin.origin() {
            request = request.headers(self.secret.clone());
            if let Some((name, password)) = &self.login {
                request = request.basic_auth(name, password.as_ref());
            }
        }
        request
    }
}

/// Host and port, for messages and for counting.
pub(crate) fn host(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

fn percent_decoded(text: &str) -> String {
    let (mut bytes, mut rest) = (Vec::new(), text.as_bytes());
    while let [first, tail @ ..] = rest {
        let code = tail.get(..2).filter(|_| *first == b'%').and_then(|code| std::str::from_utf8(code).ok());
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = tail.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(target: &Target, url: &str) -> Vec<String> {
        let url = Url::parse(url).unwrap();
        let request = target.dress(&url, client().get(url.clone())).build().unwrap();
        request.headers().keys().map(ToString::to_string).collect()
    }

    fn client() -> reqwest::Client {
        crate::net::link(&NetOptions::default()).unwrap().client
    }

    #[test]
    fn secrets_go_to_the_host_that_was_named_and_nowhere_else() {
        let options = NetOptions {
            token: Some("t".into()),
            headers: vec![("cookie".into(), "c".into()), ("x-mine".into(), "m".into())],
            ..NetOptions::default()
        };
        let target = Target::new("https://a.org/f.root", &options).unwrap();
        assert_eq!(headers(&target, "https://a.org:443/elsewhere").len(), 3);
        for other in ["http://a.org/f.root", "https://a.org:8443/f.root", "https://b.org/f.root", "https://x.a.org/"] {
            assert_eq!(headers(&target, other), ["x-mine"], "{other}");
        }
    }

    #[test]
    fn a_login_of_the_url_is_sent_and_never_shown() {
        let target = Target::new("http://me:p%40ss@a.org/f.root#x", &NetOptions::default()).unwrap();
        assert_eq!(&*target.name, "http://a.org/f.root");
        assert_eq!(headers(&target, "http://a.org/f.root"), ["authorization"]);
        assert_eq!(headers(&target, "http://b.org/f.root"), [""; 0]);
        assert_eq!(percent_decoded("p%40s%zz%"), "p@s%zz%");
    }

    #[test]
    fn invalid_options_are_errors() {
        let with = |name: &str, value: &str| NetOptions {
            headers: vec![(name.into(), value.into())],
            ..NetOptions::default()
        };
        assert!(Target::new("http://a.org/", &with("a b", "c")).is_err());
        assert!(Target::new("http://a.org/", &with("a", "c\r\nd: e")).is_err());
        assert!(Target::new("http://", &NetOptions::default()).is_err());
    }
}
