//! The steps of an analysis as they were written, with entries and seconds of each.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use super::accumulator::Varied;
use super::compile::{Outputs, Spots};
use super::node::{Frame, Node, What};
use super::wanted::Wanted;
use crate::query::{Measures, Spot};

/// The kind of a step of a [`Diagram`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepKind {
    /// A name for the value of an expression.
    Define,
    /// A name for what a function computes.
    Function,
    /// A filter of entries.
    Filter,
    /// Entries by their positions among those that pass the filters before.
    Range,
    /// Variations.
    Vary,
    /// Something that is wanted.
    Result,
}

/// A step of an analysis: a definition, a filter, variations, or a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiagramStep {
    /// The number of the step before it; none for all entries.
    pub parent: Option<usize>,
    /// Its kind.
    pub kind: StepKind,
    /// Its name, if it has one.
    pub name: String,
    /// Its expression or expressions.
    pub text: String,
    /// Entries that reached it. Definitions count none.
    pub met: u64,
    /// Entries that passed it, if it is a filter or a range; otherwise those that reached it.
    pub passed: u64,
    /// The time that threads took to compute it, in all variations. What other steps have computed is theirs.
    pub time: Duration,
    /// Variations for which it was computed apart.
    pub varied: usize,
}

/// The steps of a [`Run`](super::Run), with the entries that reached them and the time that they took.
///
/// # Example
///
/// ```
/// # let path = sapwood_testkit::example("nano.root");
/// use sapwood::frame::{Frame, Run};
/// let tree = sapwood::File::open(path)?.tree("Events")?;
/// let busy = Frame::new().define("ht", "Sum$(Jet_pt)")?.filter("nJet > 2", "three jets")?;
/// let mut run = Run::new([busy.histogram(["ht"])?, busy.count()]);
/// run.add(&tree, 0..tree.entries)?;
/// let diagram = run.diagram();
/// let [define, filter, histogram, count] = &diagram.steps[..] else { panic!() };
/// assert_eq!((filter.parent, histogram.parent, count.parent), (Some(0), Some(1), Some(1)));
/// assert_eq!((filter.met, filter.passed), (tree.entries, count.met));
/// assert_eq!(define.text, "Sum$(Jet_pt)");
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diagram {
    /// Entries of the tables that were added.
    pub entries: u64,
    /// Entries that statistics did not rule out.
    pub read: u64,
    /// The time of reads, decompression included, of all threads together.
    pub reading: Duration,
    /// The steps, each after its parent.
    pub steps: Vec<DiagramStep>,
}

impl Diagram {
    /// Adds what another run has met and computed: of the same results of the same frames.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](crate::ErrorKind::Mismatch) if that one has other steps.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::frame::{Frame, Run};
    /// let count = Frame::new().filter("nJet > 2", "")?.count();
    /// let mut diagram = Run::new([count.clone()]).diagram().clone();
    /// assert!(diagram.add(Run::new([count]).diagram()).is_ok());
    /// assert!(diagram.add(Run::new([Frame::new().count()]).diagram()).is_err());
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn add(&mut self, other: &Self) -> crate::error::Result<()> {
        let is_same = |(one, other): (&DiagramStep, &DiagramStep)| {
            (one.parent, one.kind, &one.name, &one.text) == (other.parent, other.kind, &other.name, &other.text)
        };
        if self.steps.len() != other.steps.len() || !self.steps.iter().zip(&other.steps).all(is_same) {
            return Err(crate::error::Error::mismatch("the diagrams are of different frames"));
        }
        self.entries += other.entries;
        self.read += other.read;
        self.reading += other.reading;
        for (step, other) in self.steps.iter_mut().zip(&other.steps) {
            step.met += other.met;
            step.passed += other.passed;
            step.time += other.time;
            step.varied = step.varied.max(other.varied);
        }
        Ok(())
    }
}

/// The diagram of a run while it grows.
#[derive(Debug)]
pub(super) struct Tracing {
    pub(super) diagram: Diagram,
    /// The node or result of each step.
    keys: Vec<Key>,
}

#[derive(Clone, Copy, Debug)]
enum Key {
    /// The address of a node.
    Node(usize),
    /// The number of what is wanted.
    Wanted(usize),
}

/// The measures of a plan that belong to a step.
#[derive(Debug, Default)]
pub(super) struct StepMeasures {
    /// The part of the graph whose rows count.
    rows: Option<Spot>,
    /// Parts of the graph whose time counts. If several steps need one, its time belongs to the first of them.
    times: Vec<Spot>,
    varied: usize,
}

impl Tracing {
    pub(super) fn new(wanted: &[Wanted]) -> Self {
        let mut tracing = Self { diagram: Diagram::default(), keys: Vec::new() };
        let mut known = HashMap::new();
        for (number, wanted) in wanted.iter().enumerate() {
            let parent = tracing.frame(&wanted.frame, &mut known);
            let (name, text) = wanted.words();
            tracing.push(parent, StepKind::Result, name, text, Key::Wanted(number));
        }
        tracing
    }

    /// Adds the steps of a frame that are new, and returns the number of its last one.
    fn frame(&mut self, frame: &Frame, known: &mut HashMap<usize, usize>) -> Option<usize> {
        let mut new = Vec::new();
        let mut parent = None;
        for node in frame.nodes() {
            if let Some(number) = known.get(&node.address()) {
                parent = Some(*number);
                break;
            }
            new.push(node);
        }
        for node in new.into_iter().rev() {
            let (kind, name, text) = words(node);
            let number = self.push(parent, kind, name, text, Key::Node(node.address()));
            known.insert(node.address(), number);
            parent = Some(number);
        }
        parent
    }

    fn push(&mut self, parent: Option<usize>, kind: StepKind, name: String, text: String, key: Key) -> usize {
        let time = Duration::ZERO;
        self.diagram.steps.push(DiagramStep { parent, kind, name, text, met: 0, passed: 0, time, varied: 0 });
        self.keys.push(key);
        self.keys.len() - 1
    }

    /// The measures of a plan that each step has.
    pub(super) fn measures(&self, spots: &Spots, outputs: &[Varied<Outputs>]) -> Vec<StepMeasures> {
        let mut claimed = HashSet::new();
        let mut of_step = |nominal: Vec<Spot>, varied: Vec<Vec<Spot>>| {
            let others = varied.iter().filter(|spots| !spots.iter().all(|spot| nominal.contains(spot))).count();
            // The last output of a report is that of its last filter.
            let rows = nominal.last().copied();
            let all = nominal.into_iter().chain(varied.into_iter().flatten());
            StepMeasures { rows, times: all.filter(|spot| claimed.insert(*spot)).collect(), varied: others }
        };
        let of_key = |key: &Key| match key {
            Key::Node(address) => {
                let found = spots.get(address);
                let nominal = found.and_then(|found| found.nominal);
                let varied = found.map_or(&[][..], |found| &found.variations);
                of_step(nominal.into_iter().collect(), varied.iter().map(|(_, spot)| vec![*spot]).collect())
            }
            Key::Wanted(number) => {
                let spots = |outputs: &Outputs| outputs.iter().map(|(output, _)| Spot::Output(*output)).collect();
                let found = outputs.get(*number);
                let nominal = found.map_or_else(Vec::new, |found| spots(&found.nominal));
                let varied = found.map_or(&[][..], |found| &found.variations);
                of_step(nominal, varied.iter().map(|(_, outputs)| spots(outputs)).collect())
            }
        };
        self.keys.iter().map(of_key).collect()
    }

    /// Adds what was met and computed with a plan. `filling` is the time that each result took besides.
    pub(super) fn add(&mut self, of_steps: &[StepMeasures], measures: &Measures, filling: &[Duration]) {
        self.diagram.entries += measures.entries.met;
        self.diagram.read += measures.entries.kept;
        self.diagram.reading += measures.reading;
        for ((step, of_step), key) in self.diagram.steps.iter_mut().zip(of_steps).zip(&self.keys) {
            if let Some(rows) = of_step.rows {
                let measure = measures.of(rows);
                step.met += measure.met;
                step.passed += measure.kept;
            }
            step.time += of_step.times.iter().map(|spot| measures.of(*spot).time).sum::<Duration>();
            step.varied = step.varied.max(of_step.varied);
            if let Key::Wanted(number) = key {
                step.time += filling.get(*number).copied().unwrap_or_default();
            }
        }
    }
}

/// The kind of a node, its name, and its expression.
fn words(node: &Node) -> (StepKind, String, String) {
    match &node.what {
        What::Define { name, text, .. } => (StepKind::Define, name.clone(), text.clone()),
        What::Compute { name, inputs, .. } => (StepKind::Function, name.clone(), inputs.join(", ")),
        What::Filter { text, name } => (StepKind::Filter, name.clone(), text.clone()),
        What::Range(positions) => (StepKind::Range, String::new(), positions.words()),
        What::Vary(variations) => {
            let names: Vec<&str> = variations.iter().map(|variation| variation.name.as_str()).collect();
            (StepKind::Vary, String::new(), names.join(", "))
        }
    }
}
