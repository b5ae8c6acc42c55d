//! Histograms that were drawn.

use std::ffi::{CString, c_char};
use std::ptr;

use sapwood::Error;
use sapwood::hist::Histogram;
use sapwood::schema::Draft;

use crate::argument::{c_text, free, object, place};
use crate::error::{SapwoodError, call};

/// A histogram: bins, their values and errors. Threads may share it.
#[derive(Debug)]
pub struct SapwoodHistogram {
    histogram: Histogram,
    name: CString,
    edges: Vec<Vec<f64>>,
    values: Vec<f64>,
    errors: Vec<f64>,
}

impl From<Histogram> for SapwoodHistogram {
    fn from(histogram: Histogram) -> Self {
        Self {
            name: c_text(&histogram.name()),
            edges: histogram.axes().iter().map(sapwood::hist::Axis::edges).collect(),
            values: histogram.values(),
            errors: histogram.errors(),
            histogram,
        }
    }
}

impl SapwoodHistogram {
    /// As it is stored.
    pub(crate) fn draft(&self) -> Draft {
        self.histogram.to_draft()
    }
}

/// Its name; lives as long as it does. "" for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sapwood_histogram_name(histogram: *const SapwoodHistogram) -> *const c_char {
    // SAFETY: it is NULL or of this library.
    unsafe { histogram.as_ref() }.map_or(c"".as_ptr(), |histogram| histogram.name.as_ptr())
}

/// How many axes it has; 0 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sapwood_histogram_axes(histogram: *const SapwoodHistogram) -> usize {
    // SAFETY: it is NULL or of this library.
    unsafe { histogram.as_ref() }.map_or(0, |histogram| histogram.edges.len())
}

/// The edges of the bins of an axis, one more than bins. An axis that the histogram does not have is an error. They
/// live as long as the histogram.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sapwood_histogram_edges(
    histogram: *const SapwoodHistogram,
    axis: usize,
    edges: *mut *const f64,
    count: *mut usize,
) -> *mut SapwoodError {
    call(|| {
        // SAFETY: as the crate's.
        let (histogram, edges, count) =
            unsafe { (object(histogram, "histogram")?, place(edges, "edges")?, place(count, "count")?) };
        (*edges, *count) = (ptr::null(), 0);
        let axes = histogram.edges.len();
        let found = histogram.edges.get(axis).ok_or_else(|| {
            Error::mismatch(format!("the histogram has {axes} axes, numbered from 0, and no axis {axis}"))
        })?;
        (*edges, *count) = (found.as_ptr(), found.len());
        Ok(())
    })
}

/// The values of all bins in ROOT's order, x first, those below and above an axis included: bins + 2 for each axis.
/// They live as long as the histogram.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sapwood_histogram_values(
    histogram: *const SapwoodHistogram,
    values: *mut *const f64,
    count: *mut usize,
) -> *mut SapwoodError {
    call(|| {
        // SAFETY: as the crate's.
        let (histogram, values, count) =
            unsafe { (object(histogram, "histogram")?, place(values, "values")?, place(count, "count")?) };
        (*values, *count) = (histogram.values.as_ptr(), histogram.values.len());
        Ok(())
    })
}

/// The errors of all bins, in the order of the values.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sapwood_histogram_errors(
    histogram: *const SapwoodHistogram,
    errors: *mut *const f64,
    count: *mut usize,
) -> *mut SapwoodError {
    call(|| {
        // SAFETY: as the crate's.
        let (histogram, errors, count) =
            unsafe { (object(histogram, "histogram")?, place(errors, "errors")?, place(count, "count")?) };
        (*errors, *count) = (histogram.errors.as_ptr(), histogram.errors.len());
        Ok(())
    })
}

/// Frees a histogram. NULL has no effect.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sapwood_histogram_free(histogram: *mut SapwoodHistogram) {
    // SAFETY: as the crate's.
    unsafe { free(histogram) }
}
