//! RNTuples that were damaged at known places: errors that say which field, cluster, column and page, and at what
//! offset; and what is not damaged can be read.

use sapwood::{Error, ErrorKind, File};
use sapwood_testkit::ntuple::{CLUSTER, Damaged, FIELDS, changed, column, field, open, others_are_there, read, whole};

const ALL: u64 = 2 * CLUSTER as u64;

/// Kind, object and offset of an error.
fn place(error: &Error) -> (ErrorKind, &str, Option<u64>) {
    (error.kind(), error.place().object.as_deref().unwrap_or(""), error.place().offset)
}

/// What was expected and found.
fn wanted(error: &Error) -> (Option<u64>, Option<u64>) {
    (error.place().expected, error.place().found)
}

/// Why an RNTuple cannot be opened.
fn refused(file: &File) -> Error {
    let error = file.ntuple("n").expect_err("it cannot be opened");
    assert_eq!(error.place().file.as_deref(), Some("damaged.root"), "{error}");
    error
}

/// Why all entries of a field cannot be read.
fn unreadable(file: &File, field: &str) -> Error {
    let error = read(file, field, 0..ALL).expect_err("it cannot be read");
    assert_eq!(error.place().file.as_deref(), Some("damaged.root"), "{error}");
    error
}

#[test]
fn what_is_whole_is_read() {
    for compression in ["zlib:0", "zstd:5"] {
        others_are_there(&open(whole(compression)).unwrap(), &[]);
    }
    others_are_there(&changed(|_| {}), &[]);
}

#[test]
fn anchors_are_checked() {
    let mut damaged = Damaged::new();
    let anchor = damaged.anchor;
    damaged.bytes[anchor + 20] ^= 1;
    assert_eq!(place(&refused(&damaged.file())), (ErrorKind::Checksum, "n", Some(70)));
    let file = changed(|damaged| damaged.put(anchor, &0x4000_0041_u32.to_be_bytes()));
    assert_eq!(place(&refused(&file)), (ErrorKind::Malformed, "n", Some(0)));
    let file = changed(|damaged| damaged.put(anchor + 6, &[0, 2]));
    let error = refused(&file);
    assert!(error.kind() == ErrorKind::Unsupported && error.to_string().contains("version 2."), "{error}");
    // What a merger leaves that failed.
    let file = changed(|damaged| damaged.put(anchor + 14, &[0; 24]));
    let error = refused(&file);
    assert!(error.kind() == ErrorKind::Malformed && error.to_string().contains("no header"), "{error}");
}

#[test]
fn anchors_of_the_time_before_the_release_name_their_version() {
    let mut damaged = Damaged::new();
    damaged.put(damaged.anchor + 4, &[0, 1]);
    let error = refused(&damaged.file());
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("its class version is 1"), "{error}");
}

#[test]
fn envelopes_are_checked() {
    for (name, at) in
        [("header", |damaged: &Damaged| damaged.header.clone()), ("footer", |damaged| damaged.footer.clone())]
            as [(&str, fn(&Damaged) -> std::ops::Range<usize>); 2]
    {
        let mut damaged = Damaged::new();
        let envelope = at(&damaged);
        damaged.bytes[envelope.start + 30] ^= 1;
        let error = refused(&damaged.file());
        let sum = (envelope.len() - 8) as u64;
        assert_eq!(place(&error), (ErrorKind::Checksum, &*format!("n/{name}"), Some(sum)), "{error}");
        let file = changed(|damaged| damaged.put(envelope.start, &[3]));
        assert_eq!(place(&refused(&file)), (ErrorKind::Malformed, &*format!("n/{name}"), Some(0)));
        let file = changed(|damaged| damaged.put(envelope.start + 2, &[9, 9]));
        assert_eq!(place(&refused(&file)).0, ErrorKind::Malformed);
    }
    let mut damaged = Damaged::new();
    let list = damaged.list.clone();
    damaged.bytes[list.start + 30] ^= 1;
    let error = unreadable(&damaged.file(), "x");
    let sum = (list.len() - 8) as u64;
    assert_eq!(place(&error), (ErrorKind::Checksum, "n/cluster group 0/page list", Some(sum)), "{error}");
}

#[test]
fn envelopes_belong_to_their_header() {
    let mut damaged = Damaged::new();
    damaged.bytes[damaged.footer.start + 16] ^= 1;
    damaged.seal(damaged.footer.clone());
    assert_eq!(place(&refused(&damaged.file())), (ErrorKind::Mismatch, "n/footer", None));
    let mut damaged = Damaged::new();
    damaged.bytes[damaged.list.start + 8] ^= 1;
    damaged.seal(damaged.list.clone());
    let error = unreadable(&damaged.file(), "x");
    assert_eq!(place(&error), (ErrorKind::Mismatch, "n/cluster group 0/page list", None), "{error}");
}

#[test]
fn unknown_features_are_named() {
    for (envelope, name) in [(0, "n/header"), (1, "n/footer")] {
        let file = changed(|damaged| {
            let at = if envelope == 0 { damaged.header.start } else { damaged.footer.start };
            damaged.put(at + 8, &(1_u64 << 5).to_le_bytes());
        });
        let error = refused(&file);
        assert_eq!(place(&error), (ErrorKind::Unsupported, name, Some(8)), "{error}");
        assert!(error.to_string().contains("feature 5"), "{error}");
    }
}

#[test]
fn sizes_are_checked_before_memory_is_taken() {
    // An envelope that would be 2^62 bytes, by anchor and by group.
    let file = changed(|damaged| {
        let anchor = damaged.anchor;
        damaged.put(anchor + 30, &(1_u64 << 62).to_be_bytes());
    });
    assert_eq!(place(&refused(&file)), (ErrorKind::Limit, "n/header", None));
    let file = changed(|damaged| {
        let link = damaged.group() + 28;
        damaged.put(link, &(1_u64 << 62).to_le_bytes());
    });
    assert_eq!(unreadable(&file, "x").kind(), ErrorKind::Limit);
    // Lists of 2^32 - 1 items in frames that are short.
    let file = changed(|damaged| {
        let list = damaged.described(0, 0) - 4;
        damaged.put(list, &[255; 4]);
    });
    assert_eq!(place(&refused(&file)).0, ErrorKind::Malformed);
    let file = changed(|damaged| {
        let list = damaged.pages(0, column::X) + 8;
        damaged.put(list, &[255; 4]);
    });
    assert_eq!(unreadable(&file, "x").kind(), ErrorKind::Malformed);
    // 2^55 entries, whose pages hold a few.
    let file = changed(|damaged| {
        let entries = 1_u64 << 55;
        let (summary, group) = (damaged.summary(0), damaged.group());
        damaged.put(summary + 16, &entries.to_le_bytes());
        damaged.put(damaged.summary(1) + 8, &entries.to_le_bytes());
        damaged.put(group + 16, &(entries + CLUSTER as u64).to_le_bytes());
    });
    for field in FIELDS {
        let error = unreadable(&file, field);
        assert!(matches!(error.kind(), ErrorKind::Malformed | ErrorKind::Limit), "{error}");
        let ntuple = file.ntuple("n").unwrap();
        let all = sapwood::ntuple::columns(&ntuple, &[ntuple.field(field).unwrap().id], 0..ntuple.entries);
        assert!(all.is_err(), "{field}");
    }
}

#[test]
fn values_that_are_in_no_page_are_limited() {
    // A column that was added after 2^50 entries: their zeros would be the answer.
    let entries = 1_u64 << 50;
    let file = changed(|damaged| {
        damaged.defer(column::SWITCH, (entries - CLUSTER as u64) as i64);
        let (summary, group) = (damaged.summary(0), damaged.group());
        damaged.put(summary + 16, &entries.to_le_bytes());
        damaged.put(damaged.summary(1) + 8, &entries.to_le_bytes());
        damaged.put(group + 16, &(entries + CLUSTER as u64).to_le_bytes());
    });
    let error = read(&file, "either", 0..entries).unwrap_err();
    assert_eq!((error.kind(), wanted(&error).1), (ErrorKind::Limit, Some(entries - CLUSTER as u64)), "{error}");
    assert!(place(&error).1.starts_with("n/either/cluster 0"), "{error}");
    assert_eq!(read(&file, "either", 0..5).unwrap().buffer(0), vec![255; 5], "absent values");
    assert_eq!(read(&file, "either", entries - 40..entries).unwrap().buffer(0)[..3], [255, 0, 1]);
}

#[test]
fn locators_that_lead_out_of_the_file_are_errors() {
    let file = changed(|damaged| {
        let entry = damaged.entry(1, column::X, 1);
        damaged.put(entry + 8, &(1_u64 << 40).to_le_bytes());
    });
    let error = unreadable(&file, "x");
    assert_eq!(place(&error), (ErrorKind::Malformed, "n/x/cluster 1/column 0, page 1", Some(1 << 40)), "{error}");
    assert_eq!(wanted(&error).0, Some(file.identity().len), "{error}");
    others_are_there(&file, &["x"]);
    assert_eq!(read(&file, "x", 0..56).unwrap().len, 56, "other pages are there");
    // Kind 2 is an object store: twelve bytes of its own as well.
    let file = changed(|damaged| {
        let entry = damaged.entry(0, column::ITEMS, 0);
        damaged.put(entry + 4, &(-0x0200_000c_i32).to_le_bytes());
    });
    let error = unreadable(&file, "list");
    assert_eq!(place(&error), (ErrorKind::Unsupported, "n/list/cluster 0/column 2, page 0", None), "{error}");
    assert!(error.to_string().contains("kind 2"), "{error}");
    others_are_there(&file, &["list"]);
    // Where the ends are needed first, they are what cannot be read.
    let file = changed(|damaged| {
        let entry = damaged.entry(0, column::LIST, 0);
        damaged.put(entry + 4, &(-0x0200_000c_i32).to_le_bytes());
    });
    let error = read(&file, "list", 1..3).unwrap_err();
    assert_eq!(place(&error), (ErrorKind::Unsupported, "n/list/cluster 0/column 1, page 0", None), "{error}");
}

#[test]
fn a_bad_page_hides_no_other() {
    let last = |damaged: &Damaged, column| damaged.page(1, column, 0).start as u64;
    for (field, number) in [
        ("x", column::X),
        ("list", column::LIST),
        ("list", column::ITEMS),
        ("text", column::TEXT),
        ("text", column::CHARS),
        ("maybe", column::MAYBE),
        ("either", column::SWITCH),
        ("fixed", column::INSIDE_FIXED),
    ] {
        let mut damaged = Damaged::new();
        let at = last(&damaged, number);
        damaged.bytes[at as usize] ^= 0x10;
        let file = damaged.file();
        let error = unreadable(&file, field);
        let place = place(&error);
        assert_eq!((place.0, place.2), (ErrorKind::Checksum, Some(at)), "{field}: {error}");
        assert!(place.1.starts_with(&format!("n/{field}")), "{error}");
        assert!(place.1.ends_with(&format!("/cluster 1/column {number}, page 0")), "{error}");
        others_are_there(&file, &[field]);
        assert_eq!(read(&file, field, 0..CLUSTER as u64).unwrap().len, CLUSTER, "the other cluster is there");
    }
}

#[test]
fn pages_have_the_bytes_of_their_elements() {
    let file = changed(|damaged| {
        let entry = damaged.entry(0, column::X, 0);
        damaged.put(entry, &(-15_i32).to_le_bytes());
        let next = damaged.entry(0, column::X, 1);
        damaged.put(next, &(-17_i32).to_le_bytes());
    });
    let error = unreadable(&file, "x");
    let (kind, object, _) = place(&error);
    assert_eq!((kind, object), (ErrorKind::Malformed, "n/x/cluster 0/column 0, page 0"), "{error}");
    assert_eq!(wanted(&error), (Some(60), Some(64)), "{error}");
    others_are_there(&file, &["x"]);
    // In sum they are not what the cluster has.
    let file = changed(|damaged| {
        let entry = damaged.entry(0, column::X, 2);
        damaged.put(entry, &(-9_i32).to_le_bytes());
    });
    let error = unreadable(&file, "x");
    assert_eq!((error.kind(), wanted(&error)), (ErrorKind::Malformed, (Some(40), Some(41))), "{error}");
    assert!(error.to_string().contains("column 0"), "{error}");
    let file = changed(|damaged| {
        let entry = damaged.entry(0, column::X, 2);
        damaged.put(entry, &0_i32.to_le_bytes());
    });
    assert_eq!(unreadable(&file, "x").kind(), ErrorKind::Malformed);
    others_are_there(&file, &["x"]);
}

#[test]
fn a_page_that_inflates_to_another_size_is_an_error() {
    // Pages of equal bits are stored once and shrink: one more element cannot come of them.
    let sink = std::sync::Arc::new(sapwood::io::MemorySink::default());
    let mut file =
        sapwood::write::FileWriter::to_sink(std::sync::Arc::clone(&sink), "damaged.root", Default::default()).unwrap();
    let compression = Some("zstd:5".parse().unwrap());
    let options = sapwood::write::NTupleOptions { compression, ..Default::default() };
    let kind = sapwood::column::Kind::Number { buffer: 0, number: sapwood::column::Number::I64 };
    let mut ntuple = file.ntuple("n", vec![sapwood::write::FieldSpec::new("x", kind)], options).unwrap();
    ntuple.extend(&[("x", sapwood::read::Column::from_numbers(&[5_i64; 1000]))]).unwrap();
    ntuple.close().unwrap();
    file.close().unwrap();
    let mut bytes = sink.to_bytes().to_vec();
    let (_, at, stored) = open(bytes.clone()).unwrap().ntuple("n").unwrap().first_pages(0).unwrap().remove(0);
    // The block's header says how many bytes it inflates to: one less.
    let block = at as usize;
    assert_eq!(&bytes[block..block + 2], b"ZS");
    bytes[block + 6] -= 1;
    let sum = twox_hash::XxHash3_64::oneshot(&bytes[block..block + stored as usize]);
    bytes[block + stored as usize..block + stored as usize + 8].copy_from_slice(&sum.to_le_bytes());
    let error = read(&open(bytes).unwrap(), "x", 0..1000).unwrap_err();
    let (_, object, offset) = place(&error);
    assert_eq!(object, "n/x/cluster 0/column 0, page 0", "{error}");
    // The offset is that of the block in the file.
    assert!((at..at + stored).contains(&offset.unwrap()), "{error} in a page at {at}");
}

#[test]
fn counts_of_clusters_and_groups_are_checked() {
    let file = changed(|damaged| {
        let group = damaged.group();
        damaged.put(group + 24, &3_u32.to_le_bytes());
    });
    let error = unreadable(&file, "x");
    assert_eq!(place(&error), (ErrorKind::Malformed, "n/cluster group 0/page list", Some(16)), "{error}");
    assert_eq!(wanted(&error), (Some(3), Some(2)), "{error}");
    let file = changed(|damaged| {
        let group = damaged.group();
        damaged.put(group + 16, &(ALL + 1).to_le_bytes());
    });
    let error = unreadable(&file, "x");
    assert_eq!((place(&error).1, wanted(&error)), ("n/cluster group 0", (Some(ALL + 1), Some(ALL))), "{error}");
    // Two clusters that hold the same entries, one of them lost.
    let file = changed(|damaged| {
        let summary = damaged.summary(1);
        damaged.put(summary + 8, &(CLUSTER as u64 - 1).to_le_bytes());
    });
    let error = unreadable(&file, "x");
    assert_eq!((error.kind(), wanted(&error)), (ErrorKind::Malformed, (Some(40), Some(39))), "{error}");
    let file = changed(|damaged| {
        let summary = damaged.summary(1);
        damaged.put(summary + 23, &[1]);
    });
    let error = unreadable(&file, "x");
    assert_eq!((error.kind(), error.to_string().contains("sharded")), (ErrorKind::Unsupported, true), "{error}");
}

#[test]
fn fields_that_hold_one_another_are_errors() {
    // A parent that comes later, one that does not exist, and columns of no field.
    for (list, item, offset, value) in
        [(0, field::ITEMS, 16, 3_u32), (0, field::X, 16, 99), (1, column::X, 12, 99), (0, field::X, 16, u32::MAX)]
    {
        let file = changed(|damaged| {
            let at = damaged.described(list, item) + offset;
            damaged.put(at, &value.to_le_bytes());
        });
        let error = refused(&file);
        assert_eq!((error.kind(), wanted(&error).1), (ErrorKind::Malformed, Some(value.into())), "{error}");
    }
    // A field below one that has values of its own.
    let file = changed(|damaged| {
        let at = damaged.described(0, field::TEXT) + 16;
        damaged.put(at, &0_u32.to_le_bytes());
    });
    let ntuple = file.ntuple("n").unwrap();
    let error = ntuple.kind(ntuple.field("x").unwrap().id).map(drop);
    let _ = error.map_err(|error| assert_eq!(error.kind(), ErrorKind::Malformed));
    others_are_there(&file, &["x", "text"]);
}

#[test]
fn what_is_unknown_makes_one_field_unreadable() {
    let file = changed(|damaged| {
        let at = damaged.described(0, field::TEXT) + 20;
        damaged.put(at, &9_u16.to_le_bytes());
    });
    let error = unreadable(&file, "text");
    assert_eq!((error.kind(), place(&error).1), (ErrorKind::Unsupported, "n/text/field text"), "{error}");
    assert!(error.to_string().contains("role 9"), "{error}");
    others_are_there(&file, &["text"]);
    for number in [column::ITEMS, column::LIST] {
        let file = changed(|damaged| {
            let at = damaged.described(1, number) + 8;
            damaged.put(at, &0x77_u16.to_le_bytes());
        });
        let error = unreadable(&file, "list");
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
        assert!(error.to_string().contains("0x77"), "{error}");
        others_are_there(&file, &["list"]);
    }
    // A type that the field cannot have.
    let file = changed(|damaged| {
        let at = damaged.described(1, column::LIST) + 8;
        damaged.put(at, &0x0d_u16.to_le_bytes());
    });
    assert_eq!(unreadable(&file, "list").kind(), ErrorKind::Malformed);
    others_are_there(&file, &["list"]);
    // Bits that its type cannot have: the column's place in the header.
    let file = changed(|damaged| {
        let at = damaged.described(1, column::X) + 10;
        damaged.put(at, &7_u16.to_le_bytes());
    });
    let error = refused(&file);
    assert_eq!((error.kind(), place(&error).1), (ErrorKind::Malformed, "n/header"), "{error}");
}

/// Changes element `element` of a page of whole numbers of eight bytes.
fn with_end(number: usize, element: usize, value: u64) -> File {
    let mut damaged = Damaged::new();
    let page = damaged.page(1, number, 0);
    damaged.put(page.start + 8 * element, &value.to_le_bytes());
    damaged.seal_page(page);
    damaged.file()
}

#[test]
fn ends_that_fall_or_pass_the_items_are_errors() {
    for (field, number) in [("list", column::LIST), ("text", column::TEXT), ("maybe", column::MAYBE)] {
        let page = Damaged::new().page(1, number, 0).start as u64;
        // Falling from the third to the fourth.
        let file = with_end(number, 3, 0);
        let error = unreadable(&file, field);
        let object = format!("n/{field}/cluster 1/column {number}, page 0");
        assert_eq!(place(&error), (ErrorKind::Malformed, &*object, Some(page)), "{error}");
        assert_eq!(read(&file, field, 0..CLUSTER as u64).unwrap().len, CLUSTER);
        others_are_there(&file, &[field]);
        // Beyond all items, at the end of a page: what follows falls; and also where only a part is wanted.
        for value in [1_000_000, u64::MAX] {
            let file = with_end(number, 7, value);
            let error = unreadable(&file, field);
            assert_eq!(error.kind(), ErrorKind::Malformed, "{error}");
            let error = read(&file, field, 44..48).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Malformed, "{error}");
            assert!(place(&error).1.starts_with(&format!("n/{field}/cluster 1")), "{error}");
            others_are_there(&file, &[field]);
        }
    }
}

#[test]
fn optional_values_are_one_or_none() {
    let mut damaged = Damaged::new();
    let page = damaged.page(0, column::MAYBE, 0);
    damaged.put(page.start, &[0; 16]);
    damaged.seal_page(page);
    let file = damaged.file();
    let error = unreadable(&file, "maybe");
    assert_eq!((error.kind(), error.to_string().contains("optional")), (ErrorKind::Malformed, true), "{error}");
    others_are_there(&file, &["maybe"]);
}

#[test]
fn switches_are_checked() {
    // Elements are a place and a type, in 12 bytes. Row 0 of the second cluster is entry 40: 40 % 3 == 1, the first
    // type.
    for (element, place_of, tag) in [(0, 0_u64, 9_u32), (3, 0, 1), (0, u64::MAX, 1), (1, 0, u32::MAX)] {
        let mut damaged = Damaged::new();
        let page = damaged.page(1, column::SWITCH, 0);
        damaged.put(page.start + 12 * element, &place_of.to_le_bytes());
        damaged.put(page.start + 12 * element + 8, &tag.to_le_bytes());
        damaged.seal_page(page);
        let file = damaged.file();
        let error = unreadable(&file, "either");
        let object = format!("n/either/cluster 1/column {}, page 0", column::SWITCH);
        assert_eq!((error.kind(), place(&error).1), (ErrorKind::Malformed, &*object), "{error}");
        others_are_there(&file, &["either"]);
        assert_eq!(read(&file, "either", 0..CLUSTER as u64).unwrap().len, CLUSTER);
    }
}

#[test]
fn arrays_have_all_their_items() {
    // Repetitions follow the texts of the field's record: they are its last member.
    let lied = |len: u64| {
        changed(|damaged| {
            let at = damaged.described(0, field::FIXED);
            let end = at + damaged.u64(at) as usize;
            damaged.put(end - 8, &len.to_le_bytes());
        })
    };
    for len in [4, 2, 1 << 20] {
        let file = lied(len);
        let error = unreadable(&file, "fixed");
        assert_eq!(error.kind(), ErrorKind::Malformed, "{error}");
        assert_eq!(wanted(&error), (Some(CLUSTER as u64 * len), Some(CLUSTER as u64 * 3)), "{error}");
        others_are_there(&file, &["fixed"]);
    }
    for len in [0, u64::MAX, 1 << 62] {
        let file = lied(len);
        let error = unreadable(&file, "fixed");
        assert_eq!(error.kind(), ErrorKind::Malformed, "{error}");
        others_are_there(&file, &["fixed"]);
    }
    assert_eq!(field::INSIDE_FIXED, field::FIXED + 1);
}

#[test]
fn no_changed_byte_of_an_envelope_is_a_panic() {
    let damaged = Damaged::new();
    for envelope in [&damaged.header, &damaged.footer, &damaged.list] {
        for at in (envelope.start + 8..envelope.end - 8).step_by(3) {
            for value in [0, 0x7f, 0xff] {
                let file = changed(|damaged| damaged.bytes[at] = value);
                let Ok(ntuple) = file.ntuple("n") else { continue };
                for &id in ntuple.top() {
                    // The limit keeps answers small.
                    let _ = sapwood::ntuple::columns(&ntuple, &[id], 0..ntuple.entries.min(100));
                }
            }
        }
    }
}
