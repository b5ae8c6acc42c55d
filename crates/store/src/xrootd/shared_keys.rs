//! Keys that clients share with a server (`sss`).

use std::net::IpAddr;
use std::path::Path;

use sapwood::{Error, Result};

use super::keytab::{Key, now};
use super::sss::proved;

/// How old a proof may be, in seconds, and how far the clock of a client may be ahead.
const MAX_AGE: i64 = 60;

/// The keys of clients of a server, as `xrdsssadmin` writes them.
///
/// # Example
///
/// ```
/// use sapwood_store::SharedKeys;
/// # let path = std::env::temp_dir().join(format!("sapwood-doc-keytab-{}", std::process::id()));
/// # std::fs::write(&path, "0 u:me g:us n:mine N:1 c:1 e:0 f:0 k:00ff0a\n")?;
/// # std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
/// let keys = SharedKeys::read(&path)?;
/// assert!(!keys.admit(b"nonsense", [127, 0, 0, 1].into()));
/// assert!(keys.parameters().starts_with("0."));
/// # std::fs::remove_file(path)?;
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Debug)]
pub struct SharedKeys {
    keys: Vec<Key>,
}

impl SharedKeys {
    /// Reads a file that nobody but its owner may read.
    ///
    /// # Errors
    ///
    /// [`Denied`](sapwood::ErrorKind::Denied) if others may read it; [`Malformed`](sapwood::ErrorKind::Malformed) if it
    /// is not a keytab; [`Mismatch`](sapwood::ErrorKind::Mismatch) if it has no key.
    ///
    /// # Example
    ///
    /// ```
    /// assert!(sapwood_store::SharedKeys::read("/no/such/keytab".as_ref()).is_err());
    /// ```
    pub fn read(path: &Path) -> Result<Self> {
        let keys = Key::read_all(path)?;
        if keys.is_empty() {
            return Err(Error::mismatch("the keytab has no keys").in_file(path.to_string_lossy().as_ref()));
        }
        Ok(Self { keys })
    }

    /// Parameters of a server's offer: the cipher, that names of keys are wanted, and the maximum age of a proof.
    pub fn parameters(&self) -> String {
        format!("0.+{MAX_AGE}:")
    }

    /// Whether a client at `there` proves that it has one of the keys.
    pub fn admit(&self, proof: &[u8], there: IpAddr) -> bool {
        let now = now();
        let mut good = self.keys.iter().filter(|key| key.is_good(now));
        good.any(|key| proved(key, proof, there).is_some_and(|when| (now - when).abs() <= MAX_AGE))
    }
}
