//! `TClonesArray`: objects of one class, one by one or member by member (bypass). Its columns are those of `TObjArray`.

use std::sync::Arc;

use super::super::clones_form::{CLONES_ARRAY, class_and_version, is_member_wise};
use super::super::framing_trace::Stamp;
use super::super::info;
use super::super::program::Target;
use super::collection;
use super::interface::{Decode, Encode, columns_of, push};
use crate::column::{BufferId, Number, Part};
use crate::error::{Error, Result};
use crate::wire::Reader;

/// `TClonesArray::Streamer`.
pub(super) fn read(
    machine: &mut impl Decode,
    buffers: &[BufferId],
    reader: &mut Reader<'_>,
    part: &mut Part,
) -> Result<()> {
    let [name_ends, name, low, ends, objects] = columns_of(CLONES_ARRAY, buffers)?;
    let frame = reader.frame()?;
    let version = frame.class_version();
    let (unique, bits, pid) = if version > 2 { info::referenced(reader)? } else { (0, 0, 0) };
    collection::read_name(frame, name_ends, name, reader, part)?;
    let of = reader.text()?;
    machine.note(|| Stamp { id: unique, bits, pid, raw: Some(of.as_bytes().into()), ..Stamp::of(frame) });
    let (class, target) = class_of(&of);
    let at = reader.position() as u64;
    let items = reader.i32()?.unsigned_abs() as usize;
    push(part, low, reader.i32()?.to_ne_bytes());
    if items > reader.left().saturating_mul(2) {
        return Err(Error::malformed("a TClonesArray cannot have so many objects")
            .at(at)
            .wanted(reader.left() as u64, items as u64));
    }
    if !is_member_wise(version, bits) {
        for _ in 0..items {
            let object = if reader.u8()? != 0 { machine.object(&class, reader)? } else { 0 };
            part.words_mut(objects).push(object);
        }
    } else if items > 0 {
        let first = machine.columns(&class, &target, items, reader)?;
        part.words_mut(objects).extend(first..first + items as u32);
    } else if let Some(end) = frame.end {
        // The columns of members that are collections have frames even without an object.
        let rest = reader.take(end.saturating_sub(reader.at()))?;
        machine.note(|| Stamp { raw: Some(rest.into()), ..Stamp::default() });
    }
    part.end_list(ends, items)?;
    reader.finish(frame, CLONES_ARRAY)
}

pub(super) fn write(to: &mut impl Encode, buffers: &[BufferId]) -> Result<()> {
    let [name_ends, name, low, ends, objects] = columns_of(CLONES_ARRAY, buffers)?;
    let Some(stamp) = to.stamp() else {
        return Err(Error::unsupported("a TClonesArray is written only where it was read"));
    };
    let frame = to.open(&stamp);
    if stamp.version > 2 {
        to.tobject(stamp.id, stamp.bits, stamp.pid);
    }
    collection::write_name(to, stamp.version, name_ends, name);
    let of = stamp.raw.clone().ok_or_else(|| Error::internal("a TClonesArray was read without its class"))?;
    let (items, low) = (to.list(ends), to.number(low, Number::I32));
    to.writer().string(&of);
    to.writer().u32(items as u32);
    to.writer().i32(low as i32);
    let (class, target) = class_of(&crate::wire::text(&of));
    let in_columns = is_member_wise(stamp.version, stamp.bits);
    to.objects(objects, items, &class, &target, in_columns)?;
    if in_columns
        && items == 0
        && let Some(rest) = to.stamp().and_then(|stamp| stamp.raw)
    {
        to.writer().bytes(&rest);
    }
    to.close(frame);
    Ok(())
}

/// The class of the objects, of `Name;version`.
fn class_of(of: &str) -> (Arc<str>, Target) {
    let (class, version) = class_and_version(of);
    (Arc::clone(&class), Target::Members { class, version, checksum: None })
}
