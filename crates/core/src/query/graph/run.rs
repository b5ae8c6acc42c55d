//! A graph over the entries of its source.

use std::ops::Range;
use std::sync::PoisonError;
use std::time::{Duration, Instant};

use super::in_step::{InStep, OfPart, mask};
use super::looks::Phase;
use super::meter::{Measure, Spot};
use super::output::{Output, Piece, Pieces, Want};
use super::part::{Counted, Part};
use super::plan::Graph;
use crate::error::{Error, Result};
use crate::query::defined::FIRST_COMPUTED;
use crate::query::evaluate::Rows;
use crate::query::source::Source;
use crate::query::step::Step;
use crate::query::steps::{Reads, each_step_of};
use crate::read::{Progress, Selection};

impl Graph {
    /// Reads some entries, and hands over what is computed of them in their order.
    pub(crate) fn run(
        &self,
        entries: &Selection,
        progress: &mut dyn FnMut(Progress) -> Result<()>,
        take: &mut dyn FnMut(usize, Piece) -> Result<()>,
    ) -> Result<()> {
        let compute = |step: &Step<'_>, take: &mut dyn FnMut(Pieces) -> Result<()>| self.computed(step, take);
        let asked = entries.len();
        for (number, _) in self.outputs.iter().enumerate().filter(|(_, output)| output.counts_all()) {
            self.meter.add(Spot::Output(number), Measure { met: asked, kept: asked, time: Duration::ZERO });
            take(number, Piece::Count(asked))?;
        }
        let mut take_all = |pieces: Pieces| pieces.0.into_iter().try_for_each(|(output, piece)| take(output, piece));
        let entries = &self.may_pass(entries)?;
        self.meter.entries(asked, entries.len());
        if entries.is_empty() {
            // Columns without rows have types, too.
            let mut step = Step::new(&self.source, entries.clone());
            step.read(&self.ids(&self.columns), progress)?;
            return self.computed(&step, &mut take_all);
        }
        each_step_of(self, entries, progress, &compute, &mut take_all)
    }

    /// Adds the columns that functions compute of a step, those of a phase that are missing.
    pub(super) fn call_functions(&self, step: &mut Step<'_>, phase: Phase) -> Result<()> {
        for (number, computed) in self.computed.iter().enumerate().filter(|(_, computed)| computed.is_used) {
            let is_later = phase == Phase::Look && !self.looks.has_function.get(number).copied().unwrap_or(true);
            if is_later || step.has(FIRST_COMPUTED + number) {
                continue;
            }
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
            step.each_part_of(&self.needed, self.lengths, self.columns_in(phase), compute, take)?;
            let rows = inputs.is_in.iter().filter(|is_in| **is_in).count();
            let columns = inputs.columns(&computed.inputs)?;
            let began = Instant::now();
            let found = computed.call(columns, rows).map_err(|error| self.in_entries(error, step))?;
            step.insert(FIRST_COMPUTED + number, computed.spread(&found, &inputs.is_in)?);
            let met = rows as u64;
            self.meter.add(Spot::Function(number), Measure { met, kept: met, time: began.elapsed() });
        }
        Ok(())
    }

    /// An error of a function with the entries that it was called for.
    fn in_entries(&self, error: Error, step: &Step<'_>) -> Error {
        let Range { start, end } = step.entries.span();
        let words = format!("{}, in entries {start} to {end}", error.message());
        self.source.place(error.in_words(words))
    }

    /// Columns that a phase computes with.
    fn columns_in(&self, phase: Phase) -> impl Iterator<Item = (usize, bool)> + '_ {
        let columns = if phase == Phase::Look { &self.looks.columns } else { &self.columns };
        columns.iter().copied()
    }

    /// Hands over what a look has computed of a step, and then the rest; or all of it.
    fn computed(&self, step: &Step<'_>, take: &mut dyn FnMut(Pieces) -> Result<()>) -> Result<()> {
        let phase = match step.looked_at {
            Some(first) => {
                let looked = self.looked.lock().unwrap_or_else(PoisonError::into_inner).remove(&first);
                looked.into_iter().flatten().try_for_each(&mut *take)?;
                Phase::Rest
            }
            None => Phase::Whole,
        };
        let mut step = step.clone();
        self.call_functions(&mut step, phase)?;
        self.of_step(&step, phase, take).map(drop)
    }

    /// Computes the outputs of a phase. A look finds for each row, too, whether the rest needs it.
    fn of_step(&self, step: &Step<'_>, phase: Phase, take: &mut dyn FnMut(Pieces) -> Result<()>) -> Result<Vec<bool>> {
        let of_phase = || {
            let all = self.outputs.iter().enumerate();
            all.filter(|(number, output)| self.looks.has(phase, *number) && !output.counts_all())
        };
        let of_columns = || of_phase().filter(|(_, output)| output.want == Want::Columns);
        let mut columns: Vec<InStep> = of_columns().map(|_| InStep::default()).collect();
        let mut needed = Vec::new();
        let compute = |rows: &Rows<'_>| {
            let part = Part::new(self, rows, if phase == Phase::Rest { Counted::Rest } else { Counted::All });
            let mut pieces = Vec::with_capacity(self.outputs.len());
            for (number, output) in of_phase() {
                if output.want == Want::Columns {
                    continue;
                }
                let count = part.count(output)?;
                if output.want == Want::Count {
                    pieces.push((number, part.for_output(number, count, || Ok(Piece::Count(count as u64)))?));
                } else if count > 0 {
                    let piece = || {
                        let (points, wholes) = part.points(output)?;
                        Ok(if output.want == Want::Statistics {
                            Piece::Statistics(points, wholes)
                        } else {
                            Piece::Points(points)
                        })
                    };
                    pieces.push((number, part.for_output(number, count, piece)?));
                }
            }
            let of_part = |(number, output): (usize, &Output)| {
                let count = part.count(output)?;
                let values = part.for_output(number, count, || part.values(output.place, &output.values))?;
                Ok(OfPart { values, picked: part.picked(output.place)?, rows: rows.rows.len() })
            };
            let of_parts = of_columns().map(of_part).collect::<Result<Vec<_>>>()?;
            let mask = match phase {
                Phase::Look => mask(part.picked(self.looks.others)?.as_deref(), rows.rows.len()),
                _ => Vec::new(),
            };
            Ok((Pieces(pieces), of_parts, mask))
        };
        let each = |(pieces, of_parts, mask): (Pieces, Vec<OfPart>, Vec<bool>)| {
            columns.iter_mut().zip(of_parts).for_each(|(column, of_part)| column.add(of_part));
            needed.extend(mask);
            take(pieces)
        };
        step.each_part_of(&self.needed, self.lengths, self.columns_in(phase), compute, each)?;
        let whole = of_columns().zip(columns).map(|((number, output), found)| {
            let entries = entries_of(&step.entries, &found.is_in)?;
            Ok((number, Piece::Columns(found.columns(&output.values)?, entries)))
        });
        let whole = whole.collect::<Result<Vec<_>>>()?;
        if !whole.is_empty() {
            take(Pieces(whole))?;
        }
        Ok(needed)
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

    fn passing(&self, step: &mut Step<'_>) -> Result<Vec<bool>> {
        self.call_functions(step, Phase::Look)?;
        let mut looked = Vec::new();
        let needed = self.of_step(step, Phase::Look, &mut |pieces| {
            looked.push(pieces);
            Ok(())
        })?;
        if let Some(first) = step.looked_at {
            self.looked.lock().unwrap_or_else(PoisonError::into_inner).insert(first, looked);
        }
        Ok(needed)
    }
}

/// The entries of the rows of a step at some rows.
pub(super) fn entries_of(step: &Selection, rows: &[bool]) -> Result<Selection> {
    let mut entries = Vec::new();
    for (entry, _) in step.ranges().flatten().zip(rows).filter(|(_, is_chosen)| **is_chosen) {
        match entries.last_mut() {
            Some(Range { end, .. }) if *end == entry => *end += 1,
            _ => entries.push(entry..entry + 1),
        }
    }
    Selection::of_ranges(entries)
}
