//! Names that hold some letters: keys of a file, branches and fields of its trees and RNTuples.

use sapwood::Result;
use sapwood::table::Table;
use serde_json::{Value, json};

use super::nodes::{called, kind_of};
use super::open_files::OpenFiles;
use super::opened::Opened;
use super::page_query::PageQuery;

/// The most names of one answer.
const MOST: usize = 500;
/// Trees and RNTuples of a file whose branches are searched.
const MOST_TABLES: usize = 64;

/// A name that was found.
struct Name {
    path: String,
    branch: String,
    kind: &'static str,
    detail: String,
    /// What expressions call it; empty for keys.
    expression: String,
}

/// What was found: names that are what is looked for, those that begin with it, and the others.
#[derive(Default)]
struct Found {
    ranks: [Vec<Name>; 3],
    total: usize,
}

/// Names of a file that hold all words of `text`, large letters or small. With `path`, of one tree alone.
pub(super) fn search(open_files: &OpenFiles, query: &PageQuery) -> Result<Value> {
    let opened = open_files.open(query.text("file"))?;
    let words: Vec<String> = query.text("text").split_whitespace().map(str::to_lowercase).collect();
    let mut found = Found::default();
    if !words.is_empty() {
        all(&opened, query.text("path"), &words, &mut found)?;
    }
    let names: Vec<&Name> = found.ranks.iter().flatten().take(MOST).collect();
    Ok(json!({
        "state": opened.state, "total": found.total,
        "paths": names.iter().map(|name| name.path.as_str()).collect::<Vec<_>>(),
        "branches": names.iter().map(|name| name.branch.as_str()).collect::<Vec<_>>(),
        "kinds": names.iter().map(|name| name.kind).collect::<Vec<_>>(),
        "details": names.iter().map(|name| name.detail.as_str()).collect::<Vec<_>>(),
        "expressions": names.iter().map(|name| name.expression.as_str()).collect::<Vec<_>>(),
    }))
}

fn all(opened: &Opened, path: &str, words: &[String], found: &mut Found) -> Result<()> {
    if !path.is_empty() {
        found.table(path, &opened.table_of(path)?, words);
        return Ok(());
    }
    let keys = opened.file.keys(true)?;
    let mut tables = Vec::new();
    for key in &keys {
        let id = format!("{};{}", key.path, key.key.cycle);
        if holds(&key.path, words) {
            found.push(words, &key.key.name, || Name {
                path: id.clone(),
                branch: String::new(),
                kind: kind_of(&key.key).0,
                detail: key.key.class.to_string(),
                expression: String::new(),
            });
        }
        let is_newest = !tables.iter().any(|(known, _): &(&str, _)| *known == key.path);
        if key.key.has_entries() && is_newest && tables.len() < MOST_TABLES {
            tables.push((&key.path, (id, &key.key)));
        }
    }
    for (_, (id, key)) in tables {
        // One tree that cannot be read never hides the others.
        if let Ok(table) = opened.table(key) {
            found.table(&id, &table, words);
        }
    }
    Ok(())
}

impl Found {
    /// Adds a name, of which `part` is what stands behind the last slash or point.
    fn push(&mut self, words: &[String], part: &str, make: impl FnOnce() -> Name) {
        self.total += 1;
        let first = words.first().map_or("", String::as_str);
        let rank = match part.to_lowercase() {
            part if part == first => 0,
            part if part.starts_with(first) => 1,
            _ => 2,
        };
        if self.ranks[rank].len() < MOST {
            self.ranks[rank].push(make());
        }
    }

    fn table(&mut self, path: &str, table: &Table, words: &[String]) {
        let name = |branch: &str, kind, detail: &str| Name {
            path: path.to_owned(),
            branch: branch.to_owned(),
            kind,
            detail: detail.to_owned(),
            expression: called(&branch.replace('/', ".")),
        };
        match table {
            Table::Tree(tree) => {
                for branch in tree.branches().iter().filter(|branch| holds(&branch.path, words)) {
                    self.push(words, &branch.name, || name(&branch.path, "branch", ""));
                }
            }
            Table::NTuple(ntuple) => {
                for field in ntuple.fields().iter().filter(|field| field.is_named && holds(&field.path, words)) {
                    self.push(words, &field.name, || name(&field.path, "field", &field.type_name));
                }
            }
        }
    }
}

/// Whether a name holds all words, which are in small letters.
fn holds(name: &str, words: &[String]) -> bool {
    let is_in = |name: &str| words.iter().all(|word| name.contains(word.as_str()));
    match name.bytes().any(|byte| byte.is_ascii_uppercase() || !byte.is_ascii()) {
        true => is_in(&name.to_lowercase()),
        false => is_in(name),
    }
}
