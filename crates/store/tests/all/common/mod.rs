//! What the tests of faulty links have in common: short patience, dice, and what comes out of a random schedule.

pub mod grid;
pub mod impatient;
pub mod packed;
pub mod wire;

use std::time::{Duration, Instant};

use sapwood::io::{ByteRange, Store, load};
use sapwood::{ErrorKind, Result};
use sapwood_store::NetOptions;

pub const TIMEOUT: Duration = Duration::from_millis(300);
pub const RETRIES: u32 = 3;

pub fn quick() -> NetOptions {
    NetOptions { timeout: TIMEOUT, retries: RETRIES, ..NetOptions::default() }
}

pub fn content(length: usize) -> Vec<u8> {
    (0..length as u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 23) as u8).collect()
}

/// Numbers that are the same in each run.
pub struct Dice(pub u64);

impl Dice {
    pub fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most.max(1)
    }

    /// For the connection of this number in a schedule.
    pub fn of(seed: u64, connection: usize) -> Self {
        let mut dice = Self(seed.wrapping_mul(1_000_003) ^ (connection as u64).wrapping_mul(7_919));
        for _ in 0..3 {
            dice.below(2);
        }
        dice
    }
}

/// Runs random schedules of faults: as many as `SAPWOOD_FAULTS` says, or twenty. Each reads a file of 400,000 bytes
/// through the store that `start` makes for a seed, whose servers live as long as what comes with it, and gets the
/// right bytes or a clear error in time.
pub fn run_schedules<S: Store, K>(mut start: impl FnMut(u64, &[u8], &mut Dice) -> (S, K)) {
    let content = content(400_000);
    let (mut right, mut failed) = (0, 0);
    for seed in 0..schedules() {
        let mut dice = Dice(seed);
        let (store, _servers) = start(seed, &content, &mut dice);
        let began = Instant::now();
        match read_at_random(seed, &content, &store, &mut dice) {
            Ok(()) => right += 1,
            Err(error) => {
                failed += 1;
                let words = error.to_string();
                assert!(matches!(error.kind(), ErrorKind::Io | ErrorKind::TimedOut), "seed {seed}: {words}");
                assert!(words.contains("127.0.0.1") && words.contains("at attempt"), "seed {seed}: {words}");
            }
        }
        // Each attempt that brings nothing takes a time-out and a pause at most; those that bring something are few.
        assert!(began.elapsed() < Duration::from_secs(60), "seed {seed} took {:?}", began.elapsed());
    }
    println!("{right} right, {failed} errors");
    assert!(right * 2 > schedules(), "most come through: {right} right, {failed} errors");
}

/// How many schedules are run.
pub fn schedules() -> u64 {
    std::env::var("SAPWOOD_FAULTS").ok().and_then(|count| count.parse().ok()).unwrap_or(20)
}

/// Reads a file of 400,000 bytes here and there, and compares.
pub fn read_at_random(seed: u64, content: &[u8], store: &dyn Store, dice: &mut Dice) -> Result<()> {
    let ends = store.ends(4_000, 30_000)?;
    assert!(ends.head == content[..4_000] && ends.tail == content[370_000..], "seed {seed}");
    for _ in 0..4 {
        let ranges: Vec<ByteRange> = (0..1 + dice.below(50))
            .map(|_| (dice.below(390_000), dice.below(9_000)))
            .map(|(start, bytes)| start..start + bytes)
            .collect();
        for (range, got) in ranges.iter().zip(load(store, &ranges)?) {
            assert!(got == content[range.start as usize..range.end as usize], "seed {seed}: {range:?}");
        }
    }
    Ok(())
}
