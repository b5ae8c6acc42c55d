//! The side file of an open file, and a notice about it.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::error::{ErrorKind, Result};
use crate::statistics::SideFile;

/// The side file of a file, read on first use, and a notice that nobody has taken yet.
#[derive(Default)]
pub(super) struct Beside {
    side: OnceLock<Option<Arc<SideFile>>>,
    notice: Mutex<Notice>,
}

#[derive(Default)]
struct Notice {
    was_given: bool,
    waiting: Option<String>,
}

impl Beside {
    /// The side file. What cannot be read is noted, and left out.
    pub(super) fn side(
        &self,
        read: impl FnOnce() -> Result<SideFile>,
        on_notice: Option<&dyn Fn(&str)>,
    ) -> Option<&Arc<SideFile>> {
        let found = self.side.get_or_init(|| match read() {
            Ok(side) => Some(Arc::new(side)),
            Err(error) => {
                if error.kind() != ErrorKind::NotFound {
                    self.note(&format!("{error}: statistics are not used"), on_notice);
                }
                None
            }
        });
        found.as_ref()
    }

    /// Notes what is wrong, unless something was noted before. `on_notice` receives it at once.
    pub(super) fn note(&self, words: &str, on_notice: Option<&dyn Fn(&str)>) {
        let mut notice = self.notice.lock().unwrap_or_else(PoisonError::into_inner);
        if !notice.was_given {
            notice.was_given = true;
            match on_notice {
                Some(on_notice) => on_notice(words),
                None => notice.waiting = Some(words.to_owned()),
            }
        }
    }

    /// Returns what was noted, once.
    pub(super) fn take(&self) -> Option<String> {
        self.notice.lock().unwrap_or_else(PoisonError::into_inner).waiting.take()
    }
}
