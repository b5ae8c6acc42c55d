//! Storage that holds writes back, or refuses them.

use super::*;

/// Memory that holds back what is written to the end of the file, or refuses it.
#[derive(Default)]
pub(super) struct HeldSink {
    pub(super) memory: MemorySink,
    holds: AtomicBool,
    held: Option<(Barrier, Barrier)>,
    /// The number of writes that still succeed; then all fail while this is set.
    left: Mutex<Option<usize>>,
}

impl Sink for HeldSink {
    fn write_at(&self, offset: u64, parts: &[IoSlice<'_>]) -> Result<()> {
        if let Some(left) = &mut *self.left.lock().expect("a lock") {
            if *left == 0 {
                return Err(Error::new(ErrorKind::Io, "the disk is full"));
            }
            *left -= 1;
        }
        let bytes: usize = parts.iter().map(|part| part.len()).sum();
        if let Some((come, go)) = &self.held
            && bytes > 4
            && self.holds.swap(false, Ordering::Relaxed)
        {
            come.wait();
            go.wait();
        }
        self.memory.write_at(offset, parts)
    }

    fn sync(&self) -> Result<()> {
        Ok(())
    }
}

pub(super) fn held_file(sink: &Arc<HeldSink>, tree: TreeOptions) -> (FileWriter, ParallelWriter) {
    let mut file = FileWriter::to_sink(Arc::clone(sink), "parallel.root", options()).expect("a file");
    let tree = file.parallel_tree("t", specs(), tree).expect("a tree");
    (file, tree)
}

#[test]
fn clusters_after_an_unwritten_one_are_not_published() {
    let sink = Arc::new(HeldSink { held: Some((Barrier::new(2), Barrier::new(2))), ..HeldSink::default() });
    let (file, tree) = held_file(&sink, every(10));
    let (come, go) = sink.held.as_ref().expect("a sink");
    let mut first = tree.context();
    fill(&mut first, 0..10).expect("rows");
    tree.save().expect("a save");
    sink.holds.store(true, Ordering::Relaxed);
    thread::scope(|scope| {
        scope.spawn(|| fill(&mut first, 10..20).expect("rows"));
        come.wait();
        // Its room is taken, its bytes are not there.
        let mut second = tree.context();
        fill(&mut second, 20..30).expect("rows");
        assert_eq!(tree.entries().expect("a tree"), 10);
        // A save waits for it, and no space is reserved meanwhile.
        let saved = scope.spawn(|| tree.save().expect("a save"));
        let file = open(sink.memory.to_bytes());
        assert_eq!(values(&file, "t"), (0..10).collect::<Vec<_>>());
        go.wait();
        assert!(saved.join().expect("no panic") >= 30);
        second.close().expect("rows");
    });
    first.close().expect("rows");
    assert_eq!(tree.save().expect("a save"), 30);
    let file_now = open(sink.memory.to_bytes());
    is_whole(&file_now);
    assert_eq!(values(&file_now, "t"), (0..30).collect::<Vec<_>>());
    tree.close().expect("a tree");
    file.close().expect("a file");
    is_whole(&open(sink.memory.to_bytes()));
}

#[test]
fn failed_writes_are_retried_at_their_reserved_offset() {
    // Marks, bodies and first words of clusters fail in turn.
    for writes in 0..9 {
        let sink = Arc::new(HeldSink::default());
        let (file, tree) = held_file(&sink, every(10));
        let mut contexts = [tree.context(), tree.context(), tree.context()];
        *sink.left.lock().expect("a lock") = Some(writes);
        let mut told = 0;
        for (index, context) in contexts.iter_mut().enumerate() {
            let start = 10 * index as i64;
            told += usize::from(fill(context, start..start + 10).is_err());
        }
        assert!(told > 0, "{writes} writes");
        assert!(tree.save().is_err());
        *sink.left.lock().expect("a lock") = None;
        contexts.into_iter().for_each(|context| context.close().expect("rows"));
        tree.close().expect("a tree");
        file.close().expect("a file");
        let file = open(sink.memory.to_bytes());
        is_whole(&file);
        let mut all = values(&file, "t");
        all.sort_unstable();
        assert_eq!(all, (0..30).collect::<Vec<_>>(), "{writes} writes");
    }
}

#[test]
fn contexts_that_end_on_a_full_disk_leave_their_rows_with_the_tree() {
    for writes in 0..12 {
        for is_saved in [false, true] {
            let sink = Arc::new(HeldSink::default());
            let (file, tree) = held_file(&sink, every(10));
            let (mut first, mut second, mut third) = (tree.context(), tree.context(), tree.context());
            *sink.left.lock().expect("a lock") = Some(writes);
            let mut told = usize::from(fill(&mut first, 0..15).is_err());
            told += usize::from(first.close().is_err());
            told += usize::from(fill(&mut second, 15..18).is_err());
            drop(second);
            told += usize::from(fill(&mut third, 18..50).is_err());
            assert!(told > 0 || tree.save().is_err(), "{writes} writes");
            third.close().unwrap_err();
            // There is room again before the tree is closed.
            *sink.left.lock().expect("a lock") = None;
            if is_saved {
                assert_eq!(tree.save().expect("a save"), 50, "{writes} writes");
            }
            tree.close().expect("a tree");
            file.close().expect("nothing was lost");
            let file = open(sink.memory.to_bytes());
            is_whole(&file);
            let mut all = values(&file, "t");
            all.sort_unstable();
            assert_eq!(all, (0..50).collect::<Vec<_>>(), "{writes} writes");
        }
    }
}

#[test]
fn units_that_end_on_a_full_disk_are_in_the_tree() {
    for writes in 0..8 {
        let sink = Arc::new(HeldSink::default());
        let (file, tree) = held_file(&sink, every(10));
        let mut context = tree.numbered();
        *sink.left.lock().expect("a lock") = Some(writes);
        let mut told = 0;
        for unit in 0..3 {
            let mut writer = context.unit(unit).expect("a unit");
            told += usize::from(fill(&mut writer, unit as i64 * 15..unit as i64 * 15 + 15).is_err());
            told += usize::from(writer.close().is_err());
        }
        assert!(told > 0, "{writes} writes");
        drop(context);
        *sink.left.lock().expect("a lock") = None;
        tree.close().expect("a tree");
        file.close().expect("nothing was lost");
        let file = open(sink.memory.to_bytes());
        is_whole(&file);
        assert_eq!(values(&file, "t"), (0..45).collect::<Vec<_>>(), "{writes} writes");
    }
}

#[test]
fn rows_that_stay_with_a_tree_are_missed_if_the_disk_stays_full() {
    let sink = Arc::new(HeldSink::default());
    let (file, tree) = held_file(&sink, every(10));
    let mut context = tree.context();
    fill(&mut context, 0..12).expect("rows");
    *sink.left.lock().expect("a lock") = Some(0);
    drop(context);
    let error = tree.close().unwrap_err();
    assert_eq!((error.kind(), error.message()), (ErrorKind::Io, "the disk is full"), "{error}");
    *sink.left.lock().expect("a lock") = None;
    file.close().expect("a file");
    let file = open(sink.memory.to_bytes());
    is_whole(&file);
    assert_eq!(values(&file, "t"), (0..10).collect::<Vec<_>>());
}

#[test]
fn numbered_units_keep_their_position_after_failed_writes() {
    for writes in 0..7 {
        let sink = Arc::new(HeldSink::default());
        let (file, tree) = held_file(&sink, every(10));
        let (mut first, mut second) = (tree.numbered(), tree.numbered());
        let mut one = second.unit(1).expect("a unit");
        fill(&mut one, 10..20).expect("it waits");
        let mut zero = first.unit(0).expect("a unit");
        *sink.left.lock().expect("a lock") = Some(writes);
        let told = [fill(&mut zero, 0..10).is_err(), zero.close().is_err(), tree.save().is_err()];
        assert!(told.contains(&true), "{writes} writes");
        *sink.left.lock().expect("a lock") = None;
        one.close().expect("rows");
        drop((first, second));
        tree.close().expect("a tree");
        file.close().expect("a file");
        let file = open(sink.memory.to_bytes());
        is_whole(&file);
        assert_eq!(values(&file, "t"), (0..20).collect::<Vec<_>>(), "{writes} writes");
    }
}
