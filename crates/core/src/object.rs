//! Objects by key: named members, whatever the class.

use std::sync::Arc;

use bytes::Bytes;

use crate::column::{BufferId, Kind, Native, Number, Part, ends};
use crate::error::{Error, Result};
use crate::schema::{Machine, ObjectRow, Objects, Registry};
use crate::wire::{Limits, Reader, text};

/// An object of a file: a class name and named members. Cheap to clone; objects behind its pointers are shared.
///
/// # Example
///
/// ```
/// # let path = sapwood_testkit::example("histograms.root");
/// let histogram = sapwood::File::open(path)?.object("h1d")?;
/// assert_eq!(histogram.class(), "TH1D");
/// assert_eq!(histogram.member("fXaxis.fNbins")?.as_int(), Some(10));
/// assert_eq!(histogram.member("fTitle")?.as_text().as_deref(), Some("h1d"));
/// // All members, those of bases included.
/// let members = histogram.members()?;
/// let entries = members.iter().find(|(name, _)| *name == "fEntries");
/// assert_eq!(entries.and_then(|(_, value)| value.as_float()), Some(10004.0));
/// // Objects of one record are the same where their numbers are; one that was not decoded says why.
/// assert_eq!((histogram.id(), histogram.failure().is_none()), (1, true));
/// assert!(matches!(histogram.value(), sapwood::Value::Record(_)));
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Object {
    all: Arc<Objects>,
    id: u32,
}

/// The value of a member.
///
/// # Example
///
/// ```
/// # let path = sapwood_testkit::example("histograms.root");
/// let histogram = sapwood::File::open(path)?.object("h1d")?;
/// assert_eq!(histogram.member("fNcells")?.as_int(), Some(12));
/// assert_eq!(histogram.member("fEntries")?.as_float(), Some(10004.0));
/// assert_eq!(histogram.member("fName")?.as_text().as_deref(), Some("h1d"));
/// assert_eq!(histogram.member("fSumw2")?.numbers::<f64>().map(|sums| sums.len()), Some(12));
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Clone, Debug)]
pub enum Value<'a> {
    /// A null pointer, or an object that could not be decoded.
    Null,
    /// A truth value.
    Bool(bool),
    /// A signed number.
    Int(i64),
    /// An unsigned number.
    Uint(u64),
    /// A floating-point number.
    Float(f64),
    /// A string; ROOT gives no encoding.
    Text(&'a [u8]),
    /// Bytes of unknown layout, and their class.
    Opaque(&'a [u8], &'a Arc<str>),
    /// Consecutive numbers, native-endian.
    Numbers(Number, &'a [u8]),
    /// Items of a list that are no numbers.
    List(Items<'a>),
    /// A record by value.
    Record(Members<'a>),
    /// An object behind a pointer.
    Object(Object),
}

/// Items of a list.
///
/// # Example
///
/// ```
/// # let path = sapwood_testkit::example("nano.root");
/// use sapwood::Value;
/// let tree = sapwood::File::open(path)?.tree("Events")?;
/// let branches = tree.object.member("fBranches")?;
/// let Value::Record(array) = &branches else { panic!("it is a record") };
/// let Some(Value::List(items)) = array.get("items") else { panic!("it holds a list") };
/// assert_eq!((items.len(), items.is_empty()), (tree.top().len(), false));
/// assert!(items.iter().all(|item| matches!(item, Value::Object(branch) if branch.class() == "TBranch")));
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Items<'a> {
    objects: &'a Arc<Objects>,
    part: &'a Part,
    kind: &'a Kind,
    rows: std::ops::Range<usize>,
    /// Whether the items are the pairs of a map.
    pub is_map: bool,
}

/// The members of an object or of a record in it.
///
/// # Example
///
/// ```
/// # let path = sapwood_testkit::example("histograms.root");
/// let histogram = sapwood::File::open(path)?.object("h1d")?;
/// let members = histogram.members()?;
/// assert_eq!(members.class(), "TH1D");
/// assert_eq!(members.get("fXaxis.fXmax").and_then(|value| value.as_float()), Some(4.0));
/// // TH1D is a TH1 and an array of double, and adds nothing of its own.
/// assert_eq!(members.bases().iter().map(|base| base.class()).collect::<Vec<_>>(), ["TH1"]);
/// let (name, contents) = members.array_bases().next().expect("an array");
/// assert_eq!((name, members.own().count()), ("TArrayD", 0));
/// assert_eq!(contents.numbers::<f64>().map(|bins| bins[..2].to_vec()), Some(vec![2.0, 6.6]));
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Members<'a> {
    objects: &'a Arc<Objects>,
    part: &'a Part,
    kind: &'a Kind,
    row: usize,
}

impl Object {
    /// Decodes an object of `class` from the payload of its record, with everything that it points at.
    #[doc(hidden)]
    pub fn read(registry: &Registry, class: &str, payload: &[u8], keylen: usize, limits: &Limits) -> Result<Self> {
        Self::read_into(Objects::default(), registry, class, payload, keylen, limits)
    }

    /// The same for a record of which most is lists of numbers that may never be asked for: the baskets of a tree. They
    /// stay in the payload until then.
    pub(crate) fn read_kept(
        registry: &Registry,
        class: &str,
        payload: &Bytes,
        keylen: usize,
        limits: &Limits,
    ) -> Result<Self> {
        Self::read_into(Objects::kept_in(payload.clone()), registry, class, payload, keylen, limits)
    }

    fn read_into(
        mut objects: Objects,
        registry: &Registry,
        class: &str,
        payload: &[u8],
        keylen: usize,
        limits: &Limits,
    ) -> Result<Self> {
        let mut reader = Reader::with_origin(payload, keylen);
        let mut machine = Machine { registry, objects: &mut objects, limits, displacement: 0, outside: &[], depth: 0 };
        let id = machine.root(class, &mut reader)?;
        objects.seal();
        objects.check()?;
        Ok(Self { all: Arc::new(objects), id })
    }

    /// Object `id` of a table: one that was decoded, or one whose [`failure`](Self::failure) is known.
    #[doc(hidden)]
    pub fn of(all: &Arc<Objects>, id: u32) -> Option<Self> {
        (all.get(id).is_some() || all.failure(id).is_some()).then(|| Self { all: Arc::clone(all), id })
    }

    /// Its number in its table: objects of one record are the same where their numbers are.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// The table it lives in.
    #[doc(hidden)]
    pub fn table(&self) -> &Arc<Objects> {
        &self.all
    }

    fn row(&self) -> Option<ObjectRow<'_>> {
        self.all.get(self.id)
    }

    /// Its class.
    pub fn class(&self) -> &str {
        self.row().map_or("", |row| row.class)
    }

    /// Its members, those of bases included.
    pub fn members(&self) -> Result<Members<'_>> {
        let row = self.row().ok_or_else(|| Error::malformed("an object was never decoded"))?;
        Ok(Members { objects: &self.all, part: row.part, kind: row.kind, row: row.row })
    }

    /// One member by name: `fXaxis`, or a path like `fXaxis.fNbins`.
    ///
    /// # Errors
    ///
    /// [`NotFound`](crate::ErrorKind::NotFound) where there is no such member.
    pub fn member(&self, path: &str) -> Result<Value<'_>> {
        let members = self.members()?;
        members.get(path).ok_or_else(|| Error::not_found(format!("class {} has no member {path:?}", self.class())))
    }

    /// The whole value: for most classes a record; a number or list where the class is one.
    pub fn value(&self) -> Value<'_> {
        self.row().map_or(Value::Null, |row| value(&self.all, row.part, row.kind, row.row))
    }

    /// Why an object behind a pointer could not be decoded, where that is so.
    pub fn failure(&self) -> Option<&Error> {
        self.all.failure(self.id)
    }
}

impl<'a> Members<'a> {
    /// The class of the record.
    pub fn class(&self) -> &'a str {
        match self.kind {
            Kind::Record { class, .. } => class,
            _ => "",
        }
    }

    /// All members in the order of the file, those of bases in place of the bases.
    pub fn iter(&self) -> impl Iterator<Item = (&'a str, Value<'a>)> + use<'a> {
        let this = self.clone();
        this.kind
            .members()
            .into_iter()
            .map(move |(name, kind)| (&**name, value(this.objects, this.part, kind, this.row)))
    }

    /// The bases, each with its own members.
    pub fn bases(&self) -> Vec<Members<'a>> {
        let Kind::Record { fields, .. } = self.kind else { return Vec::new() };
        let bases = fields.iter().filter(|field| field.base && matches!(field.kind, Kind::Record { .. }));
        bases.map(|field| Members { kind: &field.kind, ..self.clone() }).collect()
    }

    /// Bases that are lists and no records: the `TArrayD` of a histogram.
    pub fn array_bases(&self) -> impl Iterator<Item = (&'a str, Value<'a>)> + use<'a> {
        let this = self.clone();
        let fields: &'a [_] = match this.kind {
            Kind::Record { fields, .. } => fields,
            _ => &[],
        };
        let arrays = fields.iter().filter(|field| field.base && !matches!(field.kind, Kind::Record { .. }));
        arrays.map(move |field| (&*field.name, value(this.objects, this.part, &field.kind, this.row)))
    }

    /// Members of this very class, without those of its bases.
    pub fn own(&self) -> impl Iterator<Item = (&'a str, Value<'a>)> + use<'a> {
        let this = self.clone();
        let fields: &'a [_] = match this.kind {
            Kind::Record { fields, .. } => fields,
            _ => &[],
        };
        fields
            .iter()
            .filter(|field| !field.base)
            .map(move |field| (&*field.name, value(this.objects, this.part, &field.kind, this.row)))
    }

    /// One member by name or path.
    pub fn get(&self, path: &str) -> Option<Value<'a>> {
        if let Some(kind) = find(self.kind, path) {
            return Some(value(self.objects, self.part, kind, self.row));
        }
        let (first, rest) = path.split_once('.')?;
        let kind = find(self.kind, first)?;
        match kind {
            Kind::Record { .. } => Members { kind, ..self.clone() }.get(rest),
            _ => None,
        }
    }
}

impl<'a> Items<'a> {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// All items in order.
    pub fn iter(&self) -> impl Iterator<Item = Value<'a>> + use<'a> {
        let this = self.clone();
        this.rows.clone().map(move |row| value(this.objects, this.part, this.kind, row))
    }
}

/// A member's type, searching bases too; the class's own members win.
pub(crate) fn find<'k>(kind: &'k Kind, name: &str) -> Option<&'k Kind> {
    let Kind::Record { fields, .. } = kind else { return None };
    let own = fields.iter().find(|field| !field.base && &*field.name == name);
    own.map(|field| &field.kind)
        .or_else(|| fields.iter().filter(|field| field.base).find_map(|field| find(&field.kind, name)))
}

/// Where list `row` of a buffer of ends begins and ends. Empty behind the last one, which only an object has that could
/// not be decoded: whole ones were checked.
pub(crate) fn list_bounds(part: &Part, ends: BufferId, row: usize) -> std::ops::Range<usize> {
    let words = part.words(ends);
    let Some(&end) = words.get(row) else { return 0..0 };
    ends::start(words, row) as usize..end as usize
}

fn value<'a>(objects: &'a Arc<Objects>, part: &'a Part, kind: &'a Kind, row: usize) -> Value<'a> {
    match kind {
        Kind::Number { buffer, number } => number_at(part.bytes(*buffer), *number, row),
        Kind::Text { offsets, bytes } => Value::Text(slice(part, *offsets, *bytes, row)),
        Kind::Opaque { offsets, bytes, class } => Value::Opaque(slice(part, *offsets, *bytes, row), class),
        Kind::List { offsets, item, of } => {
            items(objects, part, item, list_bounds(part, *offsets, row), *of == crate::column::ListOf::Map)
        }
        Kind::Fixed { len, item } => items(objects, part, item, row * len..(row + 1) * len, false),
        Kind::Record { .. } => Value::Record(Members { objects, part, kind, row }),
        Kind::Pointer { buffer, .. } => {
            let id = part.words(*buffer).get(row);
            id.and_then(|&id| Object::of(objects, id)).map_or(Value::Null, Value::Object)
        }
        // Only whole columns are followed, and never the table of an object.
        Kind::OneOf { .. } => Value::Null,
    }
}

fn items<'a>(
    objects: &'a Arc<Objects>,
    part: &'a Part,
    item: &'a Kind,
    rows: std::ops::Range<usize>,
    is_map: bool,
) -> Value<'a> {
    match item {
        Kind::Number { buffer, number } => {
            let wide = number.bytes();
            let bytes = part.bytes(*buffer).get(rows.start * wide..rows.end * wide);
            Value::Numbers(*number, bytes.unwrap_or(&[]))
        }
        kind => Value::List(Items { objects, part, kind, rows, is_map }),
    }
}

fn slice(part: &Part, ends: BufferId, bytes: BufferId, row: usize) -> &[u8] {
    part.bytes(bytes).get(list_bounds(part, ends, row)).unwrap_or(&[])
}

fn number_at<'a>(bytes: &[u8], number: Number, row: usize) -> Value<'a> {
    macro_rules! read {
        ($type:ty) => {{
            let wide = size_of::<$type>();
            match bytes.get(row * wide..).and_then(|rest| rest.first_chunk()) {
                Some(chunk) => <$type>::from_ne_bytes(*chunk),
                None => return Value::Null,
            }
        }};
    }
    match number {
        Number::Bool => Value::Bool(read!(u8) != 0),
        Number::I8 => Value::Int(i64::from(read!(i8))),
        Number::U8 => Value::Uint(u64::from(read!(u8))),
        Number::I16 => Value::Int(i64::from(read!(i16))),
        Number::U16 => Value::Uint(u64::from(read!(u16))),
        Number::I32 => Value::Int(i64::from(read!(i32))),
        Number::U32 => Value::Uint(u64::from(read!(u32))),
        Number::I64 => Value::Int(read!(i64)),
        Number::U64 => Value::Uint(read!(u64)),
        Number::F32 => Value::Float(f64::from(read!(f32))),
        Number::F64 => Value::Float(read!(f64)),
    }
}

impl Value<'_> {
    /// As a whole number, where it is one.
    pub fn as_int(&self) -> Option<i64> {
        match self {
            Self::Int(value) => Some(*value),
            Self::Uint(value) => i64::try_from(*value).ok(),
            Self::Bool(value) => Some(i64::from(*value)),
            Self::Float(value) if value.fract() == 0.0 && value.abs() < 9e15 => Some(*value as i64),
            _ => None,
        }
    }

    /// As a number, where it is one.
    pub fn as_float(&self) -> Option<f64> {
        match self {
            Self::Float(value) => Some(*value),
            Self::Uint(value) => Some(*value as f64),
            other => other.as_int().map(|value| value as f64),
        }
    }

    /// A copy of the numbers of a list, where they are of this type.
    pub fn numbers<T: Native>(&self) -> Option<Vec<T>> {
        match self {
            Self::Numbers(number, bytes) if *number == T::NUMBER => Some(T::read(bytes)),
            _ => None,
        }
    }

    /// As text, where it is a string.
    pub fn as_text(&self) -> Option<String> {
        match self {
            Self::Text(bytes) => Some(text(bytes)),
            _ => None,
        }
    }
}
