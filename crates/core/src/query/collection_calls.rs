//! Functions of collections: `pairs(Muon)`, `sorted(Jet, -Jet.btag)`, `mass(...)`, `len(Jet)`.

use std::sync::Arc;

use super::bind::Binder;
use super::bound::{Bound, Op, computed, number};
use super::collection::{Base, Called, Collection, OF_COLLECTIONS, Reached, Tuple, order, sizes};
use super::fault::fault;
use super::joint::{How, Joint};
use super::number::Wide;
use super::special::special;
use super::syntax::Expr;
use super::value::Of;
use super::vector::{Quantity, delta_phi, delta_r};
use crate::error::Result;

impl Binder<'_> {
    /// Binds the arguments of a call, or the call if it is about collections.
    pub(super) fn called(&mut self, text: &str, expr: &Expr, name: &str, of: &[Expr]) -> Result<Called> {
        let at = expr.span.start;
        if OF_COLLECTIONS.contains(&name) {
            return self.function(text, expr, name, of).map(Called::Done);
        }
        if let ([one], "Length$" | "len" | "count" | "num" | "first" | "last") = (of, name) {
            return Ok(match self.argument(text, one)? {
                Reached::Value(bound) => Called::Arguments(vec![bound]),
                Reached::Objects(of) if matches!(name, "first" | "last") => {
                    return Err(self.is_collection(text, &of, at));
                }
                Reached::Objects(of) if name == "Length$" => {
                    let of = Box::new(self.lists_of(&of, at)?);
                    Called::Done(Bound { op: Op::Count(of), at, depth: 0, of: computed(Wide::I64), in_loop: false })
                }
                Reached::Objects(of) => Called::Done(self.size_of(text, &of, at)?),
            });
        }
        of.iter().map(|argument| self.bind(text, argument)).collect::<Result<_>>().map(Called::Arguments)
    }

    /// How many objects a collection has, for `@Jet` and `Jet.size()`; nothing for what is not one.
    pub(super) fn sized(&mut self, text: &str, of: &Expr, at: usize) -> Result<Option<Bound>> {
        Ok(match self.reach(text, of)? {
            Some(Reached::Objects(of)) => Some(self.size_of(text, &of, at)?),
            _ => None,
        })
    }

    fn size_of(&mut self, text: &str, of: &Arc<Collection>, at: usize) -> Result<Bound> {
        let level = of.depth().checked_sub(1).ok_or_else(|| fault(text, at, "this is one object: it has no size"))?;
        Ok(sizes(self.lists_of(of, at)?, level))
    }

    /// Binds an argument of a function: a value or a collection.
    fn argument(&mut self, text: &str, expr: &Expr) -> Result<Reached> {
        match self.reach(text, expr)? {
            Some(reached) => Ok(reached),
            None => self.bind(text, expr).map(Reached::Value),
        }
    }

    /// A collection as an argument of a function.
    fn objects(&mut self, text: &str, name: &str, expr: &Expr) -> Result<Arc<Collection>> {
        match self.argument(text, expr)? {
            Reached::Objects(of) => Ok(of),
            Reached::Value(_) => {
                let hint = match name {
                    "pairs" => "; of a list of numbers, pair_first() and pair_second() are the sides of all pairs",
                    _ => "",
                };
                Err(fault(text, expr.span.start, format!("{name}() takes collections, and this is a value{hint}")))
            }
        }
    }

    /// The collection that a call makes; nothing for other calls.
    pub(super) fn objects_of_call(
        &mut self,
        text: &str,
        expr: &Expr,
        name: &str,
        of: &[Expr],
    ) -> Result<Option<Reached>> {
        let at = expr.span.start;
        let arity = |count: usize| {
            if of.len() == count {
                return Ok(());
            }
            Err(fault(text, at, format!("{name}() takes {count} values, not {}", of.len())))
        };
        match name {
            "pairs" | "triples" => {
                arity(1)?;
                let objects = self.objects(text, name, &of[0])?;
                let how = How::Sets(if name == "pairs" { 2 } else { 3 });
                self.is_listed(text, name, &objects, of[0].span.start, usize::MAX)?;
                self.made(Collection::Tuple(Arc::new(Tuple { how, of: vec![objects], lists: Vec::new() })))
                    .map(Reached::Objects)
                    .map(Some)
            }
            "cross" | "each" => {
                arity(2)?;
                let mut objects = Vec::with_capacity(2);
                let mut lists = Vec::with_capacity(2);
                for expr in of {
                    let one = self.objects(text, name, expr)?;
                    self.is_listed(text, name, &one, expr.span.start, 1)?;
                    lists.push(self.lists_of(&one, at)?.shared());
                    objects.push(one);
                }
                let how = if name == "cross" { How::Cross } else { How::Each };
                self.made(Collection::Tuple(Arc::new(Tuple { how, of: objects, lists })))
                    .map(Reached::Objects)
                    .map(Some)
            }
            "concat" => {
                let mut objects = Vec::with_capacity(of.len());
                for expr in of {
                    let one = self.objects(text, name, expr)?;
                    self.is_listed(text, name, &one, expr.span.start, 1)?;
                    if one.is_tuple() {
                        return Err(fault(text, expr.span.start, "concat() joins objects, and these are combinations"));
                    }
                    objects.push(one);
                }
                if objects.len() < 2 {
                    return Err(fault(text, at, "concat() takes two collections or more"));
                }
                self.made(Collection::Joined(objects)).map(Reached::Objects).map(Some)
            }
            "sorted" => {
                arity(2)?;
                let objects = self.objects(text, name, &of[0])?;
                self.is_listed(text, name, &objects, of[0].span.start, usize::MAX)?;
                let key = self.bind(text, &of[1])?;
                number(text, &key)?;
                if key.depth != objects.depth() {
                    let words = format!("sorted() takes a number for each object, as -{}.pt", objects.name());
                    return Err(fault(text, of[1].span.start, words));
                }
                let level = key.depth - 1;
                let by = self.checked(order(key))?.shared();
                self.made(Collection::PickedBy { of: objects, level, by, may_lack: false })
                    .map(Reached::Objects)
                    .map(Some)
            }
            "first" | "last" => {
                arity(1)?;
                match self.argument(text, &of[0])? {
                    Reached::Value(bound) => Ok(special(text, name, at, &[bound])?.map(Reached::Value)),
                    Reached::Objects(of) => {
                        let level = of.depth().checked_sub(1);
                        let level = level.ok_or_else(|| fault(text, at, "this is one object of an entry"))?;
                        let item = if name == "first" { 0 } else { -1 };
                        self.made(Collection::Picked { of, level, item, from_end: true })
                            .map(Reached::Objects)
                            .map(Some)
                    }
                }
            }
            _ => Ok(None),
        }
    }

    /// Refuses single objects, and lists that are too deep.
    fn is_listed(&self, text: &str, name: &str, of: &Collection, at: usize, most: usize) -> Result<()> {
        match of.depth() {
            0 => Err(fault(text, at, format!("{name}() takes lists of objects, and this is one object of an entry"))),
            depth if depth > most => Err(fault(
                text,
                at,
                format!("{name}() takes one list of objects an entry, and these are lists of lists"),
            )),
            _ => Ok(()),
        }
    }

    /// A function of collections.
    fn function(&mut self, text: &str, expr: &Expr, name: &str, of: &[Expr]) -> Result<Bound> {
        let at = expr.span.start;
        if let Some(Reached::Objects(of)) = self.objects_of_call(text, expr, name, of)? {
            return Err(self.is_collection(text, &of, at));
        }
        if let Some(quantity) = Quantity::of_name(name) {
            let objects = of.iter().map(|of| self.objects(text, name, of)).collect::<Result<Vec<_>>>()?;
            if objects.is_empty() {
                return Err(fault(text, at, format!("{name}() takes one collection or more")));
            }
            self.are_together(text, name, &objects, at)?;
            return self.quantity(text, name, quantity, &objects, at);
        }
        let [first, second] = of else {
            return Err(fault(text, at, format!("{name}() takes 2 values, not {}", of.len())));
        };
        if name == "deltaPhi" {
            let mut phi = |expr: &Expr| match self.argument(text, expr)? {
                Reached::Value(bound) => number(text, &bound).map(|_| (bound, None)),
                Reached::Objects(of) => {
                    let phi = self.quantity(text, name, Quantity::Phi, std::slice::from_ref(&of), at)?;
                    Ok((phi, Some(of)))
                }
            };
            let [(one, of_one), (two, of_two)] = [phi(first)?, phi(second)?];
            if let (Some(one), Some(two)) = (of_one, of_two) {
                self.are_together(text, name, &[one, two], at)?;
            }
            return Ok(Bound { at, ..delta_phi([one, two]) });
        }
        let objects = [self.objects(text, name, first)?, self.objects(text, name, second)?];
        let mut of = |quantity, place: usize| self.quantity(text, name, quantity, &objects[place..=place], at);
        let eta = [of(Quantity::Eta, 0)?, of(Quantity::Eta, 1)?];
        let phi = [of(Quantity::Phi, 0)?, of(Quantity::Phi, 1)?];
        if name == "deltaR" {
            self.are_together(text, name, &objects, at)?;
            return Ok(Bound { at, ..delta_r(eta, phi) });
        }
        self.is_listed(text, name, &objects[1], second.span.start, 1)?;
        let depth = objects[0].depth();
        if depth > 1 {
            return Err(fault(text, first.span.start, "min_deltaR() takes one list of objects an entry"));
        }
        let [[eta, other_eta], [phi, other_phi]] = [eta, phi];
        let in_loop = [&eta, &phi, &other_eta, &other_phi].into_iter().any(|of| of.in_loop);
        let op = Op::Joint(Joint::MinDeltaR, vec![eta, phi, other_eta, other_phi]);
        Ok(Bound { op, at, depth, of: computed(Wide::F64), in_loop })
    }

    /// Refuses objects of different lists, which would be paired one by one.
    fn are_together(&self, text: &str, name: &str, of: &[Arc<Collection>], at: usize) -> Result<()> {
        let mut lists = of.iter().filter(|of| of.depth() > 0);
        let Some(first) = lists.next() else { return Ok(()) };
        match lists.find(|of| of.lists() != first.lists()) {
            None => Ok(()),
            Some(other) => {
                let [a, b] = [first.name(), other.name()];
                let words = format!(
                    "{name}() would pair the first of {a} with the first of {b}: write {name}(x.first, x.second) with x \
                     for cross({a}, {b}), or each({a}, {b})"
                );
                Err(fault(text, at, words))
            }
        }
    }

    fn quantity(
        &mut self,
        text: &str,
        name: &str,
        quantity: Quantity,
        of: &[Arc<Collection>],
        at: usize,
    ) -> Result<Bound> {
        let lacks = |base: &Base, wanted: Quantity| {
            let of = base.name();
            fault(text, at, format!("{name}() needs members of {of} that it does not have: {}", wanted.needs()))
        };
        let mut member = |base: &Base, name: &str| {
            let parts: Vec<String> = base.parts.iter().map(String::as_str).chain([name]).map(str::to_owned).collect();
            Ok(self.leaf_of(text, base, &parts, at)?.filter(|found| matches!(found.of, Of::Number(_))))
        };
        let found = quantity.of(of, at, &mut member, &lacks)?;
        self.checked(Bound { at, ..found })
    }
}
