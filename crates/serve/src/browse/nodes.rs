//! What is in a folder, a file, a directory, a tree, a branch: one level of the page's tree.

use std::path::Path;

use sapwood::container::Key;
use sapwood::ntuple::{Field, NTuple};
use sapwood::table::Table;
use sapwood::tree::{Branch, Tree};
use sapwood::{Error, KeyPath, Result};
use serde_json::Value;

use super::level::{Level, Rows};
use super::members;
use super::open_files::OpenFiles;
use super::opened::Opened;
use super::page_query::PageQuery;

/// The most rows of one answer.
const MOST_ROWS: usize = 20_000;
/// The most files of a folder that are listed.
const MOST_FILES: usize = 100_000;

/// One level: of the roots, of a folder, or of what `path`, `branch` and `member` name in a file.
pub(super) fn level(open_files: &OpenFiles, query: &PageQuery) -> Result<Value> {
    let rows = Rows { from: query.number("from", 0)?, count: query.number("count", MOST_ROWS)?.min(MOST_ROWS) };
    let id = query.text("file");
    if id.is_empty() {
        return roots(open_files, rows);
    }
    if let Some(listed) = open_files.listed(id)? {
        let found = listed.into_iter().map(|one| (!one.is_folder, one.name));
        return Ok(named(id, found.collect(), "/", rows));
    }
    let (path, _) = open_files.target(id)?;
    if path.is_dir() {
        return folder(id, &path, rows);
    }
    let opened = open_files.open(id)?;
    let mut level = Level::default();
    let total = inside(&opened, query, rows, &mut level)?;
    let mut answer = level.into_json(total, rows.from, opened.state);
    if query.text("path").is_empty() {
        answer["note"] = note(&opened).into();
    }
    Ok(answer)
}

/// What is to be said about a file as a whole.
fn note(opened: &Opened) -> String {
    let file = &opened.file;
    if file.is_cut_off() {
        let (end, found) = (file.header().end, file.identity().len);
        format!("cut off: {found} of {end} bytes are there; this is what is left")
    } else if !file.is_closed() {
        "never closed: this is what was saved last".to_owned()
    } else {
        String::new()
    }
}

fn roots(open_files: &OpenFiles, rows: Rows) -> Result<Value> {
    let mut level = Level::default();
    for (number, root) in open_files.roots.iter().enumerate().skip(rows.from).take(rows.count) {
        let name = open_files.name(&number.to_string())?;
        let (kind, detail) = if root.is_folder { ("folder", "folder") } else { ("file", "file") };
        level.push(&name, &number.to_string(), kind, detail, "", true);
    }
    Ok(level.into_json(open_files.roots.len(), rows.from, 0))
}

/// The folders and ROOT files of a folder, by name.
fn folder(id: &str, path: &Path, rows: Rows) -> Result<Value> {
    let mut found = Vec::new();
    let read = |error: std::io::Error| Error::from(error).in_file(path.to_string_lossy());
    for entry in std::fs::read_dir(path).map_err(read)?.take(MOST_FILES) {
        let entry = entry.map_err(read)?;
        // Names that are no text cannot be asked for.
        let Ok(name) = entry.file_name().into_string() else { continue };
        let is_folder = entry.path().is_dir();
        found.push((!is_folder, name));
    }
    Ok(named(id, found, "", rows))
}

/// Folders and ROOT files, packed ones as well, by name; `end` stands behind ids of folders.
fn named(id: &str, mut found: Vec<(bool, String)>, end: &str, rows: Rows) -> Value {
    let is_root = |name: &str| name.ends_with(".root") || name.ends_with(".root.zst");
    found.retain(|(is_file, name)| !name.starts_with('.') && (!is_file || is_root(name)));
    found.sort();
    let mut level = Level::default();
    let above = id.trim_end_matches('/');
    for (is_file, name) in found.iter().skip(rows.from).take(rows.count) {
        let (kind, end) = if *is_file { ("file", "") } else { ("folder", end) };
        level.push(name, &format!("{above}/{name}{end}"), kind, kind, "", true);
    }
    level.into_json(found.len(), rows.from, 0)
}

/// Rows of a level in a file; gives how many there are in all.
fn inside(opened: &Opened, query: &PageQuery, rows: Rows, level: &mut Level) -> Result<usize> {
    let path = query.text("path");
    if path.is_empty() {
        return Ok(keys("", &opened.file.keys(false)?, rows, level));
    }
    let key = opened.file.key(path)?;
    if key.is_directory() {
        let inside = opened.file.keys_in(path, false)?;
        return Ok(keys(path, &inside, rows, level));
    }
    if !key.has_entries() {
        return members::level(&opened.object(&key)?, query.text("member"), rows, level);
    }
    match opened.table(&key)? {
        Table::Tree(tree) => branches(&tree, query.text("branch"), rows, level),
        Table::NTuple(ntuple) => fields(&ntuple, query.text("branch"), rows, level),
    }
}

fn keys(above: &str, keys: &[KeyPath], rows: Rows, level: &mut Level) -> usize {
    for found in keys.iter().skip(rows.from).take(rows.count) {
        let key = &found.key;
        let (kind, inner) = kind_of(key);
        let prefix = above.trim_end_matches('/');
        let id = match prefix {
            "" => format!("{};{}", key.name, key.cycle),
            prefix => format!("{prefix}/{};{}", key.name, key.cycle),
        };
        level.push(&format!("{};{}", key.name, key.cycle), &id, kind, &key.class, &key.title, inner);
    }
    keys.len()
}

/// What a key is to the page, and whether something is below it.
pub(super) fn kind_of(key: &Key) -> (&'static str, bool) {
    match &*key.class {
        _ if key.is_directory() => ("directory", true),
        _ if key.is_tree() => ("tree", true),
        _ if key.is_ntuple() => ("ntuple", true),
        class if class.starts_with("TH") && class.len() == 4 => ("histogram", true),
        "TProfile" | "TProfile2D" | "TProfile3D" | "TEfficiency" => ("histogram", true),
        class if class.starts_with("TGraph") => ("graph", true),
        "TF1" | "TF2" | "TF3" => ("function", true),
        "TTreePerfStats" => ("run", true),
        _ => ("object", true),
    }
}

fn branches(tree: &Tree, above: &str, rows: Rows, level: &mut Level) -> Result<usize> {
    if above.is_empty() {
        let top = tree.top();
        for branch in top.iter().skip(rows.from).take(rows.count).filter_map(|&id| tree.branches().get(id)) {
            push_branch(tree, branch, &branch.name, level);
        }
        return Ok(top.len());
    }
    let above = tree.branch(above)?;
    if above.children.is_empty() {
        for leaf in above.leaves.iter().skip(rows.from).take(rows.count) {
            let id = format!("{}/{}", above.path, leaf.name);
            level.push(&leaf.name, &id, "leaf", &leaf.class, &leaf.title, false);
            level.is_called(called(&format!("{}.{}", above.path.replace('/', "."), leaf.name)));
        }
        return Ok(above.leaves.len());
    }
    for branch in above.children.iter().skip(rows.from).take(rows.count).filter_map(|&id| tree.branches().get(id)) {
        push_branch(tree, branch, &branch.name, level);
    }
    Ok(above.children.len())
}

/// Adds a branch under a name: its own, or its path.
pub(super) fn push_branch(tree: &Tree, branch: &Branch, name: &str, level: &mut Level) {
    let has_inner = !branch.children.is_empty() || branch.leaves.len() > 1;
    let detail = match tree.interpretation(branch.id) {
        Ok(found) => found.type_name.clone(),
        Err(_) if has_inner => String::new(),
        Err(error) => format!("cannot be read: {}", error.message()),
    };
    level.push(name, &branch.path, "branch", &detail, &branch.title, has_inner);
    if branch.has_data() {
        level.is_called(called(&branch.path.replace('/', ".")));
    }
}

fn fields(ntuple: &NTuple, above: &str, rows: Rows, level: &mut Level) -> Result<usize> {
    let ids = match above {
        "" => ntuple.top().to_vec(),
        above => below(ntuple, ntuple.field(above)?),
    };
    for field in ids.iter().skip(rows.from).take(rows.count).filter_map(|&id| ntuple.fields().get(id)) {
        push_field(ntuple, field, &field.name, level);
    }
    Ok(ids.len())
}

/// The named fields below a field: those of collections have unnamed ones between.
fn below(ntuple: &NTuple, field: &Field) -> Vec<usize> {
    let mut found = Vec::new();
    let mut open: Vec<usize> = field.children.iter().rev().copied().collect();
    while let Some(child) = open.pop().and_then(|id| ntuple.fields().get(id)) {
        match child.is_named {
            true => found.push(child.id),
            false => open.extend(child.children.iter().rev()),
        }
    }
    found
}

/// Adds a field under a name: its own, or its path.
pub(super) fn push_field(ntuple: &NTuple, field: &Field, name: &str, level: &mut Level) {
    let inner = !below(ntuple, field).is_empty();
    level.push(name, &field.path, "field", &field.type_name, &field.description, inner);
    level.is_called(called(&field.path));
}

/// A name as expressions have it: in quotes, where it is no word.
pub(super) fn called(name: &str) -> String {
    let is_word = |part: &str| {
        let mut letters = part.chars();
        letters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
            && letters.all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
    };
    match name.split('.').all(is_word) {
        true => name.to_owned(),
        false => format!("get({:?})", name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_no_words_stand_in_quotes() {
        for (name, expected) in
            [("Jet_pt", "Jet_pt"), ("event.x", "event.x"), ("a-b", "get(\"a-b\")"), ("e..x", "get(\"e..x\")")]
        {
            assert_eq!(called(name), expected);
        }
    }
}
