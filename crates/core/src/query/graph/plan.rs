//! Places and outputs of a graph.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};

use super::computed::Computed;
use super::expression::Expression;
use super::looks::Looks;
use super::meter::{Measures, Meter};
use super::output::{Output, Pieces, Place, Want};
use super::range::Ranged;
use super::rowsets::RowSets;
use crate::error::{Error, ErrorKind, Place as ErrorPlace, Result};
use crate::query::align::Lengths;
use crate::query::bound::Bound;
use crate::query::defined::FIRST_COMPUTED;
use crate::query::skip::decide;
use crate::query::source::Source;
use crate::read::Selection;

/// A pass of frames over one table: columns, filters, outputs.
///
/// # Example
///
/// ```
/// # let path = sapwood_testkit::example("nano.root");
/// use sapwood::frame::{Frame, Run};
/// let tree = sapwood::File::open(path)?.tree("Events")?;
/// let busy = Frame::new().filter("nJet > 2", "")?;
/// let run = Run::new([busy.histogram(["Jet_pt"])?, busy.statistics("Sum$(Jet_pt)")?]);
/// let explained = run.plan(&tree, [])?.explained();
/// assert_eq!(explained.columns, ["nJet", "Jet_pt"]);
/// assert_eq!(explained.first, ["nJet"]);
/// assert_eq!(explained.filters, [(0, "nJet > 2".to_owned())]);
/// assert_eq!((explained.outputs, explained.shared), (2, 1));
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explained {
    /// All columns that are read.
    pub columns: Vec<String>,
    /// Columns that are read first, to find the entries for which the others are needed.
    pub first: Vec<String>,
    /// Filters as they are computed: the number of the one above (0 for all entries), and the expression. Equal ones
    /// are one, and each variation that changes one adds another.
    pub filters: Vec<(usize, String)>,
    /// Columns that functions compute.
    pub functions: Vec<String>,
    /// Different outputs: equal results are one.
    pub outputs: usize,
    /// Expressions that several others need, and that are computed once.
    pub shared: usize,
}

/// Values of one source, ready to be computed.
#[derive(Debug)]
pub(crate) struct Graph {
    pub(super) source: Source,
    pub(super) lengths: Lengths,
    /// Columns by their places in the expressions.
    pub(super) needed: Vec<usize>,
    /// Their places, and whether pointers of the columns are followed.
    pub(super) columns: Vec<(usize, bool)>,
    /// Outputs that are computed before other columns are read.
    pub(super) looks: Looks,
    /// Results of looks by their first entries, until they are handed over.
    pub(super) looked: Mutex<HashMap<u64, Vec<Pieces>>>,
    pub(super) places: Vec<Place>,
    /// Ranges, each after those above it.
    pub(super) ranges: Vec<Ranged>,
    pub(super) outputs: Vec<Output>,
    /// Columns that functions compute, each of those before.
    pub(super) computed: Vec<Computed>,
    pub(super) sets: RowSets,
    /// Values that are computed once, by the address of the expression: its number, and the set of rows that it is
    /// computed for.
    pub(super) shared: HashMap<usize, (usize, Home)>,
    /// How many of them several others need; the rest have names.
    pub(super) shared_by_several: usize,
    /// Numbers of values that have names.
    pub(super) named: HashSet<usize>,
    pub(super) meter: Meter,
    /// Expressions whose addresses count: none of them may go.
    #[expect(dead_code, reason = "keeps addresses")]
    pub(super) kept: Vec<Arc<Bound>>,
}

/// The rows that a value is computed for.
#[derive(Clone, Debug)]
pub(super) enum Home {
    /// A set of rows.
    Set(usize),
    /// The rows of each of these places: what is asked for below one of them is taken from it.
    Places(Vec<usize>),
}

impl Graph {
    /// The set of rows that a value is computed for, to be used in another set.
    pub(super) fn home(&self, home: &Home, wanted: usize) -> usize {
        match home {
            Home::Set(set) => *set,
            Home::Places(places) => {
                let below = |above: &usize| {
                    let set = self.sets.sets.get(wanted).map_or(&[][..], Vec::as_slice);
                    set.iter().all(|place| self.sets.is_below(*place, *above))
                };
                places.iter().copied().find(below).unwrap_or(wanted)
            }
        }
    }
}

impl Graph {
    /// Describes the pass.
    pub(crate) fn explained(&self) -> Explained {
        let names = |ids: Vec<usize>| ids.into_iter().filter_map(|id| self.source.name_of(id).ok()).collect();
        let range = |place: &Place| Some(format!("range {}", self.ranges.get(place.range?)?.positions.words()));
        let text = |place: &Place| place.filter.as_ref().map(|filter| filter.text.clone()).or_else(|| range(place));
        let filter = |place: &Place| Some((place.parent, text(place)?));
        Explained {
            columns: names(self.ids(&self.columns)),
            first: names(self.of_cuts().unwrap_or_default()),
            filters: self.places.iter().filter_map(filter).collect(),
            functions: self
                .computed
                .iter()
                .filter(|computed| computed.is_used)
                .map(|computed| computed.name.clone())
                .collect(),
            outputs: self.outputs.len(),
            shared: self.shared_by_several,
        }
    }

    /// Columns that a look reads, if it may spare others.
    pub(super) fn of_cuts(&self) -> Option<Vec<usize>> {
        self.looks.is_useful(&self.sets).then(|| self.ids(&self.looks.columns))
    }

    /// Rows and seconds of its parts since the last call.
    pub(crate) fn take_measures(&self) -> Measures {
        self.meter.take()
    }

    /// The entries that may pass the filters of any output, by statistics.
    pub(super) fn may_pass(&self, entries: &Selection) -> Result<Selection> {
        let mut known: HashMap<usize, Selection> = HashMap::from([(0, entries.clone())]);
        let mut all: Option<Selection> = None;
        // A function gets all entries that pass the filters before it.
        for computed in self.computed.iter().filter(|computed| computed.is_used) {
            let wanted = self.may_pass_to(computed.place, &mut known)?;
            all = Some(match all {
                None => wanted,
                Some(before) => before.and(&wanted)?,
            });
        }
        // Entries without a filter above are counted without reading.
        for output in self.outputs.iter().filter(|output| !output.counts_all()) {
            let mut wanted = self.may_pass_to(output.place, &mut known)?;
            if let (Want::Passing, Some(cut)) = (output.want, &output.weight) {
                wanted = self.decided(cut, wanted)?;
            }
            if wanted.len() == entries.len() {
                return Ok(wanted);
            }
            all = Some(match all {
                None => wanted,
                Some(before) => before.and(&wanted)?,
            });
        }
        Ok(all.unwrap_or_else(Selection::none))
    }

    /// The entries that may pass the filters down to a place, by statistics.
    pub(super) fn may_pass_down_to(&self, place: usize, entries: &Selection) -> Result<Selection> {
        self.may_pass_to(place, &mut HashMap::from([(0, entries.clone())]))
    }

    /// The entries that may pass the filters down to a place, and are in its ranges.
    fn may_pass_to(&self, place: usize, known: &mut HashMap<usize, Selection>) -> Result<Selection> {
        let mut path = Vec::new();
        let mut at = place;
        while !known.contains_key(&at) {
            path.push(at);
            at = self.places.get(at).map_or(0, |place| place.parent);
        }
        let known_entries = known.get(&at).cloned();
        let mut entries = known_entries.ok_or_else(|| Error::internal("a graph lost its entries"))?;
        for place in path.into_iter().rev() {
            let found = self.places.get(place);
            if let Some(filter) = found.and_then(|place| place.filter.as_ref()) {
                entries = self.decided(filter, entries)?;
            }
            if let Some(ranged) = found.and_then(|place| self.ranges.get(place.range?)) {
                entries = ranged.among(&entries)?;
            }
            known.insert(place, entries.clone());
        }
        Ok(entries)
    }

    /// Leaves out entries that cannot pass a cut.
    fn decided(&self, cut: &Expression, entries: Selection) -> Result<Selection> {
        match decide(&self.source, &cut.bound, &self.needed, &entries)? {
            Some(decided) => decided.wanted(),
            None => Ok(entries),
        }
    }

    /// An error with the expression that it is about.
    pub(super) fn named(&self, text: &str, error: Error) -> Error {
        match error.kind() {
            ErrorKind::Mismatch if error.place() == &ErrorPlace::default() => {
                let words = format!("in {text:?}: {}", error.message());
                self.source.place(Error::new(ErrorKind::Mismatch, words))
            }
            _ => error,
        }
    }

    /// Numbers of the columns at some places.
    pub(super) fn ids(&self, columns: &[(usize, bool)]) -> Vec<usize> {
        let ids = columns.iter().filter_map(|(place, _)| self.needed.get(*place).copied());
        ids.filter(|id| *id < FIRST_COMPUTED).collect()
    }
}
