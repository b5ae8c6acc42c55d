//! Diagrams of frames, with entries and seconds of each step.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pyo3::prelude::*;
use sapwood::Error;
use sapwood::frame::{self, StepKind};
use sapwood::inspect::draw_frame;

use crate::errors::raise;

/// Entries, those that were read, nanoseconds of reads, and of each step: entries that reached it, those that passed,
/// nanoseconds, variations.
type Measures = (u64, u64, u64, Vec<(u64, u64, u64, usize)>);

/// A step: the number of the one before it, kind, name, text, entries that reached it, those that passed,
/// seconds, variations.
type Step = (Option<usize>, &'static str, String, String, u64, u64, f64, usize);

/// The steps of an analysis.
#[pyclass(frozen, module = "sapwood._core")]
pub(crate) struct Diagram(Mutex<frame::Diagram>);

impl Diagram {
    pub(crate) fn new(of: frame::Diagram) -> Self {
        Self(Mutex::new(of))
    }

    fn held(&self) -> MutexGuard<'_, frame::Diagram> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn nanos(of: Duration) -> u64 {
    u64::try_from(of.as_nanos()).unwrap_or(u64::MAX)
}

#[pymethods]
impl Diagram {
    /// Entries and nanoseconds of all steps, without their names.
    fn measures(&self) -> Measures {
        let held = self.held();
        let steps = held.steps.iter().map(|step| (step.met, step.passed, nanos(step.time), step.varied)).collect();
        (held.entries, held.read, nanos(held.reading), steps)
    }

    /// Adds the measures of the same steps elsewhere.
    fn add(&self, measures: Measures) -> PyResult<()> {
        let (entries, read, reading, steps) = measures;
        let mut held = self.held();
        if held.steps.len() != steps.len() {
            return Err(raise(Error::internal("the steps of a frame differ between processes")));
        }
        held.entries += entries;
        held.read += read;
        held.reading += Duration::from_nanos(reading);
        for (step, (met, passed, time, varied)) in held.steps.iter_mut().zip(steps) {
            step.met += met;
            step.passed += passed;
            step.time += Duration::from_nanos(time);
            step.varied = step.varied.max(varied);
        }
        Ok(())
    }

    /// Gives results other names, in their order.
    fn name(&self, names: Vec<String>) {
        let mut held = self.held();
        let results = held.steps.iter_mut().filter(|step| step.kind == StepKind::Result);
        for (step, name) in results.zip(names) {
            (step.name, step.text) = (name, String::new());
        }
    }

    /// Entries, those that were read, seconds of reads, and the steps.
    fn all(&self) -> (u64, u64, f64, Vec<Step>) {
        let held = self.held();
        let one = |step: &frame::DiagramStep| {
            let kind = match step.kind {
                StepKind::Define => "define",
                StepKind::Function => "function",
                StepKind::Filter => "filter",
                StepKind::Vary => "vary",
                StepKind::Result => "result",
            };
            let words = (step.name.clone(), step.text.clone());
            (step.parent, kind, words.0, words.1, step.met, step.passed, step.time.as_secs_f64(), step.varied)
        };
        (held.entries, held.read, held.reading.as_secs_f64(), held.steps.iter().map(one).collect())
    }

    /// The picture.
    fn svg(&self) -> String {
        draw_frame(&self.held())
    }
}
