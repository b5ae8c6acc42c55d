//! Fields, columns and pages of an RNTuple that is written: from columns of values to sealed pages.

pub(crate) mod buffer;
pub(crate) mod field;
pub(crate) mod seal;
pub(crate) mod state;
