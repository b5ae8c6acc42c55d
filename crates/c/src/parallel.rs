//! Trees that threads fill.

use std::sync::{Mutex, PoisonError};

use arrow_array::ffi::FFI_ArrowArray;
use arrow_schema::ffi::FFI_ArrowSchema;
use sapwood::write::{NumberedContext, ParallelWriter, TreeWriter};
use sapwood::{Error, Result};

use crate::argument::{free, give, locked, object, place, slice, take};
use crate::error::{SapwoodError, call};
use crate::stream::import_batch;
use crate::values::{SapwoodValues, values};

/// A tree that threads fill, each through a context of its own. Threads may share it.
#[derive(Debug)]
pub struct SapwoodTree(ParallelWriter);

impl From<ParallelWriter> for SapwoodTree {
    fn from(tree: ParallelWriter) -> Self {
        Self(tree)
    }
}

/// Takes rows of a tree, for one thread.
#[derive(Debug)]
pub struct SapwoodContext(Mutex<TreeWriter>);

/// Brings numbered units of work, for one thread.
#[derive(Debug)]
pub struct SapwoodUnits(Mutex<NumberedContext>);

/// Makes a context for a thread: its rows are part of the tree, cluster by cluster, in the order of commits.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sapwood_tree_context(
    tree: *const SapwoodTree,
    out: *mut *mut SapwoodContext,
) -> *mut SapwoodError {
    call(|| {
        // SAFETY: as the crate's.
        let (tree, out) = unsafe { (object(tree, "tree")?, place(out, "out")?) };
        give(out, SapwoodContext(Mutex::new(tree.0.context())));
        Ok(())
    })
}

/// Makes a source of numbered units for a thread: the units are in the tree in the order of their numbers, from 0 on,
/// so that the file does not depend on the threads. Make those of all threads before any of them begins.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sapwood_tree_units(
    tree: *const SapwoodTree,
    out: *mut *mut SapwoodUnits,
) -> *mut SapwoodError {
    call(|| {
        // SAFETY: as the crate's.
        let (tree, out) = unsafe { (object(tree, "tree")?, place(out, "out")?) };
        give(out, SapwoodUnits(Mutex::new(tree.0.numbered())));
        Ok(())
    })
}

/// Begins a unit of work, which is complete when its context is closed. Close the last one first.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sapwood_units_begin(
    units: *const SapwoodUnits,
    number: u64,
    out: *mut *mut SapwoodContext,
) -> *mut SapwoodError {
    call(|| {
        // SAFETY: as the crate's.
        let (units, out) = unsafe { (object(units, "units")?, place(out, "out")?) };
        give(out, SapwoodContext(Mutex::new(locked(&units.0).unit(number)?)));
        Ok(())
    })
}

/// Frees a source of units: it brings no more. NULL has no effect.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sapwood_units_free(units: *mut SapwoodUnits) {
    // SAFETY: as the crate's.
    unsafe { free(units) }
}

/// Adds rows: values for every branch but the counters. Memory is read before the call returns. Where types, names or
/// lengths are wrong, no row is added.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sapwood_context_fill(
    context: *const SapwoodContext,
    given: *const SapwoodValues,
    count: usize,
) -> *mut SapwoodError {
    call(|| {
        // SAFETY: as the crate's.
        let (context, given) = unsafe { (object(context, "context")?, slice(given, count, "given")?) };
        // SAFETY: as the crate's.
        let values = unsafe { values(given)? };
        locked(&context.0).extend(&values)
    })
}

/// Adds the rows of an Arrow batch, a struct with a column for every branch but the counters. The batch is taken,
/// whatever happens: release it no more. The schema is not.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sapwood_context_extend(
    context: *const SapwoodContext,
    batch: *mut FFI_ArrowArray,
    schema: *const FFI_ArrowSchema,
) -> *mut SapwoodError {
    call(|| {
        // SAFETY: as the crate's.
        let batch = unsafe { import_batch(batch, schema)? };
        // SAFETY: as the crate's.
        let context = unsafe { object(context, "context")? };
        locked(&context.0).extend_batch(&batch)
    })
}

/// Writes the rows that wait as a cluster of their own.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sapwood_context_flush(context: *const SapwoodContext) -> *mut SapwoodError {
    call(|| {
        // SAFETY: as the crate's.
        let context = unsafe { object(context, "context")? };
        locked(&context.0).flush()
    })
}

/// The writer of a context that is freed.
///
/// # Safety
///
/// That of [`take`].
unsafe fn taken(context: *mut SapwoodContext) -> Result<TreeWriter> {
    // SAFETY: as this function's.
    let context = unsafe { take(context) }.ok_or_else(|| Error::mismatch("the argument `context` is NULL"))?;
    Ok(context.0.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// Writes the rows that wait, and frees the context, whatever happens.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sapwood_context_close(context: *mut SapwoodContext) -> *mut SapwoodError {
    // SAFETY: as the crate's.
    call(|| unsafe { taken(context) }?.close())
}

/// Drops the rows that wait, and frees the context, whatever happens.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sapwood_context_discard(context: *mut SapwoodContext) -> *mut SapwoodError {
    // SAFETY: as the crate's.
    call(|| unsafe { taken(context) }?.discard())
}

/// Closes a context without a word of what goes wrong: closing the file tells it. A numbered unit is given up. NULL has
/// no effect.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sapwood_context_free(context: *mut SapwoodContext) {
    // SAFETY: as the crate's.
    unsafe { free(context) }
}

/// Makes what is committed visible to every reader, and gives the entries that the tree has then, unless `entries` is
/// NULL.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sapwood_tree_save(tree: *const SapwoodTree, entries: *mut u64) -> *mut SapwoodError {
    call(|| {
        // SAFETY: as the crate's.
        let tree = unsafe { object(tree, "tree")? };
        let saved = tree.0.save()?;
        // SAFETY: it is NULL or may be written to.
        if let Some(entries) = unsafe { entries.as_mut() } {
            *entries = saved;
        }
        Ok(())
    })
}

/// Ends the tree, and frees it, whatever happens. Close its contexts first: rows that wait in them are lost.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sapwood_tree_close(tree: *mut SapwoodTree) -> *mut SapwoodError {
    call(|| {
        // SAFETY: as the crate's.
        unsafe { take(tree) }.ok_or_else(|| Error::mismatch("the argument `tree` is NULL"))?.0.close()
    })
}

/// Ends the tree without a word of what goes wrong: closing the file tells it. NULL has no effect.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sapwood_tree_free(tree: *mut SapwoodTree) {
    // SAFETY: as the crate's.
    unsafe { free(tree) }
}
