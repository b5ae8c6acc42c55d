//! A file whose words were changed one by one, with the usual limits: errors that say where, and never
//! numbers that are not there.

use std::path::Path;
use std::sync::Arc;

use sapwood::io::{ByteRange, Ends, MemorySink, MemoryStore, Profile, Receive, Store};
use sapwood::tree::{BasketBytes, Tree};
use sapwood::write::{FileWriter, WriteOptions};
use sapwood::{Error, ErrorKind, File, OpenOptions, Session, read};

fn plain() -> Vec<u8> {
    std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/plain.root")).expect("the file")
}

fn open(bytes: Vec<u8>) -> File {
    let options = OpenOptions { session: Session::with_threads(1), ..OpenOptions::default() };
    File::from_store(Arc::new(MemoryStore::new("changed.root", bytes)), options).expect("a file")
}

/// The offset of basket `index` of a branch.
fn seek(tree: &Tree, branch: &str, index: usize) -> u64 {
    match tree.branch(branch).expect("a branch").baskets()[index].bytes {
        BasketBytes::Stored { seek, .. } => seek,
        BasketBytes::Embedded(_) => panic!("an embedded basket"),
    }
}

/// The first position of a word after `from`.
fn place<const N: usize>(bytes: &[u8], from: usize, word: [u8; N]) -> usize {
    from + bytes[from..].windows(N).position(|found| found == word).expect("the word")
}

/// The file with `old` replaced by another word in the tree's record.
fn with_word<const N: usize>(old: [u8; N], new: [u8; N]) -> File {
    let mut bytes = plain();
    let record = open(plain()).key("t").expect("a key").seek_key as usize;
    let at = place(&bytes, record, old);
    bytes[at..at + N].copy_from_slice(&new);
    open(bytes)
}

fn halves(file: &File, entries: std::ops::Range<u64>) -> Result<Vec<f64>, Error> {
    let tree = file.tree("t")?;
    let id = tree.branch("d")?.id;
    read::columns(&tree, &[id], entries)?[0].numbers()
}

#[test]
fn a_missing_basket_is_an_error_where_its_entries_are_wanted() {
    let tree = open(plain()).tree("t").unwrap();
    let file = with_word(seek(&tree, "d", 1).to_be_bytes(), [0; 8]);
    let error = halves(&file, 0..60).unwrap_err();
    assert_eq!((error.kind(), error.place().basket), (ErrorKind::Malformed, Some(1)), "{error}");
    assert!(error.place().object.as_deref().is_some_and(|path| path.ends_with("t/d")), "{error}");
    assert_eq!(halves(&file, 0..20).unwrap().len(), 20, "other baskets are there");
    assert_eq!(halves(&file, 45..50).unwrap(), [22.5, 23.0, 23.5, 24.0, 24.5]);
    let tree = file.tree("t").unwrap();
    let id = tree.branch("x").unwrap().id;
    assert_eq!(read::columns(&tree, &[id], 0..60).unwrap()[0].len, 60, "other branches are there");
    // A copy would renumber the baskets after it.
    let mut copy = FileWriter::to_sink(MemorySink::default(), "copy.root", WriteOptions::default()).unwrap();
    let error = copy.copy(&file, "t", "t").unwrap_err();
    assert_eq!((error.kind(), error.place().basket), (ErrorKind::Malformed, Some(1)), "{error}");
}

#[test]
fn a_basket_whose_key_names_another_offset_is_an_error() {
    let tree = open(plain()).tree("t").unwrap();
    let at = seek(&tree, "d", 1) as usize;
    let mut bytes = plain();
    // fSeekKey follows fNbytes, fVersion, fObjlen, fDatime, fKeylen and fCycle.
    let word = place(&bytes[..at + 26], at + 18, (at as u64).to_be_bytes());
    bytes[word + 7] ^= 1;
    let error = halves(&open(bytes), 0..60).unwrap_err();
    assert_eq!(error.place().expected, Some(at as u64), "{error}");
    assert_eq!(
        (error.kind(), error.place().basket, error.place().offset),
        (ErrorKind::Malformed, Some(1), Some(at as u64))
    );
}

#[test]
fn a_basket_without_length_is_an_error() {
    let tree = open(plain()).tree("t").unwrap();
    for (branch, index) in [("n", 0), ("x", 1), ("d", 2)] {
        let mut bytes = plain();
        let at = seek(&tree, branch, index) as usize;
        bytes[at..at + 4].fill(0);
        let file = open(bytes);
        let tree = file.tree("t").unwrap();
        let error = read::columns(&tree, &[tree.branch(branch).unwrap().id], 0..60).unwrap_err();
        assert_eq!(error.place().basket, Some(index as u32), "{error}");
    }
}

#[test]
fn sums_that_are_too_large_are_refused() {
    let tree = open(plain()).tree("t").unwrap();
    for branch in ["n", "x", "d"] {
        let branch = tree.branch(branch).unwrap();
        let file = with_word(branch.tot_bytes.to_be_bytes(), (1_u64 << 39).to_be_bytes());
        let tree = file.tree("t").unwrap();
        let id = tree.branch(&branch.name).unwrap().id;
        assert_eq!(tree.branches()[id].tot_bytes, 1 << 39);
        assert_eq!(read::columns(&tree, &[id], 0..60).unwrap()[0].len, 60);
    }
}

#[test]
fn any_word_of_the_trees_record_may_be_zero_or_the_smallest_number() {
    let whole = plain();
    let file = open(plain());
    let key = file.key("t").unwrap();
    let (start, end) = (key.seek_key as usize, (key.seek_key + u64::from(key.nbytes)) as usize);
    let expected = halves(&file, 0..60).unwrap();
    for at in (start..end - 4).step_by(3) {
        for word in [[0; 4], [0x80, 0, 0, 0], [0x7f, 0xff, 0xff, 0xff], [0, 0, 0x10, 0]] {
            let mut bytes = whole.clone();
            bytes[at..at + 4].copy_from_slice(&word);
            let options = OpenOptions { session: Session::with_threads(1), ..OpenOptions::default() };
            let Ok(file) = File::from_store(Arc::new(MemoryStore::new("changed.root", bytes)), options) else {
                continue;
            };
            let Ok(tree) = file.tree("t") else { continue };
            for branch in tree.branches() {
                if let Ok(columns) = read::columns(&tree, &[branch.id], 0..60) {
                    assert_eq!(columns[0].len, 60, "an answer is whole, word {word:?} at {at}");
                }
            }
            tree.clusters();
            if let Ok(found) = halves(&file, 20..40) {
                let known = found == expected[20..40];
                // Where another number type or another basket is named, the numbers are others, and as many.
                assert!(known || found.len() == 20, "word {word:?} at {at}");
            }
        }
    }
}

/// The tree's record ends with `fTreeIndex`, `fFriends`, `fUserInfo` and `fBranchRef`: here the one with that number
/// from the end is a reference.
fn with_reference(from_end: usize, tag: u32) -> File {
    let mut bytes = plain();
    let key = open(plain()).key("t").expect("a key");
    let end = (key.seek_key + u64::from(key.nbytes)) as usize;
    let at = end - 4 * (1 + from_end);
    assert_eq!(bytes[at..at + 4], [0; 4], "a null pointer");
    bytes[at..at + 4].copy_from_slice(&tag.to_be_bytes());
    open(bytes)
}

#[test]
fn an_object_reference_that_points_nowhere_hides_only_itself() {
    for from_end in 0..4 {
        // After the record, before it, and to bytes of it that are no object.
        for tag in [0x0fff_ffff, 3, 400] {
            let file = with_reference(from_end, tag);
            assert_eq!(halves(&file, 0..60).unwrap().len(), 60, "pointer {from_end}, tag {tag}");
        }
    }
    let object = with_reference(0, 0x0fff_ffff).object("t").unwrap();
    let sapwood::Value::Object(lost) = object.member("fBranchRef").unwrap() else { panic!("no object") };
    let error = lost.failure().expect("why");
    assert_eq!(error.kind(), ErrorKind::Malformed);
    assert_eq!(error.place().found, Some(0x0fff_ffff), "{error}");
    // One to bytes that are no object is null, as ROOT reads it.
    let object = with_reference(0, 400).object("t").unwrap();
    assert!(matches!(object.member("fBranchRef").unwrap(), sapwood::Value::Null));
}

/// Memory whose bytes behind the first ones cannot be read.
struct Cut(MemoryStore);

impl Store for Cut {
    fn ends(&self, head_bytes: usize, _: usize) -> sapwood::Result<Ends> {
        self.0.ends(head_bytes.min(200), 0)
    }

    fn read_ranges(&self, ranges: &[ByteRange], into: &mut dyn Receive) -> sapwood::Result<()> {
        match ranges.iter().any(|range| range.start >= 1_000) {
            true => Err(Error::new(ErrorKind::Io, "the link is down")),
            false => self.0.read_ranges(ranges, into),
        }
    }

    fn profile(&self) -> Profile {
        self.0.profile()
    }
}

#[test]
fn a_store_that_fails_is_not_taken_for_a_file_without_keys() {
    let closed = plain();
    let seek_keys = open(plain()).key("t").map(|key| key.seek_key).unwrap();
    assert!(seek_keys > 1_000, "its keys are behind what can be read");
    // A file that was never closed has no list of keys: its records are walked.
    let mut unclosed = plain();
    let root = place(&unclosed, 100, b"TFile".to_owned());
    let list = open(plain()).records().unwrap().into_iter().rev().find_map(|(at, record)| match record {
        sapwood::container::Record::Key(key) if &*key.class == "TFile" && at > 1_000 => Some(at as u32),
        _ => None,
    });
    let at = place(&unclosed, root, list.unwrap().to_be_bytes());
    unclosed[at..at + 4].fill(0);
    for bytes in [closed, unclosed] {
        let options = OpenOptions { session: Session::with_threads(1), ..OpenOptions::default() };
        let error = File::from_store(Arc::new(Cut(MemoryStore::new("cut.root", bytes))), options).unwrap_err();
        assert_eq!((error.kind(), error.message()), (ErrorKind::Io, "the link is down"), "{error}");
    }
}

/// The file with another `fMaxBaskets` in the first branch of the tree: the length of its three lists of baskets.
fn with_most_baskets(change: impl Fn(u32) -> u32) -> File {
    let mut bytes = plain();
    let file = open(plain());
    let tree = file.tree("t").expect("a tree");
    let Ok(sapwood::Value::Record(branches)) = tree.object.member("fBranches") else { panic!("no branches") };
    let Some(sapwood::Value::List(items)) = branches.get("items") else { panic!("no list") };
    let Some(sapwood::Value::Object(branch)) = items.iter().next() else { panic!("no branch") };
    let number = |name| branch.member(name).ok().and_then(|value| value.as_int()).expect("a number");
    let most = number("fMaxBaskets") as u32;
    let mut words = [0; 16];
    words[..4].copy_from_slice(&most.to_be_bytes());
    words[4..8].copy_from_slice(&(number("fSplitLevel") as i32).to_be_bytes());
    words[8..].copy_from_slice(&number("fEntries").to_be_bytes());
    let at = place(&bytes, file.key("t").expect("a key").seek_key as usize, words);
    bytes[at..at + 4].copy_from_slice(&change(most).to_be_bytes());
    open(bytes)
}

#[test]
fn lists_of_baskets_that_do_not_fit_are_errors_of_the_branch() {
    type Change = fn(u32) -> u32;
    let changes: [Change; 6] = [|n| n + 1, |n| n - 1, |n| n * 2, |_| 0, |_| 0x0fff_ffff, |_| 0x7fff_ffff];
    for change in changes {
        let error = with_most_baskets(change).tree("t").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Malformed, "{error}");
        assert!(error.place().object.as_deref().is_some_and(|path| path.contains("TBranch")), "{error}");
    }
    assert_eq!(halves(&with_most_baskets(|n| n), 0..60).unwrap().len(), 60);
}

#[test]
fn entries_of_a_list_that_is_decoded_late_are_checked_then() {
    let tree = open(plain()).tree("t").unwrap();
    let at = seek(&tree, "d", 1);
    for wrong in [u64::MAX >> 1, at + 1, 8] {
        let file = with_word(at.to_be_bytes(), wrong.to_be_bytes());
        assert_eq!(file.tree("t").unwrap().branches().len(), tree.branches().len(), "no list is needed to open it");
        let error = halves(&file, 0..60).unwrap_err();
        assert_eq!((error.kind(), error.place().basket), (ErrorKind::Malformed, Some(1)), "{wrong:#x}: {error}");
        assert_eq!(halves(&file, 0..20).unwrap().len(), 20, "other baskets are there");
    }
}
