//! A graph over the entries of its source.

use super::part::Part;
use super::{Graph, Output, Want, entries_of};
use crate::error::{Error, ErrorKind, Place, Result};
use crate::query::evaluate::Rows;
use crate::query::load::column;
use crate::query::points::Points;
use crate::query::source::Source;
use crate::query::step::Step;
use crate::query::steps::{Reads, Waits, each_step};
use crate::query::value::Value;
use crate::read::{Column, Progress, Selection};

/// What was computed for an output.
#[derive(Clone)]
pub(crate) enum Piece {
    /// Rows.
    Count(u64),
    Points(Points),
    /// Columns of the rows of a step, and their entries.
    Columns(Vec<Column>, Selection),
}

/// What was computed of a part of a step, or of a step: pieces by the number of their output.
struct Pieces(Vec<(usize, Piece)>);

impl Waits for Pieces {
    fn bytes(&self) -> usize {
        let of = |piece: &Piece| match piece {
            Piece::Count(_) => 0,
            Piece::Points(points) => points.bytes(),
            Piece::Columns(columns, _) => columns.iter().map(Column::memory_bytes).sum(),
        };
        self.0.iter().map(|(_, piece)| of(piece)).sum()
    }
}

impl Output {
    /// The expression that errors name.
    pub(super) fn text(&self) -> &str {
        self.values.first().or(self.weight.as_ref()).map_or("", |value| &value.text)
    }
}

impl Graph {
    /// Reads some entries, and hands over what is computed of them in their order.
    pub(crate) fn run(
        &self,
        entries: &Selection,
        progress: &mut dyn FnMut(Progress) -> Result<()>,
        take: &mut dyn FnMut(usize, Piece) -> Result<()>,
    ) -> Result<()> {
        let compute = |step: &Step<'_>, take: &mut dyn FnMut(Pieces) -> Result<()>| self.of_step(step, take);
        let mut take_all = |pieces: Pieces| pieces.0.into_iter().try_for_each(|(output, piece)| take(output, piece));
        each_step(self, entries, progress, &compute, &mut take_all)
    }

    fn of_step(&self, step: &Step<'_>, take: &mut dyn FnMut(Pieces) -> Result<()>) -> Result<()> {
        let of_columns = || self.outputs.iter().enumerate().filter(|(_, output)| output.want == Want::Columns);
        let mut columns: Vec<InStep> = of_columns().map(|_| InStep::default()).collect();
        let compute = |rows: &Rows<'_>| {
            let part = Part::new(self, rows);
            let mut pieces = Vec::with_capacity(self.outputs.len());
            for (number, output) in self.outputs.iter().enumerate() {
                match output.want {
                    Want::Count => pieces.push((number, Piece::Count(part.count(output)? as u64))),
                    // Nothing is computed where nothing passes.
                    Want::Points if part.count(output)? == 0 => {}
                    Want::Points => pieces.push((number, Piece::Points(part.points(output)?))),
                    Want::Columns => {}
                }
            }
            let of_part = |(_, output): (usize, &Output)| {
                Ok(OfPart { values: part.values(output)?, picked: part.picked(output.place)?, rows: rows.rows.len() })
            };
            Ok((Pieces(pieces), of_columns().map(of_part).collect::<Result<Vec<_>>>()?))
        };
        let each = |(pieces, of_parts): (Pieces, Vec<OfPart>)| {
            columns.iter_mut().zip(of_parts).for_each(|(column, of_part)| column.add(of_part));
            take(pieces)
        };
        step.each_part_of(&self.needed, self.lengths, self.columns.iter().copied(), compute, each)?;
        let whole = of_columns().zip(columns).map(|((number, output), found)| {
            let entries = entries_of(&step.entries, &found.is_in)?;
            Ok((number, Piece::Columns(found.columns(output)?, entries)))
        });
        let whole = whole.collect::<Result<Vec<_>>>()?;
        if whole.is_empty() { Ok(()) } else { take(Pieces(whole)) }
    }

    /// An error with the expression that it is about.
    pub(super) fn named(&self, text: &str, error: Error) -> Error {
        match error.kind() {
            ErrorKind::Mismatch if error.place() == &Place::default() => {
                let words = format!("in {text:?}: {}", error.message());
                self.source.place(Error::new(ErrorKind::Mismatch, words))
            }
            _ => error,
        }
    }
}

impl Reads for Graph {
    fn source(&self) -> &Source {
        &self.source
    }

    fn of_cuts(&self) -> Option<Vec<usize>> {
        // Without a filter above everything, all rows are needed.
        (self.wanted > 0).then(|| self.ids(&self.of_filters))
    }

    fn all(&self) -> Vec<usize> {
        self.ids(&self.columns)
    }

    fn passing(&self, step: &Step<'_>) -> Result<Vec<bool>> {
        let mut all = Vec::with_capacity(step.entries.len() as usize);
        let compute = |rows: &Rows<'_>| {
            let picked = Part::new(self, rows).picked(self.wanted)?;
            Ok(mask(picked.as_deref(), rows.rows.len()))
        };
        let take = |mask: Vec<bool>| {
            all.extend(mask);
            Ok(())
        };
        step.each_part_of(&self.needed, self.lengths, self.of_filters.iter().copied(), compute, take)?;
        Ok(all)
    }
}

fn mask(picked: Option<&[usize]>, rows: usize) -> Vec<bool> {
    let Some(picked) = picked else { return vec![true; rows] };
    let mut mask = vec![false; rows];
    picked.iter().for_each(|row| {
        if let Some(is_in) = mask.get_mut(*row) {
            *is_in = true;
        }
    });
    mask
}

/// Values of an output of a part.
struct OfPart {
    values: Vec<Value>,
    picked: Option<std::sync::Arc<[usize]>>,
    rows: usize,
}

/// Values of an output of a step.
#[derive(Default)]
struct InStep {
    parts: Vec<Vec<Value>>,
    is_in: Vec<bool>,
}

impl InStep {
    fn add(&mut self, part: OfPart) {
        self.is_in.extend(mask(part.picked.as_deref(), part.rows));
        self.parts.push(part.values);
    }

    fn columns(&self, output: &Output) -> Result<Vec<Column>> {
        let one = |(place, value): (usize, &super::Expression)| {
            let parts = self.parts.iter().map(|values| values.get(place).cloned());
            let parts = parts.collect::<Option<Vec<_>>>().ok_or_else(|| Error::internal("a graph lost a value"))?;
            column(&parts, value.bound.depth, value.bound.number(), value.bound.may_lack() || lacks(&parts))
        };
        output.values.iter().enumerate().map(one).collect()
    }
}

/// Whether some items are absent.
fn lacks(parts: &[Value]) -> bool {
    parts.iter().any(|value| value.present.as_ref().is_some_and(|present| present.contains(&false)))
}
