//! TFILE as a small file system: header, keys, directories, free space.

mod directory;
mod free;
mod header;
mod key;

pub use directory::Directory;
#[doc(hidden)]
pub use directory::read_key_list;
pub(crate) use directory::write_key_list;
pub use free::Free;
pub(crate) use header::BIG_FILE;
pub use header::Header;
pub use key::{Key, Record, datime, datime_text};
