//! Histograms, graphs and efficiencies of objects that were read by key.

use super::axis::Axis;
use super::class::shape_of;
use super::efficiency::Efficiency;
use super::graph::Graph;
use super::histogram::Histogram;
use crate::error::{Error, Result};
use crate::object::{Members, Object, Value};
use crate::schema::{Datum, Draft};

/// Records and objects within each other.
const DEEPEST: u32 = 16;

/// Whether an object behind a pointer is a part of what this module reads, by its class: a list of labels, a label, an
/// axis, a histogram, a chunk of bins.
///
/// # Example
///
/// ```
/// use sapwood::hist::is_part;
/// assert!(is_part("THashList") && is_part("TH2F") && !is_part("TF1"));
/// ```
pub fn is_part(class: &str) -> bool {
    matches!(class, "THashList" | "TObjString" | "TAxis" | "THnSparseArrayChunk")
        || class.starts_with("TArray")
        || shape_of(class).is_some()
}

impl Histogram {
    /// The histogram that an object is: one of its classes, or of a class that is derived from one, with [buffered
    /// entries in its bins](Self::finished). What else its
    /// pointers lead to, functions say, is not taken along; [`File::draft`](crate::File::draft) and
    /// [`from_draft`](Self::from_draft) keep it.
    ///
    /// # Errors
    ///
    /// Those of [`from_derived`](Self::from_derived).
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::example("histograms.root");
    /// use sapwood::hist::Histogram;
    /// let histogram = Histogram::from_object(&sapwood::File::open(path)?.object("h1d")?)?;
    /// assert_eq!((histogram.class(), histogram.axes()[0].bins()), ("TH1D", 10));
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn from_object(object: &Object) -> Result<Self> {
        let members = object.members()?;
        let mut bases = Vec::new();
        base_names(&members, &mut bases);
        let bases: Vec<&str> = bases.iter().map(String::as_str).collect();
        Self::from_derived(draft_of(&members, object.class(), 0)?, &bases)?.finished()
    }
}

impl Axis {
    /// The axis that an object is: a `TAxis`.
    ///
    /// # Errors
    ///
    /// Those of [`from_draft`](Self::from_draft).
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::scratch("axes.root");
    /// use sapwood::hist::Axis;
    /// use sapwood::write::{FileWriter, WriteOptions};
    /// let mut file = FileWriter::create(&path, WriteOptions::default())?;
    /// file.write("made", sapwood::schema::Draft::new("TAxis").with("fNbins", 2).with("fXmax", 1.0))?;
    /// file.close()?;
    /// let read = Axis::from_object(&sapwood::File::open(&path)?.object("made")?)?;
    /// assert_eq!(read.edges(), [0.0, 0.5, 1.0]);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn from_object(object: &Object) -> Result<Self> {
        Self::from_draft(&draft_of(&object.members()?, object.class(), 0)?)
    }
}

impl Graph {
    /// The graph that an object is. What its pointers lead to is not taken along.
    ///
    /// # Errors
    ///
    /// Those of [`from_draft`](Self::from_draft).
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::scratch("graphs.root");
    /// use sapwood::hist::Graph;
    /// use sapwood::write::{FileWriter, WriteOptions};
    /// let mut file = FileWriter::create(&path, WriteOptions::default())?;
    /// file.write("made", Graph::new(&[1.0], &[2.0])?.into_draft())?;
    /// file.close()?;
    /// let read = Graph::from_object(&sapwood::File::open(&path)?.object("made")?)?;
    /// assert_eq!(read.values(1)?, [2.0]);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn from_object(object: &Object) -> Result<Self> {
        Self::from_draft(draft_of(&object.members()?, object.class(), 0)?)
    }
}

impl Efficiency {
    /// The efficiency that an object is.
    ///
    /// # Errors
    ///
    /// Those of [`from_draft`](Self::from_draft).
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::scratch("efficiencies.root");
    /// use sapwood::hist::{Axis, Efficiency};
    /// use sapwood::write::{FileWriter, WriteOptions};
    /// let mut file = FileWriter::create(&path, WriteOptions::default())?;
    /// file.write("made", Efficiency::new("TH1D", [Axis::labelled(["a"])?])?.into_draft())?;
    /// file.close()?;
    /// let read = Efficiency::from_object(&sapwood::File::open(&path)?.object("made")?)?;
    /// assert_eq!(read.total().axes()[0].label(1), "a");
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn from_object(object: &Object) -> Result<Self> {
        Self::from_draft(draft_of(&object.members()?, object.class(), 0)?)
    }
}

/// Names of all bases, those of a class before their own bases.
fn base_names(members: &Members<'_>, names: &mut Vec<String>) {
    for base in members.bases() {
        names.push(base.class().to_owned());
        base_names(&base, names);
    }
}

fn draft_of(members: &Members<'_>, class: &str, depth: u32) -> Result<Draft> {
    if depth > DEEPEST {
        return Err(Error::limit("parts of a histogram nest too deep", u64::from(DEEPEST), u64::from(depth)));
    }
    let mut draft = Draft::new(class);
    for (name, value) in members.iter() {
        draft = draft.with(name.to_owned(), datum(value, depth)?);
    }
    Ok(draft)
}

fn datum(value: Value<'_>, depth: u32) -> Result<Datum> {
    Ok(match value {
        Value::Bool(flag) => Datum::from(flag),
        Value::Int(value) => Datum::Int(value),
        Value::Uint(value) => Datum::Int(value as i64),
        Value::Float(value) => Datum::Float(value),
        Value::Text(text) => std::str::from_utf8(text).map_or_else(|_| Datum::Bytes(text.into()), Datum::from),
        Value::Numbers(number, bytes) => Datum::Numbers(number, bytes.to_vec()),
        Value::List(items) => Datum::List(items.iter().map(|item| datum(item, depth + 1)).collect::<Result<_>>()?),
        Value::Record(members) => Datum::from(draft_of(&members, members.class(), depth + 1)?),
        Value::Object(object) if is_part(object.class()) => {
            Datum::from(std::sync::Arc::new(draft_of(&object.members()?, object.class(), depth + 1)?))
        }
        Value::Null | Value::Object(_) | Value::Opaque(..) => Datum::Null,
    })
}
