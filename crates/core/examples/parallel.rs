//! Fills one tree from many threads and prints how long it took, and for how many microseconds a cluster held the lock,
//! as `bench/write/parallel.py` asks for it:
//! `cargo run --release --example parallel -- out.root KIND THREADS BRANCHES ROWS_OF_A_CLUSTER CLUSTERS COMPRESSION [numbered]`,
//! where a kind is `flat` (arrays), `jagged` (arrays of lists) or `event` (row by row).

use std::path::Path;
use std::time::{Duration, Instant};

use sapwood::column::Number;
use sapwood::entry::{EntryClass, EntryWriter};
use sapwood::write::{BranchSpec, Every, FileWriter, TreeOptions, TreeWriter, Values, WriteOptions};
use sapwood::{Entry, Error, Result, Session};

/// Tracks of an event.
const TRACKS: usize = 600;

/// Numbers with twelve random bits in their fraction, as detectors give them.
struct Random(u64);

impl Random {
    fn next(&mut self) -> f32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        1.0 + (self.0 >> 52) as f32 / 4096.0
    }

    fn numbers(&mut self, count: usize) -> Vec<f32> {
        (0..count).map(|_| self.next()).collect()
    }
}

#[derive(Entry, Clone, Default)]
struct Track {
    momentum: [f32; 3],
    random: f32,
    mass2: f32,
    bend: [f32; 2],
    mean_charge: f32,
    first: [f32; 3],
    last: [f32; 3],
    charge: f32,
    points: i32,
    valid: i16,
}

#[derive(Entry, Clone, Default)]
struct Event {
    run: i32,
    number: i64,
    temperature: f32,
    tracks: Vec<Track>,
}

impl Event {
    fn new(number: i64, random: &mut Random) -> Self {
        let temperature = random.next();
        let tracks = (0..TRACKS as i32).map(|track| Track {
            momentum: std::array::from_fn(|_| random.next()),
            random: random.next(),
            mass2: random.next(),
            bend: std::array::from_fn(|_| random.next()),
            mean_charge: random.next(),
            first: std::array::from_fn(|_| random.next()),
            last: std::array::from_fn(|_| random.next()),
            charge: random.next(),
            points: track % 60,
            valid: (track % 2) as i16,
        });
        Self { run: 1, number, temperature, tracks: tracks.collect() }
    }
}

/// What a thread fills its clusters with: all are alike.
enum Rows {
    Arrays { names: Vec<String>, offsets: Vec<i64>, columns: Vec<Vec<f32>> },
    Events(Vec<Event>),
}

/// How to fill: `KIND THREADS BRANCHES ROWS CLUSTERS`.
struct Job<'a> {
    kind: &'a str,
    threads: usize,
    branches: usize,
    rows: usize,
    clusters: usize,
    is_numbered: bool,
}

impl Rows {
    fn new(job: &Job<'_>) -> Self {
        let mut random = Random(88_172_645_463_325_252);
        if job.kind == "event" {
            return Self::Events((0..job.rows as i64).map(|number| Event::new(number, &mut random)).collect());
        }
        let names = (0..job.branches).map(|branch| format!("b{branch}")).collect();
        let ends = (0..job.rows as i64).scan(0, |end, row| {
            *end += 7 * row % 5;
            Some(*end)
        });
        let offsets: Vec<i64> = match job.kind {
            "jagged" => std::iter::once(0).chain(ends).collect(),
            _ => Vec::new(),
        };
        let items = offsets.last().map_or(job.rows, |&end| end as usize);
        Self::Arrays { names, offsets, columns: (0..job.branches).map(|_| random.numbers(items)).collect() }
    }

    fn specs(&self) -> Vec<BranchSpec> {
        match self {
            Self::Events(_) => vec![BranchSpec::object("event", Event::class(), 99)],
            Self::Arrays { names, offsets, .. } if offsets.is_empty() => {
                names.iter().map(|name| BranchSpec::number(name.as_str(), Number::F32)).collect()
            }
            Self::Arrays { names, .. } => {
                let lists = names.iter().map(|name| BranchSpec::jagged(name.as_str(), Number::F32, "n"));
                std::iter::once(BranchSpec::counter("n")).chain(lists).collect()
            }
        }
    }

    /// Fills a cluster.
    fn fill(&self, context: &mut TreeWriter) -> Result<()> {
        let Self::Arrays { names, offsets, columns } = self else {
            return Err(Error::mismatch("events are filled by row"));
        };
        let named = names.iter().zip(columns).map(|(name, column)| {
            let values = if offsets.is_empty() { Values::from(column) } else { Values::lists(offsets, column) };
            (name.as_str(), values)
        });
        context.extend(&named.collect::<Vec<_>>())
    }

    /// Fills the clusters of one thread.
    fn fill_all(&self, mut context: TreeWriter, clusters: usize) -> Result<()> {
        match self {
            Self::Arrays { .. } => {
                (0..clusters).try_for_each(|_| self.fill(&mut context))?;
                context.close()
            }
            Self::Events(events) => {
                let mut writer = EntryWriter::new(context)?;
                (0..clusters).try_for_each(|_| events.iter().try_for_each(|event| writer.fill(event)))?;
                writer.close()
            }
        }
    }
}

fn write(path: &Path, job: &Job<'_>, rows: &Rows, options: WriteOptions) -> Result<Duration> {
    let mut file = FileWriter::recreate(path, options)?;
    let wish = TreeOptions { auto_flush: Every::Entries(job.rows as u64), ..TreeOptions::default() };
    let tree = file.parallel_tree("tree", rows.specs(), wish)?;
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..job.threads)
            .map(|thread| {
                let own = (thread..job.clusters).step_by(job.threads);
                let (context, numbered) = (tree.context(), job.is_numbered.then(|| tree.numbered()));
                scope.spawn(move || match numbered {
                    None => rows.fill_all(context, own.len()),
                    Some(mut numbered) => {
                        own.into_iter().try_for_each(|number| rows.fill_all(numbered.unit(number as u64)?, 1))?;
                        context.close()
                    }
                })
            })
            .collect();
        workers.into_iter().try_for_each(|worker| worker.join().map_err(|_| Error::mismatch("a thread died"))?)
    })?;
    let held = tree.time_under_lock();
    tree.close()?;
    file.close()?;
    Ok(held)
}

fn main() -> Result<()> {
    let wrong = || Error::mismatch("parallel PATH KIND THREADS BRANCHES ROWS CLUSTERS COMPRESSION [numbered]");
    let given: Vec<String> = std::env::args().skip(1).collect();
    let number = |index: usize| given.get(index).and_then(|text| text.parse::<usize>().ok()).ok_or_else(wrong);
    let path = Path::new(given.first().ok_or_else(wrong)?);
    let job = Job {
        kind: given.get(1).ok_or_else(wrong)?,
        threads: number(2)?,
        branches: number(3)?,
        rows: number(4)?,
        clusters: number(5)?,
        is_numbered: given.get(7).is_some_and(|word| word == "numbered"),
    };
    let compression = Some(given.get(6).ok_or_else(wrong)?.parse()?);
    // Values are there before the time begins: only writing is measured.
    let rows = Rows::new(&job);
    let began = Instant::now();
    let options = WriteOptions { compression, session: Session::with_threads(1), ..WriteOptions::default() };
    let held = write(path, &job, &rows, options)?.as_micros() as f64 / job.clusters as f64;
    let seconds = began.elapsed().as_secs_f64();
    let bytes = std::fs::metadata(path).map_or(0, |found| found.len());
    println!("{{\"seconds\": {seconds:.4}, \"bytes\": {bytes}, \"held\": {held:.2}}}");
    Ok(())
}
