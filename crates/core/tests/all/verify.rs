//! Small files with bytes changed and cut off at every length: verification finds what has a checksum, and never
//! panics.

use std::path::Path;
use std::sync::{Arc, LazyLock};

use bytes::Bytes;
use sapwood::codec::Scratch;
use sapwood::column::Number;
use sapwood::container::Record;
use sapwood::inspect::doctor::diagnose;
use sapwood::inspect::io_cost::Reader;
use sapwood::inspect::optimize::{MAX_MEMORY, MIN_COMPRESSION, optimize_baskets};
use sapwood::inspect::picture::Picture;
use sapwood::inspect::verify::{Report, Severity, verify, verify_file, verify_store};
use sapwood::inspect::walk::Walk;
use sapwood::io::{MemorySink, MemoryStore};
use sapwood::schema::Draft;
use sapwood::write::{BranchSpec, FileWriter, TreeOptions, Values, WriteOptions};
use sapwood::{File, OpenOptions, Session};

fn options() -> OpenOptions {
    static SESSION: LazyLock<Session> = LazyLock::new(|| Session::with_threads(1));
    OpenOptions { session: SESSION.clone(), ..OpenOptions::default() }
}

fn check(bytes: &[u8]) -> Report {
    let store = Arc::new(MemoryStore::new("changed.root", Bytes::copy_from_slice(bytes)));
    verify_store(store, options()).expect("memory can be read")
}

fn data(name: &str) -> Vec<u8> {
    std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)).expect("a file")
}

/// A tree of three clusters in a folder, and a text.
fn written(compression: &str) -> Vec<u8> {
    let sink = Arc::new(MemorySink::default());
    let how = WriteOptions {
        compression: Some(compression.parse().expect("a codec")),
        session: Session::with_threads(1),
        reproducible: true,
        ..WriteOptions::default()
    };
    let mut file = FileWriter::to_sink(Arc::clone(&sink), "written.root", how).expect("a file");
    let specs = vec![
        BranchSpec::number("x", Number::F64),
        BranchSpec::counter("n"),
        BranchSpec::jagged("v", Number::F32, "n"),
        BranchSpec::text("s"),
    ];
    let options = TreeOptions { auto_flush: sapwood::write::Every::Entries(100), ..TreeOptions::default() };
    let mut tree = file.tree("folder/tree", specs, options).expect("a tree");
    let x: Vec<f64> = (0..300).map(|e| f64::from(e / 7)).collect();
    let ends = (0..300).scan(0, |end, e| {
        *end += e % 4;
        Some(*end)
    });
    let offsets: Vec<i64> = std::iter::once(0).chain(ends).collect();
    let items: Vec<f32> = (0..450).map(|k| k as f32 / 8.0).collect();
    let rows =
        [("x", Values::from(&x)), ("v", Values::lists(&offsets, &items)), ("s", Values::strings(["the text"; 300]))];
    tree.extend(&rows).expect("rows");
    file.save().expect("a save");
    tree.close().expect("the end of a tree");
    file.write("note", Draft::new("TObjString").with("fString", "a note")).expect("an object");
    file.close().expect("the end of a file");
    sink.to_bytes().to_vec()
}

/// Compressed blocks: position of the bytes after their header, and their content.
fn blocks(bytes: &[u8]) -> Vec<(std::ops::Range<usize>, Vec<u8>)> {
    let store = Arc::new(MemoryStore::new("whole.root", Bytes::copy_from_slice(bytes)));
    let file = File::from_store(store, options()).expect("a file");
    let mut found = Vec::new();
    for placed in Walk::new(&file) {
        let Record::Key(key) = placed.record else { continue };
        if key.is_compressed() {
            let start = placed.at as usize + usize::from(key.keylen);
            let payload = &bytes[start..start + key.stored_bytes() as usize];
            for block in sapwood::codec::blocks(payload, key.objlen as usize) {
                let block = block.expect("a block");
                let mut holds = vec![0; block.unsealed.len()];
                block.inflate(payload, &mut holds, &mut Scratch::default()).expect("what is whole");
                found.push((start + block.stored.start..start + block.stored.end, holds));
            }
        }
    }
    found
}

#[test]
fn files_written_here_and_by_root_are_valid() {
    for setting in ["zlib:0", "zlib:1", "lz4:4", "zstd:5", "lzma:3"] {
        let report = check(&written(setting));
        assert!(report.findings.iter().all(|found| found.severity == Severity::Note), "{:?}", report.findings);
        assert_eq!((report.trees, report.baskets), (1, 12), "{setting}");
    }
    for name in ["plain.root", "baskets.root"] {
        let report = check(&data(name));
        assert!(report.findings.is_empty(), "{name}: {:?}", report.findings);
        assert!(report.baskets >= 9 && report.records > report.baskets, "{name}: {report:?}");
    }
}

#[test]
fn every_changed_byte_under_a_checksum_is_found() {
    for setting in ["zlib:1", "lz4:4", "lzma:3"] {
        let mut bytes = written(setting);
        let whole = blocks(&bytes);
        let places: Vec<usize> = whole.iter().flat_map(|(place, _)| place.clone()).collect();
        assert!(places.len() > 500, "{setting}: {}", places.len());
        for at in places {
            for flip in if setting == "lzma:3" { &[0xff][..] } else { &[0xff, 0x01] } {
                bytes[at] ^= *flip;
                // Some bits at the end of a stream of deflate or LZMA belong to nothing: all that counts is the same
                // without them, and no checksum covers them.
                if !check(&bytes).is_damaged() {
                    assert!(setting != "lz4:4", "byte {at} changed by {flip:#x}");
                    assert_eq!(blocks(&bytes), whole, "{setting}: byte {at} changed by {flip:#x}");
                }
                bytes[at] ^= *flip;
            }
        }
        assert!(!check(&bytes).is_damaged());
    }
}

#[test]
fn every_cut_is_found() {
    for bytes in [data("plain.root"), written("zlib:1"), written("lz4:4")] {
        for length in 0..bytes.len() {
            assert!(check(&bytes[..length]).is_damaged(), "cut to {length} of {}", bytes.len());
        }
    }
}

/// All that plans by what a file says of itself.
fn look_at(bytes: &[u8]) {
    let store = Arc::new(MemoryStore::new("changed.root", Bytes::copy_from_slice(bytes)));
    let Ok(file) = File::from_store(store, options()) else { return };
    if let Ok(diagnosis) = diagnose(&file, None, &Reader::default()) {
        diagnosis.trees.iter().for_each(|tree| assert!(Picture::of(&tree.layout).marks() <= tree.layout.baskets.len()));
    }
    for key in file.keys(true).unwrap_or_default() {
        if let Ok(tree) = file.tree_at(&key.key) {
            optimize_baskets(&tree, MAX_MEMORY, MIN_COMPRESSION);
        }
    }
}

#[test]
fn no_change_makes_it_panic() {
    for (bytes, step) in [(data("plain.root"), 1), (written("zlib:1"), 1), (data("baskets.root"), 997)] {
        let mut changed = bytes.clone();
        for at in (0..bytes.len()).step_by(step) {
            changed[at] ^= 0xff;
            check(&changed);
            if at % 7 == 0 {
                look_at(&changed);
            }
            changed[at] ^= 0xff;
        }
    }
}

#[test]
fn baskets_in_the_wrong_place_are_found() {
    // Two baskets of a raw file change places: all is well formed, and nothing is where its index says.
    let bytes = data("plain.root");
    let store = Arc::new(MemoryStore::new("plain.root", Bytes::copy_from_slice(&bytes)));
    let file = File::from_store(store, options()).expect("a file");
    let baskets: Vec<_> = Walk::new(&file)
        .filter_map(|placed| match &placed.record {
            Record::Key(key) if &*key.class == "TBasket" => Some((placed.at as usize, key.nbytes as usize)),
            _ => None,
        })
        .collect();
    let (first, second) = baskets
        .iter()
        .enumerate()
        .find_map(|(i, a)| baskets[i + 1..].iter().find(|b| a.1 == b.1).map(|b| (*a, *b)))
        .expect("two of one length");
    let mut changed = bytes.clone();
    changed[first.0..first.0 + first.1].copy_from_slice(&bytes[second.0..second.0 + second.1]);
    changed[second.0..second.0 + second.1].copy_from_slice(&bytes[first.0..first.0 + first.1]);
    let report = check(&changed);
    let damaged: Vec<_> = report.findings.iter().filter(|found| found.severity == Severity::Damage).collect();
    assert_eq!(damaged.len(), 2, "{:?}", report.findings);
    assert!(damaged.iter().all(|found| found.basket.is_some() && found.object.is_some()));
}

#[test]
fn many_threads_find_what_one_does() {
    let mut bytes = written("lz4:4");
    for at in blocks(&bytes).into_iter().flat_map(|(place, _)| place).step_by(50) {
        bytes[at] ^= 1;
    }
    let one = check(&bytes);
    let store = Arc::new(MemoryStore::new("changed.root", Bytes::copy_from_slice(&bytes)));
    let session = Session::with_threads(3);
    let file = File::from_store(store, OpenOptions { session, ..OpenOptions::default() });
    match file {
        Ok(file) => assert_eq!(verify_file(&file), one),
        Err(_) => assert!(one.is_damaged()),
    }
}

/// Real files, where they are: none makes it panic, and none that opens is damaged.
#[test]
fn files_of_the_corpus_are_whole() {
    let Some(corpus) = std::env::var_os("SAPWOOD_CORPUS") else { return };
    let mut seen = 0;
    for entry in std::fs::read_dir(corpus).expect("the corpus") {
        let path = entry.expect("a file").path();
        if path.extension().is_none_or(|extension| extension != "root") || File::open(&path).is_err() {
            continue;
        }
        seen += 1;
        let report = verify(&path, options()).expect("a file that can be read");
        let damage: Vec<_> = report.findings.iter().filter(|found| found.severity == Severity::Damage).collect();
        assert!(damage.is_empty(), "{}: {damage:?}", path.display());
    }
    assert!(seen > 0);
}

/// The first block of the first basket with this codec.
fn first_basket_block(bytes: &[u8]) -> usize {
    let store = Arc::new(MemoryStore::new("whole.root", Bytes::copy_from_slice(bytes)));
    let file = File::from_store(store, options()).expect("a file");
    let is_packed = |key: &sapwood::container::Key| &*key.class == "TBasket" && key.is_compressed();
    let found = Walk::new(&file).find_map(|placed| match placed.record {
        Record::Key(key) if is_packed(&key) => Some(placed.at as usize + usize::from(key.keylen)),
        _ => None,
    });
    found.expect("a compressed basket")
}

#[test]
fn a_basket_that_no_reader_can_inflate_is_damage() {
    for setting in ["zlib:1", "zstd:5", "lzma:3"] {
        let mut bytes = written(setting);
        let at = first_basket_block(&bytes);
        // The method behind the two letters of the codec.
        bytes[at + 2] = 77;
        let report = check(&bytes);
        assert!(report.is_damaged(), "{setting}: {:?}", report.findings);
        let found = report.findings.iter().find(|found| found.severity == Severity::Damage).expect("damage");
        assert!(found.message.contains("unknown method"), "{setting}: {found}");
        assert_eq!((found.basket, found.found), (Some(0), Some(77)), "{setting}: {found}");
    }
}

#[test]
fn a_file_that_is_cut_off_says_so() {
    let whole = written("zlib:1");
    let open = |bytes: &[u8]| {
        File::from_store(Arc::new(MemoryStore::new("cut.root", Bytes::copy_from_slice(bytes))), options())
    };
    let len = whole.len() as u64;
    for cut in [64, 120, 200] {
        let error = open(&whole[..cut]).expect_err("nothing is left");
        assert_eq!(error.message(), "the file is cut off: it is shorter than its header says", "{cut}");
        assert_eq!((error.place().expected, error.place().found), (Some(len), Some(cut as u64)));
        let report = check(&whole[..cut]);
        assert_eq!((report.findings[0].expected, report.findings[0].found), (Some(len), Some(cut as u64)));
    }
    // Where records are left they are shown, and the file is not called one that was never closed.
    let cut = &whole[..whole.len() - 400];
    assert!(open(cut).expect("a part").is_cut_off());
    let report = check(cut);
    assert_eq!(report.findings[0].message, "the file is shorter than its header says");
    assert!(report.findings.iter().all(|found| !found.message.contains("never")), "{:?}", report.findings);
    let diagnosis = diagnose(&open(cut).expect("a part"), None, &Reader::default()).expect("a diagnosis");
    assert_eq!(diagnosis.issues[0].kind.as_str(), "cut-off");
}

#[test]
fn a_list_of_free_segments_that_cannot_be_read_is_told() {
    let mut bytes = written("zlib:1");
    let store = Arc::new(MemoryStore::new("whole.root", Bytes::copy_from_slice(&bytes)));
    let at = File::from_store(store, options()).expect("a file").header().seek_free as usize;
    // The version of the first segment: 1 for 32 bits, above 1000 for 64.
    let keylen = usize::from(u16::from_be_bytes([bytes[at + 14], bytes[at + 15]]));
    bytes.truncate(at + keylen + 10);
    bytes[at..at + 4].copy_from_slice(&(keylen as u32 + 7).to_be_bytes());
    bytes[at + 6..at + 10].copy_from_slice(&7_u32.to_be_bytes());
    let store = Arc::new(MemoryStore::new("broken.root", Bytes::copy_from_slice(&bytes)));
    let file = File::from_store(store, options()).expect("a file");
    assert!(file.free_segments().is_err());
    assert!(check(&bytes).is_damaged());
    let diagnosis = diagnose(&file, None, &Reader::default()).expect("a diagnosis");
    assert!(diagnosis.issues.iter().any(|one| one.message.contains("free segments")), "{:?}", diagnosis.issues);
    let path = sapwood_testkit::scratch("free-segments.root");
    std::fs::write(&path, &bytes).expect("a file");
    let found = sapwood::write::recover(&path, true, WriteOptions::default()).expect("a dry run");
    assert!(found.left.iter().any(|words| words.contains("free segments")), "{found:?}");
}
