//! Sort keys: numbers of columns as words that compare as the entries do.

use crate::column::{Cast, Kind, Native as _, Number};
use crate::error::{Error, ErrorKind, Result};
use crate::read::{Column, Selection};
use crate::table::{Found, Table};

/// The columns that entries are sorted by.
#[derive(Debug)]
pub(super) struct KeyColumns {
    columns: Vec<KeyColumn>,
}

#[derive(Debug)]
struct KeyColumn {
    name: String,
    found: Found,
    descending: bool,
}

/// Keys of consecutive rows: for each row one word per column. Rows are compared word by word.
#[derive(Debug, Default)]
pub(super) struct Keys {
    /// Words per row.
    pub(super) width: usize,
    pub(super) words: Vec<u64>,
}

impl Keys {
    pub(super) fn len(&self) -> usize {
        self.words.len() / self.width.max(1)
    }

    pub(super) fn row(&self, row: usize) -> &[u64] {
        self.words.get(row * self.width..(row + 1) * self.width).unwrap_or_default()
    }

    /// The rows in ascending order; equal ones stay as they are.
    pub(super) fn order(&self) -> Result<Vec<u32>> {
        let rows = u32::try_from(self.len());
        let too_many = |_| Error::limit("entries that are sorted at a time", u32::MAX.into(), self.len() as u64);
        let mut order: Vec<u32> = (0..rows.map_err(too_many)?).collect();
        order.sort_unstable_by(|&a, &b| self.row(a as usize).cmp(self.row(b as usize)).then(a.cmp(&b)));
        Ok(order)
    }
}

impl KeyColumns {
    /// Finds columns by name; a leading `-` sorts by falling values.
    pub(super) fn new(table: &Table, names: &[String]) -> Result<Self> {
        if names.is_empty() {
            return Err(Error::mismatch("name at least one column to sort by"));
        }
        let columns = names.iter().map(|given| {
            let (descending, name) = match given.strip_prefix('-') {
                Some(name) => (true, name.trim()),
                None => (false, given.trim()),
            };
            let found = match table.named(None, name) {
                Some(found) => found,
                None => Found { id: table.find(name).map_err(|error| not_found(error, name))?, member: None },
            };
            let column = KeyColumn { name: name.to_owned(), found, descending };
            column.check(&table.stored_kind(column.found.id)?)?;
            Ok(column)
        });
        Ok(Self { columns: columns.collect::<Result<_>>()? })
    }

    /// Words per row.
    pub(super) fn width(&self) -> usize {
        self.columns.len()
    }

    /// Reads the keys of some entries.
    pub(super) fn read(&self, table: &Table, part: &Selection) -> Result<Keys> {
        let mut ids: Vec<usize> = self.columns.iter().map(|column| column.found.id).collect();
        ids.sort_unstable();
        ids.dedup();
        let read = table.read(&ids, part)?;
        let rows = part.len() as usize;
        let width = self.width();
        let mut keys = Keys { width, words: vec![0; rows * width] };
        for (place, column) in self.columns.iter().enumerate() {
            let values = ids.iter().position(|&id| id == column.found.id).and_then(|at| read.get(at));
            let values = values.ok_or_else(|| Error::internal("a sort column was not read"))?;
            let slots = keys.words.iter_mut().skip(place).step_by(width);
            column.encode(values, rows, slots)?;
        }
        Ok(keys)
    }
}

/// Names the option that the column is for.
fn not_found(error: Error, name: &str) -> Error {
    match error.kind() {
        ErrorKind::NotFound => {
            let words = format!("cannot sort by {name:?}: {}", error.message());
            error.in_words(words)
        }
        _ => error,
    }
}

impl KeyColumn {
    fn check(&self, kind: &Kind) -> Result<()> {
        let member = match (&self.found.member, kind) {
            (Some(member), Kind::Record { .. }) => {
                kind.members().into_iter().find(|(name, _)| *name == member).map(|(_, kind)| kind)
            }
            _ => Some(kind),
        };
        match member {
            Some(Kind::Number { .. }) => Ok(()),
            Some(other) => {
                let words = format!(
                    "entries are sorted by columns that have one number per entry: {:?} holds {other}",
                    self.name
                );
                Err(Error::mismatch(words))
            }
            None => Err(Error::not_found(format!("cannot sort by {:?}: its record lacks it", self.name))),
        }
    }

    fn encode<'k>(&self, column: &Column, rows: usize, slots: impl Iterator<Item = &'k mut u64>) -> Result<()> {
        let member = match &self.found.member {
            Some(member) => Some(column.member(member)?),
            None => None,
        };
        let column = member.as_ref().unwrap_or(column);
        self.check(&column.kind)?;
        let Kind::Number { buffer, number } = &column.kind else {
            return Err(Error::internal("a sort column holds no numbers"));
        };
        let bytes = column.buffer(*buffer);
        if bytes.len() != rows * number.bytes() {
            return Err(Error::internal("a sort column has too few numbers"));
        }
        let flip = if self.descending { u64::MAX } else { 0 };
        match number {
            Number::F32 => {
                let numbers = f32::read(&bytes);
                slots.zip(numbers).for_each(|(slot, value)| *slot = fraction(f64::from(value), flip));
            }
            Number::F64 => slots.zip(f64::read(&bytes)).for_each(|(slot, value)| *slot = fraction(value, flip)),
            Number::U64 => {
                let numbers: &[u64] = u64::cast(&bytes).unwrap_or_default();
                slots.zip(numbers).for_each(|(slot, value)| *slot = value ^ flip);
            }
            _ => {
                slots.zip(number.wholes(&bytes)).for_each(|(slot, value)| *slot = (value as u64 ^ SIGN) ^ flip);
            }
        }
        Ok(())
    }
}

const SIGN: u64 = 1 << 63;

/// A fraction as a word: NaN is last in both orders, and both zeros are equal.
fn fraction(value: f64, flip: u64) -> u64 {
    if value.is_nan() {
        return u64::MAX;
    }
    // -0.0 + 0.0 is 0.0.
    let bits = (value + 0.0).to_bits();
    let rising = if bits & SIGN == 0 { bits | SIGN } else { !bits };
    rising ^ flip
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_compare_as_fractions_do_and_nan_is_last() {
        let values = [f64::NEG_INFINITY, -1.5, -f64::MIN_POSITIVE, 0.0, 5e-324, 1.5, f64::INFINITY];
        let rising: Vec<u64> = values.iter().map(|&value| fraction(value, 0)).collect();
        let falling: Vec<u64> = values.iter().map(|&value| fraction(value, u64::MAX)).collect();
        assert!(rising.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(falling.windows(2).all(|pair| pair[0] > pair[1]));
        for flip in [0, u64::MAX] {
            assert_eq!(fraction(-0.0, flip), fraction(0.0, flip));
            let all = rising.iter().chain(&falling);
            assert!(all.into_iter().all(|&word| word < fraction(f64::NAN, flip)));
        }
    }
}
