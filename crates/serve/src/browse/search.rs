//! Names that hold some letters: keys of a file, branches and fields of its trees and RNTuples.

use sapwood::Result;
use serde_json::{Value, json};

use super::nodes::kind_of;
use super::opened::{Dataset, Opened};
use super::page_query::PageQuery;
use super::shelf::Shelf;

/// The most names of one answer.
const MOST: usize = 500;
/// Trees and RNTuples of a file whose branches are searched.
const MOST_DATASETS: usize = 64;

/// What was found, in columns.
#[derive(Default)]
struct Found {
    paths: Vec<String>,
    branches: Vec<String>,
    kinds: Vec<&'static str>,
    details: Vec<String>,
    total: usize,
}

/// Names of a file that hold all words of `text`, large letters or small. With `path`, of one tree alone.
pub(super) fn search(shelf: &Shelf, query: &PageQuery) -> Result<Value> {
    let opened = shelf.open(query.text("file"))?;
    let words: Vec<String> = query.text("text").split_whitespace().map(str::to_lowercase).collect();
    let mut found = Found::default();
    if !words.is_empty() {
        all(&opened, query.text("path"), &words, &mut found)?;
    }
    Ok(json!({
        "state": opened.state, "total": found.total, "paths": found.paths, "branches": found.branches,
        "kinds": found.kinds, "details": found.details,
    }))
}

fn all(opened: &Opened, path: &str, words: &[String], found: &mut Found) -> Result<()> {
    if !path.is_empty() {
        found.dataset(path, &opened.dataset_of(path)?, words);
        return Ok(());
    }
    let keys = opened.file.keys(true)?;
    let mut datasets = Vec::new();
    for key in &keys {
        let id = format!("{};{}", key.path, key.key.cycle);
        if holds(&key.path, words) {
            found.push(&id, "", kind_of(&key.key).0, &key.key.class);
        }
        let is_newest = !datasets.iter().any(|(known, _): &(&str, _)| *known == key.path);
        if (key.key.is_tree() || key.key.is_ntuple()) && is_newest && datasets.len() < MOST_DATASETS {
            datasets.push((&key.path, (id, &key.key)));
        }
    }
    for (_, (id, key)) in datasets {
        // One tree that cannot be read never hides the others.
        if let Ok(dataset) = opened.dataset(key) {
            found.dataset(&id, &dataset, words);
        }
    }
    Ok(())
}

impl Found {
    fn push(&mut self, path: &str, branch: &str, kind: &'static str, detail: &str) {
        self.total += 1;
        if self.paths.len() < MOST {
            self.paths.push(path.to_owned());
            self.branches.push(branch.to_owned());
            self.kinds.push(kind);
            self.details.push(detail.to_owned());
        }
    }

    fn dataset(&mut self, path: &str, dataset: &Dataset, words: &[String]) {
        match dataset {
            Dataset::Tree(tree) => {
                for branch in tree.branches().iter().filter(|branch| holds(&branch.path, words)) {
                    self.push(path, &branch.path, "branch", "");
                }
            }
            Dataset::NTuple(ntuple) => {
                for field in ntuple.fields().iter().filter(|field| field.is_named && holds(&field.path, words)) {
                    self.push(path, &field.path, "field", &field.type_name);
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
