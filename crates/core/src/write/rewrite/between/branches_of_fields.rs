//! Which branches hold the values of an RNTuple's fields, and how the values get there.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::column::{BufferId, Kind, Number};
use crate::error::{Error, Result};
use crate::ntuple::{Field, NTuple, Role};
use crate::read;
use crate::schema::{Mapping, Registry, Sequence};
use crate::write::model::branch::{BranchKind, BranchSpec, Item};
use crate::write::model::class::{Class, Member, Type, pair};
use crate::write::model::columns::Column;
use crate::write::model::values::Values;
use crate::write::rewrite::between::class_in_tree::fit_description;

/// A branch that is made of the values of a top-level field, or of a member of it.
#[derive(Debug)]
pub(crate) struct FieldBranch {
    pub(crate) spec: BranchSpec,
    /// The lists around the values, from the outermost on.
    levels: Vec<Level>,
    /// The innermost values.
    kind: Kind,
    /// Their type, where the branch holds objects.
    object: Option<Type>,
}

/// What is a list in the tree.
#[derive(Clone, Copy, Debug)]
enum Level {
    /// A list, with these offsets.
    List(BufferId),
    /// A value that may be absent, with these tags: no item or one.
    Optional(BufferId),
    /// An array of so many items.
    Fixed(usize),
}

impl Level {
    /// Where the lists of so many rows begin and end, from 0 on.
    fn offsets(self, column: &read::Column, rows: usize) -> Result<Vec<i64>> {
        let short = || Error::internal("a list has no end");
        match self {
            Self::List(offsets) => {
                let bytes = column.buffer(offsets);
                let all = bytes.as_chunks::<8>().0.get(..rows + 1).ok_or_else(short)?;
                Ok(all.iter().map(|end| i64::from_ne_bytes(*end)).collect())
            }
            Self::Optional(tags) => {
                let tags = column.buffer(tags);
                let mut end = 0;
                let ends = tags.get(..rows).ok_or_else(short)?.iter().map(|&tag| {
                    end += i64::from(tag as i8 >= 0);
                    end
                });
                Ok(std::iter::once(0).chain(ends).collect())
            }
            Self::Fixed(len) => {
                let len = i64::try_from(len).map_err(|_| Error::internal("an array is too long"))?;
                Ok((0..=rows as i64).map(|row| row.saturating_mul(len)).collect())
            }
        }
    }
}

/// Finds the branches of fields.
pub(crate) struct Branches<'a> {
    ntuple: &'a NTuple,
    registry: Arc<Registry>,
    /// Names that are in use, those of all top-level fields among them.
    names: HashSet<String>,
    /// The field of lists by the name of the branch that counts their items.
    counted: HashMap<String, usize>,
    /// Name of the top-level field whose branches are being found.
    top: String,
    pub(crate) found: Vec<FieldBranch>,
    /// What is of another type than in the RNTuple.
    pub(crate) notes: Vec<String>,
}

/// Where the walk through a field is.
#[derive(Clone, Default)]
struct Way {
    levels: Vec<Level>,
    /// Whether arrays or values that may be absent are among them.
    is_changed: bool,
    /// The branch that counts the items of the only list around the values.
    counter: Option<String>,
}

impl<'a> Branches<'a> {
    /// No branch yet. Top-level fields have these names.
    ///
    /// # Errors
    ///
    /// What reading the descriptions of classes reports.
    pub(crate) fn new(ntuple: &'a NTuple, names: impl Iterator<Item = String>) -> Result<Self> {
        let registry = ntuple.registry()?;
        Ok(Self {
            ntuple,
            registry,
            names: names.collect(),
            counted: HashMap::new(),
            top: String::new(),
            found: Vec::new(),
            notes: Vec::new(),
        })
    }

    /// Adds the branches of a top-level field: one, or one for each member of records without a class.
    ///
    /// # Errors
    ///
    /// [`Unsupported`](crate::ErrorKind::Unsupported) naming the field and the type that no tree holds: then none was
    /// added.
    pub(crate) fn add(&mut self, field: &Field, kind: &Kind) -> Result<()> {
        let before = (self.found.len(), self.notes.len());
        self.top = branch_name(&field.name);
        let outcome = self.walk(field, kind, self.top.clone(), Way::default());
        if outcome.is_err() {
            self.found.truncate(before.0);
            self.notes.truncate(before.1);
        }
        outcome
    }

    /// Whether a branch has the name of this field.
    pub(crate) fn has(&self, field: &str) -> bool {
        self.names.contains(&branch_name(field))
    }

    /// Whether the branch of that name counts the items of these lists.
    pub(crate) fn counts(&self, field: &str, lists: usize) -> bool {
        self.counted.get(&branch_name(field)) == Some(&lists)
    }

    fn walk(&mut self, field: &Field, kind: &Kind, name: String, way: Way) -> Result<()> {
        let field = self.inner(field)?;
        match kind {
            Kind::Record { class, fields } if is_loose(class) => {
                for (child, member) in field.children.iter().zip(fields) {
                    let name =
                        if name.is_empty() { branch_name(&member.name) } else { format!("{name}_{}", member.name) };
                    self.walk(self.field(*child)?, &member.kind, name, way.clone())?;
                }
                Ok(())
            }
            Kind::List { offsets, item, .. } if has_loose_records(item) => {
                let mut way = way;
                way.levels.push(Level::List(*offsets));
                let (name, counter) = self.names_of_collection(field, name);
                way.counter = Some(counter).filter(|_| way.levels.len() == 1);
                if let Some(counter) = &way.counter {
                    self.counted.entry(counter.clone()).or_insert(field.id);
                }
                self.walk(self.item(field)?, item, name, way)
            }
            Kind::List { offsets, item, .. }
                if sequence(field) == Some(Sequence::Vector)
                    && (is_simple(item) && way.counter.is_none() || becomes_vector(item)) =>
            {
                let mut way = way;
                way.levels.push(Level::List(*offsets));
                self.walk(self.item(field)?, item, name, way)
            }
            Kind::OneOf { tags, of } if of.len() == 1 => {
                let mut way = Way { is_changed: true, ..way };
                way.levels.push(Level::Optional(*tags));
                self.walk(self.item(field)?, &of[0], name, way)
            }
            Kind::Fixed { len, item } if numbers(kind).0.is_none() => {
                let mut way = Way { is_changed: true, ..way };
                way.levels.push(Level::Fixed(*len));
                self.walk(self.item(field)?, item, name, way)
            }
            _ => self.leaf(field, kind, name, way),
        }
    }

    /// Names of the members of a collection of records, and of the branch that counts its items. ROOT's importer calls
    /// such collections `_collection0`, and shows their members and lengths under the names that they had in the tree.
    fn names_of_collection(&mut self, field: &Field, name: String) -> (String, String) {
        let number = field.name.strip_prefix("_collection").filter(|_| field.parent.is_none());
        if number.is_none_or(|number| number.parse::<u32>().is_err()) {
            let counter = format!("n{name}");
            return (name, counter);
        }
        let is_length = |other: &&Field| {
            other.parent.is_none() && other.source == Some(field.id) && other.type_name.contains("RNTupleCardinality")
        };
        let length = self.ntuple.fields().iter().find(is_length);
        (String::new(), length.map_or_else(|| format!("n{name}"), |length| branch_name(&length.name)))
    }

    /// Adds the branch of values that are no record without a class.
    fn leaf(&mut self, field: &Field, kind: &Kind, name: String, way: Way) -> Result<()> {
        let depth = way.levels.len() as u32;
        let (number, mut extents) = numbers(kind);
        let (mut levels, mut is_changed) = (way.levels, way.is_changed);
        let (counter, depth_of_kind) = (way.counter, |kind: BranchKind| (kind, None));
        let (branch, object) = match (number, kind) {
            (Some(number), _) if depth == 0 => depth_of_kind(BranchKind::Numbers(number)),
            (Some(number), _)
                if depth == 1
                    && let Some(counter) = self.counter(counter.as_deref())? =>
            {
                depth_of_kind(BranchKind::Jagged(number, counter.into()))
            }
            (Some(number), _) => {
                is_changed |= !extents.is_empty();
                levels.extend(extents.drain(..).map(|extent| Level::Fixed(extent as usize)));
                depth_of_kind(BranchKind::Vector(Item::Number(number), levels.len() as u32))
            }
            (None, Kind::Text { .. }) if depth > 0 => depth_of_kind(BranchKind::Vector(Item::Text, depth)),
            _ => {
                let mut kind = self.type_of(field, kind)?;
                for _ in 0..depth {
                    kind = Type::vector(kind);
                }
                kind.check().map_err(|error| error.in_object(&field.path))?;
                (BranchKind::Object(kind.clone(), 99), Some(kind))
            }
        };
        let extents = if object.is_some() { Vec::new() } else { extents };
        let spec = BranchSpec::new(name.as_str(), branch).with_dimensions(extents);
        spec.check().map_err(|error| error.in_object(&field.path))?;
        if name != self.top && !self.names.insert(name.clone()) {
            let words = format!("two branches would have the name {name:?}: leave one of the fields out");
            return Err(Error::unsupported(words).in_object(&field.path));
        }
        if is_changed {
            let words = "values that may be absent are vectors of no item or one, and arrays are vectors";
            self.notes.push(format!("branch {name:?} is not of the type of its field: {words}"));
        }
        self.found.push(FieldBranch { spec, levels, kind: kind.clone(), object });
        Ok(())
    }

    /// The branch that counts, which is added when it is first needed; none where another field has its name.
    fn counter(&mut self, name: Option<&str>) -> Result<Option<String>> {
        let Some(name) = name else { return Ok(None) };
        let is_there = self.found.iter().any(|found| &*found.spec.name == name);
        if is_there {
            let counts =
                self.found.iter().any(|f| matches!(f.spec.kind, BranchKind::Counter(_)) && &*f.spec.name == name);
            return Ok(counts.then(|| name.to_owned()));
        }
        if !self.names.insert(name.to_owned()) {
            return Ok(None);
        }
        let spec = BranchSpec::counter(name);
        spec.check()?;
        self.found.push(FieldBranch {
            spec,
            levels: Vec::new(),
            kind: Kind::Text { offsets: 0, bytes: 0 },
            object: None,
        });
        Ok(Some(name.to_owned()))
    }

    fn field(&self, id: usize) -> Result<&'a Field> {
        self.ntuple.fields().get(id).ok_or_else(|| Error::internal("a field below another does not exist"))
    }

    /// The field that has the values: enumerations and atomics have those of the field below.
    fn inner(&self, mut field: &'a Field) -> Result<&'a Field> {
        while let (Role::Plain, None, &[below]) = (field.role, field.repetitions, &field.children[..]) {
            field = self.field(below)?;
        }
        Ok(field)
    }

    fn item(&self, field: &Field) -> Result<&'a Field> {
        let item = field.children.first().ok_or_else(|| Error::internal("a list has no field for its items"))?;
        self.field(*item)
    }

    /// The type of values as a class in a tree has it.
    fn type_of(&self, field: &'a Field, kind: &Kind) -> Result<Type> {
        let outer = field;
        let field = self.inner(field)?;
        let refused = |what: &str| {
            let words = format!(
                "a tree does not hold {what} (type {}): leave the field out (`--drop`, or `drop=` in Python)",
                outer.type_name
            );
            Error::unsupported(words).in_object(&outer.path)
        };
        if field.role == Role::Streamer {
            return Err(refused("values as the streamer of their class wrote them"));
        }
        Ok(match kind {
            // Members that are enumerations are four bytes wide, whatever their type.
            Kind::Number { number, .. } if outer.id != field.id && !outer.type_name.starts_with("std::atomic<") => {
                match number {
                    Number::I64 | Number::U64 => return Err(refused("enumerations of 64 bits")),
                    _ => Type::Number(Number::I32),
                }
            }
            Kind::Number { number, .. } => Type::Number(*number),
            Kind::Text { .. } => Type::Text,
            Kind::Fixed { .. } => match numbers(kind) {
                (Some(number), extents) if !field.type_name.starts_with("std::bitset") => Type::Array(number, extents),
                (Some(_), _) => return Err(refused("sets of bits in collections or objects")),
                _ => return Err(refused("arrays of anything but numbers")),
            },
            Kind::List { item, .. } => {
                let below = self.item(field)?;
                if let (Some(mapping), Kind::Record { fields, .. }, [key, value]) =
                    (mapping(field), &**item, &below.children[..])
                    && fields.len() == 2
                {
                    let key = self.type_of(self.field(*key)?, &fields[0].kind)?;
                    let value = self.type_of(self.field(*value)?, &fields[1].kind)?;
                    Type::mapping(mapping, key, value)
                } else {
                    let kind = sequence(field).ok_or_else(|| refused("collections of this kind"))?;
                    Type::sequence(kind, self.type_of(below, item)?)
                }
            }
            Kind::Record { class, .. } if class.is_empty() => {
                return Err(refused("records without a class in objects"));
            }
            Kind::Record { class, .. } if &**class == "tuple" => return Err(refused("tuples")),
            Kind::Record { class, fields } if &**class == "pair" => match (&field.children[..], &fields[..]) {
                (&[first, second], [of_first, of_second]) => Type::Object(Arc::new(pair(
                    &self.type_of(self.field(first)?, &of_first.kind)?,
                    &self.type_of(self.field(second)?, &of_second.kind)?,
                ))),
                _ => return Err(refused("pairs of more than two")),
            },
            Kind::Record { fields, .. } => {
                let mut class = Class::new(class_name(&field.type_name));
                class.version = i16::try_from(field.type_version).ok().filter(|&version| version > 0);
                class.known_checksum = field.type_checksum;
                for (child, member) in field.children.iter().zip(fields) {
                    let child = self.field(*child)?;
                    let kind = self.type_of(child, &member.kind)?;
                    let name = if member.base { class_name(&child.type_name) } else { member.name.to_string() };
                    class.members.push(Member { is_base: member.base, ..Member::new(name, kind) });
                }
                fit_description(&self.registry, &mut class).map_err(|what| refused(&what))?;
                Type::Object(Arc::new(class))
            }
            Kind::OneOf { of, .. } if of.len() == 1 => return Err(refused("values that may be absent")),
            Kind::OneOf { .. } => return Err(refused("values of several types")),
            Kind::Opaque { .. } | Kind::Pointer { .. } => return Err(refused("values of this type")),
        })
    }
}

impl FieldBranch {
    /// Values of consecutive entries for the branch. Objects go through `columns`, which has to be kept meanwhile; none
    /// for a branch that counts, since what it counts fills it.
    pub(crate) fn object(&self, column: &read::Column) -> Result<Option<Column>> {
        let Some(kind) = &self.object else { return Ok(None) };
        let mut items = kind;
        let mut rows = column.len;
        let mut ends = Vec::with_capacity(self.levels.len());
        for &level in &self.levels {
            let offsets = level.offsets(column, rows)?;
            rows = offsets.last().map_or(0, |&end| end as usize);
            ends.push(offsets.into_iter().skip(1).map(|end| end as u64).collect());
            if let Type::Sequence(_, item) = items {
                items = item;
            }
        }
        let mut made = object_column(column, &self.kind, items, rows)?;
        for own in ends.into_iter().rev() {
            made = Column::Lists(own, Box::new(made));
        }
        Ok(Some(made))
    }

    /// Values of consecutive entries, once [`object`](Self::object) made those that are objects.
    pub(crate) fn values<'v>(&self, column: &read::Column, object: Option<&'v Column>) -> Result<Option<Values<'v>>> {
        if let Some(object) = object {
            return Ok(Some(Values::objects(object)));
        }
        if matches!(self.spec.kind, BranchKind::Counter(_)) {
            return Ok(None);
        }
        let (mut rows, mut levels) = (column.len, Vec::with_capacity(self.levels.len() + 1));
        for level in &self.levels {
            let offsets = level.offsets(column, rows)?;
            rows = offsets.last().map_or(0, |&end| end as usize);
            levels.push(Cow::Owned(offsets));
        }
        let mut kind = &self.kind;
        while let Kind::Fixed { item, .. } = kind {
            kind = item;
        }
        match kind {
            Kind::Number { buffer, number } => {
                let memory = Cow::Owned(column.buffer(*buffer).to_vec());
                Ok(Some(Values::from_numbers(*number, levels, memory)))
            }
            Kind::Text { offsets: ends, bytes } => {
                levels.push(Cow::Owned(Level::List(*ends).offsets(column, rows)?));
                Ok(Some(Values::from_text(levels, Cow::Owned(column.buffer(*bytes).to_vec()))))
            }
            _ => Err(Error::internal("a branch of simple values is filled with others")),
        }
    }
}

/// Values of objects, strings and containers as the tree writer takes them.
fn object_column(column: &read::Column, kind: &Kind, to: &Type, rows: usize) -> Result<Column> {
    let other = || Error::internal("values are not of the type of their branch");
    Ok(match (kind, to) {
        (Kind::Number { buffer, number }, Type::Number(wanted)) => {
            let bytes = column.buffer(*buffer);
            let bytes = bytes.get(..rows * number.bytes()).ok_or_else(other)?;
            if number == wanted {
                Column::Numbers(number.bytes(), bytes.to_vec())
            } else {
                // Enumerations: as ints, whatever their sign.
                let ints = number.wholes(bytes).flat_map(|value| (value as i32).to_ne_bytes());
                Column::Numbers(wanted.bytes(), ints.collect())
            }
        }
        (Kind::Fixed { .. }, Type::Array(..)) => {
            let (mut kind, mut count) = (kind, 1);
            while let Kind::Fixed { len, item } = kind {
                (kind, count) = (item, count * len);
            }
            let Kind::Number { buffer, number } = kind else { return Err(other()) };
            let bytes = column.buffer(*buffer);
            let bytes = bytes.get(..rows * count * number.bytes()).ok_or_else(other)?;
            Column::Numbers(count * number.bytes(), bytes.to_vec())
        }
        (Kind::Text { offsets, bytes }, Type::Text | Type::RootText) => {
            let ends = ends_of(column, *offsets, rows)?;
            let bytes = column.buffer(*bytes);
            let text = bytes.get(..ends.last().map_or(0, |&end| end as usize)).ok_or_else(other)?;
            Column::Lists(ends, Box::new(Column::Numbers(1, text.to_vec())))
        }
        (Kind::List { offsets, item, .. }, Type::Sequence(_, to)) => {
            let ends = ends_of(column, *offsets, rows)?;
            let items = ends.last().map_or(0, |&end| end as usize);
            Column::Lists(ends, Box::new(object_column(column, item, to, items)?))
        }
        (Kind::List { offsets, item, .. }, Type::Mapping(_, key, value)) => {
            let ends = ends_of(column, *offsets, rows)?;
            let items = ends.last().map_or(0, |&end| end as usize);
            let to = Type::Object(Arc::new(pair(key, value)));
            Column::Lists(ends, Box::new(object_column(column, item, &to, items)?))
        }
        (Kind::Record { fields, .. }, Type::Object(class)) if fields.len() == class.members.len() => {
            let members = fields.iter().zip(&class.members);
            let members = members.map(|(field, member)| object_column(column, &field.kind, &member.kind, rows));
            Column::Record(rows, members.collect::<Result<_>>()?)
        }
        _ => return Err(other()),
    })
}

/// Ends of the first lists of a column, whose first item is its first.
fn ends_of(column: &read::Column, offsets: BufferId, rows: usize) -> Result<Vec<u64>> {
    Ok(Level::List(offsets).offsets(column, rows)?.into_iter().skip(1).map(|end| end as u64).collect())
}

/// A name as branches may have it.
fn branch_name(name: &str) -> String {
    name.chars().map(|letter| if matches!(letter, ':' | '[' | ']') { '_' } else { letter }).collect()
}

/// Whether the members of records become branches of their own: trees know no class of theirs.
fn is_loose(class: &str) -> bool {
    matches!(class, "" | "tuple")
}

/// Whether a value that becomes a vector is in it, below lists alone.
fn becomes_vector(kind: &Kind) -> bool {
    match kind {
        Kind::OneOf { of, .. } => of.len() == 1,
        Kind::Fixed { .. } => true,
        Kind::List { item, .. } => becomes_vector(item),
        _ => false,
    }
}

/// Whether a record without a class is in it, below lists alone.
fn has_loose_records(kind: &Kind) -> bool {
    match kind {
        Kind::Record { class, .. } => is_loose(class),
        Kind::List { item, .. } => has_loose_records(item),
        _ => false,
    }
}

/// Whether vectors of these are branches of their own kind.
fn is_simple(kind: &Kind) -> bool {
    match kind {
        Kind::Number { .. } | Kind::Text { .. } => true,
        Kind::List { item, .. } => is_simple(item),
        _ => false,
    }
}

/// The number that values are, or that arrays have, with the extents of the arrays.
fn numbers(kind: &Kind) -> (Option<Number>, Vec<u32>) {
    match kind {
        Kind::Number { number, .. } => (Some(*number), Vec::new()),
        Kind::Fixed { len, item } => {
            let (number, mut extents) = numbers(item);
            extents.insert(0, u32::try_from(*len).unwrap_or(u32::MAX));
            (number, extents)
        }
        _ => (None, Vec::new()),
    }
}

fn template(field: &Field) -> &str {
    let name = field.type_name.split('<').next().unwrap_or_default();
    name.strip_prefix("std::").or_else(|| name.strip_prefix("ROOT::VecOps::")).unwrap_or(name)
}

/// The container that a field is. What has no class, and what has no place in a tree, becomes a vector.
fn sequence(field: &Field) -> Option<Sequence> {
    if field.type_name.is_empty() {
        return Some(Sequence::Vector);
    }
    Some(match Sequence::from_name(template(field))? {
        Sequence::RVec => Sequence::Vector,
        kind => kind,
    })
}

fn mapping(field: &Field) -> Option<Mapping> {
    Mapping::from_name(template(field))
}

/// A class as trees spell it: whole numbers by the words of the language.
fn class_name(name: &str) -> String {
    const WORDS: [(&str, &str); 8] = [
        ("std::uint64_t", "unsigned long"),
        ("std::uint32_t", "unsigned int"),
        ("std::uint16_t", "unsigned short"),
        ("std::uint8_t", "unsigned char"),
        ("std::int64_t", "long"),
        ("std::int32_t", "int"),
        ("std::int16_t", "short"),
        ("std::int8_t", "char"),
    ];
    if !name.contains('<') {
        return name.to_owned();
    }
    let spelled = WORDS.iter().fold(name.to_owned(), |name, (from, to)| name.replace(from, to));
    spelled.replace("std::", "").replace(">>", "> >")
}
