//! The file being written: directories, free segments, records, and saves.

pub(crate) mod compatible;
pub(crate) mod directory;
pub(crate) mod free_list;
pub(crate) mod identity;
pub(crate) mod ntuple;
pub(crate) mod ntuple_rooms;
pub(crate) mod paths;
pub(crate) mod process_id;
pub(crate) mod record_io;
pub(crate) mod save;
pub(crate) mod state;
