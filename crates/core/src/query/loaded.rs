//! Columns that were read, and what expressions load of them.

use std::sync::{Arc, OnceLock};

use super::ranks::Ranks;
use crate::error::Result;
use crate::read::Column;

/// A column that was read. Cheap to clone.
#[derive(Clone, Debug)]
pub(super) struct Loaded {
    pub(super) column: Column,
    /// Which rows are there; all of them if it is missing. A row lacks where a friend has no entry for it.
    pub(super) present: Option<Arc<[bool]>>,
    /// As it is, and with objects in place of pointers: made once, for all expressions.
    ready: Arc<[OnceLock<Result<Arc<Ready>>>; 2]>,
}

/// A column as expressions load it.
#[derive(Debug)]
pub(super) struct Ready {
    pub(super) column: Column,
    pub(super) present: Option<Arc<[bool]>>,
    pub(super) ranks: Ranks,
}

impl Loaded {
    pub(super) fn new(column: Column, present: Option<Arc<[bool]>>) -> Self {
        Self { column, present, ready: Arc::default() }
    }

    /// What expressions load: with objects in place of pointers if it `follows` them.
    ///
    /// # Errors
    ///
    /// Those of [`Column::followed`].
    pub(super) fn ready(&self, follows: bool) -> Result<Arc<Ready>> {
        let make = || {
            let column = if follows { self.column.followed()? } else { self.column.clone() };
            let ranks = Ranks::of(&column);
            Ok(Arc::new(Ready { column, present: self.present.clone(), ranks }))
        };
        let [as_it_is, followed] = &*self.ready;
        (if follows { followed } else { as_it_is }).get_or_init(make).clone()
    }
}
