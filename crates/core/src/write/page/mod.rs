//! Fields, columns and pages of an RNTuple that is written: from columns of values to sealed pages.

pub(crate) mod buffer;
pub(crate) mod buffered;
mod declared;
pub(crate) mod field;
mod names;
pub(crate) mod seal;
pub(crate) mod state;
pub(crate) mod stored;
pub(crate) mod streamer;
pub(crate) mod typed;
