//! Frames: names, filters and variations, one on top of another.

use std::fmt;
use std::sync::Arc;

use crate::error::{Error, ErrorKind, Result};
use crate::query::{Compute, Positions, check_expression};

/// Names of values, filters of entries and variations of columns, one on top of another. Cheap to clone.
///
/// # Example
///
/// ```
/// # let path = sapwood_testkit::example("nano.root");
/// use sapwood::frame::{Frame, Run};
/// use sapwood::hist::Axis;
/// let tree = sapwood::File::open(path)?.tree("Events")?;
/// let frame = Frame::new().define("ht", "Sum$(Jet_pt)")?.filter("nJet > 1", "two jets")?;
/// let ht = frame.histogram(["ht"])?.axes([Axis::regular(10, 0.0, 500.0)?])?;
/// let mut run = Run::new([ht, frame.count()]);
/// run.add(&tree, 0..tree.entries)?;
/// let results = run.finish()?;
/// assert_eq!(results[0].nominal.histogram()?.entries(), results[1].nominal.count()? as f64);
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Frame(pub(super) Option<Arc<Node>>);

/// A step from one frame to the next.
pub(super) struct Node {
    pub(super) before: Frame,
    pub(super) what: What,
}

pub(super) enum What {
    Define { name: String, text: String, is_again: bool },
    Compute { name: String, inputs: Vec<String>, function: Arc<dyn Compute>, is_again: bool },
    Filter { text: String, name: String },
    Range(Positions),
    Vary(Vec<Variation>),
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, name) = match &self.what {
            What::Define { name, .. } | What::Compute { name, .. } => ("define", name.as_str()),
            What::Filter { text, .. } => ("filter", text.as_str()),
            What::Range(_) => ("range", ""),
            What::Vary(_) => ("vary", ""),
        };
        f.debug_struct("Node").field(what, &name).field("before", &self.before).finish()
    }
}

/// Columns as they would be if something were otherwise: one of the variations of [`Frame::vary`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variation {
    /// Its name, such as `jes:up`.
    pub name: String,
    /// Names of columns or values, and expressions that stand in their place.
    pub of: Vec<(String, String)>,
}

impl Frame {
    /// A frame of all entries and all columns.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn on_top(&self, what: What) -> Self {
        Self(Some(Arc::new(Node { before: self.clone(), what })))
    }

    /// Names the value of an expression.
    ///
    /// # Errors
    ///
    /// [`Expression`](crate::ErrorKind::Expression) for what cannot be understood, and for a name that has a meaning
    /// already. Whether a column has that name is checked when the first file is known.
    pub fn define(&self, name: &str, text: &str) -> Result<Self> {
        self.check_new(name)?;
        self.named(name, text, false)
    }

    fn check_new(&self, name: &str) -> Result<()> {
        let has_it = |node: &Node| match &node.what {
            What::Define { name: known, .. } | What::Compute { name: known, .. } => known == name,
            _ => false,
        };
        if !self.nodes().any(has_it) {
            return Ok(());
        }
        let words = format!("{name:?} is defined already: redefine it, or choose another name");
        Err(Error::new(ErrorKind::Expression, words))
    }

    /// Names what a function computes of the values of some expressions. It is called once for each step, with the rows
    /// that pass the filters so far, and without rows first. `is_again` allows a name that has a meaning already.
    ///
    /// # Errors
    ///
    /// As [`define`](Self::define).
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::example("nano.root");
    /// use std::sync::Arc;
    /// use sapwood::frame::{Frame, Run};
    /// use sapwood::query::Compute;
    /// use sapwood::read::Column;
    /// struct Doubled;
    /// impl Compute for Doubled {
    ///     fn compute(&self, inputs: Vec<Column>) -> sapwood::Result<Column> {
    ///         let doubled: Vec<f64> = inputs[0].numbers::<f64>()?.iter().map(|value| 2.0 * value).collect();
    ///         Ok(Column::from_numbers(&doubled))
    ///     }
    /// }
    /// let tree = sapwood::File::open(path)?.tree("Events")?;
    /// let busy = Frame::new().filter("nJet > 1", "")?;
    /// let frame = busy.compute("twice", ["double(nJet)"], Arc::new(Doubled), false)?;
    /// let mut run = Run::new([frame.statistics("twice")?, frame.statistics("nJet")?]);
    /// run.add(&tree, 0..tree.entries)?;
    /// let found = run.finish()?;
    /// assert_eq!(found[0].nominal.statistics()?.sum(), 2.0 * found[1].nominal.statistics()?.sum());
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn compute<'t>(
        &self,
        name: &str,
        inputs: impl IntoIterator<Item = &'t str>,
        function: Arc<dyn Compute>,
        is_again: bool,
    ) -> Result<Self> {
        check_name(name)?;
        if !is_again {
            self.check_new(name)?;
        }
        let inputs: Vec<String> = inputs.into_iter().map(str::to_owned).collect();
        inputs.iter().try_for_each(|text| check_expression(text))?;
        Ok(self.on_top(What::Compute { name: name.to_owned(), inputs, function, is_again }))
    }

    /// Changes the meaning of a name. The new one may be computed of the old one.
    ///
    /// # Errors
    ///
    /// [`Expression`](crate::ErrorKind::Expression) for what cannot be understood.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::example("nano.root");
    /// use sapwood::frame::{Frame, Run};
    /// let tree = sapwood::File::open(path)?.tree("Events")?;
    /// let frame = Frame::new().redefine("Jet_pt", "Jet_pt * 1.1")?;
    /// let mut run = Run::new([frame.statistics("Jet_pt")?, Frame::new().statistics("Jet_pt")?]);
    /// run.add(&tree, 0..tree.entries)?;
    /// let found = run.finish()?;
    /// assert!(found[0].nominal.statistics()?.sum() > found[1].nominal.statistics()?.sum());
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn redefine(&self, name: &str, text: &str) -> Result<Self> {
        self.named(name, text, true)
    }

    fn named(&self, name: &str, text: &str, is_again: bool) -> Result<Self> {
        check_name(name)?;
        check_expression(text)?;
        Ok(self.on_top(What::Define { name: name.to_owned(), text: text.to_owned(), is_again }))
    }

    /// Keeps the entries for which an expression is true. Filters have names in reports.
    ///
    /// # Errors
    ///
    /// [`Expression`](crate::ErrorKind::Expression) for what cannot be understood.
    pub fn filter(&self, text: &str, name: &str) -> Result<Self> {
        check_expression(text)?;
        Ok(self.on_top(What::Filter { text: text.to_owned(), name: name.to_owned() }))
    }

    /// Keeps the entries `start`, `start + step` and so on, before `stop`, of those that pass the filters so far. They
    /// are counted from the first file on. Columns of filters above are read twice, up to the last of these entries.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](crate::ErrorKind::Mismatch) for a step of 0, and for a `stop` before `start`.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::example("nano.root");
    /// use sapwood::frame::{Frame, Run};
    /// let tree = sapwood::File::open(path)?.tree("Events")?;
    /// let some = Frame::new().filter("nJet > 0", "")?.range(1, Some(5), 2)?;
    /// let mut run = Run::new([some.count()]);
    /// run.add(&tree, 0..tree.entries)?;
    /// assert_eq!(run.finish()?[0].nominal.count()?, 2);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn range(&self, start: u64, stop: Option<u64>, step: u64) -> Result<Self> {
        if step == 0 {
            return Err(Error::mismatch("the step of a range is at least 1"));
        }
        if let Some(stop) = stop.filter(|stop| *stop < start) {
            return Err(Error::mismatch("a range ends before it starts").wanted(start, stop));
        }
        Ok(self.on_top(What::Range(Positions { start, stop, step })))
    }

    /// Varies columns or values: all that is computed of them further down is wanted as it is and for each variation.
    ///
    /// # Errors
    ///
    /// [`Expression`](crate::ErrorKind::Expression) for what cannot be understood, and for a variation of a name that
    /// another one has.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::example("nano.root");
    /// use sapwood::frame::{Frame, Run, Variation};
    /// let tree = sapwood::File::open(path)?.tree("Events")?;
    /// let up = Variation { name: "jes:up".into(), of: vec![("Jet_pt".into(), "Jet_pt * 2".into())] };
    /// let frame = Frame::new().vary([up])?.define("ht", "Sum$(Jet_pt)")?;
    /// let mut run = Run::new([frame.statistics("ht")?]);
    /// run.add(&tree, 0..tree.entries)?;
    /// let ht = run.finish()?.remove(0);
    /// let (name, up) = &ht.variations[0];
    /// assert_eq!(name, "jes:up");
    /// assert_eq!(up.statistics()?.sum(), 2.0 * ht.nominal.statistics()?.sum());
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn vary(&self, variations: impl IntoIterator<Item = Variation>) -> Result<Self> {
        let variations: Vec<Variation> = variations.into_iter().collect();
        for (place, variation) in variations.iter().enumerate() {
            let mut known = self.variations().into_iter().chain(variations[..place].iter().map(|one| &*one.name));
            if known.any(|known| known == variation.name) {
                let words = format!("there is a variation {:?} already", variation.name);
                return Err(Error::new(ErrorKind::Expression, words));
            }
            for (name, text) in &variation.of {
                check_name(name)?;
                check_expression(text)?;
            }
        }
        Ok(self.on_top(What::Vary(variations)))
    }

    /// The names of all variations, the first ones first.
    pub(super) fn variations(&self) -> Vec<&str> {
        let mut of_nodes: Vec<&[Variation]> = self.nodes().filter_map(Node::variations).collect();
        of_nodes.reverse();
        of_nodes.into_iter().flatten().map(|variation| &*variation.name).collect()
    }

    /// Its nodes, the top first.
    pub(super) fn nodes(&self) -> impl Iterator<Item = &Node> {
        std::iter::successors(self.0.as_deref(), |node| node.before.0.as_deref())
    }

    /// The frame that it is on top of; itself, if it is on top of none.
    pub(super) fn before(&self) -> Self {
        self.0.as_ref().map_or_else(Self::new, |node| node.before.clone())
    }

    /// Its filters, each as the frame that it makes, with its name; the first one first.
    pub(super) fn filters(&self) -> Vec<(Self, &str)> {
        let mut at = self;
        let mut found = Vec::new();
        while let Some(node) = &at.0 {
            if let What::Filter { text, name } = &node.what {
                found.push((at.clone(), if name.is_empty() { text.as_str() } else { name.as_str() }));
            }
            at = &node.before;
        }
        found.reverse();
        found
    }
}

impl Node {
    /// Tells it from all others, as long as it is held.
    pub(super) fn address(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    pub(super) fn variations(&self) -> Option<&[Variation]> {
        match &self.what {
            What::Vary(variations) => Some(variations),
            _ => None,
        }
    }
}

impl Drop for Node {
    /// Drops one after another: thousands of frames in each other would overflow the stack.
    fn drop(&mut self) {
        let mut before = self.before.0.take();
        while let Some(mut node) = before.and_then(Arc::into_inner) {
            before = node.before.0.take();
        }
    }
}

/// Refuses what could not be written in an expression.
fn check_name(name: &str) -> Result<()> {
    let mut characters = name.chars();
    let is_name = characters.next().is_some_and(|first| first.is_alphabetic() || first == '_')
        && characters.all(|one| one.is_alphanumeric() || one == '_');
    if is_name {
        return Ok(());
    }
    let member = name.replace('.', "_");
    let near = if member == name { String::new() } else { format!(": {member:?} may be the name of the column") };
    let words = format!("a name has letters, digits and _, and begins with no digit, unlike {name:?}{near}");
    Err(Error::new(ErrorKind::Expression, words))
}
