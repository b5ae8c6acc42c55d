//! One error for the whole engine: what kind, in words, where, and what lay beneath.

use std::borrow::Cow;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// What went wrong, for callers that decide by it.
///
/// # Example
///
/// ```
/// assert_eq!(sapwood::ErrorKind::NotFound.as_str(), "not found");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// No such file, object or branch.
    NotFound,
    /// Something of that name is there already.
    Exists,
    /// The bytes contradict the format.
    Malformed,
    /// A checksum does not match its bytes.
    Checksum,
    /// Well formed, but nothing here can read it.
    Unsupported,
    /// A limit of [`Limits`](crate::Limits) would be passed.
    Limit,
    /// What was asked for does not fit what is there.
    Mismatch,
    /// An expression that cannot be understood, or that asks for something that it may not.
    Expression,
    /// The file changed while it was open.
    Changed,
    /// No answer in time.
    TimedOut,
    /// Not allowed.
    Denied,
    /// The operating system reported an error.
    Io,
    /// The caller cancelled.
    Cancelled,
    /// A fault in Sapwood itself, to be reported. Nothing it returned before is wrong; this call has no result.
    Internal,
}

/// Where it went wrong. Each layer that an error crosses adds what it knows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// File name or URL.
    pub file: Option<Arc<str>>,
    /// Path of the object in the file, with branch or member.
    pub object: Option<Arc<str>>,
    /// Number of the basket in its branch.
    pub basket: Option<u32>,
    /// Number of the compressed block in its basket or record.
    pub block: Option<u32>,
    /// Byte offset: in the file, or in the object where `object` is set.
    pub offset: Option<u64>,
    /// What the format asks for.
    pub expected: Option<u64>,
    /// What is there.
    pub found: Option<u64>,
}

/// The error of every fallible call. Eight bytes wide, so that `Result`s stay small in inner loops.
///
/// # Example
///
/// ```
/// use sapwood::{Error, ErrorKind};
/// let error = Error::malformed("bad magic").at(4).wanted(7, 8).in_file("a.root");
/// assert_eq!(error.kind(), ErrorKind::Malformed);
/// assert_eq!(error.to_string(), "malformed: bad magic (file a.root, offset 4, expected 7, found 8)");
/// ```
///
/// ```
/// use sapwood::{Error, ErrorKind};
/// // What a store or another library on top of this one reports.
/// let cause = std::io::Error::other("the disk is gone");
/// let error = Error::new(ErrorKind::Io, "cannot read").because(cause).in_object("events").in_file("a.root");
/// assert_eq!((error.kind().as_str(), error.message()), ("i/o", "cannot read"));
/// assert_eq!(error.place().object.as_deref(), Some("events"));
/// assert_eq!(Error::not_found("no such file").kind(), ErrorKind::NotFound);
/// assert_eq!(Error::mismatch("it is no tree").kind(), ErrorKind::Mismatch);
/// assert_eq!(Error::unsupported("an RNTuple").kind(), ErrorKind::Unsupported);
/// assert_eq!(Error::limit("too many bytes", 10, 11).place().found, Some(11));
/// ```
#[derive(Clone)]
pub struct Error(Box<Detail>);

#[derive(Clone)]
struct Detail {
    kind: ErrorKind,
    message: Cow<'static, str>,
    place: Place,
    source: Option<Arc<dyn std::error::Error + Send + Sync>>,
}

/// `Result` with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// An error of `kind`, in words.
    pub fn new(kind: ErrorKind, message: impl Into<Cow<'static, str>>) -> Self {
        Self(Box::new(Detail { kind, message: message.into(), place: Place::default(), source: None }))
    }

    /// Bytes that contradict the format.
    pub fn malformed(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::Malformed, message)
    }

    /// Something that nothing here can read.
    pub fn unsupported(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::Unsupported, message)
    }

    /// A limit that would be passed: `found` against `allowed`.
    pub fn limit(what: impl Into<Cow<'static, str>>, allowed: u64, found: u64) -> Self {
        Self::new(ErrorKind::Limit, what).wanted(allowed, found)
    }

    /// No such thing.
    pub fn not_found(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::NotFound, message)
    }

    /// What was asked for does not fit what is there.
    pub fn mismatch(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::Mismatch, message)
    }

    /// A broken invariant of Sapwood's own: never the fault of a file or a caller.
    ///
    /// # Example
    ///
    /// ```
    /// let error = sapwood::Error::internal("a buffer has no place");
    /// assert_eq!(error.to_string(), "internal error: a buffer has no place: please report this as a bug in Sapwood");
    /// ```
    pub fn internal(what: impl fmt::Display) -> Self {
        Self::new(ErrorKind::Internal, format!("{what}: please report this as a bug in Sapwood"))
    }

    /// The system's error for an operation that failed, which `message` names: "cannot open the file".
    pub(crate) fn system(message: &'static str, source: std::io::Error) -> Self {
        let kind = match source.kind() {
            std::io::ErrorKind::NotFound => ErrorKind::NotFound,
            std::io::ErrorKind::AlreadyExists => ErrorKind::Exists,
            std::io::ErrorKind::PermissionDenied => ErrorKind::Denied,
            std::io::ErrorKind::TimedOut => ErrorKind::TimedOut,
            _ => ErrorKind::Io,
        };
        Self::new(kind, message).because(source)
    }

    /// Sets the byte offset, unless a deeper layer did.
    #[must_use]
    pub fn at(mut self, offset: u64) -> Self {
        self.0.place.offset.get_or_insert(offset);
        self
    }

    /// Sets what was expected and what was found.
    #[must_use]
    pub fn wanted(mut self, expected: u64, found: u64) -> Self {
        self.0.place.expected = Some(expected);
        self.0.place.found = Some(found);
        self
    }

    /// Names the file, unless a deeper layer did.
    #[must_use]
    pub fn in_file(mut self, file: impl Into<Arc<str>>) -> Self {
        self.0.place.file.get_or_insert_with(|| file.into());
        self
    }

    /// Names the object. An outer object is put before an inner one, with a slash.
    #[must_use]
    pub fn in_object(mut self, object: &str) -> Self {
        let place = &mut self.0.place.object;
        *place = Some(match place.take() {
            None => object.into(),
            Some(inner) => format!("{object}/{inner}").into(),
        });
        self
    }

    /// Names the basket, unless a deeper layer did.
    #[must_use]
    #[doc(hidden)]
    pub fn in_basket(mut self, basket: u32) -> Self {
        self.0.place.basket.get_or_insert(basket);
        self
    }

    /// Names the compressed block.
    pub(crate) fn in_block(mut self, block: usize) -> Self {
        self.0.place.block.get_or_insert(u32::try_from(block).unwrap_or(u32::MAX));
        self
    }

    /// Says where in the file it is: a deeper layer counted from `start`.
    pub(crate) fn behind(mut self, start: u64) -> Self {
        let place = &mut self.0.place.offset;
        *place = Some(start.saturating_add(place.unwrap_or(0)));
        self
    }

    /// Attaches the error that lay beneath.
    #[must_use]
    pub fn because(mut self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        self.0.source = Some(Arc::from(source.into()));
        self
    }

    /// The same error in other words.
    ///
    /// # Example
    ///
    /// ```
    /// let error = sapwood::Error::not_found("no such file").in_file("a.root");
    /// let error = error.in_words(format!("cannot merge: {}", error.message()));
    /// assert_eq!(error.to_string(), "not found: cannot merge: no such file (file a.root)");
    /// ```
    #[must_use]
    pub fn in_words(&self, message: impl Into<Cow<'static, str>>) -> Self {
        Self(Box::new(Detail { message: message.into(), ..(*self.0).clone() }))
    }

    /// The same error, with those of some names that look most like one that is not there.
    ///
    /// # Example
    ///
    /// ```
    /// let error = sapwood::Error::not_found("no branch \"Jt_pt\"").with_nearest("Jt_pt", ["Jet_pt"]);
    /// assert_eq!(error.message(), "no branch \"Jt_pt\"; nearest: \"Jet_pt\"");
    /// ```
    #[must_use]
    pub fn with_nearest<'a>(&self, wanted: &str, names: impl IntoIterator<Item = &'a str>) -> Self {
        let hint = nearest(wanted, names.into_iter().map(|name| (name, name)));
        self.in_words(format!("{}{hint}", self.message()))
    }

    /// What kind of error it is.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Whether it is about bytes that were read, and not about reading them: what a store reports is no fault of the
    /// file.
    pub(crate) fn is_about_bytes(&self) -> bool {
        use ErrorKind::{Checksum, Limit, Malformed, Mismatch, Unsupported};
        matches!(self.kind(), Malformed | Checksum | Unsupported | Limit | Mismatch)
    }

    /// The words, without the place.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Where it happened.
    pub fn place(&self) -> &Place {
        &self.0.place
    }
}

impl ErrorKind {
    /// The kind in lower-case words.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NotFound => "not found",
            Self::Exists => "exists",
            Self::Malformed => "malformed",
            Self::Checksum => "checksum",
            Self::Unsupported => "unsupported",
            Self::Limit => "limit",
            Self::Mismatch => "mismatch",
            Self::Expression => "expression",
            Self::Changed => "changed",
            Self::TimedOut => "timed out",
            Self::Denied => "denied",
            Self::Io => "i/o",
            Self::Cancelled => "cancelled",
            Self::Internal => "internal error",
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Detail { kind, message, place, source } = &*self.0;
        write!(f, "{}: {message}", kind.as_str())?;
        let mut open = false;
        let mut part = |f: &mut fmt::Formatter<'_>, name: &str, value: &dyn fmt::Display| {
            let lead = if std::mem::replace(&mut open, true) { ", " } else { " (" };
            write!(f, "{lead}{name} {value}")
        };
        if let Some(file) = &place.file {
            part(f, "file", file)?;
        }
        if let Some(object) = &place.object {
            part(f, "object", object)?;
        }
        if let Some(basket) = &place.basket {
            part(f, "basket", basket)?;
        }
        if let Some(block) = &place.block {
            part(f, "block", block)?;
        }
        if let Some(offset) = &place.offset {
            part(f, "offset", offset)?;
        }
        if let Some(expected) = &place.expected {
            part(f, "expected", expected)?;
        }
        if let Some(found) = &place.found {
            part(f, "found", found)?;
        }
        if open {
            f.write_str(")")?;
        }
        if let Some(source) = source {
            write!(f, ": {source}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_deref().map(|source| source as _)
    }
}

impl From<std::io::Error> for Error {
    fn from(source: std::io::Error) -> Self {
        Self::system("the operating system reports an error", source)
    }
}

/// Runs something, and makes a panic in it an error of kind [`Internal`](ErrorKind::Internal): for callers that are not
/// written in Rust.
///
/// # Errors
///
/// Those of `work`.
///
/// # Example
///
/// ```
/// use sapwood::caught;
/// let error = caught(|| -> sapwood::Result<()> { panic!("a bug") }).unwrap_err();
/// assert_eq!(error.kind(), sapwood::ErrorKind::Internal);
/// ```
pub fn caught<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<&str>().copied();
        let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("without words");
        Err(Error::internal(format!("panicked ({text})")))
    })
}

/// Edit distance, for names that look alike.
pub(crate) fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().take(64).collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().take(64).enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let change = diagonal + usize::from(!x.eq_ignore_ascii_case(y));
            diagonal = row[j + 1];
            row[j + 1] = change.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

/// Names that look like what was asked for, as the end of an error message: each with the name that is compared, and
/// the one that is shown.
pub(crate) fn nearest<'a>(wanted: &str, names: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    const MOST: usize = 5;
    let mut near: Vec<_> = names.map(|(compared, shown)| (distance(wanted, compared), shown)).collect();
    near.sort_unstable();
    near.dedup();
    let shown: Vec<_> = near.iter().take(MOST).map(|(_, name)| format!("{name:?}")).collect();
    if shown.is_empty() { String::new() } else { format!("; nearest: {}", shown.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_eight_bytes_wide() {
        assert_eq!(size_of::<Error>(), 8);
    }

    #[test]
    fn outer_objects_come_first_and_inner_places_win() {
        let error = Error::malformed("x").at(3).in_object("branch").at(9).in_object("dir/tree").in_file("f");
        assert_eq!(error.place().object.as_deref(), Some("dir/tree/branch"));
        assert_eq!(error.place().offset, Some(3));
    }

    #[test]
    fn offsets_in_a_record_become_offsets_in_the_file() {
        let error = Error::malformed("x").at(3).in_block(2).behind(100).at(5);
        assert_eq!((error.place().offset, error.place().block), (Some(103), Some(2)));
        assert_eq!(error.to_string(), "malformed: x (block 2, offset 103)");
        assert_eq!(Error::malformed("x").behind(100).place().offset, Some(100));
    }
}
