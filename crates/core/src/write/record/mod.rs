//! Records of trees: their state while they are written, new records, and records that were there before.

pub(crate) mod cluster_ranges;
pub(crate) mod create;
pub(crate) mod edit;
pub(crate) mod figure;
pub(crate) mod figures;
pub(crate) mod payload;
pub(crate) mod state;
pub(crate) mod update;
