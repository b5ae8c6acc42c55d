//! `TExMap`: a hash table of three numbers an entry.

use super::super::framing_trace::Stamp;
use super::super::info;
use super::interface::{Columns, Decode, Encode, columns_of, field, push, usual};
use crate::column::{BufferId, Field, Kind, Number, Part};
use crate::error::{Error, Result};
use crate::wire::Reader;

pub(super) fn fields(columns: &mut Columns<'_>) -> Vec<Field> {
    let entries = columns.list(|columns| {
        let fields = ["fHash", "fKey", "fValue"].map(|name| field(name, columns.number(Number::I64)));
        Kind::Record { class: "TExMap".into(), fields: fields.into() }
    });
    vec![field("entries", entries)]
}

/// `TExMap::Streamer`. Where each entry stands in the table is noted, and no value.
pub(super) fn read(
    machine: &mut impl Decode,
    buffers: &[BufferId],
    reader: &mut Reader<'_>,
    part: &mut Part,
) -> Result<()> {
    let [ends, hashes, keys, values] = columns_of("TExMap", buffers)?;
    let frame = reader.frame()?;
    let (unique, bits, pid) = info::referenced(reader)?;
    if frame.class_version() < 2 {
        return Err(Error::unsupported("TExMap of version 1").at(reader.position() as u64));
    }
    let items = reader.count()?;
    let mut slots = Vec::new();
    for _ in 0..items {
        let slot = reader.i32()?;
        if machine.is_traced() {
            slots.extend(slot.to_be_bytes());
        }
        for column in [hashes, keys, values] {
            push(part, column, reader.i64()?.to_ne_bytes());
        }
    }
    part.end_list(ends, items)?;
    machine.note(|| Stamp { id: unique, bits, pid, raw: Some(slots.into()), ..Stamp::of(frame) });
    reader.finish(frame, "TExMap")
}

pub(super) fn write(to: &mut impl Encode, buffers: &[BufferId]) -> Result<()> {
    let [ends, hashes, keys, values] = columns_of("TExMap", buffers)?;
    let stamp = to.stamp().unwrap_or_else(|| usual(3));
    let frame = to.open(&stamp);
    to.tobject(stamp.id, stamp.bits, stamp.pid);
    let items = to.list(ends);
    to.writer().u32(items as u32);
    let slots = stamp.raw.as_deref().unwrap_or(&[]);
    if items > 0 && slots.len() != 4 * items {
        return Err(Error::unsupported("the position of the entries of a TExMap is not known"));
    }
    for slot in slots.chunks_exact(4) {
        to.writer().bytes(slot);
        for column in [hashes, keys, values] {
            let value = to.number(column, Number::I64);
            to.writer().i64(value);
        }
    }
    to.close(frame);
    Ok(())
}
