//! Small files, every byte of them changed and cut off at every length: nothing may panic, hang or ask for much memory.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use sapwood_testkit::fuzz::TARGETS;

/// Mutations of one seed; where it has more bytes, every so many are left out.
const MOST: usize = 500;
/// Far more than any of them takes.
const SLOW: Duration = Duration::from_secs(20);

fn mutate(name: &str) {
    let target = TARGETS.iter().find(|(known, _)| *known == name).expect("a target").1;
    let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds").join(name);
    for seed in fs::read_dir(seeds).expect("seeds") {
        let path = seed.expect("a seed").path();
        let bytes = fs::read(&path).expect("a seed");
        let step = bytes.len().div_ceil(MOST).max(1);
        let run = |what: &str, at: usize, bytes: &[u8]| {
            let began = Instant::now();
            if std::panic::catch_unwind(|| target(bytes)).is_err() || began.elapsed() > SLOW {
                panic!("{}: {what} at byte {at}, {:?}", path.display(), began.elapsed());
            }
        };
        for at in (0..bytes.len()).step_by(step) {
            for flip in [0xff, 0x01, 0x40] {
                let mut changed = bytes.clone();
                changed[at] ^= flip;
                run("changed", at, &changed);
            }
            run("cut", at, &bytes[..at]);
        }
        // Whole words: counts and lengths that are far too large, none, and the one that has no positive counterpart.
        for at in (0..bytes.len().saturating_sub(4)).step_by(step) {
            for word in [[0x7f, 0xff, 0xff, 0xf0], [0; 4], [0x80, 0, 0, 0]] {
                let mut changed = bytes.clone();
                changed[at..at + 4].copy_from_slice(&word);
                run("another word", at, &changed);
            }
        }
    }
}

#[test]
fn changed_headers_and_keys_are_errors_at_worst() {
    ["header", "key", "keys", "typename"].iter().for_each(|name| mutate(name));
}

#[test]
fn changed_classes_are_errors_at_worst() {
    mutate("infos");
}

#[test]
fn changed_objects_are_errors_at_worst() {
    mutate("object");
}

#[test]
fn changed_baskets_are_errors_at_worst() {
    mutate("basket");
}

#[test]
fn changed_files_are_errors_at_worst() {
    mutate("file");
}
