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
    /// Prefix of all paths: a URL of `http`, `https`, `root`, `roots`, `dcap` or a cloud, or a folder of this machine.
    pub upstream: String,
    /// Options for the upstream. Its token and certificate are used for clients that present [`token`](Self::token)
    /// only; without such a token, each client's own is passed on.
    pub net: NetOptions,
    /// The cache.
    pub cache: CacheOptions,
    /// Address to listen on; port 0 for any that is free.
    pub bind: SocketAddr,
    /// Whether, where and how XRootD's protocol (`root://`) is spoken as well.
    pub xrootd: Option<XrootdOptions>,
    /// PEM files with the certificate, what signed it, and its key; without them http is spoken. Clients of XRootD may
    /// use TLS, then.
    pub tls: Option<(PathBuf, PathBuf)>,
    /// What clients have to present as a bearer token. None: whatever they present is passed on to the upstream, which
    /// decides.
    pub token: Option<String>,
    /// For so long the state of a file, and a client's access to it, are not checked again.
    pub max_age: Duration,
    /// The most connections at a time; further ones get 503 with `Retry-After`.
    pub connections: usize,
    /// Idle clients are disconnected after this time.
    pub idle: Duration,
    /// Whether the next cluster of the branches that a client reads is prefetched.
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
            xrootd: None,
            tls: None,
            token: None,
            max_age: Duration::from_secs(60),
            connections: 1024,
            idle: Duration::from_secs(60),
            prefetch: true,
        }
    }

    /// The same, with XRootD's protocol spoken at this address.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood_serve::ProxyOptions;
    /// let options = ProxyOptions::new("https://example.org/data", "cache").xrootd(([127, 0, 0, 1], 1094).into());
    /// assert_eq!(options.xrootd.unwrap().bind.port(), 1094);
    /// ```
    #[must_use]
    pub fn xrootd(self, bind: SocketAddr) -> Self {
        Self { xrootd: Some(XrootdOptions::new(bind)), ..self }
    }
}

/// How a proxy speaks XRootD's protocol.
///
/// # Example
///
/// ```
/// use sapwood_serve::XrootdOptions;
/// let options = XrootdOptions::new(([127, 0, 0, 1], 0).into());
/// assert!(!options.unix && options.keytab.is_none());
/// ```
#[derive(Clone, Debug)]
pub struct XrootdOptions {
    /// Address to listen on; port 0 for any that is free.
    pub bind: SocketAddr,
    /// File with the keys of clients that may read (`sss`).
    pub keytab: Option<PathBuf>,
    /// Whether clients have to send the name of a user (`unix`). That proves nothing.
    pub unix: bool,
}

impl XrootdOptions {
    /// Clients need to prove nothing, unless the proxy requires a token.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood_serve::XrootdOptions;
    /// assert_eq!(XrootdOptions::new(([127, 0, 0, 1], 1094).into()).bind.port(), 1094);
    /// ```
    pub fn new(bind: SocketAddr) -> Self {
        Self { bind, keytab: None, unix: false }
    }
}

impl fmt::Debug for ProxyOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Nothing that is a secret or may hold one.
        f.debug_struct("ProxyOptions")
            .field("net", &self.net)
            .field("cache", &self.cache)
            .field("bind", &self.bind)
            .field("xrootd", &self.xrootd)
            .field("tls", &self.tls.is_some())
            .field("token", &self.token.is_some())
            .field("max_age", &self.max_age)
            .field("connections", &self.connections)
            .field("idle", &self.idle)
            .field("prefetch", &self.prefetch)
            .finish_non_exhaustive()
    }
}
