//! Columns from memory: writes the same entries as typed slices (tree `slices`) and as an Arrow record batch (tree
//! `arrow`), reads both, and compares them.
//!
//! ```text
//! cargo run --example batches -- batches.root
//! ```

use std::error::Error;
use std::sync::Arc;

use arrow_array::builder::{FixedSizeListBuilder, Float32Builder, ListBuilder, StringBuilder};
use arrow_array::types::Float32Type;
use arrow_array::{ArrayRef, BooleanArray, Int64Array, ListArray, RecordBatch, StringArray};
use sapwood::File;
use sapwood::column::Number;
use sapwood::write::{BranchSpec, FileWriter, Item, TreeOptions, Values, WriteOptions};

const NAMES: [&str; 6] = ["number", "is_good", "position", "pt", "text", "words"];

fn write_slices(file: &mut FileWriter) -> sapwood::Result<()> {
    let specs = vec![
        BranchSpec::number("number", Number::I64),
        BranchSpec::number("is_good", Number::Bool),
        BranchSpec::number("position", Number::F32).with_dimensions([3]),
        BranchSpec::vector("pt", Item::Number(Number::F32), 1),
        BranchSpec::text("text"),
        BranchSpec::vector("words", Item::Text, 1),
    ];
    let mut tree = file.tree("slices", specs, TreeOptions::default())?;
    tree.extend(&[
        ("number", Values::from(&[1_i64, -2, 3])),
        ("is_good", Values::from(&[true, false, true])),
        ("position", Values::from(&[0.5_f32, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5])),
        ("pt", Values::lists(&[0, 2, 2, 3], &[50.25_f32, 20.5, 35.0])),
        ("text", Values::strings(["muon", "", "tau"])),
        ("words", Values::string_lists(&[&[0, 1, 3, 3]], ["a", "b", "cd"])),
    ])?;
    tree.close()
}

fn batch() -> Result<RecordBatch, Box<dyn Error>> {
    let mut positions = FixedSizeListBuilder::new(Float32Builder::new(), 3);
    for position in [[0.5, 1.0, 1.5], [2.0, 2.5, 3.0], [3.5, 4.0, 4.5]] {
        positions.values().append_slice(&position);
        positions.append(true);
    }
    let pt = [vec![50.25, 20.5], vec![], vec![35.0]].map(|list| Some(list.into_iter().map(Some).collect::<Vec<_>>()));
    let mut words = ListBuilder::new(StringBuilder::new());
    for list in [&["a"][..], &["b", "cd"], &[]] {
        words.append_value(list.iter().map(|&word| Some(word)));
    }
    let columns: [ArrayRef; 6] = [
        Arc::new(Int64Array::from(vec![1, -2, 3])),
        Arc::new(BooleanArray::from(vec![true, false, true])),
        Arc::new(positions.finish()),
        Arc::new(ListArray::from_iter_primitive::<Float32Type, _, _>(pt)),
        Arc::new(StringArray::from(vec!["muon", "", "tau"])),
        Arc::new(words.finish()),
    ];
    Ok(RecordBatch::try_from_iter(NAMES.into_iter().zip(columns))?)
}

fn write_arrow(file: &mut FileWriter) -> Result<(), Box<dyn Error>> {
    let batch = batch()?;
    let specs = batch.schema().fields().iter().map(|field| BranchSpec::from_arrow(field)).collect::<Result<_, _>>()?;
    let mut tree = file.tree("arrow", specs, TreeOptions::default())?;
    tree.extend_batch(&batch)?;
    Ok(tree.close()?)
}

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("usage: batches FILE")?;
    let mut file = FileWriter::recreate(&path, WriteOptions::default())?;
    write_slices(&mut file)?;
    write_arrow(&mut file)?;
    file.close()?;

    let file = File::open(&path)?;
    let read = |name: &str| -> Result<RecordBatch, Box<dyn Error>> {
        let mut steps = file.tree(name)?.scan(&NAMES)?;
        Ok(steps.next().ok_or("the tree has no entries")??.to_arrow()?)
    };
    let (slices, arrow) = (read("slices")?, read("arrow")?);
    if slices != arrow {
        return Err("the trees differ".into());
    }
    println!("{arrow:?}");
    Ok(())
}
