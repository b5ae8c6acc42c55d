//! The statistics of a file, and notices about them.

use std::path::Path;
use std::sync::Arc;

use super::File;
use crate::statistics::SideFile;

/// Bytes by which a side file may be longer than its file.
const MAX_MORE_BYTES: u64 = 64 << 20;

impl File {
    /// The side file of statistics, in the folder of the options or next to a local file, unless
    /// [`OpenOptions`](super::OpenOptions) switch it off. A damaged one is not used, and
    /// [noted](Self::statistics_notice).
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::example("nano.root");
    /// assert!(sapwood::File::open(path)?.statistics().is_none());
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn statistics(&self) -> Option<&Arc<SideFile>> {
        let options = &self.options().statistics;
        if !options.is_on {
            return None;
        }
        let name = Path::new(&*self.identity().name);
        let path = match &options.folder {
            Some(folder) => SideFile::path_in(folder, &self.identity().name),
            None if self.store().as_file().is_some() => SideFile::path_of(name),
            None => return None,
        };
        // Far more than a file of this length can need: a damaged one must not take all memory.
        let most = self.identity().len.saturating_add(MAX_MORE_BYTES);
        self.0.beside.side(|| SideFile::read_within(path, most), self.on_notice())
    }

    /// Returns what is wrong with the statistics of the file, once per open file.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::scratch("notice.root");
    /// # std::fs::copy(sapwood_testkit::example("nano.root"), &path)?;
    /// use sapwood::{File, query::Query, statistics::SideFile};
    /// std::fs::write(SideFile::path_of(&path), "no statistics")?;
    /// let file = File::open(&path)?;
    /// let found = Query::new(&file.tree("Events")?).cut("nJet > 2")?.passing(0..10)?;
    /// assert!(!found.is_empty());
    /// assert!(file.statistics_notice().is_some_and(|words| words.contains("not used")));
    /// assert_eq!(file.statistics_notice(), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn statistics_notice(&self) -> Option<String> {
        self.0.beside.take()
    }

    /// Notes what is wrong with the statistics, unless something was noted before.
    pub(crate) fn note_statistics(&self, words: &str) {
        self.0.beside.note(words, self.on_notice());
    }

    /// The receiver of notices about statistics.
    fn on_notice(&self) -> Option<&dyn Fn(&str)> {
        self.options().statistics.on_notice.as_deref().map(|receive| receive as &dyn Fn(&str))
    }
}
