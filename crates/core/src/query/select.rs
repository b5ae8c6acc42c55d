//! Queries: values and a cut, bound to a source, and how they are read.

use std::collections::{HashMap, HashSet};

use super::align::Lengths;
use super::bind::Binder;
use super::bound::{Bound, number};
use super::evaluate::Rows;
use super::load::column;
use super::parse::parse;
use super::skip::{Decided, decide};
use super::source::Source;
use super::step::{STEP_BYTES, Step};
use super::value::{Data, Value};
use crate::column::Number;
use crate::error::{Error, ErrorKind, Place, Result};
use crate::read::{Column, Progress, Selection};
use crate::tree::Stepping;

/// Columns of a cut up to this size are read at once, and used again for the values; larger ones step by step.
const KEPT_BYTES: u64 = 256 << 20;
/// Values of expressions, for the entries that pass a cut.
///
/// # Example
///
/// ```
/// # let path = sapwood_testkit::example("nano.root");
/// use sapwood::query::Query;
/// let tree = sapwood::File::open(path)?.tree("Events")?;
/// let query = Query::new(&tree).value("nJet * 2")?.value("Jet_pt[Jet_pt > 30]")?.cut("nJet > 2")?;
/// let found = query.read(0..tree.entries)?;
/// assert_eq!(found.columns[0].numbers::<i64>()?.iter().min(), Some(&6));
/// assert_eq!(found.columns[1].kind.to_string(), "var * float32");
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Query {
    pub(super) source: Source,
    pub(super) aliases: HashMap<String, String>,
    pub(super) values: Vec<Named>,
    pub(super) cut: Option<Named>,
    /// Columns that are read as they are.
    pub(super) plain: Vec<usize>,
    /// Columns by their places in the expressions.
    pub(super) needed: Vec<usize>,
    pub(super) lengths: Lengths,
}

/// An expression, as written and as computed.
#[derive(Clone, Debug)]
pub(super) struct Named {
    pub(super) text: String,
    pub(super) bound: Bound,
    /// Whether only that it is true counts: what is absent is not.
    pub(super) is_condition: bool,
}

/// What a query found.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The entries that passed the cut, a row each.
    pub entries: Selection,
    /// A column for each value, in the order in which they were asked for.
    pub columns: Vec<Column>,
    /// The columns that were asked for as they are.
    pub plain: Vec<Column>,
}

impl Query {
    /// A query without values and without a cut.
    pub fn new(source: impl Into<Source>) -> Self {
        Self {
            source: source.into(),
            aliases: HashMap::new(),
            values: Vec::new(),
            cut: None,
            plain: Vec::new(),
            needed: Vec::new(),
            lengths: Lengths::default(),
        }
    }

    /// Names of expressions that others may use. Those of the tree itself (`TTree::SetAlias`) need not be given.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::example("nano.root");
    /// use sapwood::query::Query;
    /// let tree = sapwood::File::open(path)?.tree("Events")?;
    /// let query = Query::new(&tree).aliases([("ht", "Sum$(Jet_pt)")]).value("ht / 2")?;
    /// assert_eq!(query.read(0..3)?.columns[0].len, 3);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    #[must_use]
    pub fn aliases<'a>(mut self, aliases: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        self.aliases.extend(aliases.into_iter().map(|(name, meaning)| (name.to_owned(), meaning.to_owned())));
        self
    }

    /// What happens where lists of different lengths are computed with each other.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::example("nano.root");
    /// use sapwood::query::{Lengths, Query};
    /// let tree = sapwood::File::open(path)?.tree("Events")?;
    /// let text = "Jet_pt + Jet_pt[:, 1:]";
    /// assert!(Query::new(&tree).value(text)?.read(0..10).is_err());
    /// assert!(Query::new(&tree).lengths(Lengths::Shortest).value(text)?.read(0..10).is_ok());
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    #[must_use]
    pub fn lengths(mut self, lengths: Lengths) -> Self {
        self.lengths = lengths;
        self
    }

    /// Adds a value.
    ///
    /// # Errors
    ///
    /// [`Expression`](crate::ErrorKind::Expression) for what cannot be understood, at which character;
    /// [`NotFound`](crate::ErrorKind::NotFound) for names that the source does not have, with those near to them.
    pub fn value(mut self, text: &str) -> Result<Self> {
        let bound = self.bind(text)?;
        self.values.push(Named { text: text.to_owned(), bound, is_condition: false });
        Ok(self)
    }

    /// Adds a truth value: where an expression is true. What has no value is not: an item that is absent, or whole
    /// numbers that are divided by zero.
    ///
    /// # Errors
    ///
    /// Those of [`value`](Self::value), and for texts.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::example("nano.root");
    /// use sapwood::query::Query;
    /// let tree = sapwood::File::open(path)?.tree("Events")?;
    /// let found = Query::new(&tree).condition("10 % nJet > 1")?.read(0..10)?;
    /// assert_eq!(found.columns[0].numbers::<bool>()?.len(), 10);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn condition(mut self, text: &str) -> Result<Self> {
        let bound = self.bind(text)?;
        number(text, &bound)?;
        self.values.push(Named { text: text.to_owned(), bound, is_condition: true });
        Ok(self)
    }

    /// Adds a column as it is, by the number of its branch or field.
    #[must_use]
    pub fn column(mut self, id: usize) -> Self {
        self.plain.push(id);
        self
    }

    /// Keeps only entries for which an expression is true. A list counts as true if any item is.
    ///
    /// # Errors
    ///
    /// As [`value`](Self::value).
    pub fn cut(mut self, text: &str) -> Result<Self> {
        let bound = self.bind(text)?;
        number(text, &bound)?;
        self.cut = Some(Named { text: text.to_owned(), bound, is_condition: true });
        Ok(self)
    }

    /// Levels of lists of the cut; none without a cut.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::example("nano.root");
    /// use sapwood::query::Query;
    /// let tree = sapwood::File::open(path)?.tree("Events")?;
    /// assert_eq!(Query::new(&tree).cut("Jet_pt > 30")?.cut_depth(), Some(1));
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn cut_depth(&self) -> Option<usize> {
        self.cut.as_ref().map(|cut| cut.bound.depth)
    }

    fn bind(&mut self, text: &str) -> Result<Bound> {
        let expr = parse(text)?;
        let mut binder = Binder::new(&self.source, &self.aliases, std::mem::take(&mut self.needed));
        let bound = binder.bind(text, &expr);
        self.needed = binder.needed;
        bound
    }

    /// Numbers of the branches or fields that the expressions need, each once.
    /// Those of friends are not among them.
    pub fn needed(&self) -> Vec<usize> {
        self.needed.iter().copied().filter(|&id| self.source.is_own(id)).collect()
    }

    /// Reads some entries: what the cut needs first, and everything else for the entries that pass.
    ///
    /// # Errors
    ///
    /// What reading reports; [`Mismatch`](crate::ErrorKind::Mismatch), with the entry, where items lack, lists differ
    /// in length or whole numbers are divided by zero.
    pub fn read(&self, entries: impl TryInto<Selection, Error: Into<Error>>) -> Result<Answer> {
        self.read_with(entries, |_| Ok(()))
    }

    /// The same, and says how far it is. An error of `progress` ends the read.
    ///
    /// # Errors
    ///
    /// As [`read`](Self::read), and what `progress` returns.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::example("nano.root");
    /// use sapwood::query::Query;
    /// let tree = sapwood::File::open(path)?.tree("Events")?;
    /// let mut bytes = 0;
    /// let query = Query::new(&tree).value("sqrt(nJet)")?;
    /// query.read_with(0..10, |progress| Ok(bytes = progress.done_bytes))?;
    /// assert!(bytes > 0 && query.needed().len() == 1);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn read_with(
        &self,
        entries: impl TryInto<Selection, Error: Into<Error>>,
        mut progress: impl FnMut(Progress) -> Result<()>,
    ) -> Result<Answer> {
        let entries: Selection = entries.try_into().map_err(Into::into)?;
        let (entries, cut) = self.skipped(entries, &mut progress)?;
        let mut step = Step::new(&self.source, entries);
        if let Some(cut) = cut
            && self.source.bytes(&self.ids_of([&cut.bound]), &step.entries) > KEPT_BYTES
        {
            // Too much to be kept for what the values need of it.
            step.entries = self.computed(step.entries, &mut progress)?;
        } else if let Some(cut) = cut {
            step.read(&self.ids_of([&cut.bound]), &mut progress)?;
            let passing = step.passing(&self.mask(cut, &step)?)?;
            step.narrow(passing)?;
        }
        let mut ids = self.ids_of(self.values.iter().map(|value| &value.bound));
        ids.extend(&self.plain);
        step.read(&ids, &mut progress)?;
        let plain = self.plain.iter().map(|&id| step.column(id)).collect::<Result<_>>()?;
        let columns = self.values.iter().map(|value| self.compute(value, &step)).collect::<Result<_>>()?;
        Ok(Answer { columns, plain, entries: step.entries })
    }

    /// The entries that pass the cut: all of them without one. The columns of the cut are read step by step.
    ///
    /// # Errors
    ///
    /// As [`read`](Self::read).
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::example("nano.root");
    /// use sapwood::query::Query;
    /// let tree = sapwood::File::open(path)?.tree("Events")?;
    /// let found = Query::new(&tree).cut("nJet > 2")?.passing(0..tree.entries)?;
    /// assert!(!found.is_empty() && found.len() < tree.entries);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn passing(&self, entries: impl TryInto<Selection, Error: Into<Error>>) -> Result<Selection> {
        self.passing_with(entries.try_into().map_err(Into::into)?, &mut |_| Ok(()))
    }

    /// Begins an iteration of its tree or RNTuple and of their friends: as long as the answer lives, reads carry over
    /// what they cut.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::example("nano.root");
    /// use sapwood::query::Query;
    /// let tree = sapwood::File::open(path)?.tree("Events")?;
    /// let query = Query::new(&tree).value("nJet")?;
    /// let stepping = query.stepping();
    /// let rows = [0..4, 4..10].map(|step| query.read(step).map(|read| read.columns[0].len));
    /// drop(stepping);
    /// assert_eq!(rows.into_iter().sum::<sapwood::Result<usize>>()?, 10);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn stepping(&self) -> Stepping {
        self.source.stepping()
    }

    /// Decides on entries by statistics alone, without reading any; none without statistics for this cut.
    ///
    /// # Errors
    ///
    /// As [`Selection::of_ranges`].
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::example("nano.root");
    /// use sapwood::query::Query;
    /// let tree = sapwood::File::open(path)?.tree("Events")?;
    /// let query = Query::new(&tree).cut("nJet > 2")?;
    /// assert!(query.decided(0..10)?.is_none(), "this file has no statistics");
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn decided(&self, entries: impl TryInto<Selection, Error: Into<Error>>) -> Result<Option<Decided>> {
        self.decided_of(&entries.try_into().map_err(Into::into)?)
    }

    pub(super) fn decided_of(&self, entries: &Selection) -> Result<Option<Decided>> {
        self.cut.as_ref().map_or(Ok(None), |cut| decide(&self.source, &cut.bound, &self.needed, entries))
    }

    /// The entries that may pass, and the cut, if it has to be computed for them.
    fn skipped(
        &self,
        entries: Selection,
        progress: &mut dyn FnMut(Progress) -> Result<()>,
    ) -> Result<(Selection, Option<&Named>)> {
        let Some(decided) = self.decided_of(&entries)? else { return Ok((entries, self.cut.as_ref())) };
        if decided.look.is_empty() {
            return Ok((decided.all, None));
        }
        if decided.all.len() < decided.look.len() {
            return Ok((decided.wanted()?, self.cut.as_ref()));
        }
        // Most entries pass without a look: only the others are looked at.
        let looked = self.computed(decided.look, progress)?;
        Ok((decided.all.and(&looked)?, None))
    }

    fn passing_with(&self, entries: Selection, progress: &mut dyn FnMut(Progress) -> Result<()>) -> Result<Selection> {
        match self.decided_of(&entries)? {
            None => self.computed(entries, progress),
            Some(decided) => decided.all.and(&self.computed(decided.look, progress)?),
        }
    }

    /// The entries that pass, found by computing the cut for all of them.
    fn computed(&self, entries: Selection, progress: &mut dyn FnMut(Progress) -> Result<()>) -> Result<Selection> {
        let Some(cut) = &self.cut else { return Ok(entries) };
        let ids = self.ids_of([&cut.bound]);
        let mut ranges = Vec::new();
        let _stepping = self.source.stepping();
        for part in self.source.steps(&ids, &entries, STEP_BYTES, self.source.threads() == 1)? {
            let mut step = Step::new(&self.source, part);
            step.read(&ids, progress)?;
            ranges.extend(step.passing(&self.mask(cut, &step)?)?.ranges());
        }
        Selection::of_ranges(ranges)
    }

    /// Numbers of the columns that some values need.
    pub(super) fn ids_of<'b>(&self, of: impl IntoIterator<Item = &'b Bound>) -> Vec<usize> {
        let mut places = Vec::new();
        of.into_iter().for_each(|bound| bound.columns(&mut places));
        let mut met = HashSet::with_capacity(places.len());
        places.retain(|&place| met.insert(place));
        places.into_iter().filter_map(|place| self.needed.get(place).copied()).collect()
    }

    /// Computes something for parts of the rows of a step, and takes it in their order.
    pub(super) fn each_part<T: Send>(
        &self,
        step: &Step<'_>,
        of: &[&Bound],
        compute: impl Fn(&Rows<'_>) -> Result<T> + Sync,
        take: impl FnMut(T) -> Result<()>,
    ) -> Result<()> {
        step.each_part(&self.needed, self.lengths, of, compute, take)
    }

    /// Which rows pass the cut.
    pub(super) fn mask(&self, cut: &Named, step: &Step<'_>) -> Result<Vec<bool>> {
        let mut all = Vec::with_capacity(step.entries.len() as usize);
        let compute = |rows: &Rows<'_>| {
            let value = rows.alone(&cut.bound)?.spread()?;
            let Data::Numbers(numbers) = &value.data else { return Err(super::fault::no_number()) };
            let is_true = numbers.as_bool()?;
            let passes = |item: usize| is_true[item] && value.is_there(item);
            if value.depth() == 0 && value.present.is_none() {
                return Ok(is_true.into_owned());
            }
            if value.depth() == 0 {
                return Ok((0..is_true.len()).map(passes).collect::<Vec<bool>>());
            }
            let mut start = 0;
            let any = value.frame.row_items()?.into_iter().map(|items| {
                start += items;
                match &value.present {
                    None => is_true[start - items..start].contains(&true),
                    Some(_) => (start - items..start).any(passes),
                }
            });
            Ok(any.collect())
        };
        let take = |mask: Vec<bool>| {
            all.extend(mask);
            Ok(())
        };
        self.each_part(step, &[&cut.bound], compute, take).map_err(|error| self.place(&cut.text, error))?;
        Ok(all)
    }

    /// The column of a value.
    fn compute(&self, value: &Named, step: &Step<'_>) -> Result<Column> {
        let Named { text, bound, is_condition } = value;
        let may_lack = bound.may_lack();
        let mut parts = Vec::new();
        let compute = |rows: &Rows<'_>| {
            let value = rows.alone(bound)?.spread()?;
            if value.depth() != bound.depth {
                let words = "Iteration$ and what depends on it has as many values as its loop has turns: multiply it \
                             with the list that is looped over, or draw it";
                return Err(Error::mismatch(words));
            }
            if *is_condition {
                return value.truth();
            }
            if !may_lack
                && let Some(lacks) = value.present.as_ref().and_then(|present| present.iter().position(|there| !there))
            {
                return Err(lacking(rows, &value, lacks)?);
            }
            Ok(value)
        };
        let take = |part| {
            parts.push(part);
            Ok(())
        };
        self.each_part(step, &[bound], compute, take).map_err(|error| self.place(text, error))?;
        match is_condition {
            true => column(&parts, bound.depth, Some(Number::Bool), false),
            false => column(&parts, bound.depth, bound.number(), may_lack),
        }
    }

    /// An error with the expression that it is about.
    pub(super) fn place(&self, text: &str, error: Error) -> Error {
        match error.kind() {
            ErrorKind::Mismatch if error.place() == &Place::default() => {
                let words = format!("in {text:?}: {}", error.message());
                self.source.place(Error::new(ErrorKind::Mismatch, words))
            }
            _ => error,
        }
    }
}

/// An item that an entry lacks.
pub(super) fn lacking(rows: &Rows<'_>, value: &Value, item: usize) -> Result<Error> {
    let mut end = 0;
    let counts = value.frame.row_items()?;
    let row = counts.iter().position(|count| {
        end += count;
        end > item
    });
    let entry = row.and_then(|row| rows.entries.entry((rows.rows.start + row) as u64));
    let entry = entry.map_or_else(String::new, |entry| format!(" {entry}"));
    Ok(Error::mismatch(format!(
        "entry{entry} has no value here: it has too few items, divides a whole number by zero, or a friend has no \
         entry for it. Take a slice, as in [:, :1], cut such entries away, or say what stands in for them with \
         Alt$(v[0], 0)"
    )))
}
