//! Lists of keys and of columns, and their texts.

use std::ffi::{CString, c_char};
use std::ptr;

use crate::argument::free;

/// An object in a file. Its texts live as long as the list.
#[repr(C)]
#[derive(Debug)]
pub struct SapwoodKey {
    /// Directories and name, joined by "/".
    pub path: *const c_char,
    /// The C++ class, like "TTree".
    pub class_name: *const c_char,
    /// Its title.
    pub title: *const c_char,
    /// Its cycle.
    pub cycle: u16,
    /// Whether `sapwood_file_table` opens it: a tree or an RNTuple.
    pub is_table: bool,
}

/// A column of a table: a branch or a field. Its texts live as long as the list.
#[repr(C)]
#[derive(Debug)]
pub struct SapwoodColumn {
    /// Names from the top-level branch on, joined by "/", or of fields by ".".
    pub name: *const c_char,
    /// The type of its values, like "float32" or "var * float32"; NULL where it cannot be read.
    pub type_name: *const c_char,
    /// The type in words of C++, like `std::vector<float>`; NULL where it cannot be read.
    pub cpp_type: *const c_char,
    /// Its title or description.
    pub title: *const c_char,
    /// Why it cannot be read as Arrow; NULL where it can be.
    pub problem: *const c_char,
}

/// The objects of a file. Free it with `sapwood_keys_free`.
#[derive(Debug)]
pub struct SapwoodKeys(List<SapwoodKey>);

/// The columns of a table. Free it with `sapwood_columns_free`.
#[derive(Debug)]
pub struct SapwoodColumns(List<SapwoodColumn>);

/// Rows that point to texts beside them.
#[derive(Debug)]
struct List<T> {
    rows: Vec<T>,
    /// A `CString` keeps its text where it is when it is moved.
    _texts: Vec<CString>,
}

// SAFETY: the pointers in the rows lead to texts that the list owns and that never change.
unsafe impl<T> Send for List<T> {}
// SAFETY: as for `Send`.
unsafe impl<T> Sync for List<T> {}

/// Texts that rows point to.
#[derive(Debug, Default)]
pub(crate) struct Texts(Vec<CString>);

impl Texts {
    /// Keeps a text.
    pub(crate) fn keep(&mut self, text: &str) -> *const c_char {
        let text = crate::argument::c_text(text);
        let at = text.as_ptr();
        self.0.push(text);
        at
    }

    /// Keeps a text, if there is one.
    pub(crate) fn keep_optional(&mut self, text: Option<&str>) -> *const c_char {
        text.map_or(ptr::null(), |text| self.keep(text))
    }
}

impl SapwoodKeys {
    pub(crate) fn new(rows: Vec<SapwoodKey>, texts: Texts) -> Self {
        Self(List { rows, _texts: texts.0 })
    }
}

impl SapwoodColumns {
    pub(crate) fn new(rows: Vec<SapwoodColumn>, texts: Texts) -> Self {
        Self(List { rows, _texts: texts.0 })
    }
}

/// The number of objects; 0 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sapwood_keys_count(keys: *const SapwoodKeys) -> usize {
    // SAFETY: it is NULL or of this library.
    unsafe { keys.as_ref() }.map_or(0, |keys| keys.0.rows.len())
}

/// An object of the list; NULL beyond its end. It lives as long as the list.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sapwood_keys_get(keys: *const SapwoodKeys, index: usize) -> *const SapwoodKey {
    // SAFETY: it is NULL or of this library.
    unsafe { keys.as_ref() }.and_then(|keys| keys.0.rows.get(index)).map_or(ptr::null(), ptr::from_ref)
}

/// Frees the list. NULL has no effect.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sapwood_keys_free(keys: *mut SapwoodKeys) {
    // SAFETY: as the crate's.
    unsafe { free(keys) }
}

/// The number of columns; 0 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sapwood_columns_count(columns: *const SapwoodColumns) -> usize {
    // SAFETY: it is NULL or of this library.
    unsafe { columns.as_ref() }.map_or(0, |columns| columns.0.rows.len())
}

/// A column of the list; NULL beyond its end. It lives as long as the list.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sapwood_columns_get(columns: *const SapwoodColumns, index: usize) -> *const SapwoodColumn {
    // SAFETY: it is NULL or of this library.
    unsafe { columns.as_ref() }.and_then(|columns| columns.0.rows.get(index)).map_or(ptr::null(), ptr::from_ref)
}

/// Frees the list. NULL has no effect.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sapwood_columns_free(columns: *mut SapwoodColumns) {
    // SAFETY: as the crate's.
    unsafe { free(columns) }
}
