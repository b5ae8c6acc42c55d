//! From fields to the type of their values, and how these are made of columns.

use std::collections::HashSet;
use std::sync::Arc;

use super::field::{Field, FieldId, Role};
use super::node::{Model, Node, Shape};
use super::{NTuple, streamed};
use crate::column::{BufferId, Field as Member, Kind, ListOf, NTUPLE_BASE, Number};
use crate::error::{Error, Result};

/// What is known on the way to the type of a field.
struct Builder<'n> {
    ntuple: &'n NTuple,
    buffers: usize,
    /// The members of records that are wanted; all where nothing is said.
    wanted: Option<&'n HashSet<&'n str>>,
    /// Whether values are wanted as their columns store them, and not as their types have them.
    is_stored: bool,
}

impl NTuple {
    /// Type of the values of a field.
    ///
    /// # Errors
    ///
    /// [`Unsupported`](crate::ErrorKind::Unsupported) with the reason why it cannot be read.
    pub fn kind(&self, id: FieldId) -> Result<Kind> {
        self.model(id).map(|model| model.kind.clone())
    }

    pub(crate) fn model(&self, id: FieldId) -> Result<Arc<Model>> {
        let slot = self.models.get(id).ok_or_else(|| Error::not_found("no such field"))?;
        let found = slot.get_or_init(|| build(self, id, None).map(Arc::new));
        found.clone().map_err(|error| self.in_field(id, error))
    }

    /// The same of a field without the members of records that have other names than these.
    pub(crate) fn model_of_members(&self, id: FieldId, wanted: &HashSet<&str>) -> Result<Arc<Model>> {
        build(self, id, Some(wanted)).map(Arc::new).map_err(|error| self.in_field(id, error))
    }

    /// How the columns of a top-level field belong together, for those who write its values again: numbers are as wide
    /// as their columns store them, streamed values are bytes, and sets, maps and optional values are lists.
    ///
    /// # Errors
    ///
    /// As [`kind`](Self::kind).
    pub(crate) fn stored_model(&self, id: FieldId) -> Result<Arc<Model>> {
        let mut builder = Builder { ntuple: self, buffers: 0, wanted: None, is_stored: true };
        let (kind, node) = builder.node(id).map_err(|error| self.in_field(id, error))?;
        Ok(Arc::new(Model { kind, node, buffers: builder.buffers }))
    }
}

fn build(ntuple: &NTuple, id: FieldId, wanted: Option<&HashSet<&str>>) -> Result<Model> {
    let mut builder = Builder { ntuple, buffers: 0, wanted, is_stored: false };
    let mut chain = vec![id];
    while let Some(parent) = chain.last().and_then(|&field| ntuple.fields.get(field)).and_then(|field| field.parent) {
        chain.push(parent);
    }
    chain.reverse();
    let (kind, node) = builder.chain(&chain)?;
    Ok(Model { kind, node, buffers: builder.buffers })
}

impl Builder<'_> {
    fn buffer(&mut self) -> BufferId {
        self.buffers += 1;
        (self.buffers - 1) as BufferId
    }

    /// The last field of a chain from a top-level field down, without the other members of the records above it: of a
    /// list of records, lists of the member.
    fn chain(&mut self, chain: &[FieldId]) -> Result<(Kind, Node)> {
        let (id, rest) = match chain {
            [] => return Err(Error::internal("a field has no number")),
            &[id] => return self.node(id),
            [id, rest @ ..] => (*id, rest),
        };
        let field =
            self.ntuple.fields.get(id).ok_or_else(|| Error::internal("a field above another does not exist"))?;
        let (kind, shape) = match field.role {
            Role::Record => {
                let (kind, member) = self.chain(rest)?;
                (kind, Shape::Record { members: vec![member] })
            }
            Role::Collection => self.collection(field, |builder| builder.chain(rest))?,
            Role::Plain => {
                let (kind, item) = self.chain(rest)?;
                match field.repetitions {
                    Some(len) => self.fixed(len, kind, item)?,
                    None => (kind, Shape::Record { members: vec![item] }),
                }
            }
            _ => {
                let message = format!("not every entry has a value of it: read {:?} as a whole", field.path);
                return Err(Error::unsupported(message));
            }
        };
        Ok((kind, Node { field: id, columns: field.representations.clone(), shape }))
    }

    fn node(&mut self, id: FieldId) -> Result<(Kind, Node)> {
        let field =
            self.ntuple.fields.get(id).ok_or_else(|| Error::internal("a field below another does not exist"))?;
        let (kind, shape) = self.shape(field).map_err(|error| match error.place().object {
            None => error.in_object(&format!("field {}", field.name)),
            Some(_) => error,
        })?;
        Ok((kind, Node { field: id, columns: field.representations.clone(), shape }))
    }

    fn shape(&mut self, field: &Field) -> Result<(Kind, Shape)> {
        for &column in field.representations.iter().flatten() {
            let described = self.ntuple.column(column)?;
            if described.kind.is_none() {
                let message = format!("a column of the field is of type {:#x}, which is not known", described.code);
                return Err(Error::unsupported(message));
            }
        }
        match field.role {
            Role::Plain => self.plain(field),
            Role::Collection => self.collection(field, |builder| builder.node(*builder.only_child(field)?)),
            Role::Record => self.record(field),
            Role::Variant => self.variant(field),
            Role::Streamer => self.streamed(field),
            Role::Unknown(role) => Err(Error::unsupported(format!("the field has role {role}, which is not known"))),
        }
    }

    fn plain(&mut self, field: &Field) -> Result<(Kind, Shape)> {
        match (&field.children[..], field.repetitions) {
            ([], None) if &*field.type_name == "std::string" => {
                self.check_columns(field, 2)?;
                let (offsets, bytes) = (self.buffer(), self.buffer());
                Ok((Kind::Text { offsets, bytes }, Shape::Text { offsets, bytes }))
            }
            ([], None) if field.type_name.starts_with("ROOT::RNTupleCardinality<") => {
                if self.is_stored {
                    return Err(Error::unsupported("a count of items that is no projected field is not written again"));
                }
                self.check_columns(field, 1)?;
                let to = if field.type_name.contains("uint64") { Number::U64 } else { Number::U32 };
                let buffer = self.buffer();
                Ok((Kind::Number { buffer, number: to }, Shape::Counts { to, buffer }))
            }
            ([], repetitions) => {
                self.check_columns(field, 1)?;
                let to = match repetitions {
                    Some(_) => Number::Bool,
                    None if self.is_stored => self.stored_number(field)?,
                    None => self.number(field)?,
                };
                let buffer = self.buffer();
                let (kind, shape) = (Kind::Number { buffer, number: to }, Shape::Numbers { to, buffer });
                match repetitions {
                    None => Ok((kind, shape)),
                    Some(len) => {
                        let item = Node { field: field.id, columns: field.representations.clone(), shape };
                        self.fixed(len, kind, item)
                    }
                }
            }
            (&[child], Some(len)) => {
                let (kind, item) = self.node(child)?;
                self.fixed(len, kind, item)
            }
            // Enumerations and atomics: the values are those of the field below.
            (&[child], None) => {
                let (kind, item) = self.node(child)?;
                Ok((kind, Shape::Record { members: vec![item] }))
            }
            (children, _) => {
                let message = "a plain field has several fields below it";
                Err(Error::malformed(message).wanted(1, children.len() as u64))
            }
        }
    }

    fn fixed(&mut self, len: u64, kind: Kind, item: Node) -> Result<(Kind, Shape)> {
        let most = self.ntuple.file.options().limits.object_bytes;
        let wide = usize::try_from(len).ok().filter(|_| len <= most && len > 0);
        let wide = wide.ok_or_else(|| Error::malformed("a fixed array has no items, or too many").wanted(most, len))?;
        Ok((Kind::Fixed { len: wide, item: Box::new(kind) }, Shape::Fixed { len, item: Box::new(item) }))
    }

    /// The type of numbers: the field's, where it is known, else its column's.
    fn number(&self, field: &Field) -> Result<Number> {
        if let Some(number) = number_of(&field.type_name) {
            return Ok(number);
        }
        let column = field.representations.first().and_then(|columns| columns.first());
        let kind = column.map(|&column| self.ntuple.column(column)).transpose()?.and_then(|column| column.kind);
        kind.and_then(super::ColumnType::number).ok_or_else(|| {
            Error::unsupported(format!("the type {:?} is not known, and its column holds no numbers", field.type_name))
        })
    }

    /// The type of numbers as all of the field's columns store them; the field's own type where these differ.
    fn stored_number(&self, field: &Field) -> Result<Number> {
        let mut numbers = Vec::with_capacity(field.representations.len());
        for columns in &field.representations {
            let column = columns.first().map(|&column| self.ntuple.column(column)).transpose()?;
            numbers.push(column.and_then(|column| column.kind).and_then(super::ColumnType::stored_number));
        }
        numbers.dedup();
        match numbers[..] {
            [Some(number)] => Ok(number),
            _ => self.number(field),
        }
    }

    fn check_columns(&self, field: &Field, count: usize) -> Result<()> {
        let found = field.representations.first().map_or(0, Vec::len);
        if found == count {
            return Ok(());
        }
        let message = format!("a field of type {:?} has another number of columns", field.type_name);
        Err(Error::malformed(message).wanted(count as u64, found as u64))
    }

    fn check_index(&self, field: &Field) -> Result<()> {
        for columns in &field.representations {
            let first = columns.first().map(|&column| self.ntuple.column(column)).transpose()?;
            if !first.and_then(|column| column.kind).is_some_and(super::ColumnType::is_index) {
                return Err(Error::malformed("a field of lists or strings has no index column"));
            }
        }
        Ok(())
    }

    fn only_child<'f>(&self, field: &'f Field) -> Result<&'f FieldId> {
        match &field.children[..] {
            [child] => Ok(child),
            children => {
                let message = "a collection has not exactly one field below it";
                Err(Error::malformed(message).wanted(1, children.len() as u64))
            }
        }
    }

    fn collection(
        &mut self,
        field: &Field,
        item: impl FnOnce(&mut Self) -> Result<(Kind, Node)>,
    ) -> Result<(Kind, Shape)> {
        self.check_columns(field, 1)?;
        self.check_index(field)?;
        let buffer = self.buffer();
        let (kind, item) = item(self)?;
        let name = if self.is_stored { "" } else { &*field.type_name };
        if name.starts_with("std::optional<") || name.starts_with("std::unique_ptr<") {
            let shape = Shape::Optional { tags: buffer, item: Box::new(item) };
            return Ok((Kind::OneOf { tags: buffer, of: vec![kind] }, shape));
        }
        let of = match name.split('<').next().unwrap_or(name) {
            "std::set" | "std::multiset" | "std::unordered_set" | "std::unordered_multiset" => ListOf::Set,
            "std::map" | "std::multimap" | "std::unordered_map" | "std::unordered_multimap" => ListOf::Map,
            _ => ListOf::Sequence,
        };
        let is_pair = matches!(&kind, Kind::Record { fields, .. } if fields.len() == 2);
        // Of a map's keys alone, the items are no pairs.
        let of = if of == ListOf::Map && !is_pair { ListOf::Sequence } else { of };
        Ok((
            Kind::List { offsets: buffer, of, item: Box::new(kind) },
            Shape::List { offsets: buffer, item: Box::new(item) },
        ))
    }

    fn record(&mut self, field: &Field) -> Result<(Kind, Shape)> {
        let class = match field.type_name.split('<').next() {
            Some("std::pair") => "pair",
            Some("std::tuple") => "tuple",
            _ => &*field.type_name,
        };
        let (mut fields, mut members) = (Vec::new(), Vec::new());
        for &child in &field.children {
            let member = &self.ntuple.fields[child];
            let base = member.name.starts_with(NTUPLE_BASE);
            let name = match (class, &*member.name) {
                ("pair", "_0") => Arc::from("first"),
                ("pair", "_1") => Arc::from("second"),
                _ => Arc::clone(&member.name),
            };
            if !base && self.wanted.is_some_and(|wanted| !wanted.contains(&*name)) {
                continue;
            }
            let (kind, node) = self.node(child)?;
            fields.push(Member { base, name, kind });
            members.push(node);
        }
        Ok((Kind::Record { class: class.into(), fields }, Shape::Record { members }))
    }

    fn variant(&mut self, field: &Field) -> Result<(Kind, Shape)> {
        self.check_columns(field, 1)?;
        for columns in &field.representations {
            let switch = columns.first().map(|&column| self.ntuple.column(column)).transpose()?;
            if switch.and_then(|column| column.kind) != Some(super::ColumnType::Switch) {
                return Err(Error::malformed("a variant has no switch column"));
            }
        }
        if field.children.len() > i8::MAX as usize {
            let message = "a variant has too many types";
            return Err(Error::limit(message, i8::MAX as u64, field.children.len() as u64));
        }
        let tags = self.buffer();
        let (mut of, mut items) = (Vec::new(), Vec::new());
        for &child in &field.children {
            let (kind, node) = self.node(child)?;
            of.push(kind);
            items.push(node);
        }
        Ok((Kind::OneOf { tags, of }, Shape::Variant { tags, items }))
    }

    fn streamed(&mut self, field: &Field) -> Result<(Kind, Shape)> {
        self.check_columns(field, 2)?;
        self.check_index(field)?;
        if self.is_stored {
            let (offsets, bytes) = (self.buffer(), self.buffer());
            return Ok((Kind::Text { offsets, bytes }, Shape::Text { offsets, bytes }));
        }
        let program = streamed::program(self.ntuple, &field.type_name)?;
        let first = self.buffers as BufferId;
        self.buffers += program.buffers.len();
        let kind = streamed::shift_buffers(&program.kind, first);
        Ok((kind, Shape::Streamed { first, program }))
    }
}

/// The number that a normalised C++ type is; none for all other types.
fn number_of(type_name: &str) -> Option<Number> {
    Some(match type_name {
        "bool" => Number::Bool,
        "char" | "std::int8_t" => Number::I8,
        "std::byte" | "std::uint8_t" => Number::U8,
        "std::int16_t" => Number::I16,
        "std::uint16_t" => Number::U16,
        "std::int32_t" => Number::I32,
        "std::uint32_t" => Number::U32,
        "std::int64_t" => Number::I64,
        "std::uint64_t" => Number::U64,
        "float" => Number::F32,
        "double" => Number::F64,
        _ => return None,
    })
}
