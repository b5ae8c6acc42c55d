//! `sapwood layout`: the places of the baskets of a tree, or of the pages of an RNTuple.

use std::io::Write;
use std::path::PathBuf;

use sapwood::inspect::layout::{BranchLayout, ClusterLayout, Layout};
use sapwood::inspect::picture::Picture;
use sapwood::table::Table;

use crate::output::{self, Outcome};
use crate::remote::Remote;
use crate::reports::documents;
use crate::source::table;

/// Show the baskets and clusters of a tree, or the pages and clusters of an RNTuple, as tables or as a picture.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  sapwood layout events.root:Events\n  sapwood layout events.root --svg layout.svg\n\n\
                  In pictures entries go to the right and offsets in the file downwards; each branch has a colour, and \
                  grey lines show where clusters begin."
)]
pub(crate) struct Arguments {
    /// FILE:TREE, or FILE for its only tree or RNTuple.
    target: String,
    /// Write a picture as SVG to this file.
    #[arg(long, value_name = "OUT")]
    svg: Option<PathBuf>,
    /// Write a picture as PNG, without words, to this file.
    #[arg(long, value_name = "OUT")]
    png: Option<PathBuf>,
    /// How many clusters to show.
    #[arg(long, default_value_t = 50)]
    clusters: usize,
    /// Print JSON, with all clusters.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    pub(crate) remote: Remote,
}

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> Outcome {
    let (path, name) = output::split(&arguments.target);
    let file = output::open(path, 1, &arguments.remote)?;
    let table = table(&file, name)?;
    let layout = Layout::of(&table)?;
    let is_ntuple = matches!(table, Table::NTuple(_));
    if arguments.svg.is_some() || arguments.png.is_some() {
        let picture = Picture::of(&layout);
        if let Some(path) = &arguments.svg {
            std::fs::write(path, picture.to_svg())?;
        }
        if let Some(path) = &arguments.png {
            std::fs::write(path, picture.to_png()?)?;
        }
    }
    if arguments.json {
        return output::json(out, &documents::layout(&layout));
    }
    let columns = layout.branches.len();
    let words =
        if is_ntuple { format!("pages of {columns} columns") } else { format!("baskets of {columns} branches") };
    writeln!(
        out,
        "{};{}: {} entries, {} {}, {} bytes, {} before compression",
        layout.tree,
        layout.cycle,
        layout.entries,
        layout.baskets.len(),
        words,
        layout.zip_bytes(),
        layout.tot_bytes()
    )?;
    writeln!(out)?;
    let rows: Vec<Vec<String>> = layout.branches.iter().map(branch_row).collect();
    let head = [
        "branch",
        "class",
        "type",
        "entries",
        "baskets",
        "embedded",
        "bytes",
        "before",
        "min",
        "median",
        "max",
        "a cluster",
        "spanning",
    ];
    output::table(out, &head, &rows)?;
    writeln!(out)?;
    if !layout.has_clusters {
        writeln!(out, "The tree does not say where its clusters are: all of it counts as one.")?;
    }
    let rows: Vec<Vec<String>> = layout.clusters.iter().take(arguments.clusters).map(cluster_row).collect();
    output::table(out, &["entries", "baskets", "bytes", "from", "to", "contiguous"], &rows)?;
    if let Some(more) = layout.clusters.len().checked_sub(arguments.clusters).filter(|&more| more > 0) {
        writeln!(out, "and {more} clusters more")?;
    }
    Ok(())
}

fn branch_row(branch: &BranchLayout) -> Vec<String> {
    vec![
        branch.path.clone(),
        branch.class.clone(),
        branch.type_name.clone().unwrap_or_else(|| "?".into()),
        branch.entries.to_string(),
        branch.baskets.to_string(),
        branch.embedded.to_string(),
        branch.zip_bytes.to_string(),
        branch.tot_bytes.to_string(),
        branch.min_bytes.to_string(),
        branch.median_bytes.to_string(),
        branch.max_bytes.to_string(),
        format!("{:.2}", branch.per_cluster),
        branch.spanning.to_string(),
    ]
}

fn cluster_row(cluster: &ClusterLayout) -> Vec<String> {
    vec![
        format!("{}..{}", cluster.entries.start, cluster.entries.end),
        cluster.baskets.to_string(),
        cluster.bytes.to_string(),
        cluster.span.start.to_string(),
        cluster.span.end.to_string(),
        format!("{:.3}", cluster.contiguity()),
    ]
}
