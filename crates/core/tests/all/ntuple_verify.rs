//! Verification of RNTuples: what is whole is called whole, and each kind of damage is found where it is.

use sapwood::inspect::doctor::diagnose;
use sapwood::inspect::io_cost::Reader;
use sapwood::inspect::layout::Layout;
use sapwood::inspect::verify::{Finding, Report, Severity, verify_file};
use sapwood_testkit::ntuple::{CLUSTER, Damaged, changed, column, field, open, whole};

fn damage(report: &Report) -> Vec<&Finding> {
    report.findings.iter().filter(|finding| finding.severity == Severity::Damage).collect()
}

/// The only damage of a file.
#[track_caller]
fn only_damage(file: &sapwood::File) -> Finding {
    let report = verify_file(file);
    assert_eq!(damage(&report).len(), 1, "{:#?}", report.findings);
    damage(&report)[0].clone()
}

#[test]
fn whole_files_are_whole() {
    for compression in ["zlib:0", "zlib:1", "zstd:5", "lz4:4"] {
        let report = verify_file(&open(whole(compression)).unwrap());
        assert!(!report.is_damaged() && report.findings.is_empty(), "{compression}: {:#?}", report.findings);
        assert_eq!((report.ntuples, report.trees), (1, 0));
        assert!(report.pages > 2 * 14, "{} pages", report.pages);
    }
}

#[test]
fn a_layout_has_every_page_and_a_doctor_plans_by_it() {
    let file = open(whole("zstd:5")).unwrap();
    let layout = Layout::of(&file.ntuple("n").unwrap()).unwrap();
    assert_eq!((layout.entries, layout.clusters.len(), layout.branches.len()), (80, 2, 14));
    assert_eq!(layout.clusters[1].entries, 40..80);
    for (place, column) in layout.branches.iter().enumerate() {
        let pages = layout.baskets_of(place);
        assert_eq!((pages.len(), pages[0].entries.start, pages[pages.len() - 1].entries.end), (column.baskets, 0, 80));
        assert!(pages.windows(2).all(|pair| pair[0].entries.end == pair[1].entries.start), "{}", column.path);
    }
    let x = layout.branches.iter().find(|column| column.path == "x").unwrap();
    assert_eq!((x.baskets, x.tot_bytes, x.class.as_str()), (6, 320, "SplitInt32"));
    assert!(layout.branches.iter().any(|column| column.path == "text (Char)"));
    let diagnosis = diagnose(&file, Some("n"), &Reader::default()).unwrap();
    assert!(diagnosis.is_healthy() && diagnosis.trees[0].readings[0].now.requests == 1);
    assert_eq!(diagnose(&file, None, &Reader::default()).unwrap().trees[0].path, "n");
}

#[test]
fn each_page_with_another_checksum_is_found() {
    let mut damaged = Damaged::new();
    let mut expected = Vec::new();
    for (cluster, number, field) in [(0, column::X, "x"), (1, column::ITEMS, "list"), (1, column::CHARS, "text")] {
        let page = damaged.page(cluster, number, 0);
        damaged.bytes[page.start] ^= 1;
        expected.push((format!("n;1/{field}/cluster {cluster}/column {number}, page 0"), Some(page.start as u64)));
    }
    let report = verify_file(&damaged.file());
    let mut found: Vec<_> =
        damage(&report).into_iter().map(|finding| (finding.object.clone().unwrap(), finding.offset)).collect();
    found.sort();
    expected.sort();
    assert_eq!(found, expected);
    assert!(damage(&report).iter().all(|finding| finding.message.contains("checksum")), "{:#?}", report.findings);
}

#[test]
fn values_that_do_not_fit_are_found_behind_right_checksums() {
    for (number, field) in [(column::LIST, "list"), (column::MAYBE, "maybe"), (column::TEXT, "text")] {
        let mut damaged = Damaged::new();
        let page = damaged.page(1, number, 0);
        damaged.put(page.start + 24, &0_u64.to_le_bytes());
        damaged.seal_page(page.clone());
        let finding = only_damage(&damaged.file());
        assert!(finding.message.contains("fall"), "{finding}");
        assert_eq!(finding.object.as_deref(), Some(&*format!("n;1/{field}/cluster 1/column {number}, page 0")));
        assert_eq!(finding.offset, Some(page.start as u64));
    }
    let mut damaged = Damaged::new();
    let page = damaged.page(0, column::SWITCH, 0);
    damaged.put(page.start + 8, &9_u32.to_le_bytes());
    damaged.seal_page(page);
    let finding = only_damage(&damaged.file());
    assert!(finding.object.as_deref().is_some_and(|object| object.starts_with("n;1/either/cluster 0")), "{finding}");
}

#[test]
fn envelopes_and_anchors_are_verified() {
    let mut damaged = Damaged::new();
    let list = damaged.list.start;
    damaged.bytes[list + 20] ^= 1;
    let finding = only_damage(&damaged.file());
    assert!(finding.message.contains("checksum"), "{finding}");
    assert_eq!(finding.object.as_deref(), Some("n;1/cluster group 0/page list"));
    for at in [damaged.header.start + 20, damaged.footer.start + 20, damaged.anchor + 20] {
        let mut damaged = Damaged::new();
        damaged.bytes[at] ^= 1;
        let finding = only_damage(&damaged.file());
        assert!(finding.message.contains("checksum"), "{finding}");
    }
}

#[test]
fn counts_and_places_of_pages_are_verified() {
    // One element more than the cluster has; the page's length does not fit, either.
    let file = changed(|damaged| {
        let entry = damaged.entry(0, column::X, 2);
        damaged.put(entry, &(-9_i32).to_le_bytes());
    });
    let finding = only_damage(&file);
    assert_eq!(finding.object.as_deref(), Some("n;1/x/cluster 0/column 0, page 2"), "{finding}");
    // A page that lies over another, and one behind the end.
    let file = changed(|damaged| {
        let (entry, other) = (damaged.entry(0, column::X, 1), damaged.page(0, column::X, 0).start as u64);
        damaged.put(entry + 8, &(other + 4).to_le_bytes());
    });
    let report = verify_file(&file);
    assert!(damage(&report).iter().any(|finding| finding.message.contains("overlap")), "{:#?}", report.findings);
    let file = changed(|damaged| {
        let entry = damaged.entry(0, column::X, 1);
        damaged.put(entry + 8, &(1_u64 << 40).to_le_bytes());
    });
    let finding = only_damage(&file);
    assert_eq!((finding.offset, finding.message.contains("beyond the end")), (Some(1 << 40), true), "{finding}");
    // The first element of a column in the second cluster.
    let file = changed(|damaged| {
        let frame = damaged.pages(1, column::X);
        let trailer = frame + 12 + 16 * damaged.u32(frame + 8) as usize;
        damaged.put(trailer, &7_u64.to_le_bytes());
    });
    let report = verify_file(&file);
    assert!(!report.is_damaged(), "readers do without it: {:#?}", report.findings);
    let finding = &report.findings[0];
    assert_eq!((finding.expected, finding.found), (Some(CLUSTER as u64), Some(7)), "{finding}");
    assert_eq!(finding.object.as_deref(), Some("n;1/x/cluster 1/column 0"));
}

#[test]
fn what_is_to_come_is_no_damage() {
    let file = changed(|damaged| {
        let at = damaged.described(0, field::TEXT) + 20;
        damaged.put(at, &9_u16.to_le_bytes());
    });
    let report = verify_file(&file);
    assert!(!report.is_damaged(), "{:#?}", report.findings);
    assert_eq!(report.findings[0].object.as_deref(), Some("n;1/text"));
    assert!(report.findings[0].message.contains("role 9"), "{}", report.findings[0]);
}
