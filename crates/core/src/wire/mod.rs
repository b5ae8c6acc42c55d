//! PRIMITIVES of ROOT serialisation: big-endian reader and writer, byte counts, class tags, strings, limits.

mod frame;
mod limits;
mod reader;
mod writer;

pub use frame::{BYTE_COUNT, Frame, MEMBER_WISE, Slot};
pub use limits::Limits;
pub use reader::{Reader, text};
pub use writer::Writer;
