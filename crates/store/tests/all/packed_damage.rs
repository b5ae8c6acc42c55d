//! Damaged packed files: seeds replayed, each byte changed, and files that lie in a way that is known.

use std::fs;
use std::path::{Path, PathBuf};

use sapwood::ErrorKind;
use sapwood::io::{MemoryStore, Store, load};
use sapwood_store::{PackOptions, PackedStore, pack};
use sapwood_testkit::scratch;

/// Mutations of one seed; where it has more bytes, every so many are left out.
const MOST: usize = 300;

fn seeds(name: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds").join(name);
    let all: Vec<_> = fs::read_dir(folder)
        .expect("a file of the test")
        .map(|entry| entry.expect("a file of the test").path())
        .collect();
    assert!(!all.is_empty(), "{name} has no seeds");
    all
}

#[test]
fn changed_packed_files_are_errors_at_worst() {
    for (name, target) in crate::common::packed::TARGETS {
        for path in seeds(name) {
            let bytes = fs::read(&path).unwrap();
            target(&bytes);
            // Tables are at the end; what is in front of them is data.
            let step = bytes.len().div_ceil(MOST).max(1);
            for at in (0..bytes.len()).step_by(step).chain(bytes.len().saturating_sub(600)..bytes.len()) {
                let run = |changed: &[u8]| {
                    let done = std::panic::catch_unwind(|| target(changed));
                    assert!(done.is_ok(), "{}: byte {at}", path.display());
                };
                for flip in [0xff, 0x01, 0x40] {
                    let mut changed = bytes.clone();
                    changed[at] ^= flip;
                    run(&changed);
                }
                run(&bytes[..at]);
                if let Some(word) = bytes.get(at..at + 4) {
                    for other in [[0xff, 0xff, 0xff, 0x7f], [0; 4], [0xff; 4]] {
                        if word != other {
                            let mut changed = bytes.clone();
                            changed[at..at + 4].copy_from_slice(&other);
                            run(&changed);
                        }
                    }
                }
            }
        }
    }
}

/// A packed file of ten blocks of 1,024 bytes.
fn ten_blocks() -> Vec<u8> {
    let path = scratch("ten.zst");
    let plain: Vec<u8> = (0..10_240_u32).map(|i| (i / 7) as u8).collect();
    let options = PackOptions { block_bytes: 1_024, ..PackOptions::default() };
    pack(&MemoryStore::new("ten", plain), &path, &options).expect("a file of the test");
    fs::read(&path).expect("a file of the test")
}

/// What reading all of a changed packed file says.
fn said(change: impl FnOnce(&mut Vec<u8>)) -> (ErrorKind, String) {
    let mut bytes = ten_blocks();
    change(&mut bytes);
    let store = PackedStore::seekable(MemoryStore::new("x.root.zst", bytes));
    let read = || load(&store, &[0..store.ends(0, 0)?.identity.len]);
    let error = read().map(|_| ()).expect_err("it is damaged");
    (error.kind(), error.to_string())
}

/// The footer is nine bytes, an entry twelve.
fn entry(bytes: &[u8], index: usize) -> usize {
    bytes.len() - 9 - 12 * (10 - index)
}

#[test]
fn seek_tables_that_lie_are_refused_by_name() {
    let put = |bytes: &mut Vec<u8>, at: usize, number: u32| bytes[at..at + 4].copy_from_slice(&number.to_le_bytes());
    for (change, kind, words) in [
        (
            Box::new(|bytes: &mut Vec<u8>| {
                let at = bytes.len() - 9;
                put(bytes, at, 11);
            }) as Box<dyn FnOnce(&mut Vec<u8>)>,
            ErrorKind::Malformed,
            "no seek table begins where it should",
        ),
        (
            Box::new(|bytes| {
                let at = bytes.len() - 9;
                put(bytes, at, 1 << 24);
            }),
            ErrorKind::Malformed,
            "the seek table is longer than the file",
        ),
        (
            Box::new(|bytes| {
                let at = bytes.len() - 9;
                put(bytes, at, u32::MAX);
            }),
            ErrorKind::Limit,
            "the file has too many frames",
        ),
        (
            Box::new(|bytes| {
                let at = entry(bytes, 3);
                put(bytes, at, 1 << 30);
            }),
            ErrorKind::Malformed,
            "a frame reaches into the seek table (file x.root.zst, object block 3",
        ),
        (
            Box::new(|bytes| {
                let at = entry(bytes, 3) + 4;
                put(bytes, at, u32::MAX);
            }),
            ErrorKind::Limit,
            "a frame is too long to be read in place",
        ),
        (
            Box::new(|bytes| {
                let at = entry(bytes, 3) + 4;
                put(bytes, at, 100 << 20);
            }),
            ErrorKind::Malformed,
            "a frame is said to hold more than zstd can put into it",
        ),
        (
            Box::new(|bytes| {
                let at = entry(bytes, 3) + 4;
                put(bytes, at, 1_025);
            }),
            ErrorKind::Malformed,
            "a compressed block holds fewer bytes than the index says (file x.root.zst, object block 3",
        ),
        (
            Box::new(|bytes| {
                let at = entry(bytes, 3) + 4;
                put(bytes, at, 1_023);
            }),
            ErrorKind::Malformed,
            "zstd: Destination buffer is too small (file x.root.zst, object block 3",
        ),
        (
            Box::new(|bytes| {
                let at = entry(bytes, 9) + 8;
                put(bytes, at, 7);
            }),
            ErrorKind::Checksum,
            "the bytes of a block are not those that were packed (file x.root.zst, object block 9",
        ),
        (
            Box::new(|bytes| {
                bytes.drain(0..1);
                bytes.splice(0..0, [0x28]);
                bytes.splice(4..4, [0; 3]);
            }),
            ErrorKind::Malformed,
            "the frames of the seek table are not all that is in front of it",
        ),
        (
            Box::new(|bytes| {
                let at = bytes.len() - 5;
                bytes[at] |= 4;
            }),
            ErrorKind::Unsupported,
            "a seek table of a later version",
        ),
        (Box::new(|bytes| bytes.truncate(bytes.len() - 1)), ErrorKind::Unsupported, "sapwood pack FILE"),
        (Box::new(|bytes| bytes[0] = 0), ErrorKind::Malformed, "this is no zstd file"),
        (Box::new(|bytes| bytes.truncate(3)), ErrorKind::Malformed, "this is no zstd file"),
    ] {
        let (found, message) = said(change);
        assert_eq!(found, kind, "{message}");
        assert!(message.contains(words), "{message}, not: {words}");
    }
}

#[test]
fn a_damaged_block_leaves_the_others_readable() {
    let mut bytes = ten_blocks();
    bytes[10] ^= 0x55; // in the first frame
    let store = PackedStore::seekable(MemoryStore::new("x.root.zst", bytes));
    let error = load(&store, &[1_000..1_010]).unwrap_err();
    assert!(error.to_string().contains("object block 0"), "{error}");
    assert_eq!(load(&store, &[1_024..1_026]).unwrap(), [[(1_024 / 7) as u8; 2].as_slice()]);
}

/// An image or an archive of the seeds with other bytes, and what reading a file of it says.
fn image(seed: &str, change: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut bytes = fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds").join(seed))
        .expect("a file of the test");
    change(&mut bytes);
    let inner = MemoryStore::new("packed", bytes);
    let store = if seed.contains("zip") { PackedStore::zip(inner, "d/x") } else { PackedStore::squashfs(inner, "d/x") };
    let read = || load(&store, &[0..store.ends(0, 0)?.identity.len]);
    read().map(|_| ()).expect_err("it is damaged").to_string()
}

#[test]
fn images_that_lie_are_refused_by_name() {
    let put =
        |at: usize, number: u64| move |bytes: &mut Vec<u8>| bytes[at..at + 8].copy_from_slice(&number.to_le_bytes());
    let zstd = "packed_squashfs/zstd";
    for (message, words) in [
        (image(zstd, |bytes| bytes[0] = 0), "this is no SquashFS image"),
        (image(zstd, |bytes| bytes[28] = 3), "this one has 3.0"),
        (image(zstd, |bytes| bytes[20] = 3), "compressed with lzo (3)"),
        (image(zstd, |bytes| bytes[12] = 1), "no power of two"),
        (image(zstd, |bytes| bytes.truncate(5_000)), "shorter than its superblock says"),
        (image(zstd, put(64, u64::MAX)), "the tables of the image are not within it"),
        (image(zstd, put(72, 0)), "the tables of the image are not within it"),
        (image(zstd, put(32, u64::MAX)), "a table is referred to beyond its end"),
        (image(zstd, put(32, 0xFFFF)), "a block of a table is referred to beyond its end"),
        (image(zstd, |bytes| bytes[16] = 0), "a fragment that the image does not have"),
        (image(zstd, |bytes| bytes[96..100].fill(0)), "object block 0"),
    ] {
        assert!(message.contains(words), "{message}, not: {words}");
        assert!(message.contains("packed"), "{message}");
    }
}

#[test]
fn archives_that_lie_are_refused_by_name() {
    let end = |bytes: &[u8]| bytes.len() - 22;
    let directory = |bytes: &[u8]| {
        let at = end(bytes) + 16;
        u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize
    };
    let put = |bytes: &mut Vec<u8>, at: usize, number: u32| bytes[at..at + 4].copy_from_slice(&number.to_le_bytes());
    let deflated = "packed_zip/deflated";
    let stored = "packed_zip/stored";
    let at = |offset: usize, number: u32| {
        move |bytes: &mut Vec<u8>| {
            let at = directory(bytes) + offset;
            put(bytes, at, number);
        }
    };
    for (message, words) in [
        (image(deflated, |bytes| bytes.truncate(100)), "this is no zip archive"),
        (image(deflated, |bytes| put(bytes, bytes.len() - 10, u32::MAX)), "the archive's directory is too long"),
        (image(deflated, |bytes| put(bytes, bytes.len() - 6, u32::MAX)), "the archive's directory is not where"),
        (image(deflated, at(0, 0)), "an entry of the archive's directory is damaged"),
        (image(deflated, at(16, 1)), "checksum: the member's bytes are not those that were packed"),
        (image(deflated, at(24, 6_001)), "a deflated member ends early"),
        (image(deflated, at(24, 5_999)), "a deflated member goes on beyond its length"),
        (image(deflated, at(24, 1 << 30)), "the member is said to hold more than its stored bytes can give"),
        (image(deflated, at(20, 1_000)), "the stream of a deflated member is cut off"),
        (image(deflated, at(20, 1 << 30)), "the member is not in front of the archive's directory"),
        (image(deflated, at(42, 1)), "no member begins where the archive's directory says"),
        (image(deflated, at(8, 8 << 16 | 1)), "the member is encrypted"),
        (image(deflated, at(8, 93 << 16)), "compressed by method 93"),
        (image(stored, at(24, 5)), "a stored member has two lengths"),
    ] {
        assert!(message.contains(words), "{message}, not: {words}");
        assert!(message.contains("packed"), "{message}");
    }
}

#[test]
fn links_that_lead_to_each_other_end() {
    let bytes = fs::read(seeds("packed_squashfs").remove(0)).unwrap();
    let store = |path: &str| PackedStore::squashfs(MemoryStore::new("packed", bytes.clone()), path);
    let error = store("loop").ends(0, 0).unwrap_err();
    assert!(error.to_string().contains("symbolic links lead to each other"), "{error}");
    assert_eq!(store("link").ends(0, 0).unwrap().identity.len, 12_000);
    for (path, words) in [
        ("d", "it is a directory"),
        ("d/x/y", "what is no directory"),
        ("d/y", "there is no \"y\" in its directory; it begins with \"x\""),
        ("", "it is a directory"),
    ] {
        let error = store(path).ends(0, 0).unwrap_err();
        assert!(error.to_string().contains(words), "{error}");
    }
}
