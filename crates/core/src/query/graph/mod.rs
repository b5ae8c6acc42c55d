//! GRAPHS: many values of one source, each below filters, computed in one pass.
//!
//! Equal expressions are one: what several values, filters or variations have in common is computed once (`intern`), of
//! the rows that any of them needs (`rowsets`). `build` binds what is asked for, `part` computes it for some thousand
//! rows, and `run` reads the source step by step.

mod build;
mod intern;
mod part;
mod rowsets;
mod run;

use std::collections::HashMap;
use std::sync::Arc;

pub(crate) use build::{Builder, ValueId, Want};
use rowsets::RowSets;
pub(crate) use run::Piece;

use super::align::Lengths;
use super::bound::Bound;
use super::source::Source;
use crate::read::Selection;

/// Values of one source, ready to be computed.
#[derive(Debug)]
pub(crate) struct Graph {
    source: Source,
    lengths: Lengths,
    /// Columns by their places in the expressions.
    needed: Vec<usize>,
    /// Those places, and whether pointers of the columns are followed.
    columns: Vec<(usize, bool)>,
    /// Those of them that filters need.
    of_filters: Vec<(usize, bool)>,
    places: Vec<Place>,
    outputs: Vec<Output>,
    sets: RowSets,
    /// The rows that any output needs.
    wanted: usize,
    /// What is computed once, by the address of the expression: its number, and the set of rows that it is computed
    /// for.
    shared: HashMap<usize, (usize, usize)>,
    /// What was bound: its addresses count, so none of it may go.
    #[expect(dead_code, reason = "keeps addresses")]
    kept: Vec<Arc<Bound>>,
}

/// All rows, or those of another place that pass a filter.
#[derive(Debug)]
struct Place {
    parent: usize,
    filter: Option<Expression>,
}

/// An expression, as written and as computed.
#[derive(Clone, Debug)]
struct Expression {
    text: String,
    bound: Arc<Bound>,
}

/// Values at a place.
#[derive(Debug)]
struct Output {
    place: usize,
    want: Want,
    values: Vec<Expression>,
    weight: Option<Expression>,
}

impl Graph {
    /// Numbers of the columns at some places.
    fn ids(&self, columns: &[(usize, bool)]) -> Vec<usize> {
        columns.iter().filter_map(|(place, _)| self.needed.get(*place).copied()).collect()
    }
}

/// The entries of the rows of a step at some rows.
fn entries_of(step: &Selection, rows: &[bool]) -> crate::Result<Selection> {
    let mut entries = Vec::new();
    for (entry, _) in step.ranges().flatten().zip(rows).filter(|(_, is_chosen)| **is_chosen) {
        match entries.last_mut() {
            Some(std::ops::Range { end, .. }) if *end == entry => *end += 1,
            _ => entries.push(entry..entry + 1),
        }
    }
    Selection::of_ranges(entries)
}
