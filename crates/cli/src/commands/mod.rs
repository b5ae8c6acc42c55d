//! Sub-commands, one file each.

pub(crate) mod dump;
pub(crate) mod ls;
pub(crate) mod makeproject;
pub(crate) mod map;
pub(crate) mod mkdir;
pub(crate) mod rm;
pub(crate) mod scan;
pub(crate) mod show;
