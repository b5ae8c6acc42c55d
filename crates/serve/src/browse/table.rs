//! Entries as a table: values of expressions, lists included.

use sapwood::table::Table;
use std::ops::Range;

use sapwood::column::Kind;
use sapwood::query::{Query, Source};
use sapwood::read::{Cell, Cells, Column, Selection};
use sapwood::{Error, Result};
use serde_json::{Map, Value, json};

use super::open_files::OpenFiles;
use super::page_query::PageQuery;
use super::picture::number;
use super::reply::{Done, Work};

/// The most rows and columns of one answer, and items of a list in it.
const MOST_ROWS: u64 = 1_000;
const MOST_COLUMNS: usize = 100;
const MOST_ITEMS: usize = 50;
/// The most values of a cell, in all of its lists together.
const MOST_VALUES: usize = 500;
/// The most letters of a text.
const MOST_LETTERS: usize = 1_000;
/// The values of an answer, where a text is as many as its letters: an answer with more ends after the row.
const ANSWER_VALUES: usize = 500_000;
/// Entries that are looked at together where a cut may leave few of them.
const STEP: u64 = 1 << 14;

/// Some entries, from `from` on, that pass a cut: values of `columns`, which are separated by line breaks.
pub(super) fn table(open_files: &OpenFiles, query: &PageQuery, work: &Work) -> Result<Done> {
    let opened = open_files.open(query.text("file"))?;
    let table = opened.table_of(query.text("path"))?;
    let names: Vec<&str> = query.text("columns").lines().map(str::trim).filter(|name| !name.is_empty()).collect();
    if names.len() > MOST_COLUMNS {
        return Err(Error::limit("too many columns for a page", MOST_COLUMNS as u64, names.len() as u64));
    }
    let mut rows = Rows::of(&table, &names, query.text("cut").trim())?;
    let all = table.entries();
    let most = query.number("count", 100)?.min(MOST_ROWS);
    let mut from = query.number("from", 0_u64)?.min(all);
    let start = from;
    while from < all && (rows.entries.len() as u64) < most && rows.values < ANSWER_VALUES {
        work.is_at((from - start) as f64 / (all - start) as f64)?;
        let left = most - rows.entries.len() as u64;
        let end = all.min(from + if rows.is_cut { STEP } else { left });
        from = rows.read(from..end, left)?;
    }
    Ok(Done::Json(json!({
        "state": opened.state, "total": all, "next": from, "entries": rows.entries, "names": names,
        "columns": rows.columns, "types": rows.types, "failures": rows.failures,
    })))
}

/// Rows that were read so far.
struct Rows {
    /// A query for each column, so that one that cannot be computed does not hide the others; none for what no
    /// expression can be.
    queries: Vec<Option<Query>>,
    is_cut: bool,
    cut: Query,
    entries: Vec<u64>,
    columns: Vec<Vec<Value>>,
    /// Values of all columns so far.
    values: usize,
    types: Vec<String>,
    failures: Vec<Option<String>>,
}

impl Rows {
    fn of(table: &Table, names: &[&str], cut: &str) -> Result<Self> {
        let source = Source::from(table);
        let plain = Query::new(source.clone());
        let with_cut = if cut.is_empty() { plain } else { plain.cut(cut)? };
        let mut failures = vec![None; names.len()];
        let queries = names.iter().zip(&mut failures).map(|(name, failure)| {
            let query = Query::new(source.clone());
            // What an expression cannot be made of, records and lists of them, is a column all the same.
            match query.clone().value(name) {
                Ok(query) => Some(query),
                Err(error) => match id_of(table, name) {
                    Some(id) => Some(query.column(id)),
                    None => {
                        *failure = Some(error.message().to_owned());
                        None
                    }
                },
            }
        });
        Ok(Self {
            queries: queries.collect(),
            is_cut: !cut.is_empty(),
            cut: with_cut,
            entries: Vec::new(),
            values: 0,
            columns: vec![Vec::new(); names.len()],
            types: vec![String::new(); names.len()],
            failures,
        })
    }

    /// Reads up to `most` rows of some entries; gives the first entry that was not looked at.
    fn read(&mut self, entries: Range<u64>, most: u64) -> Result<u64> {
        let passing = self.cut.passing(entries.clone())?;
        let next = match passing.len() > most {
            true => passing.entry(most).unwrap_or(entries.end),
            false => entries.end,
        };
        let passing = passing.part(0..most.min(passing.len()));
        let found: Vec<u64> = passing.ranges().flatten().collect();
        // Values of each row, of the columns so far; rows behind those that fill the answer are left for the next one.
        let (mut sums, mut rows) = (vec![0; found.len()], found.len());
        for place in 0..self.queries.len() {
            // One column is in memory at a time.
            let column = self.column(place, &passing.part(0..rows as u64));
            let mut cells = column.as_ref().map(Cells::new);
            let mut all = self.values;
            for (row, sum) in sums[..rows].iter_mut().enumerate() {
                let mut cell = Room { left: MOST_VALUES, values: 0 };
                let value = match (&column, &mut cells) {
                    (Some(column), Some(cells)) => cell.value(cells, &column.kind, row),
                    _ => Value::Null,
                };
                self.columns[place].push(value);
                *sum += cell.values;
                all += *sum;
                if all >= ANSWER_VALUES {
                    rows = row + 1;
                    break;
                }
            }
        }
        self.values += sums[..rows].iter().sum::<usize>();
        self.entries.extend(&found[..rows]);
        let shown = self.entries.len();
        self.columns.iter_mut().for_each(|column| column.truncate(shown));
        Ok(found.get(rows).copied().unwrap_or(next))
    }

    /// Reads a column; a failure is kept beside it.
    fn column(&mut self, place: usize, passing: &Selection) -> Option<Column> {
        match self.queries[place].as_ref()?.read(passing.clone()) {
            Ok(mut found) => {
                let column = found.columns.pop().or_else(|| found.plain.pop())?;
                self.types[place] = column.kind.to_string();
                Some(column)
            }
            Err(error) => {
                self.failures[place] = Some(error.message().to_owned());
                None
            }
        }
    }
}

fn id_of(table: &Table, name: &str) -> Option<usize> {
    table.find(&name.replace('.', "/")).or_else(|_| table.find(name)).ok()
}

/// A cell of the table while it is made.
struct Room {
    /// Values that it may still show.
    left: usize,
    /// What it has, for the sum of the answer.
    values: usize,
}

impl Room {
    /// One value. A list that is too long for a cell ends with how many items it has.
    fn value(&mut self, cells: &mut Cells<'_>, kind: &Kind, row: usize) -> Value {
        self.left = self.left.saturating_sub(1);
        self.values += 1;
        match cells.at(kind, row) {
            Cell::Bool(value) => value.into(),
            Cell::Whole(value) => whole(value),
            // The shortest decimal of 32 bits, not that of the same number in 64.
            Cell::F32(value) => number(value.to_string().parse().unwrap_or(f64::NAN)),
            Cell::F64(value) => number(value),
            Cell::Text(bytes) => {
                let text = &bytes[..bytes.len().min(MOST_LETTERS)];
                self.values += text.len();
                self.left = self.left.saturating_sub(text.len() / 10);
                String::from_utf8_lossy(text).into()
            }
            Cell::Opaque(bytes) => format!("({bytes} bytes)").into(),
            Cell::Pointer(class) => format!("({class})").into(),
            Cell::List(item, rows) => self.list(cells, item, rows),
            Cell::Record(kinds) => {
                let mut members = Map::new();
                for (name, kind) in kinds {
                    let value = if self.left > 0 { self.value(cells, kind, row) } else { "…".into() };
                    members.insert(name.to_string(), value);
                }
                members.into()
            }
            _ => Value::Null,
        }
    }

    fn list(&mut self, cells: &mut Cells<'_>, item: &Kind, rows: Range<usize>) -> Value {
        let count = rows.len();
        let mut items = Vec::new();
        for row in rows.take(MOST_ITEMS) {
            if self.left == 0 {
                break;
            }
            items.push(self.value(cells, item, row));
        }
        if items.len() < count {
            items.push(json!({ "count": count }));
        }
        items.into()
    }
}

/// A whole number. JSON in a browser has 53 bits.
fn whole(value: i128) -> Value {
    match i64::try_from(value) {
        Ok(small) if small.unsigned_abs() < 1 << 53 => small.into(),
        _ => value.to_string().into(),
    }
}
