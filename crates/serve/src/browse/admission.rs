//! Which requests are answered: those of programs of this machine that know the token.
//!
//! A page from elsewhere can send requests to this address, and its owner can give a name of its own this address. It
//! does not know the token, which is a part of every path; and a browser says in each request to which host it goes and
//! which site asks.

use std::fmt::Write;
use std::io::Read;

use hyper::header::{HOST, HeaderName, ORIGIN};
use hyper::{Method, Request, StatusCode};
use sapwood::Result;

/// Bytes of a token: more than can be guessed.
const TOKEN_BYTES: usize = 24;

/// What may be asked.
pub(super) struct Admission {
    token: String,
    /// Opens the program of the frame of jsroot, which holds nothing of any file. The frame knows this alone: what runs
    /// in it is steered by the file that it draws.
    frame_key: String,
    /// The names of this server, with its port.
    hosts: [String; 3],
}

/// A request that may be answered.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Admitted {
    /// For a path below the token.
    Path(String),
    /// For a path below the key of the frame.
    Frame(String),
}

/// Why a request is not answered.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Refused {
    pub(super) status: StatusCode,
    pub(super) words: &'static str,
}

impl Admission {
    pub(super) fn new(port: u16) -> Result<Self> {
        Ok(Self {
            token: random()?,
            frame_key: random()?,
            hosts: ["127.0.0.1", "localhost", "[::1]"].map(|name| format!("{name}:{port}")),
        })
    }

    /// What stands before all paths.
    pub(super) fn prefix(&self) -> String {
        format!("/{}/", self.token)
    }

    /// What stands before the paths of the frame of jsroot.
    pub(super) fn frame_prefix(&self) -> String {
        format!("/{}/", self.frame_key)
    }

    /// Looks at everything of a request but what it asks for.
    pub(super) fn admit<B>(&self, request: &Request<B>) -> std::result::Result<Admitted, Refused> {
        let refuse = |status, words| Err(Refused { status, words });
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            return refuse(StatusCode::METHOD_NOT_ALLOWED, "files are read only: GET and HEAD");
        }
        let text = |name: HeaderName| request.headers().get(name).map(|value| value.to_str().unwrap_or("?"));
        let host = text(HOST).unwrap_or_default();
        if !self.hosts.iter().any(|known| known == host) {
            return refuse(StatusCode::MISDIRECTED_REQUEST, "this is no name of the browser's host");
        }
        let path = request.uri().path();
        let below = path[1.min(path.len())..].split_once('/');
        let admitted = match below {
            // The frame has no origin, so each of its requests is of another one.
            Some((key, below)) if is_same(key, &self.frame_key) => return Ok(Admitted::Frame(below.to_owned())),
            Some((token, below)) if is_same(token, &self.token) => Admitted::Path(below.to_owned()),
            _ => return refuse(StatusCode::FORBIDDEN, "the address lacks the token that `sapwood browse` printed"),
        };
        if text(ORIGIN).is_some_and(|origin| origin.strip_prefix("http://") != Some(host)) {
            return refuse(StatusCode::FORBIDDEN, "pages of other origins are not answered");
        }
        let fetch = |name| text(HeaderName::from_static(name));
        let is_own = fetch("sec-fetch-site").is_none_or(|site| matches!(site, "same-origin" | "none"));
        // A link in another page opens this one; it cannot look into it.
        let is_link = fetch("sec-fetch-mode") == Some("navigate") && fetch("sec-fetch-dest") == Some("document");
        let is_answered = is_own || (is_link && admitted == Admitted::Path(String::new()));
        if !is_answered {
            return refuse(StatusCode::FORBIDDEN, "pages of other sites are not answered");
        }
        Ok(admitted)
    }
}

/// Whether both are the same, in a time that does not tell where they differ.
fn is_same(one: &str, two: &str) -> bool {
    one.len() == two.len() && one.bytes().zip(two.bytes()).fold(0, |differ, (a, b)| differ | (a ^ b)) == 0
}

/// Letters and digits that cannot be guessed.
fn random() -> Result<String> {
    let mut bytes = [0_u8; TOKEN_BYTES];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(admission: &Admission, path: &str, headers: &[(&str, &str)]) -> std::result::Result<Admitted, StatusCode> {
        let mut request = Request::get(path);
        if !headers.iter().any(|(name, _)| *name == "host") {
            request = request.header("host", "127.0.0.1:80");
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        admission.admit(&request.body(()).unwrap()).map_err(|refused| refused.status)
    }

    #[test]
    fn only_who_knows_the_token_is_answered() {
        let admission = Admission::new(80).unwrap();
        let at = |below: &str| format!("{}{below}", admission.prefix());
        assert_eq!(ask(&admission, &at("api/list"), &[]), Ok(Admitted::Path("api/list".into())));
        assert_eq!(ask(&admission, &at(""), &[("host", "localhost:80")]), Ok(Admitted::Path(String::new())));
        let wrong = format!("/{}/", "0".repeat(2 * TOKEN_BYTES));
        for path in ["/", "/api/list", &wrong, admission.prefix().trim_end_matches('/')] {
            assert_eq!(ask(&admission, path, &[]), Err(StatusCode::FORBIDDEN), "{path}");
        }
        assert_ne!(Admission::new(80).unwrap().prefix(), admission.prefix());
    }

    #[test]
    fn other_hosts_and_other_sites_are_refused() {
        let admission = Admission::new(80).unwrap();
        let page = admission.prefix();
        let list = format!("{page}api/list");
        for host in ["evil.example", "evil.example:80", "127.0.0.1:81", "", "127.0.0.1:80.evil.example"] {
            assert_eq!(ask(&admission, &list, &[("host", host)]), Err(StatusCode::MISDIRECTED_REQUEST), "{host}");
        }
        for origin in ["http://evil.example", "null", "https://127.0.0.1:80", "http://localhost:80"] {
            assert_eq!(ask(&admission, &list, &[("origin", origin)]), Err(StatusCode::FORBIDDEN), "{origin}");
        }
        assert!(
            ask(&admission, &list, &[("origin", "http://127.0.0.1:80"), ("sec-fetch-site", "same-origin")]).is_ok()
        );
        for site in ["cross-site", "same-site"] {
            assert_eq!(ask(&admission, &list, &[("sec-fetch-site", site)]), Err(StatusCode::FORBIDDEN));
            let link = [("sec-fetch-site", site), ("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "document")];
            assert!(ask(&admission, &page, &link).is_ok(), "a link opens the page");
            assert!(ask(&admission, &list, &link).is_err(), "and nothing else");
            assert!(ask(&admission, &page, &[link[0], link[1], ("sec-fetch-dest", "iframe")]).is_err());
        }
    }

    #[test]
    fn the_key_of_the_frame_opens_the_frame_alone() {
        let admission = Admission::new(80).unwrap();
        assert_ne!(admission.frame_prefix(), admission.prefix());
        let frame = format!("{}frame.js", admission.frame_prefix());
        assert_eq!(ask(&admission, &frame, &[("origin", "null")]), Ok(Admitted::Frame("frame.js".into())));
        assert_eq!(ask(&admission, &frame, &[("host", "evil.example")]), Err(StatusCode::MISDIRECTED_REQUEST));
        let page = format!("{}frame.js", admission.prefix());
        assert_eq!(ask(&admission, &page, &[("origin", "null")]), Err(StatusCode::FORBIDDEN));
    }

    #[test]
    fn nothing_is_written() {
        let admission = Admission::new(80).unwrap();
        let request = Request::post(admission.prefix()).header("host", "127.0.0.1:80").body(()).unwrap();
        assert_eq!(admission.admit(&request).unwrap_err().status, StatusCode::METHOD_NOT_ALLOWED);
    }
}
