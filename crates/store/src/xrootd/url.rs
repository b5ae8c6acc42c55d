//! Where a file is: the parts of a URL, and how redirections change them.

use sapwood::{Error, Result};

use super::wire::Forward;
use crate::secrets::redact;

/// The port of servers that name none.
const PORT: u16 = 1094;
/// A URL that is longer is none.
const URL_BYTES: usize = 8 << 10;

/// A server, and as whom it is spoken to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Server {
    /// Nothing but TLS will do.
    pub(crate) tls: bool,
    pub(crate) user: String,
    /// Without brackets, in lower case.
    pub(crate) host: String,
    pub(crate) port: u16,
}

/// A file on a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct XrootdUrl {
    pub(crate) server: Server,
    pub(crate) path: String,
    /// What is sent along with the path, without the question mark.
    pub(crate) cgi: String,
}

impl Server {
    /// Host and port, for messages.
    pub(crate) fn name(&self) -> String {
        let Self { host, port, .. } = self;
        if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
    }
}

impl XrootdUrl {
    /// The parts of a URL.
    pub(crate) fn parse(url: &str) -> Result<Self> {
        let wrong = |what: &'static str| Error::mismatch(what).in_file(redact(url));
        if url.len() > URL_BYTES || url.chars().any(char::is_control) {
            return Err(wrong("malformed URL"));
        }
        let (scheme, rest) = url.split_once("://").ok_or_else(|| wrong("the URL names no scheme"))?;
        let tls = match scheme.to_ascii_lowercase().as_str() {
            "root" | "xroot" => false,
            "roots" | "xroots" => true,
            _ => return Err(wrong("the URL is not of root:// or roots://")),
        };
        let (who, path) = rest.split_once('/').ok_or_else(|| wrong("the URL names no file"))?;
        let (user, at) = who.rsplit_once('@').unwrap_or(("", who));
        let user = user.split(':').next().unwrap_or_default();
        let (host, port) = split_port(at).ok_or_else(|| wrong("malformed port in the URL"))?;
        if host.is_empty() {
            return Err(wrong("the URL names no host"));
        }
        let (path, cgi) = path.split_once('?').unwrap_or((path, ""));
        if path.is_empty() {
            return Err(wrong("the URL names no file"));
        }
        let host = host.to_ascii_lowercase();
        let server = Server { tls, user: user.to_owned(), host, port: port.unwrap_or(PORT) };
        Ok(Self { server, path: path.to_owned(), cgi: cgi.trim_start_matches('&').to_owned() })
    }

    /// What a server is asked for.
    pub(crate) fn path_with_cgi(&self) -> String {
        if self.cgi.is_empty() { self.path.clone() } else { format!("{}?{}", self.path, self.cgi) }
    }

    /// Where a redirection leads. TLS is never given up on the way.
    pub(crate) fn follow(&self, forward: &Forward) -> Result<Self> {
        let Some(port) = forward.port else {
            let mut place = Self::parse(&forward.to).map_err(|error| {
                Error::mismatch(format!("{}: malformed redirect", self.server.name())).because(error)
            })?;
            place.server.tls |= self.server.tls;
            if place.server.user.is_empty() {
                place.server.user.clone_from(&self.server.user);
            }
            place.cgi = merged(&self.cgi, &place.cgi);
            return Ok(place);
        };
        let wrong = || Error::mismatch(format!("{}: malformed redirect to {:?}", self.server.name(), forward.to));
        let (host, own) = split_port(&forward.to).ok_or_else(wrong)?;
        if host.is_empty() || host.contains(['/', '@']) {
            return Err(wrong());
        }
        let port = if port > 0 { port } else { own.unwrap_or(PORT) };
        let server = Server { host: host.to_ascii_lowercase(), port, ..self.server.clone() };
        Ok(Self { server, path: self.path.clone(), cgi: merged(&self.cgi, &forward.opaque) })
    }

    /// The same file, from other servers than these if there are any.
    pub(crate) fn without(&self, tried: &[Tried]) -> Self {
        if tried.is_empty() {
            return self.clone();
        }
        let list = |of: fn(&Tried) -> &str| tried.iter().map(of).collect::<Vec<_>>().join(",");
        let said = format!("tried={}&triedrc={}", list(|one| &one.host), list(|one| one.why));
        Self { cgi: merged(&self.cgi, &said), ..self.clone() }
    }
}

/// A server that did not do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tried {
    pub(crate) host: String,
    /// A word of the protocol.
    pub(crate) why: &'static str,
}

/// Whether a token for `named` may be shown to `other`: to the host itself, and over TLS to hosts of the same domain.
/// The data servers of a cluster stand behind its manager.
pub(crate) fn may_see_token(named: &Server, other: &Server, tls_all_along: bool) -> bool {
    fn domain(host: &str) -> Option<&str> {
        let (_, domain) = host.split_once('.')?;
        let is_name = !host.contains(':') && host.bytes().any(|byte| byte.is_ascii_alphabetic());
        (is_name && domain.contains('.')).then_some(domain)
    }
    let same_domain = domain(&named.host).is_some_and(|domain_of| Some(domain_of) == domain(&other.host));
    named.host == other.host || (tls_all_along && same_domain)
}

/// A host, with or without a port behind it.
fn split_port(text: &str) -> Option<(&str, Option<u16>)> {
    if let Some(rest) = text.strip_prefix('[') {
        let (host, after) = rest.split_once(']')?;
        return match after.strip_prefix(':') {
            Some(port) => Some((host, Some(port.parse().ok()?))),
            None => after.is_empty().then_some((host, None)),
        };
    }
    match text.rsplit_once(':') {
        // An IPv6 address without brackets.
        Some((host, _)) if host.contains(':') => Some((text, None)),
        Some((host, port)) => Some((host, Some(port.parse().ok()?))),
        None => Some((text, None)),
    }
}

/// Both sets of `key=value`; where both have a key, the second counts.
fn merged(first: &str, second: &str) -> String {
    let pairs = |text: &str| -> Vec<String> { text.split('&').filter(|one| !one.is_empty()).map(Into::into).collect() };
    let key = |pair: &str| pair.split('=').next().unwrap_or_default().to_owned();
    let new = pairs(second);
    let kept = pairs(first).into_iter().filter(|pair| !new.iter().any(|other| key(other) == key(pair)));
    let all: Vec<String> = kept.chain(new.iter().cloned()).collect();
    all.join("&")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_have_parts() {
        let place = XrootdUrl::parse("root://Host.org//data/a.root?x=1&y=2").unwrap();
        assert_eq!((place.server.name().as_str(), place.server.tls), ("host.org:1094", false));
        assert_eq!((&*place.path, &*place.cgi), ("/data/a.root", "x=1&y=2"));
        assert_eq!(place.path_with_cgi(), "/data/a.root?x=1&y=2");
        let place = XrootdUrl::parse("ROOTS://me:pw@[::1]:99//a").unwrap();
        assert_eq!((place.server.name().as_str(), &*place.server.user, place.server.tls), ("[::1]:99", "me", true));
        assert_eq!(XrootdUrl::parse("xroot://h/pool:a").unwrap().path, "pool:a");
        for wrong in ["root://h", "root:///a", "root://h:99999//a", "root://h:x//a", "http://h//a", "root://h/", "h//a"]
        {
            assert!(XrootdUrl::parse(wrong).is_err(), "{wrong}");
        }
        assert!(XrootdUrl::parse("root://h//a\nb").is_err());
    }

    #[test]
    fn redirections_keep_the_path_and_tls_and_merge_what_is_sent_along() {
        let place = XrootdUrl::parse("roots://me@a.org//x?k=1&authz=t").unwrap();
        let to = |port, to: &str, opaque: &str| {
            place.follow(&Forward { port, to: to.into(), opaque: opaque.into(), ticket: String::new() })
        };
        let next = to(Some(7), "B.org", "k=2&z=3").unwrap();
        assert_eq!((next.server.name().as_str(), next.server.tls, &*next.server.user), ("b.org:7", true, "me"));
        assert_eq!(next.path_with_cgi(), "/x?authz=t&k=2&z=3");
        assert_eq!(to(Some(0), "[::1]:5", "").unwrap().server.name(), "[::1]:5");
        assert_eq!(to(Some(9), "2001:db8::1", "").unwrap().server.name(), "[2001:db8::1]:9");
        let next = to(None, "root://c.org:2//y?n=1", "").unwrap();
        assert_eq!((next.server.tls, next.path_with_cgi()), (true, "/y?k=1&authz=t&n=1".into()));
        assert!(to(Some(1), "a/b", "").is_err() && to(None, "http://c.org/", "").is_err());
    }

    #[test]
    fn failed_servers_are_named() {
        let place = XrootdUrl::parse("root://a//x?k=1&tried=z").unwrap();
        let tried = |host: &str, why| Tried { host: host.into(), why };
        let next = place.without(&[tried("b", "enoent"), tried("c", "ioerr")]);
        assert_eq!(next.path_with_cgi(), "/x?k=1&tried=b,c&triedrc=enoent,ioerr");
        assert_eq!(place.without(&[]), place);
    }

    #[test]
    fn tokens_stay_in_the_domain() {
        let server = |host: &str| XrootdUrl::parse(&format!("root://{host}//x")).unwrap().server;
        let named = server("door.grid.org");
        assert!(may_see_token(&named, &server("DOOR.grid.org:99"), false));
        assert!(may_see_token(&named, &server("pool1.grid.org"), true));
        assert!(!may_see_token(&named, &server("pool1.grid.org"), false));
        assert!(!may_see_token(&named, &server("evil.org"), true));
        assert!(!may_see_token(&server("a.org"), &server("b.org"), true), "a top domain is no domain");
        assert!(!may_see_token(&server("10.0.0.1"), &server("9.0.0.1"), true));
        assert!(!may_see_token(&server("localhost"), &server("other"), true));
    }
}
