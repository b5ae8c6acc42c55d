//! What reading a tree cost: the figures of `TTreePerfStats`, and those that it does not have.
//!
//! Source: `TTreePerfStats::Print`.

mod compared;
mod picture;
mod saved;

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::ops::Range;
use std::time::Duration;

use super::layout::Layout;
use crate::error::Result;
use crate::file::File;
use crate::io::ByteRange;
use crate::table::Table;
use crate::tree::TreeCache;
pub use compared::{Compared, compare};
pub use picture::PerfPicture;

/// What reading a tree cost (`TTreePerfStats`). Bytes are in units of one, times in seconds; [`figures`](Self::figures)
/// gives them as ROOT shows them.
///
/// # Example
///
/// ```
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/plain.root");
/// use sapwood::inspect::perf::PerfStats;
/// let tree = sapwood::File::open(path)?.tree("t")?;
/// tree.file().perf().start();
/// sapwood::read::columns(&tree, &[tree.branch("x")?.id], 0..tree.entries)?;
/// let report = PerfStats::of(&tree)?;
/// assert_eq!((report.leaves, report.calls), (1, 1));
/// println!("{report}");
/// # Ok::<(), sapwood::Error>(())
/// ```
///
/// ```
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/plain.root");
/// use sapwood::inspect::perf::PerfStats;
/// let tree = sapwood::File::open(path)?.tree("t")?;
/// assert!(PerfStats::of(&tree)?.figures().iter().any(|(name, _, _)| *name == "ReadCalls"));
/// assert!(PerfStats::find(tree.file(), None)?.is_none(), "no run was saved in this file");
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PerfStats {
    /// The file, and the tree in it: `events.root/Events`.
    pub title: String,
    /// The system and the program that read.
    pub host: String,
    /// Budget of the tree's cache.
    pub cache_bytes: u64,
    /// Branches whose baskets were used. Of a run of ROOT's, all leaves of the tree.
    pub leaves: usize,
    /// Bytes that were read of ranges with baskets of the tree, gaps included.
    pub read_bytes: u64,
    /// Bytes of the baskets that were used, once inflated.
    pub unpacked_bytes: u64,
    /// Calls of the store for baskets: round trips, where the store does not split them.
    pub calls: usize,
    /// Ranges in these calls.
    pub ranges: usize,
    /// Bytes between baskets that were read through, for each range: a gap cost less than another range. Of a run of
    /// ROOT's, what it was told to read ahead.
    pub readahead_bytes: u64,
    /// Bytes that were read and not used: gaps, unused baskets, bytes read twice.
    pub extra_bytes: u64,
    /// Bytes that were read beside: the header, lists of keys, the tree's record.
    pub other_bytes: u64,
    /// Seconds since the record began.
    pub real_time: f64,
    /// Seconds of all processors.
    pub cpu_time: f64,
    /// Seconds in which at least one call was under way.
    pub disk_time: f64,
    /// Seconds of inflating and decoding, on all threads. Of a run of ROOT's, of inflating alone.
    pub decode_time: f64,
    /// How readers waited; none of a run of ROOT's, which does not say.
    pub waits: Option<Waits>,
    /// The ranges that were read, in the order in which their calls began.
    pub reads: Vec<Read>,
}

/// How readers waited for baskets.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Waits {
    /// Seconds in which they waited for bytes.
    pub time: f64,
    /// Baskets that were in the tree's cache, or in flight, when a row-wise reader needed them.
    pub hits: u64,
    /// Those that were not.
    pub misses: u64,
}

/// A range that was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Read {
    /// Lowest entry of a basket in it; none where there is no basket of the tree.
    pub entry: Option<u64>,
    /// Its place in the file.
    pub range: ByteRange,
    /// Seconds from the beginning of the record to that of the call. Of a run of ROOT's, which keeps only how long each
    /// call took, the seconds of the calls before it.
    pub at: f64,
    /// Seconds that the call took.
    pub took: f64,
    /// Bytes of baskets in it that were used. Of a run of ROOT's, which does not say, all.
    pub used_bytes: u64,
}

impl PerfStats {
    /// The figures of what was recorded so far of the file of a tree or an RNTuple, whose pages stand for baskets and
    /// whose columns stand for branches.
    ///
    /// # Errors
    ///
    /// [`Malformed`](crate::ErrorKind::Malformed) for a broken page list of an RNTuple, and failed reads of it.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::example("nano.root");
    /// use sapwood::inspect::perf::PerfStats;
    /// let table = sapwood::File::open(path)?.table("Events")?;
    /// table.file().perf().start();
    /// table.read(&[table.find("nJet")?], 0..table.entries())?;
    /// let report = PerfStats::of(&table)?;
    /// assert_eq!((report.leaves, report.calls), (1, 1));
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn of(table: impl Into<Table>) -> Result<Self> {
        let table = table.into();
        let layout = Layout::of(&table)?;
        Ok(Self::of_layout(table.file(), table.cache(), &layout))
    }

    fn of_layout(file: &File, cache: &TreeCache, layout: &Layout) -> Self {
        let perf = file.perf();
        let (real_time, cpu_time) = perf.times();
        let (hits, misses) = perf.cache_hits();
        let used = perf.baskets();
        // All baskets, by their place. Equal pages of an RNTuple are stored once: the first entry of any counts.
        let mut placed: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
        let mut used_branches = HashSet::new();
        for basket in &layout.baskets {
            let entry = placed.entry(basket.at).or_insert((basket.bytes, basket.entries.start));
            entry.1 = entry.1.min(basket.entries.start);
            if used.contains_key(&basket.at) {
                used_branches.insert(basket.branch);
            }
        }
        let mut report = Self {
            title: format!("{}/{}", file.identity().name, layout.tree),
            host: format!("{} {}, Sapwood {}", std::env::consts::OS, std::env::consts::ARCH, env!("CARGO_PKG_VERSION")),
            cache_bytes: cache.budget(),
            leaves: used_branches.len(),
            real_time: real_time.as_secs_f64(),
            cpu_time: cpu_time.as_secs_f64(),
            waits: Some(Waits { time: perf.waited().as_secs_f64(), hits, misses }),
            ..Self::default()
        };
        let mut calls = perf.calls();
        calls.sort_by_key(|call| call.at);
        let mut under_way: Vec<Range<Duration>> = Vec::new();
        let mut gap_bytes = 0;
        for call in &calls {
            let mut has_baskets = false;
            for range in &call.ranges {
                let read = Read::of(range, &placed, |seek| used.contains_key(&seek), call.at, call.took);
                let bytes = range.end.saturating_sub(range.start);
                match read.entry {
                    Some(_) => {
                        let held: u64 = baskets(&placed, range).map(|(_, (bytes, _))| bytes).sum();
                        report.read_bytes += bytes;
                        gap_bytes += bytes.saturating_sub(held);
                        report.ranges += 1;
                        has_baskets = true;
                    }
                    None => report.other_bytes += bytes,
                }
                report.reads.push(read);
            }
            if has_baskets {
                report.calls += 1;
                let span = call.at..call.at + call.took;
                match under_way.last_mut() {
                    Some(last) if span.start <= last.end => last.end = last.end.max(span.end),
                    _ => under_way.push(span),
                }
            }
        }
        report.readahead_bytes = gap_bytes / (report.ranges as u64).max(1);
        // Numbers that are none add up to -0.
        report.disk_time = under_way.iter().map(|span| (span.end - span.start).as_secs_f64()).sum::<f64>() + 0.0;
        let mut used_bytes = 0;
        for (_, decoded) in used.iter().filter(|(seek, _)| placed.contains_key(seek)) {
            used_bytes += decoded.stored_bytes;
            report.unpacked_bytes += decoded.unpacked_bytes * u64::from(decoded.times.max(1));
            report.decode_time += decoded.took.as_secs_f64();
        }
        report.extra_bytes = report.read_bytes.saturating_sub(used_bytes);
        report
    }

    /// Name, value and unit of each figure, under the names that `TTreePerfStats` prints, and behind them those that it
    /// has not. A run of ROOT's has those that ROOT knows.
    pub fn figures(&self) -> Vec<(&'static str, f64, &'static str)> {
        let mega = |bytes: u64| bytes as f64 / 1e6;
        let a = |value: f64, of: f64| if of > 0.0 { value / of } else { 0.0 };
        let (read, unpacked) = (mega(self.read_bytes), mega(self.unpacked_bytes));
        let mut figures = vec![
            ("TreeCache", mega(self.cache_bytes), "MBytes"),
            ("N leaves", self.leaves as f64, ""),
            ("ReadTotal", read, "MBytes"),
            ("ReadUnZip", unpacked, "MBytes"),
            ("ReadCalls", self.calls as f64, ""),
            ("ReadSize", a(self.read_bytes as f64 / 1e3, self.calls as f64), "KBytes/read"),
            ("Readahead", self.readahead_bytes as f64 / 1e3, "KBytes"),
            ("Readextra", a(100.0 * self.extra_bytes as f64, self.read_bytes as f64), "per cent"),
            ("Real Time", self.real_time, "seconds"),
            ("CPU  Time", self.cpu_time, "seconds"),
            ("Disk Time", self.disk_time, "seconds"),
            ("Disk IO", a(read, self.disk_time), "MBytes/s"),
            ("ReadUZRT", a(unpacked, self.real_time), "MBytes/s"),
            ("ReadUZCP", a(unpacked, self.cpu_time), "MBytes/s"),
            ("ReadRT", a(read, self.real_time), "MBytes/s"),
            ("ReadCP", a(read, self.cpu_time), "MBytes/s"),
            ("Ranges", self.ranges as f64, ""),
            ("Thrown away", mega(self.extra_bytes), "MBytes"),
            ("Decode Time", self.decode_time, "seconds"),
        ];
        if let Some(waits) = &self.waits {
            figures.extend([
                ("Beside", mega(self.other_bytes), "MBytes"),
                ("Wait Time", waits.time, "seconds"),
                ("Hits", waits.hits as f64, ""),
                ("Misses", waits.misses as f64, ""),
            ]);
        }
        figures
    }
}

impl Read {
    fn of(
        range: &ByteRange,
        placed: &BTreeMap<u64, (u64, u64)>,
        is_used: impl Fn(u64) -> bool,
        at: Duration,
        took: Duration,
    ) -> Self {
        let entry = baskets(placed, range).map(|(_, (_, entry))| entry).min();
        let used = baskets(placed, range).filter(|&(seek, _)| is_used(seek)).map(|(_, (bytes, _))| bytes);
        let (at, took) = (at.as_secs_f64(), took.as_secs_f64());
        Self { entry, range: range.clone(), at, took, used_bytes: used.sum() }
    }
}

/// Baskets within a range.
fn baskets<'p>(
    placed: &'p BTreeMap<u64, (u64, u64)>,
    range: &ByteRange,
) -> impl Iterator<Item = (u64, (u64, u64))> + use<'p> {
    let end = range.end;
    let within = placed.range(range.start..range.end.max(range.start));
    within.map(|(&seek, &basket)| (seek, basket)).filter(move |(seek, (bytes, _))| seek.saturating_add(*bytes) <= end)
}

/// As `TTreePerfStats` prints them.
impl fmt::Display for PerfStats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, value, unit) in self.figures() {
            writeln!(f, "{name:<11} = {}", format_figure(value, unit))?;
        }
        Ok(())
    }
}

/// A figure with its unit.
fn format_figure(value: f64, unit: &str) -> String {
    let digits = if value == value.trunc() { 0 } else { 3 };
    format!("{value:.digits$}{}{unit}", if unit.is_empty() { "" } else { " " })
}
