//! A basket in a branch's own record, and the basket positions of old branches.

use super::super::framing_trace::Stamp;
use super::array;
use super::interface::{Columns, Decode, Encode, columns_of, field, push};
use crate::column::{BufferId, Field, Number, Part, Prim};
use crate::error::{Error, Result};
use crate::wire::Reader;

pub(super) fn fields(columns: &mut Columns<'_>) -> Vec<Field> {
    let names = ["fVersion", "fBufferSize", "fNevBufSize", "fNevBuf", "fLast", "fFlag", "fKeylen", "fObjlen"];
    let mut fields: Vec<Field> = names.map(|name| field(name, columns.number(Number::I32))).into();
    fields.push(field("fEntryOffset", columns.numbers(Number::I32)));
    fields.push(field("fDisplacement", columns.numbers(Number::I32)));
    fields.push(field("fBuffer", columns.text()));
    fields
}

/// `TBasket::Streamer` as called from a branch's array of baskets: a key, the basket's header, offsets, payload.
pub(super) fn read(
    machine: &mut impl Decode,
    buffers: &[BufferId],
    reader: &mut Reader<'_>,
    part: &mut Part,
) -> Result<()> {
    let from = reader.at();
    fill(buffers, reader, part)?;
    let raw = reader.whole().get(from..reader.at());
    machine.note(|| Stamp { raw: raw.map(Into::into), ..Stamp::default() });
    Ok(())
}

/// Its header and payload belong together: it is written as it was, or not at all.
pub(super) fn write(to: &mut impl Encode) -> Result<()> {
    let raw = to.stamp().and_then(|stamp| stamp.raw);
    let raw = raw.ok_or_else(|| Error::unsupported("a basket is written only as it was read"))?;
    to.writer().bytes(&raw);
    Ok(())
}

fn fill(buffers: &[BufferId], reader: &mut Reader<'_>, part: &mut Part) -> Result<()> {
    let [header @ .., offset_ends, offsets, displacement_ends, displacements, payload_ends, payload]: [BufferId; 14] =
        columns_of("TBasket", buffers)?;
    let key = crate::container::Key::parse(reader)?;
    let version = reader.i16()?;
    let buffer_bytes = reader.i32()?;
    let mut entries_size = reader.i32()?;
    if entries_size < 0 {
        entries_size = entries_size.checked_neg().ok_or_else(|| {
            Error::malformed("a basket's entries have an impossible length").at(reader.position() as u64)
        })?;
        // `fIOBits`.
        reader.u8()?;
    }
    let entries = reader.i32()?;
    let last = reader.i32()?;
    let flag = reader.u8()?;
    let (keylen, objlen) = (i32::from(key.keylen), key.objlen as i32);
    let values = [i32::from(version), buffer_bytes, entries_size, entries, last, i32::from(flag), keylen, objlen];
    for (column, value) in header.into_iter().zip(values) {
        push(part, column, value.to_ne_bytes());
    }
    let generated = flag >= 80;
    let plain = if generated { flag - 80 } else { flag };
    let (mut offset_count, mut displacement_count) = (0, 0);
    if plain != 0 && plain % 10 != 2 && !generated {
        offset_count = if entries > 0 { reader.count()? } else { 0 };
        let bytes = reader.take(offset_count.saturating_mul(4))?;
        part.push_numbers(offsets, Prim::Plain(Number::I32), bytes, 1, offset_count, bytes.len());
        if plain > 20 && plain < 40 {
            // The top byte of each offset holds something else.
            let values = part.bytes_mut(offsets);
            let from = values.len() - 4 * offset_count;
            for word in values[from..].as_chunks_mut::<4>().0 {
                *word = (i32::from_ne_bytes(*word) & 0x00ff_ffff).to_ne_bytes();
            }
        }
        if plain > 40 {
            displacement_count = reader.count()?;
            let bytes = reader.take(displacement_count.saturating_mul(4))?;
            part.push_numbers(displacements, Prim::Plain(Number::I32), bytes, 1, displacement_count, bytes.len());
        }
    }
    part.end_list(offset_ends, offset_count)?;
    part.end_list(displacement_ends, displacement_count)?;
    let raw: &[u8] = if plain == 1 || plain > 10 {
        let stored = if version > 1 { last } else { reader.i32()? };
        let stored =
            usize::try_from(stored).map_err(|_| Error::malformed("an embedded basket has a negative length"))?;
        reader.take(stored)?
    } else {
        &[]
    };
    part.push_text(payload_ends, payload, raw)
}

/// `TBranch::Streamer` before version 10: positions of 32 or 64 bits, as a flag says. The last buffer is `fMaxBaskets`.
pub(super) fn read_old_seeks(
    machine: &mut impl Decode,
    buffers: &[BufferId],
    reader: &mut Reader<'_>,
    part: &mut Part,
) -> Result<()> {
    let [ends, seeks, most] = columns_of("TBranch", buffers)?;
    let flag = reader.u8()?;
    machine.note(|| Stamp { id: u32::from(flag), ..Stamp::default() });
    let most = part.bytes(most).last_chunk::<4>().map(|bytes| i32::from_ne_bytes(*bytes));
    let most = most.ok_or_else(|| Error::internal("basket positions are read before their number"))?;
    // ROOT takes a negative number as none.
    let items = if flag == 0 { 0 } else { usize::try_from(most).unwrap_or(0) };
    if flag == 2 {
        return array::numbers(reader, part, Number::I64, items, ends, seeks);
    }
    let from = reader.take(items.saturating_mul(4))?;
    for word in from.as_chunks::<4>().0 {
        push(part, seeks, i64::from(u32::from_be_bytes(*word)).to_ne_bytes());
    }
    part.end_list(ends, items)
}

pub(super) fn write_old_seeks(to: &mut impl Encode, buffers: &[BufferId]) -> Result<()> {
    let [ends, seeks, _] = columns_of("TBranch", buffers)?;
    let flag = to.stamp().map_or(2, |stamp| stamp.id);
    let items = to.list(ends);
    to.writer().u8(if items == 0 && flag != 0 { 1.min(flag as u8) } else { flag as u8 });
    if flag == 2 {
        to.put(seeks, Number::I64, items);
        return Ok(());
    }
    for _ in 0..items {
        let seek = to.number(seeks, Number::I64);
        to.writer().u32(seek as u32);
    }
    Ok(())
}
