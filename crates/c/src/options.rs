//! Sessions, types of numbers, and what is read.

use std::ffi::c_char;
use std::ptr;

use sapwood::column::Number;
use sapwood::{Result, Session};

use crate::argument::{free, give, object, place};
use crate::error::{SapwoodError, call};

/// The version of the library, like "0.1.0".
#[unsafe(no_mangle)]
pub extern "C" fn sapwood_version() -> *const c_char {
    const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    VERSION.as_ptr().cast()
}

/// Threads and recycled memory, which the files that are opened with it share.
#[derive(Debug)]
pub struct SapwoodSession(Session);

/// Makes a session that decodes and compresses on so many threads; 0 stands for all cores that the process may use, 1
/// for the caller's own thread.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sapwood_session_new(threads: u32, out: *mut *mut SapwoodSession) -> *mut SapwoodError {
    call(|| {
        // SAFETY: as the crate's.
        let out = unsafe { place(out, "out") }?;
        give(out, SapwoodSession(Session::with_threads(threads as usize)));
        Ok(())
    })
}

/// Its threads; 0 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sapwood_session_threads(session: *const SapwoodSession) -> u32 {
    // SAFETY: it is NULL or of this library.
    unsafe { session.as_ref() }.map_or(0, |session| session.0.threads() as u32)
}

/// Frees a session; files that were opened with it keep what they need. NULL has no effect.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sapwood_session_free(session: *mut SapwoodSession) {
    // SAFETY: as the crate's.
    unsafe { free(session) }
}

/// The session of a call; one of its own where there is none.
///
/// # Safety
///
/// That of the crate.
pub(crate) unsafe fn session_or_own(session: *const SapwoodSession) -> Result<Session> {
    if session.is_null() {
        return Ok(Session::default());
    }
    // SAFETY: as this function's.
    unsafe { object(session, "session") }.map(|session| session.0.clone())
}

/// The type of single values.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SapwoodType {
    /// `bool`, a byte each.
    Bool = 1,
    /// `int8_t`.
    Int8 = 2,
    /// `uint8_t`.
    Uint8 = 3,
    /// `int16_t`.
    Int16 = 4,
    /// `uint16_t`.
    Uint16 = 5,
    /// `int32_t`.
    Int32 = 6,
    /// `uint32_t`.
    Uint32 = 7,
    /// `int64_t`.
    Int64 = 8,
    /// `uint64_t`.
    Uint64 = 9,
    /// `float`.
    Float32 = 10,
    /// `double`.
    Float64 = 11,
    /// Strings: bytes in UTF-8, and offsets.
    Text = 12,
}

/// The numbers of a type; none for texts. C may pass any number, which an enum of Rust must not hold.
pub(crate) fn number(of: u32) -> Result<Option<Number>> {
    const NUMBERS: [(SapwoodType, Number); 11] = [
        (SapwoodType::Bool, Number::Bool),
        (SapwoodType::Int8, Number::I8),
        (SapwoodType::Uint8, Number::U8),
        (SapwoodType::Int16, Number::I16),
        (SapwoodType::Uint16, Number::U16),
        (SapwoodType::Int32, Number::I32),
        (SapwoodType::Uint32, Number::U32),
        (SapwoodType::Int64, Number::I64),
        (SapwoodType::Uint64, Number::U64),
        (SapwoodType::Float32, Number::F32),
        (SapwoodType::Float64, Number::F64),
    ];
    if of == SapwoodType::Text as u32 {
        return Ok(None);
    }
    let found = NUMBERS.iter().find(|(known, _)| *known as u32 == of);
    let unknown = || sapwood::Error::mismatch(format!("{of} is no SapwoodType"));
    found.map(|(_, number)| Some(*number)).ok_or_else(unknown)
}

/// What `sapwood_table_read` reads. Begin with `sapwood_read_options()`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct SapwoodReadOptions {
    /// Names of columns, or patterns like "Jet_*"; NULL for all columns that Arrow has a type for.
    pub columns: *const *const c_char,
    /// How many there are.
    pub column_count: usize,
    /// Only entries that pass this expression, like "nJet > 2"; NULL for all.
    pub cut: *const c_char,
    /// The first entry.
    pub start: u64,
    /// One past the last entry; what is behind the end of the table is left out.
    pub stop: u64,
    /// Bytes that the columns of a batch take, about; 0 for 64 MB.
    pub batch_bytes: u64,
}

/// Options that read everything.
#[unsafe(no_mangle)]
pub extern "C" fn sapwood_read_options() -> SapwoodReadOptions {
    SapwoodReadOptions {
        columns: ptr::null(),
        column_count: 0,
        cut: ptr::null(),
        start: 0,
        stop: u64::MAX,
        batch_bytes: 0,
    }
}
