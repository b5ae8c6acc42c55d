//! Follows names, members and indices to the collections and values that they mean: `Jet[Jet.pt > 30].eta`.

use std::sync::Arc;

use super::bind::{Binder, DEEPEST_ALIAS};
use super::bound::{Bound, Op, number};
use super::collection::{Collection, PARTS, Reached};
use super::fault::fault;
use super::index::Slice;
use super::number::Wide;
use super::objects::unknown_member;
use super::parse::{HIGHEST, parse};
use super::path::holds_clones;
use super::syntax::{Expr, Item, Node, Unary};
use super::value::Scalar;
use crate::error::{Error, Result};

/// A member or an index after a name or a call.
enum Next<'e> {
    Member(&'e str, usize),
    Index(&'e [Item], usize),
}

/// How far an expression has been followed.
enum At {
    /// Names that may be those of a column or a collection.
    Names(Vec<String>, usize),
    /// A collection, and names of a member.
    Objects(Arc<Collection>, Vec<String>, usize),
    /// A value, and the level that its next index counts.
    Value(Bound, usize),
}

/// Splits an expression into its root and the steps after it.
fn steps(mut expr: &Expr) -> (&Expr, Vec<Next<'_>>) {
    let mut steps = Vec::new();
    loop {
        match &expr.node {
            Node::Member(of, name) => {
                steps.push(Next::Member(name, expr.span.end.saturating_sub(name.len())));
                expr = of;
            }
            Node::Index(of, items) => {
                steps.push(match &items[..] {
                    [Item::One(Expr { node: Node::Text(name), .. })] => Next::Member(name, expr.span.start),
                    items => Next::Index(items, expr.span.start),
                });
                expr = of;
            }
            _ => break,
        }
    }
    steps.reverse();
    (expr, steps)
}

impl Binder<'_> {
    /// The value of names and indices that lead through a collection; nothing if they mean what they mean without any.
    pub(super) fn collected(&mut self, text: &str, expr: &Expr) -> Result<Option<Bound>> {
        if matches!(expr.node, Node::Name(_)) {
            return Ok(None);
        }
        match self.reach(text, expr)? {
            None => Ok(None),
            Some(Reached::Value(bound)) => Ok(Some(bound)),
            Some(Reached::Objects(of)) => Err(self.is_collection(text, &of, expr.span.start)),
        }
    }

    /// The error of a name that stands for a collection, if it does.
    pub(super) fn collection_fault(&mut self, text: &str, parts: &[&str], at: usize) -> Result<Option<Error>> {
        let parts: Vec<String> = parts.iter().map(|part| (*part).to_owned()).collect();
        Ok(match self.base(&parts)? {
            Some(of) => Some(self.is_collection(text, &of, at)),
            // An unknown member of a known collection.
            None => match parts.split_last() {
                Some((name, above)) if !above.is_empty() => {
                    self.base(above)?.and_then(|of| Some(unknown_member(text, of.base()?, name, at)))
                }
                _ => None,
            },
        })
    }

    pub(super) fn is_collection(&self, text: &str, of: &Collection, at: usize) -> Error {
        let name = of.name();
        let words = match of.base() {
            _ if of.is_tuple() => {
                format!("{name} is a collection of combinations: name a member, as .first.pt, or write mass(...)")
            }
            None => format!("{name} is a collection: name a member"),
            Some(base) => {
                let member = base.members.first().map_or("pt", String::as_str);
                format!("{name} is a collection: name a member, as {name}.{member}")
            }
        };
        fault(text, at, words)
    }

    /// Follows names, members and indices. Nothing for what is not about collections.
    pub(super) fn reach(&mut self, text: &str, expr: &Expr) -> Result<Option<Reached>> {
        if self.height >= HIGHEST {
            let words = format!("more than {HIGHEST} values are in each other, those of aliases included");
            return Err(fault(text, expr.span.start, words));
        }
        self.height += 1;
        let reached = self.follow(text, expr);
        self.height -= 1;
        reached
    }

    fn follow(&mut self, text: &str, expr: &Expr) -> Result<Option<Reached>> {
        let (root, steps) = steps(expr);
        let start = root.span.start;
        let mut at = match &root.node {
            Node::Name(name) => {
                if self.is_plain(name, &steps)? {
                    return Ok(None);
                }
                match self.alias_objects(text, name, start)? {
                    Some(of) => At::Objects(of, Vec::new(), start),
                    None => At::Names(vec![name.clone()], start),
                }
            }
            Node::Call(name, of) => match self.objects_of_call(text, root, name, of)? {
                Some(Reached::Objects(of)) => At::Objects(of, Vec::new(), start),
                Some(Reached::Value(bound)) => At::Value(bound, 0),
                None => return Ok(None),
            },
            _ => return Ok(None),
        };
        for step in steps {
            at = match (at, step) {
                (At::Names(mut names, start), Next::Member(name, _)) => {
                    names.push(name.to_owned());
                    At::Names(names, start)
                }
                (At::Objects(of, names, _), Next::Member(name, place)) => self.member_step(of, names, name, place)?,
                (At::Value(..), Next::Member(name, place)) => {
                    return Err(fault(text, place, format!("a computed value has no member {name:?}")));
                }
                (at @ (At::Names(..) | At::Objects(..)), Next::Index(items, place)) => match self.settled(text, at)? {
                    None => return Ok(None),
                    Some(At::Objects(of, _, start)) => {
                        let mut of = of;
                        let mut level = 0;
                        self.index_objects(text, &mut of, items, &mut level, place)?;
                        At::Objects(of, Vec::new(), start)
                    }
                    Some(At::Value(of, level)) => self.index_value(text, of, level, items, place)?,
                    Some(At::Names(..)) => return Ok(None),
                },
                (At::Value(of, level), Next::Index(items, place)) => self.index_value(text, of, level, items, place)?,
            };
        }
        Ok(match self.settled(text, at)? {
            Some(At::Value(bound, _)) => Some(Reached::Value(bound)),
            Some(At::Objects(of, ..)) => Some(Reached::Objects(of)),
            _ => None,
        })
    }

    fn member_step(&mut self, of: Arc<Collection>, mut names: Vec<String>, name: &str, place: usize) -> Result<At> {
        if names.is_empty()
            && let Some(part) = PARTS.iter().position(|known| *known == name)
            && let Some(of) = of.part(part)
        {
            return Ok(At::Objects(of, names, place));
        }
        names.push(name.to_owned());
        Ok(At::Objects(of, names, place))
    }

    fn index_value(&mut self, text: &str, of: Bound, level: usize, items: &[Item], place: usize) -> Result<At> {
        let mut level = level;
        let value = self.indexed_from(text, of, &[items], &mut level, place)?;
        Ok(At::Value(value, level))
    }

    /// Names as the value or the collection that they mean; nothing if they mean neither.
    fn settled(&mut self, text: &str, at: At) -> Result<Option<At>> {
        Ok(match at {
            At::Names(names, start) => match self.leaf(text, &names, start)? {
                Some(bound) => Some(At::Value(bound, 0)),
                None => match self.base(&names)? {
                    Some(of) => Some(At::Objects(of, Vec::new(), start)),
                    None => self.base_with_member(text, &names, start)?,
                },
            },
            At::Objects(of, names, start) if !names.is_empty() => {
                let replaced = of.replaced(&mut |base| {
                    let parts: Vec<String> = base.parts.iter().chain(&names).cloned().collect();
                    if self.leaf_of(text, base, &parts, start)?.is_some() {
                        return Ok(None);
                    }
                    self.seeing(base, |binder| binder.base(&parts))
                })?;
                if let Some(of) = replaced {
                    return Ok(Some(At::Objects(of, Vec::new(), start)));
                }
                let value = self.member(text, &of, &names, start)?;
                // An index of a member of what was chosen counts what is below.
                let level = if value.depth > of.depth() { of.depth() } else { 0 };
                Some(At::Value(value, level))
            }
            at => Some(at),
        })
    }

    /// Names that end with what every collection has: its positions.
    fn base_with_member(&mut self, text: &str, names: &[String], at: usize) -> Result<Option<At>> {
        let Some((last, above)) = names.split_last().filter(|(last, _)| *last == "index") else { return Ok(None) };
        let Some(of) = (if above.is_empty() { None } else { self.base(above)? }) else { return Ok(None) };
        let value = self.member(text, &of, std::slice::from_ref(last), at)?;
        Ok(Some(At::Value(value, 0)))
    }

    /// Whether a name with what follows means something without any collection.
    fn is_plain(&mut self, name: &str, steps: &[Next<'_>]) -> Result<bool> {
        let mut parts = vec![name];
        let mut indices = 0;
        let mut is_open = false;
        for step in steps {
            match step {
                Next::Member(name, _) => parts.push(name),
                // Levels that an index takes: the first of several counts entries.
                Next::Index(items, _) => {
                    is_open |= items.iter().any(|item| matches!(item, Item::Rest));
                    let entries = match items {
                        [Item::Slice { from: None, to: None, step: None }] => 1,
                        [Item::Slice { .. }] => return Ok(self.column_of(&parts)?.is_some_and(|of| of.depth == 0)),
                        [_, _, ..] => 1,
                        _ => 0,
                    };
                    indices += items.len() - entries;
                }
            }
        }
        if let Some(definition) = self.scope.find(name).cloned() {
            return Ok(self.definition_objects(&definition)?.is_none());
        }
        let is_free = |open: &[String]| !open.iter().any(|open| open == name);
        if parts.len() == 1 && self.aliases.contains_key(name) && is_free(&self.open) {
            return Ok(self.alias_objects("", name, 0)?.is_none());
        }
        let found: Vec<&str> = parts.clone();
        match self.source.find(&found)? {
            Some((_, used)) if used == parts.len() && indices == 0 => Ok(!self.is_record(&parts)?),
            Some((found, _)) if holds_clones(&self.source.kind(found.id)?) => Ok(true),
            Some(_) => Ok(self.column_of(&parts)?.is_some_and(|of| is_open || indices <= of.depth)),
            None => {
                let joined = parts.join(".");
                if self.meaning(&joined).is_none() {
                    return Ok(parts.len() == 1 && super::special::named_constant(name, 0).is_some());
                }
                Ok(match parts.len() {
                    // Within an alias, its name is that of stored objects.
                    1 if !is_free(&self.open) => self.base(&[name.to_owned()])?.is_none(),
                    1 => self.alias_objects("", name, 0)?.is_none(),
                    _ => true,
                })
            }
        }
    }

    /// The collection that an alias stands for, if it is one.
    fn alias_objects(&mut self, text: &str, name: &str, at: usize) -> Result<Option<Arc<Collection>>> {
        if let Some(definition) = self.scope.find(name).cloned() {
            return self.definition_objects(&definition);
        }
        if self.open.iter().any(|open| open == name) {
            return Ok(None);
        }
        if let Some(known) = self.collections.by_name.get(name) {
            return Ok(known.clone());
        }
        let is_callers = self.aliases.contains_key(name);
        if !is_callers && self.source.find(&[name])?.is_some() {
            return Ok(None);
        }
        let Some(meaning) = self.meaning(name) else { return Ok(None) };
        if self.open.len() >= DEEPEST_ALIAS {
            let first = self.open.first().map_or(name, String::as_str);
            let words = format!("the alias {first:?} leads through more than {DEEPEST_ALIAS} others");
            return Err(fault(text, at, words));
        }
        self.open.push(name.to_owned());
        let is_sized = std::mem::take(&mut self.is_sized);
        let found = parse(meaning).and_then(|expr| self.reach(meaning, &expr));
        self.is_sized = is_sized;
        self.open.pop();
        let found =
            found.map_err(|error| Error::new(error.kind(), format!("{} (the alias {name:?})", error.message())))?;
        let found = match found {
            Some(Reached::Objects(of)) => Some(of),
            _ => None,
        };
        self.collections.by_name.insert(name.to_owned(), found.clone());
        Ok(found)
    }

    /// Masks, indices and slices of a collection.
    fn index_objects(
        &mut self,
        text: &str,
        of: &mut Arc<Collection>,
        items: &[Item],
        level: &mut usize,
        at: usize,
    ) -> Result<()> {
        let items = match items {
            // The first of several counts entries, as in Python.
            [Item::Slice { from: None, to: None, step: None } | Item::All, rest @ ..] if !rest.is_empty() => rest,
            [_, _, ..] => {
                let words = "the first index counts entries: write [:, i] for an item of each";
                return Err(fault(text, at, words));
            }
            items => items,
        };
        for item in items {
            let depth = of.depth();
            if *level >= depth {
                let words = match depth {
                    0 => "this is one object of an entry: it has no items".to_owned(),
                    depth => format!("this has {depth} levels of lists, and more indices"),
                };
                return Err(fault(text, at, words));
            }
            let inner = Arc::clone(of);
            *of = match item {
                Item::Rest => return Err(fault(text, at, "... is an index of values: name a member first")),
                Item::All | Item::Slice { from: None, to: None, step: None } => {
                    *level += 1;
                    continue;
                }
                Item::Slice { from, to, step } => {
                    let mut end = |part: &Option<Expr>| match part {
                        None => Ok(None),
                        Some(expr) => self.whole_constant(text, expr).map(Some),
                    };
                    let slice = Slice { from: end(from)?, to: end(to)?, step: end(step)? };
                    if slice.step == Some(0) {
                        return Err(fault(text, at, "the step of a slice is 0"));
                    }
                    *level += 1;
                    self.made(Collection::Sliced { of: inner, level: *level - 1, slice })?
                }
                Item::One(expr) => {
                    let by = self.bind(text, expr)?;
                    self.chosen_objects(text, inner, by, level)?
                }
            };
        }
        Ok(())
    }

    /// Objects by a mask or an index.
    fn chosen_objects(
        &mut self,
        text: &str,
        of: Arc<Collection>,
        by: Bound,
        level: &mut usize,
    ) -> Result<Arc<Collection>> {
        let wide = number(text, &by)?;
        let depth = of.depth();
        if let Some(constant) = by.constant().filter(|_| wide != Wide::Bool) {
            let Scalar::I64(item) = *constant else { return Err(fault(text, by.at, "an index is a whole number")) };
            return self.made(Collection::Picked { of, level: *level, item, from_end: false });
        }
        if let Op::Unary(Unary::Minus, inner) = &by.op
            && inner.constant().is_some()
        {
            let words = "an index counts from 0; last(...) is the last item of each";
            return Err(fault(text, by.at, words));
        }
        let by = self.checked(by)?.shared();
        if wide == Wide::Bool {
            let Some(here) = by.depth.checked_sub(1).filter(|here| *here < depth) else {
                let words = "a mask has a truth value for each item of a list; int(...) makes it an index";
                return Err(fault(text, by.at, words));
            };
            *level = here + 1;
            return self.made(Collection::Masked { of, level: here, mask: by });
        }
        // An index for each list of a level picks one item of each.
        let here = by.depth.min(depth - 1).max(*level);
        *level = here.max(by.depth);
        self.made(Collection::PickedBy { of, level: here, by, may_lack: true })
    }
}
