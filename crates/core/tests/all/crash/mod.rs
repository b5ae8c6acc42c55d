//! Kills the writer between any two writes, and in the middle of each: everything saved is readable afterwards.

mod cut_off;
mod going_back;
mod recovery;

use std::io::IoSlice;
use std::sync::{Arc, Mutex, PoisonError};

use sapwood::column::Number;
use sapwood::container::Record;
use sapwood::inspect::verify::verify_file;
use sapwood::io::{MemoryStore, Sink};
use sapwood::schema::Draft;
use sapwood::write::{BranchSpec, Every, FileWriter, TreeOptions, Values, WriteOptions, recover};
use sapwood::{ErrorKind, File, OpenOptions, Result, Session, read};

/// Writes as they came, and how many entries were saved when.
#[derive(Default)]
struct Journal {
    writes: Mutex<Vec<(u64, Vec<u8>)>>,
    saved: Mutex<Vec<(usize, u64)>>,
    committed: Mutex<Vec<(usize, u64)>>,
    /// No write gets through after so many.
    most: Mutex<Option<usize>>,
    /// The number of writes at the last sync.
    synced: Mutex<Vec<usize>>,
    /// So many more writes get through, and then one does not.
    fails_once_after: Mutex<Option<usize>>,
}

impl Sink for Journal {
    fn write_at(&self, offset: u64, parts: &[IoSlice<'_>]) -> Result<()> {
        let mut writes = self.writes.lock().unwrap_or_else(PoisonError::into_inner);
        if self.most.lock().unwrap_or_else(PoisonError::into_inner).is_some_and(|most| writes.len() >= most) {
            return Err(sapwood::Error::new(ErrorKind::Io, "the disk is full"));
        }
        let mut left = self.fails_once_after.lock().unwrap_or_else(PoisonError::into_inner);
        match *left {
            Some(0) => {
                *left = None;
                return Err(sapwood::Error::new(ErrorKind::Io, "a write error"));
            }
            Some(more) => *left = Some(more - 1),
            None => {}
        }
        writes.push((offset, parts.iter().flat_map(|part| part.iter().copied()).collect()));
        Ok(())
    }

    fn sync(&self) -> Result<()> {
        let count = self.count();
        self.synced.lock().unwrap_or_else(PoisonError::into_inner).push(count);
        Ok(())
    }
}

impl Journal {
    fn count(&self) -> usize {
        self.writes.lock().expect("a lock").len()
    }

    fn note(&self, entries: u64) {
        self.saved.lock().expect("a lock").push((self.count(), entries));
    }

    /// The file after so many writes, and so many bytes of the next.
    fn image(&self, before: &[u8], writes: usize, torn: usize) -> Vec<u8> {
        let all = self.writes.lock().expect("a lock");
        let mut image = before.to_vec();
        for (index, (offset, bytes)) in all.iter().take(writes + 1).enumerate() {
            let bytes = if index == writes { &bytes[..torn.min(bytes.len())] } else { bytes };
            let end = *offset as usize + bytes.len();
            if bytes.is_empty() {
                continue;
            }
            image.resize(image.len().max(end), 0);
            image[*offset as usize..end].copy_from_slice(bytes);
        }
        image
    }
}

impl Journal {
    /// The file after a power failure at a write: what was written since the last sync is there page by page, as
    /// `keeps` says; other pages are what they were then, or zeros.
    fn after_power_cut(&self, before: &[u8], writes: usize, mut keeps: impl FnMut() -> bool) -> Vec<u8> {
        const PAGE: usize = 4096;
        let synced = self.synced.lock().expect("a lock").iter().copied().filter(|&at| at <= writes).max().unwrap_or(0);
        let mut image = self.image(before, synced, 0);
        let last = self.image(before, writes, 0);
        image.resize(last.len(), 0);
        for (old, new) in image.chunks_mut(PAGE).zip(last.chunks(PAGE)) {
            if keeps() {
                old.copy_from_slice(new);
            }
        }
        image
    }
}

fn open(image: Vec<u8>) -> Result<File> {
    File::from_store(Arc::new(MemoryStore::new("crash.root", image)), OpenOptions::default())
}

fn options() -> WriteOptions {
    threads(1)
}

fn threads(threads: usize) -> WriteOptions {
    WriteOptions { session: Session::with_threads(threads), reproducible: true, ..WriteOptions::default() }
}

/// Rows of a tree, with saves between them, and objects that are replaced and deleted.
fn work(file: &mut FileWriter, journal: &Journal, path: &str) -> Result<()> {
    let specs = vec![BranchSpec::number("x", Number::I32), BranchSpec::text("text")];
    let wish = TreeOptions { auto_flush: Every::Entries(10), basket_bytes: 60, ..TreeOptions::default() };
    let mut tree = file.tree(path, specs, wish)?;
    journal.note(0);
    let mut flushed = 0;
    for step in 0..6 {
        let numbers: Vec<i32> = (step * 35..(step + 1) * 35).collect();
        tree.extend(&[("x", Values::from(&numbers)), ("text", Values::strings(["entry"; 35]))])?;
        let rows = (step as u64 + 1) * 35;
        journal.committed.lock().expect("a lock").push((journal.count(), flushed + (rows - flushed) / 10 * 10));
        file.write(
            &format!("of {path}/note"),
            Draft::new("TObjString").with("fString", format!("step {step}").as_str()),
        )?;
        if step > 1 {
            file.remove(&format!("of {path}/note;{}", step - 1))?;
        }
        if step % 2 == 1 {
            tree.flush()?;
            file.save()?;
            flushed = rows;
            journal.note(rows);
        }
    }
    tree.close()
}

/// Everything of the tree is there, at least so many entries.
fn check(file: &File, path: &str, least: u64, what: &str) {
    let Ok(tree) = file.tree(path) else {
        assert_eq!(least, 0, "{what}: no tree");
        return;
    };
    assert!(tree.entries >= least, "{what}: {} of {least} entries", tree.entries);
    let ids: Vec<_> = tree.branches().iter().map(|branch| branch.id).collect();
    let columns = read::columns(&tree, &ids, 0..tree.entries).expect("saved rows");
    let x: Vec<i32> = columns[0].numbers().expect("numbers");
    assert!(x.iter().enumerate().all(|(entry, &x)| x == entry as i32), "{what}");
}

fn saved_at(journal: &Journal, writes: usize) -> Option<u64> {
    journal.saved.lock().expect("a lock").iter().rev().find(|(at, _)| *at <= writes).map(|&(_, entries)| entries)
}

#[test]
fn a_new_file_shows_what_was_saved_after_every_write() {
    let journal = Arc::new(Journal::default());
    let mut file = FileWriter::to_sink(Arc::clone(&journal), "crash.root", options()).expect("a file");
    let first = journal.count();
    work(&mut file, &journal, "tree").expect("rows");
    file.close().expect("a file");
    for writes in first..journal.count() {
        for torn in [0, 1, 40, usize::MAX / 2] {
            let what = format!("{writes} writes and {torn} bytes");
            // The header itself is a hundred bytes: it is written or not.
            let next = journal.writes.lock().expect("a lock")[writes].0;
            let torn = if next == 0 || torn == 1 && next < 300 { 0 } else { torn };
            let file = open(journal.image(&[], writes, torn)).unwrap_or_else(|error| panic!("{what}: {error}"));
            check(&file, "tree", saved_at(&journal, writes).unwrap_or(0), &what);
        }
    }
}

#[test]
fn an_updated_file_keeps_what_it_had_after_every_write() {
    let before = {
        let journal = Arc::new(Journal::default());
        let mut file = FileWriter::to_sink(Arc::clone(&journal), "crash.root", options()).expect("a file");
        work(&mut file, &journal, "old").expect("rows");
        for index in 0..20 {
            file.write(&format!("gone{index}"), Draft::new("TObjString").with("fString", "x")).expect("an object");
        }
        file.save().expect("a save");
        (0..20).step_by(2).for_each(|index| file.remove(&format!("gone{index}")).expect("it was there"));
        file.close().expect("a file");
        journal.image(&[], journal.count(), 0)
    };
    let journal = Arc::new(Journal::default());
    let store = Arc::new(MemoryStore::new("crash.root", before.clone()));
    let mut file = FileWriter::update_with(store, Arc::clone(&journal), options()).expect("a file");
    work(&mut file, &journal, "new").expect("rows");
    file.remove("old").expect("it is there");
    let last = journal.count();
    file.close().expect("a file");
    for writes in 0..last {
        for torn in [0, 40, usize::MAX / 2] {
            let what = format!("{writes} writes and {torn} bytes");
            let next = journal.writes.lock().expect("a lock")[writes].0;
            let file = open(journal.image(&before, writes, if next < 300 { 0 } else { torn }));
            let file = file.unwrap_or_else(|error| panic!("{what}: {error}"));
            assert!(!file.is_recovered());
            check(&file, "old", 210, &what);
            check(&file, "new", saved_at(&journal, writes).unwrap_or(0), &what);
            for note in file.keys_in("of old", false).expect("a directory") {
                file.object_at(&note.key).unwrap_or_else(|error| panic!("{what}: {error}"));
            }
        }
    }
    assert!(open(journal.image(&before, journal.count(), 0)).expect("a file").key("old").is_err());
}

#[test]
fn records_follow_each_other_at_any_time() {
    let journal = Arc::new(Journal::default());
    let mut file = FileWriter::to_sink(Arc::clone(&journal), "crash.root", options()).expect("a file");
    let first = journal.count();
    work(&mut file, &journal, "tree").expect("rows");
    file.close().expect("a file");
    for writes in first..journal.count() {
        let mut image = journal.image(&[], writes, 0);
        let length = image.len() as u64;
        // Recovery walks to the end of the file.
        image[12..16].copy_from_slice(&(length as u32).to_be_bytes());
        let file = open(image).expect("a file");
        let walked = file.records().unwrap_or_else(|error| panic!("{writes} writes: {error}"));
        let (at, last) = walked.last().expect("records");
        let end = at
            + match last {
                Record::Key(key) => u64::from(key.nbytes),
                Record::Gap(bytes) => *bytes,
            };
        assert!(end >= length, "{writes} writes: the walk stops at {end} of {length}");
    }
}

#[test]
fn a_full_disk_loses_nothing_that_was_saved() {
    let whole = Arc::new(Journal::default());
    let mut file = FileWriter::to_sink(Arc::clone(&whole), "crash.root", options()).expect("a file");
    let first = whole.count();
    work(&mut file, &whole, "tree").expect("rows");
    file.close().expect("a file");
    for most in (first..whole.count()).step_by(3) {
        let journal = Arc::new(Journal::default());
        *journal.most.lock().expect("a lock") = Some(most);
        let how = threads(1 + most % 2 * 2);
        let mut file = FileWriter::to_sink(Arc::clone(&journal), "crash.root", how).expect("a file");
        let error = work(&mut file, &journal, "tree").and_then(|()| file.save()).expect_err("the disk is full");
        assert_eq!(error.kind(), ErrorKind::Io);
        check(&open(journal.image(&[], journal.count(), 0)).expect("a file"), "tree", 0, "full");
        // There is room again: what comes now is whole, and the file can be walked.
        *journal.most.lock().expect("a lock") = None;
        file.write("after", Draft::new("TObjString").with("fString", "room")).expect("room");
        // The tree's writer is dropped, with a cluster in flight, and rows that it tried to write on drop.
        let lost = file.close().err().map(|error| error.kind());
        assert!(lost.is_none() || lost == Some(ErrorKind::Io), "{lost:?}");
        let file = open(journal.image(&[], journal.count(), 0)).expect("a file");
        check(&file, "tree", saved_at(&journal, usize::MAX).unwrap_or(0), "after");
        assert_eq!(
            file.object("after").expect("room").member("fString").expect("text").as_text().as_deref(),
            Some("room")
        );
        file.records().unwrap_or_else(|error| panic!("{most} writes: {error}"));
    }
}

/// Replaces and removes objects of many sizes, so that room is used again and gaps are split; a failed step is tried
/// once more. Gives the text that each object had last, and how many steps failed.
fn churn(file: &mut FileWriter) -> (Vec<Option<String>>, usize) {
    let mut texts: Vec<Option<String>> = vec![None; 6];
    let mut failed = 0;
    let mut twice = |step: &mut dyn FnMut() -> Result<()>| {
        if step().is_err() {
            failed += 1;
            step().expect("only one write fails");
        }
    };
    for step in 0..40_usize {
        let index = step * 5 % 6;
        let name = format!("object{index}");
        if texts[index].is_some() {
            // Gone already where the first try got so far.
            twice(&mut || file.remove(&name).or_else(|error| if file_has(&error) { Err(error) } else { Ok(()) }));
        }
        let text = format!("{step} ").repeat(10 + step * 7 % 60);
        twice(&mut || file.write(&name, Draft::new("TObjString").with("fString", text.as_str())));
        texts[index] = Some(text);
        if step % 3 == 2 {
            twice(&mut || file.save());
        }
    }
    (texts, failed)
}

/// Whether what an error names is still there.
fn file_has(error: &sapwood::Error) -> bool {
    error.kind() != ErrorKind::NotFound
}

#[test]
fn a_write_that_fails_once_harms_no_record() {
    let whole = Arc::new(Journal::default());
    let mut file = FileWriter::to_sink(Arc::clone(&whole), "once.root", options()).expect("a file");
    let first = whole.count();
    churn(&mut file);
    file.close().expect("a file");
    let mut hit = 0;
    for after in 0..whole.count() - first {
        let what = format!("write {after} fails");
        let journal = Arc::new(Journal::default());
        let mut file = FileWriter::to_sink(Arc::clone(&journal), "once.root", options()).expect("a file");
        *journal.fails_once_after.lock().expect("a lock") = Some(after);
        let (texts, failed) = churn(&mut file);
        hit += failed;
        // Killed now: what recovery brings back can be updated without harm.
        let (file_now, _) = recovered(&journal, "once");
        file_now.records().unwrap_or_else(|error| panic!("{what}: {error}"));
        let closed = file.close();
        assert!(closed.is_ok() || failed == 0, "{what}: {closed:?}");
        let file = open(journal.image(&[], journal.count(), 0)).unwrap_or_else(|error| panic!("{what}: {error}"));
        if closed.is_ok() {
            let report = verify_file(&file);
            assert!(!report.is_damaged(), "{what}: {:?}", report.findings);
        }
        for (index, text) in texts.iter().enumerate() {
            let object = file.object(&format!("object{index}")).unwrap_or_else(|error| panic!("{what}: {error}"));
            assert_eq!(object.member("fString").expect("text").as_text().as_deref(), text.as_deref(), "{what}");
        }
    }
    assert!(hit > 100, "{hit} steps failed");
}

/// What `recover` brings back of a file whose writer is killed now.
fn recovered(journal: &Journal, name: &str) -> (File, Vec<String>) {
    let path = std::env::temp_dir().join(format!("sapwood-{name}-{}.root", std::process::id()));
    std::fs::write(&path, journal.image(&[], journal.count(), 0)).expect("a disk");
    let found = recover(&path, false, options()).expect("a file");
    let image = std::fs::read(&path).expect("a disk");
    std::fs::remove_file(&path).expect("a disk");
    (open(image).expect("a file"), found.left)
}

#[test]
fn rows_that_storage_did_not_take_are_written_when_it_does() {
    for (count, auto_save, most) in [1, 3]
        .into_iter()
        .flat_map(|count| [Every::Never, Every::Entries(10)].map(|save| (count, save)))
        .flat_map(|(count, save)| [0, 1, 2, 3, 4, 5, 7, 9, 12, 16, 20, 31].map(|most| (count, save, most)))
    {
        let what = format!("{count} threads, {auto_save:?}, {most} writes");
        let journal = Arc::new(Journal::default());
        let mut file = FileWriter::to_sink(Arc::clone(&journal), "full.root", threads(count)).expect("a file");
        let specs = vec![BranchSpec::number("x", Number::I32), BranchSpec::number("y", Number::I32)];
        let wish =
            TreeOptions { auto_flush: Every::Entries(10), auto_save, basket_bytes: 20, ..TreeOptions::default() };
        let mut tree = file.tree("tree", specs, wish).expect("a tree");
        *journal.most.lock().expect("a lock") = Some(journal.count() + most);
        let mut failed = 0;
        for step in 0..4 {
            let x: Vec<i32> = (step * 25..(step + 1) * 25).collect();
            failed += usize::from(tree.extend(&[("x", Values::from(&x)), ("y", Values::from(&x))]).is_err());
        }
        failed += usize::from(tree.flush().is_err());
        assert!(failed > 0 || most > 20, "{what}");
        *journal.most.lock().expect("a lock") = None;
        tree.flush().expect("room");
        let (file_now, left) = recovered(&journal, "full");
        check(&file_now, "tree", 100, &what);
        assert_eq!(left, Vec::<String>::new(), "{what}");
        tree.close().expect("room");
        file.close().expect("room");
        let whole = open(journal.image(&[], journal.count(), 0)).expect("a file");
        check(&whole, "tree", 100, &what);
        assert_eq!(whole.tree("tree").expect("a tree").entries, 100, "{what}");
        whole.records().unwrap_or_else(|error| panic!("{what}: {error}"));
    }
}

#[test]
fn a_cluster_that_came_back_half_written_is_written_once() {
    // Two clusters of 3.2 MB, which are not compressed: each is written in several calls.
    const ROWS: usize = 200_000;
    for (count, most) in [1, 3].into_iter().flat_map(|count| (0..14).step_by(2).map(move |most| (count, most))) {
        let what = format!("{count} threads, {most} writes");
        let journal = Arc::new(Journal::default());
        let how = WriteOptions { compression: Some("none".parse().expect("a codec")), ..threads(count) };
        let mut file = FileWriter::to_sink(Arc::clone(&journal), "waves.root", how).expect("a file");
        let specs = vec![BranchSpec::number("x", Number::I32), BranchSpec::number("y", Number::F64)];
        let wish = TreeOptions { auto_flush: Every::Entries(ROWS as u64), ..TreeOptions::default() };
        let mut tree = file.tree("tree", specs, wish).expect("a tree");
        *journal.most.lock().expect("a lock") = Some(journal.count() + most);
        for part in 0..2 {
            let x: Vec<i32> = (part * ROWS..(part + 1) * ROWS).map(|x| x as i32).collect();
            let y = vec![1.0; ROWS];
            // The disk is full, now or when the cluster lands.
            let _ = tree.extend(&[("x", Values::from(&x)), ("y", Values::from(&y))]);
        }
        let full = tree.flush().is_err();
        *journal.most.lock().expect("a lock") = None;
        // A header that knows of the room of what failed.
        file.save().expect("room");
        tree.flush().expect("room");
        let (file_now, left) = recovered(&journal, "waves");
        check(&file_now, "tree", 2 * ROWS as u64, &what);
        assert_eq!(left, Vec::<String>::new(), "{what}");
        assert!(full || most > 8, "{what}");
        tree.close().expect("room");
        file.close().expect("room");
        let whole = open(journal.image(&[], journal.count(), 0)).expect("a file");
        check(&whole, "tree", 2 * ROWS as u64, &what);
        whole.records().unwrap_or_else(|error| panic!("{what}: {error}"));
    }
}

#[test]
fn close_reports_a_lost_cluster_that_no_caller_waited_for() {
    let journal = Arc::new(Journal::default());
    let mut file = FileWriter::to_sink(Arc::clone(&journal), "lost.root", threads(3)).expect("a file");
    let wish = TreeOptions { auto_flush: Every::Entries(10), ..TreeOptions::default() };
    let mut tree = file.tree("tree", vec![BranchSpec::number("x", Number::I32)], wish).expect("a tree");
    *journal.most.lock().expect("a lock") = Some(journal.count());
    tree.extend(&[("x", Values::from(&[0; 10]))]).expect("it is on its way");
    drop(tree);
    *journal.most.lock().expect("a lock") = None;
    assert_eq!(file.close().expect_err("rows are gone").kind(), ErrorKind::Io);
    check(&open(journal.image(&[], journal.count(), 0)).expect("a file"), "tree", 0, "lost");
}

#[test]
fn an_object_that_is_moved_is_listed_at_any_time() {
    let before = {
        let journal = Arc::new(Journal::default());
        let mut file = FileWriter::to_sink(Arc::clone(&journal), "moved.root", options()).expect("a file");
        for path in ["a/b/deep", "a/other", "top", "c/d/swapped", "e/back"] {
            file.write(path, Draft::new("TObjString").with("fString", path)).expect("an object");
        }
        file.close().expect("a file");
        journal.image(&[], journal.count(), 0)
    };
    let moves = [
        ("a/b/deep", "deep"), // to a parent
        ("top", "a/b/top"),   // down again, into the directory that has lost something
        ("a/other", "new/folder/other"),
        ("c/d/swapped", "e/swapped"),
        ("e/back", "c/d/back"), // two directories that exchange objects
    ];
    let journal = Arc::new(Journal::default());
    let store = Arc::new(MemoryStore::new("moved.root", before.clone()));
    let mut file = FileWriter::update_with(store, Arc::clone(&journal), options()).expect("a file");
    for (from, to) in moves {
        file.rename(from, to).expect("it is there");
    }
    file.close().expect("a file");
    for writes in 0..=journal.count() {
        let file = open(journal.image(&before, writes, 0)).unwrap_or_else(|error| panic!("{writes} writes: {error}"));
        for (from, to) in moves {
            let text = |path: &str| file.object(path).ok()?.member("fString").ok()?.as_text();
            let found = text(from).or_else(|| text(to));
            assert_eq!(found.as_deref(), Some(from), "{from} to {to} after {writes} writes");
        }
    }
    let file = open(journal.image(&before, journal.count(), 0)).expect("a file");
    assert!(moves.iter().all(|(from, to)| file.key(from).is_err() && file.key(to).is_ok()));
}
