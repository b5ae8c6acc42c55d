//! PRIMITIVES of ROOT serialisation: big-endian reader and writer, byte counts, class tags, strings, limits.

mod fixup;
mod frame;
mod limits;
mod reader;
mod writer;

pub(crate) use fixup::Fixup;
pub use frame::{Frame, MEMBER_WISE, Slot};
pub use limits::Limits;
pub use reader::{Reader, text};
pub use writer::Writer;

/// Marks a word as a byte count.
pub const BYTE_COUNT: u32 = 0x4000_0000;
