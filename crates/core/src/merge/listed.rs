//! Selects the objects of the inputs that are merged.

use std::collections::HashSet;

use crate::error::{Error, Result};

/// Selected objects and directories, by name in any directory, or by path.
///
/// # Example
///
/// ```
/// use sapwood::merge::{Listed, Merge};
/// let runs = Merge { listed: Some(Listed::Only(["Runs".to_owned()].into())), ..Merge::default() };
/// assert!(runs.trees);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Listed {
    /// Only these are merged, directories with all their content.
    Only(Vec<String>),
    /// All but these.
    Skip(Vec<String>),
}

impl Listed {
    pub(super) fn names(&self) -> &[String] {
        let (Self::Only(names) | Self::Skip(names)) = self;
        names
    }

    /// The index of an object in the list, by its name or its path.
    pub(super) fn find(&self, name: &str, path: &str) -> impl Iterator<Item = usize> {
        let is = move |listed: &String| listed == name || listed.trim_matches('/') == path;
        self.names().iter().enumerate().filter(move |(_, listed)| is(listed)).map(|(index, _)| index)
    }

    /// The indices of the list's paths within a directory.
    pub(super) fn below(&self, folder: &str) -> impl Iterator<Item = usize> {
        let is = move |listed: &String| {
            listed.trim_matches('/').strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
        };
        self.names().iter().enumerate().filter(move |(_, listed)| is(listed)).map(|(index, _)| index)
    }

    /// Reports entries of the list that no input has.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](ErrorKind::Mismatch) if nothing is left to merge.
    pub(super) fn check(&self, found: &HashSet<usize>, notices: &mut Vec<String>) -> Result<()> {
        let missing = self.names().iter().enumerate().filter(|(index, _)| !found.contains(index));
        let missing: Vec<&str> = missing.map(|(_, name)| name.as_str()).collect();
        if matches!(self, Self::Only(_)) && found.is_empty() {
            return Err(Error::mismatch(format!("no input has any of the objects that are asked for: {missing:?}")));
        }
        notices.extend(missing.iter().map(|name| format!("no input has {name}, which is listed")));
        Ok(())
    }
}
