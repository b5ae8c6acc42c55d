//! Fields whose values were written by their class's streamer: decoded by the programs that read objects elsewhere.

use std::sync::Arc;

use bytes::Bytes;

use super::NTuple;
use super::descriptor::ExtraTypeInfo;
use crate::column::{BufferId, BufferKind, Field, Kind, Part};
use crate::error::{Error, Result};
use crate::file::File;
use crate::schema::{Machine, Objects, Order, Program, Registry, StreamerInfo, Target, read_infos, write_info_list};
use crate::wire::{Limits, Reader, Slot, Writer};

impl NTuple {
    /// The classes of its file, and those that it describes itself.
    pub(crate) fn registry(&self) -> Result<Arc<Registry>> {
        if let Some(known) = self.registry.get() {
            return Ok(Arc::clone(known));
        }
        let loaded = registry(&self.file, &self.schema.infos).map_err(|error| self.place(error))?;
        Ok(Arc::clone(self.registry.get_or_init(|| loaded)))
    }
}

fn registry(file: &File, infos: &[ExtraTypeInfo]) -> Result<Arc<Registry>> {
    let listed: Vec<_> = infos.iter().filter(|info| info.content == ExtraTypeInfo::STREAMER_INFOS).collect();
    if listed.is_empty() {
        return file.registry();
    }
    let mut all = file.infos()?;
    for info in listed {
        all.extend(info.classes(&file.options().limits)?);
    }
    Ok(Arc::new(Registry::new(all, file.header().version)))
}

impl ExtraTypeInfo {
    /// The classes that it describes, where it is a list of them.
    fn classes(&self, limits: &Limits) -> Result<Vec<StreamerInfo>> {
        let mut reader = Reader::new(&self.bytes);
        let Slot::Object { class: b"TList", .. } = reader.slot(0)? else {
            return Err(Error::malformed("the classes of streamed fields are not described by a TList"));
        };
        // Class tags count from the beginning of the content.
        let start = reader.at();
        read_infos(&self.bytes[start..], start, limits)
    }

    /// The same with the classes of another one; none where it has them all. ROOT reads one record of a kind.
    pub(crate) fn with_classes_of(&self, other: &Self, limits: &Limits) -> Result<Option<Self>> {
        let mut all = self.classes(limits)?;
        let known = all.len();
        for info in other.classes(limits)? {
            if !all.iter().any(|known| known.name == info.name && known.checksum == info.checksum) {
                all.push(info);
            }
        }
        if all.len() == known {
            return Ok(None);
        }
        let mut writer = Writer::with_origin(0);
        writer.object("TList", |list| write_info_list(list, &all, &[]));
        Ok(Some(Self { bytes: writer.into_bytes().into(), ..self.clone() }))
    }
}

/// The program of a class.
pub(super) fn program(ntuple: &NTuple, class: &str) -> Result<Arc<Program>> {
    ntuple.registry()?.program(&Target::Value { name: class.into() })
}

/// Decodes runs of bytes, one a row: buffers of a column, in the order of the program's.
pub(super) fn decode(
    ntuple: &NTuple,
    program: &Program,
    ends: &[[u8; 8]],
    bytes: &[u8],
    objects: &mut Objects,
) -> Result<Vec<Bytes>> {
    let (registry, limits) = (ntuple.registry()?, ntuple.file.options().limits);
    let mut part = Part::new(&program.buffers);
    for (row, bounds) in ends.windows(2).enumerate() {
        let bounds = i64::from_ne_bytes(bounds[0]) as usize..i64::from_ne_bytes(bounds[1]) as usize;
        let value = bytes.get(bounds).ok_or_else(|| Error::internal("streamed values end before their offsets"))?;
        let mut reader = Reader::new(value);
        objects.next_entry();
        let mut machine =
            Machine { registry: &registry, objects, limits: &limits, displacement: 0, outside: &[], depth: 0 };
        let decoded = machine.decode(program, &mut reader, 1, Order::Rows, &mut part).and_then(|()| {
            let stopped = reader.at();
            machine.settle(&mut reader)?;
            if stopped == value.len() {
                return Ok(());
            }
            let message = "a streamed value was not read to its end";
            Err(Error::malformed(message).at(stopped as u64).wanted(value.len() as u64, stopped as u64))
        });
        decoded.map_err(|error| error.in_object(&format!("value {row}")))?;
    }
    let whole = |(id, kind): (usize, &BufferKind)| {
        let id = id as BufferId;
        match kind {
            BufferKind::Numbers(_) | BufferKind::Bytes => Bytes::copy_from_slice(part.bytes(id)),
            BufferKind::Ends => {
                let ends = part.words(id).iter().map(|&end| i64::from(end));
                std::iter::once(0).chain(ends).flat_map(i64::to_ne_bytes).collect()
            }
            BufferKind::Objects => part.words(id).iter().flat_map(|object| object.to_ne_bytes()).collect(),
        }
    };
    Ok(program.buffers.iter().enumerate().map(whole).collect())
}

/// A kind whose buffers are numbered from `first` on.
pub(super) fn shift_buffers(kind: &Kind, first: BufferId) -> Kind {
    let inside = |kind: &Kind| Box::new(shift_buffers(kind, first));
    match kind {
        Kind::Number { buffer, number } => Kind::Number { buffer: buffer + first, number: *number },
        Kind::Text { offsets, bytes } => Kind::Text { offsets: offsets + first, bytes: bytes + first },
        Kind::Opaque { offsets, bytes, class } => {
            Kind::Opaque { offsets: offsets + first, bytes: bytes + first, class: Arc::clone(class) }
        }
        Kind::List { offsets, of, item } => Kind::List { offsets: offsets + first, of: *of, item: inside(item) },
        Kind::Fixed { len, item } => Kind::Fixed { len: *len, item: inside(item) },
        Kind::Record { class, fields } => Kind::Record {
            class: Arc::clone(class),
            fields: fields
                .iter()
                .map(|field| Field {
                    name: Arc::clone(&field.name),
                    kind: shift_buffers(&field.kind, first),
                    base: field.base,
                })
                .collect(),
        },
        Kind::Pointer { buffer, class } => Kind::Pointer { buffer: buffer + first, class: Arc::clone(class) },
        Kind::OneOf { tags, of } => {
            Kind::OneOf { tags: tags + first, of: of.iter().map(|kind| shift_buffers(kind, first)).collect() }
        }
    }
}
