//! Values of fields that a class's streamer writes: each is a payload of its own, a run of bytes.
//!
//! Source: `RStreamerField::AppendImpl`.

use std::sync::Arc;

use bytes::Bytes;

use crate::column::{BufferId, BufferKind, Kind, Part, check};
use crate::error::{Error, Result};
use crate::read::Column;
use crate::schema::{Encoder, Program, Registry, Style};

/// Writes values of one class.
#[derive(Debug)]
pub(crate) struct Streamer {
    program: Arc<Program>,
    registry: Arc<Registry>,
}

impl Streamer {
    /// A streamer of the class that a program reads.
    ///
    /// # Errors
    ///
    /// [`Unsupported`](crate::ErrorKind::Unsupported) for classes with pointers.
    pub(crate) fn new(program: Arc<Program>, registry: Arc<Registry>) -> Result<Self> {
        if program.buffers.contains(&BufferKind::Objects) {
            let words = "entries cannot be added to a field that a class's streamer writes and that holds pointers";
            return Err(Error::unsupported(words));
        }
        Ok(Self { program, registry })
    }

    /// For each buffer of the program, that of a column of a type, or none for those that no column shows; nothing
    /// where the type is not that of the class.
    pub(crate) fn bound(&self, kind: &Kind) -> Option<Vec<Option<BufferId>>> {
        let mut found = vec![None; self.program.buffers.len()];
        pair(&self.program.kind, kind, &mut found)?;
        Some(found)
    }

    /// Offsets and bytes of the first `rows` values of a column with these buffers.
    pub(crate) fn write(&self, values: &Column, buffers: &[Option<BufferId>], rows: usize) -> Result<(Bytes, Bytes)> {
        let mut part = Part::new(&self.program.buffers);
        for (number, (kind, &buffer)) in self.program.buffers.iter().zip(buffers).enumerate() {
            let Some(buffer) = buffer else { continue };
            let (number, given) = (number as BufferId, values.buffer(buffer));
            match kind {
                BufferKind::Numbers(_) | BufferKind::Bytes => part.bytes_mut(number).extend_from_slice(&given),
                BufferKind::Ends => {
                    let ends = given.as_chunks().0.iter().skip(1).map(|end| u32::try_from(i64::from_ne_bytes(*end)));
                    let ends = ends.collect::<Result<Vec<_>, _>>();
                    let most = u32::MAX.into();
                    let too_many = |_| Error::limit("lists of a class have too many items", most, given.len() as u64);
                    part.words_mut(number).extend(ends.map_err(too_many)?);
                }
                BufferKind::Objects => return Err(Error::internal("a class with pointers has a streamer")),
            }
        }
        // What lags behind would be written as zeros.
        check(&self.program.kind, rows, &part)?;
        let encoder = Encoder::styled(0, Arc::new(Style::default()));
        let (bytes, ends) = encoder.values(&self.program, &self.registry, &part, rows)?;
        let offsets: Vec<u8> = std::iter::once(0).chain(ends).flat_map(|end| (end as i64).to_ne_bytes()).collect();
        Ok((offsets.into(), bytes.into()))
    }
}

/// Notes which buffers of two types are the same; none where the types differ in more than the numbers of buffers.
fn pair(own: &Kind, given: &Kind, found: &mut [Option<BufferId>]) -> Option<()> {
    let mut note = |own: BufferId, given: BufferId| found.get_mut(own as usize).map(|place| *place = Some(given));
    match (own, given) {
        (Kind::Number { buffer, number }, Kind::Number { buffer: given, number: other }) if number == other => {
            note(*buffer, *given)
        }
        (Kind::Text { offsets, bytes }, Kind::Text { offsets: given, bytes: given_bytes }) => {
            note(*offsets, *given)?;
            note(*bytes, *given_bytes)
        }
        (Kind::Opaque { offsets, bytes, class }, Kind::Opaque { offsets: given, bytes: given_bytes, class: other })
            if class == other =>
        {
            note(*offsets, *given)?;
            note(*bytes, *given_bytes)
        }
        (Kind::List { offsets, item, .. }, Kind::List { offsets: given, item: other, .. }) => {
            note(*offsets, *given)?;
            pair(item, other, found)
        }
        (Kind::Fixed { len, item }, Kind::Fixed { len: given, item: other }) if len == given => {
            pair(item, other, found)
        }
        (Kind::Record { fields, .. }, Kind::Record { fields: others, .. }) if fields.len() == others.len() => {
            fields.iter().zip(others).try_for_each(|(own, given)| pair(&own.kind, &given.kind, found))
        }
        _ => None,
    }
}
