//! What a thread needs for a task, kept from one to the next.

use crate::idle::Idle;

/// Workspaces of the threads of a pool, each made when one is needed first.
pub(crate) struct Workspaces<'s, W> {
    idle: Idle<W>,
    make: Box<dyn Fn() -> W + Send + Sync + 's>,
}

impl<'s, W> Workspaces<'s, W> {
    pub(crate) fn new(make: impl Fn() -> W + Send + Sync + 's) -> Self {
        Self { idle: Idle::default(), make: Box::new(make) }
    }

    /// Works with the one that was used last.
    pub(crate) fn with_one<T>(&self, work: impl FnOnce(&mut W) -> T) -> T {
        self.idle.with(&self.make, work)
    }
}
