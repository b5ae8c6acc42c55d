//! Options of all commands that read files: where else a file is, and what is kept of those that are far.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sapwood::io::Store;
use sapwood::{Error, Result};
use sapwood_store::{NetOptions, Notices};

use crate::places;

/// How remote files are read.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct Remote {
    /// Keep what is read of remote files on this machine: its `blocks`, or the `whole` file before it is read.
    #[arg(long, value_parser = ["blocks", "whole"])]
    cache: Option<String>,
    /// Where it is kept; your own cache folder where it is not given.
    #[arg(long, value_name = "DIR", requires = "cache")]
    cache_dir: Option<PathBuf>,
    /// The most bytes that are kept: 10000000000 where it is not given.
    #[arg(long, value_name = "BYTES", requires = "cache")]
    cache_size: Option<u64>,
    /// Another place of the file that is read, for when the first fails; may be given several times.
    #[arg(long = "replica", value_name = "URL")]
    replicas: Vec<String>,
    /// What the cache had to say.
    #[arg(skip)]
    pub(crate) notices: Notices,
}

impl Remote {
    /// Opens a path or a URL.
    pub(crate) fn open(&self, path: &Path) -> Result<Arc<dyn Store>> {
        let options = self.options()?;
        if self.replicas.is_empty() {
            return places::open(path, options);
        }
        let first = path.to_str().ok_or_else(|| Error::mismatch("the name of a file with replicas is no text"))?;
        let all: Vec<&str> = [first].into_iter().chain(self.replicas.iter().map(String::as_str)).collect();
        places::open_replicas(&all, options)
    }

    /// Refuses replicas where several files are read: they would be taken for places of each of them.
    pub(crate) fn is_for<'a>(&self, mut files: impl Iterator<Item = &'a str>) -> Result<()> {
        let first = files.next();
        if self.replicas.is_empty() || files.all(|file| Some(file) == first) {
            return Ok(());
        }
        Err(Error::mismatch("--replica names other places of one file, and several are read"))
    }

    /// As the stores take it.
    fn options(&self) -> Result<NetOptions> {
        let cache = |kind: &String| places::cache(kind, self.cache_dir.clone(), self.cache_size);
        let mut cache = self.cache.as_ref().map(cache).transpose()?;
        if let Some(cache) = &mut cache {
            cache.notices = self.notices.clone();
        }
        Ok(NetOptions { cache, ..NetOptions::default() })
    }
}
