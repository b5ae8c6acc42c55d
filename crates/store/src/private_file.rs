//! Files with secrets of the user.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use sapwood::{Error, ErrorKind, Result};
use zeroize::Zeroizing;

/// The rights of others that forbid to use a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Others {
    /// No other user may read or write it.
    Nothing,
    /// Users of its group may read it.
    GroupReads,
    /// The file is used whoever may read it.
    Anything,
}

/// Reads a file of up to `most` bytes. Rights and length are those of the file that is read, not of another one that
/// got its name in between.
///
/// # Errors
///
/// The file cannot be read, is longer, or others may do with it what they should not; errors name `what` it holds.
pub(crate) fn read(path: &Path, what: &str, others: Others, most: u64) -> Result<Zeroizing<Vec<u8>>> {
    content(path, what, others, most).map_err(|error| error.in_file(path.to_string_lossy().as_ref()))
}

fn content(path: &Path, what: &str, others: Others, most: u64) -> Result<Zeroizing<Vec<u8>>> {
    let file = File::open(path)?;
    let found = file.metadata()?;
    let mode = found.permissions().mode() & 0o777;
    let allowed = match others {
        Others::Nothing => 0o600,
        Others::GroupReads => 0o640,
        Others::Anything => 0o777,
    };
    if mode & 0o077 & !allowed != 0 {
        let words = format!("others may read or write the {what}: its mode is {mode:o} and should be {allowed:o}");
        return Err(Error::new(ErrorKind::Denied, words));
    }
    // With room for all: a buffer that grows leaves copies of the secret behind. Pipes say that they have no length.
    let room = usize::try_from(found.len().min(most)).unwrap_or(usize::MAX).saturating_add(1);
    let mut bytes = Zeroizing::new(Vec::with_capacity(room));
    file.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(Error::limit(format!("bytes of the {what}"), most, found.len().max(bytes.len() as u64)));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::fs::{Permissions, set_permissions, write};

    use super::*;

    #[test]
    fn what_others_may_do_is_what_the_file_allows() {
        let path = sapwood_testkit::scratch("secret");
        write(&path, "123").unwrap();
        let with = |mode, others| {
            set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            read(&path, "key", others, 3)
        };
        for others in [Others::Nothing, Others::GroupReads, Others::Anything] {
            assert_eq!(**with(0o600, others).unwrap(), *b"123");
            assert_eq!(**with(0o400, others).unwrap(), *b"123");
            assert_eq!(with(0o640, others).is_ok(), others != Others::Nothing, "{others:?}");
            assert_eq!(with(0o604, others).is_ok(), others == Others::Anything, "{others:?}");
            assert_eq!(with(0o660, others).is_ok(), others == Others::Anything, "{others:?}");
        }
        let error = with(0o644, Others::Nothing).unwrap_err();
        assert!(error.to_string().contains("others may read or write the key: its mode is 644 and should be 600"));
        assert!(error.to_string().contains("secret"), "{error}");
        set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        assert_eq!(read(&path, "key", Others::Nothing, 2).unwrap_err().kind(), ErrorKind::Limit);
        let gone = path.with_extension("gone");
        assert_eq!(read(&gone, "key", Others::Nothing, 2).unwrap_err().kind(), ErrorKind::NotFound);
    }
}
