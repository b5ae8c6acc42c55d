//! Clusters of a tree that several threads fill: their order, and which of them are on storage.

pub(crate) mod ordered_units;
pub(crate) mod queue;
pub(crate) mod semaphore;
pub(crate) mod sync;
