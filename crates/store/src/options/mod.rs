//! Options of the stores that use a network.

mod cache;

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use crate::provider;

pub use cache::{CacheKind, CacheOptions, Notices};

/// Options of all stores that use a network. They are not read from the environment;
/// [`environment`](crate::environment) adds what it says, such as `https_proxy` or `BEARER_TOKEN`.
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
    /// A bearer token. It is sent to the host of the URL, and not to hosts that this one redirects to; of `root://`
    /// also to hosts of the same domain, as the data servers of a cluster are, and over TLS only.
    pub token: Option<String>,
    /// Further headers of each request, as name and value. `Authorization` and `Cookie` are sent where a token would
    /// be.
    pub headers: Vec<(String, String)>,
    /// A PEM file with a client certificate and what signed it: an X.509 proxy, for instance. It is shown to servers of
    /// `https://` and `root://` (`gsi`) that ask for one, and read again when it changes.
    pub certificate: Option<PathBuf>,
    /// A PEM file with the key of the certificate; without, the key is in the certificate's file.
    pub key: Option<PathBuf>,
    /// Whether TLS goes on without a certificate that cannot be used, which is an error otherwise. The environment sets
    /// this for a certificate that it names: most servers ask for none.
    pub certificate_if_usable: bool,
    /// A PEM file, or a folder of them, with authorities to be trusted beside the system's. With `gsi` no others are
    /// trusted, and lists of revoked certificates in the folder (`*.r0`) count.
    pub authorities: Option<PathBuf>,
    /// Whether TLS trusts the system's authorities alone if those of `authorities` cannot be read, which is an error
    /// otherwise. The environment sets this for a folder that it names: most files are opened without it.
    pub authorities_if_usable: bool,
    /// A file with keys shared with servers of `root://` (`sss`), as XRootD's `xrdsssadmin` writes it. It is opened
    /// when a server asks for such a key, and used only if no other user can read it.
    pub keytab: Option<PathBuf>,
    /// Proxy for `http://`: `http://host:port`, `socks5://host:port`.
    pub http_proxy: Option<String>,
    /// Proxy for `https://`.
    pub https_proxy: Option<String>,
    /// Hosts that are reached without a proxy, separated by commas; `*` for all.
    pub no_proxy: Option<String>,
    /// Settings of clouds, by the names of the environment variables of their own tools, such as `AWS_ACCESS_KEY_ID`,
    /// `AWS_ENDPOINT_URL`, `AWS_SKIP_SIGNATURE`, `GOOGLE_APPLICATION_CREDENTIALS` or `AZURE_STORAGE_ACCOUNT_NAME`.
    /// Unknown names are ignored.
    pub clouds: Vec<(String, String)>,
    /// An attempt fails when no connection stands or no byte arrives for so long. A slow answer is not cut off unless
    /// less than 1 KiB a second arrives in such a time.
    pub timeout: Duration,
    /// Attempts in a row that may bring nothing, beyond the first. Four times as many may bring little: less than 16
    /// KiB.
    pub retries: u32,
    /// Connections to each server of `root://`, 1 to 16: long ranges are spread over all of them.
    pub streams: u8,
    /// Whether redirections from `https://` to `http://` are followed. Secrets are not sent there in any case.
    pub insecure_redirects: bool,
    /// Threads that inflate blocks of a packed file at most; 0 for one per processor that the process may use.
    pub threads: usize,
    /// The cache on this machine, if any.
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

impl NetOptions {
    /// These options without credentials that a server could use elsewhere: tokens, headers of logins, and keys of
    /// clouds. Certificates stay: they prove something and show no secret.
    pub(crate) fn without_tokens(self) -> Self {
        let own = self.clone();
        Self { certificate: own.certificate, key: own.key, keytab: own.keytab, ..self.anonymous() }
    }
}

impl Default for NetOptions {
    fn default() -> Self {
        Self {
            token: None,
            headers: Vec::new(),
            certificate: None,
            key: None,
            certificate_if_usable: false,
            authorities: None,
            authorities_if_usable: false,
            keytab: None,
            http_proxy: None,
            https_proxy: None,
            no_proxy: None,
            clouds: Vec::new(),
            timeout: Duration::from_secs(30),
            retries: 4,
            streams: 1,
            insecure_redirects: false,
            threads: 0,
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
