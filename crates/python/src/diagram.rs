//! Diagrams of frames, with entries and seconds of each step.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pyo3::prelude::*;
use sapwood::Error;
use sapwood::frame::{self, DiagramStep, StepKind};
use sapwood::inspect::draw_frame;

use crate::errors::raise;

/// A step: the number of the one before it, kind, name, text, entries that reached it, those that passed, nanoseconds,
/// variations.
type Step = (Option<usize>, String, String, String, u64, u64, u64, usize);

/// Entries, those that were read, nanoseconds of reads, and the steps.
type State = (u64, u64, u64, Vec<Step>);

const KINDS: [(StepKind, &str); 6] = [
    (StepKind::Define, "define"),
    (StepKind::Function, "function"),
    (StepKind::Filter, "filter"),
    (StepKind::Range, "range"),
    (StepKind::Vary, "vary"),
    (StepKind::Result, "result"),
];

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
    /// The diagram of a state.
    #[staticmethod]
    fn of(state: State) -> PyResult<Self> {
        let (entries, read, reading, steps) = state;
        let step = |(parent, kind, name, text, met, passed, time, varied): Step| {
            let kind = KINDS.iter().find(|(_, known)| *known == kind).map(|(kind, _)| *kind)?;
            Some(DiagramStep { parent, kind, name, text, met, passed, time: Duration::from_nanos(time), varied })
        };
        let steps = steps.into_iter().map(step).collect::<Option<Vec<_>>>();
        let steps = steps.ok_or_else(|| raise(Error::mismatch("the steps of a frame are of another version")))?;
        Ok(Self::new(frame::Diagram { entries, read, reading: Duration::from_nanos(reading), steps }))
    }

    /// Entries, those that were read, nanoseconds of reads, and the steps.
    fn state(&self) -> State {
        let held = self.held();
        let one = |step: &DiagramStep| {
            let kind = KINDS.iter().find(|(kind, _)| *kind == step.kind).map_or("", |(_, name)| *name);
            let words = (kind.to_owned(), step.name.clone(), step.text.clone());
            (step.parent, words.0, words.1, words.2, step.met, step.passed, nanos(step.time), step.varied)
        };
        (held.entries, held.read, nanos(held.reading), held.steps.iter().map(one).collect())
    }

    fn __reduce__(&self, py: Python<'_>) -> PyResult<(Py<PyAny>, (State,))> {
        Ok((py.get_type::<Self>().getattr("of")?.unbind(), (self.state(),)))
    }

    /// This one and another one of the same results of the same frames together.
    fn plus(&self, other: &Self) -> PyResult<Self> {
        let mut sum = self.held().clone();
        // Not while the first one is locked: they may be the same.
        let other = other.held().clone();
        sum.add(&other).map_err(raise)?;
        Ok(Self::new(sum))
    }

    /// Gives results other names, in their order.
    fn name(&self, names: Vec<String>) {
        let mut held = self.held();
        let results = held.steps.iter_mut().filter(|step| step.kind == StepKind::Result);
        for (step, name) in results.zip(names) {
            (step.name, step.text) = (name, String::new());
        }
    }

    /// The picture.
    fn svg(&self) -> String {
        draw_frame(&self.held())
    }
}
