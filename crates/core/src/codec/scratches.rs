//! Contexts of codecs that wait to be used again: one costs more to make than a small basket to inflate.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use super::Scratch;
use crate::idle::Idle;

/// Scratches that the files of a session share, each used by one thread at a time.
#[derive(Clone, Default)]
pub(crate) struct Scratches(Arc<Idle<Scratch>>);

/// A scratch that goes back at the end.
pub(crate) struct LentScratch {
    scratch: Scratch,
    home: Scratches,
}

/// Those beyond it are dropped: each holds some hundred kilobytes.
const MOST_IDLE: usize = 32;

impl Scratches {
    /// One that waits, or a new one.
    pub(crate) fn take(&self) -> LentScratch {
        let scratch = self.0.take().unwrap_or_default();
        LentScratch { scratch, home: self.clone() }
    }
}

impl Deref for LentScratch {
    type Target = Scratch;

    fn deref(&self) -> &Scratch {
        &self.scratch
    }
}

impl DerefMut for LentScratch {
    fn deref_mut(&mut self) -> &mut Scratch {
        &mut self.scratch
    }
}

impl Drop for LentScratch {
    fn drop(&mut self) {
        // A codec that panicked may have left its context in any state.
        if std::thread::panicking() {
            return;
        }
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.forget_buffers();
        self.home.0.put_below(MOST_IDLE, scratch);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contexts_are_used_again() {
        let scratches = Scratches::default();
        let idle = || scratches.0.len();
        let (first, second) = (scratches.take(), scratches.take());
        assert_eq!(idle(), 0);
        drop(first);
        drop(second);
        assert_eq!(idle(), 2);
        let many: Vec<LentScratch> = (0..2 * MOST_IDLE).map(|_| scratches.take()).collect();
        drop(many);
        assert_eq!(idle(), MOST_IDLE);
    }
}
