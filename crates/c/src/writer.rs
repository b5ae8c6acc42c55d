//! Files that are written.

use std::ffi::c_char;
use std::sync::{Mutex, PoisonError};

use arrow_array::RecordBatchReader;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_schema::Schema;
use arrow_schema::ffi::FFI_ArrowSchema;
use sapwood::write::{BranchSpec, FileWriter, TreeOptions, WriteOptions};
use sapwood::{Error, Result};

use crate::argument::{free, give, locked, object, optional_text, place, slice, take, text};
use crate::error::{SapwoodError, call};
use crate::histogram::SapwoodHistogram;
use crate::options::{SapwoodSession, session_or_own};
use crate::parallel::SapwoodTree;
use crate::stream::{error_of, import, import_schema};
use crate::values::{SapwoodBranch, branches};

/// A file that is open for writing. Threads may share it: its calls take turns.
#[derive(Debug)]
pub struct SapwoodWriter(Mutex<FileWriter>);

/// How a file is opened for writing.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SapwoodMode {
    /// A file of that name is replaced.
    Recreate = 0,
    /// No file of that name may exist.
    Create = 1,
    /// The file exists; objects are added to it.
    Update = 2,
}

/// Opens a local file for writing; `mode` is a `SapwoodMode`. The compression is one like "zstd:5", "lz4", "none", or
/// NULL for ROOT's default. Without a session (NULL) it has one of its own, on all cores.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sapwood_writer_open(
    path: *const c_char,
    mode: u32,
    compression: *const c_char,
    session: *const SapwoodSession,
    out: *mut *mut SapwoodWriter,
) -> *mut SapwoodError {
    call(|| {
        // SAFETY: as the crate's.
        let (path, compression) = unsafe { (text(path, "path")?, optional_text(compression, "compression")?) };
        // SAFETY: as the crate's.
        let (session, out) = unsafe { (session_or_own(session)?, place(out, "out")?) };
        sapwood_store::check_output(path)?;
        let compression = compression.map(str::parse).transpose()?;
        let options = WriteOptions { compression, session, ..WriteOptions::default() };
        let writer = match mode {
            mode if mode == SapwoodMode::Recreate as u32 => FileWriter::recreate(path, options)?,
            mode if mode == SapwoodMode::Create as u32 => FileWriter::create(path, options)?,
            mode if mode == SapwoodMode::Update as u32 => FileWriter::update(path, options)?,
            other => return Err(Error::mismatch(format!("{other} is no SapwoodMode"))),
        };
        give(out, SapwoodWriter(Mutex::new(writer)));
        Ok(())
    })
}

/// The branches that hold the columns of a schema.
fn of_schema(schema: &Schema) -> Result<Vec<BranchSpec>> {
    schema.fields().iter().map(|field| BranchSpec::from_arrow(field)).collect()
}

/// Writes all batches of a stream as a tree, and gives their number of entries, unless `entries` is NULL. The stream is
/// taken, whatever happens: release it no more.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sapwood_writer_write_stream(
    writer: *const SapwoodWriter,
    path: *const c_char,
    stream: *mut FFI_ArrowArrayStream,
    entries: *mut u64,
) -> *mut SapwoodError {
    call(|| {
        // SAFETY: as the crate's.
        let batches = unsafe { import(stream)? };
        // SAFETY: as the crate's.
        let (writer, path) = unsafe { (object(writer, "writer")?, text(path, "path")?) };
        let specs = of_schema(&batches.schema())?;
        let mut tree = locked(&writer.0).tree(path, specs, TreeOptions::default())?;
        for batch in batches {
            let added = batch.map_err(error_of).and_then(|batch| tree.extend_batch(&batch));
            if let Err(error) = added {
                tree.discard()?;
                return Err(error);
            }
        }
        let taken = tree.taken();
        tree.close()?;
        // SAFETY: it is NULL or may be written to.
        if let Some(entries) = unsafe { entries.as_mut() } {
            *entries = taken;
        }
        Ok(())
    })
}

/// Begins a tree that threads fill, with branches as they are described.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sapwood_writer_tree(
    writer: *const SapwoodWriter,
    path: *const c_char,
    described: *const SapwoodBranch,
    count: usize,
    out: *mut *mut SapwoodTree,
) -> *mut SapwoodError {
    call(|| {
        // SAFETY: as the crate's.
        let (writer, path, out) = unsafe { (object(writer, "writer")?, text(path, "path")?, place(out, "out")?) };
        // SAFETY: as the crate's.
        let specs = unsafe { branches(slice(described, count, "described")?)? };
        let tree = locked(&writer.0).parallel_tree(path, specs, TreeOptions::default())?;
        give(out, SapwoodTree::from(tree));
        Ok(())
    })
}

/// Begins a tree that threads fill, with a branch for each column of an Arrow schema, which is not taken.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sapwood_writer_tree_of_schema(
    writer: *const SapwoodWriter,
    path: *const c_char,
    schema: *const FFI_ArrowSchema,
    out: *mut *mut SapwoodTree,
) -> *mut SapwoodError {
    call(|| {
        // SAFETY: as the crate's.
        let (writer, path, out) = unsafe { (object(writer, "writer")?, text(path, "path")?, place(out, "out")?) };
        // SAFETY: as the crate's.
        let specs = of_schema(&*import_schema(unsafe { object(schema, "schema")? })?)?;
        let tree = locked(&writer.0).parallel_tree(path, specs, TreeOptions::default())?;
        give(out, SapwoodTree::from(tree));
        Ok(())
    })
}

/// Writes a histogram, under a path of its own.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sapwood_writer_histogram(
    writer: *const SapwoodWriter,
    path: *const c_char,
    histogram: *const SapwoodHistogram,
) -> *mut SapwoodError {
    call(|| {
        // SAFETY: as the crate's.
        let (writer, path) = unsafe { (object(writer, "writer")?, text(path, "path")?) };
        // SAFETY: as the crate's.
        let histogram = unsafe { object(histogram, "histogram")? };
        locked(&writer.0).write(path, histogram.draft())
    })
}

/// Makes everything that was written visible to every reader.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sapwood_writer_save(writer: *const SapwoodWriter) -> *mut SapwoodError {
    call(|| {
        // SAFETY: as the crate's.
        let writer = unsafe { object(writer, "writer")? };
        locked(&writer.0).save()
    })
}

/// Saves and closes the file, and frees the writer, whatever happens. Close its trees first.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sapwood_writer_close(writer: *mut SapwoodWriter) -> *mut SapwoodError {
    call(|| {
        // SAFETY: as the crate's.
        let writer = unsafe { take(writer) }.ok_or_else(|| Error::mismatch("the argument `writer` is NULL"))?;
        writer.0.into_inner().unwrap_or_else(PoisonError::into_inner).close()
    })
}

/// Saves and closes the file, without a word of what goes wrong: for programs on their way out. NULL has no effect.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sapwood_writer_free(writer: *mut SapwoodWriter) {
    // SAFETY: as the crate's.
    unsafe { free(writer) }
}
