//! RNTuples that are written and read: values, bytes, requests, and what happens when storage fails.

#![allow(clippy::unwrap_used, reason = "tests may")]

use std::sync::Arc;

use sapwood::column::{Field, Kind, ListOf, Number};
use sapwood::inspect::verify::{Severity, verify_file};
use sapwood::io::{MemorySink, MemoryStore, Recorded, Store};
use sapwood::ntuple::{NTuple, Part, columns, columns_with};
use sapwood::read::{Column, Selection};
use sapwood::write::{FieldSpec, FileWriter, NTupleOptions, WriteOptions};
use sapwood::{ErrorKind, File, OpenOptions, Session};

const ROWS: usize = 1_000;

fn number(buffer: u32, number: Number) -> Kind {
    Kind::Number { buffer, number }
}

fn le<const W: usize, T>(values: impl IntoIterator<Item = T>, to: impl Fn(T) -> [u8; W]) -> Vec<u8> {
    values.into_iter().flat_map(to).collect()
}

/// A field `jets`: lists of records with a number, a text and an option.
fn jets(rows: std::ops::Range<usize>) -> Column {
    let per_row = |row: usize| row % 4;
    let items: Vec<usize> = rows.clone().flat_map(|row| (0..per_row(row)).map(move |k| row * 10 + k)).collect();
    let mut ends = vec![0_i64];
    for row in rows.clone() {
        ends.push(ends[ends.len() - 1] + per_row(row) as i64);
    }
    let texts: Vec<String> = items.iter().map(|item| "x".repeat(item % 5)).collect();
    let mut text_ends = vec![0_i64];
    for text in &texts {
        text_ends.push(text_ends[text_ends.len() - 1] + text.len() as i64);
    }
    let tags: Vec<u8> = items.iter().map(|item| if item % 3 == 0 { u8::MAX } else { 0 }).collect();
    let options = items.iter().filter(|&item| item % 3 != 0).map(|&item| item as i16);
    let buffers = vec![
        le(ends, i64::to_ne_bytes).into(),
        le(items.iter().map(|&item| item as f32), f32::to_ne_bytes).into(),
        le(text_ends, i64::to_ne_bytes).into(),
        texts.concat().into_bytes().into(),
        tags.into(),
        le(options, i16::to_ne_bytes).into(),
    ];
    let member = |name: &str, kind| Field { name: name.into(), kind, base: false };
    let record = Kind::Record {
        class: "".into(),
        fields: vec![
            member("pt", number(1, Number::F32)),
            member("name", Kind::Text { offsets: 2, bytes: 3 }),
            member("maybe", Kind::OneOf { tags: 4, of: vec![number(5, Number::I16)] }),
        ],
    };
    let kind = Kind::List { offsets: 0, of: ListOf::Sequence, item: Box::new(record) };
    Column::from_buffers(kind, rows.len(), buffers)
}

fn numbers(rows: std::ops::Range<usize>) -> Column {
    Column::from_numbers(&rows.map(|row| row as i64 * 1_000_003).collect::<Vec<_>>())
}

fn specs() -> Vec<FieldSpec> {
    vec![FieldSpec::new("n", numbers(0..0).kind.clone()), FieldSpec::new("jets", jets(0..0).kind.clone())]
}

fn small() -> NTupleOptions {
    NTupleOptions { cluster_bytes: 4_000, page_bytes: 512, ..NTupleOptions::default() }
}

/// A file of all rows, which come `step` at a time.
fn written(threads: usize, step: usize, options: NTupleOptions) -> Vec<u8> {
    let sink = Arc::new(MemorySink::default());
    let how = WriteOptions { session: Session::with_threads(threads), reproducible: true, ..WriteOptions::default() };
    let mut file = FileWriter::to_sink(Arc::clone(&sink), "memory.root", how).unwrap();
    let mut ntuple = file.ntuple("folder/events", specs(), options).unwrap();
    for start in (0..ROWS).step_by(step) {
        let rows = start..ROWS.min(start + step);
        ntuple.extend(&[("jets", jets(rows.clone())), ("n", numbers(rows))]).unwrap();
    }
    ntuple.close().unwrap();
    file.close().unwrap();
    sink.to_bytes().to_vec()
}

fn opened(bytes: Vec<u8>, threads: usize) -> (Arc<NTuple>, Arc<Recorded<MemoryStore>>) {
    let store = Arc::new(Recorded::new(MemoryStore::new("memory.root", bytes)));
    let options = OpenOptions { session: Session::with_threads(threads), ..OpenOptions::default() };
    let watched: Arc<dyn Store> = Arc::new(Arc::clone(&store));
    let file = File::from_store(watched, options).unwrap();
    (file.ntuple("folder/events").unwrap(), store)
}

fn top(ntuple: &NTuple) -> Vec<usize> {
    ntuple.top().to_vec()
}

#[test]
fn what_is_written_is_read_whole_and_in_parts() {
    for threads in [1, 2] {
        let (ntuple, _) = opened(written(2, 130, small()), threads);
        assert!(ntuple.clusters().unwrap().len() > 3);
        for range in [0..ROWS, 0..0, 17..18, 3..999, 500..501, 990..ROWS] {
            let read = columns(&ntuple, &top(&ntuple), range.start as u64..range.end as u64).unwrap();
            assert_eq!(read[0].to_arrow().unwrap().as_ref(), numbers(range.clone()).to_arrow().unwrap().as_ref());
            assert_eq!(
                read[1].to_arrow().unwrap().as_ref(),
                jets(range.clone()).to_arrow().unwrap().as_ref(),
                "{range:?}"
            );
        }
        let some = Selection::of_entries((0..ROWS as u64).filter(|entry| entry % 37 == 5)).unwrap();
        let read = columns(&ntuple, &top(&ntuple), some.clone()).unwrap();
        let wanted: Vec<i64> = some.ranges().flatten().map(|entry| entry as i64 * 1_000_003).collect();
        assert_eq!(read[0].as_slice::<i64>().unwrap(), wanted);
        let path = ntuple.field("jets.pt").unwrap().id;
        let pt = columns(&ntuple, &[path], 0..ROWS as u64).unwrap();
        assert_eq!(pt[0].offsets(), jets(0..ROWS).offsets());
    }
}

#[test]
fn bytes_depend_on_rows_alone() {
    let bytes = written(1, ROWS, small());
    for (threads, step) in [(2, ROWS), (1, 1), (4, 7), (2, 499)] {
        assert!(written(threads, step, small()) == bytes, "{threads} threads, {step} rows at a time");
    }
}

#[test]
fn whole_columns_cost_a_request_a_window() {
    let (ntuple, store) = opened(written(1, ROWS, NTupleOptions::default()), 1);
    store.take_calls();
    let clusters = ntuple.clusters().unwrap().len();
    assert_eq!((clusters, store.take_calls().len()), (1, 1), "the page list");
    columns(&ntuple, &top(&ntuple), 0..ROWS as u64).unwrap();
    assert_eq!(store.take_calls().len(), 1, "all pages of a cluster lie together");
    // A part of lists: the ends at its borders, then the rest; what is known is not read again.
    columns(&ntuple, &top(&ntuple)[..1], 10..20).unwrap();
    assert_eq!(store.take_calls().len(), 1);
    let (ntuple, store) = opened(written(1, ROWS, small()), 1);
    ntuple.clusters().unwrap();
    store.take_calls();
    columns(&ntuple, &[ntuple.field("jets").unwrap().id], 100..110).unwrap();
    let calls = store.take_calls();
    let mut ranges: Vec<_> = calls.iter().flat_map(|call| call.ranges.clone()).collect();
    ranges.sort_by_key(|range| range.start);
    assert!(ranges.windows(2).all(|pair| pair[0].end <= pair[1].start), "{ranges:?}");
    assert!(calls.len() <= 3, "ends of the lists, ends of the texts and options, the values: {}", calls.len());
}

#[test]
fn windows_end_with_clusters_and_report_their_bytes() {
    for threads in [1, 2] {
        let (ntuple, store) = opened(written(1, ROWS, small()), threads);
        let clusters = ntuple.clusters().unwrap().len();
        ntuple.cache().set_budget(1);
        store.take_calls();
        let mut seen = Vec::new();
        columns_with(&ntuple, &top(&ntuple), 0..ROWS as u64, |progress| {
            seen.push(progress);
            Ok(())
        })
        .unwrap();
        let last = seen.last().unwrap();
        assert_eq!(last.done_bytes, last.total_bytes, "small clusters are read whole");
        assert!(seen.windows(2).all(|pair| pair[0].done_bytes < pair[1].done_bytes), "{seen:?}");
        assert!(if threads == 1 { seen.len() == clusters } else { seen.len() <= clusters + 1 }, "{seen:?}");
        assert_eq!(store.take_calls().len(), clusters);
        let stopped = |_| Err(sapwood::Error::mismatch("enough"));
        let error = columns_with(&ntuple, &top(&ntuple), 0..ROWS as u64, stopped).unwrap_err();
        assert!(error.to_string().contains("enough"), "{error}");
    }
}

/// Numbers and lists of numbers, in one cluster of many pages.
fn one_large_cluster(rows: usize) -> (Vec<u8>, Vec<i64>, Vec<Vec<i64>>) {
    let noise = |at: usize| (at as i64).wrapping_mul(6_364_136_223_846_793_005) >> 3;
    let numbers: Vec<i64> = (0..rows).map(noise).collect();
    let lists: Vec<Vec<i64>> = (0..rows).map(|row| (0..row % 5).map(|item| noise(row + item)).collect()).collect();
    let mut ends = vec![0_i64];
    ends.extend(lists.iter().scan(0, |end, list| {
        *end += list.len() as i64;
        Some(*end)
    }));
    let bytes = |values: &[i64]| values.iter().flat_map(|value| value.to_ne_bytes()).collect::<Vec<u8>>().into();
    let kind = Kind::List { offsets: 0, of: ListOf::Sequence, item: Box::new(number(1, Number::I64)) };
    let column = Column::from_buffers(kind.clone(), rows, vec![bytes(&ends), bytes(&lists.concat())]);
    let sink = Arc::new(MemorySink::default());
    let mut file = FileWriter::to_sink(Arc::clone(&sink), "memory.root", WriteOptions::default()).unwrap();
    let specs = vec![FieldSpec::new("x", number(0, Number::I64)), FieldSpec::new("v", kind)];
    let options = NTupleOptions { page_bytes: 32 << 10, ..NTupleOptions::default() };
    let mut ntuple = file.ntuple("folder/events", specs, options).unwrap();
    ntuple.extend(&[("x", Column::from_numbers(&numbers)), ("v", column)]).unwrap();
    ntuple.close().unwrap();
    file.close().unwrap();
    (sink.to_bytes().to_vec(), numbers, lists)
}

#[test]
fn single_entries_cost_the_pages_around_them() {
    const ENTRIES: usize = 300_000;
    let (bytes, numbers, lists) = one_large_cluster(ENTRIES);
    let stored = bytes.len() as u64;
    for budget in [0, 30_000_000] {
        let (ntuple, store) = opened(bytes.clone(), 1);
        ntuple.cache().set_budget(budget);
        let mut reader = ntuple.reader().unwrap();
        // Far from each other, in no order.
        let jumps: Vec<usize> = (0..20).map(|at| (at * 211_031 + 3) % ENTRIES).collect();
        store.take_calls();
        let mut calls = Vec::new();
        for &entry in &jumps {
            reader.go_to(entry as u64).unwrap();
            assert_eq!(reader.number::<i64>("x").unwrap(), numbers[entry]);
            assert_eq!(reader.numbers::<i64>("v").unwrap(), lists[entry]);
            calls.push(store.take_calls());
            // What is near is there.
            let near = entry ^ 1;
            reader.go_to(near as u64).unwrap();
            assert_eq!(reader.numbers::<i64>("v").unwrap(), lists[near]);
        }
        for call in &calls {
            let bytes: u64 = call.iter().flat_map(|call| &call.ranges).map(|range| range.end - range.start).sum();
            assert!(bytes < stored / 2, "{bytes} of {stored} bytes for one entry");
        }
        if budget > 0 {
            // From the second on both fields are fetched together; what the lists need besides is close by.
            let counts: Vec<usize> = calls.iter().map(Vec::len).collect();
            assert!(counts[1..].iter().all(|&count| count <= 2), "{counts:?}");
            assert!(counts.iter().sum::<usize>() <= 30, "{counts:?}");
            let figures = ntuple.cache().figures();
            assert!(figures.hits > 0 && figures.fetched_bytes > 0, "{figures:?}");
        }
    }
}

#[test]
fn entries_in_order_are_fetched_window_by_window() {
    let (ntuple, store) = opened(written(1, ROWS, small()), 1);
    let clusters = ntuple.clusters().unwrap().len();
    let all = columns(&ntuple, &top(&ntuple), 0..ROWS as u64).unwrap();
    store.take_calls();
    let mut reader = ntuple.reader().unwrap();
    for entry in 0..ROWS {
        reader.go_to(entry as u64).unwrap();
        assert_eq!(reader.number::<i64>("n").unwrap(), entry as i64 * 1_000_003);
        assert_eq!(
            reader.numbers::<f32>("jets.pt").unwrap().len(),
            all[1].offsets()[entry + 1] as usize - all[1].offsets()[entry] as usize
        );
    }
    assert!(store.take_calls().len() < clusters, "windows grow to several clusters");
    let listed = vec![900, 3, 3, 500, 998];
    let mut reader = ntuple.reader_along(listed.clone()).unwrap();
    for entry in listed {
        reader.go_to(entry).unwrap();
        assert_eq!(reader.number::<i64>("n").unwrap(), entry as i64 * 1_000_003);
    }
    assert!(store.take_calls().len() <= 2, "all of the list at once");
    assert!(reader.go_to(ROWS as u64).is_err() && ntuple.reader_along(vec![ROWS as u64]).is_err());
    assert!(reader.number::<i64>("m").is_err());
}

#[test]
fn equal_pages_are_stored_once() {
    let size = |values: &[i32]| {
        let sink = Arc::new(MemorySink::default());
        let how = WriteOptions { reproducible: true, ..WriteOptions::default() };
        let mut file = FileWriter::to_sink(Arc::clone(&sink), "memory.root", how).unwrap();
        let spec = |name| FieldSpec::new(name, number(0, Number::I32));
        let mut ntuple = file.ntuple("t", vec![spec("a"), spec("b")], NTupleOptions::default()).unwrap();
        ntuple.extend(&[("a", Column::from_numbers(values)), ("b", Column::from_numbers(values))]).unwrap();
        ntuple.close().unwrap();
        file.close().unwrap();
        sink.to_bytes().len()
    };
    let mut state = 1_u64;
    let noise: Vec<i32> = std::iter::repeat_with(|| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 32) as i32
    })
    .take(10_000)
    .collect();
    assert!(size(&noise) < 40_000 + 8_000, "two columns with the same values take the room of one");
}

#[test]
fn wrong_rows_are_refused_and_change_nothing() {
    let sink = Arc::new(MemorySink::default());
    let mut file = FileWriter::to_sink(Arc::clone(&sink), "memory.root", WriteOptions::default()).unwrap();
    let mut ntuple = file.ntuple("t", specs(), NTupleOptions::default()).unwrap();
    let kind = |error: sapwood::Error| (error.kind(), error.to_string());
    let (found, words) = kind(ntuple.extend(&[("n", numbers(0..3))]).unwrap_err());
    assert!(found == ErrorKind::Mismatch && words.contains("\"jets\" was given no values"), "{words}");
    let (found, words) = kind(ntuple.extend(&[("n", numbers(0..3)), ("jets", jets(0..2))]).unwrap_err());
    assert!(found == ErrorKind::Mismatch && words.contains("another number of values"), "{words}");
    let (found, words) = kind(ntuple.extend(&[("n", jets(0..2)), ("jets", jets(0..2))]).unwrap_err());
    assert!(found == ErrorKind::Mismatch && words.contains("not the type of the field"), "{words}");
    let (found, _) = kind(ntuple.extend(&[("m", numbers(0..2))]).unwrap_err());
    assert_eq!(found, ErrorKind::NotFound);
    let short = Column::from_buffers(number(0, Number::I64), 5, vec![vec![0; 16].into()]);
    let (found, words) = kind(ntuple.extend(&[("n", short), ("jets", jets(0..5))]).unwrap_err());
    assert!(found == ErrorKind::Mismatch && words.contains("fewer values than rows"), "{words}");
    ntuple.extend(&[("n", numbers(0..5)), ("jets", jets(0..5))]).unwrap();
    assert_eq!(ntuple.taken(), 5);
    ntuple.close().unwrap();
    file.close().unwrap();
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new("memory.root", sink.to_bytes()));
    let file = File::from_store(store, OpenOptions::default()).unwrap();
    assert_eq!(file.ntuple("t").unwrap().entries, 5);
    for name in ["", "a.b", "a b", "a/b", "a\\b", "a\nb"] {
        let error = FieldSpec::new(name, number(0, Number::I8));
        let sink = Arc::new(MemorySink::default());
        let mut file = FileWriter::to_sink(sink, "memory.root", WriteOptions::default()).unwrap();
        assert_eq!(file.ntuple("t", vec![error], NTupleOptions::default()).unwrap_err().kind(), ErrorKind::Mismatch);
    }
}

#[test]
fn what_was_saved_is_there_while_more_is_written() {
    let sink = Arc::new(MemorySink::default());
    let mut file = FileWriter::to_sink(Arc::clone(&sink), "memory.root", WriteOptions::default()).unwrap();
    let mut ntuple = file.ntuple("t", specs(), small()).unwrap();
    let entries = || {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new("memory.root", sink.to_bytes()));
        let file = File::from_store(store, OpenOptions::default()).unwrap();
        let ntuple = file.ntuple("t").unwrap();
        let read = columns(&ntuple, &top(&ntuple), 0..ntuple.entries).unwrap();
        assert_eq!(
            read[0].to_arrow().unwrap().as_ref(),
            numbers(0..ntuple.entries as usize).to_arrow().unwrap().as_ref()
        );
        ntuple.entries
    };
    assert_eq!(entries(), 0, "it is there from the beginning");
    for part in 0..5 {
        let rows = part * 100..(part + 1) * 100;
        ntuple.extend(&[("n", numbers(rows.clone())), ("jets", jets(rows.clone()))]).unwrap();
        ntuple.flush().unwrap();
        assert_eq!(entries(), rows.start as u64, "committed, and not saved yet");
        file.save().unwrap();
        assert_eq!(entries(), rows.end as u64);
    }
    ntuple.close().unwrap();
    file.close().unwrap();
    assert_eq!(entries(), 500);
}

#[test]
fn a_damaged_page_list_hides_its_own_clusters_only() {
    let sink = Arc::new(MemorySink::default());
    let mut file = FileWriter::to_sink(Arc::clone(&sink), "memory.root", WriteOptions::default()).unwrap();
    let mut ntuple = file.ntuple("folder/events", specs(), NTupleOptions::default()).unwrap();
    for part in 0..3 {
        let rows = part * 100..(part + 1) * 100;
        ntuple.extend(&[("n", numbers(rows.clone())), ("jets", jets(rows))]).unwrap();
        ntuple.flush().unwrap();
    }
    // Not closed: each cluster has a page list of its own.
    file.save().unwrap();
    let mut bytes = sink.to_bytes().to_vec();
    let (whole, _) = opened(bytes.clone(), 1);
    let parts = whole.parts().unwrap();
    let (at, _) = parts.iter().find(|(_, part)| *part == Part::PageList(1)).unwrap();
    bytes[*at as usize + 20] ^= 1;
    let (ntuple, _) = opened(bytes.clone(), 1);
    assert_eq!(ntuple.clusters().unwrap(), [0..100, 100..200, 200..300]);
    let all = top(&ntuple);
    for rows in [0..100, 200..300] {
        let read = columns(&ntuple, &all, rows.start as u64..rows.end as u64).unwrap();
        assert_eq!(read[1].to_arrow().unwrap().as_ref(), jets(rows).to_arrow().unwrap().as_ref());
    }
    let error = columns(&ntuple, &all, 99..101).unwrap_err();
    assert_ne!(error.kind(), ErrorKind::Internal);
    assert!(error.to_string().contains("cluster group 1"), "{error}");
    let of = |ntuple: &NTuple| ntuple.field_bytes(ntuple.field("n").unwrap().id).unwrap();
    assert_eq!((of(&whole).pages, of(&ntuple).pages), (3, 2));
    let damage = |bytes: &[u8]| {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new("memory.root", bytes.to_vec()));
        let report = verify_file(&File::from_store(store, OpenOptions::default()).unwrap());
        let damage = report.findings.into_iter().filter(|finding| finding.severity == Severity::Damage);
        damage.map(|finding| finding.object).collect::<Vec<_>>()
    };
    let found = damage(&bytes);
    assert!(found.len() == 1 && format!("{found:?}").contains("folder/events;1/cluster group 1"), "{found:?}");
    // Nothing is left where none can be read.
    for (at, part) in parts {
        if matches!(part, Part::PageList(0 | 2)) {
            bytes[at as usize + 20] ^= 1;
        }
    }
    assert!(opened(bytes, 1).0.clusters().is_err());
}

/// An RNTuple of one object whose class has so many members in a base of a base ...
fn inherited(members: usize, bases: usize) -> Vec<u8> {
    let member = |at: usize| Field { name: format!("m{at}").into(), kind: number(0, Number::I8), base: false };
    let innermost = Kind::Record { class: "B".into(), fields: (0..members).map(member).collect() };
    let kind = (0..bases).fold(innermost, |kind, at| {
        let fields = vec![Field { name: "B".into(), kind, base: true }, member(at)];
        Kind::Record { class: "B".into(), fields }
    });
    let sink = Arc::new(MemorySink::default());
    let mut file = FileWriter::to_sink(Arc::clone(&sink), "memory.root", WriteOptions::default()).unwrap();
    let spec = FieldSpec::new("object", kind);
    file.ntuple("folder/events", vec![spec], NTupleOptions::default()).unwrap().close().unwrap();
    file.close().unwrap();
    sink.to_bytes().to_vec()
}

#[test]
fn members_of_bases_are_named_after_them_within_limits() {
    let (ntuple, _) = opened(inherited(3, 2), 1);
    let paths: Vec<&str> = ntuple.fields().iter().filter(|field| field.is_named).map(|field| &*field.path).collect();
    assert_eq!(paths, ["object", "object.B::m0", "object.B::m1", "object.m2", "object.m0", "object.m1"]);
    let names: Vec<_> =
        ntuple.kind(ntuple.top()[0]).unwrap().shown_members().into_iter().map(|(name, _)| name).collect();
    let shown: Vec<String> = names.iter().map(|name| format!("object.{name}")).collect();
    assert_eq!(shown, paths[1..]);
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new("memory.root", inherited(90_000, 50)));
    let error = File::from_store(store, OpenOptions::default()).unwrap().ntuple("folder/events").unwrap_err();
    assert!(error.kind() == ErrorKind::Limit && error.to_string().contains("base classes"), "{error}");
}

#[test]
fn many_threads_fill_one_ntuple() {
    const THREADS: usize = 8;
    const EACH: usize = 400;
    let sink = Arc::new(MemorySink::default());
    let mut file = FileWriter::to_sink(Arc::clone(&sink), "memory.root", WriteOptions::default()).unwrap();
    let ntuple = file.parallel_ntuple("t", specs(), small()).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let mut context = ntuple.context();
            scope.spawn(move || {
                for start in (0..EACH).step_by(50) {
                    let rows = thread * EACH + start..thread * EACH + start + 50;
                    context.extend(&[("n", numbers(rows.clone())), ("jets", jets(rows))]).unwrap();
                }
                context.close().unwrap();
            });
        }
    });
    let open = ntuple.context();
    assert_eq!(ntuple.fields().len(), 2);
    drop(open);
    ntuple.close().unwrap();
    file.close().unwrap();
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new("memory.root", sink.to_bytes()));
    let file = File::from_store(store, OpenOptions::default()).unwrap();
    let ntuple = file.ntuple("t").unwrap();
    assert_eq!(ntuple.entries as usize, THREADS * EACH);
    let read = columns(&ntuple, &top(&ntuple), 0..ntuple.entries).unwrap();
    let rows: Vec<usize> = read[0].as_slice::<i64>().unwrap().iter().map(|n| (n / 1_000_003) as usize).collect();
    let mut sorted = rows.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, (0..THREADS * EACH).collect::<Vec<_>>(), "each row once");
    // The columns of a row stay together.
    let ends = read[1].offsets();
    assert!(rows.iter().enumerate().all(|(at, row)| (ends[at + 1] - ends[at]) as usize == row % 4));
    let mut file = FileWriter::to_sink(sink, "memory.root", WriteOptions::default()).unwrap();
    let ntuple = file.parallel_ntuple("t", specs(), small()).unwrap();
    let context = ntuple.context();
    let error = ntuple.close().unwrap_err();
    assert!(error.kind() == ErrorKind::Mismatch && error.to_string().contains("1 contexts"), "{error}");
    drop(context);
}
