//! Where files come from: a prefix of URLs, or a folder.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use sapwood::io::{ByteRange, Ends, Flow, Profile, Receive, Store};
use sapwood::{Error, Result};
use sapwood_store::{Listed, NetOptions, Provider, file_path, is_url, list, open_stored};

use crate::folder::Folder;
use crate::metrics::Metrics;
use crate::path::Path;

/// Files below one place.
pub(crate) struct Upstream {
    kind: Kind,
    /// Host and port, for messages.
    pub(crate) host: String,
}

enum Kind {
    Folder(Folder),
    /// Without a slash at its end.
    Http(String),
    /// With all slashes.
    Xrootd(String),
    /// Clouds and dCaches, where a name is what stands in the URL. Without a slash at its end.
    Literal(String),
}

impl Upstream {
    /// # Errors
    ///
    /// [`Mismatch`](sapwood::ErrorKind::Mismatch) for a URL that is no prefix, or holds a secret: any client that can
    /// reach the proxy would read with it.
    pub(crate) fn new(place: &str) -> Result<Self> {
        if let Some(path) = file_path(place) {
            let folder = Folder::open(&path.to_string_lossy())?;
            return Ok(Self { kind: Kind::Folder(folder), host: "a folder here".to_owned() });
        }
        let Some((scheme, rest)) = place.split_once("://").filter(|_| is_url(place)) else {
            return Ok(Self { kind: Kind::Folder(Folder::open(place)?), host: "a folder here".to_owned() });
        };
        let wrong = |words: String| Err(Error::mismatch(words));
        if rest.contains(['?', '#']) {
            return wrong("an upstream is a prefix of URLs: it has no question mark, and nothing behind it".to_owned());
        }
        let (authority, below) = rest.split_once('/').unwrap_or((rest, ""));
        let (user, host) = authority.rsplit_once('@').unwrap_or(("", authority));
        if host.is_empty() {
            return wrong("the upstream names no host".to_owned());
        }
        let host = host.to_owned();
        match scheme.to_ascii_lowercase().as_str() {
            "http" | "https" if !user.is_empty() => {
                wrong("the upstream has a name and a password in it; give the proxy a token instead".to_owned())
            }
            "http" | "https" => Ok(Self { kind: Kind::Http(place.trim_end_matches('/').to_owned()), host }),
            "root" | "roots" | "xroot" | "xroots" => {
                // Paths there are absolute: `root://host//store`.
                let below = format!("/{}", below.trim_matches('/'));
                let below = if below == "/" { String::new() } else { below };
                Ok(Self { kind: Kind::Xrootd(format!("{scheme}://{authority}/{below}")), host })
            }
            "dcap" if user.is_empty() => Ok(Self { kind: Kind::Literal(place.trim_end_matches('/').to_owned()), host }),
            "dcap" => wrong("the upstream has a name in it, and dcap:// asks for none".to_owned()),
            _ if Provider::of(place).is_some_and(|of| of != Provider::Azure) && !user.is_empty() => {
                wrong("the upstream has keys in it; give the proxy a token and the environment".to_owned())
            }
            _ if Provider::of(place).is_some() => {
                Ok(Self { kind: Kind::Literal(place.trim_end_matches('/').to_owned()), host })
            }
            other => {
                wrong(format!("{other}:// is no upstream: http, https, root, roots, dcap, clouds and folders are"))
            }
        }
    }

    /// Whether it is a server that decides by what clients show. Clouds do not: their credentials are never presented
    /// by clients. Nor does dcap://, which has no authentication.
    pub(crate) fn is_far(&self) -> bool {
        matches!(self.kind, Kind::Http(_) | Kind::Xrootd(_))
    }

    /// The store of a file, and its name. Nothing is asked of a server.
    pub(crate) fn store(&self, path: &Path, net: &NetOptions) -> Result<(Arc<dyn Store>, String)> {
        match &self.kind {
            Kind::Folder(folder) => folder.file(path),
            Kind::Http(prefix) => {
                let url = format!("{prefix}/{}", path.encoded());
                Ok((open_stored(&url, net)?, url))
            }
            Kind::Xrootd(prefix) => {
                let url = format!("{prefix}/{}", of_xrootd(path)?);
                Ok((open_stored(&url, net)?, url))
            }
            Kind::Literal(prefix) => {
                let url = format!("{prefix}/{}", path.names().join("/"));
                Ok((open_stored(&url, net)?, url))
            }
        }
    }

    /// The names in a folder.
    ///
    /// # Errors
    ///
    /// [`Unsupported`](sapwood::ErrorKind::Unsupported) if the upstream does not list its folders.
    pub(crate) fn list(&self, path: &Path, net: &NetOptions) -> Result<Vec<Listed>> {
        let (prefix, below) = match &self.kind {
            Kind::Folder(folder) => return folder.list(path),
            Kind::Http(prefix) => (prefix, path.encoded()),
            Kind::Xrootd(prefix) => (prefix, of_xrootd(path)?),
            Kind::Literal(prefix) => (prefix, path.names().join("/")),
        };
        let listed = list(&format!("{prefix}/{below}{}", if below.is_empty() { "" } else { "/" }), net)?;
        // Clouds have no folders: any name is that of an empty one.
        if listed.is_empty() && matches!(self.kind, Kind::Literal(_)) && !path.is_top() {
            return Err(Error::not_found("no file of the bucket has such a path"));
        }
        Ok(listed)
    }
}

/// A path as a URL of XRootD has it.
fn of_xrootd(path: &Path) -> Result<String> {
    // These mean something there, and cannot be encoded.
    if path.names().iter().any(|name| name.contains(['?', '#', '&', '%', ' '])) {
        return Err(Error::not_found("no file of root:// has such a name"));
    }
    Ok(path.names().join("/"))
}

/// Metrics what is asked of an upstream, and what comes.
pub(crate) struct Counted {
    pub(crate) inner: Arc<dyn Store>,
    pub(crate) metrics: Arc<Metrics>,
}

impl Counted {
    fn note<T>(&self, done: Result<T>) -> Result<T> {
        self.metrics.upstream_reads.add(1);
        if done.is_err() {
            self.metrics.upstream_errors.add(1);
        }
        done
    }
}

impl Store for Counted {
    fn ends(&self, head_bytes: usize, tail_bytes: usize) -> Result<Ends> {
        let ends = self.note(self.inner.ends(head_bytes, tail_bytes))?;
        self.metrics.upstream_bytes.add((ends.head.len() + ends.tail.len()) as u64);
        Ok(ends)
    }

    fn read_ranges(&self, ranges: &[ByteRange], into: &mut dyn Receive) -> Result<()> {
        let mut through = Through { metrics: &self.metrics, into };
        self.note(self.inner.read_ranges(ranges, &mut through))
    }

    fn profile(&self) -> Profile {
        self.inner.profile()
    }
}

struct Through<'a> {
    metrics: &'a Metrics,
    into: &'a mut dyn Receive,
}

impl Receive for Through<'_> {
    fn buffer(&self, bytes: usize) -> BytesMut {
        self.into.buffer(bytes)
    }

    fn deliver(&mut self, index: usize, bytes: Bytes) -> Flow {
        self.metrics.upstream_bytes.add(bytes.len() as u64);
        self.into.deliver(index, bytes)
    }

    fn stopped(&self) -> bool {
        self.into.stopped()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_join_the_prefix() {
        let name = |upstream: &str, path: &str| {
            let upstream = Upstream::new(upstream).unwrap();
            upstream.store(&Path::parse(path).unwrap(), &NetOptions::default()).map(|(_, name)| name)
        };
        assert_eq!(name("http://a:1/b/", "//c/d e").unwrap(), "http://a:1/b/c/d%20e");
        assert_eq!(name("https://a", "/c").unwrap(), "https://a/c");
        for prefix in ["root://a", "root://a/", "root://a//"] {
            assert_eq!(name(prefix, "/c/d").unwrap(), "root://a//c/d");
        }
        assert_eq!(name("roots://me@a:2//b/c/", "/d").unwrap(), "roots://me@a:2//b/c/d");
        assert!(name("root://a//b", "/c%3fd").is_err() && name("root://a//b", "/c%26d").is_err());
        assert_eq!(name("dcap://a:1/pnfs/", "/c/d%20e").unwrap(), "dcap://a:1/pnfs/c/d e");
        for wrong in [
            "http://",
            "http://a/b?c",
            "http://me:pass@a/",
            "s3://me:pass@b/",
            "dcap://me@a/",
            "gsidcap://a",
            "gopher://a",
            "/no/such/folder",
        ] {
            assert!(Upstream::new(wrong).is_err(), "{wrong}");
        }
        for folder in ["/tmp", "file:///tmp", "file:/tmp", "file://localhost/tmp"] {
            assert!(matches!(Upstream::new(folder).unwrap().kind, Kind::Folder(_)), "{folder}");
        }
        assert_eq!(Upstream::new("s3://bucket/b/").unwrap().host, "bucket");
        assert_eq!(Upstream::new("root://me@a:2//b").unwrap().host, "a:2");
    }
}
