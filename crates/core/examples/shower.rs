//! A toy parton shower in many threads, which fill one tree row by row:
//! `cargo run --release --example shower -- out.root EVENTS THREADS [numbered]`. Prints events a second.
//!
//! An electron and a positron of 91.2 GeV together make a quark pair, which radiates in the way of dipoles: a parton
//! splits by the kernels of Altarelli and Parisi, and a partner takes the recoil, so that every parton stays on its
//! mass shell and no momentum is lost.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use sapwood::entry::{EntryClass, EntryWriter};
use sapwood::write::{BranchSpec, FileWriter, TreeOptions, TreeWriter, WriteOptions};
use sapwood::{Entry, Error, File, Result, Session};

const ENERGY: f64 = 91.2;
/// Transverse momentum in GeV where the shower ends, and the strong coupling, which does not run here.
const CUTOFF: f64 = 0.8;
const COUPLING: f64 = 0.2;
const GLUON: i32 = 21;
/// Events of a unit of work.
const UNIT: u64 = 1000;

#[derive(Entry, Clone, Default)]
struct Particle {
    id: i32,
    /// 1 where it is left in the end.
    status: i32,
    /// Its place in the list, or -1.
    mother: i32,
    px: f64,
    py: f64,
    pz: f64,
    e: f64,
}

#[derive(Entry, Clone, Default)]
#[entry(class = "ShowerEvent")]
struct Event {
    number: u64,
    weight: f64,
    particles: Vec<Particle>,
}

/// Random numbers in [0, 1): xorshift64*.
struct Random(u64);

impl Random {
    fn of_unit(unit: u64) -> Self {
        // Neighbouring units begin far from each other.
        Self((unit + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn flat(&mut self) -> f64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A direction.
    fn direction(&mut self) -> [f64; 3] {
        let (cos, angle) = (2.0 * self.flat() - 1.0, std::f64::consts::TAU * self.flat());
        let sin = (1.0 - cos * cos).sqrt();
        [sin * angle.cos(), sin * angle.sin(), cos]
    }
}

/// px, py, pz, e.
type Vector = [f64; 4];

fn add(a: Vector, b: Vector, factor: f64) -> Vector {
    std::array::from_fn(|k| a[k] + factor * b[k])
}

fn dot(a: Vector, b: Vector) -> f64 {
    a[3] * b[3] - a[0] * b[0] - a[1] * b[1] - a[2] * b[2]
}

/// A vector of length -1 that is at right angles to both, which are massless.
fn transverse(a: Vector, b: Vector, random: &mut Random) -> Option<Vector> {
    let [x, y, z] = random.direction();
    let any = [x, y, z, 0.0];
    let ab = dot(a, b);
    let found = add(add(any, a, -dot(any, b) / ab), b, -dot(any, a) / ab);
    let square = -dot(found, found);
    (square > 1e-12 && square.is_finite()).then(|| found.map(|part| part / square.sqrt()))
}

impl Particle {
    fn new(id: i32, mother: i32, [px, py, pz, e]: Vector) -> Self {
        Self { id, status: 1, mother, px, py, pz, e }
    }

    fn vector(&self) -> Vector {
        [self.px, self.py, self.pz, self.e]
    }
}

/// A splitting: the new ids, and how likely a momentum fraction is, which is at most 1.
fn kernel(id: i32, z: f64, random: &mut Random) -> ([i32; 2], f64) {
    match id {
        GLUON if random.flat() < 0.1 => {
            let flavour = 1 + (5.0 * random.flat()) as i32;
            ([flavour, -flavour], z * z + (1.0 - z) * (1.0 - z))
        }
        GLUON => ([GLUON, GLUON], (1.0 - z * (1.0 - z)).powi(2)),
        quark => ([quark, GLUON], 0.5 * (1.0 + z * z)),
    }
}

/// Splits a parton, with another one that takes the recoil.
fn split(particles: &mut Vec<Particle>, scale: f64, random: &mut Random) {
    let left: Vec<usize> = (0..particles.len()).filter(|&place| particles[place].status == 1).collect();
    let pick = (random.flat() * left.len() as f64) as usize;
    let (emitter, partner) = (left[pick], left[(pick + 1) % left.len()]);
    let (p, q) = (particles[emitter].vector(), particles[partner].vector());
    let mass2 = 2.0 * dot(p, q);
    // Soft gluons are made as often as 1 / (1 - z) says.
    let least = (scale * scale / mass2.max(f64::MIN_POSITIVE)).min(0.5);
    let z = 1.0 - least.powf(random.flat());
    let y = scale * scale / (z * (1.0 - z) * mass2);
    let (ids, weight) = kernel(particles[emitter].id, z, random);
    // Not every scale has a splitting, nor has every dipole room for it.
    if !(y > 0.0 && y < 1.0) || random.flat() > weight {
        return;
    }
    let Some(side) = transverse(p, q, random) else { return };
    let kick = (z * (1.0 - z) * y * mass2).sqrt();
    let first = add(add(p.map(|part| z * part), q, (1.0 - z) * y), side, kick);
    let second = add(add(p.map(|part| (1.0 - z) * part), q, z * y), side, -kick);
    let recoiled = Particle::new(particles[partner].id, partner as i32, q.map(|part| (1.0 - y) * part));
    particles[emitter].status = -1;
    particles[partner].status = -1;
    particles.extend([
        Particle::new(ids[0], emitter as i32, first),
        Particle::new(ids[1], emitter as i32, second),
        recoiled,
    ]);
}

fn shower(number: u64, random: &mut Random) -> Event {
    let half = ENERGY / 2.0;
    let [x, y, z] = random.direction().map(|part| half * part);
    let flavour = 1 + (5.0 * random.flat()) as i32;
    let boson = Particle { status: -1, ..Particle::new(23, -1, [0.0, 0.0, 0.0, ENERGY]) };
    let pair = [Particle::new(flavour, 0, [x, y, z, half]), Particle::new(-flavour, 0, [-x, -y, -z, half])];
    let mut particles = vec![boson];
    particles.extend(pair);
    // Transverse momentum falls from splitting to splitting, with the chance of none in between.
    let mut scale = half;
    loop {
        let partons = particles.iter().filter(|particle| particle.status == 1).count() as f64;
        scale *= random.flat().powf(1.0 / (partons * COUPLING * 4.0));
        if scale < CUTOFF {
            return Event { number, weight: 1.0, particles };
        }
        split(&mut particles, scale, random);
    }
}

/// Fills the events of a unit of work, row by row.
fn fill(events: &mut EntryWriter<Event>, unit: u64, total: u64) -> Result<()> {
    let mut random = Random::of_unit(unit);
    (unit * UNIT..total.min((unit + 1) * UNIT)).try_for_each(|number| events.fill(&shower(number, &mut random)))
}

fn write(path: &str, total: u64, threads: usize, is_numbered: bool) -> Result<()> {
    let session = Session::with_threads(1);
    let options = WriteOptions { session, reproducible: is_numbered, ..WriteOptions::default() };
    let mut file = FileWriter::recreate(path, options)?;
    let branch = BranchSpec::object("event", Event::class(), 99);
    let tree = file.parallel_tree("tree", vec![branch], TreeOptions::default())?;
    let next = AtomicU64::new(0);
    let take = || Some(next.fetch_add(1, Ordering::Relaxed)).filter(|unit| unit * UNIT < total);
    let by_unit = |mut context: sapwood::write::NumberedContext| {
        while let Some(unit) = take() {
            let mut events = EntryWriter::new(context.unit(unit)?)?;
            fill(&mut events, unit, total)?;
            events.close()?;
        }
        Ok(())
    };
    let by_cluster = |context: TreeWriter| {
        let mut events = EntryWriter::new(context)?;
        while let Some(unit) = take() {
            fill(&mut events, unit, total)?;
        }
        events.close()
    };
    std::thread::scope(|scope| {
        // Contexts are there before the first thread begins.
        let numbered: Vec<_> = (0..threads).filter(|_| is_numbered).map(|_| tree.numbered()).collect();
        let plain: Vec<_> = (0..threads).filter(|_| !is_numbered).map(|_| tree.context()).collect();
        let mut workers: Vec<_> = numbered.into_iter().map(|context| scope.spawn(|| by_unit(context))).collect();
        workers.extend(plain.into_iter().map(|context| scope.spawn(|| by_cluster(context))));
        workers.into_iter().try_for_each(|worker| worker.join().map_err(|_| Error::mismatch("a thread died"))?)
    })?;
    tree.close()?;
    file.close()
}

/// Reads all again: the energy and momentum of what is left of each event are those of the beginning. Gives the number
/// of particles.
fn check(path: &str, total: u64) -> Result<usize> {
    let (mut seen, mut particles) = (0, 0);
    for event in File::open(path)?.tree("tree")?.iter_entries::<Event>("event")? {
        let event = event?;
        let left = event.particles.iter().filter(|particle| particle.status == 1);
        let sum = left.fold([0.0, 0.0, 0.0, -ENERGY], |sum, particle| add(sum, particle.vector(), 1.0));
        if sum.iter().any(|part| part.abs() > 1e-6) {
            return Err(Error::malformed(format!("event {} lost momentum: {sum:?}", event.number)));
        }
        (seen, particles) = (seen + 1, particles + event.particles.len());
    }
    if seen == total { Ok(particles) } else { Err(Error::malformed("events are missing")) }
}

fn main() -> Result<()> {
    let given: Vec<String> = std::env::args().skip(1).collect();
    let usage = || Error::mismatch("shower PATH EVENTS THREADS [numbered]");
    let (path, events, threads, is_numbered) = match given.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [path, events, threads] => (path, events, threads, false),
        [path, events, threads, "numbered"] => (path, events, threads, true),
        _ => return Err(usage()),
    };
    let total: u64 = events.parse().map_err(|_| usage())?;
    let threads = threads.parse().ok().filter(|&threads| threads > 0).ok_or_else(usage)?;
    let began = Instant::now();
    write(path, total, threads, is_numbered)?;
    let seconds = began.elapsed().as_secs_f64();
    let particles = check(path, total)?;
    println!("{total} events of {particles} particles, {:.0} events a second", total as f64 / seconds);
    Ok(())
}
