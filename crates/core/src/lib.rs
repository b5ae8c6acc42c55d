//! Sapwood reads and writes CERN ROOT files at the speed of the hardware, without ROOT.
//!
//! | task | begins with |
//! |---|---|
//! | list and read a file | [`File::open`] |
//! | read columns, steps, rows | [`read::columns`], [`Tree::scan`](tree::Tree::scan), [`Tree::reader`](tree::Tree::reader) |
//! | Rust types as entries | [`#[derive(Entry)]`](derive@Entry) |
//! | write and change files | [`write::FileWriter`]: `create`, `recreate`, `update` |
//! | fill, read and write histograms | [`hist::Histogram`], [`hist::Graph`], [`hist::Efficiency`] |
//! | merge and rewrite files | [`merge::Merge`], [`write::Remake`] |
//! | find out what is in a file and what it costs | [`inspect`] |
//! | read from elsewhere than the disk | [`io::Store`]; http, root and clouds are in the crate `sapwood-store` |
//!
//! # A tour
//!
//! ## Open and list
//!
//! Opening reads the header and the list of keys. A [`File`] is cheap to clone and can be used by many threads.
//!
//! ```
//! # let path = sapwood_testkit::example("nano.root");
//! let file = sapwood::File::open(path)?;
//! for found in file.keys(true)? {
//!     println!("{};{} is a {}", found.path, found.key.cycle, found.key.class);
//! }
//! let tree = file.tree("Events")?;
//! for branch in tree.branches().iter().take(3) {
//!     println!("{}: {} entries", branch.path, branch.entries);
//! }
//! # Ok::<(), sapwood::Error>(())
//! ```
//!
//! Objects other than trees, such as histograms, have named members:
//!
//! ```
//! # let path = sapwood_testkit::example("histograms.root");
//! let histogram = sapwood::File::open(path)?.object("h1d")?;
//! assert_eq!(histogram.member("fXaxis.fNbins")?.as_int(), Some(10));
//! assert_eq!(histogram.member("fSumw2")?.numbers::<f64>().map(|sums| sums.len()), Some(12));
//! # Ok::<(), sapwood::Error>(())
//! ```
//!
//! Those of histograms are also known as what they are:
//!
//! ```
//! # let path = sapwood_testkit::example("histograms.root");
//! use sapwood::hist::Histogram;
//! let mut histogram = Histogram::from_draft(sapwood::File::open(path)?.draft("h1d")?)?;
//! histogram.fill_many(&[&[0.5, 1.5]], Some(&[1.0, 2.0]))?;
//! println!("{} +- {}", histogram.mean(0)?, histogram.std_dev(0)?);
//! # Ok::<(), sapwood::Error>(())
//! ```
//!
//! ## Read columns
//!
//! A column is typed slices: the numbers of all entries, and the offsets of lists. A slice of another type than the
//! file's is an error. [`to_arrow`](read::Column::to_arrow) gives the same memory to Arrow.
//!
//! ```
//! # let path = sapwood_testkit::example("nano.root");
//! let tree = sapwood::File::open(path)?.tree("Events")?;
//! let columns = sapwood::read::columns(&tree, &[tree.branch("Jet_pt")?.id], 0..tree.entries)?;
//! let (offsets, pt) = (columns[0].offsets(), columns[0].as_slice::<f32>()?);
//! for (entry, list) in offsets.windows(2).enumerate() {
//!     println!("entry {entry}: {:?}", &pt[list[0] as usize..list[1] as usize]);
//! }
//! assert!(columns[0].as_slice::<f64>().is_err());
//! # Ok::<(), sapwood::Error>(())
//! ```
//!
//! ## Iterate
//!
//! Steps take bounded memory, and the next one is fetched while this one is used. Rows read a value at a time.
//!
//! ```
//! # let path = sapwood_testkit::example("nano.root");
//! let tree = sapwood::File::open(path)?.tree("Events")?;
//! let mut jets = 0;
//! for step in tree.scan(&["nJet", "Jet_pt"])?.step_bytes(100 << 20) {
//!     jets += step?.column("Jet_pt")?.as_slice::<f32>()?.len(); // or to_arrow() of the whole step
//! }
//! for row in tree.scan(&["nJet"])?.rows() {
//!     jets -= row?.number::<u32>("nJet")? as usize;
//! }
//! assert_eq!(jets, 0);
//! # Ok::<(), sapwood::Error>(())
//! ```
//!
//! ## Write
//!
//! `create` wants no file there, `recreate` replaces one, `update` changes one in place, also one of ROOT's. Readers
//! see what was saved last, even if the process dies. Values are typed slices or an Arrow record batch
//! ([`extend_batch`](write::TreeWriter::extend_batch)).
//!
//! ```
//! # let path = sapwood_testkit::scratch("tour.root");
//! use sapwood::column::Number;
//! use sapwood::schema::Draft;
//! use sapwood::write::{BranchSpec, FileWriter, TreeOptions, Values, WriteOptions};
//! let options = WriteOptions { compression: Some("zstd:5".parse()?), ..Default::default() };
//! let mut file = FileWriter::create(&path, options)?;
//! let specs = vec![
//!     BranchSpec::number("weight", Number::F64),
//!     BranchSpec::counter("njet"),
//!     BranchSpec::jagged("jet_pt", Number::F32, "njet"),
//! ];
//! let mut events = file.tree("events", specs, TreeOptions::default())?;
//! events.extend(&[
//!     ("weight", Values::from(&[0.5, 1.5])),
//!     ("jet_pt", Values::lists(&[0, 2, 3], &[50.0_f32, 20.0, 35.0])),
//! ])?;
//! events.close()?;
//! file.close()?;
//!
//! let mut file = FileWriter::update(&path, WriteOptions::default())?;
//! file.write("notes/run", Draft::new("TObjString").with("fString", "a good run"))?;
//! let mut events = file.append("events", TreeOptions::default())?;
//! events.extend(&[("weight", Values::from(&[2.5])), ("jet_pt", Values::lists(&[0, 0], &[0.0_f32; 0]))])?;
//! events.close()?;
//! file.close()?;
//! assert_eq!(sapwood::File::open(&path)?.tree("events")?.entries, 3);
//! # Ok::<(), sapwood::Error>(())
//! ```
//!
//! ## Rust types as entries
//!
//! ROOT reads them as the C++ class of the same members, split into branches or whole.
//!
//! ```
//! # let path = sapwood_testkit::scratch("tour-entries.root");
//! use sapwood::Entry;
//! use sapwood::write::{FileWriter, TreeOptions, WriteOptions};
//!
//! #[derive(Entry, Debug, PartialEq)]
//! struct Track {
//!     pt: f32,
//!     hits: Vec<i32>,
//! }
//!
//! let mut file = FileWriter::create(&path, WriteOptions::default())?;
//! let mut tracks = file.entries::<Track>("tracks", "track", 99, TreeOptions::default())?;
//! tracks.fill(&Track { pt: 1.5, hits: vec![1, 2] })?;
//! tracks.close()?;
//! file.close()?;
//!
//! let tree = sapwood::File::open(&path)?.tree("tracks")?;
//! for track in tree.iter_entries::<Track>("track")? {
//!     assert_eq!(track?, Track { pt: 1.5, hits: vec![1, 2] });
//! }
//! # Ok::<(), sapwood::Error>(())
//! ```
//!
//! ## Many threads
//!
//! A [`Session`] holds the threads and the memory that files share: reading decodes, writing compresses in them. One
//! tree can also be [filled by many threads](write::ParallelWriter).
//!
//! ```
//! # let path = sapwood_testkit::example("nano.root");
//! use sapwood::{File, OpenOptions, Session};
//! let session = Session::with_threads(4);
//! let file = File::open_with(path, OpenOptions { session, ..OpenOptions::default() })?;
//! assert_eq!(file.tree("Events")?.entries, 10);
//! # Ok::<(), sapwood::Error>(())
//! ```
//!
//! ## Merge
//!
//! As `hadd`: trees of one name are joined without inflating their baskets, histograms are added up.
//!
//! ```
//! # let (all, nano) = (sapwood_testkit::scratch("all.root"), sapwood_testkit::example("nano.root"));
//! use sapwood::{File, io::Flow, merge::Merge};
//! # let nano = nano.to_str().expect("a name in UTF-8").to_owned();
//! let inputs = [nano.clone(), nano];
//! Merge::default().run(&all, &inputs, &|name| File::open(name), &mut |_progress| Flow::Go)?;
//! assert_eq!(File::open(&all)?.tree("Events")?.entries, 20);
//! # Ok::<(), sapwood::Error>(())
//! ```
//!
//! ## Errors
//!
//! Every error has a [kind](ErrorKind) to decide by, and a [place](Place): file, object, basket, offset, what was
//! expected and what was found. A damaged file never panics and never takes more memory than [`Limits`] allow.
//!
//! ```
//! # let path = sapwood_testkit::example("nano.root");
//! let error = sapwood::File::open(path)?.tree("Evnts").unwrap_err();
//! assert_eq!(error.kind(), sapwood::ErrorKind::NotFound);
//! assert!(error.place().file.is_some());
//! println!("{error}"); // names the nearest keys
//! # Ok::<(), sapwood::Error>(())
//! ```
//!
//! # What is promised
//!
//! - **Examples**: every public function and method is called by an example that runs as a test, its own or that of its
//!   type (`tools/examples.py` checks that).
//! - **Bytes**: files that one version writes, the next one reads, and ROOT reads them.
//! - **Interfaces** may change before 1.0, in minor versions; the changelog says how. What this documentation does not
//!   show, although a program could name it, is not part of the interface and may change at any time.
//! - **No `unsafe`** is in this crate.

#![forbid(unsafe_code)]

pub mod batch;
pub mod chain;
pub mod codec;
pub mod column;
pub mod container;
pub mod entry;
mod error;
mod file;
pub mod frame;
pub mod hist;
mod idle;
pub mod inspect;
pub mod interrupt;
pub mod io;
pub mod memory;
pub mod merge;
pub mod ntuple;
mod object;
pub mod perf;
pub mod progress;
pub mod project;
pub mod query;
pub mod read;
pub mod schema;
mod scoped;
mod session;
pub mod statistics;
pub mod table;
pub mod tree;
#[doc(hidden)]
pub mod wire;
pub mod write;

pub use entry::Entry;
pub use error::{Error, ErrorKind, Place, Result, caught};
pub use file::{File, KeyPath, OnNotice, OpenOptions, UseStatistics};
pub use object::{Items, Members, Object, Value};
#[cfg(feature = "derive")]
pub use sapwood_derive::Entry;
pub use session::{MOST_THREADS, Session};
pub use wire::Limits;

/// The README's example compiles.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
