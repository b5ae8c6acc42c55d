//! Makes statistics of the columns of a file, and checks stored ones: every column is read once.

use std::sync::Arc;

use crate::codec::is_like;
use crate::error::{Error, ErrorKind, Result};
use crate::file::File;
use crate::ntuple::{FieldPage, NTuple};
use crate::progress;
use crate::read::Column;
use crate::statistics::{ColumnStatistics, Part, SideFile, Summary, parts_of, summaries};
use crate::table::Table;

/// Columns up to which statistics of all of them are kept.
const FEW_COLUMNS: usize = 32;
/// The part of a column's range that its runs may have on average before they are of no use.
pub(super) const MAX_PART: f64 = 0.95;
/// Values that are read together, about.
const WINDOW_BYTES: u64 = 32 << 20;

/// Of which columns statistics are made.
///
/// # Example
///
/// ```
/// # let path = sapwood_testkit::example("nano.root");
/// use sapwood::inspect::index::{Options, make};
/// let options = Options { columns: vec!["nJet".into()] };
/// let made = make(&sapwood::File::open(path)?, &options)?;
/// assert_eq!(made.columns.len(), 1);
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Paths of branches or fields of numbers and lists of numbers, or patterns such as `Muon_*`. If empty, all are
    /// taken, but for columns of wide tables whose runs have nearly the range of the column.
    pub columns: Vec<String>,
}

/// Statistics that were made.
#[derive(Debug)]
pub struct Made {
    /// All of them, to be written.
    pub side_file: SideFile,
    /// The columns that were read.
    pub columns: Vec<MadeColumn>,
}

/// A column that was read.
#[derive(Clone, Debug, PartialEq)]
pub struct MadeColumn {
    /// Path of its tree or RNTuple.
    pub table: String,
    /// Its name in expressions.
    pub name: String,
    /// How many runs of entries it has.
    pub runs: usize,
    /// The part of its range that a run has on average: near 0 for a rising column, near 1 if every run has small and
    /// large values.
    pub part: f64,
    /// Whether its statistics are kept.
    pub is_kept: bool,
}

/// Makes statistics of the trees and RNTuples of a file, the newest cycle of each.
///
/// # Errors
///
/// [`NotFound`](crate::ErrorKind::NotFound) for a named column that no table has, and what reading reports.
///
/// # Example
///
/// ```
/// # let path = sapwood_testkit::example("nano.root");
/// use sapwood::inspect::index::{Options, make};
/// let made = make(&sapwood::File::open(&path)?, &Options::default())?;
/// assert!(made.columns.iter().any(|column| column.name == "Jet_pt" && column.runs == 1 && column.is_kept));
/// assert!(make(&sapwood::File::open(path)?, &Options { columns: vec!["Jet".into()] }).is_err());
/// # Ok::<(), sapwood::Error>(())
/// ```
pub fn make(file: &File, options: &Options) -> Result<Made> {
    let mut made = Made { side_file: SideFile::default(), columns: Vec::new() };
    let mut tables = Vec::new();
    for key in file.table_keys()? {
        let table = file.table_at(&key.key)?;
        let ids = columns_of(&table, &options.columns)?;
        tables.push((key.path, table, ids));
    }
    for name in &options.columns {
        let has = |(_, table, ids): &(String, Table, Vec<usize>)| ids.iter().any(|id| is_named(table, *id, name));
        if !tables.iter().any(has) {
            let words =
                format!("no tree or RNTuple has a column {name:?} of numbers that is stored in baskets or pages");
            return Err(file.name(Error::not_found(words)));
        }
    }
    let all: usize = tables.iter().map(|(_, _, ids)| ids.len()).sum();
    let mut done = 0;
    for (path, table, ids) in &tables {
        for &id in ids {
            progress::at(done, all as u64)?;
            done += 1;
            let Some(stamp) = table.stamp(id)? else { continue };
            let column_path = table.path(id).unwrap_or_default();
            let read = match statistics_of(table, id) {
                // Only named columns have to be readable.
                Err(error) if options.columns.is_empty() && error.kind() == ErrorKind::Unsupported => continue,
                read => read?,
            };
            for (part, statistics) in read {
                let share = part_of(&statistics);
                // One run costs nothing, and can rule out a whole file.
                let is_useful = statistics.runs() == 1 || share < MAX_PART;
                let is_kept = is_useful || !options.columns.is_empty() || ids.len() <= FEW_COLUMNS;
                let members = part.members.iter().map(|member| &**member);
                made.columns.push(MadeColumn {
                    table: path.clone(),
                    name: std::iter::once(column_path).chain(members).collect::<Vec<_>>().join("."),
                    runs: statistics.runs(),
                    part: share,
                    is_kept,
                });
                if is_kept {
                    made.side_file.add(table.name(), column_path, &part.members, stamp, &statistics)?;
                }
            }
        }
    }
    progress::at(all as u64, all as u64)?;
    Ok(made)
}

/// The columns of a table that hold numbers: all, or named ones.
fn columns_of(table: &Table, named: &[String]) -> Result<Vec<usize>> {
    let ids: Vec<usize> = match table {
        Table::Tree(_) => table.columns().iter().map(|column| column.id).collect(),
        Table::NTuple(ntuple) => ntuple
            .fields()
            .iter()
            .filter(|field| field.is_named && field.source.is_none())
            .map(|field| field.id)
            .collect(),
    };
    let is_wanted = |id: &usize| named.is_empty() || named.iter().any(|name| is_named(table, *id, name));
    // Columns of unknown types cannot be read, and nobody can cut on them.
    let has_numbers = |id: &usize| table.stored_kind(*id).is_ok_and(|kind| !parts_for(table, &kind).is_empty());
    Ok(ids.into_iter().filter(is_wanted).filter(has_numbers).collect())
}

/// Whether a column has this path, or one of this pattern.
fn is_named(table: &Table, id: usize, name: &str) -> bool {
    table.path(id).is_some_and(|path| is_like(name, path))
}

/// The numbers of a column. Members of records of an RNTuple are fields themselves.
pub(super) fn parts_for(table: &Table, kind: &crate::column::Kind) -> Vec<Part> {
    let mut parts = if kind.has_pointers() { Vec::new() } else { parts_of(kind) };
    if matches!(table, Table::NTuple(_)) {
        parts.retain(|part| part.members.is_empty());
    }
    parts
}

/// The statistics of the numbers of a column, which is read once.
pub(super) fn statistics_of(table: &Table, id: usize) -> Result<Vec<(Part, ColumnStatistics)>> {
    let parts = parts_for(table, &table.stored_kind(id)?);
    let (first, runs) = match table {
        Table::Tree(tree) => {
            let starts = Table::basket_starts(tree, id);
            (starts.first().copied().unwrap_or(0), of_runs(table, id, &parts, &starts)?)
        }
        Table::NTuple(ntuple) => (0, of_field(table, ntuple, id, &parts)?),
    };
    let made = parts.into_iter().zip(runs).map(|(part, runs)| {
        let statistics = ColumnStatistics::new(part.number, part.depth, first, runs)?;
        Ok((part, statistics))
    });
    made.collect()
}

/// The summaries of runs of entries for each part. Runs begin at the entries of a list, whose last one is the end.
fn of_runs(table: &Table, id: usize, parts: &[Part], starts: &[u64]) -> Result<Vec<Vec<Summary>>> {
    let window = (WINDOW_BYTES / table.entry_bytes(&[id]).max(1)).max(1);
    let mut runs = vec![Vec::new(); parts.len()];
    let mut at = 0;
    while let Some(&first) = starts.get(at).filter(|_| at + 1 < starts.len()) {
        // As many runs as fit, and one at least.
        let end = starts.partition_point(|start| *start <= first.saturating_add(window)).max(at + 2).min(starts.len());
        let own = starts.get(at..end).unwrap_or_default();
        let column = one(table.read(&[id], first..own.last().copied().unwrap_or(first))?)?;
        let borders: Vec<usize> = own.iter().map(|start| (start - first) as usize).collect();
        for (part, runs) in parts.iter().zip(&mut runs) {
            runs.extend(summaries(&column, part, &borders, None)?);
        }
        at = end - 1;
    }
    Ok(runs)
}

/// The summaries of the pages of a field for each part.
fn of_field(table: &Table, ntuple: &Arc<NTuple>, id: usize, parts: &[Part]) -> Result<Vec<Vec<Summary>>> {
    let mut pages = ntuple.field_pages(id)?;
    pages.retain(|page| page.is_innermost);
    pages.sort_by_key(|page| (page.cluster, page.column));
    let mut runs = vec![Vec::new(); parts.len()];
    for (number, cluster) in ntuple.clusters()?.into_iter().enumerate() {
        if cluster.is_empty() {
            continue;
        }
        let first = pages.partition_point(|page| page.cluster < number);
        let end = pages.partition_point(|page| page.cluster <= number);
        let own = pages.get(first..end).unwrap_or_default();
        // Of several columns, those of one representation: the first that has pages.
        let own = own.chunk_by(|a, b| a.column == b.column).next().unwrap_or_default();
        let column = one(table.read(&[id], cluster)?)?;
        for (part, runs) in parts.iter().zip(&mut runs) {
            let mut items = Vec::new();
            // Read once for the items of rows: which of them begin a page.
            summaries(&column, part, &[0, column.len], Some(&mut items))?;
            runs.extend(summaries(&column, part, &page_borders(own, &items), None)?);
        }
    }
    Ok(runs)
}

/// The rows of a cluster with which pages begin, and the end of the last, by the first item of each row. If pages do
/// not have all items, rows are shared out evenly.
fn page_borders(pages: &[FieldPage], items: &[usize]) -> Vec<usize> {
    let rows = items.len().saturating_sub(1);
    let elements: u64 = pages.iter().map(|page| u64::from(page.elements)).sum();
    let is_complete = items.last().is_some_and(|end| *end as u64 == elements);
    let mut borders = vec![0];
    let mut before = 0_u64;
    for (number, page) in pages.iter().enumerate().skip(1) {
        before += pages.get(number - 1).map_or(0, |page| u64::from(page.elements));
        let row = if is_complete {
            // A list that begins before the page is read with the page before.
            items.partition_point(|item| (*item as u64) < before)
        } else {
            (rows as u128 * u128::from(before) / u128::from(elements.max(1))) as usize
        };
        if borders.last().is_some_and(|last| *last < row) && row < rows {
            borders.push(row);
        }
        debug_assert!(page.elements > 0, "a page without elements is refused before");
    }
    borders.push(rows);
    borders
}

/// The part of the range of a column that its runs have on average: of its values, or of the lengths of its lists.
pub(super) fn part_of(column: &ColumnStatistics) -> f64 {
    let runs = column.summaries();
    let all = column.all();
    let mean = |whole: f64, of: &dyn Fn(&Summary) -> f64| {
        // One value everywhere decides on all runs at once.
        if whole <= 0.0 {
            return 0.0;
        }
        // Infinities have no scale.
        if !whole.is_finite() || runs.is_empty() {
            return 1.0;
        }
        runs.iter().map(of).sum::<f64>() / whole / runs.len() as f64
    };
    let values = mean(all.extremes.map_or(0.0, |extremes| extremes.width()), &|run| {
        run.extremes.map_or(0.0, |extremes| extremes.width())
    });
    if all.shortest == all.longest {
        return values;
    }
    let lengths =
        mean(all.longest.saturating_sub(all.shortest) as f64, &|run| run.longest.saturating_sub(run.shortest) as f64);
    values.min(lengths)
}

fn one(mut columns: Vec<Column>) -> Result<Column> {
    columns.pop().ok_or_else(|| Error::internal("a column was not read"))
}

/// Findings of a check of stored statistics.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    /// Columns whose statistics are those of their values.
    pub right: usize,
    /// Columns that belong to another state of the file, by name: they are not used.
    pub stale: Vec<String>,
    /// Columns whose statistics differ from their values, by name.
    pub wrong: Vec<String>,
}

/// Compares stored statistics with the values of a file, which are read.
///
/// # Errors
///
/// Errors of reading the file. Statistics that cannot be decoded are [wrong](Checked::wrong).
///
/// # Example
///
/// ```
/// # let path = sapwood_testkit::example("nano.root");
/// use sapwood::inspect::index::{check, make};
/// let file = sapwood::File::open(path)?;
/// let made = make(&file, &Default::default())?;
/// let checked = check(&file, &made.side_file)?;
/// assert!(checked.right > 3 && checked.stale.is_empty() && checked.wrong.is_empty());
/// # Ok::<(), sapwood::Error>(())
/// ```
pub fn check(file: &File, side: &SideFile) -> Result<Checked> {
    let mut tables = Vec::new();
    for key in file.keys(true)?.into_iter().filter(|found| found.key.has_entries()) {
        tables.push(file.table_at(&key.key)?);
    }
    let mut checked = Checked::default();
    for stored in side.stored() {
        let name = format!("{} of {}", stored.name(), stored.table);
        let mut found = None;
        for table in tables.iter().filter(|table| table.name() == stored.table) {
            if let Ok(id) = table.find(&stored.path)
                && table.path(id) == Some(&stored.path)
                && table.stamp(id)? == Some(stored.stamp)
            {
                found = Some((table, id));
                break;
            }
        }
        let Some((table, id)) = found else {
            checked.stale.push(name);
            continue;
        };
        let is_right = match stored.statistics() {
            Ok(statistics) => is_right(table, id, &stored.members, &statistics)?,
            Err(_) => false,
        };
        if is_right { checked.right += 1 } else { checked.wrong.push(name) }
    }
    Ok(checked)
}

/// Whether statistics are those of the values in their runs. Runs need not be baskets: those of merged files are the
/// runs of their inputs.
fn is_right(table: &Table, id: usize, members: &[Arc<str>], stored: &ColumnStatistics) -> Result<bool> {
    let parts = parts_for(table, &table.stored_kind(id)?);
    let is_same = |part: &&Part| part.members == members && (part.number, part.depth) == (stored.number, stored.depth);
    let Some(part) = parts.iter().find(is_same) else { return Ok(false) };
    if stored.range().end > table.entries() {
        return Ok(false);
    }
    let runs = of_runs(table, id, std::slice::from_ref(part), stored.starts())?;
    Ok(runs.first().is_some_and(|runs| runs == stored.summaries()))
}
