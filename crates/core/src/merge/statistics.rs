//! Statistics of a file that was made of others, joined without reading entries.

use std::path::Path;

use crate::error::Result;
use crate::file::{File, KeyPath};
use crate::statistics::{ColumnStatistics, Part, SideFile, Summary, parts_of};
use crate::table::Table;

/// Joins the statistics of files whose entries another file has, in their order: those of the inputs of a merge, or of
/// a file that was rewritten. Columns without statistics in any of the inputs, and those that the output stores as
/// other types, have none. Returns none if no column has any.
///
/// # Errors
///
/// Errors of reading the trees and RNTuples of the output, and first bytes of its baskets and pages.
///
/// # Example
///
/// ```
/// # let folder = sapwood_testkit::scratch("joined");
/// # std::fs::create_dir_all(&folder)?;
/// # let one = folder.join("one.root");
/// # let both = folder.join("both.root");
/// # std::fs::copy(sapwood_testkit::example("nano.root"), &one)?;
/// use sapwood::io::Flow;
/// use sapwood::merge::{Merge, joined_statistics};
/// use sapwood::{File, statistics::SideFile};
/// let made = sapwood::inspect::index::make(&File::open(&one)?, &Default::default())?;
/// made.side_file.write(&SideFile::path_of(&one))?;
/// let inputs = [one.to_string_lossy().into_owned(), one.to_string_lossy().into_owned()];
/// let how = Merge { replaces: true, ..Merge::default() };
/// how.run(&both, &inputs, &|path| File::open(path), &mut |_| Flow::Go)?;
/// let inputs = [File::open(&one), File::open(&one)];
/// let joined = joined_statistics(&File::open(&both)?, inputs)?.expect("both have statistics");
/// let jets = joined.column("Events", "nJet", &[])?.expect("it is one of the columns");
/// assert_eq!((jets.range(), jets.runs()), (0..20, 2));
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn joined_statistics(output: &File, inputs: impl IntoIterator<Item = Result<File>>) -> Result<Option<SideFile>> {
    // Most files have none: their tables are not looked at.
    let mut tables = None;
    for input in inputs {
        let input = input?;
        if input.statistics().is_none() {
            return Ok(None);
        }
        if tables.is_none() {
            tables = Some(tables_of(output)?);
        }
        for joined in tables.iter_mut().flatten() {
            // Inputs may lack a tree.
            if let Ok(table) = input.table(&joined.path) {
                joined.add(&table);
            }
        }
    }
    let mut side = SideFile::default();
    for JoinedTable { table, entries, columns, .. } in tables.unwrap_or_default() {
        for column in columns.into_iter().filter(|column| column.is_complete && entries == table.entries()) {
            let (Some(path), Some(stamp)) = (table.path(column.id), table.stamp(column.id)?) else { continue };
            let part = &column.part;
            let first = column.first.unwrap_or(0);
            let Ok(joined) = ColumnStatistics::new(part.number, part.depth, first, column.runs) else { continue };
            side.add(table.name(), path, &part.members, stamp, &joined)?;
        }
    }
    Ok((!side.stored().is_empty()).then_some(side))
}

/// A tree or RNTuple of the output, and what is joined for it.
struct JoinedTable {
    path: String,
    table: Table,
    /// Entries of the inputs so far.
    entries: u64,
    columns: Vec<JoinedColumn>,
}

/// Runs of a column of the inputs so far.
struct JoinedColumn {
    id: usize,
    part: Part,
    first: Option<u64>,
    runs: Vec<Summary>,
    /// Whether runs cover the entries of the inputs to the end. Baskets in the record of a tree are not described: the
    /// last ones may lack.
    has_end: bool,
    /// Whether each input has statistics of it.
    is_complete: bool,
}

/// The tables of a file, the newest cycle of each.
fn tables_of(output: &File) -> Result<Vec<JoinedTable>> {
    let of_key = |found: KeyPath| {
        let table = output.table_at(&found.key)?;
        let ids = table.columns().iter().map(|column| column.id).collect::<Vec<_>>();
        let parts = ids.into_iter().filter_map(|id| Some((id, parts_of(&table.stored_kind(id).ok()?))));
        let columns = parts.flat_map(|(id, parts)| {
            let joined =
                |part| JoinedColumn { id, part, first: None, runs: Vec::new(), has_end: true, is_complete: true };
            parts.into_iter().map(joined).collect::<Vec<_>>()
        });
        let columns = columns.collect();
        Ok(JoinedTable { path: found.path, table, entries: 0, columns })
    };
    output.table_keys()?.into_iter().map(of_key).collect()
}

impl JoinedTable {
    /// Adds the statistics of a table whose entries follow.
    fn add(&mut self, input: &Table) {
        if input.entries() == 0 {
            return;
        }
        self.entries = self.entries.saturating_add(input.entries());
        for column in self.columns.iter_mut().filter(|column| column.is_complete) {
            let own = self.table.path(column.id).and_then(|path| input.find(path).ok());
            let own = own.and_then(|id| input.statistics(id, &column.part.members));
            column.is_complete = own.is_some_and(|own| column.add(&own, input.entries()));
        }
    }
}

impl JoinedColumn {
    /// Adds runs that follow. Returns whether they do.
    fn add(&mut self, own: &ColumnStatistics, entries: u64) -> bool {
        let range = own.range();
        let is_same = (own.number, own.depth) == (self.part.number, self.part.depth);
        if !is_same || !self.has_end || (self.first.is_some() && range.start != 0) {
            return false;
        }
        self.first.get_or_insert(range.start);
        self.has_end = range.end == entries;
        self.runs.extend_from_slice(own.summaries());
        true
    }
}

/// Joins the statistics of files for a new local file, and stores them next to it. Returns whether any were stored.
///
/// # Errors
///
/// Errors of [`joined_statistics`] and of writing the side file.
///
/// # Example
///
/// ```
/// use sapwood::File;
/// let path = sapwood_testkit::example("nano.root");
/// // It has no statistics.
/// assert!(!sapwood::merge::join_statistics(&path, [File::open(&path)])?);
/// # Ok::<(), sapwood::Error>(())
/// ```
pub fn join_statistics(output: impl AsRef<Path>, inputs: impl IntoIterator<Item = Result<File>>) -> Result<bool> {
    let output = output.as_ref();
    match joined_statistics(&File::open(output)?, inputs)? {
        Some(joined) => joined.write_like(SideFile::path_of(output), Some(output)).map(|()| true),
        None => Ok(false),
    }
}
