//! `sapwood scan`: rows of a tree or RNTuple as a table.

use std::collections::HashMap;
use std::io::Write;
use std::ops::Range;

use sapwood::column::{Kind, Number};
use sapwood::query::{Query, Source};
use sapwood::read::Column;
use sapwood::tree::{Branch, BranchId, Tree};
use sapwood::{Error, ErrorKind};

use crate::output::{self, Outcome};
use crate::remote::Remote;
use crate::source::{Dataset, Friends, dataset_or_part};

/// Print rows of a tree or RNTuple as a table.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// FILE:TREE, FILE:TREE/BRANCH, or FILE for its only tree or RNTuple.
    target: String,
    /// Branches or fields, by name or path, and expressions over them (`sqrt(x*x + y*y)`, `Sum$(v)`); all that can be
    /// decoded where none is named.
    branches: Vec<String>,
    /// Print only rows for which this expression is true.
    #[arg(long)]
    cut: Option<String>,
    /// First entry.
    #[arg(long, default_value_t = 0)]
    start: u64,
    /// How many rows.
    #[arg(short = 'n', long, default_value_t = 25)]
    entries: u64,
    /// Threads that decode; 0 for all cores.
    #[arg(long, default_value_t = 0)]
    threads: usize,
    /// Print one JSON object a row.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    friends: Friends,
    #[command(flatten)]
    pub(crate) remote: Remote,
}

/// What of a tree or RNTuple is shown.
struct Shown {
    query: Query,
    names: Vec<String>,
    /// Which of them are expressions.
    is_computed: Vec<bool>,
    /// Names of what a table cannot show.
    left_out: Vec<String>,
    entries: u64,
}

impl Shown {
    fn of(dataset: &Dataset, source: Source, wanted: &[String], cut: Option<&str>) -> sapwood::Result<Self> {
        let entries = source.entries();
        let mut query = Query::new(source);
        let (mut names, mut is_computed, mut left_out) = (Vec::new(), Vec::new(), Vec::new());
        if wanted.is_empty() {
            let (ids, shown, others) = everything(dataset);
            query = ids.into_iter().fold(query, Query::column);
            is_computed = vec![false; shown.len()];
            (names, left_out) = (shown, others);
        }
        for name in wanted {
            let found = match dataset {
                Dataset::Tree(tree) => tree.branch(name).map(|branch| branch.id),
                Dataset::NTuple(ntuple) => ntuple.field(name).map(|field| field.id),
            };
            is_computed.push(found.is_err());
            query = match found {
                Ok(id) => query.column(id),
                // A plain name that is not there: the error that lists names like it.
                Err(error) if name.chars().all(|c| c.is_alphanumeric() || "_./".contains(c)) => {
                    // An alias may be there, and may be wrong itself.
                    let own = |own: Error| if own.kind() == ErrorKind::NotFound { error } else { own };
                    query.value(name).map_err(own)?
                }
                Err(_) => query.value(name)?,
            };
            names.push(name.clone());
        }
        if let Some(cut) = cut {
            query = query.cut(cut)?;
        }
        Ok(Self { query, names, is_computed, left_out, entries })
    }

    /// Rows of some entries: the entries that passed the cut, and their columns.
    fn read(&self, entries: Range<u64>) -> Outcome<(Vec<u64>, Vec<Column>)> {
        let found = self.query.read(entries)?;
        let (mut values, mut plain) = (found.columns.into_iter(), found.plain.into_iter());
        let columns = self.is_computed.iter().filter_map(|is_computed| match is_computed {
            true => values.next(),
            false => plain.next(),
        });
        Ok((found.entries.ranges().flatten().collect(), columns.collect()))
    }

    /// Calls `print` with up to `most` rows, a few at a time: there may be more than memory.
    fn rows(
        &self,
        start: u64,
        most: u64,
        mut print: impl FnMut(&[u64], &[Column], usize) -> Outcome<()>,
    ) -> Outcome<()> {
        const STEP: u64 = 1 << 14;
        let (mut start, mut left) = (start.min(self.entries), most);
        while left > 0 && start < self.entries {
            // A cut may leave few rows of many entries.
            let step = if self.query.cut_depth().is_some() { STEP } else { left.min(STEP) };
            let end = start.saturating_add(step).min(self.entries);
            let (entries, columns) = self.read(start..end)?;
            let rows = (entries.len() as u64).min(left);
            print(&entries, &columns, rows as usize)?;
            (start, left) = (end, left - rows);
        }
        Ok(())
    }
}

/// All that a table can show: numbers, names, and the names of the others.
fn everything(dataset: &Dataset) -> (Vec<usize>, Vec<String>, Vec<String>) {
    match dataset {
        Dataset::Tree(tree) => {
            let (ids, left_out) = branches(tree);
            let names = names(tree, &ids).into_iter().map(str::to_owned).collect();
            (ids, names, left_out)
        }
        Dataset::NTuple(ntuple) => {
            let readable = |id: usize| ntuple.kind(id).is_ok_and(|kind| !kind.has_pointers());
            let (ids, others): (Vec<_>, Vec<_>) = ntuple.top().iter().partition(|&&id| readable(id));
            let paths = |ids: &[usize]| ids.iter().map(|&id| ntuple.fields()[id].path.to_string()).collect();
            let (names, left_out) = (paths(&ids), paths(&others));
            (ids, names, left_out)
        }
    }
}

/// The branches that a table can show, and the paths of the others.
fn branches(tree: &Tree) -> (Vec<BranchId>, Vec<String>) {
    let readable = |branch: &Branch| {
        branch.entry_range().end >= tree.entries
            && tree.interpretation(branch.id).is_ok_and(|found| !found.kind.has_pointers())
    };
    let (shown, others): (Vec<_>, Vec<_>) = tree.branches().iter().partition(|branch| readable(branch));
    let left_out = others.iter().filter(|branch| branch.has_data()).map(|branch| branch.path.to_string()).collect();
    (shown.iter().map(|branch| branch.id).collect(), left_out)
}

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> Outcome {
    let (path, name) = output::split(&arguments.target);
    let file = output::open(path, arguments.threads, &arguments.remote)?;
    let (dataset, part) = dataset_or_part(&file, name)?;
    let wanted: Vec<String> = part.map(str::to_owned).into_iter().chain(arguments.branches.iter().cloned()).collect();
    let cut = arguments.cut.as_deref();
    let make = |source| Shown::of(&dataset, source, &wanted, cut);
    let all = arguments.friends.with(&dataset, &arguments.remote, make)?;
    let Shown { names, left_out, .. } = &all;
    if arguments.json {
        return all.rows(arguments.start, arguments.entries, |entries, columns, rows| {
            for (row, entry) in entries.iter().enumerate().take(rows) {
                let mut document = serde_json::Map::new();
                document.insert("entry".into(), (*entry).into());
                for (name, column) in names.iter().zip(columns) {
                    document.insert(name.clone(), cell(column, &column.kind, row));
                }
                serde_json::to_writer(&mut *out, &document)?;
                writeln!(out)?;
            }
            Ok(())
        });
    }
    let mut rows: Vec<Vec<String>> = Vec::new();
    all.rows(arguments.start, arguments.entries, |entries, columns, count| {
        rows.extend(entries.iter().enumerate().take(count).map(|(row, entry)| {
            let mut cells = vec![entry.to_string()];
            cells.extend(columns.iter().map(|column| shown(&cell(column, &column.kind, row))));
            cells
        }));
        Ok(())
    })?;
    let head: Vec<&str> = std::iter::once("entry").chain(names.iter().map(String::as_str)).collect();
    output::table(out, &head, &rows)?;
    if !left_out.is_empty() {
        writeln!(out, "left out, for a table cannot show them: {}", left_out.join(", "))?;
    }
    Ok(())
}

/// Names of branches; paths where a name stands twice.
fn names<'t>(tree: &'t Tree, ids: &[BranchId]) -> Vec<&'t str> {
    let branches: Vec<&Branch> = ids.iter().map(|&id| &tree.branches()[id]).collect();
    let mut times: HashMap<&str, usize> = HashMap::new();
    branches.iter().for_each(|branch| *times.entry(&branch.name).or_default() += 1);
    branches.iter().map(|branch| if times[&*branch.name] > 1 { &*branch.path } else { &*branch.name }).collect()
}

/// One value as JSON.
fn cell(column: &Column, kind: &Kind, row: usize) -> serde_json::Value {
    let bounds = |offsets: u32| column.bounds(offsets, row);
    match kind {
        Kind::Number { buffer, number } => number_at(&column.buffer(*buffer), *number, row),
        Kind::Text { offsets, bytes } => {
            let bytes = column.buffer(*bytes);
            sapwood::wire::text(bytes.get(bounds(*offsets)).unwrap_or(&[])).into()
        }
        Kind::Opaque { offsets, .. } => format!("({} bytes)", bounds(*offsets).len()).into(),
        Kind::List { offsets, item, .. } => bounds(*offsets).map(|row| cell(column, item, row)).collect(),
        Kind::Fixed { len, item } => (row * len..(row + 1) * len).map(|row| cell(column, item, row)).collect(),
        Kind::Record { .. } => {
            kind.shown_members().into_iter().map(|(name, kind)| (name.to_string(), cell(column, kind, row))).collect()
        }
        Kind::Pointer { class, .. } => format!("({class})").into(),
        Kind::OneOf { tags, of } => {
            // Values of one type follow one another: those before tell where this one is.
            let tags = column.buffer(*tags);
            let Some((&tag, before)) = tags.get(..=row).and_then(<[u8]>::split_last) else {
                return serde_json::Value::Null;
            };
            let Some(kind) = of.get(usize::from(tag)) else { return serde_json::Value::Null };
            cell(column, kind, before.iter().filter(|&&other| other == tag).count())
        }
    }
}

fn number_at(bytes: &[u8], number: Number, row: usize) -> serde_json::Value {
    macro_rules! read {
        ($type:ty) => {
            match bytes.get(row * size_of::<$type>()..).and_then(|rest| rest.first_chunk()) {
                Some(chunk) => <$type>::from_ne_bytes(*chunk),
                None => return serde_json::Value::Null,
            }
        };
    }
    match number {
        Number::Bool => (read!(u8) != 0).into(),
        Number::I8 => read!(i8).into(),
        Number::U8 => read!(u8).into(),
        Number::I16 => read!(i16).into(),
        Number::U16 => read!(u16).into(),
        Number::I32 => read!(i32).into(),
        Number::U32 => read!(u32).into(),
        Number::I64 => read!(i64).into(),
        Number::U64 => read!(u64).into(),
        Number::F32 => output::number(read!(f32).to_string().parse().unwrap_or(f64::NAN)),
        Number::F64 => output::number(read!(f64)),
    }
}

/// A value in a cell: long ones are cut, control characters never reach the terminal.
fn shown(value: &serde_json::Value) -> String {
    const LONGEST: usize = 60;
    let text = match value {
        serde_json::Value::String(text) => text.escape_debug().to_string(),
        other => other.to_string(),
    };
    match text.char_indices().nth(LONGEST) {
        Some((cut, _)) => format!("{}...", &text[..cut]),
        None => text,
    }
}
