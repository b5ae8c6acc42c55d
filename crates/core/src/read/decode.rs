//! Decodes an inflated basket into rows of a part.

use std::ops::Range;

use super::Selection;
use crate::column::{BufferId, Part, Prim, ends as column_ends};
use crate::error::{Error, Result};
use crate::schema::{Machine, Objects, Order, Registry, VectorOfNumbers};
use crate::tree::{Form, Interpretation, Unsealed};
use crate::wire::{BYTE_COUNT, Limits, Reader};

/// What decoding needs in addition to the basket.
pub(super) struct Decoding<'a> {
    pub(super) interpretation: &'a Interpretation,
    pub(super) registry: &'a Registry,
    pub(super) limits: &'a Limits,
    /// Counts of another branch: ends of the lists a row, and the counts.
    pub(super) counts: Option<&'a Counts>,
}

/// Counts that another branch holds.
#[derive(Debug)]
pub(super) struct Counts {
    /// The entries that they are of.
    pub(super) entries: Selection,
    /// Where the counts of each entry end; one count an entry where there are no lists.
    pub(super) ends: Option<Vec<u64>>,
    /// The counts.
    pub(super) values: Vec<i64>,
}

impl Counts {
    /// The row of an entry.
    ///
    /// # Errors
    ///
    /// [`Internal`](crate::ErrorKind::Internal) if its counts were not read: treating them as zero would lose values.
    fn row(&self, entry: u64) -> Result<usize> {
        let row = self.entries.row(entry).map(|row| row as usize);
        row.ok_or_else(|| Error::internal(format!("the counts of entry {entry} were not read")))
    }

    /// The counts of a row.
    fn of(&self, row: usize) -> Result<&[i64]> {
        let counts = match &self.ends {
            None => self.values.get(row..=row),
            Some(ends) => {
                let start = match row.checked_sub(1) {
                    None => Some(0),
                    Some(before) => ends.get(before).copied(),
                };
                match (start, ends.get(row)) {
                    (Some(start), Some(&end)) => self.values.get(start as usize..end as usize),
                    _ => None,
                }
            }
        };
        counts.ok_or_else(|| Error::internal(format!("there are no counts of row {row}")))
    }
}

/// Bytes of each entry, where all have so many by their type and the basket has room for just these.
pub(super) fn width(interpretation: &Interpretation, data_bytes: usize, entries: usize) -> Option<usize> {
    let bytes = match interpretation.form {
        Form::Rows | Form::RowsOrNothing => interpretation.program.fixed_bytes()?,
        _ => return None,
    };
    (bytes.checked_mul(entries) == Some(data_bytes)).then_some(bytes)
}

/// Decodes entries of a basket whose first is the tree's `first_entry`, and appends them to `part`. The entries are
/// ascending ranges, counted from the basket's first.
pub(super) fn decode(
    how: &Decoding<'_>,
    basket: &Unsealed<'_>,
    first_entry: u64,
    wanted: impl DoubleEndedIterator<Item = Range<usize>> + Clone,
    starts: &mut Vec<u32>,
    part: &mut Part,
    objects: &mut Objects,
) -> Result<()> {
    let interpretation = how.interpretation;
    let program = &interpretation.program;
    let Some(last) = wanted.clone().next_back() else { return Ok(()) };
    if last.end > basket.entries {
        return Err(Error::malformed("a basket has fewer entries than its branch says")
            .wanted(last.end as u64, basket.entries as u64));
    }
    // All entries of one fixed size: one stride over the whole basket.
    if let Some(bytes) = width(interpretation, basket.data.len(), basket.entries) {
        for want in wanted {
            let mut reader = Reader::new(&basket.data[want.start * bytes..want.end * bytes]);
            machine(how, objects, &[]).decode(program, &mut reader, want.len(), Order::Rows, part)?;
        }
        return Ok(());
    }
    // What does not stand in an array is computed once for all.
    let is_computed = !basket.has_offset_array();
    if basket.lacks_offsets() {
        left_out(how, basket, first_entry, starts)?;
    } else if is_computed {
        basket.starts(starts)?;
    }
    for want in wanted {
        let starts = match is_computed {
            true => &starts[want.start..=want.end],
            false => {
                basket.starts_of(want.clone(), starts)?;
                &starts[..]
            }
        };
        match interpretation.form {
            Form::Jagged { ends, prim, per_item } => jagged(how, basket, starts, (ends, prim, per_item), part)?,
            Form::Rows | Form::RowsOrNothing if vectors(how, basket, starts, part)? => {}
            form => entry_by_entry(how, basket, first_entry, form, (want.start, starts), part, objects)?,
        }
    }
    Ok(())
}

/// Entries that are lists of numbers with nothing between them.
fn jagged(
    how: &Decoding<'_>,
    basket: &Unsealed<'_>,
    starts: &[u32],
    (ends, prim, per_item): (BufferId, Prim, usize),
    part: &mut Part,
) -> Result<()> {
    let (Some(&first), Some(&last)) = (starts.first(), starts.last()) else { return Ok(()) };
    let wide = (prim.bytes() * per_item) as u32;
    let data = &basket.data[first as usize..last as usize];
    let items = data.len() / prim.bytes();
    let buffer = match how.interpretation.program.root_steps() {
        [crate::schema::Step::Run { fields, .. }] => fields.first().map(|field| field.buffer),
        _ => None,
    };
    let Some(buffer) = buffer else { return Err(Error::unsupported("a jagged branch has no numbers")) };
    part.push_numbers(buffer, prim, data, 1, items, data.len());
    let words = part.words_mut(ends);
    let base = column_ends::total(words);
    words.reserve(starts.len() - 1);
    // One division for all: an uneven entry shows in the OR of the remainders.
    let mut uneven = 0;
    words.extend(starts[1..].iter().map(|end| {
        let bytes = end - first;
        uneven |= bytes % wide;
        base + bytes / wide
    }));
    if uneven != 0 {
        return Err(Error::malformed("an entry holds no whole number of items"));
    }
    part.rows += starts.len() - 1;
    Ok(())
}

/// Entries of any form: `first` is the number of the first one in the basket, `starts` where each begins and the last
/// one ends.
fn entry_by_entry(
    how: &Decoding<'_>,
    basket: &Unsealed<'_>,
    first_entry: u64,
    form: Form,
    (first, starts): (usize, &[u32]),
    part: &mut Part,
    objects: &mut Objects,
) -> Result<()> {
    let counts = match form {
        Form::CountedBy { .. } => {
            let counts = how.counts.ok_or_else(|| Error::internal("the counts of a branch were not read"))?;
            // Entries that are wanted together are together in what counts them, too.
            Some((counts, counts.row(first_entry + first as u64)?))
        }
        _ => None,
    };
    for (index, bounds) in starts.windows(2).enumerate() {
        let (start, end) = (bounds[0] as usize, bounds[1] as usize);
        let mut reader = Reader::with_origin(&basket.data[..end], basket.keylen as usize);
        reader.seek(start)?;
        objects.next_entry();
        let single = [match form {
            Form::Counted { item_bytes } => ((end - start).saturating_sub(1) / item_bytes) as i64,
            _ => 0,
        }];
        let outside = match counts {
            Some((counts, row)) => counts.of(row + index)?,
            None => &single,
        };
        let mut machine = machine(how, objects, outside);
        machine.displacement = basket.displacement(first + index, bounds[0]);
        one_entry(&mut machine, how, &mut reader, form, part)
            .and_then(|()| {
                let stopped = reader.at();
                machine.settle(&mut reader)?;
                if stopped != end {
                    return Err(Error::malformed("an entry was not read to its end")
                        .at((start + basket.keylen as usize) as u64)
                        .wanted(end as u64, stopped as u64));
                }
                Ok(())
            })
            .map_err(|error| error.in_object(&format!("entry {}", first_entry + (first + index) as u64)))?;
    }
    Ok(())
}

/// A fast path for entries that are each one framed `std::vector` of numbers, or of such vectors, the most common
/// branches besides plain arrays. Returns whether it applied: other branches, and entries framed in another way, leave
/// the part unchanged.
fn vectors(how: &Decoding<'_>, basket: &Unsealed<'_>, starts: &[u32], part: &mut Part) -> Result<bool> {
    let Some(VectorOfNumbers { prim, values, inner, ends }) = how.interpretation.program.vector_of_numbers() else {
        return Ok(false);
    };
    let (items, old_bytes) = (part.words(ends).len(), part.bytes(values).len());
    let inner_items = inner.map(|inner| (inner, part.words(inner).len()));
    let mut all = starts.windows(2);
    let is_done = all.all(|pair| {
        let entry = framed_items(&basket.data[pair[0] as usize..pair[1] as usize]);
        let added = entry.and_then(|(count, bytes)| {
            match inner {
                Some(inner) => {
                    let mut reader = Reader::new(bytes);
                    part.gather_lists((values, prim, 1), inner, count, &mut reader).ok()?;
                    (reader.left() == 0).then_some(())?;
                }
                None => part.gather((values, prim), count, bytes)?,
            }
            part.end_list(ends, count).ok()
        });
        added.is_some()
    });
    if !is_done {
        part.cut(values, old_bytes);
        part.cut_words(ends, items);
        if let Some((inner, items)) = inner_items {
            part.cut_words(inner, items);
        }
        return Ok(false);
    }
    part.order_gathered(values, prim, old_bytes);
    part.rows += starts.len() - 1;
    Ok(true)
}

/// The number of items of an entry that is one plain frame with a count, and their bytes.
fn framed_items(entry: &[u8]) -> Option<(usize, &[u8])> {
    let (head, items) = entry.split_first_chunk::<10>()?;
    let byte_count = u32::from_be_bytes([head[0], head[1], head[2], head[3]]);
    let count = u32::from_be_bytes([head[6], head[7], head[8], head[9]]) as usize;
    let is_plain = byte_count == BYTE_COUNT | (entry.len() - 4) as u32 && head[4] & 0x40 == 0;
    is_plain.then_some((count, items))
}

fn machine<'a>(how: &Decoding<'a>, objects: &'a mut Objects, outside: &'a [i64]) -> Machine<'a> {
    Machine { registry: how.registry, objects, limits: how.limits, displacement: 0, outside, depth: 0 }
}

fn one_entry(
    machine: &mut Machine<'_>,
    how: &Decoding<'_>,
    reader: &mut Reader<'_>,
    form: Form,
    part: &mut Part,
) -> Result<()> {
    let program = &how.interpretation.program;
    match form {
        Form::RowsOrNothing if reader.left() == 0 => empty_row(machine, how, part),
        Form::Rows | Form::RowsOrNothing | Form::Counted { .. } | Form::CountedBy { ends: None, .. } => {
            machine.decode(program, reader, 1, Order::Rows, part)
        }
        Form::Column { ends } => {
            let before = part.rows;
            let mut items = 0;
            column(machine, how, reader, part, &mut items)?;
            part.end_list(ends, items)?;
            part.rows = before + 1;
            Ok(())
        }
        Form::CountedBy { ends: Some(ends), .. } => {
            let before = part.rows;
            let items = machine.outside.len();
            if items > 0 || reader.left() > 0 {
                machine.decode(program, reader, items, Order::Columns, part)?;
            }
            part.end_list(ends, items)?;
            part.rows = before + 1;
            Ok(())
        }
        Form::Virtual => machine.virtual_object(reader, part),
        Form::Jagged { .. } => Err(Error::unsupported("jagged numbers are read basket by basket")),
    }
}

/// Items of a split collection's member until the entry ends. Where one frame holds the whole column, its own end says
/// when to stop.
fn column(
    machine: &mut Machine<'_>,
    how: &Decoding<'_>,
    reader: &mut Reader<'_>,
    part: &mut Part,
    items: &mut usize,
) -> Result<()> {
    let program = &how.interpretation.program;
    if reader.left() == 0 {
        return Ok(());
    }
    *items = machine.column_until_end(program, reader, part)?;
    Ok(())
}

/// A row for an entry without bytes: zeros and empty lists.
fn empty_row(machine: &mut Machine<'_>, how: &Decoding<'_>, part: &mut Part) -> Result<()> {
    machine.empty(&how.interpretation.kind, 1, part)?;
    part.rows += 1;
    Ok(())
}

/// Computes entry offsets that a writer left out from the counts: `kGenerateOffsetMap`.
fn left_out(how: &Decoding<'_>, basket: &Unsealed<'_>, first_entry: u64, starts: &mut Vec<u32>) -> Result<()> {
    let Some(counts) = how.counts else {
        return Err(Error::unsupported("entry offsets were left out, and no counter is known"));
    };
    let wide = match how.interpretation.form {
        Form::Jagged { prim, per_item, .. } => prim.bytes() * per_item,
        _ => return Err(Error::unsupported("entry offsets were left out of a branch that is no list of numbers")),
    };
    starts.clear();
    starts.push(0);
    let mut at = 0_usize;
    let differ = |at: usize| {
        Error::malformed("counts and bytes of a basket do not agree").wanted(basket.data.len() as u64, at as u64)
    };
    let row = counts.row(first_entry)?;
    if basket.entries > 0 {
        // The basket must not have more entries than its branch says: their counts would be those of others.
        counts.row(first_entry + basket.entries as u64 - 1)?;
    }
    for index in 0..basket.entries {
        let [count] = *counts.of(row + index)? else {
            return Err(Error::malformed("a branch that counts has no single number an entry"));
        };
        // ROOT treats a negative count as zero.
        at = at.saturating_add((count.max(0) as usize).saturating_mul(wide));
        if at > basket.data.len() {
            return Err(differ(at));
        }
        starts.push(at as u32);
    }
    // Counts that are too low would drop the last values.
    if at != basket.data.len() {
        return Err(differ(at));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::column::{BufferKind, Kind, ListOf, Number};
    use crate::error::ErrorKind;
    use crate::schema::{Program, Step};

    /// Decodes entries of 16-bit numbers whose offsets were left out.
    fn decoded(counts: &[i64], data: &[u8]) -> Result<Part> {
        let prim = Prim::Plain(Number::I16);
        let number = Kind::Number { buffer: 0, number: Number::I16 };
        let buffers = vec![BufferKind::Numbers(Number::I16), BufferKind::Ends];
        let program = Program::of(vec![Step::numbers(prim, 1, 0)?], number.clone(), buffers.clone());
        let interpretation = Interpretation {
            program: Arc::new(program),
            form: Form::Jagged { ends: 1, prim, per_item: 1 },
            kind: Kind::List { offsets: 1, of: ListOf::Sequence, item: Box::new(number) },
            buffers: buffers.clone(),
            type_name: "int16_t[]".into(),
        };
        let entries = Selection::try_from(10..10 + counts.len() as u64)?;
        let counts = Counts { entries, ends: None, values: counts.to_vec() };
        let (registry, limits) = (Registry::default(), Limits::default());
        let how =
            Decoding { interpretation: &interpretation, registry: &registry, limits: &limits, counts: Some(&counts) };
        let mut part = Part::new(&buffers);
        let basket = Unsealed::left_out(data, 2);
        decode(&how, &basket, 10, std::iter::once(0..2), &mut Vec::new(), &mut part, &mut Objects::default())?;
        Ok(part)
    }

    #[test]
    fn counts_that_do_not_fit_their_bytes_are_errors() {
        let bytes = [0, 1, 0, 2, 0, 3];
        let part = decoded(&[1, 2], &bytes).unwrap();
        assert_eq!((part.words(1), part.bytes(0).len()), (&[1, 3][..], 6));
        for counts in [[1, 1], [0, 0], [1, 3], [-1, 2]] {
            assert_eq!(decoded(&counts, &bytes).unwrap_err().kind(), ErrorKind::Malformed, "{counts:?}");
        }
        assert_eq!(decoded(&[3], &bytes).unwrap_err().kind(), ErrorKind::Internal, "no count of the second entry");
    }
}
