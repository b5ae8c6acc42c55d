//! `sapwood scan`: rows of a tree or RNTuple as a table.

use std::collections::HashMap;
use std::io::Write;
use std::ops::Range;
use std::sync::Arc;

use sapwood::chain::Member;
use sapwood::codec::is_like;
use sapwood::column::Kind;
use sapwood::query::{Item, ItemLines, ItemTable, Query, Source};
use sapwood::read::{Cell, Cells, Column};
use sapwood::table::Table;
use sapwood::tree::{Branch, BranchId, Tree};
use sapwood::{Error, ErrorKind, Session};

use crate::output::{self, Outcome};
use crate::remote::Remote;
use crate::source::{EventOptions, Friends, LumiMaskOption, take_part};
use crate::targets::targets;

/// Print rows of a tree or RNTuple as a table.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// FILE:TREE, FILE:TREE/BRANCH, or FILE for its only tree or RNTuple; a pattern, folder or chain for several.
    target: String,
    /// Branches or fields, by name, path or pattern (`Muon_*`), and expressions over them (`sqrt(x*x + y*y)`,
    /// `Sum$(v)`); by default all that can be decoded.
    branches: Vec<String>,
    /// Print only rows for which this expression is true.
    #[arg(long)]
    cut: Option<String>,
    /// First entry.
    #[arg(long, default_value_t = 0)]
    start: u64,
    /// Number of rows; by default 25 in a table, and all in other formats.
    #[arg(short = 'n', long)]
    entries: Option<u64>,
    /// Threads that decode; 0 for all cores.
    #[arg(short = 'j', long, default_value_t = 0)]
    threads: usize,
    /// Print one JSON object a row.
    #[arg(long)]
    json: bool,
    /// Print rows as comma-separated values.
    #[arg(long, conflicts_with = "json")]
    csv: bool,
    /// Print each item of lists on its own row, as TTree::Scan does; single values are repeated, and a cut on
    /// lists leaves out items.
    #[arg(long)]
    expand: bool,
    /// Formats of the columns with colons between: size, precision and type (`8.3f:#x::20`); those of `--expand`.
    #[arg(long, value_name = "FORMATS", requires = "expand")]
    col: Option<String>,
    /// Size of the columns in characters.
    #[arg(long, value_name = "CHARACTERS", default_value_t = 9, requires = "expand")]
    col_size: usize,
    /// Digits of numbers.
    #[arg(long, value_name = "DIGITS", default_value_t = 9, requires = "expand")]
    precision: usize,
    #[command(flatten)]
    friends: Friends,
    #[command(flatten)]
    mask: LumiMaskOption,
    #[command(flatten)]
    events: EventOptions,
    #[command(flatten)]
    pub(crate) remote: Remote,
}

/// The columns of a tree or RNTuple that are shown.
struct Shown {
    query: Query,
    names: Vec<String>,
    /// The expressions among them.
    is_computed: Vec<bool>,
    /// Names of what a table cannot show.
    left_out: Vec<String>,
    /// Whether the last column is a cut on items.
    has_item_cut: bool,
    member: Arc<Member>,
}

/// The rows that are still to be printed, from an entry of all files on.
struct Left {
    start: u64,
    rows: u64,
}

impl Shown {
    fn of(
        member: &Arc<Member>,
        source: Source,
        wanted: &[String],
        cut: Option<&str>,
        expand: bool,
        names_of_chain: &[(String, String)],
    ) -> sapwood::Result<Self> {
        let table = &member.table;
        let wanted = matched(table, wanted);
        let of_chain = names_of_chain.iter().map(|(name, meaning)| (name.as_str(), meaning.as_str()));
        let mut query = Query::new(source).aliases(of_chain);
        let (mut names, mut is_computed, mut left_out) = (Vec::new(), Vec::new(), Vec::new());
        if wanted.is_empty() {
            let (ids, shown, others) = everything(table);
            query = ids.into_iter().fold(query, Query::column);
            is_computed = vec![false; shown.len()];
            (names, left_out) = (shown, others);
        }
        for name in &wanted {
            let found = table.find(name);
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
        let mut has_item_cut = false;
        if let Some(cut) = cut {
            let with_cut = query.clone().cut(cut)?;
            has_item_cut = expand && with_cut.cut_depth() != Some(0);
            query = match has_item_cut {
                true => with_cut.condition(cut)?,
                false => with_cut,
            };
            is_computed.extend(has_item_cut.then_some(true));
        }
        Ok(Self { query, names, is_computed, left_out, has_item_cut, member: Arc::clone(member) })
    }

    /// Rows of some entries: the entries that passed the cut, and their columns.
    fn read(&self, entries: Range<u64>) -> Outcome<(Vec<u64>, Vec<Column>)> {
        let found = self.query.read(self.member.select(entries)?)?;
        let (mut values, mut plain) = (found.columns.into_iter(), found.plain.into_iter());
        let columns = self.is_computed.iter().filter_map(|is_computed| match is_computed {
            true => values.next(),
            false => plain.next(),
        });
        let before = self.member.before;
        Ok((found.entries.ranges().flatten().map(|entry| before + entry).collect(), columns.collect()))
    }

    /// Calls `print` with the rows that are left, a few at a time: there may be more than memory.
    fn rows(&self, left: &mut Left, mut print: impl FnMut(&[u64], &[Column], usize) -> Outcome<()>) -> Outcome<()> {
        const STEP: u64 = 1 << 14;
        let all = self.member.table.entries();
        let mut start = left.start.saturating_sub(self.member.before).min(all);
        while left.rows > 0 && start < all {
            // A cut may leave few rows of many entries.
            let is_thinned = self.query.cut_depth().is_some() || self.member.is_thinned();
            let step = if is_thinned { STEP } else { left.rows.min(STEP) };
            let end = start.saturating_add(step).min(all);
            let (entries, columns) = self.read(start..end)?;
            let rows = (entries.len() as u64).min(left.rows);
            print(&entries, &columns, rows as usize)?;
            start = end;
            left.rows -= rows;
        }
        Ok(())
    }
}

impl Shown {
    /// Calls `print` with entry, instance and items of the rows that are left: an item of each list a row.
    fn turns(&self, left: &mut Left, mut print: impl FnMut(u64, usize, &[Option<Item>]) -> Outcome) -> Outcome {
        const STEP: u64 = 1 << 12;
        let all = self.member.table.entries();
        let mut start = left.start.saturating_sub(self.member.before).min(all);
        while left.rows > 0 && start < all {
            let end = start.saturating_add(STEP).min(all);
            let (entries, columns) = self.read(start..end)?;
            let lines = ItemLines::new(&columns);
            for (row, entry) in entries.iter().enumerate() {
                let mut instance = 0;
                lines.of_row(row, &mut |cells| {
                    let number = instance;
                    instance += 1;
                    let cells = match cells.split_last() {
                        Some((cut, cells)) if self.has_item_cut => {
                            if cut.as_ref().is_none_or(|item| item.as_f64() == 0.0) {
                                return Ok(());
                            }
                            cells
                        }
                        _ => cells,
                    };
                    if left.rows == 0 {
                        return Ok(());
                    }
                    left.rows -= 1;
                    print(*entry, number, cells)
                })?;
            }
            start = end;
        }
        Ok(())
    }
}

/// All that a table can show: numbers, names, and the names of the others.
fn everything(table: &Table) -> (Vec<usize>, Vec<String>, Vec<String>) {
    match table {
        Table::Tree(tree) => {
            let (ids, left_out) = branches(tree);
            let names = names(tree, &ids).into_iter().map(str::to_owned).collect();
            (ids, names, left_out)
        }
        Table::NTuple(ntuple) => {
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

/// Opens the files one after another, while there are rows left, and calls `visit` with what is shown of each.
fn each_file(arguments: &Arguments, mut visit: impl FnMut(&Shown, &mut Left) -> Outcome) -> Outcome {
    let session = Session::with_threads(arguments.threads);
    const IN_TABLE: u64 = 25;
    let rows = if arguments.csv || arguments.json { u64::MAX } else { IN_TABLE };
    let mut left = Left { start: arguments.start, rows: arguments.entries.unwrap_or(rows) };
    let mut files = targets(&arguments.target, &session, &arguments.remote)?;
    let part = take_part(&mut files.places, &session, &arguments.remote)?;
    let chain = arguments.mask.of(arguments.friends.chain(files.places, &session, &arguments.remote)?)?;
    let chain = arguments.events.of(chain)?;
    let texts: Vec<&str> = arguments.branches.iter().map(String::as_str).chain(arguments.cut.as_deref()).collect();
    let mut before = 0;
    let mut first = None;
    for member in chain.members() {
        let member = Arc::new(member?);
        let named = arguments.branches.iter().cloned();
        // Where none are named, columns are those of the first file.
        let wanted: Vec<String> = match &first {
            Some(first) if part.is_none() && arguments.branches.is_empty() => Clone::clone(first),
            _ => part.iter().cloned().chain(named).collect(),
        };
        let names = member.names(&texts)?;
        let shown = member.with_friends(|source| {
            Shown::of(&member, source, &wanted, arguments.cut.as_deref(), arguments.expand, &names)
        })?;
        visit(&shown, &mut left)?;
        if left.rows == 0 {
            break;
        }
        before += member.table.entries();
        first.get_or_insert(shown.names);
    }
    // An empty table would look as if nothing had passed.
    if arguments.start > before && left.rows > 0 {
        let start = arguments.start;
        return Err(Error::mismatch(format!("--start {start} is after the end: there are {before} entries")).into());
    }
    Ok(())
}

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> Outcome {
    if arguments.expand {
        return expanded(arguments, out);
    }
    if arguments.csv {
        let mut has_head = false;
        return each_file(arguments, |all, left| {
            if !std::mem::replace(&mut has_head, true) {
                let head: Vec<String> = all.names.iter().map(|name| csv(&name.as_str().into())).collect();
                writeln!(out, "entry,{}", head.join(","))?;
            }
            all.rows(left, |entries, columns, rows| {
                let mut cells = cells_of(columns);
                for (row, entry) in entries.iter().enumerate().take(rows) {
                    let cells: Vec<String> =
                        cells.iter_mut().map(|(column, cells)| csv(&json(cells, &column.kind, row))).collect();
                    writeln!(out, "{entry},{}", cells.join(","))?;
                }
                Ok(())
            })
        });
    }
    if arguments.json {
        return each_file(arguments, |all, left| {
            all.rows(left, |entries, columns, rows| {
                let mut cells = cells_of(columns);
                for (row, entry) in entries.iter().enumerate().take(rows) {
                    let mut document = serde_json::Map::new();
                    document.insert("entry".into(), (*entry).into());
                    for (name, (column, cells)) in all.names.iter().zip(&mut cells) {
                        document.insert(name.clone(), json(cells, &column.kind, row));
                    }
                    serde_json::to_writer(&mut *out, &document)?;
                    writeln!(out)?;
                }
                Ok(())
            })
        });
    }
    let mut rows: Vec<Vec<String>> = Vec::new();
    let (mut head, mut left_out) = (vec!["entry".to_owned()], None);
    each_file(arguments, |all, left| {
        if left_out.is_none() {
            head.extend(all.names.iter().cloned());
            left_out = Some(all.left_out.clone());
        }
        all.rows(left, |entries, columns, count| {
            let mut cells = cells_of(columns);
            rows.extend(entries.iter().enumerate().take(count).map(|(row, entry)| {
                let mut texts = vec![entry.to_string()];
                texts.extend(cells.iter_mut().map(|(column, cells)| shown(&json(cells, &column.kind, row))));
                texts
            }));
            Ok(())
        })
    })?;
    let head: Vec<&str> = head.iter().map(String::as_str).collect();
    output::table(out, &head, &rows)?;
    if let Some(left_out) = left_out.filter(|left_out| !left_out.is_empty()) {
        writeln!(out, "left out, for a table cannot show them: {}", left_out.join(", "))?;
    }
    Ok(())
}

/// Rows with an item of each list, up to the number of rows that is wanted.
fn expanded(arguments: &Arguments, out: &mut dyn Write) -> Outcome {
    let plain = |cell: &Option<Item>| cell.as_ref().map_or(serde_json::Value::Null, item);
    if arguments.json {
        return each_file(arguments, |all, left| {
            all.turns(left, |entry, instance, cells| {
                let mut document = serde_json::Map::new();
                document.insert("entry".into(), entry.into());
                document.insert("instance".into(), instance.into());
                document.extend(all.names.iter().cloned().zip(cells.iter().map(plain)));
                serde_json::to_writer(&mut *out, &document)?;
                Ok(writeln!(out)?)
            })
        });
    }
    if arguments.csv {
        let mut has_head = false;
        return each_file(arguments, |all, left| {
            if !std::mem::replace(&mut has_head, true) {
                let head: Vec<String> = all.names.iter().map(|name| csv(&name.as_str().into())).collect();
                writeln!(out, "entry,instance,{}", head.join(","))?;
            }
            all.turns(left, |entry, instance, cells| {
                let cells: Vec<String> = cells.iter().map(|cell| csv(&plain(cell))).collect();
                Ok(writeln!(out, "{entry},{instance},{}", cells.join(","))?)
            })
        });
    }
    let mut table = None;
    each_file(arguments, |all, left| {
        if table.is_none() {
            let (formats, size) = (arguments.col.as_deref().unwrap_or_default(), arguments.col_size);
            let (_, columns) = all.read(0..0)?;
            let is_list = |column: &Column| !matches!(column.kind, Kind::Number { .. } | Kind::Text { .. });
            let has_lists = columns.iter().any(is_list);
            let begun = ItemTable::new(&all.names, formats, size, arguments.precision, has_lists)?;
            writeln!(out, "{}", begun.head())?;
            table = Some(begun);
        }
        let Some(table) = &table else { return Ok(()) };
        all.turns(left, |entry, instance, cells| Ok(writeln!(out, "{}", table.row(entry, instance, cells))?))
    })?;
    if let Some(table) = table {
        writeln!(out, "{}", table.end())?;
    }
    Ok(())
}

/// An item as JSON.
fn item(item: &Item) -> serde_json::Value {
    match item {
        Item::Number(value) => output::number(*value),
        Item::Whole(value) => (*value).into(),
        Item::Unsigned(value) => (*value).into(),
        Item::Text(text) => text.clone().into(),
    }
}

/// A cell of a CSV file, in quotes if it needs them.
fn csv(value: &serde_json::Value) -> String {
    let text = match value {
        serde_json::Value::String(text) => text.clone(),
        serde_json::Value::Null => String::new(),
        other => other.to_string(),
    };
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text,
    }
}

/// Replaces patterns by the names that match them. A text that matches no name is an expression:
/// `x[0]*2` is one, and `Jet_[pe]*` is not if such names exist.
fn matched(table: &Table, wanted: &[String]) -> Vec<String> {
    let may_be_pattern = |words: &str| words.contains(['*', '?', '[']);
    let names = match wanted.iter().any(|words| may_be_pattern(words)) {
        true => everything(table).1,
        false => Vec::new(),
    };
    let mut found = Vec::new();
    for words in wanted {
        let before = found.len();
        if may_be_pattern(words) {
            found.extend(names.iter().filter(|name| is_like(words, name)).cloned());
        }
        if found.len() == before {
            found.push(words.clone());
        }
    }
    found
}

/// Names of branches; paths if a name occurs twice.
fn names<'t>(tree: &'t Tree, ids: &[BranchId]) -> Vec<&'t str> {
    let branches: Vec<&Branch> = ids.iter().map(|&id| &tree.branches()[id]).collect();
    let mut times: HashMap<&str, usize> = HashMap::new();
    branches.iter().for_each(|branch| *times.entry(&branch.name).or_default() += 1);
    branches.iter().map(|branch| if times[&*branch.name] > 1 { &*branch.path } else { &*branch.name }).collect()
}

/// Each column with what reads its values.
fn cells_of(columns: &[Column]) -> Vec<(&Column, Cells<'_>)> {
    columns.iter().map(|column| (column, Cells::new(column))).collect()
}

/// One value as JSON.
fn json(cells: &mut Cells<'_>, kind: &Kind, row: usize) -> serde_json::Value {
    match cells.at(kind, row) {
        Cell::Bool(value) => value.into(),
        Cell::Whole(value) => i64::try_from(value).map_or_else(|_| (value as u64).into(), Into::into),
        // The shortest decimal of 32 bits, not that of the same number in 64.
        Cell::F32(value) => output::number(value.to_string().parse().unwrap_or(f64::NAN)),
        Cell::F64(value) => output::number(value),
        Cell::Text(bytes) => sapwood::wire::text(&bytes).into(),
        Cell::Opaque(bytes) => format!("({bytes} bytes)").into(),
        Cell::Pointer(class) => format!("({class})").into(),
        Cell::List(item, rows) => rows.map(|row| json(cells, item, row)).collect(),
        Cell::Record(members) => {
            members.into_iter().map(|(name, kind)| (name.to_string(), json(cells, kind, row))).collect()
        }
        _ => serde_json::Value::Null,
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
