//! Objects as branches, written and read back. What real ROOT makes of them is tested in `tests/`.

use std::sync::Arc;

use sapwood::column::Number;
use sapwood::io::{MemorySink, MemoryStore};
use sapwood::write::{BranchSpec, Class, Column, FileWriter, TreeOptions, Type, Values, WriteOptions};
use sapwood::{File, OpenOptions, Session, read};

fn classes() -> Arc<Class> {
    let point = Class::new("Pos").member("x", Type::Number(Number::F64)).member("y", Type::Number(Number::F64));
    let point = Arc::new(point);
    let base = Arc::new(Class::new("Base").member("run", Type::Number(Number::I32)));
    let track = Class::new("Track")
        .base(Arc::clone(&base))
        .member("pt", Type::Number(Number::F32))
        .member("at", Type::Object(Arc::clone(&point)))
        .member("hits", Type::vector(Type::Number(Number::I16)))
        .member("tag", Type::Text)
        .member("cov", Type::Array(Number::F32, vec![2]));
    let event = Class::new("Event")
        .with_version(3)
        .base(base)
        .member("n", Type::Number(Number::U64))
        .member("best", Type::Object(Arc::new(track.clone())))
        .member("tracks", Type::vector(Type::Object(Arc::new(track))))
        .member("counts", Type::map(Type::Text, Type::Number(Number::I32)))
        .member("words", Type::vector(Type::Text))
        .member("opt", Type::Pointer(point));
    Arc::new(event)
}

/// A value of a type, generated from `seed`.
fn value(kind: &Type, seed: usize, column: &mut Column) {
    match (kind, column) {
        (Type::Number(number), Column::Numbers(_, bytes)) => number_of(*number, seed, bytes),
        (Type::Array(number, extents), Column::Numbers(_, bytes)) => {
            (0..extents.iter().product::<u32>()).for_each(|item| number_of(*number, seed + item as usize, bytes));
        }
        (Type::Text, Column::Lists(ends, items)) => {
            let Column::Numbers(_, bytes) = &mut **items else { panic!("no bytes") };
            bytes.extend(format!("text {seed}").bytes());
            ends.push(bytes.len() as u64);
        }
        (Type::Sequence(_, item), Column::Lists(ends, items)) => {
            (0..seed % 3).for_each(|index| value(item, seed + index, items));
            ends.push(items.len() as u64);
        }
        (Type::Mapping(_, first, second), Column::Lists(ends, items)) => {
            let Column::Record(len, columns) = &mut **items else { panic!("no pairs") };
            for index in 0..seed % 4 {
                value(first, seed + index, &mut columns[0]);
                value(second, seed + index, &mut columns[1]);
                *len += 1;
            }
            ends.push(*len as u64);
        }
        (Type::Object(class), Column::Record(len, columns)) => {
            class.members.iter().zip(columns).for_each(|(member, column)| value(&member.kind, seed, column));
            *len += 1;
        }
        (Type::Pointer(class), Column::Lists(ends, items)) => {
            if seed % 2 == 1 {
                value(&Type::Object(Arc::clone(class)), seed, items);
            }
            ends.push(items.len() as u64);
        }
        (kind, column) => panic!("{kind:?} and {column:?}"),
    }
}

fn number_of(number: Number, seed: usize, bytes: &mut Vec<u8>) {
    match number {
        Number::F32 => bytes.extend((seed as f32 / 2.0).to_ne_bytes()),
        Number::F64 => bytes.extend((seed as f64 / 4.0).to_ne_bytes()),
        Number::I16 => bytes.extend((seed as i16).to_ne_bytes()),
        Number::I32 => bytes.extend((seed as i32).to_ne_bytes()),
        Number::U64 => bytes.extend((seed as u64).to_ne_bytes()),
        other => panic!("{other}"),
    }
}

const ENTRIES: usize = 50;

fn write(split: u32, member_wise: bool, basket_bytes: usize) -> File {
    let sink = Arc::new(MemorySink::default());
    let options = WriteOptions { session: Session::with_threads(1), ..WriteOptions::default() };
    let mut file = FileWriter::to_sink(Arc::clone(&sink), "objects.root", options).expect("a file");
    let wish = TreeOptions { member_wise, basket_bytes, ..TreeOptions::default() };
    let class = classes();
    let kind = Type::Object(Arc::clone(&class));
    let mut tree = file.tree("t", vec![BranchSpec::object("event.", class, split)], wish).expect("a tree");
    for start in (0..ENTRIES).step_by(7) {
        let mut column = Column::of(&kind);
        (start..ENTRIES.min(start + 7)).for_each(|seed| value(&kind, seed, &mut column));
        tree.extend(&[("event.", Values::objects(&column))]).expect("rows");
    }
    tree.close().expect("a tree");
    file.close().expect("a file");
    let store = Arc::new(MemoryStore::new("objects.root", sink.to_bytes()));
    File::from_store(store, OpenOptions::default()).expect("a file")
}

#[test]
fn objects_come_back_at_every_split_level() {
    for (split, member_wise) in [(99, true), (99, false), (2, true), (1, true), (1, false), (0, true), (0, false)] {
        for basket_bytes in [200, 1 << 20] {
            let file = write(split, member_wise, basket_bytes);
            let tree = file.tree("t").expect("a tree");
            assert_eq!(tree.entries, ENTRIES as u64);
            for branch in tree.branches().iter().filter(|branch| branch.has_data()) {
                let columns = read::columns(&tree, &[branch.id], 0..tree.entries);
                columns.unwrap_or_else(|error| panic!("split {split}: {}: {error}", branch.name));
            }
            if split == 0 {
                continue;
            }
            let numbers = |name: &str| {
                let id = tree.branch(name).unwrap_or_else(|error| panic!("split {split}: {error}")).id;
                read::columns(&tree, &[id], 0..tree.entries).expect("values").remove(0)
            };
            let n: Vec<u64> = numbers("event.n").numbers().expect("numbers");
            assert_eq!(n, (0..ENTRIES as u64).collect::<Vec<_>>());
        }
    }
}
