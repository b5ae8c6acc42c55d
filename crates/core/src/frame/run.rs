//! Results of frames over one file after another.

use std::collections::HashMap;

use super::accumulator::{Accumulator, Outcome, Role};
use super::compile::{Compiler, Outputs};
use super::wanted::Wanted;
use crate::error::{Error, Result};
use crate::query::{Builder, Explained, Lengths, Piece, Source};
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
    wanted: Vec<Wanted>,
    /// Of each that is wanted; none before the first file.
    states: Option<Vec<State>>,
}

/// A result as it is, and for each variation that changes it.
#[derive(Clone, Debug)]
pub struct Varied<T = Outcome> {
    /// The result for the columns as they are.
    pub nominal: T,
    /// By the names of variations, the first ones first.
    pub variations: Vec<(String, T)>,
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
        Self { wanted: wanted.into_iter().collect(), states: None }
    }

    /// Adds some entries of a table.
    ///
    /// # Errors
    ///
    /// [`NotFound`](crate::ErrorKind::NotFound) for names that the table does not have, and errors of
    /// [`Query::read`](crate::query::Query::read). Results are incomplete then.
    pub fn add(
        &mut self,
        source: impl Into<Source>,
        entries: impl TryInto<Selection, Error: Into<Error>>,
    ) -> Result<()> {
        self.add_with(source, entries, [], |_| Ok(()), |_| Ok(()))
    }

    /// Adds entries, with names of expressions that others may use. `progress` is called with the state of each read,
    /// and `take` with the columns that were asked for. An error of either ends the run.
    ///
    /// # Errors
    ///
    /// Errors of [`add`](Self::add), of `progress` and of `take`.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::example("nano.root");
    /// use sapwood::frame::{Frame, Run};
    /// let tree = sapwood::File::open(path)?.tree("Events")?;
    /// let mut run = Run::new([Frame::new().filter("busy", "")?.columns(["nJet"])?]);
    /// let mut rows = 0;
    /// run.add_with(&tree, 0..tree.entries, [("busy", "nJet > 2")], |_| Ok(()), |step| {
    ///     rows += step.columns[0].len as u64;
    ///     assert_eq!(step.columns[0].len as u64, step.entries.len());
    ///     Ok(())
    /// })?;
    /// assert!(rows > 0 && rows < tree.entries);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn add_with<'a>(
        &mut self,
        source: impl Into<Source>,
        entries: impl TryInto<Selection, Error: Into<Error>>,
        aliases: impl IntoIterator<Item = (&'a str, &'a str)>,
        mut progress: impl FnMut(Progress) -> Result<()>,
        mut take: impl FnMut(StepColumns<'_>) -> Result<()>,
    ) -> Result<()> {
        let source = source.into();
        let entries = entries.try_into().map_err(Into::into)?;
        let aliases = aliases.into_iter().map(|(name, text)| (name.to_owned(), text.to_owned())).collect();
        let mut builder = Builder::new(&source, &aliases);
        let routes = self.compile(&mut builder)?;
        let graph = builder.finish(Lengths::Same);
        let states = self.states.as_mut().ok_or_else(|| Error::internal("a run has no results"))?;
        graph.run(&entries, &mut progress, &mut |output, piece| {
            let Some(routes) = routes.get(&output) else { return Ok(()) };
            if let Piece::Columns(columns, entries) = piece {
                return routes.iter().try_for_each(|(wanted, variation, _)| {
                    let of = states.get(*wanted).and_then(|state| state.variations.get(variation.checked_sub(1)?));
                    let variation = of.map(|(name, _)| name.as_str());
                    take(StepColumns { wanted: *wanted, variation, columns: columns.clone(), entries: entries.clone() })
                });
            }
            let mut piece = Some(piece);
            for (place, (wanted, variation, role)) in routes.iter().enumerate() {
                let piece = if place + 1 == routes.len() { piece.take() } else { piece.clone() };
                if let (Some(state), Some(piece)) = (states.get_mut(*wanted), piece) {
                    state.of(*variation).map_or(Ok(()), |of| of.take(*role, piece))?;
                }
            }
            Ok(())
        })
    }

    /// Describes how a table would be read and computed.
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
    /// let run = Run::new([Frame::new().statistics("Sum$(Jet_pt)")?]);
    /// let explained = run.explain(&tree, [])?;
    /// assert_eq!(explained.columns, ["Jet_pt"]);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn explain<'a>(
        &self,
        source: impl Into<Source>,
        aliases: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Explained> {
        let source = source.into();
        let aliases = aliases.into_iter().map(|(name, text)| (name.to_owned(), text.to_owned())).collect();
        let mut builder = Builder::new(&source, &aliases);
        Self::new(self.wanted.iter().cloned()).compile(&mut builder)?;
        Ok(builder.finish(Lengths::Same).explained())
    }

    /// Puts all that is wanted into a graph.
    fn compile(&mut self, builder: &mut Builder<'_>) -> Result<HashMap<usize, Vec<Route>>> {
        let mut compiler = Compiler::new(builder);
        let mut routes: HashMap<usize, Vec<Route>> = HashMap::new();
        let mut states = Vec::new();
        for (number, wanted) in self.wanted.iter().enumerate() {
            let (nominal, varied) = compiler.wanted(wanted)?;
            let mut add = |outputs: &Outputs, variation: usize| {
                for (output, role) in outputs {
                    routes.entry(*output).or_default().push((number, variation, *role));
                }
            };
            add(&nominal, 0);
            match self.states.as_mut().and_then(|states| states.get_mut(number)) {
                None => {
                    let empty = compiler.accumulator(wanted)?;
                    varied.iter().enumerate().for_each(|(place, (_, outputs))| add(outputs, place + 1));
                    let variations = varied.into_iter().map(|(name, _)| (name, empty.clone())).collect();
                    states.push(Varied { nominal: empty, variations });
                }
                Some(state) => {
                    // A variation that has changed nothing so far has the nominal result of earlier files.
                    for (name, _) in varied.iter().filter(|(name, _)| state.lacks(name)).collect::<Vec<_>>() {
                        state.variations.push((name.clone(), state.nominal.clone()));
                    }
                    // Results that a variation does not change in this file count for it, too.
                    for (place, (name, _)) in state.variations.iter().enumerate() {
                        let own = varied.iter().find(|(known, _)| known == name).map(|(_, outputs)| outputs);
                        add(own.unwrap_or(&nominal), place + 1);
                    }
                }
            }
        }
        if self.states.is_none() {
            self.states = Some(states);
        }
        Ok(routes)
    }

    /// The results, in the order in which they are wanted.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](crate::ErrorKind::Mismatch) if no file was added.
    pub fn finish(self) -> Result<Vec<Varied>> {
        let states = self.states.ok_or_else(|| Error::mismatch("nothing was read: the frame has no file"))?;
        let finish = |state: State| {
            let varied = state.variations.into_iter().map(|(name, of)| Ok((name, of.finish()?)));
            Ok(Varied { nominal: state.nominal.finish()?, variations: varied.collect::<Result<_>>()? })
        };
        states.into_iter().map(finish).collect()
    }
}

impl State {
    fn lacks(&self, name: &str) -> bool {
        !self.variations.iter().any(|(known, _)| known == name)
    }
}
