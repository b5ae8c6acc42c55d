//! `sapwood rewrite`: a file written again, in a better layout.

use std::collections::HashMap;
use std::io::Write;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sapwood::codec::{CompressionByName, RandomAccess, is_like};
use sapwood::inspect::io_cost::Reader;
use sapwood::query::{LumiMask, Query, Source};
use sapwood::write::{
    Baskets, FileWriter, Format, NTupleOptions, Order, Remade, Remake, SortBy, TreeOptions, Unsupported, WriteOptions,
};
use sapwood::{Error, ErrorKind, File, KeyPath, Session};

use crate::bar;
use crate::clusters::clusters;
use crate::output::{self, Outcome};
use crate::remote::Remote;
use crate::reports::rewritten::Rewritten;
use crate::source::LumiMaskOption;
use crate::statistics;

/// Write a file again: trees and RNTuples in other clusters, baskets or pages, compression and order, with fewer
/// branches or entries; all else as it is.
///
/// Options about trees, branches and baskets apply to RNTuples, fields and pages, too.
///
/// The output has its name only once it is whole: with --force it may be the input, which stays as it is until then.
/// The report compares the cost of reading the trees before and after, as `sapwood doctor` plans it.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
                        sapwood rewrite old.root new.root\n  \
                        sapwood rewrite old.root small.root --tree events --keep 'Muon_*' --compression zstd:5\n  \
                        sapwood rewrite old.root mixed.root --compression zstd:5 --compression 'Muon_*=lz4:4'\n  \
                        sapwood rewrite old.root columns.root --order branch --baskets keep\n  \
                        sapwood rewrite old.root sorted.root --sort-by run,event --statistics\n  \
                        sapwood rewrite trees.root ntuples.root --to rntuple --compression zstd:5\n  \
                        sapwood rewrite old.root few.root --cut 'nMuon > 1'")]
pub(crate) struct Arguments {
    /// The file that is read.
    input: String,
    /// The file that is written, a path or a URL; there must be none of that name, unless --force is given.
    output: PathBuf,
    /// Only these trees are rewritten, and the others copied as they are; once for each.
    #[arg(long)]
    tree: Vec<String>,
    /// Compressed bytes of a cluster, like 30000000.
    #[arg(long, conflicts_with = "cluster_entries", value_parser = clap::value_parser!(u64).range(1..))]
    cluster_bytes: Option<u64>,
    /// Entries of a cluster.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    cluster_entries: Option<u64>,
    /// Bytes of a basket before compression, at most.
    #[arg(long)]
    basket_bytes: Option<usize>,
    /// Compression, like zstd:5, lz4:4, zlib:1, lzma:7, 505 as in ROOT, or none; by default that of each branch.
    /// PATTERN=SETTING is for branches whose names match; once for each.
    #[arg(long, value_name = "[PATTERN=]SETTING")]
    compression: Vec<String>,
    /// Compress baskets in blocks of N entries, each of which is read without the others; `auto` for the smallest
    /// blocks that do not make the file much larger.
    #[arg(long, value_name = "N|auto")]
    random_access: Option<RandomAccess>,
    /// Order of the baskets. `entry`: cluster after cluster; `branch`: branch after branch; `offset`: as they stand in
    /// the input, and kept. The default is `entry`, with `--baskets keep` it is `offset`.
    #[arg(long)]
    order: Option<Order>,
    /// `new`: entries go into new baskets; `keep`: baskets are moved as they are, and nothing is inflated.
    #[arg(long, value_parser = ["new", "keep"])]
    baskets: Option<String>,
    /// Inflate baskets that are kept: a damaged one is an error.
    #[arg(long)]
    verify: bool,
    /// Keep only top-level branches that match, `*`, `?` and `[a-z]` as in the shell; once for each pattern. A tree
    /// without such a branch keeps all of its.
    #[arg(long)]
    keep: Vec<String>,
    /// Leave out top-level branches that match; once for each pattern.
    #[arg(long)]
    drop: Vec<String>,
    /// Keep only the entries from A until before B, of each tree that has them.
    #[arg(long, value_name = "A:B")]
    entries: Option<String>,
    /// Keep only entries that pass an expression, like 'nMuon > 1'.
    #[arg(long, value_name = "EXPR")]
    cut: Option<String>,
    #[command(flatten)]
    mask: LumiMaskOption,
    /// Sort entries by columns of numbers, the first one first, like `run,event`; `-pt` sorts by falling numbers. Equal
    /// entries keep their order, and NaN comes last.
    #[arg(long, value_name = "COLUMN,...", value_delimiter = ',', allow_hyphen_values = true, conflicts_with = "to")]
    sort_by: Vec<String>,
    /// Bytes of memory that sorting may take, about. What does not fit is in a temporary file next to the output.
    #[arg(long, value_name = "BYTES", requires = "sort_by", value_parser = clap::value_parser!(u64).range(1..))]
    sort_memory: Option<u64>,
    /// Write the other format: `rntuple` writes trees as RNTuples, `ttree` writes RNTuples as trees.
    #[arg(long, value_name = "FORMAT", conflicts_with_all = ["baskets", "order"])]
    to: Option<Format>,
    /// Branches or fields that the other format cannot hold: `refuse` is an error, `drop` leaves them out.
    #[arg(long, default_value = "refuse", requires = "to")]
    unsupported: Unsupported,
    /// Make statistics of the new file, as `sapwood index` does. Without this, statistics of the old one are kept if no
    /// entry is left out and the order stays.
    #[arg(long)]
    statistics: bool,
    /// Replace an existing file.
    #[arg(short, long)]
    force: bool,
    /// Threads that inflate and compress; 0 for all cores.
    #[arg(short = 'j', long, default_value_t = 0)]
    threads: usize,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    pub(crate) remote: Remote,
}

impl Arguments {
    /// The baskets that are written, and their order.
    fn baskets(&self) -> Outcome<(Baskets, Order)> {
        let keep = match self.baskets.as_deref() {
            Some(word) => word == "keep",
            None => self.order == Some(Order::Offset),
        };
        if !keep {
            let wish = clusters(self.cluster_bytes, self.cluster_entries, self.basket_bytes);
            let options = TreeOptions { random_access: self.random_access, ..wish };
            return Ok((Baskets::New(options), self.order.unwrap_or_default()));
        }
        let given = [
            ("--cluster-bytes", self.cluster_bytes.is_some()),
            ("--cluster-entries", self.cluster_entries.is_some()),
            ("--basket-bytes", self.basket_bytes.is_some()),
            ("--compression", !self.compression.is_empty()),
            ("--random-access", self.random_access.is_some()),
            ("--entries", self.entries.is_some()),
            ("--cut", self.cut.is_some()),
            ("--lumi-mask", self.mask.is_given()),
            ("--sort-by", !self.sort_by.is_empty()),
        ];
        match given.iter().find(|(_, is_given)| *is_given) {
            Some((option, _)) => {
                Err(Error::mismatch(format!("baskets that are kept stay as they are: {option} takes new ones")).into())
            }
            None => Ok((Baskets::Keep, self.order.unwrap_or(Order::Offset))),
        }
    }

    /// How RNTuples are written.
    fn pages(&self) -> NTupleOptions {
        let usual = NTupleOptions::default();
        let cluster_bytes = self.cluster_bytes.and_then(|bytes| usize::try_from(bytes).ok());
        NTupleOptions {
            cluster_bytes: cluster_bytes.unwrap_or(usual.cluster_bytes),
            cluster_entries: self.cluster_entries,
            page_bytes: self.basket_bytes.unwrap_or(usual.page_bytes),
            ..usual
        }
    }

    /// The top-level branches of a tree that are kept; none for all.
    fn branches(&self, tree: &str, top: &[Arc<str>]) -> sapwood::Result<Option<Vec<Arc<str>>>> {
        if self.keep.is_empty() && self.drop.is_empty() {
            return Ok(None);
        }
        let any = |patterns: &[String], name: &str| patterns.iter().any(|p| is_like(p, name));
        // Patterns that no branch is like are said of other trees.
        let keeps_all = !top.iter().any(|name| any(&self.keep, name));
        let is_kept = |name: &&Arc<str>| (keeps_all || any(&self.keep, name)) && !any(&self.drop, name);
        let kept: Vec<_> = top.iter().filter(is_kept).map(Arc::clone).collect();
        if kept.is_empty() && !top.is_empty() {
            let words = "no branch of it would be left: --tree names the trees that lose branches";
            return Err(Error::mismatch(words).in_object(tree));
        }
        Ok(Some(kept))
    }

    /// Notes branches that were to be dropped and stayed.
    fn note_what_stayed(&self, tree: &mut Remade) {
        for name in tree.also_kept.iter().filter(|name| self.drop.iter().any(|pattern| is_like(pattern, name))) {
            tree.notes.push(format!("{name} stays in spite of --drop, since what is kept needs it"));
        }
    }

    /// The order of entries; none to keep it. The temporary file is next to the output.
    fn sort(&self, output: &Path) -> Option<SortBy> {
        let sort = (!self.sort_by.is_empty()).then(|| SortBy::new(&self.sort_by))?;
        let memory_bytes = self.sort_memory.unwrap_or(sort.memory_bytes);
        Some(SortBy { memory_bytes, folder: output.parent().map(Path::to_owned), ..sort })
    }

    /// The entries of a tree that are kept; none for all.
    fn entries(
        &self,
        from: &File,
        found: &KeyPath,
        all: u64,
        mask: Option<&LumiMask>,
    ) -> Outcome<Option<Vec<Range<u64>>>> {
        let bounds = self.entries.as_deref().map(range).transpose()?;
        let within = bounds.clone().unwrap_or(0..u64::MAX);
        let within = within.start.min(all)..within.end.min(all);
        if self.cut.is_none() && mask.is_none() {
            return Ok(bounds.map(|_| vec![within]));
        }
        let source = match found.key.is_ntuple() {
            true => Source::from(&from.ntuple(&found.path)?),
            false => Source::from(&from.tree(&found.path)?),
        };
        let passing = || {
            let certified = match mask {
                Some(mask) => mask.passing(&source, within, LumiMaskOption::COLUMNS)?,
                None => within.try_into()?,
            };
            match &self.cut {
                Some(cut) => Query::new(source.clone()).cut(cut)?.passing(certified),
                None => Ok(certified),
            }
        };
        let passing = passing().map_err(|error: Error| match error.kind() {
            ErrorKind::NotFound => {
                let words = error.message();
                error.in_words(format!("{words}; --tree says which trees lose entries, the others are copied"))
            }
            _ => error,
        })?;
        Ok(Some(passing.ranges().collect()))
    }
}

fn range(text: &str) -> Outcome<Range<u64>> {
    let bounds = text.split_once(':').and_then(|(start, end)| {
        let start = if start.is_empty() { 0 } else { start.parse().ok()? };
        let end = if end.is_empty() { u64::MAX } else { end.parse().ok()? };
        Some(start..end)
    });
    Ok(bounds.filter(|range| range.start <= range.end).ok_or_else(|| {
        Error::mismatch(format!(
            "{text:?} is not a range of entries: write its first and its end, as in 100:200, :200 or 100:"
        ))
    })?)
}

/// Names of the top-level branches or fields, and entries.
fn contents(from: &File, found: &KeyPath) -> Outcome<(Vec<Arc<str>>, u64)> {
    if found.key.is_ntuple() {
        let ntuple = from.ntuple(&found.path)?;
        let top = ntuple.top().iter().filter_map(|&id| ntuple.fields().get(id));
        return Ok((top.map(|field| Arc::clone(&field.name)).collect(), ntuple.entries));
    }
    let tree = from.tree(&found.path)?;
    let top = tree.top().iter().filter_map(|&id| tree.branches().get(id));
    Ok((top.map(|branch| Arc::clone(&branch.name)).collect(), tree.entries))
}

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> Outcome {
    output::check_output(&arguments.output)?;
    statistics::check(&arguments.output, arguments.statistics)?;
    let session = Session::with_threads(arguments.threads);
    let from = output::open_in(&arguments.input, session.clone(), &arguments.remote)?;
    let (baskets, order) = arguments.baskets()?;
    let mask = arguments.mask.mask()?;
    let (mut branches, mut entries, mut known) = (HashMap::new(), HashMap::new(), Vec::new());
    let mut unused: Vec<&String> = arguments.keep.iter().chain(&arguments.drop).collect();
    for found in from.keys(true)? {
        let named =
            || arguments.tree.is_empty() || arguments.tree.iter().any(|tree| tree.trim_matches('/') == found.path);
        if !found.key.has_entries() || !named() || entries.contains_key(&found.path) {
            continue;
        }
        let (top, all) = contents(&from, &found)?;
        unused.retain(|pattern| !top.iter().any(|name| is_like(pattern, name)));
        known.extend(top.iter().cloned());
        if let Some(kept) = arguments.branches(&found.path, &top)? {
            branches.insert(found.path.clone(), kept);
        }
        if let Some(kept) = arguments.entries(&from, &found, all, mask.as_ref())? {
            entries.insert(found.path, kept);
        }
    }
    if let Some(pattern) = unused.first() {
        let error = Error::not_found(format!("no top-level branch is like {pattern:?}"));
        return Err(error.with_nearest(pattern, known.iter().map(|name| &**name)).into());
    }
    let trees = (!arguments.tree.is_empty()).then(|| arguments.tree.clone());
    let (to, unsupported, pages) = (arguments.to, arguments.unsupported, arguments.pages());
    let mut how = Remake { baskets, order, trees, branches, entries, to, unsupported, pages, ..Remake::default() };
    let compression = CompressionByName::parse(&arguments.compression)?;
    how.compress(&from, &compression)?;
    let staged = output::staged(&arguments.output, arguments.force, &arguments.remote)?;
    how.sort = arguments.sort(staged.path());
    let options = WriteOptions {
        session: session.clone(),
        compression: compression.general(),
        verify: arguments.verify,
        ..WriteOptions::default()
    };
    let writer = FileWriter::staged(&staged, options)?;
    let mut remade = bar::shown("rewrite", || writer.remake(&from, || File::open(staged.path()), &how))?;
    let is_reordered = remade.iter().any(|tree| tree.reordered);
    // Before it leaves this machine.
    remade.iter_mut().for_each(|tree| arguments.note_what_stayed(tree));
    let report = Rewritten::new(&from, &File::open(staged.path())?, remade, Reader::default())?;
    let report = report.named(output::shown(&arguments.output));
    bar::shown("upload", || staged.publish())?;
    if arguments.statistics {
        statistics::index(&arguments.output, &session)?;
    } else if !is_reordered {
        // As it was opened: its place may be that of the output.
        statistics::join(&arguments.output, [Ok(from)], &arguments.remote);
    }
    if arguments.json { output::json(out, &report.document()) } else { report.words(out) }
}
