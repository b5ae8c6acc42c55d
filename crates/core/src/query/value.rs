//! Values of some rows while they are computed: numbers or texts, in lists of any depth.

use std::sync::Arc;

use bytes::Bytes;

use super::fault::{no_number, outside};
use super::number::{Numbers, Side, Wide};
use crate::column::{Cast as _, Number};
use crate::error::{Error, Result};

/// A single number or text.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Scalar {
    Bool(bool),
    I64(i64),
    U64(u64),
    F64(f64),
    Text(Arc<str>),
}

/// What the items of a value are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Of {
    /// Numbers, and the type that a column of them has. They are computed in a [`Wide`] one.
    Number(Number),
    Text,
}

/// The innermost items of a value.
#[derive(Clone, Debug)]
pub(super) enum Data {
    /// The same for all; such a value has no levels.
    One(Scalar),
    Numbers(Numbers),
    Texts(Texts),
}

/// Texts, one after another.
#[derive(Clone, Debug)]
pub(super) struct Texts {
    pub(super) offsets: Offsets,
    /// Those from the first offset on.
    pub(super) bytes: Bytes,
}

/// Where lists begin and end, in items; the first one need not be 0. Cheap to clone.
#[derive(Clone, Debug)]
pub(super) struct Offsets(Bytes);

/// How the items of one level are parts of those above.
#[derive(Clone, Debug)]
pub(super) enum Level {
    /// The same number of items in each.
    Fixed(usize),
    Lists(Offsets),
}

/// What the items of some rows are in: levels of lists, the outermost first.
#[derive(Clone, Debug)]
pub(super) struct Frame {
    pub(super) rows: usize,
    pub(super) levels: Vec<Level>,
}

/// Values of some rows.
#[derive(Clone, Debug)]
pub(super) struct Value {
    pub(super) frame: Frame,
    pub(super) data: Data,
    /// Which items are there; all of them if it is missing. An item lacks where an index was out of range.
    pub(super) present: Option<Arc<[bool]>>,
}

impl Offsets {
    pub(super) fn of(offsets: Vec<i64>) -> Self {
        Self(Numbers::of(offsets).into_bytes())
    }

    /// A part of a column's offsets: aligned.
    pub(super) fn borrowed(bytes: Bytes) -> Self {
        Self(bytes)
    }

    /// All of them, one more than lists.
    pub(super) fn all(&self) -> Result<&[i64]> {
        let found = i64::cast(&self.0).filter(|offsets| !offsets.is_empty());
        found.ok_or_else(|| Error::internal("offsets of an expression are no numbers"))
    }

    /// Whether two are the same memory.
    pub(super) fn is(&self, other: &Self) -> bool {
        self.0.as_ptr() == other.0.as_ptr() && self.0.len() == other.0.len()
    }
}

impl Level {
    /// The first item of a list, counted from the first of this part, and how many there are.
    pub(super) fn bounds(&self, offsets: &[i64], list: usize) -> (usize, usize) {
        match self {
            Self::Fixed(len) => (list * len, *len),
            Self::Lists(_) => match offsets {
                [first, ..] if list + 1 < offsets.len() => {
                    ((offsets[list] - first) as usize, (offsets[list + 1] - offsets[list]).max(0) as usize)
                }
                _ => (0, 0),
            },
        }
    }

    /// Offsets of lists; nothing for lists of fixed length.
    pub(super) fn offsets(&self) -> Result<&[i64]> {
        match self {
            Self::Fixed(_) => Ok(&[]),
            Self::Lists(offsets) => offsets.all(),
        }
    }

    /// How many items so many lists have.
    pub(super) fn items(&self, lists: usize) -> Result<usize> {
        Ok(match self {
            Self::Fixed(len) => lists * len,
            Self::Lists(offsets) => {
                let offsets = offsets.all()?;
                let (first, last) = (offsets[0], offsets[offsets.len() - 1]);
                (last - first).max(0) as usize
            }
        })
    }

    /// Whether so many lists have the same lengths.
    pub(super) fn same(&self, other: &Self, lists: usize) -> Result<bool> {
        Ok(match (self, other) {
            (Self::Fixed(a), Self::Fixed(b)) => a == b,
            (Self::Lists(a), Self::Lists(b)) if a.is(b) => true,
            (Self::Lists(a), Self::Lists(b)) => {
                let (a, b) = (a.all()?, b.all()?);
                a.len() == b.len() && a.iter().zip(b).all(|(x, y)| x - a[0] == y - b[0])
            }
            (Self::Fixed(len), Self::Lists(offsets)) | (Self::Lists(offsets), Self::Fixed(len)) => {
                let offsets = offsets.all()?;
                offsets.len() == lists + 1 && offsets.windows(2).all(|pair| pair[1] - pair[0] == *len as i64)
            }
        })
    }
}

impl Frame {
    pub(super) fn flat(rows: usize) -> Self {
        Self { rows, levels: Vec::new() }
    }

    /// The innermost items.
    pub(super) fn items(&self) -> Result<usize> {
        self.items_above(self.levels.len())
    }

    /// The items of the first levels.
    pub(super) fn items_above(&self, depth: usize) -> Result<usize> {
        self.levels.iter().take(depth).try_fold(self.rows, |items, level| level.items(items))
    }

    /// The first levels.
    pub(super) fn outer(&self, depth: usize) -> Self {
        Self { rows: self.rows, levels: self.levels.iter().take(depth).cloned().collect() }
    }

    /// How many innermost items each row has.
    pub(super) fn row_items(&self) -> Result<Vec<usize>> {
        // Nearly all lists are of one level.
        if let [Level::Lists(offsets)] = &self.levels[..]
            && let offsets = offsets.all()?
            && offsets.len() == self.rows + 1
        {
            return Ok(offsets.windows(2).map(|pair| (pair[1] - pair[0]).max(0) as usize).collect());
        }
        let mut counts = vec![1_usize; self.rows];
        // From the innermost level outwards, the number of items in each list.
        let mut below: Option<Vec<usize>> = None;
        for depth in (0..self.levels.len()).rev() {
            let lists = self.items_above(depth)?;
            let level = &self.levels[depth];
            let offsets = level.offsets()?;
            let count = |list: usize| {
                let (first, len) = level.bounds(offsets, list);
                below.as_ref().map_or(len, |below| below.iter().skip(first).take(len).sum())
            };
            below = Some((0..lists).map(count).collect());
        }
        if let Some(below) = below {
            counts = below;
        }
        Ok(counts)
    }
}

impl Scalar {
    /// The only number there is.
    pub(super) fn of(numbers: &Numbers) -> Result<Self> {
        let none = || Error::internal("a constant of an expression has no value");
        Ok(match Wide::of(numbers.number) {
            Wide::Bool => Self::Bool(*numbers.as_bool()?.first().ok_or_else(none)?),
            Wide::I64 => Self::I64(*numbers.as_i64()?.first().ok_or_else(none)?),
            Wide::U64 => Self::U64(*numbers.as_u64()?.first().ok_or_else(none)?),
            Wide::F64 => Self::F64(*numbers.as_f64()?.first().ok_or_else(none)?),
        })
    }

    pub(super) fn wide(&self) -> Option<Wide> {
        match self {
            Self::Bool(_) => Some(Wide::Bool),
            Self::I64(_) => Some(Wide::I64),
            Self::U64(_) => Some(Wide::U64),
            Self::F64(_) => Some(Wide::F64),
            Self::Text(_) => None,
        }
    }

    pub(super) fn as_f64(&self) -> Result<f64> {
        Ok(match self {
            Self::Bool(value) => f64::from(u8::from(*value)),
            Self::I64(value) => *value as f64,
            Self::U64(value) => *value as f64,
            Self::F64(value) => *value,
            Self::Text(_) => return Err(no_number()),
        })
    }

    pub(super) fn as_i64(&self) -> Result<i64> {
        Ok(match self {
            Self::Bool(value) => i64::from(*value),
            Self::I64(value) => *value,
            Self::U64(value) => *value as i64,
            Self::F64(value) => *value as i64,
            Self::Text(_) => return Err(no_number()),
        })
    }

    fn is_true(&self) -> Result<bool> {
        Ok(match self {
            Self::Bool(value) => *value,
            Self::I64(value) => *value != 0,
            Self::U64(value) => *value != 0,
            Self::F64(value) => *value != 0.0,
            Self::Text(_) => return Err(no_number()),
        })
    }

    /// So many of it.
    fn repeated(&self, len: usize) -> Data {
        match self {
            Self::Bool(value) => Data::Numbers(Numbers::of(vec![*value; len])),
            Self::I64(value) => Data::Numbers(Numbers::of(vec![*value; len])),
            Self::U64(value) => Data::Numbers(Numbers::of(vec![*value; len])),
            Self::F64(value) => Data::Numbers(Numbers::of(vec![*value; len])),
            Self::Text(text) => {
                let offsets = (0..=len).map(|at| (at * text.len()) as i64).collect();
                Data::Texts(Texts { offsets: Offsets::of(offsets), bytes: text.repeat(len).into() })
            }
        }
    }
}

impl Texts {
    /// The bytes of each.
    pub(super) fn iter(&self) -> Result<impl ExactSizeIterator<Item = &[u8]>> {
        let offsets = self.offsets.all()?;
        let first = offsets[0];
        let end = offsets.last().map_or(0, |last| last - first);
        if !offsets.is_sorted() || usize::try_from(end).is_ok_and(|end| end > self.bytes.len()) {
            return Err(Error::internal("the texts of an expression end behind their bytes"));
        }
        let part = move |pair: &[i64]| &self.bytes[(pair[0] - first) as usize..(pair[1] - first) as usize];
        Ok(offsets.windows(2).map(part))
    }

    fn gathered(&self, positions: &[usize]) -> Result<Self> {
        let all: Vec<&[u8]> = self.iter()?.collect();
        let mut bytes = Vec::new();
        let mut offsets = Vec::with_capacity(positions.len() + 1);
        offsets.push(0_i64);
        for &at in positions {
            bytes.extend_from_slice(all.get(at).ok_or_else(outside)?);
            offsets.push(bytes.len() as i64);
        }
        Ok(Self { offsets: Offsets::of(offsets), bytes: bytes.into() })
    }
}

impl Data {
    /// The items of some positions.
    pub(super) fn gathered(&self, positions: &[usize]) -> Result<Self> {
        Ok(match self {
            Self::One(one) => Self::One(one.clone()),
            Self::Numbers(numbers) => Self::Numbers(numbers.gathered(positions)?),
            Self::Texts(texts) => Self::Texts(texts.gathered(positions)?),
        })
    }

    /// What is the same for all.
    pub(super) fn constant(&self) -> Option<&Scalar> {
        match self {
            Self::One(one) => Some(one),
            _ => None,
        }
    }

    /// Its type, if it holds numbers.
    pub(super) fn wide(&self) -> Option<Wide> {
        match self {
            Self::One(one) => one.wide(),
            Self::Numbers(numbers) => Some(Wide::of(numbers.number)),
            Self::Texts(_) => None,
        }
    }

    pub(super) fn f64s(&self) -> Result<Side<'_, f64>> {
        Ok(match self {
            Self::One(one) => Side::One(one.as_f64()?),
            Self::Numbers(numbers) => Side::Each(numbers.as_f64()?),
            Self::Texts(_) => return Err(no_number()),
        })
    }

    pub(super) fn i64s(&self) -> Result<Side<'_, i64>> {
        Ok(match self {
            Self::One(one) => Side::One(one.as_i64()?),
            Self::Numbers(numbers) => Side::Each(numbers.as_i64()?),
            Self::Texts(_) => return Err(no_number()),
        })
    }

    pub(super) fn u64s(&self) -> Result<Side<'_, u64>> {
        Ok(match self {
            Self::One(Scalar::U64(one)) => Side::One(*one),
            Self::One(one) => Side::One(one.as_i64()? as u64),
            Self::Numbers(numbers) => Side::Each(numbers.as_u64()?),
            Self::Texts(_) => return Err(no_number()),
        })
    }

    pub(super) fn bools(&self) -> Result<Side<'_, bool>> {
        Ok(match self {
            Self::One(one) => Side::One(one.is_true()?),
            Self::Numbers(numbers) => Side::Each(numbers.as_bool()?),
            Self::Texts(_) => return Err(no_number()),
        })
    }
}

impl Value {
    /// The same without the items of rows that are not there.
    pub(super) fn where_present(self, rows: &[bool]) -> Result<Self> {
        if rows.iter().all(|&is_there| is_there) {
            return Ok(self);
        }
        let items = self.frame.row_items()?;
        let absent = rows.iter().zip(items).flat_map(|(&is_there, items)| std::iter::repeat_n(!is_there, items));
        Ok(self.without(&absent.collect::<Vec<_>>()))
    }

    pub(super) fn constant(rows: usize, one: Scalar) -> Self {
        Self { frame: Frame::flat(rows), data: Data::One(one), present: None }
    }

    pub(super) fn numbers<T: crate::column::Native + Send + Sync>(frame: Frame, values: Vec<T>) -> Self {
        Self { frame, data: Data::Numbers(Numbers::of(values)), present: None }
    }

    pub(super) fn depth(&self) -> usize {
        self.frame.levels.len()
    }

    /// Whether it has an item.
    pub(super) fn is_there(&self, item: usize) -> bool {
        self.present.as_ref().is_none_or(|present| present.get(item) == Some(&true))
    }

    /// Without some of its items.
    pub(super) fn without(self, absent: &[bool]) -> Self {
        let present = absent.iter().enumerate().map(|(item, absent)| !absent && self.is_there(item)).collect();
        Self { present: Some(present), ..self }
    }

    /// With a value for each item, also where it is the same for all.
    pub(super) fn spread(self) -> Result<Self> {
        match self.data {
            Data::One(one) => {
                let data = one.repeated(self.frame.items()?);
                Ok(Self { data, ..self })
            }
            _ => Ok(self),
        }
    }

    /// A number for each item as doubles, of a value that was spread.
    pub(super) fn doubles(&self) -> Result<std::borrow::Cow<'_, [f64]>> {
        match &self.data {
            Data::Numbers(numbers) => numbers.as_f64(),
            _ => Err(no_number()),
        }
    }

    /// Where its items are true; what is absent is not.
    pub(super) fn truth(&self) -> Result<Self> {
        let Data::Numbers(numbers) = &self.data else { return Err(no_number()) };
        let truth = |(item, &is_true): (usize, &bool)| is_true && self.is_there(item);
        let is_true = numbers.as_bool()?.iter().enumerate().map(truth).collect();
        Ok(Self::numbers::<bool>(self.frame.clone(), is_true))
    }

    /// In another type.
    pub(super) fn cast(&self, to: Number) -> Result<Self> {
        let data = match &self.data {
            Data::Numbers(numbers) => Data::Numbers(numbers.cast(to)?),
            Data::One(one) => match one.repeated(1) {
                Data::Numbers(numbers) => Data::One(Scalar::of(&numbers.cast(to)?)?),
                _ => return Err(no_number()),
            },
            Data::Texts(_) => return Err(no_number()),
        };
        let cast = Self { data, ..self.clone() };
        let is_cut = self.data.wide() == Some(Wide::F64) && Wide::of(to).is_whole() && to != Number::Bool;
        if !is_cut {
            return Ok(cast);
        }
        // No whole number is what is not finite, or has more than 64 bits.
        let has_none = |value: &f64| value.is_nan() || value.abs() >= 2_f64.powi(64);
        match self.data.f64s()? {
            Side::Each(each) if each.iter().any(has_none) => {
                Ok(cast.without(&each.iter().map(has_none).collect::<Vec<_>>()))
            }
            Side::One(one) if has_none(&one) => {
                let cast = cast.spread()?;
                let items = cast.frame.items()?;
                Ok(cast.without(&vec![true; items]))
            }
            _ => Ok(cast),
        }
    }
}
