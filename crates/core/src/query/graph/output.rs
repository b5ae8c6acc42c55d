//! Places of rows, outputs of a graph, and pieces of their values.

use super::expression::Expression;
use crate::query::points::{Points, Wholes};
use crate::query::steps::Waits;
use crate::read::{Column, Selection};

/// The form in which values are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Want {
    /// How many rows there are.
    Count,
    /// Numbers and their weights, item by item.
    Points,
    /// Numbers item by item, with the exact sum and extremes of whole ones.
    Statistics,
    /// Numbers item by item, of items for which the last value is true. It is their weight, too: a cut of
    /// `TTree::Draw`.
    Passing,
    /// Columns of the values, with the entries of the rows.
    Columns,
}

/// All rows, or those of another place that pass a filter or are in a range.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) parent: usize,
    pub(super) filter: Option<Expression>,
    /// The number of a range.
    pub(super) range: Option<usize>,
}

/// Values at a place.
#[derive(Debug)]
pub(super) struct Output {
    pub(super) place: usize,
    pub(super) want: Want,
    pub(super) values: Vec<Expression>,
    pub(super) weight: Option<Expression>,
}

impl Output {
    /// Whether it is the number of all entries.
    pub(super) fn counts_all(&self) -> bool {
        self.want == Want::Count && self.place == 0
    }

    /// The expression that errors name.
    pub(super) fn text(&self) -> &str {
        self.values.first().or(self.weight.as_ref()).map_or("", |value| &value.text)
    }
}

/// A part of the values of an output.
#[derive(Clone, Debug)]
pub(crate) enum Piece {
    /// Rows.
    Count(u64),
    Points(Points),
    /// Numbers, and their exact sum and extremes if they are whole.
    Statistics(Points, Option<Wholes>),
    /// Columns of the rows of a step, and their entries.
    Columns(Vec<Column>, Selection),
}

/// Pieces of a step, or of a part of it, by the number of their output.
#[derive(Debug)]
pub(super) struct Pieces(pub(super) Vec<(usize, Piece)>);

impl Waits for Pieces {
    fn bytes(&self) -> usize {
        let of = |piece: &Piece| match piece {
            Piece::Count(_) => 0,
            Piece::Points(points) | Piece::Statistics(points, _) => points.bytes(),
            Piece::Columns(columns, _) => columns.iter().map(Column::memory_bytes).sum(),
        };
        self.0.iter().map(|(_, piece)| of(piece)).sum()
    }
}
