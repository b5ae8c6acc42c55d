//! Typed slices and Arrow record batches: what is written comes back equal.

use std::sync::Arc;

use arrow_array::builder::{FixedSizeListBuilder, Float32Builder, LargeListBuilder, ListBuilder, StringBuilder};
use arrow_array::types::{Float32Type, Int32Type, UInt8Type};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Date32Array, Float64Array, Int16Array, LargeListArray, LargeStringArray, ListArray,
    RecordBatch, StringArray, StringViewArray,
};
use sapwood::column::Number;
use sapwood::io::{MemorySink, MemoryStore};
use sapwood::write::{BranchSpec, FileWriter, Item, TreeOptions, Values, WriteOptions};
use sapwood::{ErrorKind, File, OpenOptions, Result};

/// The tree that is written by `fill`, and its file.
fn tree(specs: Vec<BranchSpec>, fill: impl FnOnce(&mut sapwood::write::TreeWriter)) -> Arc<sapwood::tree::Tree> {
    let sink = Arc::new(MemorySink::default());
    let mut file = FileWriter::to_sink(Arc::clone(&sink), "a.root", WriteOptions::default()).expect("a file");
    let mut tree = file.tree("t", specs, TreeOptions::default()).expect("a tree");
    fill(&mut tree);
    tree.close().expect("rows");
    file.close().expect("a file");
    let store = Arc::new(MemoryStore::new("a.root", sink.to_bytes()));
    File::from_store(store, OpenOptions::default()).and_then(|file| file.tree("t")).expect("a tree")
}

fn specs(batch: &RecordBatch) -> Result<Vec<BranchSpec>> {
    batch.schema().fields().iter().map(|field| BranchSpec::from_arrow(field)).collect()
}

/// What a tree holds, in one batch.
fn read(tree: &Arc<sapwood::tree::Tree>, names: &[&str]) -> RecordBatch {
    tree.scan(names).expect("branches").next().expect("a step").and_then(|step| step.to_arrow()).expect("columns")
}

fn lists() -> ListArray {
    let lists = [Some(vec![Some(1.5), Some(2.5)]), Some(vec![]), Some(vec![Some(3.5)])];
    ListArray::from_iter_primitive::<Float32Type, _, _>(lists)
}

fn arrays() -> ArrayRef {
    let mut arrays = FixedSizeListBuilder::new(FixedSizeListBuilder::new(Float32Builder::new(), 2), 3);
    for row in 0..3_u8 {
        for item in 0..3_u8 {
            arrays.values().values().append_slice(&[f32::from(row), f32::from(item)]);
            arrays.values().append(true);
        }
        arrays.append(true);
    }
    Arc::new(arrays.finish())
}

fn words() -> ArrayRef {
    let mut words = LargeListBuilder::new(ListBuilder::new(StringBuilder::new()));
    for row in [&[&["a", "bc"][..], &[]][..], &[], &[&["", "ü"]]] {
        for list in row {
            words.values().append_value(list.iter().map(|&word| Some(word)));
        }
        words.append(true);
    }
    Arc::new(words.finish())
}

fn batch() -> RecordBatch {
    let columns: [(&str, ArrayRef); 8] = [
        ("flag", Arc::new(BooleanArray::from(vec![true, false, true]))),
        ("number", Arc::new(Int16Array::from(vec![-1, 0, 7]))),
        ("text", Arc::new(StringArray::from(vec!["mu", "", "tau"]))),
        ("large", Arc::new(LargeStringArray::from(vec!["x", "yz", ""]))),
        ("view", Arc::new(StringViewArray::from(vec!["short", "longer than twelve bytes", ""]))),
        ("list", Arc::new(lists())),
        ("array", arrays()),
        ("words", words()),
    ];
    RecordBatch::try_from_iter(columns).expect("a batch")
}

/// Values as text, without the width of offsets: `List` is written, and `LargeList` read.
fn shown(batch: &RecordBatch) -> Vec<String> {
    batch.columns().iter().map(|column| format!("{column:?}").replace("Large", "").replace("View", "")).collect()
}

#[test]
fn record_batches_come_back_equal() {
    let batch = batch();
    let names: Vec<String> = batch.schema().fields().iter().map(|field| field.name().clone()).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let written = tree(specs(&batch).expect("branches"), |tree| tree.extend_batch(&batch).expect("rows"));
    assert_eq!(shown(&read(&written, &names)), shown(&batch));
    // Slices begin and end within the memory of their columns.
    let written = tree(specs(&batch).expect("branches"), |tree| {
        tree.extend_batch(&batch.slice(1, 2)).expect("rows");
        tree.extend_batch(&batch.slice(0, 1)).expect("rows");
        tree.extend_batch(&batch.slice(2, 0)).expect("no rows");
    });
    let read = read(&written, &names);
    assert_eq!(shown(&read.slice(0, 2)), shown(&batch.slice(1, 2)));
    assert_eq!(shown(&read.slice(2, 1)), shown(&batch.slice(0, 1)));
}

#[test]
fn columns_that_were_read_are_written_again() {
    let batch = batch();
    let first = tree(specs(&batch).expect("branches"), |tree| tree.extend_batch(&batch).expect("rows"));
    let once = read(&first, &["flag", "list", "array", "words", "text"]);
    let second = tree(specs(&once).expect("branches"), |tree| tree.extend_batch(&once).expect("rows"));
    assert_eq!(read(&second, &["flag", "list", "array", "words", "text"]), once);
}

#[test]
fn lists_of_a_batch_fill_counted_branches() {
    let specs = vec![BranchSpec::counter("n"), BranchSpec::jagged("list", Number::F32, "n")];
    let batch = RecordBatch::try_from_iter([("list", Arc::new(lists()) as ArrayRef)]).expect("a batch");
    let tree = tree(specs, |tree| tree.extend_batch(&batch).expect("rows"));
    let step = tree.scan(&["n", "list"]).expect("branches").next().expect("a step").expect("columns");
    assert_eq!(step.column("n").expect("n").as_slice::<i32>().expect("counts"), [2, 0, 1]);
    assert_eq!(step.column("list").expect("list").offsets(), [0, 2, 2, 3]);
}

#[test]
fn nulls_and_types_without_a_branch_are_refused() {
    let null_items = ListArray::from_iter_primitive::<Int32Type, _, _>([Some(vec![Some(1), None])]);
    let null_lists = LargeListArray::from_iter_primitive::<UInt8Type, _, _>([Some(vec![Some(1)]), None]);
    let nulls: [ArrayRef; 4] = [
        Arc::new(Float64Array::from(vec![Some(0.5), None])),
        Arc::new(StringArray::from(vec![Some("a"), None])),
        Arc::new(null_items),
        Arc::new(null_lists),
    ];
    for column in nulls {
        let batch = RecordBatch::try_from_iter([("x", Arc::clone(&column))]).expect("a batch");
        tree(specs(&batch).expect("nullable fields are taken"), |tree| {
            let error = tree.extend_batch(&batch).expect_err("a null");
            assert_eq!(error.kind(), ErrorKind::Mismatch);
            assert!(error.to_string().contains("value 1 is null"), "{error}");
            // A slice without them is taken.
            if column.len() == 2 {
                tree.extend_batch(&batch.slice(0, 1)).expect("no null");
            }
            assert_eq!(tree.taken(), column.len() as u64 - 1, "{column:?}");
        });
    }
    let days = RecordBatch::try_from_iter([("day", Arc::new(Date32Array::from(vec![1])) as ArrayRef)]).expect("days");
    let error = specs(&days).expect_err("a date");
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("Date32") && error.to_string().contains("day"), "{error}");
}

#[test]
fn arrays_of_other_extents_are_refused() {
    let batch = RecordBatch::try_from_iter([("m", arrays())]).expect("a batch");
    let spec = BranchSpec::number("m", Number::F32).with_dimensions([2, 3]);
    tree(vec![spec], |tree| {
        let error = tree.extend_batch(&batch).expect_err("extents 3 and 2");
        assert!(error.to_string().contains("extents [2, 3], and was given [3, 2]"), "{error}");
    });
}

#[test]
fn typed_slices_come_back_equal() {
    let specs = vec![
        BranchSpec::number("flag", Number::Bool),
        BranchSpec::number("m", Number::U16).with_dimensions([2]),
        BranchSpec::vector("lists", Item::Number(Number::F32), 2),
        BranchSpec::vector("words", Item::Text, 1),
        BranchSpec::text("text"),
    ];
    let (outer, inner, items) = ([0, 2, 3], [0, 2, 2, 3], [1.0_f32, 2.0, 3.0]);
    let tree = tree(specs, |tree| {
        tree.extend(&[
            ("flag", Values::from(&[true, false])),
            ("m", Values::from(&[1_u16, 2, 3, 4])),
            ("lists", Values::nested(&[&outer, &inner], &items)),
            ("words", Values::string_lists(&[&[0, 0, 2]], ["a", "ü"])),
            ("text", Values::strings(["", "b"])),
        ])
        .expect("rows");
    });
    let step = tree.scan(&["flag", "m", "lists", "words", "text"]).expect("branches").next().expect("a step");
    let step = step.expect("columns");
    let column = |name: &str| step.column(name).expect("a column");
    assert_eq!(column("flag").as_slice::<bool>().expect("flags"), [true, false]);
    assert_eq!(column("m").as_slice::<u16>().expect("numbers"), [1, 2, 3, 4]);
    assert_eq!(column("m").items().expect("arrays").len, 4);
    let lists = column("lists");
    assert_eq!((lists.offsets(), lists.items().expect("lists").offsets()), (&outer[..], &inner[..]));
    assert_eq!(lists.as_slice::<f32>().expect("numbers"), items);
    let words = column("words");
    assert_eq!(words.offsets(), [0, 0, 2]);
    assert!(words.items().expect("lists").strings().expect("strings").eq(["a", "ü"]));
    assert!(column("text").strings().expect("strings").eq(["", "b"]));
    let error = column("m").as_slice::<i16>().expect_err("unsigned");
    assert_eq!(error.kind(), ErrorKind::Mismatch);
    assert!(error.to_string().contains("the column holds 2 * uint16, not int16"), "{error}");
    assert!(
        column("text").as_slice::<u8>().is_err() && column("m").strings().is_err() && column("flag").items().is_err()
    );
    assert_eq!(column("lists").member("x").expect_err("no objects").kind(), ErrorKind::Mismatch);
}
