//! The Event benchmark of ROOT's page of 1997, row by row: events of about 600 tracks of 17 members are made, written
//! and read again.
//!
//! ```text
//! cargo run --release --example event -- events.root 1000 zlib:1 99
//! {"made": 0.09, "write": 0.7, "read": 0.2, "size": 28370000}
//! ```
//!
//! Arguments: the file, how many events, the compression, the split level. Seconds; the making of the random numbers is
//! not in `write`.

use std::time::Instant;

use sapwood::write::{FileWriter, TreeOptions, WriteOptions};
use sapwood::{Entry, Error, File, OpenOptions, Result, Session};

#[derive(Entry, Clone, Default)]
#[entry(class = "PageTrack")]
#[allow(non_snake_case, reason = "names of the page")]
struct Track {
    fPx: f32,
    fPy: f32,
    fPz: f32,
    fRandom: f32,
    fMass2: f32,
    fBx: f32,
    fBy: f32,
    fMeanCharge: f32,
    fXfirst: f32,
    fXlast: f32,
    fYfirst: f32,
    fYlast: f32,
    fZfirst: f32,
    fZlast: f32,
    fCharge: f32,
    fNpoint: i32,
    fValid: i16,
}

#[derive(Entry, Clone, Default)]
#[entry(class = "PageEvent")]
#[allow(non_snake_case, reason = "names of the page")]
struct Event {
    fNtrack: i32,
    fRun: i32,
    fTemperature: f32,
    fTracks: Vec<Track>,
}

/// Random numbers: xorshift64*, and pairs of normal ones by Box and Muller.
struct Random(u64);

impl Random {
    fn flat(&mut self) -> f32 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 40) as f32 / (1_u64 << 24) as f32
    }

    fn normal(&mut self, mean: f32, sigma: f32) -> f32 {
        let radius = (-2.0 * (1.0 - self.flat()).ln()).sqrt();
        mean + sigma * radius * (std::f32::consts::TAU * self.flat()).cos()
    }
}

fn track(random: &mut Random) -> Track {
    let (px, py) = (random.normal(0.0, 1.0), random.normal(0.0, 1.0));
    let (x, y) = (10.0 * random.flat(), 10.0 * random.flat());
    Track {
        fPx: px,
        fPy: py,
        fPz: px.hypot(py),
        fRandom: 1000.0 * random.flat(),
        fMass2: if random.flat() < 0.5 { 0.139_57 } else { 0.493_6 },
        fBx: random.normal(0.0, 0.15),
        fBy: random.normal(0.0, 0.15),
        fMeanCharge: 0.01 * random.flat(),
        fXfirst: x,
        fXlast: x + 10.0,
        fYfirst: y,
        fYlast: y + 10.0,
        fZfirst: random.normal(50.0, 5.0),
        fZlast: random.normal(200.0, 10.0),
        fCharge: (3.0 * random.flat()).floor() - 1.0,
        fNpoint: (60.0 + 10.0 * random.flat()) as i32,
        fValid: i16::from(random.flat() < 0.6),
    }
}

fn event(random: &mut Random) -> Event {
    let tracks = random.normal(600.0, 100.0).max(1.0) as i32;
    Event {
        fNtrack: tracks,
        fRun: 200,
        fTemperature: random.normal(20.0, 1.0),
        fTracks: (0..tracks).map(|_| track(random)).collect(),
    }
}

fn seconds<T>(work: impl FnOnce() -> Result<T>) -> Result<(f64, T)> {
    let start = Instant::now();
    let done = work()?;
    Ok((start.elapsed().as_secs_f64(), done))
}

fn write(path: &str, events: &[Event], compression: &str, split_level: u32) -> Result<()> {
    let session = Session::with_threads(1);
    let options = WriteOptions { compression: Some(compression.parse()?), session, ..WriteOptions::default() };
    let mut file = FileWriter::recreate(path, options)?;
    let mut tree = file.entries("tree", "event", split_level, TreeOptions::default())?;
    for event in events {
        tree.fill(event)?;
    }
    tree.close()?;
    file.close()
}

fn read(path: &str) -> Result<f64> {
    let options = OpenOptions { session: Session::with_threads(1), ..OpenOptions::default() };
    let tree = File::open_with(path, options)?.tree("tree")?;
    let mut sum = 0.0;
    for event in tree.iter_entries::<Event>("event")? {
        sum += event?.fTracks.iter().map(|track| f64::from(track.fPz)).sum::<f64>();
    }
    Ok(sum)
}

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let usage = || Error::mismatch("event FILE EVENTS COMPRESSION SPLIT");
    let [path, entries, compression, split_level] = &arguments[..] else { return Err(usage()) };
    let entries: usize = entries.parse().map_err(|_| usage())?;
    let split_level = split_level.parse().map_err(|_| usage())?;
    let mut random = Random(7);
    let (made, events) = seconds(|| Ok((0..entries).map(|_| event(&mut random)).collect::<Vec<_>>()))?;
    let (written, ()) = seconds(|| write(path, &events, compression, split_level))?;
    let (seen, sum) = seconds(|| read(path))?;
    let wanted: f64 = events.iter().flat_map(|event| &event.fTracks).map(|track| f64::from(track.fPz)).sum();
    if (sum - wanted).abs() > 1e-9 * wanted.abs() {
        return Err(Error::malformed("the events came back changed"));
    }
    let size = std::fs::metadata(path).map_or(0, |about| about.len());
    println!("{{\"made\": {made}, \"write\": {written}, \"read\": {seen}, \"size\": {size}}}");
    Ok(())
}
