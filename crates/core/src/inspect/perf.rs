//! What reading a tree cost: the figures of `TTreePerfStats`, and those that it does not have.
//!
//! Source: `TTreePerfStats::Print`.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::time::Duration;

use crate::io::ByteRange;
use crate::tree::{BasketBytes, Tree};

/// What reading a tree cost (`TTreePerfStats`). Bytes are in units of one, times in seconds; [`figures`](Self::figures) gives them as ROOT shows them.
///
/// # Example
///
/// ```
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/plain.root");
/// use sapwood::inspect::perf::PerfStats;
/// let tree = sapwood::File::open(path)?.tree("t")?;
/// tree.file().perf().start();
/// sapwood::read::columns(&tree, &[tree.branch("x")?.id], 0..tree.entries)?;
/// let report = PerfStats::of(&tree);
/// assert_eq!((report.leaves, report.calls), (1, 1));
/// println!("{report}");
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PerfStats {
    /// Budget of the tree's cache.
    pub cache_bytes: u64,
    /// Branches whose baskets were used.
    pub leaves: usize,
    /// Bytes that were read of ranges with baskets of the tree, gaps included.
    pub read_bytes: u64,
    /// Bytes of the baskets that were used, once inflated.
    pub unpacked_bytes: u64,
    /// Calls of the store for baskets: round trips, where the store does not split them.
    pub calls: usize,
    /// Ranges in these calls.
    pub ranges: usize,
    /// Bytes between baskets that were read through: a gap cost less than another range.
    pub gap_bytes: u64,
    /// Bytes that were read and not used: gaps, baskets that nobody looked at, what was read twice.
    pub extra_bytes: u64,
    /// Bytes that were read beside: the header, lists of keys, the tree's record.
    pub other_bytes: u64,
    /// Seconds since the record began.
    pub real_time: f64,
    /// Seconds of all processors.
    pub cpu_time: f64,
    /// Seconds in which at least one call was under way.
    pub disk_time: f64,
    /// Seconds of inflating and decoding, on all threads.
    pub decode_time: f64,
    /// Seconds in which readers waited for bytes.
    pub wait_time: f64,
    /// Baskets that were in the tree's cache, or on their way, when somebody asked for them one by one.
    pub hits: u64,
    /// Those that were not.
    pub misses: u64,
    /// The calls, in the order in which they began.
    pub reads: Vec<Read>,
}

/// A range that was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Read {
    /// Lowest entry of a basket in it; none where there is no basket of the tree.
    pub entry: Option<u64>,
    /// Its place in the file.
    pub range: ByteRange,
    /// Seconds from the beginning of the record to that of the call.
    pub at: f64,
    /// Seconds that the call took.
    pub took: f64,
    /// Bytes of baskets in it that were used.
    pub used_bytes: u64,
}

impl PerfStats {
    /// The figures of what was recorded of a tree's file so far.
    pub fn of(tree: &Tree) -> Self {
        let perf = tree.file().perf();
        let (real_time, cpu_time) = perf.times();
        let (hits, misses) = perf.cache_hits();
        let used = perf.baskets();
        // All baskets of the tree, by their place.
        let mut placed: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
        let mut leaves = 0;
        for branch in tree.branches() {
            let mut is_used = false;
            for basket in branch.baskets() {
                if let BasketBytes::Stored { seek, nbytes } = basket.bytes {
                    placed.insert(seek, (u64::from(nbytes), basket.entries.start));
                    is_used |= used.contains_key(&seek);
                }
            }
            leaves += usize::from(is_used);
        }
        let mut report = Self {
            cache_bytes: tree.cache().budget(),
            leaves,
            real_time: real_time.as_secs_f64(),
            cpu_time: cpu_time.as_secs_f64(),
            wait_time: perf.waited().as_secs_f64(),
            hits,
            misses,
            ..Self::default()
        };
        let mut calls = perf.calls();
        calls.sort_by_key(|call| call.at);
        let mut under_way: Vec<Range<Duration>> = Vec::new();
        for call in &calls {
            let mut has_baskets = false;
            for range in &call.ranges {
                let read = Read::of(range, &placed, |seek| used.contains_key(&seek), call.at, call.took);
                let bytes = range.end.saturating_sub(range.start);
                match read.entry {
                    Some(_) => {
                        let held: u64 = baskets(&placed, range).map(|(_, (bytes, _))| bytes).sum();
                        report.read_bytes += bytes;
                        report.gap_bytes += bytes.saturating_sub(held);
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
        report.disk_time = under_way.iter().map(|span| (span.end - span.start).as_secs_f64()).sum();
        let mut used_bytes = 0;
        for (_, decoded) in used.iter().filter(|(seek, _)| placed.contains_key(seek)) {
            used_bytes += decoded.stored_bytes;
            report.unpacked_bytes += decoded.unpacked_bytes * u64::from(decoded.times.max(1));
            report.decode_time += decoded.took.as_secs_f64();
        }
        report.extra_bytes = report.read_bytes.saturating_sub(used_bytes);
        report
    }

    /// Name, value and unit of each figure, under the names that `TTreePerfStats` prints, and behind them those that it has not.
    pub fn figures(&self) -> Vec<(&'static str, f64, &'static str)> {
        let mega = |bytes: u64| bytes as f64 / 1e6;
        let a = |value: f64, of: f64| if of > 0.0 { value / of } else { 0.0 };
        let (read, unpacked) = (mega(self.read_bytes), mega(self.unpacked_bytes));
        vec![
            ("TreeCache", mega(self.cache_bytes), "MBytes"),
            ("N leaves", self.leaves as f64, ""),
            ("ReadTotal", read, "MBytes"),
            ("ReadUnZip", unpacked, "MBytes"),
            ("ReadCalls", self.calls as f64, ""),
            ("ReadSize", a(self.read_bytes as f64 / 1e3, self.calls as f64), "KBytes/read"),
            ("Readahead", a(self.gap_bytes as f64 / 1e3, self.ranges as f64), "KBytes"),
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
            ("Beside", mega(self.other_bytes), "MBytes"),
            ("Decode Time", self.decode_time, "seconds"),
            ("Wait Time", self.wait_time, "seconds"),
            ("Hits", self.hits as f64, ""),
            ("Misses", self.misses as f64, ""),
        ]
    }

    /// The picture: time to the right and offsets in the file downwards on the left, entries on the right, a mark a range; what was
    /// not used is pale.
    pub fn to_svg(&self) -> String {
        const WIDTH: f64 = 900.0;
        const HEIGHT: f64 = 360.0;
        const EDGE: f64 = 60.0;
        let reads: Vec<&Read> = self.reads.iter().filter(|read| read.entry.is_some()).collect();
        let most = |of: fn(&Read) -> f64| reads.iter().map(|read| of(read)).fold(1e-9, f64::max);
        let (end, last_byte) = (most(|read| read.at + read.took), most(|read| read.range.end as f64));
        let last_entry = most(|read| read.entry.unwrap_or(0) as f64).max(1.0);
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {}\" font-family=\"sans-serif\" font-size=\"12\">\n",
            2.0 * HEIGHT
        );
        type Place = fn(&Read) -> f64;
        let panels: [(f64, &str, f64, Place); 2] = [
            (0.0, "offset (MB)", last_byte, |read| read.range.start as f64),
            (HEIGHT, "entry", last_entry, |read| read.entry.unwrap_or(0) as f64),
        ];
        for (top, title, full, place) in panels {
            let (width, height) = (WIDTH - 2.0 * EDGE, HEIGHT - EDGE);
            let unit = if title == "entry" { 1.0 } else { 1e6 };
            svg += &format!(
                "<rect x=\"{EDGE}\" y=\"{}\" width=\"{width}\" height=\"{height}\" fill=\"none\" stroke=\"#888\"/>\n\
                 <text x=\"{EDGE}\" y=\"{}\">{title}, 0 to {:.6}; {end:.3} s to the right</text>\n",
                top + EDGE / 2.0,
                top + EDGE / 2.0 - 6.0,
                full / unit,
            );
            for read in &reads {
                let x = EDGE + width * read.at / end;
                let wide = (width * read.took / end).max(1.0);
                let bytes = (read.range.end - read.range.start) as f64;
                let tall = if title == "entry" { 2.0 } else { (height * bytes / full).max(1.0) };
                let y = top + EDGE / 2.0 + (height - tall).max(0.0) * (place(read) / full).min(1.0);
                let share = if bytes > 0.0 { read.used_bytes as f64 / bytes } else { 1.0 };
                svg += &format!(
                    "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{wide:.1}\" height=\"{tall:.1}\" fill=\"#2166ac\" \
                     fill-opacity=\"{:.2}\"/>\n",
                    0.25 + 0.75 * share.min(1.0)
                );
            }
        }
        svg + "</svg>\n"
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

/// Baskets that stand in a range.
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
            let digits = if value == value.trunc() { 0 } else { 3 };
            writeln!(f, "{name:<11} = {value:.digits$}{}{unit}", if unit.is_empty() { "" } else { " " })?;
        }
        Ok(())
    }
}
