//! Sub-commands, one file each.

pub(crate) mod browse;
pub(crate) mod cache;
pub(crate) mod checksum;
pub(crate) mod completions;
pub(crate) mod compression;
pub(crate) mod cp;
pub(crate) mod doctor;
pub(crate) mod draw;
pub(crate) mod dump;
pub(crate) mod layout;
pub(crate) mod ls;
pub(crate) mod makeproject;
pub(crate) mod man;
pub(crate) mod map;
pub(crate) mod merge;
pub(crate) mod mkdir;
pub(crate) mod optimize;
pub(crate) mod pack;
pub(crate) mod perf;
pub(crate) mod proxy;
pub(crate) mod recover;
pub(crate) mod rewrite;
pub(crate) mod rm;
pub(crate) mod scan;
pub(crate) mod show;
pub(crate) mod verify;
