//! The way from a column down to the numbers or texts that are meant: through lists, records, pointers and values that
//! may be absent.

use std::sync::Arc;

use super::fault::{fault, near};
use super::number::Wide;
use super::value::Of;
use crate::column::{Kind, Number};
use crate::error::{Error, Result};
use crate::read::items;

/// The way down from a column.
#[derive(Clone, Debug, Default)]
pub(super) struct Path {
    /// The members of its records.
    pub(super) members: Vec<Arc<str>>,
    /// Whether it goes through pointers to objects.
    pub(super) follows: bool,
    /// Whether values may be absent: null pointers, optional values, one of several types without the member.
    pub(super) may_lack: bool,
}

/// What a way leads to.
#[derive(Clone, Copy, Debug)]
struct End {
    /// Levels of lists.
    depth: usize,
    of: Of,
    follows: bool,
    may_lack: bool,
}

/// What gives the type of the objects of a class that pointers are declared with.
pub(super) type Classes<'c> = &'c dyn Fn(&Arc<str>) -> Result<Kind>;

/// Objects inside of each other that a name may lead through.
const DEEPEST: usize = 64;

/// What is wrong with a way.
#[derive(Default)]
struct Fault {
    /// Whether the expression is to blame, and not the file.
    is_in_expression: bool,
    /// The members of the record where it ends.
    members: Vec<Arc<str>>,
}

/// The way from a column of a type down its members, the levels of lists, and what is there. Errors point at a byte of
/// an expression.
pub(super) fn path(
    kind: Kind,
    members: Vec<Arc<str>>,
    classes: Classes<'_>,
    (text, at): (&str, usize),
) -> Result<(Path, usize, Of)> {
    let mut wrong = Fault::default();
    let end = down(kind, &members, classes, DEEPEST, &mut wrong).map_err(|error| match wrong.is_in_expression {
        true => fault(text, at, error.message()),
        false => error,
    })?;
    Ok((Path { members, follows: end.follows, may_lack: end.may_lack }, end.depth, end.of))
}

/// Whether values of a type have a `TClonesArray` in them, or point at one.
pub(super) fn holds_clones(kind: &Kind) -> bool {
    let is_it = |class: &str| class == "TClonesArray";
    match kind {
        Kind::List { item, .. } | Kind::Fixed { item, .. } => holds_clones(item),
        Kind::Record { class, fields } => is_it(class) || fields.iter().any(|field| holds_clones(&field.kind)),
        Kind::Pointer { class, .. } => is_it(class),
        Kind::OneOf { of, .. } => of.iter().any(holds_clones),
        Kind::Number { .. } | Kind::Text { .. } | Kind::Opaque { .. } => false,
    }
}

/// Whether a type was made of values of which some were all absent, so that their type is not known.
pub(super) fn lacks_types(kind: &Kind) -> bool {
    match kind {
        Kind::List { item, .. } | Kind::Fixed { item, .. } => lacks_types(item),
        Kind::Record { fields, .. } => fields.iter().any(|field| lacks_types(&field.kind)),
        Kind::OneOf { of, .. } => of.is_empty() || of.iter().any(lacks_types),
        Kind::Number { .. } | Kind::Text { .. } | Kind::Opaque { .. } | Kind::Pointer { .. } => false,
    }
}

/// The members down to any number or text of a record, where only its lists matter.
pub(super) fn to_any(kind: &Kind, members: Vec<Arc<str>>, classes: Classes<'_>) -> Vec<Arc<str>> {
    /// Records inside of each other that are looked into.
    const DEEPEST_RECORD: usize = 8;
    /// Ways that are tried: classes that point at each other have more than can be.
    const MOST_WAYS: usize = 1_000;
    fn found(
        kind: &Kind,
        members: &[Arc<str>],
        classes: Classes<'_>,
        left: usize,
        ways: &mut usize,
    ) -> Option<Vec<Arc<str>>> {
        *ways = ways.checked_sub(1)?;
        let mut wrong = Fault::default();
        if down(kind.clone(), members, classes, DEEPEST, &mut wrong).is_ok() {
            return Some(members.to_vec());
        }
        let left = left.checked_sub(1)?;
        let longer = |name: Arc<str>| [members, &[name]].concat();
        wrong.members.into_iter().find_map(|name| found(kind, &longer(name), classes, left, ways))
    }
    // The nearest first: with few records below, then with more.
    let mut ways = MOST_WAYS;
    let near = (0..=DEEPEST_RECORD).find_map(|most| found(kind, &members, classes, most, &mut ways));
    near.unwrap_or(members)
}

fn down(mut kind: Kind, members: &[Arc<str>], classes: Classes<'_>, left: usize, wrong: &mut Fault) -> Result<End> {
    let mut end = End { depth: 0, of: Of::Text, follows: false, may_lack: false };
    let mut members = members.iter();
    let mut refuse = |words: String, known: Vec<Arc<str>>| {
        *wrong = Fault { is_in_expression: true, members: known };
        Err(Error::mismatch(words))
    };
    loop {
        kind = match kind {
            Kind::List { item, .. } | Kind::Fixed { item, .. } => {
                end.depth += 1;
                *item
            }
            Kind::Record { .. } => {
                let known = kind.members();
                let next = members.clone().next();
                let found = next.and_then(|name| known.iter().find(|(known, _)| *known == name));
                match (found, next, items(&kind).filter(Kind::has_pointers)) {
                    (Some((_, member)), _, _) => {
                        members.next();
                        (*member).clone()
                    }
                    // A collection of ROOT's, whose items are pointers.
                    (None, _, Some(items)) => {
                        end.follows = true;
                        items
                    }
                    (None, None, None) => {
                        let names: Vec<&str> = known.iter().take(10).map(|(name, _)| &***name).collect();
                        let words = format!("this is a record: name one of its members, {}", names.join(", "));
                        return refuse(words, known.iter().map(|(name, _)| Arc::clone(name)).collect());
                    }
                    (None, Some(name), None) => {
                        let near = near(name, known.iter().map(|(name, _)| &***name));
                        return refuse(format!("there is no member {name:?}{near}"), Vec::new());
                    }
                }
            }
            Kind::Pointer { class, .. } => {
                (end.follows, end.may_lack) = (true, true);
                if left == 0 {
                    return refuse(format!("this leads through more than {DEEPEST} objects"), Vec::new());
                }
                return Ok(joined(end, down(classes(&class)?, members.as_slice(), classes, left - 1, wrong)?));
            }
            Kind::OneOf { of, .. } => {
                end.may_lack = true;
                match &of[..] {
                    [] => {
                        let words = "all values are absent, and nothing says of which type they would be";
                        return refuse(words.into(), Vec::new());
                    }
                    [one] => one.clone(),
                    _ => return one_of(end, &of, members.as_slice(), classes, left, wrong),
                }
            }
            Kind::Number { number, .. } => {
                end.of = Of::Number(number);
                break;
            }
            Kind::Text { .. } => break,
            Kind::Opaque { class, .. } => {
                return refuse(format!("the layout of {class:?} is not known"), Vec::new());
            }
        };
    }
    match members.next() {
        Some(name) => refuse(format!("a number has no member {name:?}"), Vec::new()),
        None => Ok(end),
    }
}

/// A value of one of several types: those that have the members decide.
fn one_of(
    end: End,
    of: &[Kind],
    members: &[Arc<str>],
    classes: Classes<'_>,
    left: usize,
    wrong: &mut Fault,
) -> Result<End> {
    let ends: Vec<Result<End>> = of.iter().map(|kind| down(kind.clone(), members, classes, left, wrong)).collect();
    let (found, errors): (Vec<_>, Vec<_>) = ends.into_iter().partition(Result::is_ok);
    let found: Vec<End> = found.into_iter().flatten().collect();
    let Some((first, others)) = found.split_first() else {
        let error = errors.into_iter().find_map(Result::err);
        return Err(error.unwrap_or_else(|| Error::internal("a value is of no type")));
    };
    let mut joined_end = joined(end, *first);
    for other in others {
        let of = match (joined_end.of, other.of) {
            (a, b) if a == b => Some(a),
            (Of::Number(a), Of::Number(b)) => Some(Of::Number(wider(a, b))),
            _ => None,
        };
        let Some(of) = of.filter(|_| end.depth + other.depth == joined_end.depth) else {
            *wrong = Fault { is_in_expression: true, members: Vec::new() };
            return Err(Error::mismatch("the values are of types that have no common one: numbers, texts or lists"));
        };
        joined_end.of = of;
        joined_end.follows |= other.follows;
    }
    Ok(joined_end)
}

fn joined(above: End, below: End) -> End {
    End {
        depth: above.depth + below.depth,
        of: below.of,
        follows: above.follows || below.follows,
        may_lack: above.may_lack || below.may_lack,
    }
}

/// The type in which numbers of two are computed.
fn wider(a: Number, b: Number) -> Number {
    match (Wide::of(a), Wide::of(b)) {
        (Wide::F64, _) | (_, Wide::F64) => Number::F64,
        (Wide::U64, Wide::U64) => Number::U64,
        _ => Number::I64,
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::column::Field;

    #[test]
    fn classes_that_point_at_themselves_are_not_searched_without_end() {
        let name = |number: usize| Arc::<str>::from(format!("p{number}"));
        let pointer = || Kind::Pointer { buffer: 0, class: "Node".into() };
        let fields = (0..8).map(|number| Field { name: name(number), kind: pointer(), base: false });
        let node = Kind::Record { class: "Node".into(), fields: fields.collect() };
        let asked = Cell::new(0_u32);
        let classes = |_: &Arc<str>| {
            asked.set(asked.get() + 1);
            Ok(node.clone())
        };
        assert!(to_any(&node, vec![name(0)], &classes).starts_with(&[name(0)]));
        assert!(asked.get() < 100_000, "{}", asked.get());
    }
}
