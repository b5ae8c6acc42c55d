use super::*;
use crate::schema::{Datum, Registry};
use crate::wire::Limits;

/// The payload of a draft, and what is read from it. What was read gives the same payload.
fn again(draft: Draft) -> (Vec<u8>, Draft) {
    let draft = Arc::new(draft);
    let (payload, classes) = Encoder::record(70, &draft).unwrap();
    let infos = classes.iter().map(|info| (**info).clone()).collect();
    let registry = Arc::new(Registry::new(infos, 64000));
    let read = Draft::read(&registry, draft.class(), &payload, 70, &Limits::default()).unwrap();
    assert_eq!(Encoder::record(70, &Arc::new(read.clone())).unwrap().0, payload, "{}", draft.class());
    (payload, read)
}

#[test]
fn named_objects_come_back() {
    let (_, read) = again(Draft::new("TNamed").with("fName", "n").with("fTitle", "a title").with("fBits", 8));
    assert!(matches!(read.member("fTitle"), Some(Datum::Text(title)) if &**title == "a title"));
    assert!(matches!(read.member("fBits"), Some(Datum::Int(8))));
}

#[test]
fn an_object_behind_two_pointers_is_written_once() {
    let leaf = Arc::new(Draft::new("TLeafI").with("fName", "n").with("fMaximum", 3));
    let items = vec![Datum::Object(Arc::clone(&leaf)), Datum::Null, Datum::Object(leaf)];
    let (_, read) = again(Draft::new("TList").with("fName", "list").with("items", items));
    match read.member("items").and_then(Datum::as_list).unwrap() {
        [Datum::Object(first), Datum::Null, Datum::Same(second)] => {
            assert_eq!(first.mark(), Some(second));
            assert!(matches!(first.member("fMaximum"), Some(Datum::Int(3))));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn values_of_another_kind_are_refused() {
    for draft in [
        Draft::new("TNamed").with("fName", 3),
        Draft::new("TLeafI").with("fMaximum", "three"),
        Draft::new("TBranch").with("fMaxBaskets", 3).with("fBasketBytes", vec![1_i32, 2]),
        Draft::new("Nobody"),
    ] {
        assert!(Encoder::record(70, &Arc::new(draft)).is_err());
    }
}

#[test]
fn objects_that_were_read_are_written_unchanged() {
    let text = |text: &str| Arc::new(Draft::new("TObjString").with("fString", text));
    let shared = text("shared");
    let pair = Draft::new("TPair").with("fKey", text("key")).with("fValue", Datum::Object(Arc::clone(&shared)));
    again(Draft::new("TMap").with("fName", "map").with("items", vec![Datum::Value(pair)]));
    again(Draft::new("TRef").with("ref", 7).with("fBits", 1 << 4).with("pidf", 3));
    again(Draft::new("TObjArray").with("fLowerBound", 2).with("items", vec![Datum::Object(shared), Datum::Null]));
    again(Draft::new("TAxis").with("fNbins", 2).with("fXbins", vec![0.0, 1.0, 3.0]).with("fXmin", 0.5));
    again(Draft::new("TArrayD").with("fArray", vec![1.5, 2.5]));
    again(Draft::new("ROOT::TIOFeatures").with("fIOBits", 1));
}

#[test]
fn lengths_may_change_between_reading_and_writing() {
    let branch = Draft::new("TBranch")
        .with("fName", "b")
        .with("fMaxBaskets", 2)
        .with("fBasketBytes", vec![1_i32, 2])
        .with("fBasketEntry", vec![0_i64, 5])
        .with("fBasketSeek", vec![100_i64, 200]);
    let list = Draft::new("TObjArray").with("items", vec![Datum::Object(Arc::new(branch))]);
    let (_, mut read) = again(Draft::new("TTree").with("fName", "t").with("fBranches", list));
    let branches = read.member_mut("fBranches").and_then(Datum::as_draft_mut).unwrap();
    let branch = branches.member_mut("items").and_then(Datum::as_list_mut).unwrap()[0].as_draft_mut().unwrap();
    branch.set("fMaxBaskets", 3);
    branch.set("fBasketBytes", vec![1_i32, 2, 3]);
    branch.set("fBasketEntry", vec![0_i64, 5, 9]);
    assert!(Encoder::record(70, &Arc::new(read.clone())).is_err(), "one array is too short");
    let branches = read.member_mut("fBranches").and_then(Datum::as_draft_mut).unwrap();
    let branch = branches.member_mut("items").and_then(Datum::as_list_mut).unwrap()[0].as_draft_mut().unwrap();
    branch.set("fBasketSeek", vec![100_i64, 200, 300]);
    let (_, mut read) = again(read);
    let branches = read.member_mut("fBranches").and_then(Datum::as_draft_mut).unwrap();
    let branch = branches.member("items").and_then(Datum::as_list).unwrap()[0].as_draft().unwrap();
    assert!(matches!(branch.member("fBasketSeek"), Some(Datum::Numbers(_, seeks)) if seeks.len() == 24));
}

#[test]
fn chains_that_nest_too_deep_are_errors() {
    let mut draft = Draft::new("TList");
    for _ in 0..500 {
        draft = Draft::new("TList").with("items", vec![Datum::Object(Arc::new(draft))]);
    }
    assert!(Encoder::record(70, &Arc::new(draft)).is_err());
}
