//! What a graph consists of.

use std::collections::HashMap;
use std::sync::Arc;

use super::computed::Computed;
use super::expression::Expression;
use super::rowsets::RowSets;
use crate::error::{Error, ErrorKind, Place as ErrorPlace};
use crate::query::align::Lengths;
use crate::query::bound::Bound;
use crate::query::defined::FIRST_COMPUTED;
use crate::query::source::Source;

/// What is wanted of some values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Want {
    /// How many rows there are.
    Count,
    /// Numbers and their weights, item by item.
    Points,
    /// Columns of the values, with the entries of the rows.
    Columns,
}

/// Values of one source, ready to be computed.
#[derive(Debug)]
pub(crate) struct Graph {
    pub(super) source: Source,
    pub(super) lengths: Lengths,
    /// Columns by their places in the expressions.
    pub(super) needed: Vec<usize>,
    /// Those places, and whether pointers of the columns are followed.
    pub(super) columns: Vec<(usize, bool)>,
    /// Those of them that filters need.
    pub(super) of_filters: Vec<(usize, bool)>,
    pub(super) places: Vec<Place>,
    pub(super) outputs: Vec<Output>,
    /// Columns that functions compute, each of those before.
    pub(super) computed: Vec<Computed>,
    pub(super) sets: RowSets,
    /// The rows that any output needs.
    pub(super) wanted: usize,
    /// What is computed once, by the address of the expression: its number, and the set of rows that it is computed
    /// for.
    pub(super) shared: HashMap<usize, (usize, usize)>,
    /// What was bound: its addresses count, so none of it may go.
    #[expect(dead_code, reason = "keeps addresses")]
    pub(super) kept: Vec<Arc<Bound>>,
}

/// All rows, or those of another place that pass a filter.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) parent: usize,
    pub(super) filter: Option<Expression>,
}

/// Values at a place.
#[derive(Debug)]
pub(super) struct Output {
    pub(super) place: usize,
    pub(super) want: Want,
    pub(super) values: Vec<Expression>,
    pub(super) weight: Option<Expression>,
}

impl Graph {
    /// An error with the expression that it is about.
    pub(super) fn named(&self, text: &str, error: Error) -> Error {
        match error.kind() {
            ErrorKind::Mismatch if error.place() == &ErrorPlace::default() => {
                let words = format!("in {text:?}: {}", error.message());
                self.source.place(Error::new(ErrorKind::Mismatch, words))
            }
            _ => error,
        }
    }

    /// Numbers of the columns at some places.
    pub(super) fn ids(&self, columns: &[(usize, bool)]) -> Vec<usize> {
        let ids = columns.iter().filter_map(|(place, _)| self.needed.get(*place).copied());
        ids.filter(|id| *id < FIRST_COMPUTED).collect()
    }
}

impl Output {
    /// The expression that errors name.
    pub(super) fn text(&self) -> &str {
        self.values.first().or(self.weight.as_ref()).map_or("", |value| &value.text)
    }
}
