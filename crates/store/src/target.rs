//! Files that are written to servers: finished on this machine first, then sent, checked and named.

use std::path::Path;
use std::sync::Arc;

use sapwood::io::{AtomicFile, Destination, LocalFile, Sink, Store};
use sapwood::{Error, ErrorKind, Result};

use crate::http::HttpUpload;
use crate::secrets::redact;
use crate::upload::{Finished, Remote, Step, exists};
use crate::url::{file_path, scheme};
use crate::xrootd::XrootdUpload;
use crate::{NetOptions, is_url};

/// Prepares to write a file to a path or a URL (`http://`, `https://`, `root://`, `roots://`, `file://`; with the
/// feature `clouds` also those of clouds). A file for a server is written among the temporary files of this machine.
/// [`publish`](AtomicFile::publish) sends it, compares length, checksum or both ends with what the server has, and only
/// then gives it its name; where a server cannot rename, the whole file is one request that the server takes or refuses
/// as one.
///
/// Unless it `replaces` an existing file, that one is an error: now, and also if it appears until the upload is named,
/// where the server can tell.
///
/// # Errors
///
/// [`Exists`](ErrorKind::Exists) if there is a file that must not be replaced; [`Unsupported`](ErrorKind::Unsupported)
/// for schemes that are only read; [`Mismatch`](ErrorKind::Mismatch) for a malformed URL or invalid options; what the
/// server reports when it is asked whether there is a file.
///
/// # Example
///
/// ```
/// use sapwood::column::Number;
/// use sapwood::write::{BranchSpec, FileWriter, TreeOptions, Values, WriteOptions};
/// use sapwood_store::NetOptions;
/// use sapwood_testkit::http_server::{HttpServer, ServerConfig};
/// let server = HttpServer::start("", ServerConfig { writable: true, ..ServerConfig::default() });
/// let options = NetOptions::default();
///
/// let target = sapwood_store::target(&server.url(), true, &options)?;
/// let mut file = FileWriter::staged(&target, WriteOptions::default())?;
/// let mut tree = file.tree("t", vec![BranchSpec::number("x", Number::I32)], TreeOptions::default())?;
/// tree.extend(&[("x", Values::from(&[1_i32, 2, 3]))])?;
/// tree.close()?;
/// file.close()?;
/// target.publish()?; // until here nothing has the name
///
/// let file = sapwood::File::from_store(sapwood_store::open(&server.url(), &options)?, Default::default())?;
/// assert_eq!(file.tree("t")?.entries, 3);
/// # Ok::<(), sapwood::Error>(())
/// ```
pub fn target(place: &str, replaces: bool, options: &NetOptions) -> Result<AtomicFile> {
    if let Some(path) = file_path(place) {
        return AtomicFile::new(path, replaces);
    }
    if !is_url(place) {
        return AtomicFile::new(place, replaces);
    }
    let remote = remote(place, options)?;
    if !replaces && remote.exists()? {
        return Err(exists().in_file(remote.name()));
    }
    AtomicFile::elsewhere(Box::new(Upload { remote, replaces }))
}

/// Whether files can be written to a URL or a path: what [`target`] takes.
///
/// # Example
///
/// ```
/// assert!(sapwood_store::is_writable("root://example.org//a.root") && sapwood_store::is_writable("a.root"));
/// assert!(!sapwood_store::is_writable("dcap://example.org/a.root"));
/// ```
pub fn is_writable(place: &str) -> bool {
    let Some(scheme) = scheme(place) else { return true };
    let scheme = scheme.to_ascii_lowercase();
    let is_cloud = cfg!(feature = "clouds") && crate::Provider::of(place).is_some();
    is_cloud || matches!(&*scheme, "file" | "http" | "https" | "root" | "roots" | "xroot" | "xroots")
}

/// Copies a file that is to be updated to where it is written.
///
/// # Errors
///
/// Those of [`open_stored`](crate::open_stored), of reading it and of writing the copy.
///
/// # Example
///
/// ```
/// use sapwood_testkit::http_server::{HttpServer, ServerConfig};
/// # let copy = std::env::temp_dir().join(format!("sapwood-doc-fetch-{}", std::process::id()));
/// let server = HttpServer::start("hello", ServerConfig::default());
/// sapwood_store::fetch(&server.url(), &copy, &Default::default())?;
/// assert_eq!(std::fs::read(&copy)?, b"hello");
/// # std::fs::remove_file(copy)?;
/// # Ok::<(), sapwood::Error>(())
/// ```
pub fn fetch(url: &str, to: &Path, options: &NetOptions) -> Result<()> {
    let from = crate::open_stored(url, &NetOptions { cache: None, ..options.clone() })?;
    let bytes = from.ends(0, 0)?.identity.len;
    LocalFile::create(to)?.copy_at(0, &from, 0..bytes)
}

fn remote(url: &str, options: &NetOptions) -> Result<Box<dyn Remote>> {
    let options = NetOptions { cache: None, ..options.clone() };
    let lower = scheme(url).map(str::to_ascii_lowercase);
    match lower.as_deref() {
        Some("http" | "https") => Ok(Box::new(HttpUpload::new(url, &options)?)),
        Some("root" | "roots" | "xroot" | "xroots") => Ok(Box::new(XrootdUpload::new(url, &options)?)),
        #[cfg(feature = "clouds")]
        Some(_) if crate::Provider::of(url).is_some() => Ok(Box::new(crate::cloud::CloudUpload::new(url, &options)?)),
        other => {
            let words = format!("files of {}:// are read, and cannot be written", other.unwrap_or_default());
            Err(Error::unsupported(words).in_file(redact(url)))
        }
    }
}

/// A file on its way to a server.
#[derive(Debug)]
struct Upload {
    remote: Box<dyn Remote>,
    replaces: bool,
}

impl Destination for Upload {
    fn name(&self) -> &str {
        self.remote.name()
    }

    fn file_name(&self) -> &str {
        self.remote.file_name()
    }

    fn publish(&self, finished: &Path) -> Result<()> {
        let finished = Finished::open(finished)?;
        let mut step = Step::Sending;
        let put = finished.telling(|| self.remote.put(&finished, self.replaces, &mut |next| step = next));
        put.map_err(|error| {
            let lead = match step {
                Step::Sending => "the file was not sent",
                Step::Checking => "what was sent is not what arrived",
                Step::Naming => "the file was sent, and did not get its name",
            };
            // A check that could not be made says nothing of what arrived.
            let lead = if step == Step::Checking && error.kind() != ErrorKind::Checksum {
                "what was sent could not be checked"
            } else {
                lead
            };
            error.in_words(format!("{lead}: {}", error.message())).in_file(Arc::from(self.remote.name()))
        })
    }
}
