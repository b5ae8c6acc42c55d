//! Replays the seeds of all fuzz targets: each crash that was ever found stays found.

use std::fs;
use std::path::Path;

use sapwood_testkit::fuzz::TARGETS;

#[test]
fn no_seed_of_any_target_panics() {
    let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds");
    for (name, target) in TARGETS {
        let mut replayed = 0;
        for seed in fs::read_dir(seeds.join(name)).unwrap_or_else(|error| panic!("seeds of {name}: {error}")) {
            let path = seed.unwrap().path();
            println!("{}", path.display()); // shown if the next line panics
            target(&fs::read(&path).unwrap());
            replayed += 1;
        }
        assert!(replayed > 0, "{name} has no seeds");
    }
    for folder in fs::read_dir(&seeds).unwrap() {
        let folder = folder.unwrap().file_name();
        // Packed files are the stores' own: their tests replay these.
        if folder.to_string_lossy().starts_with("packed_") {
            continue;
        }
        assert!(TARGETS.iter().any(|(name, _)| folder == *name), "{} is no target", folder.display());
    }
}
