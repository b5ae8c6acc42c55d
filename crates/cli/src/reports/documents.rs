//! What the commands that inspect files find, as JSON documents.

use sapwood::codec::Compression;
use sapwood::inspect::compression::{Advice, BranchStudy, Study, Transformations, Trial};
use sapwood::inspect::doctor::{Diagnosis, Reading, TreeDiagnosis};
use sapwood::inspect::io_cost::{Cost, Reader};
use sapwood::inspect::layout::{BranchLayout, ClusterLayout, Extent, Layout};
use sapwood::inspect::optimize::{BranchSizes, Optimization, Sizing};
use sapwood::inspect::perf::{Compared, PerfStats, Read, compare};
use sapwood::inspect::verify::{Finding, Report};
use sapwood::inspect::{CutAdvice, Issue};
use sapwood_store::redact;
use serde_json::{Map, Value, json};

use crate::output;
use crate::reports;

/// A layout as JSON. Each basket: first entry, one past the last, offset, stored bytes.
///
/// # Example
///
/// ```
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../core/tests/data/plain.root");
/// let file = sapwood::File::open(path)?;
/// let layout = sapwood::inspect::layout::Layout::of(file.table("t")?)?;
/// println!("{}", sapwood_cli::reports::documents::layout(&layout)["clusters"]);
/// # Ok::<(), sapwood::Error>(())
/// ```
pub fn layout(layout: &Layout) -> Value {
    let branch = |(place, branch): (usize, &BranchLayout)| {
        let extent = |basket: &Extent| json!([basket.entries.start, basket.entries.end, basket.at, basket.bytes]);
        json!({
            "path": branch.path, "class": branch.class, "type": branch.type_name, "entries": branch.entries,
            "num_baskets": branch.baskets, "embedded": branch.embedded, "zip_bytes": branch.zip_bytes,
            "tot_bytes": branch.tot_bytes, "min_bytes": branch.min_bytes, "median_bytes": branch.median_bytes,
            "max_bytes": branch.max_bytes, "baskets_per_cluster": branch.per_cluster, "spanning": branch.spanning,
            "baskets": layout.baskets_of(place).iter().map(extent).collect::<Vec<_>>(),
        })
    };
    let cluster = |cluster: &ClusterLayout| {
        json!({
            "entries": [cluster.entries.start, cluster.entries.end], "num_baskets": cluster.baskets,
            "zip_bytes": cluster.bytes, "span": [cluster.span.start, cluster.span.end],
            "contiguity": cluster.contiguity(),
        })
    };
    json!({
        "tree": layout.tree, "cycle": layout.cycle, "entries": layout.entries, "file_bytes": layout.file_bytes,
        "zip_bytes": layout.zip_bytes(), "tot_bytes": layout.tot_bytes(), "has_clusters": layout.has_clusters,
        "branches": layout.branches.iter().enumerate().map(branch).collect::<Vec<_>>(),
        "clusters": layout.clusters.iter().map(cluster).collect::<Vec<_>>(),
    })
}

/// What reading a tree cost, as JSON.
///
/// # Example
///
/// ```
/// let document = sapwood_cli::reports::documents::perf(&sapwood::inspect::perf::PerfStats::default());
/// assert_eq!(document["figures"]["ReadCalls"]["value"], 0.0);
/// ```
pub fn perf(report: &PerfStats) -> Value {
    let figure = |(name, value, unit): (&str, f64, &str)| (name.to_owned(), json!({ "value": value, "unit": unit }));
    let read = |read: &Read| json!([read.entry, read.range.start, read.range.end, read.at, read.took, read.used_bytes]);
    json!({
        "title": report.title, "host": report.host,
        "figures": report.figures().into_iter().map(figure).collect::<Map<_, _>>(),
        "reads": report.reads.iter().map(read).collect::<Vec<_>>(),
    })
}

/// Two runs as JSON: the figures of both, and the ranges that each read.
///
/// # Example
///
/// ```
/// use sapwood::inspect::perf::PerfStats;
/// let (before, after) = (PerfStats { calls: 4, ..Default::default() }, PerfStats { calls: 1, ..Default::default() });
/// let document = sapwood_cli::reports::documents::compared(&before, &after);
/// assert_eq!(document["figures"]["ReadCalls"]["ratio"], 0.25);
/// ```
pub fn compared(before: &PerfStats, after: &PerfStats) -> Value {
    let figure = |figure: Compared| {
        let value = json!({
            "before": figure.before, "after": figure.after, "ratio": figure.ratio(), "unit": figure.unit,
        });
        (figure.name.to_owned(), value)
    };
    json!({
        "figures": compare(before, after).into_iter().map(figure).collect::<Map<_, _>>(),
        "before": perf(before), "after": perf(after),
    })
}

/// Two runs side by side as a table, as `sapwood perf --against` prints it.
///
/// # Example
///
/// ```
/// use sapwood::inspect::perf::PerfStats;
/// let table = sapwood_cli::reports::documents::compared_words(&PerfStats::default(), &PerfStats::default());
/// assert!(table.contains("ReadCalls"));
/// ```
pub fn compared_words(before: &PerfStats, after: &PerfStats) -> String {
    let mut out = Vec::new();
    // Writing to memory cannot fail.
    let _ = reports::perf::words(before, after, &mut out);
    String::from_utf8_lossy(&out).into_owned()
}

/// A diagnosis as JSON.
///
/// # Example
///
/// ```
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../core/tests/data/plain.root");
/// use sapwood::inspect::{doctor::diagnose, io_cost::Reader};
/// let reader = Reader::default();
/// let diagnosis = diagnose(&sapwood::File::open(path)?, None, &reader)?;
/// println!("{}", sapwood_cli::reports::documents::doctor(path, &diagnosis, &reader)["rewrite"]);
/// # Ok::<(), sapwood::Error>(())
/// ```
pub fn doctor(path: &str, diagnosis: &Diagnosis, reader: &Reader) -> Value {
    let issue = |issue: &Issue| json!({ "kind": issue.kind.as_str(), "message": issue.message });
    let cost = |found: &Cost| cost(found, reader);
    let cut = |cut: &CutAdvice| {
        json!({
            "column": cut.column, "runs": cut.runs, "part": cut.part, "useful": cut.is_useful, "skipped": cut.skipped,
            "skipped_if_sorted": cut.skipped_if_sorted,
        })
    };
    let tree = |tree: &TreeDiagnosis| {
        let reading = |reading: &Reading| {
            json!({
                "reading": reading.kind.as_str(), "branches": reading.branches, "now": cost(&reading.now),
                "good": cost(&reading.good),
            })
        };
        json!({
            "tree": tree.path, "entries": tree.layout.entries, "zip_bytes": tree.layout.zip_bytes(),
            "issues": tree.issues.iter().map(issue).collect::<Vec<_>>(),
            "readings": tree.readings.iter().map(reading).collect::<Vec<_>>(), "options": tree.options,
            "cuts": tree.cuts.iter().map(cut).collect::<Vec<_>>(),
        })
    };
    json!({
        "file": &*redact(path), "healthy": diagnosis.is_healthy(),
        "issues": diagnosis.issues.iter().map(issue).collect::<Vec<_>>(),
        "trees": diagnosis.trees.iter().map(tree).collect::<Vec<_>>(),
        "rewrite": reports::doctor::rewrites(path, diagnosis),
    })
}

/// A study of compression as JSON, with what it recommends.
///
/// # Example
///
/// ```
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../core/tests/data/plain.root");
/// use sapwood::inspect::compression::{Goal, Study, StudyOptions};
/// let study = Study::of(&sapwood::File::open(path)?, None, &StudyOptions::default())?;
/// let advice = [study.advise(Goal::Archive)?];
/// println!("{}", sapwood_cli::reports::documents::compression(path, &study, &advice)["advice"][0]["rewrite"]);
/// # Ok::<(), sapwood::Error>(())
/// ```
pub fn compression(path: &str, study: &Study, advice: &[Advice]) -> Value {
    let trial = |found: Trial| {
        json!({
            "bytes": found.bytes, "write_seconds": output::number(found.write_seconds),
            "read_seconds": output::number(found.read_seconds),
        })
    };
    let all = |of: &dyn Fn(Compression, usize) -> Option<Trial>| -> Vec<Value> {
        let settings = |&basket_bytes: &usize| study.settings.iter().map(move |&setting| (setting, basket_bytes));
        let tried = study.basket_bytes.iter().flat_map(settings);
        tried
            .filter_map(|(setting, basket_bytes)| {
                let mut row = trial(of(setting, basket_bytes)?);
                row["setting"] = json!(setting.to_string());
                row["basket_bytes"] = json!(basket_bytes);
                Some(row)
            })
            .collect()
    };
    let branch = |branch: &BranchStudy| {
        json!({
            "path": branch.path, "zip_bytes": branch.stored_bytes, "tot_bytes": branch.bytes,
            "trials": all(&|setting, bytes| study.branch_with(&branch.path, setting, bytes)),
        })
    };
    let one = |advice: &Advice| {
        let general = advice.compression.general().map(|general| ("*", general));
        let settings = general.into_iter().chain(advice.compression.patterns());
        let single = advice.single.map(|(setting, found)| {
            let mut row = trial(found);
            row["setting"] = json!(setting.to_string());
            row
        });
        json!({
            "goal": advice.goal.to_string(),
            "basket_bytes": advice.basket_bytes,
            "random_access": advice.random_access.map(|blocks| blocks.to_string()),
            "compression": settings.map(|(name, how)| (name.to_owned(), json!(how.to_string()))).collect::<Map<_, _>>(),
            "total": trial(advice.trial),
            "entry_seconds": advice.entry_seconds.map(output::number), "one_setting": single,
            "rewrite": reports::compression::line(path, study, advice),
        })
    };
    let transformations = match study.transformations {
        Transformations::None => Value::Null,
        Transformations::Split { bytes, plain_bytes } => json!({ "bytes": bytes, "plain_bytes": plain_bytes }),
    };
    json!({
        "file": &*redact(path), "tree": study.path, "is_rntuple": study.is_ntuple, "entries": study.entries,
        "sampled_entries": study.sampled_entries, "zip_bytes": study.stored_bytes(), "tot_bytes": study.bytes(),
        "basket_bytes": study.basket_bytes, "usual_basket_bytes": study.usual_basket_bytes, "embedded": study.embedded,
        "kept": study.kept,
        "split_encodings": transformations, "trials": all(&|setting, bytes| study.with(setting, bytes)),
        "branches": study.branches.iter().map(branch).collect::<Vec<_>>(),
        "advice": advice.iter().map(one).collect::<Vec<_>>(),
    })
}

/// A study in plain words, as `sapwood compression` prints it, with so many branches.
///
/// # Example
///
/// ```
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../core/tests/data/plain.root");
/// use sapwood::inspect::compression::{Goal, Study, StudyOptions};
/// let study = Study::of(&sapwood::File::open(path)?, None, &StudyOptions::default())?;
/// let advice = [study.advise(Goal::Archive)?];
/// assert!(sapwood_cli::reports::documents::compression_words(path, &study, &advice, 20).contains("sapwood rewrite"));
/// # Ok::<(), sapwood::Error>(())
/// ```
pub fn compression_words(path: &str, study: &Study, advice: &[Advice], branches: usize) -> String {
    let mut out = Vec::new();
    // Writing to memory cannot fail.
    let _ = reports::compression::words(path, study, advice, branches, &mut out);
    String::from_utf8_lossy(&out).into_owned()
}

/// What a reading costs.
pub(crate) fn cost(cost: &Cost, reader: &Reader) -> Value {
    json!({
        "requests": cost.requests, "windows": cost.windows, "backward": cost.backward, "bytes": cost.bytes,
        "baskets": cost.baskets,
        "wanted_bytes": cost.wanted_bytes, "seconds": output::number(cost.seconds(reader)),
    })
}

/// A diagnosis in plain words, as `sapwood doctor` prints it.
///
/// # Example
///
/// ```
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../core/tests/data/plain.root");
/// use sapwood::inspect::{doctor::diagnose, io_cost::Reader};
/// let reader = Reader::default();
/// let diagnosis = diagnose(&sapwood::File::open(path)?, None, &reader)?;
/// print!("{}", sapwood_cli::reports::documents::doctor_words(path, &diagnosis, &reader));
/// # Ok::<(), sapwood::Error>(())
/// ```
pub fn doctor_words(path: &str, diagnosis: &Diagnosis, reader: &Reader) -> String {
    let mut out = Vec::new();
    // Writing to memory cannot fail.
    let _ = reports::doctor::words(path, diagnosis, reader, &mut out);
    String::from_utf8_lossy(&out).into_owned()
}

/// A report as JSON.
///
/// # Example
///
/// ```
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../core/tests/data/plain.root");
/// let report = sapwood::inspect::verify::verify(path, Default::default())?;
/// println!("{}", sapwood_cli::reports::documents::verify(path, &report)["findings"]);
/// # Ok::<(), sapwood::Error>(())
/// ```
pub fn verify(path: &str, report: &Report) -> Value {
    let row = |finding: &Finding| {
        json!({
            "severity": finding.severity.as_str(), "message": finding.message, "object": finding.object,
            "basket": finding.basket, "offset": finding.offset, "expected": finding.expected, "found": finding.found,
        })
    };
    json!({
        "file": &*redact(path), "damaged": report.is_damaged(),
        "findings": report.findings.iter().map(row).collect::<Vec<_>>(),
        "left_out": report.left_out, "records": report.records, "gaps": report.gaps, "gap_bytes": report.gap_bytes,
        "payloads": report.payloads, "inflated_bytes": report.inflated_bytes, "baskets": report.baskets,
        "trees": report.trees, "pages": report.pages, "ntuples": report.ntuples,
    })
}

/// Sizes of baskets as JSON: as they are, as ROOT would choose them, and as they follow from each cluster's rows.
///
/// # Example
///
/// ```
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../core/tests/data/plain.root");
/// use sapwood::inspect::optimize::{MAX_MEMORY, MIN_COMPRESSION, optimize_baskets};
/// let tree = sapwood::File::open(path)?.tree("t")?;
/// let sizes = optimize_baskets(&tree, MAX_MEMORY, MIN_COMPRESSION);
/// println!("{}", sapwood_cli::reports::documents::optimization(&sizes)["ours"]);
/// # Ok::<(), sapwood::Error>(())
/// ```
pub fn optimization(sizes: &Optimization) -> Value {
    let branch = |branch: &BranchSizes| {
        json!({
            "path": branch.path, "now": branch.now, "root": branch.root.basket_bytes, "ours": branch.ours,
            "root_resets_compression": branch.root.resets_compression,
        })
    };
    let sizing = |sizing: &Sizing| {
        json!({
            "requests": sizing.full.requests, "bytes": sizing.full.bytes, "baskets": sizing.full.baskets,
            "backward": sizing.full.backward, "overhead_bytes": sizing.overhead_bytes,
            "memory_bytes": sizing.memory_bytes,
        })
    };
    json!({
        "branches": sizes.branches.iter().map(branch).collect::<Vec<_>>(), "now": sizing(&sizes.now),
        "root": sizing(&sizes.root), "ours": sizing(&sizes.ours),
    })
}
