//! How the network is spoken to: what the caller knows, and the libraries do not look up.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use crate::{CacheOptions, provider};

/// Settings of all stores that are reached over a network. The environment is not looked at: a command that honours
/// `https_proxy` or `BEARER_TOKEN` reads them and puts them here.
///
/// # Example
///
/// ```
/// use std::time::Duration;
/// use sapwood_store::NetOptions;
/// let options = NetOptions { token: Some("secret".into()), timeout: Duration::from_secs(5), ..NetOptions::default() };
/// assert!(!format!("{options:?}").contains("secret"));
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct NetOptions {
    /// A bearer token. It is sent to the host that was named, and to no host that this one sends us to; of `root://`
    /// also to hosts of the same domain, as the data servers of a cluster are, and over TLS alone.
    pub token: Option<String>,
    /// More headers of each request, as name and value. `Authorization` and `Cookie` go where a token would.
    pub headers: Vec<(String, String)>,
    /// A PEM file with a client certificate and what signed it: an X.509 proxy, for instance.
    pub certificate: Option<PathBuf>,
    /// A PEM file with the key of the certificate; without, the key is in the certificate's file.
    pub key: Option<PathBuf>,
    /// A PEM file, or a folder of them, with authorities to be trusted beside the system's.
    pub authorities: Option<PathBuf>,
    /// A file with keys that servers of `root://` have, too (`sss`), as XRootD's `xrdsssadmin` writes it. It is opened
    /// when a server asks for such a key, and used only if no other user can read it.
    pub keytab: Option<PathBuf>,
    /// Proxy for `http://`: `http://host:port`, `socks5://host:port`.
    pub http_proxy: Option<String>,
    /// Proxy for `https://`.
    pub https_proxy: Option<String>,
    /// Hosts that are reached without a proxy, separated by commas; `*` for all.
    pub no_proxy: Option<String>,
    /// What clouds are told, by the names that their own tools know in the environment, such as `AWS_ACCESS_KEY_ID`,
    /// `AWS_ENDPOINT_URL`, `AWS_SKIP_SIGNATURE`, `GOOGLE_APPLICATION_CREDENTIALS` or `AZURE_STORAGE_ACCOUNT_NAME`.
    /// Names that mean nothing are left out.
    pub clouds: Vec<(String, String)>,
    /// So long may nothing come, neither a connection nor a byte, before an attempt is given up. A slow answer that
    /// goes on is not cut unless it brings less than 1 KiB a second in such a time.
    pub timeout: Duration,
    /// So often is something tried again that brought nothing new. What brings little, less than 16 KiB, is tried four
    /// times as often.
    pub retries: u32,
    /// Connections to each server of `root://`, 16 at most: long ranges come by all of them. 1: the one that there must
    /// be.
    pub streams: u8,
    /// Whether redirections from `https://` to `http://` are followed. Secrets are not sent there in any case.
    pub insecure_redirects: bool,
    /// What is kept on this machine, and where. None: nothing.
    pub cache: Option<CacheOptions>,
}

impl NetOptions {
    /// The same without credentials.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood_store::NetOptions;
    /// let options = NetOptions { token: Some("secret".into()), ..NetOptions::default() };
    /// assert_eq!(options.anonymous().token, None);
    /// ```
    pub fn anonymous(mut self) -> Self {
        (self.token, self.certificate, self.key, self.keytab) = (None, None, None, None);
        self.headers
            .retain(|(name, _)| !name.eq_ignore_ascii_case("authorization") && !name.eq_ignore_ascii_case("cookie"));
        provider::anonymous(&mut self.clouds);
        self
    }
}

impl Default for NetOptions {
    fn default() -> Self {
        Self {
            token: None,
            headers: Vec::new(),
            certificate: None,
            key: None,
            authorities: None,
            keytab: None,
            http_proxy: None,
            https_proxy: None,
            no_proxy: None,
            clouds: Vec::new(),
            timeout: Duration::from_secs(30),
            retries: 4,
            streams: 1,
            insecure_redirects: false,
            cache: None,
        }
    }
}

impl fmt::Debug for NetOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Nothing that is a secret or may hold one.
        f.debug_struct("NetOptions")
            .field("token", &self.token.is_some())
            .field("headers", &self.headers.iter().map(|(name, _)| name).collect::<Vec<_>>())
            .field("certificate", &self.certificate)
            .field("authorities", &self.authorities)
            .field("keytab", &self.keytab)
            .field("proxy", &(self.http_proxy.is_some() || self.https_proxy.is_some()))
            .field("clouds", &self.clouds.iter().map(|(name, _)| name).collect::<Vec<_>>())
            .field("timeout", &self.timeout)
            .field("retries", &self.retries)
            .field("streams", &self.streams)
            .field("insecure_redirects", &self.insecure_redirects)
            .field("cache", &self.cache)
            .finish_non_exhaustive()
    }
}
