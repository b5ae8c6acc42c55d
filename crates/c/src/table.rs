//! Trees and RNTuples that are read.

use std::ffi::c_char;
use std::ops::Range;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_schema::ffi::FFI_ArrowSchema;
use sapwood::codec::is_like;
use sapwood::query::{Draw, Query, Source};
use sapwood::read::Steps;
use sapwood::table::{Table, TableColumn};
use sapwood::{Error, Result};

use crate::argument::{free, give, object, optional_text, place, slice, text, unfilled};
use crate::error::{SapwoodError, call};
use crate::histogram::SapwoodHistogram;
use crate::listing::{SapwoodColumn, SapwoodColumns, Texts};
use crate::options::{SapwoodReadOptions, sapwood_read_options};
use crate::stream;

/// Bytes that the columns of a batch take where nothing else is said.
const BATCH_BYTES: u64 = 64 << 20;

/// A tree or an RNTuple. Threads may share it.
pub struct SapwoodTable(pub(crate) Table);

impl SapwoodTable {
    /// Numbers and names of the columns that names and patterns choose, each once; all where there are none. Patterns
    /// choose among the columns that Arrow has a type for.
    fn chosen(&self, wanted: &[&str]) -> Result<(Vec<usize>, Vec<String>)> {
        let has_type = |id: usize| self.0.kind(id).and_then(|kind| kind.arrow_field("")).is_ok();
        let wanted = if wanted.is_empty() { &["*"] } else { wanted };
        let listed = self.0.columns();
        let (mut ids, mut names) = (Vec::new(), Vec::new());
        for &wanted in wanted {
            let is_exact = listed.iter().any(|column| column.name == wanted) || !wanted.contains(['*', '?', '[']);
            let before = ids.len();
            if is_exact {
                let id = self.0.find(wanted)?;
                if !ids.contains(&id) {
                    ids.push(id);
                    names.push(wanted.to_owned());
                }
                continue;
            }
            let mut is_there = false;
            for column in listed.iter().filter(|column| is_like(wanted, column.name)) {
                is_there |= ids.contains(&column.id);
                if !ids.contains(&column.id) && has_type(column.id) {
                    ids.push(column.id);
                    names.push(column.name.to_owned());
                }
            }
            if ids.len() == before && !is_there {
                let words = format!("no column that Arrow has a type for is like {wanted:?}");
                return Err(self.0.place(Error::not_found(words)));
            }
        }
        Ok((ids, names))
    }

    /// Entries of a range that are there.
    fn range(&self, start: u64, stop: u64) -> Result<Range<u64>> {
        if start > stop {
            return Err(Error::mismatch("the range of entries ends before it starts").wanted(start, stop));
        }
        let stop = stop.min(self.0.entries());
        Ok(start.min(stop)..stop)
    }
}

/// Its entries; 0 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sapwood_table_entries(table: *const SapwoodTable) -> u64 {
    // SAFETY: it is NULL or of this library.
    unsafe { table.as_ref() }.map_or(0, |table| table.0.entries())
}

/// Lists its columns with their types: branches that hold values, or top-level fields.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sapwood_table_columns(
    table: *const SapwoodTable,
    out: *mut *mut SapwoodColumns,
) -> *mut SapwoodError {
    call(|| {
        // SAFETY: as the crate's.
        let (table, out) = unsafe { (object(table, "table")?, place(out, "out")?) };
        let mut texts = Texts::default();
        let mut rows = Vec::new();
        for TableColumn { id, name, title } in table.0.columns() {
            let kind = table.0.kind(id);
            let problem = match &kind {
                Ok(kind) => kind.arrow_field(name).err().map(|error| error.to_string()),
                Err(error) => Some(error.to_string()),
            };
            let kind = kind.ok();
            let type_name = kind.as_ref().and_then(|_| table.0.type_name(id).ok());
            rows.push(SapwoodColumn {
                name: texts.keep(name),
                type_name: texts.keep_optional(kind.map(|kind| kind.to_string()).as_deref()),
                cpp_type: texts.keep_optional(type_name.as_deref()),
                title: texts.keep(title),
                problem: texts.keep_optional(problem.as_deref()),
            });
        }
        give(out, SapwoodColumns::new(rows, texts));
        Ok(())
    })
}

/// What the options ask for: columns under names, and the steps in which they are read.
///
/// # Safety
///
/// That of the crate.
unsafe fn planned(table: &SapwoodTable, options: *const SapwoodReadOptions) -> Result<(Query, Vec<String>, Steps)> {
    // SAFETY: it is NULL or of the caller's.
    let options = unsafe { options.as_ref() }.copied().unwrap_or_else(|| sapwood_read_options());
    // SAFETY: as this function's.
    let (pointers, cut) =
        unsafe { (slice(options.columns, options.column_count, "columns")?, optional_text(options.cut, "cut")?) };
    // SAFETY: as this function's.
    let wanted = pointers.iter().map(|&name| unsafe { text(name, "columns") }).collect::<Result<Vec<_>>>()?;
    let (ids, names) = table.chosen(&wanted)?;
    let query = ids.iter().fold(Query::new(Source::from(&table.0)), |query, &id| query.column(id));
    let query = match cut {
        Some(cut) => query.cut(cut)?,
        None => query,
    };
    let bytes = if options.batch_bytes == 0 { BATCH_BYTES } else { options.batch_bytes };
    let steps = query.steps(table.range(options.start, options.stop)?, bytes)?;
    Ok((query, names, steps))
}

/// Reads columns as a stream of Arrow, a batch at a time, without a copy; NULL options read everything. The stream
/// keeps the file open until it is released, and is of one thread at a time. What goes wrong in it,
/// `sapwood_stream_error` tells.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sapwood_table_read(
    table: *const SapwoodTable,
    options: *const SapwoodReadOptions,
    out: *mut FFI_ArrowArrayStream,
) -> *mut SapwoodError {
    call(|| {
        // SAFETY: as the crate's.
        let (table, out) = unsafe { (object(table, "table")?, unfilled(out, "out")?) };
        // SAFETY: as the crate's.
        let (query, names, steps) = unsafe { planned(table, options)? };
        out.write(stream::export(Box::new(query.record_batches(&names, steps)?)));
        Ok(())
    })
}

/// The schema that a stream of `sapwood_table_read` with these options has; nothing is read.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sapwood_table_schema(
    table: *const SapwoodTable,
    options: *const SapwoodReadOptions,
    out: *mut FFI_ArrowSchema,
) -> *mut SapwoodError {
    call(|| {
        // SAFETY: as the crate's.
        let (table, out) = unsafe { (object(table, "table")?, unfilled(out, "out")?) };
        // SAFETY: as the crate's.
        let (query, names, _) = unsafe { planned(table, options)? };
        let schema = query.arrow_schema(&names)?;
        out.write(FFI_ArrowSchema::try_from(&schema).map_err(stream::error_of)?);
        Ok(())
    })
}

/// Draws a histogram of expressions, as `TTree::Draw`: "Jet_pt>>h(50, 0, 100)", "y:x>>h(10, 0, 1, 10, 0, 1)". A cut
/// that is a number is a weight; NULL keeps all entries from `start` to before `stop`.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sapwood_table_draw(
    table: *const SapwoodTable,
    expression: *const c_char,
    cut: *const c_char,
    start: u64,
    stop: u64,
    out: *mut *mut SapwoodHistogram,
) -> *mut SapwoodError {
    call(|| {
        // SAFETY: as the crate's.
        let (table, expression) = unsafe { (object(table, "table")?, text(expression, "expression")?) };
        // SAFETY: as the crate's.
        let (cut, out) = unsafe { (optional_text(cut, "cut")?, place(out, "out")?) };
        let drawn = Draw::new(Source::from(&table.0), expression, cut.unwrap_or(""))?.run(table.range(start, stop)?)?;
        give(out, SapwoodHistogram::from(drawn));
        Ok(())
    })
}

/// Frees a table. NULL has no effect.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sapwood_table_free(table: *mut SapwoodTable) {
    // SAFETY: as the crate's.
    unsafe { free(table) }
}
