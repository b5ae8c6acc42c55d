//! Checksums of what columns are read from, computed once for each.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use crate::error::Result;

/// The stamps of the columns of a table that were asked for; none for columns that can have none.
#[derive(Default)]
pub(crate) struct Stamps(Mutex<HashMap<usize, Option<u64>>>);

impl Stamps {
    /// The stamp of a column. What fails is computed again the next time.
    pub(crate) fn of(&self, id: usize, compute: impl FnOnce() -> Result<Option<u64>>) -> Result<Option<u64>> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&id).copied();
        if let Some(known) = known {
            return Ok(known);
        }
        let computed = compute()?;
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(id, computed);
        Ok(computed)
    }
}

impl fmt::Debug for Stamps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stamps").finish_non_exhaustive()
    }
}
