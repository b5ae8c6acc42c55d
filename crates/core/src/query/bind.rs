//! From what is written to what is computed: names become columns, and every value gets a type.

use std::collections::HashMap;
use std::sync::Arc;

use super::bound::{Bound, Op, computed, loop_of, narrowest, number, of_values};
use super::collection::{Called, Defined, Known, OF_COLLECTIONS, optional};
use super::compute::{result_of, sides, unary_result};
use super::defined::{Definition, FIRST_COMPUTED, Scope};
use super::fault::{fault, near};
use super::function::{Function, chosen};
use super::index::Slice;
use super::names::Kernel;
use super::number::{Cast, Wide};
use super::parse::{HIGHEST, parse};
use super::path::{Path, holds_clones, lacks_types, path, to_any};
use super::source::Source;
use super::special::{SPECIAL, constant, named_constant, special};
use super::syntax::{Binary, Expr, Item, Node, Unary};
use super::value::{Of, Scalar};
use crate::column::Kind;
use crate::error::{Error, Result};

/// Turns expressions over one source into values, and collects which columns they need.
pub(super) struct Binder<'s> {
    pub(super) source: &'s Source,
    /// Aliases of the caller, which come before branches.
    pub(super) aliases: &'s HashMap<String, String>,
    /// Definitions, which come before everything else.
    pub(super) scope: Scope,
    /// Definitions and their values, by address. They are kept, so that no other one gets the same address.
    pub(super) defined: HashMap<usize, (Arc<Definition>, Defined)>,
    /// So many columns are needed by what is kept, whatever was only tried.
    pub(super) pinned: usize,
    /// The types of columns that functions compute.
    pub(super) computed: Vec<Kind>,
    /// Numbers of the columns that are needed.
    pub(super) needed: Vec<usize>,
    /// Aliases that are being bound.
    pub(super) open: Vec<String>,
    /// Values in each other, aliases included, and all of them.
    pub(super) height: usize,
    pub(super) values: u64,
    /// Whether only the lists of the next column matter, which may hold records.
    pub(super) is_sized: bool,
    pub(super) collections: Known,
}

/// The most values that an expression may have once its aliases are filled in.
pub(super) const MOST_VALUES: u64 = 20_000;
/// The most loops in each other that ask for their turns.
const MOST_LOOPS: usize = 6;
/// The most aliases inside each other.
pub(super) const DEEPEST_ALIAS: usize = 50;

impl<'s> Binder<'s> {
    /// Begins with columns that are needed already.
    pub(super) fn new(source: &'s Source, aliases: &'s HashMap<String, String>, needed: Vec<usize>) -> Self {
        Self {
            source,
            aliases,
            scope: Scope::default(),
            defined: HashMap::new(),
            pinned: 0,
            computed: Vec::new(),
            needed,
            open: Vec::new(),
            height: 0,
            values: 0,
            is_sized: false,
            collections: Known::default(),
        }
    }

    /// The value of an expression.
    pub(super) fn bind(&mut self, text: &str, expr: &Expr) -> Result<Bound> {
        self.values += 1;
        if self.values > MOST_VALUES {
            return Err(Error::limit("values of an expression and its aliases", MOST_VALUES, self.values));
        }
        if self.height >= HIGHEST {
            let words = format!("more than {HIGHEST} values are in each other, those of aliases included");
            return Err(fault(text, expr.span.start, words));
        }
        self.height += 1;
        let bound = self.bind_node(text, expr);
        self.height -= 1;
        bound
    }

    fn bind_node(&mut self, text: &str, expr: &Expr) -> Result<Bound> {
        let at = expr.span.start;
        match &expr.node {
            Node::Whole(whole) => Ok(constant(
                at,
                match i64::try_from(*whole) {
                    Ok(whole) => Scalar::I64(whole),
                    Err(_) => Scalar::U64(*whole),
                },
            )),
            Node::Fraction(fraction) => Ok(constant(at, Scalar::F64(*fraction))),
            Node::Text(value) => Ok(constant(at, Scalar::Text(value.as_str().into()))),
            Node::Name(_) | Node::Member(..) | Node::Index(..) => self.path(text, expr),
            Node::Size(of) => self.size(text, of, at),
            Node::Length(of) => match self.bind(text, of) {
                Ok(of) if of.of == Of::Text => {
                    let Bound { depth, in_loop, .. } = of;
                    Ok(Bound { op: Op::Length(Box::new(of)), at, depth, of: computed(Wide::I64), in_loop })
                }
                _ => self.size(text, of, at),
            },
            Node::Call(name, arguments) => self.call(text, expr, name, arguments),
            Node::Unary(operator, of) => {
                let of = self.bind(text, of)?;
                let wide = number(text, &of)?;
                let result = unary_result(*operator, wide).map_err(|words| fault(text, at, words))?;
                let kind = match operator {
                    Unary::Cast(Cast(number)) => Of::Number(*number),
                    _ => of_values(result, &[&of]),
                };
                Ok(Bound { depth: of.depth, in_loop: of.in_loop, of: kind, at, op: Op::Unary(*operator, Box::new(of)) })
            }
            Node::Binary(operator, a, b) => {
                let (a, b) = (self.bind(text, a)?, self.bind(text, b)?);
                binary(text, *operator, a, b)
            }
            Node::Choice(condition, yes, no) => {
                let [condition, yes, no] = [self.bind(text, condition)?, self.bind(text, yes)?, self.bind(text, no)?];
                number(text, &condition)?;
                let wide = chosen(number(text, &yes)?, number(text, &no)?);
                let (depth, in_loop) = loop_of(&[&condition, &yes, &no]);
                let kind = narrowest(wide, &[&yes, &no]);
                let op = Op::Choice(Box::new(condition), Box::new(yes), Box::new(no));
                Ok(Bound { op, at, depth, of: kind, in_loop })
            }
        }
    }

    /// A name with members and indices: of a column, an alias, or a constant.
    fn path(&mut self, text: &str, expr: &Expr) -> Result<Bound> {
        if let Some(value) = self.collected(text, expr)? {
            return Ok(value);
        }
        let mut names: Vec<(&str, usize)> = Vec::new();
        let mut indices: Vec<&[Item]> = Vec::new();
        let mut at = expr;
        let root = loop {
            match &at.node {
                Node::Name(name) => {
                    names.push((name, at.span.start));
                    break None;
                }
                Node::Member(of, name) => {
                    names.push((name, at.span.end - name.len()));
                    at = of;
                }
                Node::Index(of, items) => {
                    if let [Item::One(Expr { node: Node::Text(field), .. })] = &items[..] {
                        names.push((field, at.span.start));
                    } else {
                        indices.push(items);
                    }
                    at = of;
                }
                Node::Call(name, arguments) if name == "get" => {
                    let [Expr { node: Node::Text(name), .. }] = &arguments[..] else {
                        return Err(fault(text, at.span.start, "get() takes one name in quotes"));
                    };
                    break Some(Named::Exact(name.as_str(), at.span.start));
                }
                _ => break Some(Named::Value(at)),
            }
        };
        names.reverse();
        indices.reverse();
        let value = match root {
            None => self.name(text, &names)?,
            Some(Named::Exact(name, start)) => {
                let found = self.source.find_exact(name)?;
                if found.is_none() && self.meaning(name).is_some() {
                    self.alias(text, name, start)?
                } else {
                    let Some(found) = found else { return Err(self.unknown(text, name, start)) };
                    let mut members: Vec<Arc<str>> = found.member.into_iter().collect();
                    members.extend(names.iter().map(|(name, _)| Arc::from(*name)));
                    self.column(text, found.id, members, start)?
                }
            }
            Some(Named::Value(of)) => {
                if let Some((name, start)) = names.first() {
                    return Err(fault(text, *start, format!("a computed value has no member {name:?}")));
                }
                self.bind(text, of)?
            }
        };
        let value = self.indexed(text, value, &indices, expr.span.start)?;
        // As of any collection, a member of objects that a computed index names may lack.
        let is_of_objects = matches!(expr.node, Node::Member(..)) && matches!(value.op, Op::PickBy { .. });
        Ok(if is_of_objects { optional(value) } else { value })
    }

    /// Whether a name is that of a column, a collection, an alias or a constant.
    pub(super) fn has_meaning(&mut self, scope: &Scope, name: &str) -> Result<bool> {
        self.scope = scope.clone();
        self.collections = Known::default();
        Ok(self.source.find(&[name])?.is_some()
            || self.meaning(name).is_some()
            || named_constant(name, 0).is_some()
            || self.base(&[name.to_owned()])?.is_some_and(|of| of.depth() > 0))
    }

    pub(super) fn unknown(&self, text: &str, name: &str, at: usize) -> Error {
        let names = self.source.names();
        let stored = self.source.aliases().iter().map(|(name, _)| name.as_str());
        let defined = self.scope.all().map(|definition| definition.name.as_str());
        let known = names.iter().map(AsRef::as_ref).chain(self.aliases.keys().map(String::as_str)).chain(stored);
        let known = known.chain(defined);
        let error = fault(text, at, format!("there is no branch {name:?}{}", near(name, known)));
        self.source.place(Error::not_found(error.message().to_owned()))
    }

    fn name(&mut self, text: &str, names: &[(&str, usize)]) -> Result<Bound> {
        let parts: Vec<&str> = names.iter().map(|(name, _)| *name).collect();
        let (first, at) = names.first().copied().unwrap_or(("", 0));
        if names.len() == 1
            && let Some(definition) = self.scope.find(first).cloned()
        {
            return self.definition(text, &definition, at);
        }
        if names.len() == 1 && self.aliases.contains_key(first) && !self.open.iter().any(|open| open == first) {
            return self.alias(text, first, at);
        }
        if let Some((found, used)) = self.source.find(&parts)? {
            let mut members: Vec<Arc<str>> = found.member.into_iter().collect();
            members.extend(parts[used..].iter().map(|&name| Arc::from(name)));
            return self.column(text, found.id, members, at);
        }
        let joined = parts.join(".");
        if self.meaning(&joined).is_some() {
            return self.alias(text, &joined, at);
        }
        if names.len() == 1
            && let Some(value) = named_constant(first, at)
        {
            return Ok(value);
        }
        if let Some(error) = self.collection_fault(text, &parts, at)? {
            return Err(error);
        }
        Err(self.unknown(text, &joined, at))
    }

    /// What an alias stands for: those of the caller, of the tree, of its friends.
    pub(super) fn meaning(&self, name: &str) -> Option<&'s str> {
        self.aliases.get(name).map(String::as_str).or_else(|| self.source.alias(name))
    }

    fn alias(&mut self, text: &str, name: &str, at: usize) -> Result<Bound> {
        if self.open.len() >= DEEPEST_ALIAS && !self.open.iter().any(|open| open == name) {
            let first = self.open.first().map_or(name, String::as_str);
            let words = format!("the alias {first:?} leads through more than {DEEPEST_ALIAS} others");
            return Err(fault(text, at, words));
        }
        if self.open.iter().any(|open| open == name) {
            let chain = self.open.join(" -> ");
            return Err(fault(text, at, format!("the alias {name:?} needs itself: {chain} -> {name}")));
        }
        let Some(meaning) = self.meaning(name) else { return Err(self.unknown(text, name, at)) };
        self.open.push(name.to_owned());
        let is_sized = std::mem::take(&mut self.is_sized);
        let bound = parse(meaning).and_then(|expr| {
            self.is_sized = is_sized && matches!(expr.node, Node::Name(_) | Node::Member(..));
            self.bind(meaning, &expr)
        });
        self.open.pop();
        let bound =
            bound.map_err(|error| Error::new(error.kind(), format!("{} (the alias {name:?})", error.message())))?;
        // Errors while it is computed point at the alias.
        Ok(Bound { at, ..bound })
    }

    pub(super) fn column(&mut self, text: &str, id: usize, members: Vec<Arc<str>>, at: usize) -> Result<Bound> {
        let kind = match id.checked_sub(FIRST_COMPUTED) {
            Some(number) => self.computed.get(number).cloned().ok_or_else(|| Error::not_found("no such column"))?,
            None => self.source.kind(id)?,
        };
        let place = self.needed.iter().position(|&needed| needed == id).unwrap_or(self.needed.len());
        if place == self.needed.len() {
            self.needed.push(id);
        }
        let classes = |class: &Arc<str>| self.source.objects(id, class);
        let way = |kind: Kind| {
            let members = members.clone();
            let members = if self.is_sized { to_any(&kind, members, &classes) } else { members };
            path(kind, members, &classes, (text, at))
        };
        // Only entries tell which objects a `TClonesArray` holds.
        let has_clones = holds_clones(&kind);
        let sampled = if has_clones && self.is_sized { self.sampled(id, &way) } else { None };
        let found = sampled.map_or_else(|| way(kind), Ok);
        let found = found.or_else(|error| {
            let sampled = if has_clones && !self.is_sized { self.sampled(id, &way) } else { None };
            sampled.ok_or(error)
        });
        let (path, depth, of) = found?;
        Ok(Bound { op: Op::Column(place, path), at, depth, of, in_loop: false })
    }

    /// The way down a column by the type that the first entries with objects have.
    fn sampled(&self, id: usize, way: &dyn Fn(Kind) -> Result<(Path, usize, Of)>) -> Option<(Path, usize, Of)> {
        /// Entries that are looked at: first a few, then more.
        const MAX_SAMPLE: u64 = 1 << 16;
        let entries = self.source.entries().min(MAX_SAMPLE);
        let (mut start, mut step) = (0, 16);
        while start < entries {
            let end = entries.min(start + step);
            let kind = self.source.sampled(id, start..end).ok()?;
            let is_known = !lacks_types(&kind);
            match way(kind) {
                Ok((path, depth, of)) => return Some((Path { follows: true, may_lack: true, ..path }, depth, of)),
                Err(_) if is_known => return None,
                Err(_) => {}
            }
            (start, step) = (end, step * 4);
        }
        None
    }

    /// A value with indices, each in brackets of its own.
    fn indexed(&mut self, text: &str, value: Bound, indices: &[&[Item]], at: usize) -> Result<Bound> {
        self.indexed_from(text, value, indices, &mut 0, at)
    }

    /// Indices from a level on.
    pub(super) fn indexed_from(
        &mut self,
        text: &str,
        mut value: Bound,
        indices: &[&[Item]],
        level: &mut usize,
        at: usize,
    ) -> Result<Bound> {
        for items in indices {
            // The first item of several counts entries, as in Python.
            let counts_entries = items.len() > 1 || matches!(items, [Item::Slice { .. } | Item::Rest]);
            let mut items = items.iter();
            if counts_entries {
                match items.next() {
                    Some(Item::Slice { from: None, to: None, step: None } | Item::All) => {}
                    Some(Item::Rest) => *level = value.depth.saturating_sub(items.len()),
                    _ => {
                        let words = "the first index counts entries: write [:, i] for an item of each";
                        return Err(fault(text, at, words));
                    }
                }
            }
            while let Some(item) = items.next() {
                if let Item::Rest = item {
                    *level = (*level).max(value.depth.saturating_sub(items.len()));
                    continue;
                }
                value = self.item(text, value, item, level, counts_entries, at)?;
            }
        }
        Ok(value)
    }

    fn item(
        &mut self,
        text: &str,
        of: Bound,
        item: &Item,
        level: &mut usize,
        from_end: bool,
        at: usize,
    ) -> Result<Bound> {
        if *level >= of.depth {
            let words = match of.depth {
                0 => "this is one value an entry: it has no items".to_owned(),
                depth => format!("this has {depth} levels of lists, and more indices"),
            };
            return Err(fault(text, at, words));
        }
        let (depth, kind, in_loop, here) = (of.depth, of.of, of.in_loop, *level);
        let of = Box::new(of);
        let made = |op, depth, in_loop| Bound { op, at, depth, of: kind, in_loop };
        Ok(match item {
            Item::All | Item::Rest => {
                *level += 1;
                *of
            }
            Item::Slice { from, to, step } => {
                *level += 1;
                let mut end = |part: &Option<Expr>| match part {
                    None => Ok(None),
                    Some(expr) => self.whole_constant(text, expr).map(Some),
                };
                let slice = Slice { from: end(from)?, to: end(to)?, step: end(step)? };
                if slice.step == Some(0) {
                    return Err(fault(text, at, "the step of a slice is 0"));
                }
                made(Op::Slice { of, level: here, slice }, depth, in_loop)
            }
            Item::One(expr) => {
                let by = self.bind(text, expr)?;
                let wide = number(text, &by)?;
                if let Op::Constant(constant) = &by.op
                    && wide != Wide::Bool
                {
                    let Scalar::I64(item) = *constant else {
                        return Err(fault(text, by.at, "an index is a whole number"));
                    };
                    if item < 0 && !from_end {
                        let words = "an index counts from 0; [:, -1] is the last item of each";
                        return Err(fault(text, by.at, words));
                    }
                    return Ok(made(Op::Pick { of, level: here, item, from_end }, depth - 1, in_loop));
                }
                if let Op::Unary(Unary::Minus, inner) = &by.op
                    && let Op::Constant(constant) = &inner.op
                {
                    if !from_end {
                        let words = "an index counts from 0; [:, -1] is the last item of each";
                        return Err(fault(text, by.at, words));
                    }
                    let Scalar::I64(item) = *constant else {
                        return Err(fault(text, by.at, "an index is a whole number"));
                    };
                    let item = -item;
                    return Ok(made(Op::Pick { of, level: here, item, from_end }, depth - 1, in_loop));
                }
                if wide == Wide::Bool {
                    if by.depth != here + 1 {
                        let words = "a mask has a truth value for each item of a list; int(...) makes it an index";
                        return Err(fault(text, by.at, words));
                    }
                    *level += 1;
                    let in_loop = in_loop || by.in_loop;
                    return Ok(made(Op::Mask { of, level: here, mask: Box::new(by) }, depth, in_loop));
                }
                let levels = depth - 1 + by.depth.saturating_sub(here);
                // The lists of the index come first: what follows is an index of the levels below them.
                *level = here.max(by.depth);
                let in_loop = in_loop || by.in_loop;
                made(Op::PickBy { of, level: here, by: Box::new(by) }, levels, in_loop)
            }
        })
    }

    /// A whole number that is written down, with or without a sign.
    pub(super) fn whole_constant(&mut self, text: &str, expr: &Expr) -> Result<i64> {
        let bound = self.bind(text, expr)?;
        match &bound.op {
            Op::Constant(Scalar::I64(whole)) => Ok(*whole),
            Op::Unary(Unary::Minus, inner) => match &inner.op {
                Op::Constant(Scalar::I64(whole)) => Ok(-whole),
                _ => Err(fault(text, bound.at, "the ends of a slice are whole numbers")),
            },
            _ => Err(fault(text, bound.at, "the ends of a slice are whole numbers")),
        }
    }

    /// `@list`, `list.size()`: how many items a list has.
    fn size(&mut self, text: &str, of: &Expr, at: usize) -> Result<Bound> {
        if let Some(size) = self.sized(text, of, at)? {
            return Ok(size);
        }
        self.is_sized = matches!(of.node, Node::Name(_) | Node::Member(..));
        let of = self.bind(text, of);
        self.is_sized = false;
        let of = of?;
        if let Op::Column(place, path) = &of.op
            && path.members.is_empty()
            && self.needed.get(*place).is_some_and(|id| self.source.is_count(*id))
        {
            return Ok(of);
        }
        if of.depth == 0 {
            return Err(fault(text, at, "this is one value an entry: it has no size"));
        }
        let in_loop = of.in_loop;
        Ok(Bound { op: Op::Size(Box::new(of), 0), at, depth: 0, of: computed(Wide::I64), in_loop })
    }

    fn call(&mut self, text: &str, expr: &Expr, name: &str, arguments: &[Expr]) -> Result<Bound> {
        let at = expr.span.start;
        if name == "get" {
            return self.path(text, expr);
        }
        if let Some(cast) = Cast::of_name(name) {
            let [of] = arguments else { return Err(fault(text, at, format!("{name}() takes one value"))) };
            let of = self.bind(text, of)?;
            number(text, &of)?;
            let (depth, in_loop) = (of.depth, of.in_loop);
            let op = Op::Unary(Unary::Cast(cast), Box::new(of));
            return Ok(Bound { op, at, depth, of: Of::Number(cast.0), in_loop });
        }
        let of = match self.called(text, expr, name, arguments)? {
            Called::Done(value) => return Ok(value),
            Called::Arguments(of) => of,
        };
        if let Some(special) = special(text, name, at, &of)? {
            if special.loops() > MOST_LOOPS {
                let words =
                    format!("more than {MOST_LOOPS} loops that ask for Iteration$ or Length$ are in each other");
                return Err(fault(text, at, words));
            }
            return Ok(special);
        }
        let Some(function) = Function::find(name) else {
            let special = SPECIAL.into_iter().chain(OF_COLLECTIONS).map(str::to_owned);
            let known: Vec<String> = Function::names().chain(special).collect();
            let near = near(name, known.iter().map(String::as_str));
            return Err(fault(text, at, format!("there is no function {name:?}{near}")));
        };
        let (least, most) = function.arity();
        if !(least..=most).contains(&of.len()) {
            let wanted = if least == most { least.to_string() } else { format!("{least} to {most}") };
            return Err(fault(text, at, format!("{name}() takes {wanted} values, not {}", of.len())));
        }
        if matches!(function.kernel, Kernel::Contains) {
            if of.iter().any(|of| of.of != Of::Text) {
                return Err(fault(text, at, "strstr() looks for a text in a text"));
            }
            let (depth, in_loop) = loop_of(&of.iter().collect::<Vec<_>>());
            return Ok(Bound { op: Op::Call(function, of), at, depth, of: computed(Wide::Bool), in_loop });
        }
        let wides = of.iter().map(|of| number(text, of)).collect::<Result<Vec<_>>>()?;
        let result = function.result(&wides).map_err(|words| fault(text, at, words))?;
        let values: Vec<&Bound> = of.iter().collect();
        let (depth, in_loop) = loop_of(&values);
        let kind = match function.kernel {
            Kernel::Where => narrowest(result, values.get(1..).unwrap_or_default()),
            Kernel::WholeTwo(..) | Kernel::Bits(_) => narrowest(result, &values),
            _ => of_values(result, &values),
        };
        let op = match (function.kernel, <[Bound; 3]>::try_from(of)) {
            // Only what is chosen has to be there, as in `?:`.
            (Kernel::Where, Ok([condition, yes, no])) => Op::Choice(Box::new(condition), Box::new(yes), Box::new(no)),
            (_, Ok(of)) => Op::Call(function, of.into()),
            (_, Err(of)) => Op::Call(function, of),
        };
        Ok(Bound { op, at, depth, of: kind, in_loop })
    }
}

enum Named<'e> {
    Exact(&'e str, usize),
    Value(&'e Expr),
}

fn binary(text: &str, operator: Binary, a: Bound, b: Bound) -> Result<Bound> {
    let at = b.at;
    let (depth, in_loop) = loop_of(&[&a, &b]);
    let result = if a.of == Of::Text || b.of == Of::Text {
        if a.of != b.of {
            let text_side = if a.of == Of::Text { &a } else { &b };
            return Err(fault(text, text_side.at, "a text is joined with a number"));
        }
        if !operator.is_comparison() {
            return Err(fault(text, a.at, "texts can be compared, and nothing else"));
        }
        Wide::Bool
    } else {
        let (of_a, of_b) = sides((number(text, &a)?, a.constant()), (number(text, &b)?, b.constant()));
        let is_zero = matches!(&b.op, Op::Constant(zero) if zero.as_f64().is_ok_and(|zero| zero == 0.0));
        if is_zero && matches!(operator, Binary::Divide | Binary::FloorDivide | Binary::Remainder) {
            return Err(fault(text, at, "this divides by zero"));
        }
        result_of(operator, of_a, of_b).map_err(|words| fault(text, at, words))?
    };
    let kind = match operator {
        // The answer is no larger than what it is computed of.
        Binary::Remainder | Binary::BitAnd | Binary::BitOr | Binary::ShiftRight => narrowest(result, &[&a, &b]),
        _ => of_values(result, &[&a, &b]),
    };
    Ok(Bound { op: Op::Binary(operator, Box::new(a), Box::new(b)), at, depth, of: kind, in_loop })
}
