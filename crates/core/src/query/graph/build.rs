//! Graphs while they are built: expressions are bound, and equal ones found.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex};

use super::computed::{Compute, Computed, named, without_rows};
use super::expression::Expression;
use super::intern::{Interner, address};
use super::looks::Looks;
use super::meter::{Meter, Spot};
use super::output::{Output, Place, Want};
use super::plan::{Graph, Home};
use super::range::{Positions, Ranged};
use super::rowsets::RowSets;
use crate::error::{Error, ErrorKind, Result};
use crate::query::align::Lengths;
use crate::query::bind::Binder;
use crate::query::bound::{Bound, number};
use crate::query::defined::{FIRST_COMPUTED, Scope};
use crate::query::fault::fault;
use crate::query::filling::Along;
use crate::query::source::Source;

/// The error of a filter that has a list of answers.
pub(super) const ONE_ANSWER: &str = "a filter has one answer for each entry, and this has one for each item of a list: \
                                     write any(...), all(...) or Sum$(...) > 0";

/// The number of an expression: equal ones have the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ValueId(usize);

type OutputKey = (usize, Want, Vec<ValueId>, Option<ValueId>);

/// Builds a graph.
pub(crate) struct Builder<'s> {
    source: &'s Source,
    binder: Binder<'s>,
    interner: Interner,
    /// The first expression of each number.
    expressions: HashMap<ValueId, Expression>,
    places: Vec<(Place, Option<ValueId>)>,
    known_places: HashMap<(usize, ValueId), usize>,
    ranges: Vec<Ranged>,
    known_ranges: HashMap<(usize, Positions), usize>,
    outputs: Vec<Output>,
    known_outputs: HashMap<OutputKey, usize>,
    computed: Vec<Computed>,
    known_computed: HashMap<(usize, usize, Vec<ValueId>), usize>,
    /// All that was bound: addresses count, so none of it may go.
    kept: Vec<Arc<Bound>>,
}

impl<'s> Builder<'s> {
    pub(crate) fn new(source: &'s Source, aliases: &'s HashMap<String, String>) -> Self {
        Self {
            source,
            binder: Binder::new(source, aliases, Vec::new()),
            interner: Interner::default(),
            expressions: HashMap::new(),
            places: vec![(Place { parent: 0, filter: None, range: None }, None)],
            known_places: HashMap::new(),
            ranges: Vec::new(),
            known_ranges: HashMap::new(),
            outputs: Vec::new(),
            known_outputs: HashMap::new(),
            computed: Vec::new(),
            known_computed: HashMap::new(),
            kept: Vec::new(),
        }
    }

    /// A value of an expression, which sees some definitions.
    pub(crate) fn value(&mut self, scope: &Scope, text: &str) -> Result<ValueId> {
        let bound = Arc::new(self.binder.bind_in(scope, text)?);
        let id = ValueId(self.interner.number(&bound));
        self.kept.push(Arc::clone(&bound));
        self.expressions.entry(id).or_insert_with(|| Expression { text: text.to_owned(), bound });
        Ok(id)
    }

    /// The place of the rows of another place that pass a filter; the first place, 0, is all rows.
    pub(crate) fn filter(&mut self, parent: usize, scope: &Scope, text: &str) -> Result<usize> {
        let value = self.value(scope, text)?;
        if let Some(known) = self.known_places.get(&(parent, value)) {
            return Ok(*known);
        }
        let filter = self.expression(value)?;
        number(text, &filter.bound)?;
        if filter.bound.depth > 0 {
            return Err(fault(text, 0, ONE_ANSWER));
        }
        self.places.push((Place { parent, filter: Some(filter), range: None }, Some(value)));
        self.known_places.insert((parent, value), self.places.len() - 1);
        Ok(self.places.len() - 1)
    }

    /// The number of a range of the rows of another place, and the place of its rows.
    pub(crate) fn range(&mut self, parent: usize, positions: Positions) -> (usize, usize) {
        let new = self.ranges.len();
        let number = *self.known_ranges.entry((parent, positions)).or_insert(new);
        if number == new {
            self.ranges.push(Ranged::new(self.places.len(), positions));
            self.places.push((Place { parent, filter: None, range: Some(number) }, None));
        }
        (number, self.ranges.get(number).map_or(0, |ranged| ranged.place))
    }

    /// Binds the last definition of a name, whether anything uses it or not: those that see it find it bound.
    /// Returns what its measure is of; a collection or a column has none.
    pub(crate) fn bind_definition(&mut self, scope: &Scope, name: &str) -> Result<Option<Spot>> {
        let Some(bound) = self.binder.bind_definition(scope, name)? else { return Ok(None) };
        // The address of a definition's expression stays, wherever the definition is used.
        let Some(shared) = bound.held() else { return Ok(None) };
        let number = self.interner.number(shared);
        self.kept.push(Arc::new(bound));
        Ok(self.interner.nodes.get_mut(number).map(|node| {
            node.is_named = true;
            Spot::Value(number)
        }))
    }

    /// Refuses a new name that has a meaning already, and one to be changed that has none.
    pub(crate) fn check_name(&mut self, scope: &Scope, name: &str, is_known: bool) -> Result<()> {
        let has_meaning = scope.find(name).is_some() || self.binder.has_meaning(scope, name)?;
        if !is_known && has_meaning {
            let words = format!("{name:?} has a meaning already: redefine it, or choose another name");
            return Err(self.source.place(Error::new(ErrorKind::Expression, words)));
        }
        if is_known && !has_meaning {
            return Err(self.binder.unknown(name, name, 0));
        }
        Ok(())
    }

    /// The number of what is wanted at a place: the same for equal wishes.
    pub(crate) fn output(
        &mut self,
        place: usize,
        want: Want,
        values: &[ValueId],
        weight: Option<ValueId>,
    ) -> Result<usize> {
        let key = (place, want, values.to_vec(), weight);
        if let Some(known) = self.known_outputs.get(&key) {
            return Ok(*known);
        }
        let values = values.iter().map(|id| self.expression(*id)).collect::<Result<Vec<_>>>()?;
        let weight = weight.map(|id| self.expression(id)).transpose()?;
        if matches!(want, Want::Points | Want::Passing | Want::Statistics) {
            for Expression { text, bound } in values.iter().chain(&weight) {
                number(text, bound)?;
            }
        }
        for value in values.iter().chain(&weight) {
            self.check_functions(place, value)?;
        }
        self.outputs.push(Output { place, want, values, weight });
        self.known_outputs.insert(key, self.outputs.len() - 1);
        Ok(self.outputs.len() - 1)
    }

    /// The number of a column that a function computes at a place.
    pub(crate) fn computed(
        &mut self,
        place: usize,
        scope: &Scope,
        name: &str,
        inputs: &[String],
        function: &Arc<dyn Compute>,
    ) -> Result<usize> {
        let ids = inputs.iter().map(|text| self.value(scope, text)).collect::<Result<Vec<_>>>()?;
        let key = (place, Arc::as_ptr(function).addr(), ids);
        if let Some(known) = self.known_computed.get(&key) {
            return Ok(*known);
        }
        let inputs = key.2.iter().map(|id| self.expression(*id)).collect::<Result<Vec<_>>>()?;
        let empty = function.compute(without_rows(&inputs)?).map_err(|error| named(name, error))?;
        let number = self.computed.len();
        let (depth, of) = self.binder.add_computed(empty.kind.clone()).map_err(|error| named(name, error))?;
        let name = name.to_owned();
        let function = Arc::clone(function);
        self.computed.push(Computed { name, place, inputs, function, kind: empty.kind, is_used: false, depth, of });
        self.known_computed.insert(key, number);
        Ok(number)
    }

    /// Refuses a value of a function at a place above the filters below which the function is called.
    fn check_functions(&self, place: usize, value: &Expression) -> Result<()> {
        let mut columns = Vec::new();
        value.bound.columns(&mut columns);
        for column in columns {
            let number = self.binder.needed.get(column).and_then(|id| id.checked_sub(FIRST_COMPUTED));
            let Some(computed) = number.and_then(|number| self.computed.get(number)) else { continue };
            let mut at = place;
            while at != computed.place && at > 0 {
                at = self.places.get(at).map_or(0, |(place, _)| place.parent);
            }
            if at != computed.place {
                let words = format!(
                    "{:?} needs {:?} of entries for which its function is not called: define it before the filters",
                    value.text, computed.name
                );
                return Err(self.source.place(Error::new(ErrorKind::Expression, words)));
            }
        }
        Ok(())
    }

    /// Title and kind of bins of an axis along a value.
    pub(crate) fn along(&self, id: ValueId) -> Result<Along> {
        let Expression { text, bound } = self.expression(id)?;
        Ok(Along::of(&text, &bound))
    }

    fn expression(&self, id: ValueId) -> Result<Expression> {
        self.expressions.get(&id).cloned().ok_or_else(|| Error::internal("a value of a graph is unknown"))
    }

    /// The graph of all that is wanted.
    pub(crate) fn finish(self, lengths: Lengths) -> Graph {
        let Self { source, binder, interner, places, ranges, outputs, mut computed, kept, .. } = self;
        let parents = places.iter().map(|(place, _)| place.parent).collect();
        let mut sets = RowSets::new(parents);
        let used = used_places(&places, &outputs);
        let homes = Homes::of(&interner, &places, &outputs, (&mut computed, &binder.needed), &used, &mut sets);
        let columns: BTreeSet<(usize, bool)> = interner
            .nodes
            .iter()
            .zip(&homes.uses)
            .filter(|(_, uses)| !uses.places.is_empty())
            .filter_map(|(node, _)| node.column)
            .collect();
        let places: Vec<Place> = places.into_iter().map(|(place, _)| place).collect();
        let looks = Looks::new(&places, &outputs, &computed, &binder.needed, &used, &mut sets);
        let named = interner.nodes.iter().enumerate().filter(|(_, node)| node.is_named);
        let named = named.map(|(number, _)| number).collect();
        let shared = interner.by_address.iter().filter_map(|(address, number)| {
            let home = homes.of_shared.get(*number).cloned().flatten()?;
            Some((*address, (*number, home)))
        });
        Graph {
            source: source.clone(),
            lengths,
            columns: columns.into_iter().collect(),
            looks,
            looked: Mutex::default(),
            needed: binder.needed,
            places,
            ranges,
            outputs,
            computed,
            sets,
            shared: shared.collect(),
            shared_by_several: homes.shared_by_several,
            named,
            meter: Meter::default(),
            kept,
        }
    }
}

/// The places that outputs are at, and all above these.
fn used_places(places: &[(Place, Option<ValueId>)], outputs: &[Output]) -> BTreeSet<usize> {
    let mut used = BTreeSet::from([0]);
    for output in outputs {
        let mut at = output.place;
        while used.insert(at) {
            at = places.get(at).map_or(0, |(place, _)| place.parent);
        }
    }
    used
}

/// The uses of a value.
#[derive(Clone, Debug, Default)]
struct Uses {
    places: BTreeSet<usize>,
    /// By how many others, outputs and filters included.
    count: usize,
    is_in_filter: bool,
}

/// The rows for which each value is computed.
struct Homes {
    uses: Vec<Uses>,
    /// By number: the rows of a value that is computed once for several.
    of_shared: Vec<Option<Home>>,
    /// How many values several others need.
    shared_by_several: usize,
}

impl Homes {
    fn of(
        interner: &Interner,
        places: &[(Place, Option<ValueId>)],
        outputs: &[Output],
        (computed, needed): (&mut [Computed], &[usize]),
        used: &BTreeSet<usize>,
        sets: &mut RowSets,
    ) -> Self {
        let mut uses = vec![Uses::default(); interner.nodes.len()];
        let mut note = |bound: &Bound, place: usize, is_in_filter: bool| {
            let number = interner.by_address.get(&address(bound));
            if let Some(uses) = number.and_then(|number| uses.get_mut(*number)) {
                uses.places.insert(place);
                uses.count += 1;
                uses.is_in_filter |= is_in_filter;
            }
        };
        for (_, (place, _)) in places.iter().enumerate().filter(|(number, _)| used.contains(number)) {
            place.filter.iter().for_each(|filter| note(&filter.bound, place.parent, true));
        }
        for output in outputs {
            let all = output.values.iter().chain(&output.weight);
            all.for_each(|value| note(&value.bound, output.place, false));
        }
        let mut of_shared = vec![None; interner.nodes.len()];
        let mut shared_by_several = 0;
        // From what is wanted down to columns: those that need a value have larger numbers.
        for number in (0..interner.nodes.len()).rev() {
            let node = &interner.nodes[number];
            let own = uses[number].clone();
            if own.places.is_empty() {
                continue;
            }
            let is_shared = (own.count > 1 || node.is_named) && !node.is_own;
            let mut places = own.places;
            if is_shared {
                shared_by_several += usize::from(own.count > 1);
                // A value of a filter must not wait for filters of other branches, which might wait for this one.
                let home = if own.is_in_filter {
                    Home::Places(sets.outermost(&places))
                } else {
                    Home::Set(sets.union(&places))
                };
                places = match &home {
                    Home::Set(set) => sets.sets[*set].iter().copied().collect(),
                    Home::Places(places) => places.iter().copied().collect(),
                };
                of_shared[number] = Some(home);
            }
            // Inputs of a function are computed before the values that filters below it need.
            let of_function = node.column.and_then(|(place, _)| needed.get(place)?.checked_sub(FIRST_COMPUTED));
            if let Some(computed) = of_function.and_then(|number| computed.get_mut(number)) {
                computed.is_used = true;
                for input in &computed.inputs {
                    if let Some(uses) = interner.by_address.get(&address(&input.bound)).and_then(|at| uses.get_mut(*at))
                    {
                        uses.places.insert(computed.place);
                        uses.count += 1;
                        uses.is_in_filter = true;
                    }
                }
            }
            for part in &node.parts {
                let uses = &mut uses[*part];
                uses.places.extend(&places);
                // A value that each computes for itself needs its parts each time.
                uses.count += if is_shared { 1 } else { own.count };
                uses.is_in_filter |= own.is_in_filter;
            }
        }
        Self { uses, of_shared, shared_by_several }
    }
}
