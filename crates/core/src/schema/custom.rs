//! Classes that ROOT streams by hand: their StreamerInfo, where there is one, does not describe their bytes.
//!
//! Format page: `docs/format/custom.md`. Each layout names its source.

use super::execute::{Machine, Order};
use super::info;
use super::program::Custom;
use super::trace::Stamp;
use crate::column::{BufferId, BufferKind, Field, Kind, ListOf, Number, Part, Prim};
use crate::error::{Error, Result};
use crate::wire::{Frame, Reader};

/// Which hand-written layout a class has.
pub(super) fn which(class: &str) -> Option<Custom> {
    Some(match class {
        "TArrayC" => Custom::Array(Number::I8),
        "TArrayS" => Custom::Array(Number::I16),
        "TArrayI" => Custom::Array(Number::I32),
        "TArrayL" | "TArrayL64" => Custom::Array(Number::I64),
        "TArrayF" => Custom::Array(Number::F32),
        "TArrayD" => Custom::Array(Number::F64),
        "TList" | "THashList" | "TSortedList" => Custom::List,
        "TObjArray" => Custom::ObjArray,
        "TClonesArray" => Custom::ClonesArray,
        "TMap" => Custom::Map,
        "TRef" => Custom::Ref,
        "TRefArray" => Custom::RefArray,
        "TDatime" => Custom::Datime,
        "TQObject" => Custom::Nothing,
        "TMatrixTSym<double>" | "TMatrixTSym<Double_t>" => Custom::MatrixSym(Number::F64),
        "TMatrixTSym<float>" | "TMatrixTSym<Float_t>" => Custom::MatrixSym(Number::F32),
        "TExMap" => Custom::ExMap,
        "TBasket" => Custom::Basket,
        _ => return None,
    })
}

/// Whether a class has a hand-written layout.
pub(crate) fn is_custom(class: &str) -> bool {
    which(class).is_some()
}

/// Whether a class's streamer only calls those of its bases, without a frame of its own: classes of version 0 whose
/// dictionary was made without `+`.
pub(super) fn forwards(class: &str) -> bool {
    matches!(
        class,
        "TSeqCollection"
            | "TOrdCollection"
            | "THashTable"
            | "TPair"
            | "RooWorkspace::CodeRepo::ClassFiles"
            | "RooWorkspace::CodeRepo::ClassRelInfo"
            | "RooWorkspace::CodeRepo::ExtraHeader"
            | "TAbsArgCache"
            | "TVirtualPerfStats"
            | "TVirtualTreePlayer"
            | "TVirtualMutex"
    )
}

/// The type of a hand-written class; `buffer` hands out its buffers in the order that [`Custom`] gives.
pub(super) fn kind(which: Custom, class: &str, buffer: &mut dyn FnMut(BufferKind) -> BufferId) -> Kind {
    use BufferKind::{Bytes, Ends, Numbers, Objects};
    let mut fields = Vec::new();
    let mut add = |name: &str, kind| fields.push(Field { name: name.into(), kind, base: false });
    let number = |buffer: &mut dyn FnMut(BufferKind) -> BufferId, number| Kind::Number {
        buffer: buffer(Numbers(number)),
        number,
    };
    let text =
        |buffer: &mut dyn FnMut(BufferKind) -> BufferId| Kind::Text { offsets: buffer(Ends), bytes: buffer(Bytes) };
    let list = |offsets, item| Kind::List { offsets, of: ListOf::Sequence, item: Box::new(item) };
    let pointer = |buffer: &mut dyn FnMut(BufferKind) -> BufferId| Kind::Pointer {
        buffer: buffer(Objects),
        class: "TObject".into(),
    };
    match which {
        Custom::Array(of) | Custom::MatrixSym(of) => {
            let ends = buffer(Ends);
            let values = list(ends, number(buffer, of));
            if let Custom::Array(_) = which {
                return values;
            }
            add("fElements", values);
        }
        Custom::List => {
            add("fName", text(buffer));
            let ends = buffer(Ends);
            add("items", list(ends, pointer(buffer)));
            let ends = buffer(Ends);
            add("options", list(ends, text(buffer)));
        }
        Custom::ObjArray | Custom::ClonesArray => {
            add("fName", text(buffer));
            add("fLowerBound", number(buffer, Number::I32));
            let ends = buffer(Ends);
            add("items", list(ends, pointer(buffer)));
        }
        Custom::Map => {
            add("fName", text(buffer));
            let ends = buffer(Ends);
            let keys = pointer(buffer);
            let values = pointer(buffer);
            let record = Kind::Record {
                class: "TPair".into(),
                fields: vec![
                    Field { name: "fKey".into(), kind: keys, base: false },
                    Field { name: "fValue".into(), kind: values, base: false },
                ],
            };
            add("items", list(ends, record));
        }
        Custom::Ref => {
            add("pidf", number(buffer, Number::U16));
            add("ref", number(buffer, Number::U32));
            add("fBits", number(buffer, Number::U32));
        }
        Custom::RefArray => {
            add("fName", text(buffer));
            add("pidf", number(buffer, Number::U16));
            add("fLowerBound", number(buffer, Number::I32));
            // Unsigned in ROOT; uproot's users know them as they are here.
            let ends = buffer(Ends);
            add("refs", list(ends, number(buffer, Number::I32)));
        }
        Custom::Datime => add("fDatime", number(buffer, Number::U32)),
        Custom::Nothing => {}
        Custom::ExMap => {
            let ends = buffer(Ends);
            let entry = ["fHash", "fKey", "fValue"].map(|name| Field {
                name: name.into(),
                kind: number(buffer, Number::I64),
                base: false,
            });
            add("entries", list(ends, Kind::Record { class: "TExMap".into(), fields: entry.into() }));
        }
        Custom::Basket => {
            for name in ["fVersion", "fBufferSize", "fNevBufSize", "fNevBuf", "fLast", "fFlag", "fKeylen", "fObjlen"] {
                add(name, number(buffer, Number::I32));
            }
            let ends = buffer(Ends);
            add("fEntryOffset", list(ends, number(buffer, Number::I32)));
            let ends = buffer(Ends);
            add("fDisplacement", list(ends, number(buffer, Number::I32)));
            add("fBuffer", text(buffer));
        }
        // Compiled where it stands: it is a member of one class only.
        Custom::OldSeeks => {}
    }
    Kind::Record { class: class.into(), fields }
}

/// Reads one object of a hand-written class.
pub(super) fn read(
    machine: &mut Machine<'_>,
    which: Custom,
    buffers: &[BufferId],
    reader: &mut Reader<'_>,
    part: &mut Part,
) -> Result<()> {
    let id = |index: usize| buffers.get(index).copied().unwrap_or(0);
    let step = machine.objects.step;
    match which {
        // `TArrayD::Streamer`: a count and the values, no frame.
        Custom::Array(number) => {
            let items = reader.count()?;
            numbers(reader, part, number, items, id(0), id(1))
        }
        // `TList::Streamer`.
        Custom::List => {
            let frame = reader.frame()?;
            let version = frame.class_version();
            collection(machine, frame, false, reader)?;
            // Options came with version 4.
            let name: &[u8] = if version > 1 { reader.string()? } else { b"" };
            part.push_text(id(0), id(1), name)?;
            let items = reader.count()?;
            for _ in 0..items {
                let object = machine.slot(reader)?;
                part.words_mut(id(3)).push(object);
                let option: &[u8] = if version > 3 { reader.string()? } else { b"" };
                part.push_text(id(5), id(6), option)?;
            }
            part.end_list(id(2), items)?;
            part.end_list(id(4), items)?;
            reader.finish(frame, "TList")
        }
        // `TObjArray::Streamer`.
        Custom::ObjArray => {
            let frame = reader.frame()?;
            let version = frame.class_version();
            collection(machine, frame, false, reader)?;
            let name: &[u8] = if version > 1 { reader.string()? } else { b"" };
            part.push_text(id(0), id(1), name)?;
            let items = reader.count()?;
            push(part, id(2), reader.i32()?);
            for _ in 0..items {
                let object = machine.slot(reader)?;
                part.words_mut(id(4)).push(object);
            }
            part.end_list(id(3), items)?;
            reader.finish(frame, "TObjArray")
        }
        Custom::ClonesArray => clones(machine, buffers, reader, part),
        // `TMap::Streamer`.
        Custom::Map => {
            let frame = reader.frame()?;
            let version = frame.class_version();
            collection(machine, frame, false, reader)?;
            let name: &[u8] = if version > 1 { reader.string()? } else { b"" };
            part.push_text(id(0), id(1), name)?;
            let items = reader.count()?;
            for _ in 0..items {
                let key = machine.slot(reader)?;
                let value = machine.slot(reader)?;
                part.words_mut(id(3)).push(key);
                part.words_mut(id(4)).push(value);
            }
            part.end_list(id(2), items)?;
            reader.finish(frame, "TMap")
        }
        // `TRef::Streamer`: TObject's bytes, and the ProcessID in place of the one a referenced object has.
        Custom::Ref => {
            const HAS_UUID: u32 = 1 << 5;
            let frame = reader.frame()?;
            let unique = reader.u32()?;
            let bits = reader.u32()?;
            let mut pid = 0;
            let mut uuid = None;
            if bits & HAS_UUID != 0 {
                uuid = Some(reader.string()?);
            } else {
                pid = reader.u16()?;
            }
            machine.objects.note(step, || Stamp { raw: uuid.map(Into::into), ..Stamp::of(frame) });
            reader.finish(frame, "TRef")?;
            push_u16(part, id(0), pid);
            part.bytes_mut(id(1)).extend_from_slice(&unique.to_ne_bytes());
            part.bytes_mut(id(2)).extend_from_slice(&bits.to_ne_bytes());
            Ok(())
        }
        // `TRefArray::Streamer`.
        Custom::RefArray => {
            let frame = reader.frame()?;
            collection(machine, frame, true, reader)?;
            let name = reader.string()?;
            part.push_text(id(0), id(1), name)?;
            let items = reader.count()?;
            push(part, id(3), reader.i32()?);
            push_u16(part, id(2), reader.u16()?);
            numbers(reader, part, Number::I32, items, id(4), id(5))?;
            reader.finish(frame, "TRefArray")
        }
        Custom::Datime => {
            let packed = reader.u32()?;
            part.bytes_mut(id(0)).extend_from_slice(&packed.to_ne_bytes());
            Ok(())
        }
        Custom::Nothing => Ok(()),
        // `TMatrixTSym::Streamer`: behind the base's members, one row after the other, each from the diagonal on.
        Custom::MatrixSym(number) => {
            let rows = part.bytes(id(2));
            let rows = rows.last_chunk::<4>().map_or(0, |bytes| i32::from_ne_bytes(*bytes));
            let rows = usize::try_from(rows).unwrap_or(0);
            let items = rows.saturating_mul(rows.saturating_add(1)) / 2;
            numbers(reader, part, number, items, id(0), id(1))
        }
        // `TExMap::Streamer`.
        Custom::ExMap => {
            let frame = reader.frame()?;
            let (unique, bits, pid) = info::referenced(reader)?;
            let mut slots = Vec::new();
            let items = if frame.class_version() >= 2 {
                let items = reader.count()?;
                for _ in 0..items {
                    let slot = reader.i32()?;
                    if machine.objects.trace.is_some() {
                        slots.extend(slot.to_be_bytes());
                    }
                    for buffer in [id(1), id(2), id(3)] {
                        let value = reader.i64()?;
                        part.bytes_mut(buffer).extend_from_slice(&value.to_ne_bytes());
                    }
                }
                items
            } else {
                return Err(Error::unsupported("TExMap of version 1").at(reader.position() as u64));
            };
            part.end_list(id(0), items)?;
            machine.objects.note(step, || Stamp { id: unique, bits, pid, raw: Some(slots.into()), ..Stamp::of(frame) });
            reader.finish(frame, "TExMap")
        }
        Custom::Basket => {
            let from = reader.at();
            basket(buffers, reader, part)?;
            let raw = reader.whole().get(from..reader.at());
            machine.objects.note(step, || Stamp { raw: raw.map(Into::into), ..Stamp::default() });
            Ok(())
        }
        // `TBranch::Streamer` before version 10.
        Custom::OldSeeks => {
            let flag = reader.u8()?;
            machine.objects.note(step, || Stamp { id: u32::from(flag), ..Stamp::default() });
            let items = part.bytes(id(2)).last_chunk::<4>().map_or(0, |bytes| i32::from_ne_bytes(*bytes));
            let items = if flag == 0 { 0 } else { usize::try_from(items).unwrap_or(0) };
            if flag == 2 {
                return numbers(reader, part, Number::I64, items, id(0), id(1));
            }
            let from = reader.take(items.saturating_mul(4))?;
            for word in from.as_chunks::<4>().0 {
                part.bytes_mut(id(1)).extend_from_slice(&i64::from(u32::from_be_bytes(*word)).to_ne_bytes());
            }
            part.end_list(id(0), items)
        }
    }
}

/// `TObject`'s bytes at the head of a collection.
fn collection(machine: &mut Machine<'_>, frame: Frame, is_references: bool, reader: &mut Reader<'_>) -> Result<()> {
    // `TRefArray` begins with it at version 1, all others since version 3.
    let has_object = frame.class_version() > 2 || is_references;
    let (id, bits, pid) = if has_object { info::referenced(reader)? } else { (0, 0, 0) };
    let step = machine.objects.step;
    machine.objects.note(step, || Stamp { id, bits, pid, ..Stamp::of(frame) });
    Ok(())
}

fn push(part: &mut Part, buffer: BufferId, value: i32) {
    part.bytes_mut(buffer).extend_from_slice(&value.to_ne_bytes());
}

fn push_u16(part: &mut Part, buffer: BufferId, value: u16) {
    part.bytes_mut(buffer).extend_from_slice(&value.to_ne_bytes());
}

fn numbers(
    reader: &mut Reader<'_>,
    part: &mut Part,
    number: Number,
    items: usize,
    ends: BufferId,
    values: BufferId,
) -> Result<()> {
    let from = reader.take(items.saturating_mul(number.bytes()))?;
    part.push_numbers(values, Prim::Plain(number), from, 1, items, from.len());
    part.end_list(ends, items)
}

/// `TClonesArray::Streamer`: objects of one class, in columns (bypass) or one by one.
fn clones(machine: &mut Machine<'_>, buffers: &[BufferId], reader: &mut Reader<'_>, part: &mut Part) -> Result<()> {
    let id = |index: usize| buffers.get(index).copied().unwrap_or(0);
    let step = machine.objects.step;
    let frame = reader.frame()?;
    let version = frame.class_version();
    let (mut unique, mut bits, mut pid) = (0, 0, 0);
    if version > 2 {
        (unique, bits, pid) = info::referenced(reader)?;
    }
    let in_columns = bits & if version == 3 { 1 << 14 } else { 1 << 12 } != 0;
    let name: &[u8] = if version > 1 { reader.string()? } else { b"" };
    part.push_text(id(0), id(1), name)?;
    let of = reader.text()?;
    machine.objects.note(step, || Stamp { id: unique, bits, pid, raw: Some(of.as_bytes().into()), ..Stamp::of(frame) });
    let (class, class_version) = of.split_once(';').unwrap_or((&of, ""));
    let class: std::sync::Arc<str> = class.into();
    let at = reader.position() as u64;
    let items = reader.i32()?.unsigned_abs() as usize;
    push(part, id(2), reader.i32()?);
    if items > reader.left().saturating_mul(2) {
        return Err(Error::malformed("a TClonesArray cannot have so many objects")
            .at(at)
            .wanted(reader.left() as u64, items as u64));
    }
    let target = super::Target::Members {
        class: std::sync::Arc::clone(&class),
        version: class_version.parse().ok(),
        checksum: None,
    };
    if in_columns {
        if items > 0 {
            let program = machine.registry.program(&target)?;
            let (table, mut rows) = machine.objects.open(&class, &target, &program);
            let first = rows.rows;
            let outer = machine.objects.begin_trace();
            let outcome = machine.decode(&program, reader, items, Order::Columns, &mut rows);
            machine.objects.close(table, rows);
            // The first object keeps what was noted for all.
            let next = machine.objects.len() as u32 + 1;
            machine.objects.end_trace(next, outer);
            outcome.map_err(|error| error.in_object(&class))?;
            for row in first..first + items {
                let object = machine.objects.fresh();
                machine.objects.set(object, table, row as u32);
                part.words_mut(id(4)).push(object);
            }
        } else if let Some(end) = frame.end {
            // The columns of members that are collections have frames even without an object.
            let rest = reader.take(end.saturating_sub(reader.at()))?;
            machine.objects.note(step, || Stamp { raw: Some(rest.into()), ..Stamp::default() });
        }
    } else {
        for _ in 0..items {
            let mut object = 0;
            if reader.u8()? != 0 {
                object = machine.objects.fresh();
                machine.object(object, &class, reader, None)?;
            }
            part.words_mut(id(4)).push(object);
        }
    }
    part.end_list(id(3), items)?;
    reader.finish(frame, "TClonesArray")
}

/// An embedded basket: `TBasket::Streamer` as called from a branch's array of baskets.
fn basket(buffers: &[BufferId], reader: &mut Reader<'_>, part: &mut Part) -> Result<()> {
    let id = |index: usize| buffers.get(index).copied().unwrap_or(0);
    let key = crate::container::Key::parse(reader)?;
    let version = reader.i16()?;
    let buffer_bytes = reader.i32()?;
    let mut entries_size = reader.i32()?;
    let mut io_bits = 0;
    if entries_size < 0 {
        entries_size = entries_size.checked_neg().ok_or_else(|| {
            Error::malformed("a basket's entries have an impossible length").at(reader.position() as u64)
        })?;
        io_bits = reader.u8()?;
    }
    let entries = reader.i32()?;
    let last = reader.i32()?;
    let flag = reader.u8()?;
    for (index, value) in [
        i32::from(version),
        buffer_bytes,
        entries_size,
        entries,
        last,
        i32::from(flag),
        i32::from(key.keylen),
        key.objlen as i32,
    ]
    .into_iter()
    .enumerate()
    {
        push(part, id(index), value);
    }
    let generated = flag >= 80;
    let plain = if generated { flag - 80 } else { flag };
    let mut offsets = 0;
    let mut displacements = 0;
    if plain != 0 && plain % 10 != 2 && !generated {
        offsets = if entries > 0 { reader.count()? } else { 0 };
        let bytes = reader.take(offsets.saturating_mul(4))?;
        part.push_numbers(id(9), Prim::Plain(Number::I32), bytes, 1, offsets, bytes.len());
        if plain > 20 && plain < 40 {
            // The top byte of each offset holds something else.
            let values = part.bytes_mut(id(9));
            let from = values.len() - 4 * offsets;
            for word in values[from..].as_chunks_mut::<4>().0 {
                *word = (i32::from_ne_bytes(*word) & 0x00ff_ffff).to_ne_bytes();
            }
        }
        if plain > 40 {
            displacements = reader.count()?;
            let bytes = reader.take(displacements.saturating_mul(4))?;
            part.push_numbers(id(11), Prim::Plain(Number::I32), bytes, 1, displacements, bytes.len());
        }
    }
    let _ = io_bits;
    part.end_list(id(8), offsets)?;
    part.end_list(id(10), displacements)?;
    let raw: &[u8] = if plain == 1 || plain > 10 {
        let stored = if version > 1 { last } else { reader.i32()? };
        let stored =
            usize::try_from(stored).map_err(|_| Error::malformed("an embedded basket has a negative length"))?;
        reader.take(stored)?
    } else {
        &[]
    };
    part.push_text(id(12), id(13), raw)
}
