//! ProcessIDs: the processes whose objects the references in a file name.
//!
//! A reference (`TRef`) is the number of an object in a process, and the index of that process in the file's list: the
//! objects `ProcessID0`, `ProcessID1` and so on. References copied from another file index the list of that file, so
//! its list is copied too, and keys hold the offset at which it begins in ours.
//!
//! Source: `TProcessID`, `TTreeCloner::CopyProcessIds`, `TKey::fPidOffset`.

use std::sync::Arc;

use crate::container::Key;
use crate::error::{Error, Result};
use crate::file::File;
use crate::schema::Draft;
use crate::write::file::state::{Output, State};
use crate::write::model::branch::BranchSpec;

/// The list of a file, up to the first missing number.
fn listed<'k>(newest: impl Fn(&str) -> Option<&'k Key>) -> Vec<Key> {
    let of = |number: usize| newest(&format!("ProcessID{number}")).filter(|key| is_process_id(key)).cloned();
    (0..).map_while(of).collect()
}

/// How many processes a file lists.
pub(crate) fn count(file: &File) -> u16 {
    u16::try_from(listed(|name| file.newest(name)).len()).unwrap_or(u16::MAX)
}

/// Whether a key holds a ProcessID.
pub(crate) fn is_process_id(key: &Key) -> bool {
    &*key.class == "TProcessID"
}

/// The index at which a list begins in another, or would if it were appended: processes are identified by their titles.
fn place_in(theirs: &[Key], ours: &[Key]) -> usize {
    let fits = |start: &usize| ours.iter().skip(*start).zip(theirs).all(|(ours, theirs)| ours.title == theirs.title);
    (0..ours.len()).find(fits).unwrap_or(ours.len())
}

impl Output {
    /// Copies the processes of another file that are missing here, and returns the index of its first.
    ///
    /// # Errors
    ///
    /// [`Limit`](crate::ErrorKind::Limit) above 65,535 processes, and those of writing an object.
    pub(crate) fn process_ids(&self, state: &mut State, from: &File) -> Result<u16> {
        let theirs = listed(|name| from.newest(name));
        if theirs.is_empty() {
            return Ok(0);
        }
        let ours = listed(|name| state.folders[0].newest(name));
        let start = place_in(&theirs, &ours);
        for (index, key) in theirs.iter().enumerate().skip(ours.len() - start) {
            let name: Arc<str> = format!("ProcessID{}", start + index).into();
            let mut object = from.draft_at(key)?;
            object.set("fName", Arc::clone(&name));
            let key = self.key(state, &key.class, &name, &key.title);
            self.write_object(state, 0, key, &Arc::new(object), None)?;
        }
        u16::try_from(start).map_err(|_| self.in_file(too_many_processes()))
    }

    /// New branches that know how many processes the file lists: one at least where references are in them, which
    /// [`list_process`](Self::list_process) sees to.
    pub(crate) fn with_processes(state: &State, branches: Vec<BranchSpec>) -> Vec<BranchSpec> {
        let listed = listed(|name| state.folders[0].newest(name)).len();
        let processes = listed.max(usize::from(branches.iter().any(BranchSpec::refers)));
        let processes = u16::try_from(processes).unwrap_or(u16::MAX);
        branches.into_iter().map(|branch| branch.in_processes(processes)).collect()
    }

    /// Lists a process where references are in branches and the file has none.
    ///
    /// # Errors
    ///
    /// Those of writing an object.
    pub(crate) fn list_process(&self, state: &mut State, branches: &[BranchSpec]) -> Result<()> {
        const NAME: &str = "ProcessID0";
        if !branches.iter().any(BranchSpec::refers) || state.folders[0].newest(NAME).is_some_and(is_process_id) {
            return Ok(());
        }
        let title: Arc<str> = self.process_uuid().into();
        let object = Draft::new("TProcessID").with("fName", NAME).with("fTitle", Arc::clone(&title));
        let key = self.key(state, "TProcessID", &NAME.into(), &title);
        self.write_object(state, 0, key, &Arc::new(object), None).map(drop)
    }

    /// The key of an object that is copied from another file, whose references are shifted.
    pub(crate) fn copied_key(&self, state: &State, from: &Key, name: &str, process_ids: u16) -> Result<Key> {
        let offset = from.pid_offset.checked_add(process_ids).ok_or_else(|| self.in_file(too_many_processes()))?;
        Ok(self.key(state, &from.class, &name.into(), &from.title).with_pid_offset(offset))
    }
}

/// The error of references to objects of more processes than 16 bits can count.
fn too_many_processes() -> Error {
    Error::limit("references name objects of too many processes", u16::MAX.into(), u64::from(u16::MAX) + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str, class: &str, title: &str) -> Key {
        Key { name: name.into(), class: class.into(), title: title.into(), ..Key::default() }
    }

    #[test]
    fn a_list_is_found_where_it_is_or_appended() {
        let of = |titles: &str| -> Vec<Key> {
            titles.split_whitespace().map(|title| key("ProcessID", "TProcessID", title)).collect()
        };
        assert_eq!(place_in(&of("a b"), &[]), 0);
        assert_eq!(place_in(&of("a b"), &of("a b c")), 0);
        assert_eq!(place_in(&of("b c"), &of("a b c")), 1);
        assert_eq!(place_in(&of("c d"), &of("a b c")), 2);
        assert_eq!(place_in(&of("x"), &of("a b c")), 3);
    }

    #[test]
    fn a_list_ends_where_a_number_is_missing() {
        let keys = [
            key("ProcessID1", "TProcessID", ""),
            key("ProcessID0", "TProcessID", ""),
            key("ProcessID2", "TNamed", ""),
            key("ProcessID3", "TProcessID", ""),
        ];
        let listed = listed(|name| keys.iter().find(|key| &*key.name == name));
        assert_eq!(listed.iter().map(|key| &*key.name).collect::<Vec<_>>(), ["ProcessID0", "ProcessID1"]);
    }
}
