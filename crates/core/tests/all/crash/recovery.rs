//! What `recover` brings back, and what it leaves as it is.

use sapwood::hist::{Axis, Histogram};

use super::*;

#[test]
fn committed_clusters_are_recovered() {
    let folder = std::env::temp_dir().join(format!("sapwood-crash-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let path = folder.join("crash.root");
    let journal = Arc::new(Journal::default());
    let mut file = FileWriter::to_sink(Arc::clone(&journal), "crash.root", options()).expect("a file");
    let first = journal.count();
    work(&mut file, &journal, "some/tree").expect("rows");
    file.close().expect("a file");
    let committed = journal.committed.lock().expect("a lock").clone();
    let mut longer = 0;
    for writes in (first..journal.count()).step_by(3) {
        for torn in [0, 50] {
            let next = journal.writes.lock().expect("a lock")[writes].0;
            let what = format!("{writes} writes and {torn} bytes");
            let image = journal.image(&[], writes, if next < 300 { 0 } else { torn });
            std::fs::write(&path, &image).expect("a disk");
            let before = open(image).expect("a file").tree("some/tree").map_or(0, |tree| tree.entries);
            let found = recover(&path, false, options()).unwrap_or_else(|error| panic!("{what}: {error}"));
            // All is of one second here: notes that were deleted are told, and stay away.
            let is_gone =
                |words: &String| words.starts_with("of some/tree/note: ") && words.contains(": deleted before");
            assert!(found.left.iter().all(is_gone), "{what}: {:?}", found.left);
            let least = committed.iter().rev().find(|(at, _)| *at <= writes).map_or(0, |&(_, entries)| entries);
            let file = File::open(&path).expect("a file");
            check(&file, "some/tree", least.max(saved_at(&journal, writes).unwrap_or(0)), &what);
            longer += usize::from(file.tree("some/tree").is_ok_and(|tree| tree.entries > before));
            let nothing_behind = file.header().end == file.identity().len;
            assert!(nothing_behind || found.was_closed, "{what}: a mark of a gap is all that is there");
            file.records().unwrap_or_else(|error| panic!("{what}: {error}"));
            assert!(recover(&path, false, options()).expect("a file").was_closed, "{what}");
            // The next job goes on.
            let mut again = FileWriter::update(&path, options()).unwrap_or_else(|error| panic!("{what}: {error}"));
            again.write("again", Draft::new("TObjString").with("fString", "x")).expect("room");
            again.close().expect("room");
            check(&File::open(&path).expect("a file"), "some/tree", least, &what);
        }
    }
    assert!(longer > 10, "clusters behind the last save came back {longer} times");
    std::fs::remove_dir_all(&folder).expect("a folder");
}

/// Numbers that look random, the same each time.
fn random(mut state: u64) -> impl FnMut() -> u64 {
    move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 33
    }
}

/// A file with a tree and objects, saved three times to storage that is waited for, and more that is not.
fn synced(compression: &str, journal: &Arc<Journal>) -> Vec<(usize, u64)> {
    let how = WriteOptions { sync: true, compression: Some(compression.parse().expect("a codec")), ..options() };
    let mut file = FileWriter::to_sink(Arc::clone(journal), "power.root", how).expect("a file");
    let specs = vec![BranchSpec::number("x", Number::I32), BranchSpec::number("y", Number::F64)];
    let wish = TreeOptions { auto_flush: Every::Entries(500), basket_bytes: 1_000, ..TreeOptions::default() };
    let mut tree = file.tree("tree", specs, wish).expect("a tree");
    let mut next = random(1);
    let mut saved = vec![(journal.count(), 0)];
    for step in 0..4 {
        for part in 0..5 {
            let rows = step * 5_000 + part * 1_000..step * 5_000 + (part + 1) * 1_000;
            let x: Vec<i32> = rows.clone().collect();
            let y: Vec<f64> = rows.map(|_| 1.0 + next() as f64).collect();
            tree.extend(&[("x", Values::from(&x)), ("y", Values::from(&y))]).expect("rows");
            let text = format!("{part} ").repeat(2_000);
            file.write("note", Draft::new("TObjString").with("fString", text.as_str())).expect("an object");
        }
        tree.flush().expect("rows");
        if step < 3 {
            file.save().expect("a save");
            saved.push((journal.count(), (step as u64 + 1) * 5_000));
        }
    }
    // As if the process had died here, too.
    std::mem::forget((tree, file));
    saved
}

#[test]
fn data_that_never_reached_the_disk_is_not_recovered() {
    let path = std::env::temp_dir().join(format!("sapwood-power-{}.root", std::process::id()));
    let (mut lost, mut doubtful) = (0, 0);
    for compression in ["zstd:5", "lz4:4", "zlib:1", "none"] {
        let journal = Arc::new(Journal::default());
        let saved = synced(compression, &journal);
        let first = saved[1].0;
        let mut next = random(7);
        for cut in (first..=journal.count()).step_by(5) {
            let what = format!("{compression}, power cut at write {cut}");
            // From nearly all pages to half of them.
            let share = 2 + next() % 20;
            let image = journal.after_power_cut(&[], cut, || !next().is_multiple_of(share));
            let least = saved.iter().rev().find(|(at, _)| *at <= cut).map_or(0, |&(_, entries)| entries);
            check(&open(image.clone()).unwrap_or_else(|error| panic!("{what}: {error}")), "tree", least, &what);
            std::fs::write(&path, &image).expect("a disk");
            let found = recover(&path, false, options()).unwrap_or_else(|error| panic!("{what}: {error}"));
            lost += found.left.len();
            doubtful += found.doubtful.len();
            let file = File::open(&path).expect("a file");
            let tree = file.tree("tree").expect("a tree");
            assert!(tree.entries >= least, "{what}: {} of {least}", tree.entries);
            let ids: Vec<_> = tree.branches().iter().map(|branch| branch.id).collect();
            // Everything recovered is readable, and no value is wrong unless that was reported.
            let columns = read::columns(&tree, &ids, 0..tree.entries).unwrap_or_else(|error| panic!("{what}: {error}"));
            let x: Vec<i32> = columns[0].numbers().expect("numbers");
            let y: Vec<f64> = columns[1].numbers().expect("numbers");
            let right = x.iter().enumerate().all(|(entry, &x)| x == entry as i32) && y.iter().all(|&y| y >= 1.0);
            assert!(right || found.doubtful.iter().any(|words| words.starts_with("tree: ")), "{what}: {found:?}");
            file.object("note").unwrap_or_else(|error| panic!("{what}: {error}"));
        }
    }
    std::fs::remove_file(&path).expect("a disk");
    assert!(lost > 10 && doubtful > 0, "{lost} records were lost, {doubtful} doubtful");
}

#[test]
fn objects_in_reused_space_are_recovered() {
    let journal = Arc::new(Journal::default());
    let mut file = FileWriter::to_sink(Arc::clone(&journal), "again.root", options()).expect("a file");
    let text = |of: &str| Draft::new("TObjString").with("fString", of.repeat(40).as_str());
    for index in 0..6 {
        file.write(&format!("gone{index}"), text("old")).expect("an object");
    }
    file.write("stays", text("stays")).expect("an object");
    file.save().expect("a save");
    (0..6).for_each(|index| file.remove(&format!("gone{index}")).expect("it is there"));
    file.save().expect("a save");
    let end = open(journal.image(&[], journal.count(), 0)).expect("a file").header().end;
    file.write("new", text("new")).expect("an object");
    file.write("stays", text("now")).expect("an object");
    std::mem::forget(file);
    let (file, left) = recovered(&journal, "again");
    assert_eq!(left, Vec::<String>::new());
    assert!(file.key("new").expect("it was whole").seek_key < end, "in room that was used before");
    let said = |path: &str| file.object(path).expect("an object").member("fString").expect("text").as_text();
    assert_eq!(said("new").as_deref(), Some(&*"new".repeat(40)));
    assert_eq!(said("stays;2").as_deref(), Some(&*"now".repeat(40)));
    assert_eq!(said("stays;1").as_deref(), Some(&*"stays".repeat(40)));
    assert!(file.key("gone0").is_err());
}

#[test]
fn what_was_deleted_is_not_brought_back() {
    let journal = Arc::new(Journal::default());
    let mut file = FileWriter::to_sink(Arc::clone(&journal), "gone.root", options()).expect("a file");
    for name in ["gone", "stays", "folder/gone", "folder/stays"] {
        file.write(name, Draft::new("TObjString").with("fString", name)).expect("an object");
    }
    file.save().expect("a save");
    let first = journal.count();
    file.remove("gone").expect("it is there");
    file.remove("folder/gone").expect("it is there");
    file.close().expect("a file");
    let path = std::env::temp_dir().join(format!("sapwood-gone-{}.root", std::process::id()));
    let mut unmarked = 0;
    // Writers that do not mark what they free leave files like those between the header and the marks.
    for writes in first..=journal.count() {
        let image = journal.image(&[], writes, 0);
        let had: Vec<_> =
            ["gone", "folder/gone"].map(|name| open(image.clone()).expect("a file").key(name).is_ok()).into();
        std::fs::write(&path, &image).expect("a disk");
        let found = recover(&path, false, options()).expect("a file");
        let now = File::open(&path).expect("a file");
        let has: Vec<_> = ["gone", "folder/gone"].map(|name| now.key(name).is_ok()).into();
        assert_eq!(has, had, "{writes} writes: {found:?}");
        if found.was_closed {
            assert_eq!(std::fs::read(&path).expect("a disk"), image, "{writes} writes");
            unmarked += usize::from(!found.left.is_empty());
        }
    }
    std::fs::remove_file(&path).expect("a disk");
    assert!(unmarked > 0, "no file had deleted objects that were not marked");
}

/// A file with two objects, closed, and where its lists stand.
fn closed() -> (Vec<u8>, File) {
    let journal = Arc::new(Journal::default());
    let mut file = FileWriter::to_sink(Arc::clone(&journal), "closed.root", options()).expect("a file");
    for name in ["one", "two"] {
        file.write(name, Draft::new("TObjString").with("fString", name)).expect("an object");
    }
    file.close().expect("a file");
    let image = journal.image(&[], journal.count(), 0);
    (image.clone(), open(image).expect("a file"))
}

#[test]
fn closed_files_stay_as_they_are() {
    let (image, file) = closed();
    // Lists of a file whose class is derived from `TFile` stand under its name.
    let mut derived = image.clone();
    for at in [file.root().seek_keys, file.header().seek_free] {
        let record = &mut derived[at as usize..];
        let class = record.windows(6).position(|bytes| bytes == b"\x05TFile").expect("a class");
        record[class + 1..class + 6].copy_from_slice(b"MyOwn");
    }
    // ROOT leaves the mark of a gap behind the end, and none of the gap.
    let behind = [&image[..], &(-100_i32).to_be_bytes()].concat();
    let path = std::env::temp_dir().join(format!("sapwood-closed-{}.root", std::process::id()));
    for image in [image, derived, behind] {
        std::fs::write(&path, &image).expect("a disk");
        let found = recover(&path, false, options()).expect("a file");
        assert!(found.was_closed && found.objects.is_empty() && found.left.is_empty(), "{found:?}");
        assert_eq!(std::fs::read(&path).expect("a disk"), image);
    }
    std::fs::remove_file(&path).expect("a disk");
}

#[test]
fn bytes_that_look_like_the_mark_of_a_gap_free_no_record() {
    let journal = Arc::new(Journal::default());
    let mut file = FileWriter::to_sink(Arc::clone(&journal), "free.root", options()).expect("a file");
    for name in ["gone", "stays", "later"] {
        let text = if name == "stays" { "stays".repeat(40) } else { name.repeat(10) };
        file.write(name, Draft::new("TObjString").with("fString", text.as_str())).expect("an object");
    }
    file.save().expect("a save");
    let place = open(journal.image(&[], journal.count(), 0)).expect("a file").key("gone").expect("a key");
    file.remove("gone").expect("it is there");
    file.close().expect("a file");
    // A writer that marks nothing left the end of an object there: the first word is a number below zero.
    let mut image = journal.image(&[], journal.count(), 0);
    let at = place.seek_key as usize;
    let longer = place.nbytes as i32 + 30;
    image[at..at + 4].copy_from_slice(&(-longer).to_be_bytes());
    let path = std::env::temp_dir().join(format!("sapwood-free-{}.root", std::process::id()));
    std::fs::write(&path, &image).expect("a disk");
    let mut file = FileWriter::update(&path, options()).expect("a file");
    // As long as the gap that seems to be there.
    file.write("here", Draft::new("TObjString").with("fString", "n".repeat(70).as_str())).expect("an object");
    file.close().expect("a file");
    let file = File::open(&path).expect("a file");
    let said = file.object("stays").expect("an object").member("fString").expect("text").as_text();
    assert_eq!(said.as_deref(), Some(&*"stays".repeat(40)));
    std::fs::remove_file(&path).expect("a disk");
}

#[test]
fn histograms_are_recovered_with_their_class() {
    let journal = Arc::new(Journal::default());
    let mut file = FileWriter::to_sink(Arc::clone(&journal), "spectra.root", options()).expect("a file");
    let first = journal.count();
    // Where each was written, and the values of its bins. The first save is between them: before it, the file
    // describes no class.
    let mut written = Vec::new();
    for (number, name) in ["before", "folder/before", "behind", "folder/behind"].into_iter().enumerate() {
        let axis = Axis::regular(4, 0.0, 4.0).expect("an axis");
        let class = ["TH1D", "TProfile"][number % 2];
        let mut histogram = Histogram::new(class, [axis]).expect("a histogram");
        for entry in 0..10 + number {
            let x = entry as f64 % 3.0 + 0.5;
            let values = if number % 2 == 0 { vec![x] } else { vec![x, 7.0] };
            histogram.fill(&values, 2.0).expect("a bin");
        }
        let bins: Vec<f64> = (0..6).map(|bin| histogram.value(bin)).collect();
        file.write(name, histogram.to_draft()).expect("an object");
        written.push((journal.count(), name, class, bins));
        if number == 1 {
            file.save().expect("a save");
        }
    }
    std::mem::forget(file);
    let path = std::env::temp_dir().join(format!("sapwood-spectra-{}.root", std::process::id()));
    let mut brought_back = 0;
    for writes in first..=journal.count() {
        let image = journal.image(&[], writes, 0);
        let had = written.iter().filter(|(_, name, ..)| open(image.clone()).expect("a file").key(name).is_ok()).count();
        std::fs::write(&path, image).expect("a disk");
        let found = recover(&path, false, options()).expect("a file");
        assert_eq!(found.left, Vec::<String>::new(), "{writes} writes");
        let file = File::open(&path).expect("a file");
        let whole = written.iter().filter(|(at, ..)| *at <= writes);
        for (_, name, class, bins) in whole.clone() {
            let what = format!("{name} after {writes} writes");
            let object = file.object(name).unwrap_or_else(|error| panic!("{what}: {error}"));
            let histogram = Histogram::from_object(&object).unwrap_or_else(|error| panic!("{what}: {error}"));
            let values: Vec<f64> = (0..6).map(|bin| histogram.value(bin)).collect();
            assert_eq!((histogram.class(), &values), (*class, bins), "{what}");
            assert!(file.infos().expect("classes").iter().any(|info| &*info.name == *class), "{what} is described");
        }
        brought_back += whole.count().saturating_sub(had);
    }
    std::fs::remove_file(&path).expect("a disk");
    assert!(brought_back > 3, "{brought_back} histograms came back");
}
