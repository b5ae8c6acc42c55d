//! A diagnosis in words, and the commands that mend a file.

use std::io::Write;

use sapwood::inspect::doctor::{Diagnosis, TreeDiagnosis};
use sapwood::inspect::io_cost::{Cost, Reader};
use sapwood::inspect::{CutAdvice, Issue, IssueKind};

use crate::output::{self, Outcome};
use crate::reports::shell::{quoted, target};

/// A diagnosis in plain words, and the commands that mend the file.
pub(crate) fn words(path: &str, diagnosis: &Diagnosis, reader: &Reader, out: &mut dyn Write) -> Outcome {
    for issue in &diagnosis.issues {
        writeln!(out, "- {}", issue.message)?;
    }
    for tree in &diagnosis.trees {
        writeln!(out, "{}: {} entries, {} bytes", tree.path, tree.layout.entries, tree.layout.zip_bytes())?;
        for issue in &tree.issues {
            writeln!(out, "- {}", issue.message)?;
        }
        let rows: Vec<Vec<String>> = tree
            .readings
            .iter()
            .flat_map(|reading| {
                let kind = reading.kind.as_str();
                [row(kind, &reading.now, reader), row("  in a good layout", &reading.good, reader)]
            })
            .collect();
        output::table(out, &["reading", "requests", "backward", "bytes", "wanted", "seconds"], &rows)?;
        let columns = tree.readings.iter().find(|reading| !reading.branches.is_empty());
        if let Some(reading) = columns {
            writeln!(out, "three columns: {}", reading.branches.join(", "))?;
        }
        cuts(path, tree, out)?;
        writeln!(out)?;
    }
    let lines = rewrites(path, diagnosis);
    if lines.is_empty() {
        let words = if diagnosis.is_healthy() { "nothing to fix" } else { "nothing that a rewrite would fix" };
        writeln!(out, "{words}")?;
    }
    for line in lines {
        writeln!(out, "{line}")?;
    }
    Ok(())
}

/// Prints what cuts skip, and the command that sorts by the column that gains most.
fn cuts(path: &str, tree: &TreeDiagnosis, out: &mut dyn Write) -> Outcome {
    /// Wide trees have thousands of columns.
    const MAX_ROWS: usize = 10;
    let Some(best) = tree.cuts.first() else { return Ok(()) };
    let row = |cut: &CutAdvice| {
        let numbers = [cut.runs, cut.skipped, cut.skipped_if_sorted].map(|number| number.to_string());
        let [runs, skipped, sorted] = numbers;
        vec![cut.column.clone(), format!("{:.3}", cut.part), runs, skipped, sorted]
    };
    let rows: Vec<Vec<String>> = tree.cuts.iter().take(MAX_ROWS).map(row).collect();
    output::table(out, &["cut that keeps 1 %", "range of a basket", "baskets", "skipped", "if sorted"], &rows)?;
    if tree.cuts.len() > MAX_ROWS {
        writeln!(out, "and {} columns that gain less", tree.cuts.len() - MAX_ROWS)?;
    }
    let useful = tree.cuts.iter().filter(|cut| cut.is_useful).count();
    writeln!(out, "statistics help cuts on {useful} of {} columns", tree.cuts.len())?;
    if best.gain() > 0 {
        let path = &*sapwood_store::redact(path);
        let names = [path, &target(path, "sorted"), &tree.path, &best.column].map(quoted);
        let [path, to, tree, column] = names;
        writeln!(out, "sapwood rewrite {path} {to} --tree {tree} --sort-by {column} --statistics")?;
    }
    Ok(())
}

fn row(name: &str, cost: &Cost, reader: &Reader) -> Vec<String> {
    vec![
        name.to_owned(),
        cost.requests.to_string(),
        cost.backward.to_string(),
        cost.bytes.to_string(),
        cost.wanted_bytes.to_string(),
        format!("{:.3}", cost.seconds(reader)),
    ]
}

/// The commands that mend a file: one for each tree that needs options of its own, or one that copies.
pub(crate) fn rewrites(path: &str, diagnosis: &Diagnosis) -> Vec<String> {
    // What proves who asks is for its user to add.
    let path = &*sapwood_store::redact(path);
    let line = |tree: &TreeDiagnosis| {
        let name = format!("--tree {} ", quoted(&tree.path));
        let name = if diagnosis.trees.len() > 1 { name } else { String::new() };
        format!("sapwood rewrite {} {} {name}{}", quoted(path), quoted(&target(path, "mended")), tree.options.join(" "))
    };
    let lines: Vec<String> = diagnosis.trees.iter().filter(|tree| !tree.options.is_empty()).map(line).collect();
    let copies = |issue: &Issue| matches!(issue.kind, IssueKind::NeverClosed | IssueKind::UnusedSpace);
    if lines.is_empty() && diagnosis.issues.iter().any(copies) {
        return vec![format!("sapwood rewrite {} {}", quoted(path), quoted(&target(path, "mended")))];
    }
    lines
}
