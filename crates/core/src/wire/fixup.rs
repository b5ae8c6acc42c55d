//! Places in what was written that change with the length of something else: byte counts, and tags that name positions.

/// What stands at such a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fixup {
    /// A byte count begins.
    Open,
    /// What the last open byte count counts ends.
    Close,
    /// A tag: these bits, and a position.
    Tag {
        /// The bits of a class reference, or none.
        bits: u32,
        /// What it names, counted from the start of the key.
        position: u32,
    },
    /// So many bytes of a value that the caller numbered.
    Value {
        /// Its number.
        number: u32,
        /// Its bytes.
        bytes: u32,
    },
}
