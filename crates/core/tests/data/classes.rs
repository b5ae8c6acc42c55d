//! Classes of a ROOT file.

use std::collections::BTreeMap;

use sapwood::Entry;

#[derive(Clone, Debug, Default, Entry, PartialEq)]
pub struct Header {
    pub run: i32,
    pub weights: Vec<f32>,
}

#[derive(Clone, Debug, Default, Entry, PartialEq)]
pub struct Point {
    pub x: f64,
    pub y: f64,
}

#[derive(Clone, Debug, Default, Entry, PartialEq)]
#[entry(class = "ns::Track")]
#[allow(non_snake_case)]
pub struct Track {
    pub fPt: f32,
    pub r#type: u8,
    #[entry(name = "self")]
    pub self_: i64,
    pub at: Point,
    pub hits: Vec<i16>,
    pub cov: [[f32; 3]; 2],
}

#[derive(Clone, Debug, Default, Entry, PartialEq)]
#[entry(version = 3)]
pub struct Event {
    #[entry(base)]
    pub header_base: Header,
    pub number: u64,
    pub ok: bool,
    pub tracks: Vec<Track>,
    pub counts: BTreeMap<String, i32>,
    pub words: Vec<String>,
    pub maybe: Option<Box<Point>>,
}
