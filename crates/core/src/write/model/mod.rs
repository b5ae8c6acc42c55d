//! What is written: classes, branches, columns of values, and how objects are split into branches.

pub(crate) mod arrow;
pub(crate) mod branch;
pub(crate) mod class;
pub(crate) mod columns;
pub(crate) mod layout;
pub(crate) mod split;
pub(crate) mod tobject;
pub(crate) mod values;
