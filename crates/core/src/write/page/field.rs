//! From the types of values to fields and columns.
//!
//! Source: `RFieldBase::Create`, `RField::GenerateColumns`.

use std::collections::HashMap;
use std::sync::Arc;

use crate::codec::Compression;
use crate::column::{BufferId, Kind, Number};
use crate::error::{Error, Result};
use crate::ntuple::{AliasColumn, ColumnDescriptor, ColumnType, Descriptors, FieldDescriptor, Role};
use crate::write::model::class::Type;
use crate::write::page::declared::Declared;
use crate::write::page::names::{refused, type_name};
use crate::write::page::streamer::Streamer;

/// A top-level field of an RNTuple that is written: its name, and the type of its values.
///
/// Records without a class, and lists of them, become fields without a type name; `pair` and `tuple` become those of
/// the standard library; other classes keep their names, and ROOT needs their dictionaries to read them.
///
/// # Example
///
/// ```
/// use sapwood::column::{Kind, Number};
/// use sapwood::write::FieldSpec;
/// let field = FieldSpec::new("energy", Kind::Number { buffer: 0, number: Number::F32 });
/// assert_eq!(field.type_name()?, "float");
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct FieldSpec {
    /// Its name.
    pub name: Arc<str>,
    /// Type of its values. Numbers of buffers mean nothing here.
    pub kind: Kind,
    /// What to say about it.
    pub description: Arc<str>,
    /// Compression of its pages; none for that of the RNTuple.
    pub compression: Option<Compression>,
    /// Name of another field that has the number of items of its lists: see [`with_counter`](Self::with_counter).
    pub counter: Option<Arc<str>>,
    /// What it was made of, if that is a type.
    pub(crate) declared: Option<Type>,
    /// Version and checksum of classes in the type, where nothing is declared.
    pub(crate) versions: HashMap<Arc<str>, (u32, u32)>,
}

impl FieldSpec {
    /// A field of a name and a type.
    pub fn new(name: impl Into<Arc<str>>, kind: Kind) -> Self {
        Self {
            name: name.into(),
            kind,
            description: "".into(),
            compression: None,
            counter: None,
            declared: None,
            versions: HashMap::new(),
        }
    }

    /// The field with another one next to it that has the number of items of its lists, as the counter of a counted
    /// array has it in a tree. That is a projected field (`ROOT::RNTupleCardinality<std::uint32_t>`), which takes no
    /// values, and no space in the file.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::scratch("ntuple-counter.root");
    /// use sapwood::column::Number;
    /// use sapwood::write::{FieldSpec, FileWriter, NTupleOptions, Type, WriteOptions};
    /// let floats = Type::vector(Type::Number(Number::F32));
    /// let field = FieldSpec::of_type("Jet_pt", &floats)?.with_counter("nJet");
    /// let mut file = FileWriter::recreate(&path, WriteOptions::default())?;
    /// file.ntuple("Events", vec![field], NTupleOptions::default())?.close()?;
    /// file.close()?;
    /// let ntuple = sapwood::File::open(&path)?.ntuple("Events")?;
    /// assert_eq!(ntuple.field("nJet")?.source, Some(ntuple.field("Jet_pt")?.id));
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn with_counter(self, name: impl Into<Arc<str>>) -> Self {
        Self { counter: Some(name.into()), ..self }
    }

    /// Its type in C++, as ROOT normalises it; empty for records without a class.
    ///
    /// # Errors
    ///
    /// [`Unsupported`](crate::ErrorKind::Unsupported) for types that no RNTuple holds.
    pub fn type_name(&self) -> Result<String> {
        let name = match &self.declared {
            Some(declared) => Declared::new(declared).type_name(),
            None => type_name(&self.kind),
        };
        name.map_err(|error| error.in_object(&self.name))
    }

    /// Whether an RNTuple can hold its values.
    pub(crate) fn check(&self) -> Result<()> {
        Schema::new(std::slice::from_ref(self), Compression::default()).map(drop)
    }
}

/// How the values of a type go to columns, which are numbered in the order of the schema.
#[derive(Clone, Debug)]
pub(crate) enum Node {
    /// Values of one type, and elements of another.
    Numbers {
        buffer: BufferId,
        number: Number,
        stored: Number,
        column: usize,
    },
    Text {
        offsets: BufferId,
        bytes: BufferId,
        ends: usize,
        chars: usize,
    },
    List {
        offsets: BufferId,
        ends: usize,
        item: Box<Node>,
    },
    Optional {
        tags: BufferId,
        ends: usize,
        item: Box<Node>,
    },
    Variant {
        tags: BufferId,
        switch: usize,
        items: Vec<Node>,
    },
    Fixed {
        len: usize,
        item: Box<Node>,
    },
    Record {
        members: Vec<Node>,
    },
    /// Values of a class, which its streamer makes text of; `buffers` are those of the program in a column.
    Streamed {
        streamer: Arc<Streamer>,
        buffers: Vec<Option<BufferId>>,
        ends: usize,
        chars: usize,
    },
}

impl Node {
    /// The same node over the buffers of a column.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](crate::ErrorKind::Mismatch) where the column is of another type.
    pub(crate) fn bound(&self, kind: &Kind) -> Result<Self> {
        let other = || Error::mismatch(format!("the values are of type {kind}, which is not the type of the field"));
        Ok(match (self, kind) {
            (Self::Numbers { number, stored, column, .. }, Kind::Number { buffer, number: given })
                if number == given =>
            {
                Self::Numbers { buffer: *buffer, number: *number, stored: *stored, column: *column }
            }
            (Self::Text { ends, chars, .. }, Kind::Text { offsets, bytes }) => {
                Self::Text { offsets: *offsets, bytes: *bytes, ends: *ends, chars: *chars }
            }
            (Self::List { ends, item, .. }, Kind::List { offsets, item: given, .. }) => {
                Self::List { offsets: *offsets, ends: *ends, item: Box::new(item.bound(given)?) }
            }
            (Self::Optional { ends, item, .. }, Kind::OneOf { tags, of }) if of.len() == 1 => {
                Self::Optional { tags: *tags, ends: *ends, item: Box::new(item.bound(&of[0])?) }
            }
            (Self::Variant { switch, items, .. }, Kind::OneOf { tags, of }) if of.len() == items.len() => {
                let items = items.iter().zip(of).map(|(item, kind)| item.bound(kind)).collect::<Result<_>>()?;
                Self::Variant { tags: *tags, switch: *switch, items }
            }
            (Self::Fixed { len, item }, Kind::Fixed { len: given_len, item: given }) if len == given_len => {
                Self::Fixed { len: *len, item: Box::new(item.bound(given)?) }
            }
            (Self::Record { members }, Kind::Record { fields, .. }) if members.len() == fields.len() => {
                let of = members.iter().zip(fields).map(|(member, field)| member.bound(&field.kind));
                Self::Record { members: of.collect::<Result<_>>()? }
            }
            (Self::Streamed { streamer, ends, chars, .. }, kind) => {
                let buffers = streamer.bound(kind).ok_or_else(other)?;
                Self::Streamed { streamer: Arc::clone(streamer), buffers, ends: *ends, chars: *chars }
            }
            _ => return Err(other()),
        })
    }

    /// Gives its columns other numbers.
    pub(crate) fn renumber(&mut self, numbers: &HashMap<usize, usize>) {
        let change = |column: &mut usize| {
            if let Some(&number) = numbers.get(column) {
                *column = number;
            }
        };
        match self {
            Self::Numbers { column, .. } => change(column),
            Self::Text { ends, chars, .. } | Self::Streamed { ends, chars, .. } => {
                change(ends);
                change(chars);
            }
            Self::List { ends, item, .. } | Self::Optional { ends, item, .. } => {
                change(ends);
                item.renumber(numbers);
            }
            Self::Variant { switch, items, .. } => {
                change(switch);
                items.iter_mut().for_each(|item| item.renumber(numbers));
            }
            Self::Fixed { item, .. } => item.renumber(numbers),
            Self::Record { members } => members.iter_mut().for_each(|member| member.renumber(numbers)),
        }
    }
}

/// What a column holds while its cluster is buffered.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ColumnPlan {
    pub(crate) kind: ColumnType,
    /// Bits of an element in a page.
    pub(crate) bits: u16,
    /// Smallest and largest value of quantised numbers.
    pub(crate) range: Option<(f64, f64)>,
    /// Bytes of an element in memory.
    pub(crate) wide: usize,
    /// Its own compression; none for that of the RNTuple.
    pub(crate) compression: Option<Compression>,
    /// Whether values go into it. If not, another representation of its field takes them.
    pub(crate) is_used: bool,
}

impl ColumnPlan {
    /// Bytes of an element as ROOT counts them for the size of pages.
    pub(crate) fn memory_bytes(self) -> usize {
        if self.kind == ColumnType::Switch { 16 } else { self.wide }
    }
}

/// The schema of an RNTuple, and how values get into it.
#[derive(Debug, Default)]
pub(crate) struct Schema {
    pub(crate) descriptors: Descriptors,
    pub(crate) columns: Vec<ColumnPlan>,
    /// The own setting of the field that is being added, and whether its pages are compressed.
    own: Option<Compression>,
    is_compressed: bool,
    /// What is known of the classes in its type.
    versions: HashMap<Arc<str>, (u32, u32)>,
}

impl Schema {
    /// The schema of fields, and for each field how its values become columns. Without compression elements are stored
    /// as in memory. `usual` is the setting of fields that have none of their own.
    pub(crate) fn new(fields: &[FieldSpec], usual: Compression) -> Result<(Self, Vec<Node>)> {
        let mut schema = Self::default();
        let mut nodes = Vec::with_capacity(fields.len());
        let mut names = std::collections::HashSet::new();
        for field in fields {
            check_name(&field.name)?;
            if !names.insert(&field.name) {
                return Err(Error::new(crate::ErrorKind::Exists, format!("there are two fields {:?}", field.name)));
            }
            let id = schema.descriptors.fields.len();
            let declared = field.declared.as_ref().map(Declared::new);
            (schema.own, schema.is_compressed) = (field.compression, field.compression.unwrap_or(usual).level > 0);
            schema.versions.clone_from(&field.versions);
            let node = schema.field(&field.name, &field.kind, declared, id, 0);
            let node = node.map_err(|error| error.in_object(&field.name))?;
            if let Some(described) = schema.descriptors.fields.get_mut(id) {
                described.description = Arc::clone(&field.description);
            }
            if let Some(counter) = &field.counter {
                check_name(counter)?;
                if !names.insert(counter) {
                    return Err(Error::new(crate::ErrorKind::Exists, format!("there are two fields {counter:?}")));
                }
                schema.project_length(counter, id, &node).map_err(|error| error.in_object(&field.name))?;
            }
            nodes.push(node);
        }
        schema.check_names()?;
        Ok((schema, nodes))
    }

    /// No reader takes two members of one name in a record: those of a class whose bases share a name, for instance.
    fn check_names(&self) -> Result<()> {
        let mut names = std::collections::HashSet::with_capacity(self.descriptors.fields.len());
        for (id, field) in self.descriptors.fields.iter().enumerate() {
            if field.parent != id && !names.insert((field.parent, &*field.name)) {
                let parent = self.descriptors.fields.get(field.parent).map_or("", |parent| &*parent.name);
                let words = format!("there are two members {:?}: rename one, or leave it out", field.name);
                return Err(Error::new(crate::ErrorKind::Exists, words).in_object(parent));
            }
        }
        Ok(())
    }

    /// Adds a top-level field with the number of items of the lists of another.
    fn project_length(&mut self, name: &Arc<str>, source: usize, node: &Node) -> Result<()> {
        let Node::List { ends, .. } = *node else {
            return Err(Error::mismatch(format!("{name:?} cannot count the items of a field that is not a list")));
        };
        let id = self.descriptors.fields.len();
        self.descriptors.fields.push(FieldDescriptor {
            field_version: 0,
            type_version: 0,
            parent: id,
            role: Role::Plain,
            name: Arc::clone(name),
            type_name: "ROOT::RNTupleCardinality<std::uint32_t>".into(),
            type_alias: "".into(),
            description: "".into(),
            repetitions: None,
            source: Some(source),
            checksum: None,
            is_soa: false,
        });
        self.descriptors.aliases.push(AliasColumn { column: ends, field: id });
        Ok(())
    }

    /// Adds a field and all below it; of a top-level field `parent` is its own number.
    fn field(
        &mut self,
        name: &str,
        kind: &Kind,
        declared: Option<Declared<'_>>,
        parent: usize,
        depth: u32,
    ) -> Result<Node> {
        const DEEPEST: u32 = 60;
        if depth > DEEPEST {
            return Err(Error::limit("fields are nested too deep", DEEPEST.into(), depth.into()));
        }
        let id = self.descriptors.fields.len();
        let role = match kind {
            Kind::Number { .. } | Kind::Text { .. } | Kind::Fixed { .. } => Role::Plain,
            Kind::List { .. } => Role::Collection,
            Kind::OneOf { of, .. } if of.len() == 1 => Role::Collection,
            Kind::OneOf { .. } => Role::Variant,
            Kind::Record { .. } => Role::Record,
            Kind::Opaque { .. } | Kind::Pointer { .. } => return Err(refused(kind)),
        };
        let known = match kind {
            Kind::Record { class, .. } => self.versions.get(class),
            _ => None,
        };
        let (type_version, checksum) = match (declared, known) {
            (Some(declared), _) => declared.version(),
            (None, Some(&(version, checksum))) => (version, Some(checksum)),
            (None, None) => (0, None),
        };
        self.descriptors.fields.push(FieldDescriptor {
            field_version: 0,
            type_version,
            parent,
            role,
            name: name.into(),
            type_name: declared.map_or_else(|| type_name(kind), Declared::type_name)?.into(),
            type_alias: "".into(),
            description: "".into(),
            repetitions: match kind {
                Kind::Fixed { len, .. } => Some(*len as u64),
                _ => None,
            },
            source: None,
            checksum,
            is_soa: false,
        });
        let item_declared = declared.and_then(Declared::item);
        let split = |plain: ColumnType, split: ColumnType| if self.is_compressed { split } else { plain };
        let index = split(ColumnType::Index64, ColumnType::SplitIndex64);
        Ok(match kind {
            Kind::Number { buffer, number } => {
                let column = self.column(id, number_type(*number, self.is_compressed), number.bytes());
                Node::Numbers { buffer: *buffer, number: *number, stored: *number, column }
            }
            Kind::Text { offsets, bytes } => {
                let ends = self.column(id, index, 8);
                let chars = self.column(id, ColumnType::Char, 1);
                Node::Text { offsets: *offsets, bytes: *bytes, ends, chars }
            }
            Kind::List { offsets, item, .. } => {
                let ends = self.column(id, index, 8);
                let item = Box::new(self.field("_0", item, item_declared, id, depth + 1)?);
                Node::List { offsets: *offsets, ends, item }
            }
            Kind::OneOf { tags, of } if of.len() == 1 => {
                let ends = self.column(id, index, 8);
                let item = Box::new(self.field("_0", &of[0], item_declared, id, depth + 1)?);
                Node::Optional { tags: *tags, ends, item }
            }
            Kind::OneOf { tags, of } => {
                if of.is_empty() {
                    return Err(Error::unsupported("values of no known type cannot be written"));
                }
                let switch = self.column(id, ColumnType::Switch, SWITCH_BYTES);
                let items =
                    of.iter().enumerate().map(|(at, kind)| self.field(&format!("_{at}"), kind, None, id, depth + 1));
                Node::Variant { tags: *tags, switch, items: items.collect::<Result<_>>()? }
            }
            Kind::Fixed { len, item } => {
                if *len == 0 {
                    return Err(Error::unsupported("arrays of no items cannot be written"));
                }
                Node::Fixed { len: *len, item: Box::new(self.field("_0", item, item_declared, id, depth + 1)?) }
            }
            Kind::Record { class, fields } => {
                let mut members = Vec::with_capacity(fields.len());
                let mut bases = 0;
                for (at, field) in fields.iter().enumerate() {
                    let counted = matches!(&**class, "pair" | "tuple");
                    let name = match (field.base, counted) {
                        (true, _) => format!(":_{bases}"),
                        (_, true) => format!("_{at}"),
                        _ => field.name.to_string(),
                    };
                    match field.base {
                        true => bases += 1,
                        false => check_name(&name)?,
                    }
                    let declared = declared.and_then(|declared| declared.member(at));
                    members.push(self.field(&name, &field.kind, declared, id, depth + 1)?);
                }
                Node::Record { members }
            }
            Kind::Opaque { .. } | Kind::Pointer { .. } => return Err(refused(kind)),
        })
    }

    fn column(&mut self, field: usize, kind: ColumnType, wide: usize) -> usize {
        self.descriptors.columns.push(ColumnDescriptor {
            kind: Some(kind),
            code: kind.code(),
            bits: kind.bits(),
            field,
            representation: 0,
            first_element: None,
            range: None,
        });
        let (bits, compression) = (kind.bits(), self.own);
        self.columns.push(ColumnPlan { kind, bits, range: None, wide, compression, is_used: true });
        self.columns.len() - 1
    }
}

/// Bytes of an element of a switch.
pub(crate) const SWITCH_BYTES: usize = 12;

pub(crate) fn number_type(number: Number, is_compressed: bool) -> ColumnType {
    use ColumnType::{
        Bit, Int8, Int16, Int32, Int64, Real32, Real64, SplitInt16, SplitInt32, SplitInt64, SplitReal32, SplitReal64,
        SplitUInt16, SplitUInt32, SplitUInt64, UInt8, UInt16, UInt32, UInt64,
    };
    let (plain, split) = match number {
        Number::Bool => (Bit, Bit),
        Number::I8 => (Int8, Int8),
        Number::U8 => (UInt8, UInt8),
        Number::I16 => (Int16, SplitInt16),
        Number::U16 => (UInt16, SplitUInt16),
        Number::I32 => (Int32, SplitInt32),
        Number::U32 => (UInt32, SplitUInt32),
        Number::I64 => (Int64, SplitInt64),
        Number::U64 => (UInt64, SplitUInt64),
        Number::F32 => (Real32, SplitReal32),
        Number::F64 => (Real64, SplitReal64),
    };
    if is_compressed { split } else { plain }
}

/// Names of fields that ROOT refuses are refused here, too.
fn check_name(name: &str) -> Result<()> {
    let is_bad = |letter: char| letter.is_control() || matches!(letter, '.' | ' ' | '/' | '\\');
    if name.is_empty() || name.chars().any(is_bad) {
        let message =
            format!("a field cannot be named {name:?}: names have no dots, blanks, slashes or control characters");
        return Err(Error::mismatch(message));
    }
    Ok(())
}
