//! Copies of closed files that lost their end: what `recover` brings back of them.

use sapwood::codec::Compression;
use sapwood::inspect::verify::verify;
use sapwood::io::MemorySink;

use super::*;

/// A closed file of objects and trees, some in directories.
fn closed(compression: Compression) -> Vec<u8> {
    let sink = Arc::new(MemorySink::default());
    let how = WriteOptions { compression: Some(compression), ..options() };
    let mut file = FileWriter::to_sink(Arc::clone(&sink), "cut.root", how).expect("a file");
    file.mkdir("some/deeper").expect("a directory");
    for number in 0..3 {
        for path in [format!("tree{number}"), format!("some/deeper/tree{number}")] {
            let specs = vec![BranchSpec::number("x", Number::I32), BranchSpec::text("text")];
            let mut tree = file.tree(&path, specs, TreeOptions::default()).expect("a tree");
            let numbers: Vec<i32> = (0..40).collect();
            tree.extend(&[("x", Values::from(&numbers)), ("text", Values::strings(["entry"; 40]))]).expect("rows");
            tree.close().expect("a tree");
            let note = Draft::new("TObjString").with("fString", path.as_str());
            file.write(&format!("some/note{number}"), note).expect("a note");
        }
    }
    file.close().expect("a file");
    sink.to_bytes().to_vec()
}

/// The objects that a file lists and that can be read.
fn readable(file: &File, what: &str) -> Vec<String> {
    let listed = file.keys(true).unwrap_or_else(|error| panic!("{what}: {error}"));
    let is_whole = |found: &&sapwood::KeyPath| {
        if !found.key.is_tree() {
            return file.object(&found.path).is_ok();
        }
        let Ok(tree) = file.tree(&found.path) else { return false };
        let ids: Vec<_> = tree.branches().iter().map(|branch| branch.id).collect();
        let columns = read::columns(&tree, &ids, 0..tree.entries);
        columns.is_ok_and(|columns| columns[0].numbers::<i32>().is_ok_and(|x| x.iter().copied().eq(0..40)))
    };
    let objects = listed.iter().filter(|found| !found.key.is_directory()).filter(is_whole);
    objects.map(|found| format!("{};{}", found.path, found.key.cycle)).collect()
}

#[test]
fn what_is_whole_comes_back_and_nothing_else_is_lost() {
    let folder = std::env::temp_dir().join(format!("sapwood-cut-off-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let path = folder.join("cut.root");
    for compression in [Compression::NONE, "zlib:1".parse().expect("a codec")] {
        let whole = closed(compression);
        let mut most: Vec<String> = Vec::new();
        for cut in (400..whole.len()).step_by(23) {
            let what = format!("{compression}, {cut} of {} bytes", whole.len());
            std::fs::write(&path, &whole[..cut]).expect("a disk");
            let would = recover(&path, true, options());
            assert!(std::fs::read(&path).expect("a disk") == whole[..cut], "{what}: a dry run wrote");
            let found = match recover(&path, false, options()) {
                Ok(found) => found,
                Err(error) => {
                    assert!(most.is_empty(), "{what}: {error}");
                    assert!(std::fs::read(&path).expect("a disk") == whole[..cut], "{what}: {error}");
                    continue;
                }
            };
            assert_eq!(found, would.expect("the same"), "{what}");
            let report = verify(&path, OpenOptions::default()).expect("a file");
            assert!(!report.is_damaged() || !found.left.is_empty(), "{what}: {:?}", report.findings);
            let objects = readable(&File::open(&path).expect("a file"), &what);
            let lost: Vec<_> = most.iter().filter(|path| !objects.contains(path)).collect();
            assert!(lost.is_empty(), "{what}: {lost:?} came back where more was missing; {found:?}");
            most = objects;
            assert!(recover(&path, false, options()).expect("a file").was_closed, "{what}");
            let mut again = FileWriter::update(&path, options()).unwrap_or_else(|error| panic!("{what}: {error}"));
            again.write("again", Draft::new("TObjString").with("fString", "x")).expect("room");
            again.close().expect("room");
            assert_eq!(readable(&File::open(&path).expect("a file"), &what).len(), most.len() + 1, "{what}");
        }
        // Six trees and three notes, each in two cycles.
        assert_eq!(most.len(), 12, "{compression}: {most:?}");
    }
    std::fs::remove_dir_all(&folder).expect("a folder");
}
