//! Options of all commands that read files: where else a file is, and what is kept of those that are far.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use sapwood::io::{AtomicFile, OtherFiles, Store};
use sapwood::{Error, Result};
use sapwood_store::{Listed, NetOptions, Notices, environment};

/// How remote files are read.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Remote files")]
pub(crate) struct Remote {
    /// Keep what is read of remote files on this machine: its `blocks`, or the `whole` file before it is read.
    #[arg(long, value_parser = ["blocks", "whole"])]
    cache: Option<String>,
    /// Folder of the cache; by default your own cache folder.
    #[arg(long, value_name = "DIR", requires = "cache")]
    cache_dir: Option<PathBuf>,
    /// Size limit of the cache in bytes; 10000000000 by default.
    #[arg(long, value_name = "BYTES", requires = "cache")]
    cache_size: Option<u64>,
    /// Replica of the file, which is read when the first place fails; may be given several times.
    #[arg(long = "replica", value_name = "URL")]
    replicas: Vec<String>,
    /// Time-out: seconds for which a server may send nothing; 30 by default.
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    timeout: Option<Duration>,
    /// Retries in a row that bring nothing before a read fails; 4 by default.
    #[arg(long, value_name = "TIMES")]
    retries: Option<u32>,
    /// PEM file or folder of authorities that are trusted in addition to those of the system (X509_CERT_DIR).
    #[arg(long, value_name = "PEM")]
    authorities: Option<PathBuf>,
    /// PEM file with a client certificate and its key, such as an X.509 proxy (X509_USER_PROXY).
    #[arg(long, value_name = "PEM")]
    certificate: Option<PathBuf>,
    /// File with keys shared with servers of root:// (sss).
    #[arg(long, value_name = "FILE")]
    keytab: Option<PathBuf>,
    /// Follow redirections from https:// to http://, which are refused otherwise.
    #[arg(long)]
    insecure_redirects: bool,
    /// Warnings of the cache.
    #[arg(skip)]
    pub(crate) notices: Notices,
}

impl Remote {
    /// Opens a path or a URL.
    pub(crate) fn open(&self, path: &Path) -> Result<Arc<dyn Store>> {
        let options = self.options()?;
        if self.replicas.is_empty() {
            return environment::open(path, options);
        }
        let first = path.to_str().ok_or_else(|| Error::mismatch("the name of a file with replicas is no text"))?;
        environment::open_replicas(&self.with_replicas(first), options)
    }

    /// Opens a path or a URL for its bytes as they are stored: a packed file is one.
    pub(crate) fn open_stored(&self, place: &str) -> Result<Arc<dyn Store>> {
        let options = self.options()?;
        if self.replicas.is_empty() {
            return environment::open_stored(place, options);
        }
        environment::open_replicas_stored(&self.with_replicas(place), options)
    }

    fn with_replicas<'a>(&'a self, first: &'a str) -> Vec<&'a str> {
        [first].into_iter().chain(self.replicas.iter().map(String::as_str)).collect()
    }

    /// Prepares to write a file to a path or a URL.
    pub(crate) fn target(&self, place: &Path, replaces: bool) -> Result<AtomicFile> {
        environment::target(place, replaces, self.options()?)
    }

    /// The entries of a folder of a server.
    pub(crate) fn list(&self, url: &str) -> Result<Vec<Listed>> {
        environment::list(url, self.options()?)
    }

    /// How files are opened that another one names: replicas are not theirs.
    pub(crate) fn other_files(&self) -> Result<OtherFiles> {
        let options = self.options()?;
        Ok(OtherFiles::new(move |of, name| environment::open(sapwood_store::found_beside(of, name)?, options.clone())))
    }

    /// Refuses replicas where several files are read: they would be taken for places of each of them.
    pub(crate) fn is_for<'a>(&self, mut files: impl Iterator<Item = &'a str>) -> Result<()> {
        let first = files.next();
        if self.replicas.is_empty() || files.all(|file| Some(file) == first) {
            return Ok(());
        }
        Err(Error::mismatch("--replica names other places of one file, and several are read"))
    }

    /// The options in the form of the stores.
    fn options(&self) -> Result<NetOptions> {
        let cache = |kind: &String| environment::cache(kind, self.cache_dir.clone(), self.cache_size);
        let mut cache = self.cache.as_ref().map(cache).transpose()?;
        if let Some(cache) = &mut cache {
            cache.notices = self.notices.clone();
        }
        let usual = NetOptions::default();
        Ok(NetOptions {
            cache,
            timeout: self.timeout.unwrap_or(usual.timeout),
            retries: self.retries.unwrap_or(usual.retries),
            authorities: self.authorities.clone(),
            certificate: self.certificate.clone(),
            keytab: self.keytab.clone(),
            insecure_redirects: self.insecure_redirects,
            ..usual
        })
    }
}

/// A time that is more than none.
fn seconds(text: &str) -> std::result::Result<Duration, String> {
    let time = text.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    time.filter(|time| !time.is_zero()).ok_or_else(|| "no number of seconds above 0".to_owned())
}
