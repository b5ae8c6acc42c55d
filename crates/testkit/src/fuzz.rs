//! One function a fuzz target: any bytes in, no panic.
//!
//! To add a target: a function here, a row in [`TARGETS`], a folder `fuzz/seeds/<name>/` with at least one seed, and in
//! `fuzz/` a file of three lines with its `[[bin]]`. Seeds are replayed by the plain tests; each crash becomes one.
//! Targets of the stores are next to their tests: `crates/store/tests/all/common/packed.rs`.

use std::sync::{Arc, OnceLock};

use sapwood::codec::{self, Algorithm, BlockTable, Compression, Scratch};
use sapwood::container::{Header, Key, read_key_list};
use sapwood::hist::{Efficiency, Graph, Histogram};
use sapwood::inspect::doctor::diagnose;
use sapwood::inspect::io_cost;
use sapwood::inspect::optimize::{MAX_MEMORY, MIN_COMPRESSION, optimize_baskets};
use sapwood::inspect::picture::Picture;
use sapwood::inspect::verify::{Severity, verify_file};
use sapwood::io::MemoryStore;
use sapwood::schema::{Draft, Encoder, Registry, Target as Compiled, TypeName, read_infos};
use sapwood::tree::Basket;
use sapwood::wire::{Limits, Reader};
use sapwood::{File, Object, OpenOptions, Value};

use crate::ntuple::{Damaged, column};

/// A fuzz target: it must accept any bytes.
pub type Target = fn(&[u8]);

/// All targets by name.
pub const TARGETS: &[(&str, Target)] = &[
    ("chain", chain),
    ("deflate", deflate),
    ("header", header),
    ("key", key),
    ("keys", keys),
    ("infos", infos),
    ("typename", typename),
    ("object", object),
    ("basket", basket),
    ("file", file),
    ("ntuple_header", ntuple_header),
    ("ntuple_footer", ntuple_footer),
    ("ntuple_list", ntuple_list),
    ("ntuple_page", ntuple_page),
];

/// Reads a chain of blocks. The first 3 bytes are its unsealed size, little-endian, cut to 1 MiB.
pub fn chain(data: &[u8]) {
    let Some((&[a, b, c], bytes)) = data.split_first_chunk::<3>() else { return };
    let unsealed_bytes = (u32::from_le_bytes([a, b, c, 0]) as usize).min(1 << 20);
    let table = BlockTable::walk(bytes, unsealed_bytes);
    let (mut whole, mut scratch) = (vec![0; unsealed_bytes], Scratch::default());
    if codec::inflate(bytes, &mut whole, &mut scratch).is_err() {
        return;
    }
    let table = table.expect("what inflates has a table");
    assert_eq!(table.unsealed_bytes(), unsealed_bytes);
    let want = unsealed_bytes / 3..unsealed_bytes - unsealed_bytes / 3;
    let mut part = vec![0; want.len()];
    table.inflate_range(bytes, want.clone(), &mut part, &mut scratch).expect("what inflates does so in part");
    assert_eq!(part, whole[want.clone()]);
    part.fill(0);
    codec::inflate_range(bytes, unsealed_bytes, want.clone(), &mut part, &mut scratch).expect("with a walk too");
    assert_eq!(part, whole[want]);
}

/// Packs what follows the first 2 bytes, which choose codec and level, and reads it back.
pub fn deflate(data: &[u8]) {
    let Some((&[codec, level], bytes)) = data.split_first_chunk::<2>() else { return };
    let algorithm = Algorithm::ALL[usize::from(codec) % Algorithm::ALL.len()];
    let how = Compression { algorithm, level: level % 12 };
    let (mut chain, mut scratch) = (vec![1, 2, 3], Scratch::default());
    match codec::deflate(bytes, how, &mut chain, &mut scratch).expect("memory is there") {
        false => assert_eq!(chain, [1, 2, 3]),
        true => {
            assert!(chain.len() - 3 < bytes.len());
            let mut back = vec![0; bytes.len()];
            codec::inflate(&chain[3..], &mut back, &mut scratch).expect("what was packed can be read");
            assert_eq!(back, bytes);
        }
    }
}

/// Reads a file's header, and again what it writes of it.
pub fn header(data: &[u8]) {
    if let Ok(header) = Header::read(data) {
        let again = Header::read(&header.to_bytes()).expect("a written header can be read");
        assert_eq!(again.is_big(), header.is_big());
    }
}

/// Reads the key of a record.
pub fn key(data: &[u8]) {
    if let Ok(key) = Key::read(data) {
        let _ = (key.stored_bytes(), key.is_compressed(), key.to_bytes());
    }
    let _ = Key::parse_record(data);
}

/// Reads a directory's list of keys.
pub fn keys(data: &[u8]) {
    let _ = read_key_list(&mut Reader::new(data), &LIMITS);
}

/// Reads StreamerInfos and compiles every class and member of them.
pub fn infos(data: &[u8]) {
    let Ok(infos) = read_infos(data, 64, &LIMITS) else { return };
    let registry = Registry::new(infos, 63000);
    for info in registry.infos().iter().take(64) {
        let (class, version, checksum) = (info.name.clone(), info.version, info.checksum);
        for index in 0..info.elements.len().min(64) {
            let _ = registry.program(&Compiled::Member { class: class.clone(), version, checksum, index });
        }
        let whole = Compiled::Members { class, version: Some(version), checksum: Some(checksum) };
        let _ = registry.program(&whole);
    }
}

/// Parses the name of a type, and again what it prints of it.
pub fn typename(data: &[u8]) {
    let Ok(name) = std::str::from_utf8(data) else { return };
    if let Ok(parsed) = TypeName::parse(name) {
        let printed = parsed.to_string();
        let _ = TypeName::parse(&printed);
    }
}

/// Decodes an object. In front of it stand the length of the StreamerInfos as two bytes, big-endian, these infos, the
/// length of the class name as one byte, and the name.
pub fn object(data: &[u8]) {
    let Some((&[a, b], rest)) = data.split_first_chunk::<2>() else { return };
    let Some((infos, rest)) = rest.split_at_checked(usize::from(u16::from_be_bytes([a, b]))) else { return };
    let Some((&length, rest)) = rest.split_first() else { return };
    let Some((class, payload)) = rest.split_at_checked(usize::from(length)) else { return };
    let (Ok(infos), Ok(class)) = (read_infos(infos, 64, &LIMITS), std::str::from_utf8(class)) else { return };
    let registry = Arc::new(Registry::new(infos, 63000));
    if let Ok(object) = Object::read(&registry, class, payload, 64, &LIMITS) {
        look(&object.value(), 0, &mut 10_000);
        let _ = Efficiency::from_object(&object).map(|efficiency| efficiency.values());
        let _ = Graph::from_object(&object).map(|graph| (graph.errors(0), graph.errors(1)));
        if let Ok(histogram) = Histogram::from_object(&object) {
            let _ = (histogram.values(), histogram.errors(), histogram.integral(), histogram.mean(0));
        }
    }
    // What was read can be written, or says why not.
    if let Ok(draft) = Draft::read(&registry, class, payload, 64, &LIMITS) {
        let _ = Encoder::record(64, &Arc::new(draft));
    }
}

/// Reads a basket: key, header, offsets.
pub fn basket(data: &[u8]) {
    let Ok(basket) = Basket::read(bytes::Bytes::copy_from_slice(data), &LIMITS) else { return };
    let (mut memory, mut starts) = (Vec::new(), Vec::new());
    if let Ok(unsealed) = basket.unseal(&mut memory, &mut Scratch::default()) {
        let _ = (unsealed.fixed_bytes(), unsealed.lacks_offsets(), unsealed.starts(&mut starts));
    }
}

/// Opens a whole file, lists it and reads everything in it.
pub fn file(data: &[u8]) {
    let store = Arc::new(MemoryStore::new("fuzzed", data.to_vec()));
    let session = SESSION.get_or_init(|| sapwood::Session::with_threads(1)).clone();
    let Ok(file) = File::from_store(store, OpenOptions { limits: LIMITS, session, ..OpenOptions::default() }) else {
        return;
    };
    let _ = (file.free_segments(), file.infos());
    for found in file.keys(true).unwrap_or_default().iter().take(32) {
        if let Ok(tree) = file.tree_at(&found.key) {
            let _ = tree.clusters();
            for branch in tree.branches().iter().take(64) {
                let Ok(meaning) = tree.interpretation(branch.id) else { continue };
                let range = branch.entry_range();
                let end = range.end.min(range.start.saturating_add(1000));
                if let Ok(columns) = sapwood::read::columns(&tree, &[branch.id], range.start..end) {
                    assert!(columns.len() == 1, "{} {}", branch.path, meaning.type_name);
                }
            }
        } else if let Ok(object) = file.object_at(&found.key) {
            look(&object.value(), 0, &mut 10_000);
        }
    }
    inspect(&file);
}

/// Verifies a file, and plans by what it says of itself.
fn inspect(file: &File) {
    let report = verify_file(file);
    assert!(report.is_damaged() || report.count(Severity::Damage) == 0);
    let Ok(diagnosis) = diagnose(file, None, &io_cost::Reader::default()) else { return };
    for tree in diagnosis.trees {
        assert!(Picture::of(&tree.layout).marks() <= tree.layout.baskets.len());
        if let Ok(tree) = file.tree(&tree.path) {
            optimize_baskets(&tree, MAX_MEMORY, MIN_COMPRESSION);
        }
    }
}

/// Reads an RNTuple with another header, from its feature flags on.
pub fn ntuple_header(data: &[u8]) {
    ntuple(|damaged| damaged.replace(0, data));
}

/// Reads an RNTuple with another footer, from its feature flags on.
pub fn ntuple_footer(data: &[u8]) {
    ntuple(|damaged| damaged.replace(1, data));
}

/// Reads an RNTuple with another page list, from the header's checksum on.
pub fn ntuple_list(data: &[u8]) {
    ntuple(|damaged| damaged.replace(2, data));
}

/// Reads an RNTuple with other bytes for the first page of a column. In front of them are the number of the column,
/// its type, its bits and the page's elements: a byte each.
pub fn ntuple_page(data: &[u8]) {
    let Some((&[column, code, bits, elements], stored)) = data.split_first_chunk::<4>() else { return };
    ntuple(|damaged| {
        let column = usize::from(column) % (column::INSIDE_FIXED + 1);
        let (described, entry) = (damaged.described(1, column), damaged.entry(0, column, 0));
        let at = damaged.append(stored);
        damaged.put(described + 8, &[code, 0, bits, 0]);
        damaged.put(entry, &u32::from(elements).to_le_bytes());
        damaged.put(entry + 4, &(at.len() as u32).to_le_bytes());
        damaged.put(entry + 8, &(at.start as u64).to_le_bytes());
    });
}

/// Reads all of an RNTuple that was changed.
fn ntuple(change: impl FnOnce(&mut Damaged)) {
    static WHOLE: OnceLock<Damaged> = OnceLock::new();
    let mut damaged = WHOLE.get_or_init(Damaged::new).clone();
    change(&mut damaged);
    damaged.seal_all();
    let store = Arc::new(MemoryStore::new("fuzzed", damaged.bytes));
    let session = SESSION.get_or_init(|| sapwood::Session::with_threads(1)).clone();
    let file = File::from_store(store, OpenOptions { limits: LIMITS, session, ..OpenOptions::default() });
    let file = file.expect("only the RNTuple was changed");
    let Ok(ntuple) = file.ntuple("n") else { return };
    let _ = (ntuple.clusters(), ntuple.classes());
    for field in ntuple.fields().iter().take(64) {
        let _ = (ntuple.kind(field.id), ntuple.field_bytes(field.id), ntuple.first_pages(field.id));
        for entries in [0..ntuple.entries.min(1000), ntuple.entries / 3..ntuple.entries.min(ntuple.entries / 3 + 3)] {
            let rows = entries.end - entries.start;
            if let Ok(columns) = sapwood::ntuple::columns(&ntuple, &[field.id], entries) {
                assert_eq!(columns[0].len as u64, rows, "{}", field.path);
            }
        }
    }
    inspect(&file);
}

/// Looks at a value and at what is in it, up to a depth and a number.
fn look(value: &Value<'_>, depth: u32, left: &mut u32) {
    if depth > 30 || *left == 0 {
        return;
    }
    *left -= 1;
    match value {
        Value::List(items) => items.iter().take(100).for_each(|item| look(&item, depth + 1, left)),
        Value::Record(members) => members.iter().for_each(|(_, member)| look(&member, depth + 1, left)),
        Value::Object(object) => look(&object.value(), depth + 1, left),
        _ => {}
    }
}

static SESSION: OnceLock<sapwood::Session> = OnceLock::new();

/// Far less than any real file needs: what is larger is refused, and not only slow.
const LIMITS: Limits =
    Limits { object_bytes: 1 << 24, expansion: 2_000, depth: 64, keys: 10_000, answer_bytes: 1 << 26 };
