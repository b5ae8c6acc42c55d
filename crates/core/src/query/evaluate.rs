//! Computes values of some rows.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use super::align::{Lengths, align, all_present};
use super::bound::{self, Bound, Op};
use super::compute::{binary, unary, zero_divisors};
use super::function::choose;
use super::index;
use super::load::{Wanted, load};
use super::loaded::Ready;
use super::path::Path;
use super::reduce::{Reduction, reduce};
use super::syntax::Binary;
use super::value::{Data, Frame, Scalar, Value};
use crate::error::{Error, ErrorKind, Result};
use crate::read::Selection;

/// Rows of columns that expressions are computed of.
pub(super) struct Rows<'r> {
    /// Columns by their places.
    pub(super) columns: &'r HashMap<usize, Arc<Ready>>,
    pub(super) rows: Range<usize>,
    /// Which of these rows values are computed of, counted from the first; all if it is missing.
    pub(super) picked: Option<Arc<[usize]>>,
    /// The entries of all rows of the columns.
    pub(super) entries: &'r Selection,
    /// Entries of the whole source.
    pub(super) total: u64,
    pub(super) lengths: Lengths,
    /// The loop that the values are in, where they ask for it.
    pub(super) frame: Option<Frame>,
    /// Values of these rows that others of an expression are computed of, by their addresses.
    pub(super) remembered: Rc<RefCell<HashMap<usize, Value>>>,
    /// Values that several expressions need, and which of their sets of rows these rows are.
    pub(super) shared: Option<(&'r dyn SharedValues, usize)>,
}

/// Values that several expressions need: each is computed once.
pub(super) trait SharedValues {
    /// Such a value of a set of rows; none if it is not one of them.
    fn value(&self, of: &Bound, rows: usize) -> Option<Result<Value>>;
}

impl Rows<'_> {
    /// Some of these rows, in their order.
    pub(super) fn picked(&self, rows: Vec<usize>) -> Rows<'_> {
        let rows = match &self.picked {
            None => rows,
            Some(picked) => rows.into_iter().filter_map(|row| picked.get(row).copied()).collect(),
        };
        Rows {
            picked: Some(rows.into()),
            frame: None,
            remembered: Rc::default(),
            shared: None,
            rows: self.rows.clone(),
            ..*self
        }
    }

    /// How many rows values are computed of.
    pub(super) fn len(&self) -> usize {
        self.picked.as_ref().map_or(self.rows.len(), |picked| picked.len())
    }

    /// The values of expressions that share a loop: each with an item for each turn of it.
    pub(super) fn together(&self, of: &[&Bound]) -> Result<(Frame, Vec<Value>)> {
        let own = self.in_own_loop(of)?;
        let rows = own.as_ref().unwrap_or(self);
        let values = of.iter().map(|of| rows.value(of)).collect::<Result<Vec<_>>>()?;
        rows.align(values)
    }

    /// The value of an expression in a loop of its own.
    pub(super) fn alone(&self, of: &Bound) -> Result<Value> {
        match self.in_own_loop(&[of])? {
            Some(rows) => rows.value(of),
            None => self.value(of),
        }
    }

    /// These rows with the loop of some expressions, if these ask for it.
    fn in_own_loop(&self, of: &[&Bound]) -> Result<Option<Rows<'_>>> {
        if !of.iter().any(|of| of.in_loop) {
            return Ok(None);
        }
        let mut lists = Vec::new();
        for of in of {
            self.lists_of(of, &mut lists)?;
        }
        let (frame, _) = self.align(lists)?;
        Ok(Some(Rows {
            rows: self.rows.clone(),
            picked: self.picked.clone(),
            remembered: Rc::clone(&self.remembered),
            frame: Some(frame),
            ..*self
        }))
    }

    /// The values that give a loop its length.
    fn lists_of(&self, of: &Bound, into: &mut Vec<Value>) -> Result<()> {
        if !of.in_loop {
            if of.depth > 0 {
                into.push(self.value(of)?);
            }
            return Ok(());
        }
        if let Op::PickBy { of: lists, level, by } = &of.op {
            // An index uses up its list, and what is below is not part of the loop.
            if lists.in_loop {
                self.lists_of(lists, into)?;
            } else if *level > 0 {
                let frame = self.value(lists)?.frame.outer(*level);
                into.push(Value { frame, data: Data::One(Scalar::Bool(true)), present: None });
            }
            return self.lists_of(by, into);
        }
        if let Op::Shared(shared) = &of.op {
            return self.lists_of(&shared.bound, into);
        }
        of.parts().into_iter().try_for_each(|part| self.lists_of(part, into))
    }

    /// One loop of some values: each with an item for each turn of it.
    pub(super) fn align(&self, values: Vec<Value>) -> Result<(Frame, Vec<Value>)> {
        align(values, self.len(), self.lengths).map_err(|error| match error.place().offset {
            Some(row) if error.kind() == ErrorKind::Mismatch => self.at_entry(&error, row as usize),
            _ => error,
        })
    }

    /// An error that names the entry of a row.
    fn at_entry(&self, error: &Error, row: usize) -> Error {
        let row = self.picked.as_ref().map_or(Some(row), |picked| picked.get(row).copied());
        let entry = row.and_then(|row| self.entries.entry((self.rows.start + row) as u64));
        let entry = entry.map_or_else(String::new, |entry| format!(", in entry {entry}"));
        Error::new(error.kind(), format!("{}{entry}", error.message()))
    }

    fn value(&self, of: &Bound) -> Result<Value> {
        if let Some((shared, rows)) = self.shared
            && let Some(value) = shared.value(of, rows)
        {
            return value;
        }
        self.computed(of)
    }

    /// The value of an expression, which itself is computed here in any case.
    pub(super) fn computed(&self, of: &Bound) -> Result<Value> {
        let len = self.len();
        Ok(match &of.op {
            Op::Constant(constant) => Value::constant(len, constant.clone()),
            Op::Column(place, path) => {
                let value = self.loaded(of, *place, path)?;
                match &self.picked {
                    None => value,
                    Some(picked) => index::rows(&value, picked)?,
                }
            }
            Op::Unary(super::syntax::Unary::Cast(cast), of) => self.value(of)?.cast(cast.0)?,
            Op::Unary(operator, of) => {
                let value = self.value(of)?;
                Value { data: unary(*operator, &value.data)?, ..value }
            }
            Op::Binary(operator @ (Binary::And | Binary::Or), a, b) if !b.picks() => {
                self.guarded(*operator, vec![self.value(a)?, self.value(b)?])?
            }
            Op::Binary(operator, a, b) => {
                let values = vec![self.value(a)?, self.value(b)?];
                let mut zeros = None;
                let joined = self.joined(values, |data, items| {
                    zeros = zero_divisors(*operator, &data[0], &data[1], items)?;
                    binary(*operator, &data[0], &data[1], items)
                })?;
                match zeros {
                    None => joined,
                    Some(zeros) => joined.without(&zeros),
                }
            }
            Op::Choice(condition, yes, no) => {
                let values = vec![self.value(condition)?, self.value(yes)?, self.value(no)?];
                self.chosen(values)?
            }
            Op::Call(function, of) => {
                let values = of.iter().map(|of| self.value(of)).collect::<Result<Vec<_>>>()?;
                if values.is_empty() {
                    let Data::One(one) = function.apply(&[], len)? else {
                        return Err(Error::internal("a constant has no value"));
                    };
                    return Ok(Value::constant(len, one));
                }
                self.joined(values, |data, items| function.apply(data, items))?
            }
            Op::Pick { of, level, item, from_end } => match (&of.op, &self.picked) {
                (Op::Column(place, path), Some(picked)) if *level == 0 => {
                    index::pick_of_rows(&self.loaded(of, *place, path)?, picked, *item, *from_end)?
                }
                _ => {
                    let value = self.value(of)?;
                    index::pick(&value, below_loop(of, &value, *level), *item, *from_end)?
                }
            },
            Op::PickBy { of, level, by } => {
                let value = self.value(of)?;
                let level = below_loop(of, &value, *level);
                index::pick_by(&value, level, self.value(by)?, |values| self.align(values))?
            }
            Op::Slice { of, level, slice } => {
                let value = self.value(of)?;
                index::slice(&value, below_loop(of, &value, *level), *slice)?
            }
            Op::Mask { of, level, mask } => {
                let mask = self.value(mask)?.spread()?;
                index::masked(&self.value(of)?.spread()?, *level, &mask)?
            }
            Op::Length(of) => {
                let value = self.value(of)?.spread()?;
                let Data::Texts(texts) = &value.data else { return Err(Error::internal("a number has no length")) };
                let lengths: Vec<i64> = texts.iter()?.map(|text| text.len() as i64).collect();
                Value { data: Data::Numbers(super::number::Numbers::of(lengths)), ..value }
            }
            Op::Size(of, level) => index::sizes(&self.alone(of)?.frame, *level)?,
            Op::Count(of) => {
                let value = self.alone(of)?;
                let counts = match &value.present {
                    None => value.frame.row_items()?,
                    Some(present) => counts_of(&value.frame, |item| present[item])?,
                };
                Value::numbers(Frame::flat(len), counts.iter().map(|&count| count as i64).collect())
            }
            Op::ReduceAll(reduction, of, condition) => self.reduced(*reduction, of, condition.as_deref())?,
            Op::ReduceInner(reduction, of) => {
                let value = self.value(of)?.spread()?;
                let outer = value.depth().saturating_sub(1);
                let frame = value.frame.outer(outer);
                let level = &value.frame.levels[outer];
                let offsets = level.offsets()?;
                let lists = value.frame.items_above(outer)?;
                let lens: Vec<usize> = (0..lists).map(|list| level.bounds(offsets, list).1).collect();
                reduce(*reduction, &value, frame, &lens)?
            }
            Op::Pairs(of, second) => index::pairs(&self.value(of)?.spread()?, *second)?,
            Op::Alternative(a, b) => self.alternative(a, b)?,
            Op::Joint(joint, of) => {
                let values = of.iter().map(|of| self.value(of)?.spread()).collect::<Result<Vec<_>>>()?;
                joint.of(values)?
            }
            Op::Shared(shared) => self.remembered(shared)?,
            Op::Entry => {
                let part = self.entries.part(self.rows.start as u64..self.rows.end as u64);
                let entries: Vec<i64> = part.ranges().flatten().map(|entry| entry as i64).collect();
                let value = Value::numbers(Frame::flat(self.rows.len()), entries);
                match &self.picked {
                    None => value,
                    Some(picked) => index::rows(&value, picked)?,
                }
            }
            Op::Entries => Value::constant(len, Scalar::I64(self.total as i64)),
            Op::Iteration => {
                let frame = self.frame.clone().unwrap_or_else(|| Frame::flat(len));
                let counts = frame.row_items()?;
                Value::numbers(frame, counts.iter().flat_map(|&count| 0..count as i64).collect())
            }
            Op::LoopLength => {
                let counts = self.frame.as_ref().map_or_else(|| Ok(vec![1; len]), Frame::row_items)?;
                Value::numbers(Frame::flat(len), counts.iter().map(|&count| count as i64).collect())
            }
        })
    }

    /// A value that several others are computed of: once for these rows, unless it depends on a loop.
    fn remembered(&self, shared: &Arc<bound::Shared>) -> Result<Value> {
        if shared.bound.in_loop {
            return self.value(&shared.bound);
        }
        let address = Arc::as_ptr(shared).addr();
        if let Some(known) = self.remembered.borrow().get(&address) {
            return Ok(known.clone());
        }
        let value = self.value(&shared.bound)?;
        self.remembered.borrow_mut().insert(address, value.clone());
        Ok(value)
    }

    /// The values of a column, of all rows.
    fn loaded(&self, of: &Bound, place: usize, path: &Path) -> Result<Value> {
        let loaded = self.columns.get(&place).ok_or_else(|| Error::internal("an expression's column was not read"))?;
        let wanted = Wanted { depth: of.depth, of: of.of };
        let value = load(&loaded.column, &loaded.ranks, &path.members, wanted, self.rows.clone())?;
        match loaded.present.as_ref().and_then(|present| present.get(self.rows.clone())) {
            None => Ok(value),
            Some(present) => value.where_present(present),
        }
    }

    /// What is computed of values item by item.
    fn joined(&self, values: Vec<Value>, join: impl FnOnce(&[Data], usize) -> Result<Data>) -> Result<Value> {
        let (frame, values) = self.align(values)?;
        let items = frame.items()?;
        let present = all_present(&values);
        let data: Vec<Data> = values.into_iter().map(|value| value.data).collect();
        let is_one = data.iter().all(|data| matches!(data, Data::One(_)));
        let computed = join(&data, if is_one { 1 } else { items })?;
        let data = match computed {
            Data::Numbers(numbers) if is_one => Data::One(Scalar::of(&numbers)?),
            data => data,
        };
        Ok(Value { frame, data, present })
    }

    /// `a || b` or `a && b`: where a decides, b need not be there, as in C. (An item of a constant index must: without
    /// it, `TTree::Draw` leaves out the entry.)
    fn guarded(&self, operator: Binary, values: Vec<Value>) -> Result<Value> {
        if values.get(1).is_none_or(|second| second.present.is_none()) {
            return self.joined(values, |data, items| binary(operator, &data[0], &data[1], items));
        }
        let (frame, values) = self.align(values)?;
        let items = frame.items()?;
        let [first, second] = &values[..] else { return Err(Error::internal("an operator lacks a value")) };
        // The first one alone may be the same for all.
        let first = Value { frame: frame.clone(), ..first.clone() }.spread()?;
        let data = binary(operator, &first.data, &second.data, items)?;
        let Data::Numbers(numbers) = &first.data else { return Err(super::fault::no_number()) };
        let decides = operator == Binary::Or;
        let firsts = numbers.as_bool()?;
        let present = firsts
            .iter()
            .enumerate()
            .map(|(item, &is_true)| first.is_there(item) && (is_true == decides || second.is_there(item)));
        let present = Some(present.collect::<Arc<[bool]>>());
        Ok(Value { frame, data, present })
    }

    /// One of two values by a condition: only the chosen one has to be there.
    fn chosen(&self, values: Vec<Value>) -> Result<Value> {
        let (frame, values) = self.align(values)?;
        let items = frame.items()?;
        let [condition, yes, no] = &values[..] else { return Err(Error::internal("a choice lacks a value")) };
        let data = choose(&condition.data, &yes.data, &no.data, items)?;
        let present = match values.iter().any(|value| value.present.is_some()) {
            false => None,
            true => {
                let spread = condition.clone().spread()?;
                let Data::Numbers(numbers) = &spread.data else { return Err(super::fault::no_number()) };
                let conditions = numbers.as_bool()?;
                let chosen = conditions
                    .iter()
                    .enumerate()
                    .map(|(item, &is_yes)| condition.is_there(item) && (if is_yes { yes } else { no }).is_there(item));
                Some(chosen.collect::<Arc<[bool]>>())
            }
        };
        Ok(Value { frame, data, present })
    }

    /// One value of all items of an entry, of those that meet a condition.
    fn reduced(&self, reduction: Reduction, of: &Bound, condition: Option<&Bound>) -> Result<Value> {
        let bounds: Vec<&Bound> = std::iter::once(of).chain(condition).collect();
        let (frame, mut values) = self.together(&bounds)?;
        let condition = condition.and_then(|_| values.pop());
        let value = values.pop().ok_or_else(|| Error::internal("a reduction has no value"))?.spread()?;
        let value = match condition {
            None => value,
            Some(condition) => {
                let spread = condition.spread()?;
                let Data::Numbers(numbers) = &spread.data else { return Err(super::fault::no_number()) };
                let conditions = numbers.as_bool()?;
                let passes = |(item, &passes): (usize, &bool)| passes && value.is_there(item) && spread.is_there(item);
                let both = conditions.iter().enumerate().map(passes);
                let present = Some(both.collect::<Arc<[bool]>>());
                Value { present, ..value }
            }
        };
        reduce(reduction, &value, Frame::flat(self.len()), &frame.row_items()?)
    }

    /// `Alt$(a, b)`: a where the loop finds an item of it, else b. The length of a does not shorten the loop.
    fn alternative(&self, a: &Bound, b: &Bound) -> Result<Value> {
        let frame = self.frame.clone().unwrap_or_else(|| Frame::flat(self.len()));
        let (first, second) = (self.value(a)?.spread()?, self.value(b)?);
        let loop_of = Value { frame, data: Data::One(Scalar::Bool(true)), present: None };
        let (frame, mut aligned) = self.align(vec![loop_of, second])?;
        let second = aligned.pop().ok_or_else(|| Error::internal("an alternative is lost"))?.spread()?;
        let counts = first.frame.row_items()?;
        let is_single = first.depth() == 0;
        let (mut places, mut is_first) = (Vec::new(), Vec::new());
        let mut start = 0;
        for (&has, turns) in counts.iter().zip(frame.row_items()?) {
            for turn in 0..turns {
                let item = start + if is_single { 0 } else { turn };
                let is_there = (is_single || turn < has) && first.is_there(item);
                places.push(if is_there { item } else { usize::MAX });
                is_first.push(is_there);
            }
            start += has;
        }
        let none_there = !is_first.contains(&true);
        let data = if none_there {
            second.data.clone()
        } else {
            // Any item stands in where there is none; the second value replaces it.
            let any = places.iter().copied().find(|place| *place != usize::MAX).unwrap_or(0);
            let places: Vec<usize> =
                places.into_iter().map(|place| if place == usize::MAX { any } else { place }).collect();
            first.data.gathered(&places)?
        };
        let items = frame.items()?;
        let condition = Data::Numbers(super::number::Numbers::of(is_first.clone()));
        let data = choose(&condition, &data, &second.data, items)?;
        let present = second.present.as_ref().map(|present| {
            is_first.iter().zip(present.iter()).map(|(&first, &second)| first || second).collect::<Arc<[bool]>>()
        });
        Ok(Value { frame, data, present })
    }
}

/// The level of a value that an index counts. A value that asks for its loop has the loop's levels in front.
fn below_loop(of: &Bound, value: &Value, level: usize) -> usize {
    level + value.depth().saturating_sub(of.depth)
}

/// How many items of each row pass.
fn counts_of(frame: &Frame, passes: impl Fn(usize) -> bool) -> Result<Vec<usize>> {
    let mut start = 0;
    let counts = frame.row_items()?;
    Ok(counts
        .into_iter()
        .map(|count| {
            let found = (start..start + count).filter(|&item| passes(item)).count();
            start += count;
            found
        })
        .collect())
}
