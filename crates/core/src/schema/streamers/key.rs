//! `TKey`, stored as an object: the header of a record that is elsewhere.

use super::interface::{Columns, Decode, Encode, columns_of, field, push};
use crate::column::{BufferId, Field, Number, Part};
use crate::error::Result;
use crate::wire::Reader;

/// From this version on, positions have 64 bits.
const BIG: i64 = 1000;

pub(super) fn fields(columns: &mut Columns<'_>) -> Vec<Field> {
    let mut fields: Vec<Field> = NUMBERS.iter().map(|(name, number)| field(name, columns.number(*number))).collect();
    fields.extend(["fClassName", "fName", "fTitle"].map(|name| field(name, columns.text())));
    fields
}

/// The numbers in the order of the record; the two last have 32 bits in keys of small files.
const NUMBERS: [(&str, Number); 8] = [
    ("fNbytes", Number::I32),
    ("fVersion", Number::I16),
    ("fObjlen", Number::I32),
    ("fDatime", Number::U32),
    ("fKeylen", Number::I16),
    ("fCycle", Number::I16),
    ("fSeekKey", Number::I64),
    ("fSeekPdir", Number::I64),
];

/// `TKey::Streamer`, which has no frame.
pub(super) fn read(_: &mut impl Decode, buffers: &[BufferId], reader: &mut Reader<'_>, part: &mut Part) -> Result<()> {
    let [nbytes, version_of, objlen, datime, keylen, cycle, seek_key, seek_pdir, texts @ ..]: [BufferId; 14] =
        columns_of("TKey", buffers)?;
    push(part, nbytes, reader.i32()?.to_ne_bytes());
    let version = reader.i16()?;
    push(part, version_of, version.to_ne_bytes());
    push(part, objlen, reader.i32()?.to_ne_bytes());
    push(part, datime, reader.u32()?.to_ne_bytes());
    push(part, keylen, reader.i16()?.to_ne_bytes());
    push(part, cycle, reader.i16()?.to_ne_bytes());
    for seek in [seek_key, seek_pdir] {
        let at = if i64::from(version) > BIG { reader.i64()? } else { i64::from(reader.u32()?) };
        push(part, seek, at.to_ne_bytes());
    }
    for [ends, bytes] in texts.as_chunks::<2>().0 {
        part.push_text(*ends, *bytes, reader.string()?)?;
    }
    Ok(())
}

pub(super) fn write(to: &mut impl Encode, buffers: &[BufferId]) -> Result<()> {
    let columns: [BufferId; 14] = columns_of("TKey", buffers)?;
    let (numbers, texts) = columns.split_at(NUMBERS.len());
    let mut version = 0;
    for (column, (name, number)) in numbers.iter().zip(NUMBERS) {
        let value = to.number(*column, number);
        match number {
            Number::I16 => to.writer().i16(value as i16),
            Number::I64 if version > BIG => to.writer().i64(value),
            _ => to.writer().u32(value as u32),
        }
        if name == "fVersion" {
            version = value;
        }
    }
    for [ends, bytes] in texts.as_chunks::<2>().0 {
        let text = to.text(*ends, *bytes).into_owned();
        to.writer().string(&text);
    }
    Ok(())
}
