//! `TList`, `TObjArray`, `TMap` and their kin.

use super::super::framing_trace::Stamp;
use super::super::info;
use super::interface::{Columns, Decode, Encode, columns_of, field, push, usual};
use crate::column::{BufferId, Field, Kind, Number, Part};
use crate::error::Result;
use crate::wire::{Frame, Reader};

pub(super) fn list_fields(columns: &mut Columns<'_>) -> Vec<Field> {
    let name = field("fName", columns.text());
    let items = field("items", columns.list(Columns::pointer));
    vec![name, items, field("options", columns.list(Columns::text))]
}

pub(super) fn array_fields(columns: &mut Columns<'_>) -> Vec<Field> {
    let name = field("fName", columns.text());
    let low = field("fLowerBound", columns.number(Number::I32));
    vec![name, low, field("items", columns.list(Columns::pointer))]
}

pub(super) fn map_fields(columns: &mut Columns<'_>) -> Vec<Field> {
    let name = field("fName", columns.text());
    let items = columns.list(|columns| {
        let fields = vec![field("fKey", columns.pointer()), field("fValue", columns.pointer())];
        Kind::Record { class: "TPair".into(), fields }
    });
    vec![name, field("items", items)]
}

/// `TList::Streamer`.
pub(super) fn read_list(
    machine: &mut impl Decode,
    buffers: &[BufferId],
    reader: &mut Reader<'_>,
    part: &mut Part,
) -> Result<()> {
    let [name_ends, name, ends, objects, option_lists, option_ends, options] = columns_of("TList", buffers)?;
    let frame = reader.frame()?;
    head(machine, frame, false, reader)?;
    read_name(frame, name_ends, name, reader, part)?;
    let items = reader.count()?;
    for _ in 0..items {
        let object = machine.slot(reader)?;
        part.words_mut(objects).push(object);
        let option: &[u8] = if has_options(frame.class_version()) { reader.string()? } else { b"" };
        part.push_text(option_ends, options, option)?;
    }
    part.end_list(ends, items)?;
    part.end_list(option_lists, items)?;
    reader.finish(frame, "TList")
}

pub(super) fn write_list(to: &mut impl Encode, buffers: &[BufferId]) -> Result<()> {
    let [name_ends, name, ends, objects, option_lists, option_ends, options] = columns_of("TList", buffers)?;
    let (version, frame) = open(to, 5);
    write_name(to, version, name_ends, name);
    let (items, given) = (to.list(ends), to.list(option_lists));
    to.writer().u32(items as u32);
    for index in 0..items {
        to.link(objects)?;
        if has_options(version) {
            let option = if index < given { to.text(option_ends, options).into_owned() } else { Vec::new() };
            to.writer().string(&option);
        }
    }
    to.close(frame);
    Ok(())
}

fn has_options(version: i16) -> bool {
    version > 3
}

/// `TObjArray::Streamer`.
pub(super) fn read_array(
    machine: &mut impl Decode,
    buffers: &[BufferId],
    reader: &mut Reader<'_>,
    part: &mut Part,
) -> Result<()> {
    let [name_ends, name, low, ends, objects] = columns_of("TObjArray", buffers)?;
    let frame = reader.frame()?;
    head(machine, frame, false, reader)?;
    read_name(frame, name_ends, name, reader, part)?;
    let items = reader.count()?;
    push(part, low, reader.i32()?.to_ne_bytes());
    let mut left = items;
    while left > 0 {
        // Most pointers of a branch to its baskets are null.
        let nulls = reader.zeros(left);
        part.words_mut(objects).extend(std::iter::repeat_n(0, nulls));
        left -= nulls;
        if left > 0 {
            let object = machine.slot(reader)?;
            part.words_mut(objects).push(object);
            left -= 1;
        }
    }
    part.end_list(ends, items)?;
    reader.finish(frame, "TObjArray")
}

pub(super) fn write_array(to: &mut impl Encode, buffers: &[BufferId]) -> Result<()> {
    let [name_ends, name, low, ends, objects] = columns_of("TObjArray", buffers)?;
    let (version, frame) = open(to, 3);
    write_name(to, version, name_ends, name);
    let (items, low) = (to.list(ends), to.number(low, Number::I32));
    to.writer().u32(items as u32);
    to.writer().i32(low as i32);
    (0..items).try_for_each(|_| to.link(objects))?;
    to.close(frame);
    Ok(())
}

/// `TMap::Streamer`.
pub(super) fn read_map(
    machine: &mut impl Decode,
    buffers: &[BufferId],
    reader: &mut Reader<'_>,
    part: &mut Part,
) -> Result<()> {
    let [name_ends, name, ends, keys, values] = columns_of("TMap", buffers)?;
    let frame = reader.frame()?;
    head(machine, frame, false, reader)?;
    read_name(frame, name_ends, name, reader, part)?;
    let items = reader.count()?;
    for _ in 0..items {
        for column in [keys, values] {
            let object = machine.slot(reader)?;
            part.words_mut(column).push(object);
        }
    }
    part.end_list(ends, items)?;
    reader.finish(frame, "TMap")
}

pub(super) fn write_map(to: &mut impl Encode, buffers: &[BufferId]) -> Result<()> {
    let [name_ends, name, ends, keys, values] = columns_of("TMap", buffers)?;
    let (version, frame) = open(to, 3);
    write_name(to, version, name_ends, name);
    let items = to.list(ends);
    to.writer().u32(items as u32);
    for _ in 0..items {
        to.link(keys)?;
        to.link(values)?;
    }
    to.close(frame);
    Ok(())
}

/// `TObject`'s bytes at the head of a collection, behind its frame.
pub(super) fn head(
    machine: &mut impl Decode,
    frame: Frame,
    is_references: bool,
    reader: &mut Reader<'_>,
) -> Result<()> {
    // `TRefArray` begins with it at version 1, all others since version 3.
    let has_object = frame.class_version() > 2 || is_references;
    let (id, bits, pid) = if has_object { info::referenced(reader)? } else { (0, 0, 0) };
    machine.note(|| Stamp { id, bits, pid, ..Stamp::of(frame) });
    Ok(())
}

/// The same, writing; `version` is that of ROOT 6. Gives the version that is written, and the frame.
pub(super) fn open(to: &mut impl Encode, version: i16) -> (i16, Option<usize>) {
    let stamp = to.stamp().unwrap_or_else(|| usual(version));
    let frame = to.open(&stamp);
    if stamp.version > 2 || version == 1 {
        to.tobject(stamp.id, stamp.bits, stamp.pid);
    }
    (stamp.version, frame)
}

/// The name of a collection, which came with version 2.
pub(super) fn read_name(
    frame: Frame,
    ends: BufferId,
    bytes: BufferId,
    reader: &mut Reader<'_>,
    part: &mut Part,
) -> Result<()> {
    let name: &[u8] = if frame.class_version() > 1 { reader.string()? } else { b"" };
    part.push_text(ends, bytes, name)
}

pub(super) fn write_name(to: &mut impl Encode, version: i16, ends: BufferId, bytes: BufferId) {
    let name = to.text(ends, bytes).into_owned();
    if version > 1 {
        to.writer().string(&name);
    }
}
