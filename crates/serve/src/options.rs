//! Options of a proxy.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use sapwood_store::{CacheKind, CacheOptions, NetOptions};

/// How a proxy serves, and what.
///
/// # Example
///
/// ```
/// use sapwood_serve::ProxyOptions;
/// let options = ProxyOptions::new("https://example.org/data", "cache");
/// assert!(options.bind.ip().is_loopback() && options.prefetch);
/// assert_eq!(options.connections, 1024);
/// ```
#[derive(Clone)]
pub struct ProxyOptions {
    /// What lies above all paths: a URL of `http`, `https`, `root` or `roots`, or a folder of this machine.
    pub upstream: String,
    /// How the upstream is reached. Its token and certificate are shown for those clients alone that have shown the one
    /// of [`token`](Self::token); without such a token each client's own is passed on.
    pub net: NetOptions,
    /// Where blocks are kept, and how many.
    pub cache: CacheOptions,
    /// Where to listen; port 0 for any that is free.
    pub bind: SocketAddr,
    /// PEM files with the certificate, what signed it, and its key; without them http is spoken.
    pub tls: Option<(PathBuf, PathBuf)>,
    /// What clients have to present as a bearer token. None: whatever they present is passed on to the upstream, which
    /// decides.
    pub token: Option<String>,
    /// So long is believed that a file is what it was, and that a client may read it.
    pub max_age: Duration,
    /// The most connections at a time; those beyond are told to come again.
    pub connections: usize,
    /// So long may a client neither ask nor take anything.
    pub idle: Duration,
    /// Whether the next cluster of the branches that a client reads is fetched ahead.
    pub prefetch: bool,
}

impl ProxyOptions {
    /// A proxy of `upstream` on loopback that keeps 10 GB in the folder `cache`.
    ///
    /// # Example
    ///
    /// ```
    /// use std::time::Duration;
    /// use sapwood_serve::ProxyOptions;
    /// let options = ProxyOptions { prefetch: false, ..ProxyOptions::new("root://example.org//store", "cache") };
    /// assert_eq!(options.max_age, Duration::from_secs(60));
    /// ```
    pub fn new(upstream: impl Into<String>, cache: impl Into<PathBuf>) -> Self {
        Self {
            upstream: upstream.into(),
            net: NetOptions::default(),
            cache: CacheOptions::new(CacheKind::Blocks, cache),
            bind: SocketAddr::from(([127, 0, 0, 1], 0)),
            tls: None,
            token: None,
            max_age: Duration::from_secs(60),
            connections: 1024,
            idle: Duration::from_secs(60),
            prefetch: true,
        }
    }
}

impl fmt::Debug for ProxyOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Nothing that is a secret or may hold one.
        f.debug_struct("ProxyOptions")
            .field("net", &self.net)
            .field("cache", &self.cache)
            .field("bind", &self.bind)
            .field("tls", &self.tls.is_some())
            .field("token", &self.token.is_some())
            .field("max_age", &self.max_age)
            .field("connections", &self.connections)
            .field("idle", &self.idle)
            .field("prefetch", &self.prefetch)
            .finish_non_exhaustive()
    }
}
