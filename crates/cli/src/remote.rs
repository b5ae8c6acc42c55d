//! Options of all commands that read files: what is kept of those that are far.

use std::path::PathBuf;

use sapwood::Result;
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
    /// What the cache had to say.
    #[arg(skip)]
    pub(crate) notices: Notices,
}

impl Remote {
    /// As the stores take it.
    pub(crate) fn options(&self) -> Result<NetOptions> {
        let cache = |kind: &String| places::cache(kind, self.cache_dir.clone(), self.cache_size);
        let mut cache = self.cache.as_ref().map(cache).transpose()?;
        if let Some(cache) = &mut cache {
            cache.notices = self.notices.clone();
        }
        Ok(NetOptions { cache, ..NetOptions::default() })
    }
}
