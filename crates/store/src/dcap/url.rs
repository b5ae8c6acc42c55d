//! Where a file is: the parts of a URL.

use sapwood::{Error, Result};

use crate::secrets::redact;

/// The port of doors that name none.
const PORT: u16 = 22125;
/// A URL that is longer is none: a door takes no line of such a length.
const URL_BYTES: usize = 4 << 10;

/// A file behind a door.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DcapUrl {
    /// Without brackets, in lower case.
    pub(super) host: String,
    pub(super) port: u16,
    /// Without the slash that it begins with.
    path: String,
}

impl DcapUrl {
    /// The parts of a URL. The path is what stands there, character by character, as `dccp` has it: `%20` is no space.
    pub(super) fn parse(url: &str) -> Result<Self> {
        let wrong = |what: &'static str| Error::mismatch(what).in_file(redact(url));
        if url.len() > URL_BYTES || url.chars().any(char::is_control) {
            return Err(wrong("malformed URL"));
        }
        let rest = match url.split_once("://") {
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("dcap") => rest,
            _ => return Err(wrong("the URL is not of dcap://")),
        };
        let (at, path) = rest.split_once('/').ok_or_else(|| wrong("the URL names no file"))?;
        if at.contains('@') {
            return Err(wrong("the URL names a user, and dcap:// asks for none"));
        }
        let (host, port) = match at.strip_prefix('[') {
            Some(at) => at.split_once(']').ok_or_else(|| wrong("malformed host in the URL"))?,
            None => at.split_at(at.find(':').unwrap_or(at.len())),
        };
        let port = match port.strip_prefix(':') {
            Some(digits) => digits.parse().ok().filter(|port| *port > 0),
            None if port.is_empty() => Some(PORT),
            None => None,
        };
        let port = port.ok_or_else(|| wrong("malformed port in the URL"))?;
        if host.is_empty() {
            return Err(wrong("the URL names no host"));
        }
        let path = path.trim_start_matches('/');
        if path.is_empty() {
            return Err(wrong("the URL names no file"));
        }
        Ok(Self { host: host.to_ascii_lowercase(), port, path: path.to_owned() })
    }

    /// Host and port of the door, for messages.
    pub(super) fn door(&self) -> String {
        let Self { host, port, .. } = self;
        if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
    }

    /// The file's name.
    pub(super) fn name(&self) -> String {
        format!("dcap://{}/{}", self.door(), self.path)
    }

    /// The URL that the door is asked for: nothing in it ends a word of a line, or means something in a URL.
    pub(super) fn encoded(&self) -> String {
        let mut url = format!("dcap://{}/", self.door());
        for byte in self.path.bytes() {
            if byte.is_ascii_alphanumeric() || b"-_.~/".contains(&byte) {
                url.push(byte.into());
            } else {
                url.push_str(&format!("%{byte:02X}"));
            }
        }
        url
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_have_parts() {
        let place = DcapUrl::parse("dcap://Door.example.org/pnfs/a b%20\"c.root").unwrap();
        assert_eq!((&*place.host, place.port), ("door.example.org", 22125));
        assert_eq!(place.encoded(), "dcap://door.example.org:22125/pnfs/a%20b%2520%22c.root");
        let place = DcapUrl::parse("DCAP://[::1]:7//a").unwrap();
        assert_eq!((&*place.host, &*place.door(), &*place.name()), ("::1", "[::1]:7", "dcap://[::1]:7/a"));
        for wrong in [
            "dcap://a",
            "dcap:///a",
            "dcap://a/",
            "dcap://a:x/b",
            "dcap://a:0/b",
            "dcap://[a/b",
            "dcap://u@a/b",
            "dcap://a/b\n",
        ] {
            assert!(DcapUrl::parse(wrong).is_err(), "{wrong}");
        }
    }
}
