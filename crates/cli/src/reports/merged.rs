//! What a merge did, in words and as JSON.

use std::io::Write;
use std::path::Path;

use sapwood::merge::{Merged, MergedTree};
use sapwood_store::redact;
use serde_json::{Value, json};

use crate::output::{self, Outcome};

/// A merge that is done.
pub struct Report<'a> {
    /// The file that was written.
    pub output: &'a Path,
    /// What was done.
    pub merged: &'a Merged,
    /// Its checksum, where it was wanted.
    pub adler32: Option<u32>,
}

impl Report<'_> {
    /// As a table and a sentence; with rates where they are wanted.
    pub(crate) fn words(&self, out: &mut dyn Write, with_rates: bool) -> Outcome {
        let merged = self.merged;
        let mut rows = Vec::new();
        for tree in &merged.trees {
            let MergedTree { figures, .. } = tree;
            let numbers = [tree.inputs as u64, figures.entries, figures.clusters, figures.baskets, figures.zip_bytes];
            let numbers = numbers.map(|number| number.to_string());
            rows.push([vec![tree.path.clone(), tree.level.as_str().to_owned()], numbers.to_vec()].concat());
        }
        if !rows.is_empty() {
            output::table(out, &["tree", "level", "inputs", "entries", "clusters", "baskets", "bytes"], &rows)?;
        }
        if with_rates {
            for tree in &merged.trees {
                for (what, (baskets, bytes)) in [
                    ("copied", tree.copied),
                    ("recompressed", tree.recompressed),
                    ("re-encoded", tree.reencoded),
                    ("embedded", tree.embedded),
                ] {
                    if baskets > 0 {
                        writeln!(out, "{}: {baskets} baskets {what}, {bytes} bytes", tree.path)?;
                    }
                }
            }
            let seconds = merged.took.as_secs_f64();
            let rate = merged.output_bytes as f64 / 1e6 / seconds.max(1e-9);
            writeln!(out, "{seconds:.3} s, {rate:.0} MB/s, {} reads of inputs", merged.requests)?;
        }
        let unread = merged.unread();
        if unread > 0 {
            writeln!(out, "{unread} baskets were copied and not looked into: --verify inflates them")?;
        }
        for notice in &merged.notices {
            writeln!(out, "{}", redact(notice))?;
        }
        for (_, error) in &merged.skipped {
            writeln!(out, "left out: {error}")?;
        }
        let objects = if merged.objects > 0 { format!(", {} other objects", merged.objects) } else { String::new() };
        let skipped = match merged.skipped.len() {
            0 => String::new(),
            count => format!(", {count} left out"),
        };
        let (inputs, bytes) = (merged.inputs, merged.output_bytes);
        writeln!(out, "{inputs} inputs{skipped}{objects}: {bytes} bytes in {}", self.output.display())?;
        if let Some(adler32) = self.adler32 {
            writeln!(out, "adler32 {adler32:08x}")?;
        }
        Ok(())
    }

    /// As JSON.
    ///
    /// # Example
    ///
    /// ```
    /// let merged = sapwood::merge::Merged::default();
    /// use sapwood_cli::reports::merged::Report;
    /// let report = Report { output: "all.root".as_ref(), merged: &merged, adler32: None };
    /// assert_eq!(report.document()["inputs"], 0);
    /// ```
    pub fn document(&self) -> Value {
        let merged = self.merged;
        let part = |(baskets, bytes): (u64, u64)| json!({ "num_baskets": baskets, "bytes": bytes });
        let tree = |tree: &MergedTree| {
            json!({
                "tree": tree.path, "level": tree.level.as_str(), "inputs": tree.inputs, "entries": tree.figures.entries,
                "num_clusters": tree.figures.clusters, "num_baskets": tree.figures.baskets,
                "zip_bytes": tree.figures.zip_bytes, "tot_bytes": tree.figures.tot_bytes, "copied": part(tree.copied),
                "recompressed": part(tree.recompressed), "reencoded": part(tree.reencoded),
                "embedded": part(tree.embedded),
            })
        };
        let skipped =
            |(name, error): &(String, sapwood::Error)| json!({ "input": redact(name), "why": error.to_string() });
        let notices: Vec<_> = merged.notices.iter().map(|notice| redact(notice)).collect();
        json!({
            "output": self.output.to_string_lossy(), "bytes": merged.output_bytes, "inputs": merged.inputs,
            "input_bytes": merged.input_bytes, "requests": merged.requests, "seconds": merged.took.as_secs_f64(),
            "adler32": self.adler32.map(|sum| format!("{sum:08x}")), "objects": merged.objects,
            "trees": merged.trees.iter().map(tree).collect::<Vec<_>>(),
            "unread": merged.unread(),
            "skipped": merged.skipped.iter().map(skipped).collect::<Vec<_>>(), "notices": notices,
        })
    }
}
