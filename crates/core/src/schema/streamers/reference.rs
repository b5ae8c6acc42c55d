//! `TRef` and `TRefArray`: numbers of objects that are elsewhere.

use super::super::framing_trace::Stamp;
use super::interface::{Columns, Decode, Encode, columns_of, field, push};
use super::{array, collection};
use crate::column::{BufferId, Field, Number, Part};
use crate::error::Result;
use crate::wire::Reader;

/// Bit of a `TRef` whose process is named by its UUID.
const HAS_UUID: u32 = 1 << 5;

pub(super) fn one_fields(columns: &mut Columns<'_>) -> Vec<Field> {
    let (process, object) = (columns.number(Number::U16), columns.number(Number::U32));
    vec![field("pidf", process), field("ref", object), field("fBits", columns.number(Number::U32))]
}

pub(super) fn array_fields(columns: &mut Columns<'_>) -> Vec<Field> {
    let name = field("fName", columns.text());
    let process = field("pidf", columns.number(Number::U16));
    let low = field("fLowerBound", columns.number(Number::I32));
    // Unsigned in ROOT; uproot's users know them as they are here.
    vec![name, process, low, field("refs", columns.numbers(Number::I32))]
}

/// `TRef::Streamer`: TObject's bytes, and the ProcessID in place of the one a referenced object has.
pub(super) fn read_one(
    machine: &mut impl Decode,
    buffers: &[BufferId],
    reader: &mut Reader<'_>,
    part: &mut Part,
) -> Result<()> {
    let [process, object, flags] = columns_of("TRef", buffers)?;
    let frame = reader.frame()?;
    let unique = reader.u32()?;
    let bits = reader.u32()?;
    let (mut pid, mut uuid) = (0, None);
    if bits & HAS_UUID != 0 {
        uuid = Some(reader.string()?);
    } else {
        pid = reader.u16()?;
    }
    machine.note(|| Stamp { raw: uuid.map(Into::into), ..Stamp::of(frame) });
    reader.finish(frame, "TRef")?;
    push(part, process, pid.to_ne_bytes());
    push(part, object, unique.to_ne_bytes());
    push(part, flags, bits.to_ne_bytes());
    Ok(())
}

pub(super) fn write_one(to: &mut impl Encode, buffers: &[BufferId]) -> Result<()> {
    let [process, object, flags] = columns_of("TRef", buffers)?;
    // Its streamer begins with that of `TObject`, which has no byte count.
    let stamp = to.stamp().unwrap_or_else(|| Stamp { version: 1, ..Stamp::default() });
    let pid = to.number(process, Number::U16) as u16;
    let unique = to.number(object, Number::U32) as u32;
    let bits = to.number(flags, Number::U32) as u32;
    let frame = to.open(&stamp);
    to.writer().u32(unique);
    to.writer().u32(bits);
    match &stamp.raw {
        Some(uuid) if bits & HAS_UUID != 0 => to.writer().string(uuid),
        _ => to.writer().u16(pid),
    }
    to.close(frame);
    Ok(())
}

/// `TRefArray::Streamer`.
pub(super) fn read_array(
    machine: &mut impl Decode,
    buffers: &[BufferId],
    reader: &mut Reader<'_>,
    part: &mut Part,
) -> Result<()> {
    let [name_ends, name, process, low, ends, references] = columns_of("TRefArray", buffers)?;
    let frame = reader.frame()?;
    collection::head(machine, frame, true, reader)?;
    part.push_text(name_ends, name, reader.string()?)?;
    let items = reader.count()?;
    push(part, low, reader.i32()?.to_ne_bytes());
    push(part, process, reader.u16()?.to_ne_bytes());
    array::numbers(reader, part, Number::I32, items, ends, references)?;
    reader.finish(frame, "TRefArray")
}

pub(super) fn write_array(to: &mut impl Encode, buffers: &[BufferId]) -> Result<()> {
    let [name_ends, name, process, low, ends, references] = columns_of("TRefArray", buffers)?;
    let (_, frame) = collection::open(to, 1);
    let name = to.text(name_ends, name).into_owned();
    to.writer().string(&name);
    let (items, low, pid) = (to.list(ends), to.number(low, Number::I32), to.number(process, Number::U16));
    to.writer().u32(items as u32);
    to.writer().i32(low as i32);
    to.writer().u16(pid as u16);
    to.put(references, Number::I32, items);
    to.close(frame);
    Ok(())
}
