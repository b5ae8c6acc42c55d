//! The keys of a file being written.

use std::collections::HashSet;

use crate::container::Key;
use crate::error::Result;
use crate::file::KeyPath;
use crate::write::file::state::{Output, State};
use crate::write::writer::FileWriter;

impl FileWriter {
    /// All keys with their paths, directories before their content: those of the last save, with what was written or
    /// deleted since. A tree being written has the key of its last save.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::schema::Draft;
    /// use sapwood::write::{FileWriter, WriteOptions};
    /// # let path = std::env::temp_dir().join("sapwood-file-keys.root");
    /// let mut file = FileWriter::recreate(&path, WriteOptions::default())?;
    /// file.write("notes/answer", Draft::new("TObjString").with("fString", "42"))?;
    /// let paths: Vec<String> = file.keys()?.into_iter().map(|key| key.path).collect();
    /// assert_eq!(paths, ["notes", "notes/answer"]);
    /// assert_eq!(&*file.key("notes/answer")?.class, "TObjString");
    /// assert!(!file.is_saved()?);
    /// file.save()?;
    /// assert!(file.is_saved()?);
    /// # drop(file);
    /// # std::fs::remove_file(path).ok();
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn keys(&self) -> Result<Vec<KeyPath>> {
        let mut state = self.output.open_state()?;
        let mut keys = Vec::new();
        self.output.list(&mut state, 0, &mut HashSet::new(), &mut keys)?;
        Ok(keys)
    }

    /// The key of a path, which may end in `;cycle`; without a cycle the newest.
    ///
    /// # Errors
    ///
    /// [`NotFound`](crate::ErrorKind::NotFound).
    pub fn key(&self, path: &str) -> Result<Key> {
        let mut state = self.output.open_state()?;
        // `find` never returns an empty list.
        let (_, mut keys) = self.output.find(&mut state, path.trim_matches('/'))?;
        Ok(keys.swap_remove(0))
    }

    /// Whether the last save shows everything that was written, except for rows that trees still buffer.
    pub fn is_saved(&self) -> Result<bool> {
        let state = self.output.open_state()?;
        let is_changed = state.infos_changed
            || state.trees.iter().any(|tree| tree.changed)
            || state.ntuples.iter().any(|ntuple| ntuple.changed)
            || state.folders.iter().any(|folder| folder.changed);
        Ok(!is_changed)
    }
}

impl Output {
    /// `seen` are the visited directories: one that contains itself would never end.
    fn list(&self, state: &mut State, folder: usize, seen: &mut HashSet<u64>, keys: &mut Vec<KeyPath>) -> Result<()> {
        for key in state.folders[folder].listed() {
            let path = state.folders[folder].path_of(&key.name);
            let inside = if key.is_directory() { self.find_folder(state, &path, None)? } else { None };
            keys.push(KeyPath { path, key });
            if let Some(inside) = inside.filter(|&inside| seen.insert(state.folder_seek(inside))) {
                self.list(state, inside, seen, keys)?;
            }
        }
        Ok(())
    }
}
