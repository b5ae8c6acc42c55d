//! How a whole `TClonesArray` stands in an entry, besides its objects.
//!
//! Format page: `docs/format/custom.md`. Source: `TClonesArray::Streamer`.

use std::sync::Arc;

/// The class.
pub(crate) const CLONES_ARRAY: &str = "TClonesArray";

/// Of a `TClonesArray` that is written from values: what StreamerInfos do not tell, and the bytes of other entries do.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ClonesForm {
    /// `fName`.
    pub(crate) name: Arc<str>,
    /// The class of its objects.
    pub(crate) class: Arc<str>,
    /// The version of that class.
    pub(crate) version: i32,
    /// `fLowerBound`.
    pub(crate) low: i32,
    /// `fBits`.
    pub(crate) bits: u32,
    /// Whether it stands behind a pointer that may be null: the member has no `->` in its comment.
    pub(crate) is_pointer: bool,
    /// Whether the member is the array itself.
    pub(crate) is_member: bool,
}

/// Bit of `fBits`: the objects stand member by member (`TClonesArray::BypassStreamer`), since version 4.
const BYPASS: u32 = 1 << 12;
/// The same of version 3.
const OLD_BYPASS: u32 = 1 << 14;

impl ClonesForm {
    /// The form of a new `TClonesArray`.
    pub(crate) fn new(class: &Arc<str>, version: i32) -> Self {
        let name = format!("{class}s").into();
        Self { name, class: Arc::clone(class), version, low: 0, bits: BYPASS, is_pointer: false, is_member: false }
    }

    /// Whether the objects stand member by member.
    pub(crate) fn is_member_wise(&self) -> bool {
        self.bits & BYPASS != 0
    }
}

/// Whether the objects of a `TClonesArray` of a version, with these bits, stand member by member.
pub(super) fn is_member_wise(version: i16, bits: u32) -> bool {
    bits & if version == 3 { OLD_BYPASS } else { BYPASS } != 0
}

/// The class of the objects and its version, of `Name;version`.
pub(super) fn class_and_version(text: &str) -> (Arc<str>, Option<i32>) {
    let (class, version) = text.split_once(';').unwrap_or((text, ""));
    (class.into(), version.parse().ok())
}
