//! What C passes, checked; and objects that C owns.

use std::ffi::{CStr, CString, c_char};
use std::mem::MaybeUninit;
use std::sync::{Mutex, MutexGuard, PoisonError};

use sapwood::{Error, Result};

/// What a lock guards. A panic under it was told as an error.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Text for C. Zero bytes, which no text of C has, become question marks.
pub(crate) fn c_text(text: &str) -> CString {
    CString::new(text.replace('\0', "?")).unwrap_or_default()
}

/// The error for an argument that is NULL.
fn is_null(name: &str) -> Error {
    Error::mismatch(format!("the argument `{name}` is NULL"))
}

/// An object behind a pointer.
///
/// # Safety
///
/// That of the crate; the object outlives the reference.
pub(crate) unsafe fn object<'a, T>(pointer: *const T, name: &str) -> Result<&'a T> {
    // SAFETY: it is NULL, or of this library and not freed.
    unsafe { pointer.as_ref() }.ok_or_else(|| is_null(name))
}

/// Where a result goes.
///
/// # Safety
///
/// That of the crate.
pub(crate) unsafe fn place<'a, T>(pointer: *mut T, name: &str) -> Result<&'a mut T> {
    // SAFETY: it is NULL, or may be written to.
    unsafe { pointer.as_mut() }.ok_or_else(|| is_null(name))
}

/// Where a structure of Arrow goes. What is there before is no structure of ours, and is not dropped.
///
/// # Safety
///
/// That of the crate.
pub(crate) unsafe fn unfilled<'a, T>(pointer: *mut T, name: &str) -> Result<&'a mut MaybeUninit<T>> {
    // SAFETY: it is NULL, or may be written to.
    unsafe { pointer.cast::<MaybeUninit<T>>().as_mut() }.ok_or_else(|| is_null(name))
}

/// A text in UTF-8.
///
/// # Safety
///
/// That of the crate; the text outlives the reference.
pub(crate) unsafe fn text<'a>(pointer: *const c_char, name: &str) -> Result<&'a str> {
    if pointer.is_null() {
        return Err(is_null(name));
    }
    // SAFETY: it ends with a zero byte.
    let text = unsafe { CStr::from_ptr(pointer) };
    text.to_str().map_err(|error| Error::mismatch(format!("the argument `{name}` is not in UTF-8")).because(error))
}

/// A text in UTF-8, or none.
///
/// # Safety
///
/// That of [`text`].
pub(crate) unsafe fn optional_text<'a>(pointer: *const c_char, name: &str) -> Result<Option<&'a str>> {
    if pointer.is_null() {
        return Ok(None);
    }
    // SAFETY: as this function's.
    unsafe { text(pointer, name) }.map(Some)
}

/// Values behind a pointer; NULL stands for none where the count is 0.
///
/// # Safety
///
/// That of the crate; the values outlive the reference.
pub(crate) unsafe fn slice<'a, T>(pointer: *const T, count: usize, name: &str) -> Result<&'a [T]> {
    if count == 0 {
        return Ok(&[]);
    }
    if pointer.is_null() {
        return Err(is_null(name));
    }
    if !pointer.is_aligned() {
        return Err(Error::mismatch(format!("the argument `{name}` is not aligned for its type")));
    }
    if count.checked_mul(size_of::<T>()).is_none_or(|bytes| bytes > isize::MAX as usize) {
        return Err(Error::mismatch(format!("the argument `{name}` counts more values than memory can hold")));
    }
    // SAFETY: it is aligned and leads to so many values, which fit into memory.
    Ok(unsafe { std::slice::from_raw_parts(pointer, count) })
}

/// Gives an object to C.
pub(crate) fn give<T>(out: &mut *mut T, object: T) {
    *out = Box::into_raw(Box::new(object));
}

/// Takes an object back that [`give`] gave; none for NULL.
///
/// # Safety
///
/// That of the crate; the pointer is not used again.
pub(crate) unsafe fn take<T>(pointer: *mut T) -> Option<Box<T>> {
    // SAFETY: it is from `give`, and was not taken before.
    (!pointer.is_null()).then(|| unsafe { Box::from_raw(pointer) })
}

/// Frees an object that [`give`] gave. A panic of its parts ends here.
///
/// # Safety
///
/// That of [`take`].
pub(crate) unsafe fn free<T>(pointer: *mut T) {
    // SAFETY: as this function's.
    let object = unsafe { take(pointer) };
    let _ = sapwood::caught(|| {
        drop(object);
        Ok(())
    });
}
