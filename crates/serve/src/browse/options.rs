//! How to browse.

use std::path::Path;
use std::sync::Arc;

use sapwood::Result;
use sapwood::io::Store;
use sapwood_store::Listed;

/// Opens a path or a URL.
pub type Opener = Arc<dyn Fn(&Path) -> Result<Arc<dyn Store>> + Send + Sync>;

/// Lists a folder of a server.
pub type Lister = Arc<dyn Fn(&str) -> Result<Vec<Listed>> + Send + Sync>;

/// How to browse.
#[derive(Clone)]
pub struct BrowseOptions {
    /// Files, URLs and folders.
    pub targets: Vec<String>,
    /// Where to listen on the loopback interface; 0 for any port that is free.
    pub port: u16,
    /// Threads that decode; 0 for all cores.
    pub threads: usize,
    /// How files are opened.
    pub opener: Opener,
    /// How folders of servers are listed.
    pub lister: Lister,
}
