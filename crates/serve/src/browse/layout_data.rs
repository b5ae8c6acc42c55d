//! What the layout view shows: where baskets are, clusters, what the doctor says, and runs that were recorded.

use std::collections::HashMap;

use sapwood::inspect::Issue;
use sapwood::inspect::doctor::{TreeDiagnosis, diagnose};
use sapwood::inspect::io_cost::Reader;
use sapwood::inspect::layout::{BranchLayout, Extent, Layout};
use sapwood::inspect::perf::PerfStats;
use sapwood::inspect::picture::Picture;
use sapwood::{Error, Result};
use serde_json::{Value, json};

use super::open_files::OpenFiles;
use super::page_query::PageQuery;
use super::reply::Done;

/// The most marks of one answer; baskets that fall together on a coarser grid become one.
const MOST_MARKS: usize = 20_000;
/// The most clusters of one answer.
const MOST_CLUSTERS: usize = 5_000;
/// The most branches of one answer: those with the most bytes.
const MOST_BRANCHES: usize = 2_000;
/// The most ranges of a run.
const MOST_READS: usize = 50_000;

/// What is shown: entries and offsets in the file, and how many points there are for each.
struct Window {
    entries: [u64; 2],
    offsets: [u64; 2],
    points: [u64; 2],
}

/// The picture of a layout, as `sapwood layout --svg` has it.
pub(super) fn picture(open_files: &OpenFiles, query: &PageQuery) -> Result<Done> {
    let layout = Layout::of(open_files.open(query.text("file"))?.table_of(query.text("path"))?)?;
    Ok(Done::Bytes(Picture::of(&layout).to_svg().into(), "image/svg+xml"))
}

/// The layout of a tree or RNTuple, all of it or a window; the first answer has what the doctor says as well.
pub(super) fn layout(open_files: &OpenFiles, query: &PageQuery) -> Result<Value> {
    let opened = open_files.open(query.text("file"))?;
    let path = query.text("path");
    opened.table_of(path)?;
    let reader = Reader::default();
    let found = diagnose(&opened.file, Some(path), &reader)?;
    let diagnosis = found.trees.first().ok_or_else(|| Error::internal("a tree has no diagnosis"))?;
    let layout = &diagnosis.layout;
    let window = Window {
        entries: [query.number("entry", 0)?, query.number("entry_end", layout.entries)?],
        offsets: [query.number("offset", 0)?, query.number("offset_end", layout.file_bytes)?],
        points: [query.number("width", 1_000)?, query.number("height", 640)?],
    };
    if [window.entries, window.offsets].iter().any(|[from, to]| from > to) {
        return Err(Error::mismatch("the window of a layout ends before it begins"));
    }
    let mut order: Vec<usize> = (0..layout.branches.len()).collect();
    order.sort_by_key(|&place| std::cmp::Reverse(layout.branches[place].zip_bytes));
    // The page knows branches by their rank.
    let mut rank = vec![0; order.len()];
    order.iter().enumerate().for_each(|(number, &place)| rank[place] = number);
    let (marks, is_exact) = marks(layout, &window);
    let column = |of: &dyn Fn(&Extent) -> u64| marks.iter().map(of).collect::<Vec<u64>>();
    let named: Vec<&BranchLayout> = order.iter().take(MOST_BRANCHES).map(|&place| &layout.branches[place]).collect();
    let clusters: Vec<_> = layout.clusters.iter().take(MOST_CLUSTERS).collect();
    Ok(json!({
        "state": opened.state, "tree": layout.tree, "entries": layout.entries, "file_bytes": layout.file_bytes,
        "zip_bytes": layout.zip_bytes(), "tot_bytes": layout.tot_bytes(), "has_clusters": layout.has_clusters,
        "num_baskets": layout.baskets.len(), "num_branches": layout.branches.len(),
        "num_clusters": layout.clusters.len(), "is_exact": is_exact,
        "marks": {
            "branch": column(&|mark| rank[mark.branch] as u64), "entry": column(&|mark| mark.entries.start),
            "entry_end": column(&|mark| mark.entries.end), "offset": column(&|mark| mark.at),
            "bytes": column(&|mark| mark.bytes),
        },
        "branches": {
            "path": named.iter().map(|branch| branch.path.as_str()).collect::<Vec<_>>(),
            "type": named.iter().map(|branch| branch.type_name.as_deref()).collect::<Vec<_>>(),
            "baskets": named.iter().map(|branch| branch.baskets).collect::<Vec<_>>(),
            "zip_bytes": named.iter().map(|branch| branch.zip_bytes).collect::<Vec<_>>(),
            "tot_bytes": named.iter().map(|branch| branch.tot_bytes).collect::<Vec<_>>(),
        },
        "clusters": {
            "entry": clusters.iter().map(|cluster| cluster.entries.start).collect::<Vec<_>>(),
            "bytes": clusters.iter().map(|cluster| cluster.bytes).collect::<Vec<_>>(),
            "offset": clusters.iter().map(|cluster| cluster.span.start).collect::<Vec<_>>(),
            "offset_end": clusters.iter().map(|cluster| cluster.span.end).collect::<Vec<_>>(),
        },
        "doctor": doctor(diagnosis, &found.issues, &reader),
    }))
}

fn doctor(diagnosis: &TreeDiagnosis, of_file: &[Issue], reader: &Reader) -> Value {
    let words = |issue: &Issue| json!({ "kind": issue.kind.as_str(), "message": issue.message });
    let readings = diagnosis.readings.iter().map(|reading| {
        json!({
            "reading": reading.kind.as_str(), "requests": [reading.now.requests, reading.good.requests],
            "seconds": [reading.now.seconds(reader), reading.good.seconds(reader)],
        })
    });
    json!({
        "issues": of_file.iter().chain(&diagnosis.issues).map(words).collect::<Vec<_>>(),
        "options": diagnosis.options, "readings": readings.collect::<Vec<_>>(),
    })
}

/// The baskets of a window, and whether each is one mark; else those that fall together are one, with the branch of the
/// largest.
fn marks(layout: &Layout, window: &Window) -> (Vec<Extent>, bool) {
    let [first, last] = window.entries;
    let [from, to] = window.offsets;
    let is_inside = |basket: &&Extent| {
        basket.entries.start < last
            && basket.entries.end > first
            && basket.at < to
            && basket.at.saturating_add(basket.bytes) > from
    };
    let inside: Vec<&Extent> = layout.baskets.iter().filter(is_inside).collect();
    if inside.len() <= MOST_MARKS {
        return (inside.into_iter().cloned().collect(), true);
    }
    let mut coarse = 1;
    loop {
        let cell = |value: u64, [from, to]: [u64; 2], points: u64| {
            let points = (points / coarse).max(1);
            u128::from(value.clamp(from, to) - from) * u128::from(points) / u128::from((to - from).max(1))
        };
        let mut cells: HashMap<[u128; 4], Extent> = HashMap::new();
        for basket in &inside {
            let place = [
                cell(basket.entries.start, window.entries, window.points[0]),
                cell(basket.entries.end, window.entries, window.points[0]),
                cell(basket.at, window.offsets, window.points[1]),
                cell(basket.at + basket.bytes, window.offsets, window.points[1]),
            ];
            cells
                .entry(place)
                .and_modify(|held| {
                    let end = (held.at + held.bytes).max(basket.at + basket.bytes);
                    if basket.bytes > held.bytes {
                        held.branch = basket.branch;
                    }
                    held.entries =
                        held.entries.start.min(basket.entries.start)..held.entries.end.max(basket.entries.end);
                    held.at = held.at.min(basket.at);
                    held.bytes = end - held.at;
                })
                .or_insert_with(|| (*basket).clone());
        }
        if cells.len() <= MOST_MARKS || coarse > 1_000 {
            let mut marks: Vec<Extent> = cells.into_values().collect();
            marks.sort_by_key(|mark| (mark.at, mark.branch));
            marks.truncate(MOST_MARKS);
            return (marks, false);
        }
        coarse *= 2;
    }
}

/// A run that was saved in a file.
pub(super) fn run(open_files: &OpenFiles, query: &PageQuery) -> Result<Value> {
    let opened = open_files.open(query.text("file"))?;
    let path = query.text("path");
    let run = PerfStats::load(&opened.file, Some(path).filter(|path| !path.is_empty()))?;
    Ok(json!({ "state": opened.state, "run": run_json(&run) }))
}

/// A run in columns: figures, and the ranges that were read.
pub(super) fn run_json(run: &PerfStats) -> Value {
    let figures: Vec<Value> = run.figures().into_iter().map(|(name, value, unit)| json!([name, value, unit])).collect();
    let reads: Vec<_> = run.reads.iter().take(MOST_READS).collect();
    json!({
        "title": run.title, "figures": figures, "num_reads": run.reads.len(),
        "reads": {
            "entry": reads.iter().map(|read| read.entry).collect::<Vec<_>>(),
            "offset": reads.iter().map(|read| read.range.start).collect::<Vec<_>>(),
            "offset_end": reads.iter().map(|read| read.range.end).collect::<Vec<_>>(),
            "at": reads.iter().map(|read| read.at).collect::<Vec<_>>(),
            "took": reads.iter().map(|read| read.took).collect::<Vec<_>>(),
            "used": reads.iter().map(|read| read.used_bytes).collect::<Vec<_>>(),
        },
    })
}
