//! Sub-commands, one file each.

pub(crate) mod dump;
pub(crate) mod ls;
pub(crate) mod map;
pub(crate) mod scan;
pub(crate) mod show;
pub(crate) mod verify;
