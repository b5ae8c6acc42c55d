//! Frames: names, filters and variations, one on top of another.

use std::sync::Arc;

use super::wanted::Wanted;
use crate::error::{Error, ErrorKind, Result};
use crate::query::check_expression;

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

/// What a frame has on top of another.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) before: Frame,
    pub(super) what: What,
}

#[derive(Debug)]
pub(super) enum What {
    Define { name: String, text: String, is_again: bool },
    Filter { text: String, name: String },
    Vary(Vec<Variation>),
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
    /// All entries, and the columns that are there.
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
        if self.nodes().any(|node| matches!(&node.what, What::Define { name: known, .. } if known == name)) {
            let words = format!("{name:?} is defined already: redefine it, or choose another name");
            return Err(Error::new(ErrorKind::Expression, words));
        }
        self.named(name, text, false)
    }

    /// Gives a name that has a meaning another one, which may be computed of the old one.
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

    /// What it consists of, the top first.
    pub(super) fn nodes(&self) -> impl Iterator<Item = &Node> {
        std::iter::successors(self.0.as_deref(), |node| node.before.0.as_deref())
    }

    /// A histogram of one to three expressions, along x first.
    ///
    /// # Errors
    ///
    /// [`Expression`](crate::ErrorKind::Expression) for what cannot be understood, and
    /// [`Mismatch`](crate::ErrorKind::Mismatch) for another number of expressions.
    pub fn histogram<'t>(&self, of: impl IntoIterator<Item = &'t str>) -> Result<Wanted> {
        Wanted::histogram(self.clone(), of.into_iter().map(str::to_owned).collect())
    }

    /// How many entries there are.
    pub fn count(&self) -> Wanted {
        Wanted::count(self.clone())
    }

    /// Sum, mean, extremes and spread of an expression, over all items of lists.
    ///
    /// # Errors
    ///
    /// [`Expression`](crate::ErrorKind::Expression) for what cannot be understood.
    pub fn statistics(&self, of: &str) -> Result<Wanted> {
        Wanted::statistics(self.clone(), of)
    }

    /// The values of expressions, as columns that are handed over step by step.
    ///
    /// # Errors
    ///
    /// [`Expression`](crate::ErrorKind::Expression) for what cannot be understood.
    pub fn columns<'t>(&self, of: impl IntoIterator<Item = &'t str>) -> Result<Wanted> {
        Wanted::columns(self.clone(), of.into_iter().map(str::to_owned).collect())
    }

    /// How many entries each filter met, and how many passed it: by weight, too, if there is one.
    ///
    /// # Errors
    ///
    /// [`Expression`](crate::ErrorKind::Expression) for a weight that cannot be understood.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::example("nano.root");
    /// use sapwood::frame::{Frame, Run};
    /// let tree = sapwood::File::open(path)?.tree("Events")?;
    /// let frame = Frame::new().filter("nJet > 0", "a jet")?.filter("nJet > 2", "three jets")?;
    /// let mut run = Run::new([frame.report(None)?]);
    /// run.add(&tree, 0..tree.entries)?;
    /// let found = run.finish()?;
    /// let cuts = found[0].nominal.report()?;
    /// assert_eq!((cuts.len(), &*cuts[1].name, cuts[0].all), (2, "three jets", 10));
    /// assert_eq!(cuts[1].all, cuts[0].passed);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn report(&self, weight: Option<&str>) -> Result<Wanted> {
        Wanted::report(self.clone(), weight)
    }

    /// The names of its filters, the first one first.
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
    pub(super) fn variations(&self) -> Option<&[Variation]> {
        match &self.what {
            What::Vary(variations) => Some(variations),
            _ => None,
        }
    }
}

impl Drop for Node {
    /// One after another: thousands of frames in each other would need as many frames of the stack.
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
    let words = format!("a name has letters, digits and _, and begins with no digit, unlike {name:?}");
    Err(Error::new(ErrorKind::Expression, words))
}
