//! The store itself: what is known of a file on a server.

use std::fmt;
use std::sync::{Arc, Mutex, OnceLock};

use sapwood::{Error, ErrorKind, Result};

use super::open::Opened;
use super::url::{Tried, XrootdUrl};
use super::wire::Stat;
use crate::NetOptions;
use crate::net::{LinkStats, SingleFlight};
use crate::secrets::Secrets;

/// A file on an XRootD server, read by ranges.
///
/// Many ranges are one request, and several requests are on their way at a time, on one connection for all files of a
/// server. A server may send us to another, ask to wait, or answer later; a link that breaks is made anew, and only
/// bytes that have not come are asked for again. A file that has another length or time of change than when it was
/// opened first is an error of the kind [`Changed`](sapwood::ErrorKind::Changed); that is looked at when it is opened
/// again, and once a second while it is read.
///
/// `root://` is spoken in the clear unless the server wants TLS, or lets us in only with a token; `roots://` is TLS and
/// nothing else. Users are authenticated by their name (`unix`), as the URL has it (`root://me@host//path`), by a token
/// (`ztn`), which is shown over TLS alone, by a key that the server has, too (`sss`), or by a certificate of X.509
/// (`gsi`).
///
/// # Example
///
/// ```
/// use sapwood::io::{Store, load};
/// use sapwood_store::{NetOptions, XrootdStore};
/// use sapwood_testkit::xrootd_server::{ServerConfig, XrootdServer};
/// let server = XrootdServer::start("hello world", ServerConfig::default());
/// let store = XrootdStore::new(&server.url(), &NetOptions::default())?;
/// assert_eq!(&store.ends(5, 0)?.head[..], b"hello");
/// assert_eq!(load(&store, &[6..11])?, ["world"]);
/// # Ok::<(), sapwood::Error>(())
/// ```
pub struct XrootdStore {
    pub(super) name: Arc<str>,
    pub(super) place: XrootdUrl,
    pub(super) options: NetOptions,
    /// What errors must not say.
    pub(super) secrets: Secrets,
    pub(super) link_stats: LinkStats,
    /// What the first open told.
    pub(super) known: OnceLock<Stat>,
    pub(super) opened: Mutex<Option<Arc<Opened>>>,
    pub(super) opening: SingleFlight<()>,
    /// Servers that failed since bytes came last.
    pub(super) avoid: Mutex<Vec<Tried>>,
}

impl fmt::Debug for XrootdStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Without what is sent along with the path, which may hold a secret.
        f.debug_struct("XrootdStore").field("name", &self.name).field("options", &self.options).finish_non_exhaustive()
    }
}

impl XrootdStore {
    /// Notes what the first open told, and compares later ones with it.
    pub(super) fn check(&self, now: &Stat) -> Result<()> {
        let known = self.known.get_or_init(|| now.clone());
        let changed = |what| Error::new(ErrorKind::Changed, format!("the file changed while it was open: {what}"));
        if known.len != now.len {
            return Err(changed("another length").wanted(known.len, now.len));
        }
        if known.modified != now.modified {
            return Err(changed("another time of change"));
        }
        Ok(())
    }
}
