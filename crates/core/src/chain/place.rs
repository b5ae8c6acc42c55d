//! A place of a chain.

use std::fmt;

use crate::error::Result;
use crate::table::Table;

/// One of the places of a chain: a file, and the path of a tree or RNTuple in it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    /// Path or URL of the file.
    pub file: String,
    /// Path in the file; none for the only tree or RNTuple.
    pub table: Option<String>,
}

impl Place {
    /// A place with a name for the table, or without one.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::chain::Place;
    /// assert_eq!(Place::new("a.root", Some("Events")).to_string(), "a.root:Events");
    /// ```
    pub fn new(file: impl Into<String>, table: Option<&str>) -> Self {
        Self { file: file.into(), table: table.map(str::to_owned) }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        self.table.as_ref().map_or(Ok(()), |table| write!(f, ":{table}"))
    }
}

/// Opens the table of a place.
pub(super) type Open = dyn Fn(&Place) -> Result<Table> + Send + Sync;
