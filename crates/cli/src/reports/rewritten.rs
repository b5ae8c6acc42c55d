//! What a rewrite changed, in words and as JSON: figures of each tree, and what it costs to read, before and after.

use std::io::Write;

use sapwood::File;
use sapwood::inspect::io_cost::Reader;
use sapwood::inspect::rewritten::{ReadingChange, reading_changes};
use sapwood::write::{Figures, Remade};
use serde_json::{Value, json};

use crate::output::{self, Outcome};
use crate::reports::documents;

/// A file before and after.
pub(crate) struct Rewritten {
    files: [(String, u64); 2],
    trees: Vec<(Remade, Vec<ReadingChange>)>,
    reader: Reader,
}

impl Rewritten {
    pub(crate) fn new(from: &File, to: &File, remade: Vec<Remade>, reader: Reader) -> Outcome<Self> {
        let files = [from, to].map(|file| (file.identity().name.to_string(), file.identity().len));
        let mut trees = Vec::new();
        for tree in remade {
            // Readings of trees are compared with each other.
            let costs = if tree.was_ntuple || tree.is_ntuple {
                Vec::new()
            } else {
                reading_changes(from, to, &tree.path, &reader)?
            };
            trees.push((tree, costs));
        }
        Ok(Self { files, trees, reader })
    }

    /// The same, where the written file gets this name.
    pub(crate) fn named(mut self, name: impl Into<String>) -> Self {
        self.files[1].0 = name.into();
        self
    }

    /// As tables.
    pub(crate) fn words(&self, out: &mut dyn Write) -> Outcome {
        let mut rows = Vec::new();
        for (tree, _) in &self.trees {
            for note in &tree.notes {
                writeln!(out, "{}: {note}", tree.path)?;
            }
            if let Some(reason) = &tree.kept {
                writeln!(out, "{}: its baskets were kept: {reason}", tree.path)?;
            }
            for (path, when, figures) in [(&*tree.path, "before", &tree.before), ("", "after", &tree.after)] {
                let Figures { entries, baskets, clusters, zip_bytes, tot_bytes } = *figures;
                let numbers = [entries, clusters, baskets, zip_bytes, tot_bytes].map(|number| number.to_string());
                rows.push([vec![path.to_owned(), when.to_owned()], numbers.to_vec()].concat());
            }
        }
        output::table(out, &["tree", "", "entries", "clusters", "baskets", "bytes", "uncompressed"], &rows)?;
        rows.clear();
        for (tree, costs) in &self.trees {
            for (index, compared) in costs.iter().enumerate() {
                let path = if index == 0 { tree.path.as_str() } else { "" };
                for (words, when, cost) in
                    [([path, compared.kind.as_str()], "before", compared.before), (["", ""], "after", compared.after)]
                {
                    let numbers = [cost.requests.to_string(), cost.bytes.to_string()];
                    let words = [words[0], words[1], when].map(str::to_owned);
                    rows.push([words.to_vec(), numbers.to_vec()].concat());
                }
            }
        }
        if !rows.is_empty() {
            writeln!(out)?;
            output::table(out, &["tree", "reading", "", "requests", "bytes"], &rows)?;
        }
        let unread: u64 = self.trees.iter().map(|(tree, _)| tree.unread).sum();
        if unread > 0 {
            writeln!(out, "\n{unread} baskets were moved and not looked into: --verify inflates them")?;
        }
        let [(_, before), (_, after)] = &self.files;
        Ok(writeln!(out, "\nfile: {before} bytes before, {after} after")?)
    }

    /// As JSON.
    pub(crate) fn document(&self) -> Value {
        let figures = |figures: &Figures| {
            json!({
                "entries": figures.entries, "num_baskets": figures.baskets, "num_clusters": figures.clusters,
                "zip_bytes": figures.zip_bytes, "tot_bytes": figures.tot_bytes,
            })
        };
        let reading = |compared: &ReadingChange| {
            json!({
                "reading": compared.kind.as_str(), "branches": compared.branches,
                "before": documents::cost(&compared.before, &self.reader),
                "after": documents::cost(&compared.after, &self.reader),
            })
        };
        let tree = |(tree, costs): &(Remade, Vec<ReadingChange>)| {
            json!({
                "tree": tree.path, "kept": tree.kept, "unread": tree.unread, "notes": tree.notes,
                "reordered": tree.reordered,
                "before": figures(&tree.before), "after": figures(&tree.after),
                "readings": costs.iter().map(reading).collect::<Vec<_>>(),
            })
        };
        let [before, after] = self.files.each_ref().map(|(name, bytes)| json!({ "file": name, "bytes": bytes }));
        json!({ "before": before, "after": after, "trees": self.trees.iter().map(tree).collect::<Vec<_>>() })
    }
}
