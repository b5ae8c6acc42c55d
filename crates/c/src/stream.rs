//! Arrow's C stream interface: batches out, batches in.
//!
//! Streams are exported here and not by `arrow-array`, since an error of a stream keeps its kind, and no panic may
//! leave a callback.

use std::ffi::{c_char, c_int, c_void};
use std::ptr;

use arrow_array::ffi::FFI_ArrowArray;
use arrow_array::ffi_stream::{ArrowArrayStreamReader, FFI_ArrowArrayStream};
use arrow_array::{Array, RecordBatch, RecordBatchReader, StructArray};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{ArrowError, DataType, SchemaRef};
use sapwood::{Error, Result, caught};

use crate::argument::{free, object};
use crate::error::SapwoodError;

/// The error number that Arrow's interface asks for; the words say more.
const EIO: c_int = 5;

/// What a stream of ours has behind it.
struct Exported {
    batches: Box<dyn RecordBatchReader + Send>,
    error: Option<SapwoodError>,
}

/// Batches as a stream that C owns.
pub(crate) fn export(batches: Box<dyn RecordBatchReader + Send>) -> FFI_ArrowArrayStream {
    let exported = Box::new(Exported { batches, error: None });
    FFI_ArrowArrayStream {
        get_schema: Some(get_schema),
        get_next: Some(get_next),
        get_last_error: Some(get_last_error),
        release: Some(release),
        private_data: Box::into_raw(exported).cast(),
    }
}

/// An error of Arrow as one of ours: what lies beneath, if it is ours.
pub(crate) fn error_of(error: ArrowError) -> Error {
    match error {
        ArrowError::ExternalError(beneath) => match beneath.downcast::<Error>() {
            Ok(ours) => *ours,
            Err(other) => Error::new(sapwood::ErrorKind::Io, "a stream of Arrow failed").because(other),
        },
        ArrowError::CDataInterface(words) => Error::mismatch(format!("a stream of Arrow failed: {words}")),
        other => Error::unsupported(other.to_string()),
    }
}

/// What a stream has behind it.
///
/// # Safety
///
/// The stream is one of [`export`], and is not released.
unsafe fn exported<'a>(stream: *mut FFI_ArrowArrayStream) -> Option<&'a mut Exported> {
    // SAFETY: as this function's: the private data are those of `export`.
    unsafe { stream.as_mut()?.private_data.cast::<Exported>().as_mut() }
}

/// Does the work of a callback, and keeps the error.
///
/// # Safety
///
/// That of [`exported`].
unsafe fn callback(stream: *mut FFI_ArrowArrayStream, work: impl FnOnce(&mut Exported) -> Result<()>) -> c_int {
    // SAFETY: as this function's.
    let Some(exported) = (unsafe { exported(stream) }) else { return EIO };
    match caught(|| work(exported)) {
        Ok(()) => 0,
        Err(error) => {
            exported.error = Some(SapwoodError::from(&error));
            EIO
        }
    }
}

unsafe extern "C" fn get_schema(stream: *mut FFI_ArrowArrayStream, out: *mut FFI_ArrowSchema) -> c_int {
    let write = |exported: &mut Exported| {
        let schema = FFI_ArrowSchema::try_from(exported.batches.schema().as_ref()).map_err(error_of)?;
        // SAFETY: by Arrow's contract `out` may be written to, and holds nothing.
        unsafe { ptr::write(out, schema) };
        Ok(())
    };
    // SAFETY: by Arrow's contract the stream is the one whose callback this is.
    unsafe { callback(stream, write) }
}

unsafe extern "C" fn get_next(stream: *mut FFI_ArrowArrayStream, out: *mut FFI_ArrowArray) -> c_int {
    let write = |exported: &mut Exported| {
        let array = match exported.batches.next() {
            Some(batch) => FFI_ArrowArray::new(&StructArray::from(batch.map_err(error_of)?).to_data()),
            // A released array is the end of the stream.
            None => FFI_ArrowArray::empty(),
        };
        // SAFETY: by Arrow's contract `out` may be written to, and holds nothing.
        unsafe { ptr::write(out, array) };
        Ok(())
    };
    // SAFETY: by Arrow's contract the stream is the one whose callback this is.
    unsafe { callback(stream, write) }
}

unsafe extern "C" fn get_last_error(stream: *mut FFI_ArrowArrayStream) -> *const c_char {
    // SAFETY: by Arrow's contract the stream is the one whose callback this is.
    let error = unsafe { exported(stream) }.and_then(|exported| exported.error.as_ref());
    error.map_or(ptr::null(), SapwoodError::message)
}

unsafe extern "C" fn release(stream: *mut FFI_ArrowArrayStream) {
    // SAFETY: by Arrow's contract the stream is the one whose callback this is, and is released once.
    let Some(stream) = (unsafe { stream.as_mut() }) else { return };
    let private: *mut c_void = std::mem::replace(&mut stream.private_data, ptr::null_mut());
    (stream.get_schema, stream.get_next, stream.get_last_error, stream.release) = (None, None, None, None);
    // SAFETY: the private data are those of `export`.
    unsafe { free(private.cast::<Exported>()) }
}

/// The error with which a stream of `sapwood_table_read` ended; NULL where it had none, and for streams of other
/// libraries. It lives until the stream is used again: do not free it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sapwood_stream_error(stream: *const FFI_ArrowArrayStream) -> *const SapwoodError {
    // SAFETY: it is NULL or the caller's.
    let Some(of) = (unsafe { stream.as_ref() }) else { return ptr::null() };
    let is_ours = of.release.is_some_and(|of| ptr::fn_addr_eq(of, release as unsafe extern "C" fn(_)));
    if !is_ours {
        return ptr::null();
    }
    // SAFETY: the private data are those of `export`, and only read here.
    let exported = unsafe { of.private_data.cast::<Exported>().as_ref() };
    exported.and_then(|exported| exported.error.as_ref()).map_or(ptr::null(), ptr::from_ref)
}

/// A schema as Arrow's specification lays it out.
#[repr(C)]
struct Layout {
    format: *const c_char,
    name: *const c_char,
    metadata: *const c_char,
    flags: i64,
    n_children: i64,
    children: *const *const Layout,
    dictionary: *const Layout,
    release: Option<unsafe extern "C" fn(*mut c_void)>,
    private_data: *const c_void,
}

/// Refuses a schema that was released, or never filled, in whole or in part: Arrow's library panics at these.
fn check_schema(schema: &FFI_ArrowSchema) -> Result<()> {
    const { assert!(size_of::<Layout>() == size_of::<FFI_ArrowSchema>()) };
    // SAFETY: both have the layout of Arrow's specification, and a null function is `None`.
    unsafe { check_layout(&*ptr::from_ref(schema).cast::<Layout>(), 0) }
}

/// Checks a part of a schema, `depth` levels down.
///
/// # Safety
///
/// The schema and its parts are as Arrow's specification wants, or were released.
unsafe fn check_layout(layout: &Layout, depth: u32) -> Result<()> {
    const MAX_DEPTH: u32 = 64;
    let released = || Error::mismatch("the argument `schema` was released, or never filled");
    if layout.release.is_none() || layout.format.is_null() {
        return Err(released());
    }
    if depth > MAX_DEPTH {
        return Err(Error::limit("levels of `schema`", u64::from(MAX_DEPTH), u64::from(depth)));
    }
    let children = usize::try_from(layout.n_children).map_err(|_| released())?;
    if children > 0 && layout.children.is_null() {
        return Err(released());
    }
    for index in 0..children {
        // SAFETY: a schema has that number of pointers to children, each null or valid.
        let child = unsafe { (*layout.children.add(index)).as_ref() }.ok_or_else(released)?;
        // SAFETY: as this function's.
        unsafe { check_layout(child, depth + 1)? };
    }
    // SAFETY: as this function's; the pointer is null or valid.
    unsafe { layout.dictionary.as_ref().map_or(Ok(()), |of| check_layout(of, depth + 1)) }
}

/// Batches that C gives.
///
/// # Safety
///
/// The stream is one by Arrow's contract. It is taken: what is left behind is released.
pub(crate) unsafe fn import(stream: *mut FFI_ArrowArrayStream) -> Result<ArrowArrayStreamReader> {
    // SAFETY: as this function's.
    if unsafe { stream.as_ref() }.is_none_or(|stream| stream.release.is_none()) {
        return Err(Error::mismatch("the argument `stream` is NULL or was released"));
    }
    // SAFETY: as this function's.
    unsafe { ArrowArrayStreamReader::from_raw(stream) }.map_err(error_of)
}

/// A batch that C gives.
///
/// # Safety
///
/// The array is a struct by Arrow's contract, and of that schema. It is taken: what is left behind is released.
pub(crate) unsafe fn import_batch(batch: *mut FFI_ArrowArray, schema: *const FFI_ArrowSchema) -> Result<RecordBatch> {
    // SAFETY: as this function's.
    if unsafe { batch.as_ref() }.is_none_or(FFI_ArrowArray::is_released) {
        return Err(Error::mismatch("the argument `batch` is NULL or was released"));
    }
    // SAFETY: as this function's.
    let schema = unsafe { object(schema, "schema")? };
    check_schema(schema)?;
    // SAFETY: as this function's; `from_raw` leaves a released array behind.
    let batch = unsafe { FFI_ArrowArray::from_raw(batch) };
    // SAFETY: as this function's.
    let data = unsafe { arrow_array::ffi::from_ffi(batch, schema) }.map_err(error_of)?;
    if !matches!(data.data_type(), DataType::Struct(_)) {
        return Err(Error::mismatch(format!("a batch is a struct of columns, not {}", data.data_type())));
    }
    data.validate().map_err(|error| Error::mismatch("a batch breaks Arrow's contract").because(error))?;
    if data.null_count() > 0 {
        return Err(Error::mismatch("a batch has rows that are null, and a tree has no nulls"));
    }
    Ok(RecordBatch::from(StructArray::from(data)))
}

/// The schema of a struct that C gives.
pub(crate) fn import_schema(schema: &FFI_ArrowSchema) -> Result<SchemaRef> {
    check_schema(schema)?;
    arrow_schema::Schema::try_from(schema).map(Into::into).map_err(error_of)
}
