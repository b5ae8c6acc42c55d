//! What verification finds, and how it is collected.

use std::fmt;

use crate::error::Error;

/// How bad a [`Finding`] is.
///
/// # Example
///
/// ```
/// assert_eq!(sapwood::inspect::verify::Severity::Damage.as_str(), "damage");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Worth knowing; files that are whole have it.
    Note,
    /// Against the rules, though what the file holds can be read.
    Unusual,
    /// Something that the file should hold cannot be read, or is not what was written.
    Damage,
}

impl Severity {
    /// The severity in lower case.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Unusual => "unusual",
            Self::Damage => "damage",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Something that is not as it should be.
///
/// # Example
///
/// ```
/// use std::sync::Arc;
/// use sapwood::inspect::verify::{Severity, verify_store};
/// use sapwood::io::MemoryStore;
/// let cut = &include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/plain.root"))[..19_000];
/// let report = verify_store(Arc::new(MemoryStore::new("cut.root", cut)), Default::default())?;
/// let finding = &report.findings[0];
/// assert_eq!((finding.severity, finding.expected, finding.found), (Severity::Damage, Some(19_253), Some(19_000)));
/// assert_eq!(
///     finding.to_string(),
///     "damage: the file is shorter than its header says (offset 12, expected 19253, found 19000)"
/// );
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// What it is, in words.
    pub message: String,
    /// Path of the object, with branch where it is one.
    pub object: Option<String>,
    /// Number of the basket in its branch.
    pub basket: Option<u32>,
    /// Offset in the file.
    pub offset: Option<u64>,
    /// What should be there.
    pub expected: Option<u64>,
    /// What is there.
    pub found: Option<u64>,
}

impl Finding {
    pub(super) fn new(severity: Severity, message: impl Into<String>) -> Self {
        Self {
            severity,
            message: message.into(),
            object: None,
            basket: None,
            offset: None,
            expected: None,
            found: None,
        }
    }

    pub(super) fn damage(message: impl Into<String>) -> Self {
        Self::new(Severity::Damage, message)
    }

    pub(super) fn unusual(message: impl Into<String>) -> Self {
        Self::new(Severity::Unusual, message)
    }

    pub(super) fn note(message: impl Into<String>) -> Self {
        Self::new(Severity::Note, message)
    }

    /// What an error says. Its offset may be one within an object, so that the record's own goes first.
    pub(super) fn of(severity: Severity, error: &Error) -> Self {
        let place = error.place();
        Self {
            basket: place.basket,
            offset: place.offset,
            expected: place.expected,
            found: place.found,
            ..Self::new(severity, error.message())
        }
    }

    pub(super) fn within(mut self, object: impl Into<String>) -> Self {
        self.object = Some(object.into());
        self
    }

    pub(super) fn in_basket(mut self, basket: usize) -> Self {
        self.basket = u32::try_from(basket).ok();
        self
    }

    pub(super) fn at(mut self, offset: u64) -> Self {
        self.offset = Some(offset);
        self
    }

    /// Adds an error's words.
    pub(super) fn because(mut self, error: &Error) -> Self {
        self.message = format!("{}: {}", self.message, error.message());
        self
    }

    pub(super) fn wanted(mut self, expected: u64, found: u64) -> Self {
        (self.expected, self.found) = (Some(expected), Some(found));
        self
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.severity, self.message)?;
        let mut places = Vec::new();
        places.extend(self.object.as_ref().map(|object| format!("object {object}")));
        places.extend(self.basket.map(|basket| format!("basket {basket}")));
        places.extend(self.offset.map(|offset| format!("offset {offset}")));
        places.extend(self.expected.map(|expected| format!("expected {expected}")));
        places.extend(self.found.map(|found| format!("found {found}")));
        if places.is_empty() { Ok(()) } else { write!(f, " ({})", places.join(", ")) }
    }
}

/// What was checked, and what was found.
///
/// # Example
///
/// ```
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/plain.root");
/// use sapwood::inspect::verify::{Severity, verify_file};
/// let report = verify_file(&sapwood::File::open(path)?);
/// assert_eq!((report.is_damaged(), report.count(Severity::Damage)), (false, 0));
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// In the order in which they were found, but no more than [`MOST_FINDINGS`].
    pub findings: Vec<Finding>,
    /// Findings beyond those.
    pub left_out: u64,
    /// Records that were walked.
    pub records: u64,
    /// Gaps between them.
    pub gaps: u64,
    /// Bytes of these gaps.
    pub gap_bytes: u64,
    /// Payloads that were read, baskets included.
    pub payloads: u64,
    /// Bytes of these payloads once inflated.
    pub inflated_bytes: u64,
    /// Baskets that belong to a tree.
    pub baskets: u64,
    /// Trees, each cycle for itself.
    pub trees: u64,
    /// Pages that belong to an RNTuple: those that several columns share count once.
    pub pages: u64,
    /// RNTuples, each cycle for itself.
    pub ntuples: u64,
    damages: u64,
    /// Stored bytes of the payloads that were looked into.
    pub(super) stored_bytes: u64,
}

/// So many findings are kept: a file can be wrong in more places than a report needs.
pub const MOST_FINDINGS: usize = 10_000;

impl Report {
    /// Whether anything was damaged.
    pub fn is_damaged(&self) -> bool {
        self.damages > 0
    }

    /// How many findings have this severity, of those that were kept.
    pub fn count(&self, severity: Severity) -> usize {
        self.findings.iter().filter(|finding| finding.severity == severity).count()
    }

    pub(super) fn add(&mut self, finding: Finding) {
        self.damages += u64::from(finding.severity == Severity::Damage);
        if self.findings.len() < MOST_FINDINGS {
            self.findings.push(finding);
        } else {
            self.left_out += 1;
        }
    }
}
