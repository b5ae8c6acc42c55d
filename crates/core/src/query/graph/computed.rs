//! Columns that functions of the caller compute, a step at a time.

use std::sync::Arc;

use super::expression::Expression;
use crate::column::Kind;
use crate::error::{Error, Result};
use crate::query::index::rows_or_stand_ins;
use crate::query::load::{Wanted, column, load};
use crate::query::loaded::Loaded;
use crate::query::number::Numbers;
use crate::query::ranks::Ranks;
use crate::query::value::{Data, Frame, Level, Of, Offsets, Texts, Value};
use crate::read::Column;

/// A function of columns, which is called with the rows of a step that pass the filters before it.
///
/// # Example
///
/// ```
/// use sapwood::query::Compute;
/// use sapwood::read::Column;
/// struct Doubled;
/// impl Compute for Doubled {
///     fn compute(&self, inputs: Vec<Column>) -> sapwood::Result<Column> {
///         let doubled: Vec<f64> = inputs[0].numbers::<f64>()?.iter().map(|value| 2.0 * value).collect();
///         Ok(Column::from_numbers(&doubled))
///     }
/// }
/// let found = Doubled.compute(vec![Column::from_numbers(&[1.0, 2.0])])?;
/// assert_eq!(found.numbers::<f64>()?, [2.0, 4.0]);
/// # Ok::<(), sapwood::Error>(())
/// ```
pub trait Compute: Send + Sync {
    /// A value for each row of the inputs. It is called without rows first, to learn the type of its values.
    ///
    /// # Errors
    ///
    /// Whatever went wrong; it ends the run.
    fn compute(&self, inputs: Vec<Column>) -> Result<Column>;
}

/// A column that a function computes.
pub(super) struct Computed {
    pub(super) name: String,
    pub(super) place: usize,
    pub(super) inputs: Vec<Expression>,
    pub(super) function: Arc<dyn Compute>,
    pub(super) kind: Kind,
    /// Whether anything needs it.
    pub(super) is_used: bool,
    /// Levels of lists, and what is in them.
    pub(super) depth: usize,
    pub(super) of: Of,
}

impl std::fmt::Debug for Computed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Computed").field("name", &self.name).field("kind", &self.kind).finish_non_exhaustive()
    }
}

/// An error that names the function. What a caller raised stays its cause.
pub(super) fn named(name: &str, error: Error) -> Error {
    let words = format!("the function that defines {name:?} failed: {}", error.message());
    error.in_words(words)
}

/// The columns of some expressions without rows.
pub(super) fn without_rows(of: &[Expression]) -> Result<Vec<Column>> {
    let one = |value: &Expression| {
        let bound = &value.bound;
        let levels = vec![Level::Lists(Offsets::of(vec![0])); bound.depth];
        let data = match bound.of {
            Of::Number(number) => Data::Numbers(Numbers::zeros(number, 0)),
            Of::Text => Data::Texts(Texts { offsets: Offsets::of(vec![0]), bytes: bytes::Bytes::new() }),
        };
        let value = Value { frame: Frame { rows: 0, levels }, data, present: None };
        column(&[value], bound.depth, bound.number(), bound.may_lack())
    };
    of.iter().map(one).collect()
}

impl Computed {
    /// Calls the function. Its answer has the rows of the inputs, and always one type.
    pub(super) fn call(&self, inputs: Vec<Column>, rows: usize) -> Result<Column> {
        let found = self.function.compute(inputs).map_err(|error| named(&self.name, error))?;
        if found.len != rows {
            let words = format!("the function that defines {:?} gave another number of rows than it got", self.name);
            return Err(Error::mismatch(words).wanted(rows as u64, found.len as u64));
        }
        found.check(rows as u64).map_err(|error| named(&self.name, error))?;
        let kind = found.kind.to_string();
        let wanted = self.kind.to_string();
        if kind != wanted {
            let words = format!(
                "the function that defines {:?} gave {kind}, and {wanted} for no rows: let it give one type",
                self.name
            );
            return Err(Error::mismatch(words));
        }
        Ok(found)
    }

    /// The column of all rows of a step; those that the function did not get have values that nobody asks for.
    pub(super) fn spread(&self, found: &Column, is_in: &[bool]) -> Result<Loaded> {
        if is_in.iter().all(|is_in| *is_in) {
            return Ok(Loaded::new(found.clone(), None));
        }
        let wanted = Wanted { depth: self.depth, of: self.of };
        let value = load(found, &Ranks::of(found), &[], wanted, 0..found.len)?;
        let mut row = 0;
        let chosen = is_in.iter().map(|is_in| {
            row += usize::from(*is_in);
            is_in.then(|| row - 1)
        });
        let value = rows_or_stand_ins(&value, chosen.collect())?;
        let number = match self.of {
            Of::Number(number) => Some(number),
            Of::Text => None,
        };
        Ok(Loaded::new(column(&[value], self.depth, number, is_optional(&self.kind))?, None))
    }
}

/// Whether values may be missing.
fn is_optional(kind: &Kind) -> bool {
    match kind {
        Kind::List { item, .. } | Kind::Fixed { item, .. } => is_optional(item),
        Kind::OneOf { .. } => true,
        _ => false,
    }
}
