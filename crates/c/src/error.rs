//! Errors: every call that can fail returns one, or NULL.

use std::ffi::{CString, c_char};
use std::ptr;

use sapwood::{Error, ErrorKind, Result};

use crate::argument::{c_text, free};

/// What kind of error it is.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SapwoodErrorKind {
    /// No error.
    None = 0,
    /// No such file, key, branch or column.
    NotFound = 1,
    /// Something of that name exists.
    Exists = 2,
    /// Bytes that contradict the format.
    Malformed = 3,
    /// A checksum differs.
    Checksum = 4,
    /// Nothing here can read or write it.
    Unsupported = 5,
    /// A limit would be passed.
    Limit = 6,
    /// What was asked for does not fit what is there; also arguments that are NULL or not in UTF-8.
    Mismatch = 7,
    /// An expression that cannot be understood.
    Expression = 8,
    /// The file changed while it was read.
    Changed = 9,
    /// No answer in time.
    TimedOut = 10,
    /// Not allowed.
    Denied = 11,
    /// The operating system or a server reported an error.
    Io = 12,
    /// The caller cancelled.
    Cancelled = 13,
    /// A fault of the library itself, to be reported.
    Internal = 14,
}

impl From<ErrorKind> for SapwoodErrorKind {
    fn from(kind: ErrorKind) -> Self {
        match kind {
            ErrorKind::NotFound => Self::NotFound,
            ErrorKind::Exists => Self::Exists,
            ErrorKind::Malformed => Self::Malformed,
            ErrorKind::Checksum => Self::Checksum,
            ErrorKind::Unsupported => Self::Unsupported,
            ErrorKind::Limit => Self::Limit,
            ErrorKind::Mismatch => Self::Mismatch,
            ErrorKind::Expression => Self::Expression,
            ErrorKind::Changed => Self::Changed,
            ErrorKind::TimedOut => Self::TimedOut,
            ErrorKind::Denied => Self::Denied,
            ErrorKind::Io => Self::Io,
            ErrorKind::Cancelled => Self::Cancelled,
            _ => Self::Internal,
        }
    }
}

/// An error: its kind, and what happened, where, in words. Free it with `sapwood_error_free`.
#[derive(Debug)]
pub struct SapwoodError {
    kind: SapwoodErrorKind,
    message: CString,
    file: Option<CString>,
    object: Option<CString>,
}

impl From<&Error> for SapwoodError {
    fn from(error: &Error) -> Self {
        let place = error.place();
        Self {
            kind: error.kind().into(),
            message: c_text(&error.to_string()),
            file: place.file.as_deref().map(c_text),
            object: place.object.as_deref().map(c_text),
        }
    }
}

impl SapwoodError {
    /// Its words.
    pub(crate) fn message(&self) -> *const c_char {
        self.message.as_ptr()
    }
}

/// Does the work of a call. What goes wrong, panics included, becomes the error that the call returns.
pub(crate) fn call(work: impl FnOnce() -> Result<()>) -> *mut SapwoodError {
    match sapwood::caught(work) {
        Ok(()) => ptr::null_mut(),
        Err(error) => Box::into_raw(Box::new(SapwoodError::from(&error))),
    }
}

/// The kind of an error; `SAPWOOD_ERROR_KIND_NONE` for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sapwood_error_kind(error: *const SapwoodError) -> SapwoodErrorKind {
    // SAFETY: it is NULL or of this library.
    unsafe { error.as_ref() }.map_or(SapwoodErrorKind::None, |error| error.kind)
}

/// What happened, where, and what was expected, in one line; lives as long as the error. "" for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sapwood_error_message(error: *const SapwoodError) -> *const c_char {
    // SAFETY: it is NULL or of this library.
    unsafe { error.as_ref() }.map_or(c"".as_ptr(), SapwoodError::message)
}

/// The path or URL of the file that it is about, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sapwood_error_file(error: *const SapwoodError) -> *const c_char {
    // SAFETY: it is NULL or of this library.
    let file = unsafe { error.as_ref() }.and_then(|error| error.file.as_ref());
    file.map_or(ptr::null(), |file| file.as_ptr())
}

/// The path in the file of the object that it is about, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sapwood_error_object(error: *const SapwoodError) -> *const c_char {
    // SAFETY: it is NULL or of this library.
    let object = unsafe { error.as_ref() }.and_then(|error| error.object.as_ref());
    object.map_or(ptr::null(), |object| object.as_ptr())
}

/// Frees an error. NULL has no effect.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sapwood_error_free(error: *mut SapwoodError) {
    // SAFETY: it is NULL or from `call`.
    unsafe { free(error) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_an_error() {
        let error = call(|| panic!("what should not happen"));
        // SAFETY: `call` gave it.
        unsafe {
            assert_eq!(sapwood_error_kind(error), SapwoodErrorKind::Internal);
            let message = std::ffi::CStr::from_ptr(sapwood_error_message(error)).to_string_lossy().into_owned();
            assert!(message.contains("what should not happen"), "{message}");
            sapwood_error_free(error);
        }
    }

    #[test]
    fn kinds_have_the_words_of_the_engine() {
        for (kind, ours) in [
            (ErrorKind::NotFound, SapwoodErrorKind::NotFound),
            (ErrorKind::TimedOut, SapwoodErrorKind::TimedOut),
            (ErrorKind::Internal, SapwoodErrorKind::Internal),
        ] {
            assert_eq!(SapwoodErrorKind::from(kind), ours);
        }
    }
}
