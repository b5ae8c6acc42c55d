//! Values of a step, put together from its parts.

use std::sync::Arc;

use super::expression::Expression;
use crate::error::{Error, Result};
use crate::query::load::column;
use crate::query::value::Value;
use crate::read::Column;

/// Values of a part, and the rows that they are of.
pub(super) struct OfPart {
    pub(super) values: Vec<Value>,
    pub(super) picked: Option<Arc<[usize]>>,
    pub(super) rows: usize,
}

/// Values of a step.
#[derive(Default)]
pub(super) struct InStep {
    parts: Vec<Vec<Value>>,
    /// For each row of the step whether it has values.
    pub(super) is_in: Vec<bool>,
}

impl InStep {
    pub(super) fn add(&mut self, part: OfPart) {
        self.is_in.extend(mask(part.picked.as_deref(), part.rows));
        self.parts.push(part.values);
    }

    /// The columns of some expressions.
    pub(super) fn columns(&self, of: &[Expression]) -> Result<Vec<Column>> {
        let one = |(place, value): (usize, &Expression)| {
            let parts = self.parts.iter().map(|values| values.get(place).cloned());
            let parts = parts.collect::<Option<Vec<_>>>().ok_or_else(|| Error::internal("a graph lost a value"))?;
            column(&parts, value.bound.depth, value.bound.number(), value.bound.may_lack())
        };
        of.iter().enumerate().map(one).collect()
    }
}

/// For each row whether it is picked.
pub(super) fn mask(picked: Option<&[usize]>, rows: usize) -> Vec<bool> {
    let Some(picked) = picked else { return vec![true; rows] };
    let mut mask = vec![false; rows];
    picked.iter().for_each(|row| {
        if let Some(is_in) = mask.get_mut(*row) {
            *is_in = true;
        }
    });
    mask
}
