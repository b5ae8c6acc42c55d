//! TFILE as a small file system: header, keys, directories, free space.

mod directory;
mod free;
mod header;
mod key;

pub use directory::{Directory, read_key_list, write_key_list};
pub use free::Free;
pub use header::{BIG_FILE, HEADER_BYTES, Header};
pub use key::{Key, Record, datime, datime_text};
