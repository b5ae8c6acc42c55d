//! A graph over the entries of its source.

use std::time::{Duration, Instant};

use super::in_step::{InStep, OfPart, mask};
use super::meter::{Measure, Spot};
use super::part::{Counted, Part};
use super::plan::{Graph, Output, Want};
use crate::error::Result;
use crate::query::defined::FIRST_COMPUTED;
use crate::query::evaluate::Rows;
use crate::query::points::Points;
use crate::query::source::Source;
use crate::query::step::Step;
use crate::query::steps::{Reads, Waits, each_step_of};
use crate::read::{Column, Progress, Selection};

/// A part of the values of an output.
#[derive(Clone)]
pub(crate) enum Piece {
    /// Rows.
    Count(u64),
    Points(Points),
    /// Columns of the rows of a step, and their entries.
    Columns(Vec<Column>, Selection),
}

/// Pieces of a step, or of a part of it, by the number of their output.
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
        let asked = entries.len();
        let entries = &self.may_pass(entries)?;
        self.meter.entries(asked, entries.len());
        if entries.is_empty() {
            // Columns without rows have types, too.
            let mut step = Step::new(&self.source, entries.clone());
            step.read(&self.ids(&self.columns), progress)?;
            return self.of_step(&step, &mut take_all);
        }
        each_step_of(self, entries, progress, &compute, &mut take_all)
    }

    /// A step with the columns that functions compute of it.
    pub(super) fn with_computed<'s>(&self, step: &Step<'s>) -> Result<Step<'s>> {
        let mut step = step.clone();
        for (number, computed) in self.computed.iter().enumerate().filter(|(_, computed)| computed.is_used) {
            let mut inputs = InStep::default();
            let compute = |rows: &Rows<'_>| {
                let part = Part::new(self, rows, Counted::None);
                let values = part.values(computed.place, &computed.inputs)?;
                Ok(OfPart { values, picked: part.picked(computed.place)?, rows: rows.rows.len() })
            };
            let take = |part: OfPart| {
                inputs.add(part);
                Ok(())
            };
            step.each_part_of(&self.needed, self.lengths, self.columns.iter().copied(), compute, take)?;
            let rows = inputs.is_in.iter().filter(|is_in| **is_in).count();
            let columns = inputs.columns(&computed.inputs)?;
            let began = Instant::now();
            let found = computed.call(columns, rows)?;
            step.insert(FIRST_COMPUTED + number, computed.spread(&found, &inputs.is_in)?);
            let met = rows as u64;
            self.meter.add(Spot::Function(number), Measure { met, kept: met, time: began.elapsed() });
        }
        Ok(step)
    }

    fn of_step(&self, step: &Step<'_>, take: &mut dyn FnMut(Pieces) -> Result<()>) -> Result<()> {
        let step = &self.with_computed(step)?;
        let of_columns = || self.outputs.iter().enumerate().filter(|(_, output)| output.want == Want::Columns);
        let mut columns: Vec<InStep> = of_columns().map(|_| InStep::default()).collect();
        let compute = |rows: &Rows<'_>| {
            let part = Part::new(self, rows, if step.is_looked_at { Counted::Rest } else { Counted::All });
            let mut pieces = Vec::with_capacity(self.outputs.len());
            for (number, output) in self.outputs.iter().enumerate() {
                if output.want == Want::Columns {
                    continue;
                }
                let count = part.count(output)?;
                if output.want == Want::Count {
                    pieces.push((number, part.for_output(number, count, || Ok(Piece::Count(count as u64)))?));
                } else if count > 0 {
                    pieces.push((number, part.for_output(number, count, || Ok(Piece::Points(part.points(output)?)))?));
                }
            }
            let of_part = |(number, output): (usize, &Output)| {
                let count = part.count(output)?;
                let values = part.for_output(number, count, || part.values(output.place, &output.values))?;
                Ok(OfPart { values, picked: part.picked(output.place)?, rows: rows.rows.len() })
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
            Ok((number, Piece::Columns(found.columns(&output.values)?, entries)))
        });
        let whole = whole.collect::<Result<Vec<_>>>()?;
        if whole.is_empty() { Ok(()) } else { take(Pieces(whole)) }
    }
}

impl Reads for Graph {
    fn source(&self) -> &Source {
        &self.source
    }

    fn of_cuts(&self) -> Option<Vec<usize>> {
        self.of_cuts()
    }

    fn all(&self) -> Vec<usize> {
        self.ids(&self.columns)
    }

    fn may_pass(&self, entries: &Selection) -> Result<Selection> {
        self.may_pass(entries)
    }

    fn has_read(&self, time: Duration) {
        self.meter.reading(time);
    }

    fn passing(&self, step: &Step<'_>) -> Result<Vec<bool>> {
        let mut all = Vec::with_capacity(step.entries.len() as usize);
        let compute = |rows: &Rows<'_>| {
            let picked = Part::new(self, rows, Counted::All).picked(self.wanted)?;
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

/// The entries of the rows of a step at some rows.
pub(super) fn entries_of(step: &Selection, rows: &[bool]) -> Result<Selection> {
    let mut entries = Vec::new();
    for (entry, _) in step.ranges().flatten().zip(rows).filter(|(_, is_chosen)| **is_chosen) {
        match entries.last_mut() {
            Some(std::ops::Range { end, .. }) if *end == entry => *end += 1,
            _ => entries.push(entry..entry + 1),
        }
    }
    Selection::of_ranges(entries)
}
