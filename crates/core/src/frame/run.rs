//! Results of frames over one file after another.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::accumulator::{Accumulator, Role, Varied};
use super::compile::{Compiler, Outputs, RangeKey};
use super::diagram::{Diagram, StepMeasures, Tracing};
use super::wanted::Wanted;
use crate::error::{Error, Result};
use crate::query::{Builder, Explained, Graph, Lengths, Piece, Source};
use crate::read::{Column, Progress, Selection};

/// Computes what is wanted of frames, over one file after another.
///
/// # Example
///
/// ```
/// # let path = sapwood_testkit::example("nano.root");
/// use sapwood::frame::{Frame, Run};
/// let tree = sapwood::File::open(path)?.tree("Events")?;
/// let busy = Frame::new().filter("nJet > 2", "")?;
/// let mut run = Run::new([busy.count(), Frame::new().count()]);
/// // The same file twice.
/// run.add(&tree, 0..tree.entries)?;
/// run.add(&tree, 0..tree.entries)?;
/// let found = run.finish()?;
/// assert_eq!(found[1].nominal.count()?, 2 * tree.entries);
/// assert!(found[0].nominal.count()? < found[1].nominal.count()?);
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Debug)]
pub struct Run {
    wanted: Arc<[Wanted]>,
    /// Of each that is wanted; none before the first file.
    states: Option<Vec<State>>,
    tracing: Tracing,
    /// Rows that passed the filters above each range so far.
    met: HashMap<RangeKey, u64>,
}

/// How a run computes its results from one table: all names are looked up, and nothing is read yet.
#[derive(Debug)]
pub struct Plan {
    wanted: Arc<[Wanted]>,
    graph: Graph,
    /// Of each that is wanted.
    outputs: Vec<Varied<Outputs>>,
    /// Of each step of the diagram.
    measures: Vec<StepMeasures>,
    /// Of each range of the graph.
    ranges: Vec<Vec<RangeKey>>,
    /// Results that have taken nothing, for the first table of a run.
    empty: Option<Vec<Accumulator>>,
}

impl Plan {
    /// Describes how the table is read and computed.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::example("nano.root");
    /// use sapwood::frame::{Frame, Run};
    /// let tree = sapwood::File::open(path)?.tree("Events")?;
    /// let run = Run::new([Frame::new().statistics("Sum$(Jet_pt)")?]);
    /// assert_eq!(run.plan(&tree, [])?.explained().columns, ["Jet_pt"]);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    #[must_use]
    pub fn explained(&self) -> Explained {
        self.graph.explained()
    }
}

/// Columns that [`Frame::columns`](super::Frame::columns) asked for, of a step.
#[derive(Debug)]
pub struct StepColumns<'r> {
    /// The number of what is wanted.
    pub wanted: usize,
    /// The variation; none for the columns as they are.
    pub variation: Option<&'r str>,
    /// A column for each expression.
    pub columns: Vec<Column>,
    /// The entries of their rows.
    pub entries: Selection,
}

type State = Varied<Accumulator>;

/// The result that an output is for: its number, that of its variation (0 for none), and the role there.
type Route = (usize, usize, Role);

impl State {
    fn of(&mut self, variation: usize) -> Option<&mut Accumulator> {
        match variation.checked_sub(1) {
            None => Some(&mut self.nominal),
            Some(number) => self.variations.get_mut(number).map(|(_, of)| of),
        }
    }
}

impl Run {
    /// A run that has seen no file.
    pub fn new(wanted: impl IntoIterator<Item = Wanted>) -> Self {
        let wanted: Arc<[Wanted]> = wanted.into_iter().collect();
        let tracing = Tracing::new(&wanted);
        Self { wanted, states: None, tracing, met: HashMap::new() }
    }

    /// Adds some entries of a table: [`plan`](Self::plan) and [`read`](Self::read) in one.
    ///
    /// # Errors
    ///
    /// Errors of both.
    pub fn add(
        &mut self,
        source: impl Into<Source>,
        entries: impl TryInto<Selection, Error: Into<Error>>,
    ) -> Result<()> {
        let plan = self.plan(source, [])?;
        self.read(&plan, entries, |_| Ok(()), |_| Ok(()))
    }

    /// Looks up all names in a table, with names of expressions that others may use. The results do not change.
    ///
    /// # Errors
    ///
    /// [`NotFound`](crate::ErrorKind::NotFound) for names that the table does not have, and others of expressions.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::example("nano.root");
    /// use sapwood::frame::{Frame, Run};
    /// let tree = sapwood::File::open(path)?.tree("Events")?;
    /// let run = Run::new([Frame::new().filter("busy", "")?.count()]);
    /// assert!(run.plan(&tree, []).is_err());
    /// assert_eq!(run.plan(&tree, [("busy", "nJet > 2")])?.explained().columns, ["nJet"]);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn plan<'a>(
        &self,
        source: impl Into<Source>,
        aliases: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Plan> {
        let source = source.into();
        let aliases = aliases.into_iter().map(|(name, text)| (name.to_owned(), text.to_owned())).collect();
        let mut builder = Builder::new(&source, &aliases);
        let mut compiler = Compiler::new(&mut builder);
        let outputs: Vec<_> = self.wanted.iter().map(|wanted| compiler.wanted(wanted)).collect::<Result<_>>()?;
        let empty = || self.wanted.iter().map(|wanted| compiler.accumulator(wanted)).collect::<Result<_>>();
        let empty = self.states.is_none().then(empty).transpose()?;
        let measures = self.tracing.measures(&compiler.spots, &outputs);
        let ranges = std::mem::take(&mut compiler.ranges);
        let graph = builder.finish(Lengths::Same);
        Ok(Plan { wanted: Arc::clone(&self.wanted), graph, outputs, measures, ranges, empty })
    }

    /// Adds some entries of the table of a plan. `progress` is called with the state of each read, and `take` with the
    /// columns that were asked for. An error of either ends the run.
    ///
    /// # Errors
    ///
    /// Errors of [`Query::read`](crate::query::Query::read), of `progress` and of `take`: results are incomplete then.
    /// [`Mismatch`](crate::ErrorKind::Mismatch) for a plan of another run.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::example("nano.root");
    /// use sapwood::frame::{Frame, Run};
    /// let tree = sapwood::File::open(path)?.tree("Events")?;
    /// let mut run = Run::new([Frame::new().filter("nJet > 2", "")?.columns(["nJet"])?]);
    /// let plan = run.plan(&tree, [])?;
    /// let mut rows = 0;
    /// run.read(&plan, 0..tree.entries, |_| Ok(()), |step| {
    ///     rows += step.columns[0].len as u64;
    ///     assert_eq!(step.columns[0].len as u64, step.entries.len());
    ///     Ok(())
    /// })?;
    /// assert!(rows > 0 && rows < tree.entries);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn read(
        &mut self,
        plan: &Plan,
        entries: impl TryInto<Selection, Error: Into<Error>>,
        mut progress: impl FnMut(Progress) -> Result<()>,
        mut take: impl FnMut(StepColumns<'_>) -> Result<()>,
    ) -> Result<()> {
        if !Arc::ptr_eq(&self.wanted, &plan.wanted) {
            return Err(Error::mismatch("the plan is of another run"));
        }
        let entries = entries.try_into().map_err(Into::into)?;
        self.find_ranges(plan, &entries, &mut progress)?;
        let routes = self.routes(plan);
        let states = self.states.as_mut().ok_or_else(|| Error::internal("a run has no results"))?;
        let mut filling = vec![Duration::ZERO; self.wanted.len()];
        let names = &self.wanted;
        plan.graph.run(&entries, &mut progress, &mut |output, piece| {
            let Some(routes) = routes.get(&output) else { return Ok(()) };
            if let Piece::Columns(columns, entries) = piece {
                return routes.iter().try_for_each(|(wanted, variation, _)| {
                    let began = Instant::now();
                    let of = states.get(*wanted).and_then(|state| state.variations.get(variation.checked_sub(1)?));
                    let variation = of.map(|(name, _)| name.as_str());
                    let columns = columns.clone();
                    let step = StepColumns { wanted: *wanted, variation, columns, entries: entries.clone() };
                    take(step).map_err(|error| refused(names.get(*wanted), &entries, error))?;
                    if let Some(time) = filling.get_mut(*wanted) {
                        *time += began.elapsed();
                    }
                    Ok(())
                });
            }
            let mut piece = Some(piece);
            for (place, (wanted, variation, role)) in routes.iter().enumerate() {
                let began = Instant::now();
                let piece = if place + 1 == routes.len() { piece.take() } else { piece.clone() };
                if let (Some(state), Some(piece)) = (states.get_mut(*wanted), piece) {
                    state.of(*variation).map_or(Ok(()), |of| of.take(*role, piece))?;
                }
                if let Some(time) = filling.get_mut(*wanted) {
                    *time += began.elapsed();
                }
            }
            Ok(())
        })?;
        self.tracing.add(&plan.measures, &plan.graph.take_measures(), &filling);
        Ok(())
    }

    /// Finds the rows of the ranges of a plan.
    fn find_ranges(
        &mut self,
        plan: &Plan,
        entries: &Selection,
        progress: &mut dyn FnMut(Progress) -> Result<()>,
    ) -> Result<()> {
        let mut met = Vec::with_capacity(plan.ranges.len());
        for keys in &plan.ranges {
            let mut known = keys.iter().map(|key| self.met.get(key).copied().unwrap_or(0));
            let first = known.next().unwrap_or(0);
            if known.any(|other| other != first) {
                let words = "a range has the same entries for several variations in this file, and had others before";
                return Err(Error::mismatch(words));
            }
            met.push(first);
        }
        plan.graph.find_ranges(entries, &mut met, progress)?;
        for (keys, met) in plan.ranges.iter().zip(met) {
            self.met.extend(keys.iter().map(|key| (*key, met)));
        }
        Ok(())
    }

    /// Variations of columns that begin with a plan, after other tables were read: numbers of what is wanted, and
    /// names. They change nothing in the tables before, so their rows there are those of the columns as they are.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::example("nano.root");
    /// use sapwood::frame::{Frame, Run, Variation};
    /// let tree = sapwood::File::open(path)?.tree("Events")?;
    /// let up = Variation { name: "up".into(), of: vec![("nJet".into(), "more".into())] };
    /// let mut run = Run::new([Frame::new().vary([up])?.columns(["nJet"])?]);
    /// let (same, other) = (run.plan(&tree, [("more", "nJet")])?, run.plan(&tree, [("more", "nJet + 1")])?);
    /// run.read(&same, 0..10, |_| Ok(()), |_| Ok(()))?;
    /// assert_eq!(run.begins(&other), [(0, "up".to_owned())]);
    /// run.read(&other, 0..10, |_| Ok(()), |_| Ok(()))?;
    /// assert!(run.begins(&other).is_empty());
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn begins(&self, plan: &Plan) -> Vec<(usize, String)> {
        let states = self.states.iter().flatten().zip(&plan.outputs).enumerate();
        let columns = states.filter(|(_, (state, _))| matches!(state.nominal, Accumulator::Columns));
        let of_result = |(number, (state, outputs)): (usize, (&State, &Varied<Outputs>))| {
            let new = outputs.variations.iter().filter(|(name, _)| !state.has(name));
            new.map(|(name, _)| (number, name.clone())).collect::<Vec<_>>()
        };
        columns.flat_map(of_result).collect()
    }

    /// The results that each output of a plan is for. Variations that begin with it are among the results then.
    fn routes(&mut self, plan: &Plan) -> HashMap<usize, Vec<Route>> {
        let states = self.states.get_or_insert_with(|| {
            let empty = plan.empty.iter().flatten().cloned();
            empty.map(|nominal| Varied { nominal, variations: Vec::new() }).collect()
        });
        let mut routes: HashMap<usize, Vec<Route>> = HashMap::new();
        for (number, (state, outputs)) in states.iter_mut().zip(&plan.outputs).enumerate() {
            // A variation that has changed nothing so far has the nominal result of earlier files.
            for (name, _) in &outputs.variations {
                if !state.has(name) {
                    state.variations.push((name.clone(), state.nominal.clone()));
                }
            }
            let mut add = |outputs: &Outputs, variation: usize| {
                for (output, role) in outputs {
                    routes.entry(*output).or_default().push((number, variation, *role));
                }
            };
            add(&outputs.nominal, 0);
            // Results that a variation does not change in this file count for it, too.
            for (place, (name, _)) in state.variations.iter().enumerate() {
                let own = outputs.variations.iter().find(|(known, _)| known == name).map(|(_, outputs)| outputs);
                add(own.unwrap_or(&outputs.nominal), place + 1);
            }
        }
        routes
    }

    /// The steps of the frames, with the entries that reached them and the time that they took so far.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::frame::{Frame, Run};
    /// let run = Run::new([Frame::new().filter("nJet > 2", "three jets")?.count()]);
    /// assert_eq!(run.diagram().steps[0].name, "three jets");
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    #[must_use]
    pub fn diagram(&self) -> &Diagram {
        &self.tracing.diagram
    }

    /// The results of what was read so far. The run goes on.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](crate::ErrorKind::Mismatch) if no file was added.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::example("nano.root");
    /// use sapwood::frame::{Frame, Run};
    /// let tree = sapwood::File::open(path)?.tree("Events")?;
    /// let mut run = Run::new([Frame::new().count()]);
    /// run.add(&tree, 0..4)?;
    /// assert_eq!(run.so_far()?[0].nominal.count()?, 4);
    /// run.add(&tree, 4..tree.entries)?;
    /// assert_eq!(run.finish()?[0].nominal.count()?, tree.entries);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn so_far(&self) -> Result<Vec<Varied>> {
        finished(self.states.clone())
    }

    /// The results, in the order in which they are wanted.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](crate::ErrorKind::Mismatch) if no file was added.
    pub fn finish(self) -> Result<Vec<Varied>> {
        finished(self.states)
    }
}

/// An error of what takes columns, with their names and entries.
fn refused(wanted: Option<&Wanted>, entries: &Selection, error: Error) -> Error {
    let of = wanted.map(|wanted| wanted.words().1).unwrap_or_default();
    let Range { start, end } = entries.span();
    let words = format!("what takes {of} failed in entries {start} to {end}: {}", error.message());
    error.in_words(words)
}

/// The results of what was gathered.
fn finished(states: Option<Vec<State>>) -> Result<Vec<Varied>> {
    let states = states.ok_or_else(|| Error::mismatch("nothing was read: the frame has no file"))?;
    let finish = |state: State| {
        let varied = state.variations.into_iter().map(|(name, of)| Ok((name, of.finish()?)));
        Ok(Varied { nominal: state.nominal.finish()?, variations: varied.collect::<Result<_>>()? })
    };
    states.into_iter().map(finish).collect()
}
