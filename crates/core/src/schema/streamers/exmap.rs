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

/// `TExMap::Streamer`. The size of the table and the place of each entry in it are noted, and not values.
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
    let has_places = frame.class_version() >= 3;
    let mut places = Vec::new();
    if has_places {
        places.extend(reader.i32()?.to_be_bytes());
    }
    let items = reader.count()?;
    for _ in 0..items {
        if has_places {
            let slot = reader.i32()?;
            if machine.is_traced() {
                places.extend(slot.to_be_bytes());
            }
        }
        for column in [hashes, keys, values] {
            push(part, column, reader.i64()?.to_ne_bytes());
        }
    }
    part.end_list(ends, items)?;
    machine.note(|| Stamp { id: unique, bits, pid, raw: Some(places.into()), ..Stamp::of(frame) });
    reader.finish(frame, "TExMap")
}

pub(super) fn write(to: &mut impl Encode, buffers: &[BufferId]) -> Result<()> {
    let [ends, hashes, keys, values] = columns_of("TExMap", buffers)?;
    let stamp = to.stamp().unwrap_or_else(|| usual(3));
    let frame = to.open(&stamp);
    to.tobject(stamp.id, stamp.bits, stamp.pid);
    let items = to.list(ends);
    let entries: Vec<[i64; 3]> =
        (0..items).map(|_| [hashes, keys, values].map(|column| to.number(column, Number::I64))).collect();
    let noted = stamp.raw.as_deref().filter(|noted| noted.len() == 4 * (items + 1));
    let table = match noted {
        _ if stamp.version < 3 => Vec::new(),
        Some(noted) => noted.to_vec(),
        None => table(&entries)?.iter().flat_map(|number| number.to_be_bytes()).collect(),
    };
    let (size, slots) = table.split_at(table.len().min(4));
    to.writer().bytes(size);
    to.writer().u32(items as u32);
    let mut slots = slots.chunks_exact(4);
    for entry in entries {
        to.writer().bytes(slots.next().unwrap_or_default());
        entry.into_iter().for_each(|number| to.writer().i64(number));
    }
    to.close(frame);
    Ok(())
}

/// The size of a table for these entries, and the place of each: `TExMap::Add`.
fn table(entries: &[[i64; 3]]) -> Result<Vec<i32>> {
    /// The size of an empty table of ROOT.
    const MIN_SIZE: u64 = 101;
    let is_prime = |size: u64| (3..).step_by(2).take_while(|by| by * by <= size).all(|by| !size.is_multiple_of(by));
    let wanted = (2 * entries.len() as u64 + 1).max(MIN_SIZE);
    let size = (wanted..).step_by(2).find(|size| is_prime(*size)).unwrap_or(wanted);
    let size32 = i32::try_from(size).map_err(|_| Error::limit("entries of a TExMap", 1 << 30, entries.len() as u64))?;
    let mut taken = vec![false; size as usize];
    let mut found = vec![size32];
    for [hash, ..] in entries {
        // The lowest bit marks a place that is in use.
        let mut slot = ((*hash as u64 | 1) % size) as usize;
        while std::mem::replace(&mut taken[slot], true) {
            slot = (slot + 1) % taken.len();
        }
        found.push(slot as i32);
    }
    Ok(found)
}
