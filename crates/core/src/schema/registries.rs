//! Registries of files that describe the same classes: most files of a chain do.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use super::Registry;
use crate::error::Result;

/// How many kinds of files that alternate are known.
const MOST: usize = 8;

/// What a file says of its classes, as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Description {
    /// The payload of the StreamerInfo record, compressed as it is.
    pub(crate) stored: Bytes,
    /// Length of its key: references in the payload count from the start of the record.
    pub(crate) keylen: u16,
    /// Bytes of the payload once inflated.
    pub(crate) objlen: u32,
    pub(crate) file_version: i32,
}

/// The registries of the files that were opened last. Equal descriptions are inflated, read and compiled once.
#[derive(Debug, Default)]
pub(crate) struct Registries(Mutex<VecDeque<(Description, Arc<Registry>)>>);

impl Registries {
    /// The registry of a description; `read` makes it where it is not known.
    ///
    /// # Errors
    ///
    /// Those of `read`, which are not kept: the next file with this description tries again.
    pub(crate) fn find_or_read(
        &self,
        description: &Description,
        read: impl FnOnce() -> Result<Registry>,
    ) -> Result<Arc<Registry>> {
        let mut known = self.known();
        if let Some(place) = known.iter().position(|(other, _)| other == description)
            && let Some(found) = known.remove(place)
        {
            let registry = Arc::clone(&found.1);
            known.push_front(found);
            return Ok(registry);
        }
        // Other files are not kept waiting; two that read the same at once are both right.
        drop(known);
        let registry = Arc::new(read()?);
        // A slice would keep all that was read with it in memory.
        let stored = Bytes::copy_from_slice(&description.stored);
        let mut known = self.known();
        known.truncate(MOST - 1);
        known.push_front((Description { stored, ..description.clone() }, Arc::clone(&registry)));
        Ok(registry)
    }

    fn known(&self) -> MutexGuard<'_, VecDeque<(Description, Arc<Registry>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    fn description(stored: &'static [u8], file_version: i32) -> Description {
        Description { stored: Bytes::from_static(stored), keylen: 64, objlen: 100, file_version }
    }

    fn empty() -> Result<Registry> {
        Ok(Registry::new(Vec::new(), 64_000))
    }

    #[test]
    fn equal_descriptions_have_one_registry() {
        let registries = Registries::default();
        let first = registries.find_or_read(&description(b"a", 1), empty).unwrap();
        let never = || -> Result<Registry> { panic!("it is known") };
        assert!(Arc::ptr_eq(&first, &registries.find_or_read(&description(b"a", 1), never).unwrap()));
        for other in [description(b"b", 1), description(b"a", 2), Description { keylen: 65, ..description(b"a", 1) }] {
            assert!(!Arc::ptr_eq(&first, &registries.find_or_read(&other, empty).unwrap()));
        }
    }

    #[test]
    fn errors_are_not_kept_and_the_oldest_go() {
        let registries = Registries::default();
        let fails = || Err(Error::malformed("damaged"));
        assert!(registries.find_or_read(&description(b"a", 1), fails).is_err());
        let first = registries.find_or_read(&description(b"a", 1), empty).unwrap();
        for version in 2..2 + MOST as i32 {
            registries.find_or_read(&description(b"a", version), empty).unwrap();
        }
        assert!(!Arc::ptr_eq(&first, &registries.find_or_read(&description(b"a", 1), empty).unwrap()));
        assert_eq!(registries.known().len(), MOST);
    }
}
