//! `sapwood scan`: rows of a tree or RNTuple as a table.

use std::collections::HashMap;
use std::io::Write;
use std::ops::Range;
use std::sync::Arc;

use sapwood::column::{Kind, Number};
use sapwood::container::Key;
use sapwood::ntuple::NTuple;
use sapwood::read::Column;
use sapwood::tree::{Branch, BranchId, Tree};
use sapwood::{Error, File};

use crate::output::{self, Outcome};
use crate::remote::Remote;

/// Print rows of a tree or RNTuple as a table.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// FILE:TREE, or FILE for its only tree or RNTuple.
    target: String,
    /// Branches or fields, by name or path; all that can be decoded where none is named.
    branches: Vec<String>,
    /// First entry.
    #[arg(long, default_value_t = 0)]
    start: u64,
    /// How many entries.
    #[arg(short = 'n', long, default_value_t = 25)]
    entries: u64,
    /// Threads that decode; 0 for all cores.
    #[arg(long, default_value_t = 0)]
    threads: usize,
    /// Print one JSON object a row.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    pub(crate) remote: Remote,
}

/// What has entries.
pub(crate) enum Dataset {
    Tree(Arc<Tree>),
    NTuple(Arc<NTuple>),
}

/// The tree or RNTuple of that name, or the only one.
pub(crate) fn dataset(file: &File, name: Option<&str>) -> Outcome<Dataset> {
    let key = match name {
        Some(name) => file.key(name)?,
        None => only(file)?,
    };
    Ok(match key.is_ntuple() {
        true => Dataset::NTuple(file.ntuple_at(&key)?),
        false => Dataset::Tree(file.tree_at(&key)?),
    })
}

/// The only key of a tree or RNTuple, of all cycles the highest.
fn only(file: &File) -> Outcome<Key> {
    let keys = file.keys(true)?;
    let mut found: Vec<_> = keys.iter().filter(|found| found.key.is_tree() || found.key.is_ntuple()).collect();
    found.sort_by(|a, b| (&a.path, b.key.cycle).cmp(&(&b.path, a.key.cycle)));
    found.dedup_by(|a, b| a.path == b.path);
    match &found[..] {
        [one] => Ok(one.key.clone()),
        [] => Err(Error::not_found("the file has no tree and no RNTuple").into()),
        many => {
            let names: Vec<_> = many.iter().map(|found| found.path.as_str()).collect();
            Err(Error::mismatch(format!("which tree? FILE:TREE with one of {}", names.join(", "))).into())
        }
    }
}

/// What of a tree or RNTuple is shown.
struct Shown {
    dataset: Dataset,
    ids: Vec<usize>,
    names: Vec<String>,
    /// Names of what a table cannot show.
    left_out: Vec<String>,
    entries: u64,
}

impl Shown {
    fn of(dataset: Dataset, wanted: &[String]) -> Outcome<Self> {
        Ok(match &dataset {
            Dataset::Tree(tree) => {
                let (ids, left_out) = branches(tree, wanted)?;
                let names = names(tree, &ids).into_iter().map(str::to_owned).collect();
                Self { entries: tree.entries, dataset, ids, names, left_out }
            }
            Dataset::NTuple(ntuple) => {
                let named = wanted.iter().map(|name| ntuple.field(name).map(|field| field.id));
                let named = named.collect::<Result<Vec<_>, _>>()?;
                let readable = |id: usize| ntuple.kind(id).is_ok_and(|kind| !kind.has_pointers());
                let (ids, others): (Vec<_>, Vec<_>) = match named.is_empty() {
                    true => ntuple.top().iter().partition(|&&id| readable(id)),
                    false => (named, Vec::new()),
                };
                let paths = |ids: &[usize]| ids.iter().map(|&id| ntuple.fields()[id].path.to_string()).collect();
                let (names, left_out) = (paths(&ids), paths(&others));
                Self { entries: ntuple.entries, dataset, ids, names, left_out }
            }
        })
    }

    fn read(&self, entries: Range<u64>) -> Outcome<Vec<Column>> {
        Ok(match &self.dataset {
            Dataset::Tree(tree) => sapwood::read::columns(tree, &self.ids, entries)?,
            Dataset::NTuple(ntuple) => sapwood::ntuple::columns(ntuple, &self.ids, entries)?,
        })
    }
}

/// The wanted branches, or those that a table can show; and the paths of the others.
fn branches(tree: &Tree, wanted: &[String]) -> Outcome<(Vec<BranchId>, Vec<String>)> {
    if !wanted.is_empty() {
        let ids = wanted.iter().map(|name| tree.branch(name).map(|branch| branch.id)).collect::<Result<_, _>>()?;
        return Ok((ids, Vec::new()));
    }
    let readable = |branch: &Branch| {
        branch.entry_range().end >= tree.entries
            && tree.interpretation(branch.id).is_ok_and(|found| !found.kind.has_pointers())
    };
    let (shown, others): (Vec<_>, Vec<_>) = tree.branches().iter().partition(|branch| readable(branch));
    let left_out = others.iter().filter(|branch| branch.has_data()).map(|branch| branch.path.to_string()).collect();
    Ok((shown.iter().map(|branch| branch.id).collect(), left_out))
}

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> Outcome {
    let (path, name) = output::split(&arguments.target);
    let file = output::open(path, arguments.threads, &arguments.remote)?;
    let shown_here = Shown::of(dataset(&file, name)?, &arguments.branches)?;
    let Shown { names, left_out, entries, .. } = &shown_here;
    let start = arguments.start.min(*entries);
    let stop = start.saturating_add(arguments.entries).min(*entries);
    if arguments.json {
        // A few at a time: there may be more rows than memory.
        const STEP: u64 = 1 << 14;
        for start in (start..stop).step_by(STEP as usize) {
            let columns = shown_here.read(start..stop.min(start + STEP))?;
            for row in 0..(stop - start).min(STEP) as usize {
                let mut document = serde_json::Map::new();
                document.insert("entry".into(), (start + row as u64).into());
                for (name, column) in names.iter().zip(&columns) {
                    document.insert(name.clone(), cell(column, &column.kind, row));
                }
                serde_json::to_writer(&mut *out, &document)?;
                writeln!(out)?;
            }
        }
        return Ok(());
    }
    let columns = shown_here.read(start..stop)?;
    let rows: Vec<Vec<String>> = (0..(stop - start) as usize)
        .map(|row| {
            let mut cells = vec![(start + row as u64).to_string()];
            cells.extend(columns.iter().map(|column| shown(&cell(column, &column.kind, row))));
            cells
        })
        .collect();
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
