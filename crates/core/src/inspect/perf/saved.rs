//! Runs in ROOT files: an object that ROOT reads, and beside it what ROOT's class has no member for.
//!
//! Why so: `docs/decisions/saved-performance.md`. Source: `TTreePerfStats::FileReadEvent`, `TTreePerfStats::Finish`.

use std::path::Path;
use std::sync::Arc;

use super::{PerfStats, Read, Waits};
use crate::column::Native;
use crate::column::Number;
use crate::container::Key;
use crate::error::{Error, ErrorKind, Result};
use crate::file::File;
use crate::object::{Object, Value};
use crate::read::columns;
use crate::schema::Draft;
use crate::write::{BranchSpec, FileWriter, TreeOptions, Values, WriteOptions};

/// ROOT's class.
const CLASS: &str = "TTreePerfStats";
/// What a run is called in its file, as in ROOT's own examples. The trees beside it have its name and one of these
/// ends.
const NAME: &str = "ioperf";
const READS: &str = "_reads";
const WAITS: &str = "_waits";
/// Of a read that holds no basket of the tree.
const NO_ENTRY: i64 = -1;
/// ROOT marks points by their error along the entries.
const ENTRY_ERROR: f64 = 0.001;
/// `fUniqueID` of the graph of offsets.
const IO_GRAPH: i64 = 999_999_999;
/// Numbers of colours.
const BLACK: i64 = 1;
const RED: i64 = 632;

impl PerfStats {
    /// Writes the run into a new ROOT file, in place of what is there: a `TTreePerfStats` named `ioperf`, whose
    /// `Print`, `Draw` and `GetGraphIO` show these figures and ranges, and two trees with what it has no place for.
    ///
    /// # Errors
    ///
    /// Those of [`FileWriter::recreate`], and what storage reports.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::inspect::perf::PerfStats;
    /// # let path = std::env::temp_dir().join("sapwood-perf-saved.root");
    /// let stats = PerfStats { calls: 3, read_bytes: 3_000, ..PerfStats::default() };
    /// stats.save(&path)?;
    /// let file = sapwood::File::open(&path)?;
    /// assert_eq!(file.object("ioperf")?.member("fReadCalls")?.as_int(), Some(3));
    /// assert_eq!(PerfStats::load(&file, None)?.read_bytes, 3_000);
    /// # std::fs::remove_file(path).ok();
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        if path.exists() && !is_saved_run(path) {
            let error = Error::new(ErrorKind::Exists, "a file is there that is no saved run");
            return Err(error.in_file(path.to_string_lossy().as_ref()));
        }
        let mut file = FileWriter::recreate(path, WriteOptions::default())?;
        file.write(NAME, self.draft())?;
        let entry = |read: &Read| read.entry.map_or(NO_ENTRY, whole);
        let reads = [
            ("entry", Number::I64, self.column(|read| entry(read).to_ne_bytes())),
            ("offset", Number::I64, self.column(|read| whole(read.range.start).to_ne_bytes())),
            ("bytes", Number::I64, self.column(|read| whole(length(read)).to_ne_bytes())),
            ("used_bytes", Number::I64, self.column(|read| whole(read.used_bytes).to_ne_bytes())),
            ("at", Number::F64, self.column(|read| read.at.to_ne_bytes())),
            ("took", Number::F64, self.column(|read| read.took.to_ne_bytes())),
        ];
        write(&mut file, &format!("{NAME}{READS}"), "every range that was read", &reads)?;
        if let Some(waits) = &self.waits {
            let waits = [
                ("time", Number::F64, waits.time.to_ne_bytes().to_vec()),
                ("hits", Number::I64, whole(waits.hits).to_ne_bytes().to_vec()),
                ("misses", Number::I64, whole(waits.misses).to_ne_bytes().to_vec()),
            ];
            write(&mut file, &format!("{NAME}{WAITS}"), "how readers waited for baskets", &waits)?;
        }
        file.close()
    }

    fn column<const N: usize>(&self, of: impl Fn(&Read) -> [u8; N]) -> Vec<u8> {
        self.reads.iter().flat_map(of).collect()
    }

    /// The run that was saved in a file, by [`save`](Self::save) or by ROOT's `TTreePerfStats::SaveAs`: the one of a
    /// name, or the only one.
    ///
    /// # Errors
    ///
    /// [`NotFound`](crate::ErrorKind::NotFound) where there is none, [`Mismatch`](crate::ErrorKind::Mismatch) where
    /// there are several, or the name is of something else; what reading finds.
    ///
    /// # Example
    ///
    /// See [`save`](Self::save).
    pub fn load(file: &File, name: Option<&str>) -> Result<Self> {
        match Self::find(file, name)? {
            Some(stats) => Ok(stats),
            None if name.is_some() => Err(file.name(Error::mismatch("this is no TTreePerfStats"))),
            None => Err(file.name(Error::not_found("the file has no TTreePerfStats"))),
        }
    }

    /// [`load`](Self::load), but none where the name is of something else, or nothing of the kind is in the file.
    pub fn find(file: &File, name: Option<&str>) -> Result<Option<Self>> {
        let (path, key) = match name {
            Some(name) => (name.split(';').next().unwrap_or(name).to_owned(), file.key(name)?),
            None => {
                let mut runs = file.keys(true)?;
                runs.retain(|found| &*found.key.class == CLASS);
                // The newest of each name.
                runs.sort_by(|a, b| (&a.path, b.key.cycle).cmp(&(&b.path, a.key.cycle)));
                runs.dedup_by(|next, known| next.path == known.path);
                match &runs[..] {
                    [] => return Ok(None),
                    [run] => (run.path.clone(), run.key.clone()),
                    many => {
                        let names: Vec<_> = many.iter().map(|run| run.path.as_str()).collect();
                        let words = format!("which run? FILE:NAME with one of {}", names.join(", "));
                        return Err(file.name(Error::mismatch(words)));
                    }
                }
            }
        };
        if &*key.class != CLASS {
            return Ok(None);
        }
        let within = |error: Error| error.in_object(&path);
        let mut stats = Self::of_object(&file.object_at(&key)?).map_err(|error| file.name(within(error)))?;
        if let Some(tree) = beside(file, &path, READS) {
            stats.reads = reads(file, &tree).map_err(within)?;
            stats.ranges = stats.reads.iter().filter(|read| read.entry.is_some()).count();
            let others = stats.reads.iter().filter(|read| read.entry.is_none());
            stats.other_bytes = others.fold(0, |sum, read| sum.saturating_add(length(read)));
        }
        if let Some(tree) = beside(file, &path, WAITS) {
            stats.waits = Some(waits(file, &tree).map_err(within)?);
        }
        Ok(Some(stats))
    }

    /// As ROOT's class.
    fn draft(&self) -> Draft {
        let drawn: Vec<&Read> = self.reads.iter().filter(|read| read.entry.is_some()).collect();
        let entries: Vec<f64> = drawn.iter().map(|read| read.entry.unwrap_or(0) as f64).collect();
        let offsets: Vec<f64> = drawn.iter().map(|read| 1e-6 * read.range.start as f64).collect();
        let highest = offsets.iter().copied().fold(0.0, f64::max);
        let norm = if self.real_time > 0.0 { highest / self.real_time } else { 0.0 };
        let errors = vec![ENTRY_ERROR; drawn.len()];
        let lengths: Vec<f64> = drawn.iter().map(|read| 1e-9 * length(read) as f64).collect();
        let small = |value: u64| i64::from(i32::try_from(value).unwrap_or(i32::MAX));
        let io = graph(NAME, &self.title, BLACK, [entries.clone(), offsets, errors.clone(), lengths]);
        let busy = busy(&drawn).into_iter().map(|time| norm * time).collect();
        let time = graph("iotime", "Real time vs entries", RED, [entries, busy, errors, vec![0.0; drawn.len()]]);
        let used = self.read_bytes.saturating_sub(self.extra_bytes);
        let growth = if self.read_bytes > 0 { self.unpacked_bytes as f64 / self.read_bytes as f64 } else { 0.0 };
        Draft::new(CLASS)
            .with("fTreeCacheSize", small(self.cache_bytes))
            .with("fNleaves", small(self.leaves as u64))
            .with("fReadCalls", small(self.calls as u64))
            .with("fReadaheadSize", small(self.readahead_bytes))
            .with("fBytesRead", whole(self.read_bytes))
            .with("fBytesReadExtra", whole(self.extra_bytes))
            .with("fRealNorm", norm)
            .with("fRealTime", self.real_time)
            .with("fCpuTime", self.cpu_time)
            .with("fDiskTime", self.disk_time)
            .with("fUnzipTime", self.decode_time)
            .with("fUnzipInputSize", whole(used))
            .with("fUnzipObjSize", whole(self.unpacked_bytes))
            .with("fCompress", growth)
            .with("fName", NAME)
            .with("fHostInfo", &*self.host)
            .with("fGraphIO", Arc::new(io.with("fUniqueID", IO_GRAPH)))
            .with("fGraphTime", Arc::new(time))
    }

    /// Of ROOT's class, whatever version of it. What a version does not have is zero.
    fn of_object(object: &Object) -> Result<Self> {
        let members = object.members()?;
        let number = |name: &str| match members.get(name) {
            Some(value) => value.as_float().ok_or_else(|| unfit(object, name)),
            None => Ok(0.0),
        };
        let bytes = |name: &str| match members.get(name) {
            // ROOT counts in signed numbers, and below zero where it does not know.
            Some(value) => value.as_int().map(|count| count.max(0) as u64).ok_or_else(|| unfit(object, name)),
            None => Ok(0),
        };
        let read_bytes = bytes("fBytesRead")?;
        // As ROOT prints it; of a run that read nothing, for all was there, what was inflated.
        let unpacked_bytes = match read_bytes {
            0 => bytes("fUnzipObjSize")?,
            read => (read as f64 * number("fCompress")?).round() as u64,
        };
        let mut stats = Self {
            host: members.get("fHostInfo").and_then(|value| value.as_text()).unwrap_or_default(),
            cache_bytes: bytes("fTreeCacheSize")?,
            leaves: bytes("fNleaves")? as usize,
            read_bytes,
            unpacked_bytes,
            calls: bytes("fReadCalls")? as usize,
            readahead_bytes: bytes("fReadaheadSize")?,
            extra_bytes: bytes("fBytesReadExtra")?,
            real_time: number("fRealTime")?,
            cpu_time: number("fCpuTime")?,
            disk_time: number("fDiskTime")?,
            decode_time: number("fUnzipTime")?,
            ..Self::default()
        };
        if let Some(Value::Object(io)) = members.get("fGraphIO") {
            stats.title = io.member("fTitle")?.as_text().unwrap_or_default();
            let times = match members.get("fGraphTime") {
                Some(Value::Object(time)) => Some(took(&time, number("fRealNorm")?)?),
                _ => None,
            };
            let (entries, offsets, lengths) = (floats(&io, "fX")?, floats(&io, "fY")?, floats(&io, "fEY")?);
            let points = entries.len();
            // A version without times has none for any point.
            let times = times.unwrap_or_else(|| vec![(0.0, 0.0); points]);
            if [offsets.len(), lengths.len(), times.len()].iter().any(|&len| len != points) {
                return Err(Error::malformed("the graphs of a run have different numbers of points"));
            }
            for (((entry, offset), length), (at, took)) in entries.into_iter().zip(offsets).zip(lengths).zip(times) {
                let (start, bytes) = ((1e6 * offset).round() as u64, (1e9 * length).round() as u64);
                stats.reads.push(Read {
                    entry: (entry >= 0.0).then_some(entry as u64),
                    range: start..start.saturating_add(bytes),
                    at,
                    took,
                    used_bytes: bytes,
                });
            }
            stats.ranges = stats.reads.len();
        }
        Ok(stats)
    }
}

/// A graph of points with errors, as ROOT draws it unless told otherwise.
fn graph(name: &str, title: &str, colour: i64, [x, y, ex, ey]: [Vec<f64>; 4]) -> Draft {
    /// No limit of the axis.
    const NONE: f64 = -1111.0;
    Draft::new("TGraphErrors")
        .with("fName", name)
        .with("fTitle", title)
        .with("fLineColor", colour)
        .with("fLineStyle", 1)
        .with("fLineWidth", 1)
        .with("fFillStyle", 1000)
        .with("fMarkerColor", 1)
        .with("fMarkerStyle", 1)
        .with("fMarkerSize", 1.0)
        .with("fNpoints", x.len() as i64)
        .with("fX", x)
        .with("fY", y)
        .with("fFunctions", Arc::new(Draft::new("TList")))
        .with("fMinimum", NONE)
        .with("fMaximum", NONE)
        .with("fEX", ex)
        .with("fEY", ey)
}

/// Seconds in which at least one call was under way, up to the end of each: calls may overlap, and ranges of one call
/// share its time.
fn busy(reads: &[&Read]) -> Vec<f64> {
    let (mut sum, mut until) = (0.0, 0.0_f64);
    let next = |read: &&Read| {
        let end = read.at + read.took;
        sum += (end - read.at.max(until)).max(0.0);
        until = until.max(end);
        sum
    };
    reads.iter().map(next).collect()
}

/// Begin and length of each read of a graph of times: the sums of all up to it, drawn to scale; or, of a run that never
/// ended, the time of day at the end of each.
fn took(graph: &Object, norm: f64) -> Result<Vec<(f64, f64)>> {
    let (sums, errors) = (floats(graph, "fY")?, floats(graph, "fEY")?);
    if norm > 0.0 {
        let mut before = 0.0;
        let next = |sum: f64| {
            let at = before;
            before = sum / norm;
            (at, before - at)
        };
        return Ok(sums.into_iter().map(next).collect());
    }
    let first = sums.first().zip(errors.first()).map_or(0.0, |(end, took)| end - took);
    Ok(sums.iter().zip(&errors).map(|(end, took)| (end - took - first, *took)).collect())
}

/// A member that is a list of floating-point numbers.
fn floats(object: &Object, name: &str) -> Result<Vec<f64>> {
    match object.member(name)? {
        Value::Numbers(Number::F64, bytes) => Ok(bytes.as_chunks().0.iter().map(|x| f64::from_ne_bytes(*x)).collect()),
        _ => Err(unfit(object, name)),
    }
}

/// As ROOT's signed numbers, and back.
fn whole(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

fn count(value: i64) -> Result<u64> {
    u64::try_from(value).map_err(|_| Error::malformed(format!("a run counts {value} of something")))
}

fn unfit(object: &Object, name: &str) -> Error {
    Error::malformed(format!("member {name} of a {} is not what it should be", object.class()))
}

fn length(read: &Read) -> u64 {
    read.range.end.saturating_sub(read.range.start)
}

/// Whether a file holds nothing but a run that was saved.
fn is_saved_run(path: &Path) -> bool {
    let keys = File::open(path).and_then(|file| file.keys(false));
    keys.is_ok_and(|keys| keys.iter().all(|found| found.key.name.starts_with(NAME)))
}

/// Writes a tree of numbers.
fn write(file: &mut FileWriter, name: &str, title: &str, branches: &[(&str, Number, Vec<u8>)]) -> Result<()> {
    let specs = branches.iter().map(|(name, number, _)| BranchSpec::number(*name, *number)).collect();
    let mut tree = file.tree(name, specs, TreeOptions { title: title.into(), ..TreeOptions::default() })?;
    let values: Vec<_> = branches
        .iter()
        .map(|(name, number, values)| (*name, Values::from_memory(Some(*number), &[], values)))
        .collect();
    tree.extend(&values)?;
    tree.close()
}

/// The key of a tree that stands beside a run.
fn beside(file: &File, path: &str, end: &str) -> Option<Key> {
    file.key(&format!("{path}{end}")).ok().filter(Key::is_tree)
}

fn reads(file: &File, key: &Key) -> Result<Vec<Read>> {
    let (entry, offset) = (branch::<i64>(file, key, "entry")?, branch::<i64>(file, key, "offset")?);
    let (bytes, used) = (branch::<i64>(file, key, "bytes")?, branch::<i64>(file, key, "used_bytes")?);
    let (at, took) = (branch::<f64>(file, key, "at")?, branch::<f64>(file, key, "took")?);
    let rows = entry.into_iter().zip(offset).zip(bytes.into_iter().zip(used)).zip(at.into_iter().zip(took));
    let read = |(((entry, offset), (bytes, used)), (at, took))| {
        let start = count(offset)?;
        let range = start..start.saturating_add(count(bytes)?);
        // Below zero where there is none.
        Ok(Read { entry: u64::try_from(entry).ok(), range, at, took, used_bytes: count(used)? })
    };
    rows.map(read).collect()
}

fn waits(file: &File, key: &Key) -> Result<Waits> {
    let (time, hits) = (branch::<f64>(file, key, "time")?, branch::<i64>(file, key, "hits")?);
    let misses = branch::<i64>(file, key, "misses")?;
    match (&time[..], &hits[..], &misses[..]) {
        (&[time], &[hits], &[misses]) => Ok(Waits { time, hits: count(hits)?, misses: count(misses)? }),
        _ => Err(Error::malformed("a run does not have one entry").wanted(1, time.len() as u64)),
    }
}

/// The numbers of a branch.
fn branch<T: Native>(file: &File, key: &Key, name: &str) -> Result<Vec<T>> {
    let tree = file.tree_at(key)?;
    let columns = columns(&tree, &[tree.branch(name)?.id], 0..tree.entries)?;
    columns.first().map_or_else(|| Ok(Vec::new()), |column| column.numbers())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::Datum;

    fn run() -> PerfStats {
        let read =
            |entry, range: std::ops::Range<u64>, at, took, used_bytes| Read { entry, range, at, took, used_bytes };
        PerfStats {
            title: "events.root/Events".into(),
            host: "here".into(),
            cache_bytes: 30_000_000,
            leaves: 2,
            read_bytes: 3_000,
            unpacked_bytes: 9_001,
            calls: 2,
            ranges: 3,
            readahead_bytes: 7,
            extra_bytes: 500,
            other_bytes: 100,
            real_time: 2.0,
            cpu_time: 1.5,
            disk_time: 0.75,
            decode_time: 0.25,
            waits: Some(Waits { time: 0.5, hits: 3, misses: 1 }),
            reads: vec![
                read(None, 0..100, 0.0, 0.125, 0),
                read(Some(0), 1_000..2_000, 0.25, 0.5, 900),
                read(Some(10), 5_000..6_000, 0.25, 0.5, 1_000),
                read(Some(20), 3_000_000..3_001_000, 0.5, 0.5, 600),
            ],
        }
    }

    fn through_a_file(stats: &PerfStats, name: &str) -> (File, std::path::PathBuf) {
        let path = std::env::temp_dir().join(format!("sapwood-perf-{name}-{}.root", std::process::id()));
        stats.save(&path).unwrap();
        (File::open(&path).unwrap(), path)
    }

    #[test]
    fn a_saved_run_is_read_back_unchanged() {
        let (file, path) = through_a_file(&run(), "run");
        assert_eq!(PerfStats::load(&file, None).unwrap(), run());
        assert_eq!(PerfStats::load(&file, Some("ioperf;1")).unwrap(), run());
        assert!(PerfStats::load(&file, Some("ioperf_reads")).is_err() && PerfStats::load(&file, Some("io")).is_err());
        std::fs::remove_file(path).unwrap();
        let (file, path) = through_a_file(&PerfStats::default(), "empty");
        assert_eq!(PerfStats::load(&file, None).unwrap(), PerfStats::default());
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn roots_graphs_show_ranges_and_times() {
        let stats = run();
        let draft = stats.draft();
        let graph =
            |name: &str, member: &str| match draft.member(name).and_then(Datum::as_draft).unwrap().member(member) {
                Some(Datum::Numbers(_, bytes)) => bytes.as_chunks().0.iter().map(|x| f64::from_ne_bytes(*x)).collect(),
                _ => Vec::new(),
            };
        assert_eq!(graph("fGraphIO", "fX"), [0.0, 10.0, 20.0]);
        assert_eq!(graph("fGraphIO", "fY"), [1e-6 * 1_000.0, 1e-6 * 5_000.0, 3.0]);
        // 3 MB in 2 seconds; the first call ends after half a second, the second one, which overlaps, a quarter later.
        assert_eq!(graph("fGraphTime", "fY"), [0.75, 0.75, 1.125]);
    }

    #[test]
    fn what_roots_class_holds_is_enough() {
        let (_, path) = through_a_file(&run(), "alone");
        let mut file = FileWriter::update(&path, WriteOptions::default()).unwrap();
        file.remove("ioperf_reads").unwrap();
        file.remove("ioperf_waits").unwrap();
        file.close().unwrap();
        let found = PerfStats::load(&File::open(&path).unwrap(), None).unwrap();
        std::fs::remove_file(path).unwrap();
        let entries: Vec<_> =
            found.reads.iter().map(|read| (read.entry, read.range.clone(), read.used_bytes)).collect();
        let all = |entry, range: std::ops::Range<u64>| (Some(entry), range, 1_000);
        assert_eq!(entries, [all(0, 1_000..2_000), all(10, 5_000..6_000), all(20, 3_000_000..3_001_000)]);
        assert_eq!((found.calls, found.unpacked_bytes, found.waits), (2, 9_001, None));
        assert!((found.reads[2].at - 0.5).abs() < 1e-9 && (found.reads[2].took - 0.25).abs() < 1e-9);
        let names: Vec<_> = found.figures().iter().map(|figure| figure.0).collect();
        assert!(names.contains(&"Ranges") && !names.contains(&"Hits"));
    }

    #[test]
    fn a_run_whose_parts_contradict_each_other_is_an_error() {
        let broken: [fn(&mut Draft); 4] = [
            |run| run.set("fReadCalls", Datum::Null),
            |run| run.member_mut("fGraphIO").and_then(Datum::as_draft_mut).unwrap().set("fY", vec![1.0]),
            |run| {
                let time = run.member_mut("fGraphTime").and_then(Datum::as_draft_mut).unwrap();
                time.set("fNpoints", 1);
                ["fX", "fY", "fEX", "fEY"].iter().for_each(|name| time.set(*name, vec![1.0]));
            },
            |run| {
                let io = run.member_mut("fGraphIO").and_then(Datum::as_draft_mut).unwrap();
                io.set("fNpoints", 0);
                ["fX", "fY", "fEX", "fEY"].iter().for_each(|name| io.set(*name, Vec::<f64>::new()));
            },
        ];
        for (number, breaks) in broken.into_iter().enumerate() {
            let mut draft = run().draft();
            breaks(&mut draft);
            let path = std::env::temp_dir().join(format!("sapwood-perf-broken-{number}-{}.root", std::process::id()));
            let mut file = FileWriter::recreate(&path, WriteOptions::default()).unwrap();
            // What does not fit its class is not even written.
            let written = file.write(NAME, draft);
            file.close().unwrap();
            let read = written.and_then(|_| PerfStats::load(&File::open(&path).unwrap(), None));
            std::fs::remove_file(path).unwrap();
            assert!(read.is_err(), "{number}: {read:?}");
        }
    }
}
