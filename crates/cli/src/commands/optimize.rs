//! `sapwood optimize`: which sizes the baskets of a tree should have.

use std::io::Write;

use sapwood::inspect::optimize::{MAX_MEMORY, MIN_COMPRESSION, Sizing, optimize_baskets};
use sapwood::table::Table;
use sapwood::{Error, ErrorKind};

use crate::output::{self, Outcome};
use crate::remote::Remote;
use crate::reports::documents;
use crate::source::table;

/// Show sizes of baskets: as they are, as ROOT's `TTree::OptimizeBaskets` would set them, and as `sapwood rewrite`
/// writes them, with what a full read of each costs.
///
/// Only metadata are read, and nothing is written. The last column keeps the clusters of the file, with one basket of
/// each branch, or several of up to 512 KiB. `sapwood rewrite` also chooses larger clusters, unless `--cluster-entries`
/// is given.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  sapwood optimize events.root:Events\n  sapwood rewrite events.root better.root")]
pub(crate) struct Arguments {
    /// FILE:TREE, or FILE for its only tree.
    target: String,
    /// Memory for all baskets, which ROOT's choice keeps to.
    #[arg(long, default_value_t = MAX_MEMORY)]
    max_memory: u64,
    /// The compression factor below which ROOT's choice compresses no more.
    #[arg(long, default_value_t = MIN_COMPRESSION)]
    min_compression: f32,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    pub(crate) remote: Remote,
}

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> Outcome {
    let (path, name) = output::split(&arguments.target);
    let file = output::open(path, 1, &arguments.remote)?;
    let Table::Tree(tree) = table(&file, name)? else {
        let words = "an RNTuple has pages, whose sizes `sapwood rewrite` chooses: baskets are those of a tree";
        return Err(Error::new(ErrorKind::Mismatch, words).in_file(path).into());
    };
    let sizes = optimize_baskets(&tree, arguments.max_memory, arguments.min_compression);
    if arguments.json {
        return output::json(out, &documents::optimization(&sizes));
    }
    let resets = |reset: bool| if reset { " (not compressed)" } else { "" };
    let rows: Vec<Vec<String>> = sizes
        .branches
        .iter()
        .map(|branch| {
            let root = format!("{}{}", branch.root.basket_bytes, resets(branch.root.resets_compression));
            vec![branch.path.clone(), branch.now.to_string(), root, branch.ours.to_string()]
        })
        .collect();
    output::table(out, &["branch", "now", "ROOT", "rewrite"], &rows)?;
    let row = |name: &str, of: &dyn Fn(&Sizing) -> u64| {
        let all = [&sizes.now, &sizes.root, &sizes.ours].map(|sizing| of(sizing).to_string());
        [name.to_owned()].into_iter().chain(all).collect::<Vec<_>>()
    };
    let figures = [
        row("requests of a full read", &|sizing| sizing.full.requests),
        row("baskets", &|sizing| sizing.full.baskets),
        row("bytes of keys", &|sizing| sizing.overhead_bytes),
        row("memory of its writer", &|sizing| sizing.memory_bytes),
    ];
    writeln!(out)?;
    output::table(out, &["", "now", "ROOT", "rewrite"], &figures)?;
    Ok(())
}
