//! `recover` never puts an older or a broken version in the place of one that was saved.

use sapwood::column::Kind;
use sapwood::read::Column;
use sapwood::write::{FieldSpec, NTupleOptions};

use super::*;

/// Holds the number of the save.
#[derive(Clone, Copy, Debug)]
enum Version {
    Object,
    Tree,
    NTuple,
}

impl Version {
    const ALL: [Self; 3] = [Self::Object, Self::Tree, Self::NTuple];

    fn write(self, file: &mut FileWriter, number: i32) -> Result<()> {
        let rows = 50 + number as usize;
        match self {
            Self::Object => file.write("version", Draft::new("TObjString").with("fString", &*number.to_string())),
            Self::Tree => {
                let specs = vec![BranchSpec::number("x", Number::I32)];
                let mut tree = file.tree("version", specs, TreeOptions::default())?;
                tree.extend(&[("x", Values::from(&vec![number; rows]))])?;
                tree.close()
            }
            Self::NTuple => {
                let specs = vec![FieldSpec::new("x", Kind::Number { buffer: 0, number: Number::I32 })];
                let mut ntuple = file.ntuple("version", specs, NTupleOptions::default())?;
                ntuple.extend(&[("x", Column::from_numbers(&vec![number; rows]))])?;
                ntuple.close()
            }
        }
    }

    /// The number that a file has, with all of its values; nothing without a version.
    fn read(self, file: &File) -> Result<Option<i32>> {
        if file.key("version").is_err() {
            return Ok(None);
        }
        let values: Vec<i32> = match self {
            Self::Object => {
                let text = file.object("version")?.member("fString")?.as_text();
                return Ok(text.and_then(|text| text.parse().ok()));
            }
            Self::Tree => {
                let tree = file.tree("version")?;
                read::columns(&tree, &[tree.branch("x")?.id], 0..tree.entries)?[0].numbers()?.to_vec()
            }
            Self::NTuple => {
                let ntuple = file.ntuple("version")?;
                sapwood::ntuple::columns(&ntuple, &[ntuple.field("x")?.id], 0..ntuple.entries)?[0].numbers()?.to_vec()
            }
        };
        Ok(values.first().copied().filter(|&first| values.iter().all(|&value| value == first)))
    }
}

fn random(mut state: u64) -> impl FnMut() -> u64 {
    move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 33
    }
}

/// A file with some objects, before it is updated.
fn before() -> Vec<u8> {
    let journal = Arc::new(Journal::default());
    let mut file = FileWriter::to_sink(Arc::clone(&journal), "back.root", options()).expect("a file");
    for index in 0..12 {
        let text = "q".repeat(40 * index);
        file.write(&format!("n{index}"), Draft::new("TObjString").with("fString", &*text)).expect("an object");
    }
    file.close().expect("a file");
    journal.image(&[], journal.count(), 0)
}

/// Deletes the version and writes the next one, save after save, beside objects that come and go. Returns after how
/// many writes which number was saved, if any.
fn churn(version: Version, before: &[u8], journal: &Arc<Journal>, seed: u64) -> Result<Vec<(usize, Option<i32>)>> {
    let mut next = random(seed);
    let store = Arc::new(MemoryStore::new("back.root", before.to_vec()));
    let mut file = FileWriter::update_with(store, Arc::clone(journal), WriteOptions { sync: true, ..options() })?;
    let mut saved = Vec::new();
    for number in 1..=4 {
        for _ in 0..2 {
            let text = "z".repeat(1 + next() as usize % 900);
            file.write(&format!("n{}", next() % 12), Draft::new("TObjString").with("fString", &*text))?;
            let gone = format!("n{}", next() % 12);
            if next().is_multiple_of(2) && file.keys()?.iter().any(|key| key.path == gone) {
                file.remove(&gone)?;
            }
        }
        if number > 1 {
            file.remove("version")?;
            // A new tree or RNTuple may save the file while it is still empty.
            saved.extend((!matches!(version, Version::Object)).then_some((journal.count(), None)));
        }
        version.write(&mut file, number)?;
        file.save()?;
        saved.push((journal.count(), Some(number)));
    }
    std::mem::forget(file); // as if the process had died here
    Ok(saved)
}

#[test]
fn a_killed_or_powerless_writer_never_loses_what_was_saved() {
    let path = std::env::temp_dir().join(format!("sapwood-back-{}.root", std::process::id()));
    let before = before();
    let mut later = 0;
    for (version, seed) in Version::ALL.into_iter().flat_map(|version| (0..2).map(move |seed| (version, seed))) {
        let journal = Arc::new(Journal::default());
        let saved = churn(version, &before, &journal, seed).expect("writes");
        let mut next = random(seed + 100);
        for writes in 0..=journal.count() {
            let is_power_cut = writes % 2 == 1;
            let image = if is_power_cut {
                journal.after_power_cut(&before, writes, || !next().is_multiple_of(3))
            } else {
                journal.image(&before, writes, 0)
            };
            let what = format!("{version:?}, seed {seed}, {writes} writes, power cut: {is_power_cut}");
            let least = saved.iter().rev().find(|(at, _)| *at <= writes).and_then(|&(_, number)| number);
            let number = |file: Result<File>, when: &str| {
                let file = file.unwrap_or_else(|error| panic!("{what}, {when}: {error}"));
                version.read(&file).unwrap_or_else(|error| panic!("{what}, {when}: {error}"))
            };
            let shown = number(open(image.clone()), "as it is");
            assert!(shown >= least, "{what}: shows {shown:?}, saved {least:?}");
            std::fs::write(&path, &image).expect("a disk");
            let found = recover(&path, false, options()).unwrap_or_else(|error| panic!("{what}: {error}"));
            let now = number(File::open(&path), "recovered");
            assert!(now >= shown, "{what}: showed {shown:?}, recovered {now:?}: {found:?}");
            later += usize::from(now > shown);
        }
    }
    std::fs::remove_file(&path).expect("a disk");
    assert!(later > 0, "no image had a version that came back");
}
