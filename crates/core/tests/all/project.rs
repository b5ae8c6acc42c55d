//! Classes of a file as source code: what is generated is compiled here, and reads the file that it came from.

#[path = "../data/classes.rs"]
mod classes;

use std::sync::Arc;

use classes::Event;
use sapwood::column::Number;
use sapwood::io::{MemorySink, MemoryStore};
use sapwood::project::{Language, makeproject};
use sapwood::schema::StreamerInfo;
use sapwood::write::{Class, FileWriter, TreeOptions, Type, WriteOptions};
use sapwood::{ErrorKind, File, OpenOptions};

fn event() -> Event {
    let track = classes::Track { fPt: 0.5, r#type: 2, cov: [[1.0; 3]; 2], self_: 3, ..Default::default() };
    Event { number: 7, tracks: vec![track], maybe: Some(Box::default()), ..Event::default() }
}

/// A file with a tree of such objects.
fn written() -> File {
    let sink = Arc::new(MemorySink::default());
    let mut file = FileWriter::to_sink(Arc::clone(&sink), "classes.root", WriteOptions::default()).expect("a file");
    let mut tree = file.entries("t", "event", 99, TreeOptions::default()).expect("a tree");
    tree.fill(&event()).expect("an entry");
    tree.close().expect("a tree");
    file.close().expect("a file");
    let store = Arc::new(MemoryStore::new("classes.root", sink.to_bytes()));
    File::from_store(store, OpenOptions::default()).expect("a file")
}

#[test]
fn generated_classes_match_those_of_the_file() {
    let file = written();
    let source = makeproject(&file.infos().expect("infos"), Language::Rust, &[]).expect("source");
    // `Default` is the test's own wish.
    let stored = include_str!("../data/classes.rs").replace("Debug, Default, Entry", "Debug, Entry");
    assert_eq!(source, stored);
    let found: Vec<Event> = file.tree("t").expect("a tree").read_entries("event", 0..1).expect("entries");
    assert_eq!(found, [event()]);
}

#[test]
fn only_named_classes_and_their_parts_are_generated() {
    let infos = written().infos().expect("infos");
    for language in [Language::Rust, Language::Python, Language::Cpp] {
        let source = makeproject(&infos, language, &["ns::Track"]).expect("source");
        assert!(source.contains("Point") && source.contains("Track") && !source.contains("Event"), "{source}");
        assert_eq!(makeproject(&infos, language, &["Nobody"]).expect_err("no class").kind(), ErrorKind::NotFound);
    }
}

#[test]
fn names_of_a_file_become_no_code() {
    let number = || Type::Number(Number::I32);
    let mut odd: StreamerInfo = Class::new("Odd").member("a", number()).member("b", number()).info();
    odd.elements[0].name = "a: i32 }\nfn evil() {}\nstruct X { b".into();
    odd.elements[1].title = "title\n} fn evil() {}\r\u{2028}int evil;".into();
    let mut evil: StreamerInfo = Class::new("Evil").member("a", number()).info();
    evil.name = "Evil {}\nfn evil() {}\nstruct X".into();
    let mut own: StreamerInfo = Class::new("Own").member("c", number()).member("d", Type::vector(number())).info();
    own.elements[0].code = 63;
    own.elements[0].type_name = "Own*".into();
    own.elements[1].type_name = "vector<int>; evil()".into();
    let infos = [odd, evil, own];
    let source = makeproject(&infos, Language::Rust, &[]).expect("source");
    let parsed = syn::parse_file(&source).expect("Rust");
    assert!(parsed.items.iter().all(|item| matches!(item, syn::Item::Struct(_) | syn::Item::Use(_))), "{source}");
    assert!(source.contains("class Own holds itself"), "{source}");
    for language in [Language::Python, Language::Cpp] {
        let source = makeproject(&infos, language, &[]).expect("source");
        let code = source.lines().map(|line| line.split(['#', '/']).next().unwrap_or_default());
        assert!(!code.into_iter().any(|code| code.contains("evil")), "{source}");
    }
}
