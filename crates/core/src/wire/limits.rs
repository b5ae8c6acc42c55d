//! What a file may ask of this process.

/// Bounds against hostile or broken files. One place for sizes, depth and expansion.
///
/// # Example
///
/// ```
/// let strict = sapwood::Limits { object_bytes: 1 << 20, ..Default::default() };
/// assert!(strict.object_bytes < sapwood::Limits::default().object_bytes);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Largest object or basket after inflation, in bytes. ROOT's own limit is 1 GiB.
    pub object_bytes: u64,
    /// Largest ratio of inflated to stored bytes. Zlib cannot pass 1,032; the others compress zeros further.
    pub expansion: u64,
    /// Deepest nesting of objects, collections or directories.
    pub depth: u32,
    /// Most keys in one directory.
    pub keys: u32,
    /// Most bytes that one answer may take.
    pub answer_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { object_bytes: 1 << 30, expansion: 100_000, depth: 64, keys: 10_000_000, answer_bytes: 1 << 40 }
    }
}
