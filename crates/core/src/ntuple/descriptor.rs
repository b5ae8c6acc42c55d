//! What the schema of an RNTuple consists of: fields, columns, alias columns, and infos beside them. Both directions.

use std::sync::Arc;

use super::column_type::ColumnType;
use super::frame::{FrameReader, FrameWriter};
use crate::error::{Error, Result};

/// Number of a field in its RNTuple.
pub type FieldId = usize;

/// What a field does with those below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Values of its own, or those of one field below; fixed arrays.
    Plain,
    /// Lists of the values of the field below.
    Collection,
    /// One value of each field below.
    Record,
    /// A value of one of the fields below.
    Variant,
    /// Bytes that the class's streamer wrote.
    Streamer,
    /// A role to come: the top-level field above it cannot be read.
    Unknown(u16),
}

impl Role {
    fn of_code(code: u16) -> Self {
        match code {
            0 => Self::Plain,
            1 => Self::Collection,
            2 => Self::Record,
            3 => Self::Variant,
            4 => Self::Streamer,
            code => Self::Unknown(code),
        }
    }

    fn code(self) -> u16 {
        match self {
            Self::Plain => 0,
            Self::Collection => 1,
            Self::Record => 2,
            Self::Variant => 3,
            Self::Streamer => 4,
            Self::Unknown(code) => code,
        }
    }
}

/// A field as the schema describes it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FieldDescriptor {
    pub(crate) field_version: u32,
    /// `ClassDef`'s version.
    pub(crate) type_version: u32,
    /// Its own number for a top-level field.
    pub(crate) parent: FieldId,
    pub(crate) role: Role,
    pub(crate) name: Arc<str>,
    pub(crate) type_name: Arc<str>,
    /// The type as the user spelt it, where that differs.
    pub(crate) type_alias: Arc<str>,
    pub(crate) description: Arc<str>,
    /// Items of a fixed array, bits of a bitset.
    pub(crate) repetitions: Option<u64>,
    /// The field whose columns a projected field shows.
    pub(crate) source: Option<FieldId>,
    /// `TClass::GetCheckSum`.
    pub(crate) checksum: Option<u32>,
    /// Whether it is a record of arrays in memory.
    pub(crate) is_soa: bool,
}

const REPETITIVE: u16 = 1;
const PROJECTED: u16 = 2;
const WITH_CHECKSUM: u16 = 4;
const SOA: u16 = 8;

impl FieldDescriptor {
    /// The fewest bytes of a field in its list.
    pub(crate) const LEAST_BYTES: usize = 8 + 16 + 4 * 4;

    /// `before` is the field before it: texts of ten thousand fields are mostly those of their neighbours.
    pub(crate) fn read(list: &mut FrameReader<'_>, before: Option<&Self>) -> Result<Self> {
        let mut record = list.record()?;
        let (field_version, type_version) = (record.u32()?, record.u32()?);
        let (parent, role, flags) = (record.u32()? as usize, record.u16()?, record.u16()?);
        let name = record.string()?.into();
        let mut text = |of: fn(&Self) -> &Arc<str>| -> Result<Arc<str>> {
            let text = record.string()?;
            let known = before.map(of).filter(|known| ***known == *text);
            Ok(known.map_or_else(|| text.into(), Arc::clone))
        };
        let type_name = text(|before| &before.type_name)?;
        let type_alias = text(|before| &before.type_alias)?;
        let description = text(|before| &before.description)?;
        Ok(Self {
            field_version,
            type_version,
            parent,
            role: Role::of_code(role),
            name,
            type_name,
            type_alias,
            description,
            repetitions: if flags & REPETITIVE != 0 { Some(record.u64()?) } else { None },
            source: if flags & PROJECTED != 0 { Some(record.u32()? as usize) } else { None },
            checksum: if flags & WITH_CHECKSUM != 0 { Some(record.u32()?) } else { None },
            is_soa: flags & SOA != 0,
        })
    }

    pub(crate) fn write(&self, list: &mut FrameWriter) -> Result<()> {
        let flag = |set: bool, flag: u16| if set { flag } else { 0 };
        let flags = flag(self.repetitions.is_some(), REPETITIVE)
            | flag(self.source.is_some(), PROJECTED)
            | flag(self.checksum.is_some(), WITH_CHECKSUM)
            | flag(self.is_soa, SOA);
        list.record(|record| {
            record.u32(self.field_version);
            record.u32(self.type_version);
            record.u32(id(self.parent)?);
            record.u16(self.role.code());
            record.u16(flags);
            for text in [&self.name, &self.type_name, &self.type_alias, &self.description] {
                record.string(text)?;
            }
            if let Some(repetitions) = self.repetitions {
                record.u64(repetitions);
            }
            if let Some(source) = self.source {
                record.u32(id(source)?);
            }
            if let Some(checksum) = self.checksum {
                record.u32(checksum);
            }
            Ok(())
        })
    }
}

/// A column as the schema describes it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ColumnDescriptor {
    /// None for a type to come: the field cannot be read.
    pub(crate) kind: Option<ColumnType>,
    /// The number of the type.
    pub(crate) code: u16,
    pub(crate) bits: u16,
    pub(crate) field: FieldId,
    /// Which of the sets of columns of its field it belongs to.
    pub(crate) representation: u16,
    /// For a column that was added when entries existed: elements of the entries before. Negative where its
    /// representation is not in use there.
    pub(crate) first_element: Option<i64>,
    /// Smallest and largest value of quantised numbers.
    pub(crate) range: Option<(f64, f64)>,
}

const DEFERRED: u16 = 1;
const WITH_RANGE: u16 = 2;

impl ColumnDescriptor {
    /// The fewest bytes of a column in its list.
    pub(crate) const LEAST_BYTES: usize = 8 + 12;

    pub(crate) fn read(list: &mut FrameReader<'_>) -> Result<Self> {
        let at = list.position() as u64;
        let mut record = list.record()?;
        let (code, bits, field) = (record.u16()?, record.u16()?, record.u32()? as usize);
        let (flags, representation) = (record.u16()?, record.u16()?);
        let first_element = if flags & DEFERRED != 0 { Some(record.i64()?) } else { None };
        let range = if flags & WITH_RANGE != 0 { Some((record.f64()?, record.f64()?)) } else { None };
        let kind = ColumnType::of_code(code);
        if let Some(kind) = kind {
            kind.check_bits(bits).map_err(|error| error.at(at))?;
        }
        if kind == Some(ColumnType::Real32Quant)
            && !range.is_some_and(|(min, max)| min.is_finite() && max.is_finite() && min < max)
        {
            return Err(Error::malformed("a column of quantised numbers has no range").at(at));
        }
        Ok(Self { kind, code, bits, field, representation, first_element, range })
    }

    pub(crate) fn write(&self, list: &mut FrameWriter) -> Result<()> {
        let flag = |set: bool, flag: u16| if set { flag } else { 0 };
        let flags = flag(self.first_element.is_some(), DEFERRED) | flag(self.range.is_some(), WITH_RANGE);
        list.record(|record| {
            record.u16(self.code);
            record.u16(self.bits);
            record.u32(id(self.field)?);
            record.u16(flags);
            record.u16(self.representation);
            if let Some(first) = self.first_element {
                record.i64(first);
            }
            if let Some((min, max)) = self.range {
                record.f64(min);
                record.f64(max);
            }
            Ok(())
        })
    }
}

/// A column that a projected field shares with the field that it shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AliasColumn {
    pub(crate) column: usize,
    pub(crate) field: FieldId,
}

/// Content that belongs to a type, or to all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ExtraTypeInfo {
    pub(crate) content: u32,
    pub(crate) type_version: u32,
    pub(crate) type_name: Arc<str>,
    pub(crate) bytes: Arc<[u8]>,
}

impl ExtraTypeInfo {
    /// The content that is a list of `TStreamerInfo`.
    pub(crate) const STREAMER_INFOS: u32 = 0;
}

/// The four lists that describe a schema, in the header and as extensions in the footer.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Descriptors {
    pub(crate) fields: Vec<FieldDescriptor>,
    pub(crate) columns: Vec<ColumnDescriptor>,
    pub(crate) aliases: Vec<AliasColumn>,
    pub(crate) infos: Vec<ExtraTypeInfo>,
}

impl Descriptors {
    /// Reads the lists and appends what they hold.
    pub(crate) fn read_more(&mut self, reader: &mut FrameReader<'_>) -> Result<()> {
        let (mut list, count) = reader.list(FieldDescriptor::LEAST_BYTES)?;
        self.fields.reserve(count);
        for _ in 0..count {
            let field = FieldDescriptor::read(&mut list, self.fields.last())?;
            self.fields.push(field);
        }
        let (mut list, count) = reader.list(ColumnDescriptor::LEAST_BYTES)?;
        self.columns.reserve(count);
        for _ in 0..count {
            self.columns.push(ColumnDescriptor::read(&mut list)?);
        }
        let (mut list, count) = reader.list(16)?;
        for _ in 0..count {
            let mut record = list.record()?;
            self.aliases.push(AliasColumn { column: record.u32()? as usize, field: record.u32()? as usize });
        }
        let (mut list, count) = reader.list(24)?;
        for _ in 0..count {
            let mut record = list.record()?;
            let (content, type_version) = (record.u32()?, record.u32()?);
            let type_name = record.string()?.into();
            self.infos.push(ExtraTypeInfo { content, type_version, type_name, bytes: record.blob()?.into() });
        }
        Ok(())
    }

    /// Names of top-level fields that show values of others.
    pub(crate) fn projected(&self) -> Vec<Arc<str>> {
        let is_projected = |field: &&FieldDescriptor| {
            let above = self.fields.get(field.parent);
            field.source.is_some() && above.is_none_or(|above| std::ptr::eq(above, *field))
        };
        self.fields.iter().filter(is_projected).map(|field| Arc::clone(&field.name)).collect()
    }

    /// Makes fields and columns, numbered from 0, those that an RNTuple with so many fields gets when it has entries:
    /// these have elements in no page.
    pub(crate) fn begin_at(&mut self, entries: u64, first_field: usize) -> Result<()> {
        let mut per_entry: Vec<Option<u64>> = Vec::with_capacity(self.fields.len());
        for (id, field) in self.fields.iter().enumerate() {
            let above = match self.fields.get(field.parent).filter(|_| field.parent < id) {
                None => Some(1),
                // There is nothing in empty lists.
                Some(parent) if matches!(parent.role, Role::Collection | Role::Variant) => None,
                Some(_) => per_entry.get(field.parent).copied().flatten(),
            };
            per_entry.push(above.map(|count| count.saturating_mul(field.repetitions.unwrap_or(1))));
        }
        for field in &mut self.fields {
            field.parent += first_field;
            field.source = field.source.map(|source| source + first_field);
        }
        self.aliases.iter_mut().for_each(|alias| alias.field += first_field);
        let mut seen = vec![false; self.fields.len()];
        for column in &mut self.columns {
            let is_first = !std::mem::replace(&mut seen[column.field], true);
            if let Some(per_entry) = per_entry[column.field].filter(|_| is_first && entries > 0) {
                let elements = entries.checked_mul(per_entry).and_then(|elements| i64::try_from(elements).ok());
                let elements = elements.ok_or_else(|| Error::mismatch("a field has too many values"))?;
                column.first_element = Some(elements);
            }
            column.field += first_field;
        }
        Ok(())
    }

    pub(crate) fn write(&self, writer: &mut FrameWriter) -> Result<()> {
        writer.list(self.fields.len(), |list| self.fields.iter().try_for_each(|field| field.write(list)))?;
        writer.list(self.columns.len(), |list| self.columns.iter().try_for_each(|column| column.write(list)))?;
        writer.list(self.aliases.len(), |list| {
            self.aliases.iter().try_for_each(|alias| {
                list.record(|record| {
                    record.u32(id(alias.column)?);
                    record.u32(id(alias.field)?);
                    Ok(())
                })
            })
        })?;
        writer.list(self.infos.len(), |list| {
            self.infos.iter().try_for_each(|info| {
                list.record(|record| {
                    record.u32(info.content);
                    record.u32(info.type_version);
                    record.string(&info.type_name)?;
                    record.blob(&info.bytes)
                })
            })
        })
    }
}

fn id(number: usize) -> Result<u32> {
    u32::try_from(number)
        .map_err(|_| Error::limit("an RNTuple has too many fields or columns", u64::from(u32::MAX), number as u64))
}
