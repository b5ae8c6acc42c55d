//! Adds up the objects of files that have no directories: `sum out.root in.root...`. What cannot be added is said, and left out.

use std::collections::BTreeSet;

use sapwood::File;
use sapwood::merge::{Sum, can_add};
use sapwood::write::{FileWriter, WriteOptions};

fn main() -> sapwood::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((out, inputs)) = arguments.split_first() else {
        println!("sum out.root in.root...");
        return Ok(());
    };
    let files = inputs.iter().map(File::open).collect::<sapwood::Result<Vec<_>>>()?;
    let mut writer = FileWriter::recreate(out, WriteOptions::default())?;
    let mut done = BTreeSet::new();
    for (place, file) in files.iter().enumerate() {
        for key in file.keys(false)? {
            if !done.insert(key.path.clone()) {
                continue;
            }
            if !can_add(&key.key.class) {
                println!("{}: objects of class {} are kept", key.path, key.key.class);
                continue;
            }
            match sum(&key.path, &files[place..]) {
                Ok(sum) => writer.write(&key.path, sum.finish())?,
                Err(error) => println!("{}: {}", key.path, error.in_object(&key.path)),
            }
        }
    }
    writer.close()
}

fn sum(path: &str, files: &[File]) -> sapwood::Result<Sum> {
    let (first, others) = files.split_first().ok_or_else(|| sapwood::Error::not_found("no files"))?;
    let mut sum = Sum::new(first.draft(path)?)?;
    for file in others.iter().filter(|file| file.key(path).is_ok()) {
        sum.add(&file.draft(path)?)?;
    }
    Ok(sum)
}
