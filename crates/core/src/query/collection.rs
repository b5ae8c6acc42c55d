//! Collections: lists of objects whose members are columns, and what is chosen, combined and joined of them.
//!
//! A collection has no value. It makes the value of any member: from the member's column by the same masks,
//! indices and combinations.

use std::collections::HashMap;
use std::sync::Arc;

use super::bound::{Bound, Op, computed, loop_of, narrowest, of_values};
use super::defined::Scope;
use super::function::chosen;
use super::index::Slice;
use super::joint::{How, Joint};
use super::number::Wide;
use super::syntax::Binary;
use super::value::Scalar;
use crate::error::{Error, Result};

/// Functions of collections.
pub(super) const OF_COLLECTIONS: [&str; 14] = [
    "pairs",
    "triples",
    "cross",
    "each",
    "concat",
    "sorted",
    "mass",
    "pt",
    "eta",
    "phi",
    "energy",
    "deltaR",
    "deltaPhi",
    "min_deltaR",
];

/// Collections that were found by their names.
#[derive(Debug, Default)]
pub(super) struct Known {
    /// Nothing for names that are not collections.
    pub(super) by_name: HashMap<String, Option<Arc<Collection>>>,
    /// How many masks, indices and combinations were made of them.
    pub(super) made: usize,
    /// The longest chain of collections in the definitions that were used.
    pub(super) below: usize,
}

/// The value and the collection of a definition, once they are known.
#[derive(Default)]
pub(super) struct Defined {
    pub(super) value: Option<Bound>,
    /// A collection, or none, and the longest chain of collections that it is made of.
    pub(super) objects: Option<(Option<Arc<Collection>>, usize)>,
}

/// A value or a collection.
pub(super) enum Reached {
    Value(Bound),
    Objects(Arc<Collection>),
}

/// A call that was bound, or its arguments.
pub(super) enum Called {
    /// The call is a function of collections.
    Done(Bound),
    Arguments(Vec<Bound>),
}

/// Objects of an entry.
#[derive(Debug)]
pub(super) enum Collection {
    Base(Base),
    /// Objects for which a condition holds.
    Masked {
        of: Arc<Collection>,
        level: usize,
        mask: Bound,
    },
    /// One of each list of a level.
    Picked {
        of: Arc<Collection>,
        level: usize,
        item: i64,
        from_end: bool,
    },
    /// Objects that an index names.
    PickedBy {
        of: Arc<Collection>,
        level: usize,
        by: Bound,
        may_lack: bool,
    },
    Sliced {
        of: Arc<Collection>,
        level: usize,
        slice: Slice,
    },
    /// Several, one after another.
    Joined(Vec<Arc<Collection>>),
    Tuple(Arc<Tuple>),
    /// The first, second or third of each pair or triple, or a part of it if that is a pair, too.
    Part {
        tuple: Arc<Tuple>,
        part: usize,
        of: Arc<Collection>,
    },
}

/// Pairs or triples.
#[derive(Debug)]
pub(super) struct Tuple {
    pub(super) how: How,
    /// The collections of the items: one for sets, else two.
    pub(super) of: Vec<Arc<Collection>>,
    /// A value of each of these, which has its lists.
    pub(super) lists: Vec<Bound>,
}

impl Tuple {
    /// Levels of lists.
    fn depth(&self) -> usize {
        match self.how {
            How::Each => 2,
            _ => self.of.first().map_or(0, |of| of.depth()),
        }
    }

    /// The level of the lists that are combined.
    fn level(&self) -> usize {
        match self.how {
            How::Sets(_) => self.depth().saturating_sub(1),
            _ => 0,
        }
    }

    /// The sum of a number of all parts, given for the items of its collections.
    pub(super) fn sum(&self, of: Vec<Bound>) -> Bound {
        let values: Vec<&Bound> = of.iter().collect();
        let kind = of_values(Wide::F64, &values);
        let (_, in_loop) = loop_of(&values);
        let at = of.first().map_or(0, |of| of.at);
        let op = Op::Joint(Joint::Sum { how: self.how, level: self.level() }, of);
        Bound { op, at, depth: self.depth(), of: kind, in_loop }
    }

    /// A value of each first, second or third one, given for the items of its collection.
    pub(super) fn of_part(&self, part: usize, value: Bound) -> Bound {
        let Bound { at, depth, of: kind, in_loop, .. } = value;
        let level = self.level();
        let mut of = self.lists.clone();
        let values = match of.get_mut(part).filter(|_| !matches!(self.how, How::Sets(_))) {
            None => vec![value],
            Some(own) => {
                *own = value;
                of
            }
        };
        let depth = depth + usize::from(self.how == How::Each);
        let in_loop = in_loop || values.iter().any(|value| value.in_loop);
        let op = Op::Joint(Joint::Combine { how: self.how, part, level }, values);
        Bound { op, at, depth, of: kind, in_loop }
    }
}

/// Objects as they are stored.
#[derive(Debug)]
pub(super) struct Base {
    /// The name: that of a branch, or what the names of several begin with.
    pub(super) parts: Vec<String>,
    /// Levels of lists.
    pub(super) depth: usize,
    /// The names of members, the best known first.
    pub(super) members: Vec<String>,
    /// The definitions that count for its members: those of the place where the collection was named.
    pub(super) sees: Scope,
}

impl Base {
    /// The name as it is written.
    pub(super) fn name(&self) -> String {
        self.parts.join(".")
    }
}

/// Makes the value of stored objects, or nothing for a collection that is to be taken apart further.
pub(super) type Leaf<'l> = &'l mut dyn FnMut(&Arc<Collection>) -> Result<Option<Bound>>;

impl Collection {
    /// Levels of lists; none for a single object.
    pub(super) fn depth(&self) -> usize {
        match self {
            Self::Base(base) => base.depth,
            Self::Masked { of, .. } | Self::Sliced { of, .. } => of.depth(),
            Self::Picked { of, .. } => of.depth().saturating_sub(1),
            Self::PickedBy { of, level, by, .. } => of.depth().saturating_sub(1) + by.depth.saturating_sub(*level),
            Self::Joined(of) => of.first().map_or(0, |of| of.depth()),
            Self::Tuple(tuple) | Self::Part { tuple, .. } => tuple.depth(),
        }
    }

    /// A name for errors.
    pub(super) fn name(&self) -> String {
        let all = |of: &[Arc<Self>]| of.iter().map(|of| of.name()).collect::<Vec<_>>().join(", ");
        match self {
            Self::Base(base) => base.name(),
            Self::Masked { of, .. } | Self::Picked { of, .. } | Self::PickedBy { of, .. } | Self::Sliced { of, .. } => {
                of.name()
            }
            Self::Joined(of) => format!("concat({})", all(of)),
            Self::Tuple(tuple) => {
                let name = match tuple.how {
                    How::Sets(2) => "pairs",
                    How::Sets(_) => "triples",
                    How::Cross => "cross",
                    How::Each => "each",
                };
                format!("{name}({})", all(&tuple.of))
            }
            Self::Part { tuple, part, .. } => {
                let of = Self::Tuple(Arc::clone(tuple)).name();
                format!("{of}.{}", PARTS.get(*part).unwrap_or(&"part"))
            }
        }
    }

    /// Names its lists: collections can be computed item by item if the names are equal.
    pub(super) fn lists(&self) -> String {
        match self {
            Self::Masked { of, .. } | Self::Sliced { of, .. } | Self::Picked { of, .. } => of.lists(),
            Self::PickedBy { of, by, .. } if by.depth == 0 => of.lists(),
            // The lists of the index.
            Self::PickedBy { .. } => String::new(),
            Self::Part { tuple, .. } => Self::Tuple(Arc::clone(tuple)).name(),
            _ => self.name(),
        }
    }

    /// The pairs or triples that it is, or is made of by masks and indices.
    pub(super) fn is_tuple(&self) -> bool {
        match self {
            Self::Masked { of, .. } | Self::Picked { of, .. } | Self::PickedBy { of, .. } | Self::Sliced { of, .. } => {
                of.is_tuple()
            }
            Self::Tuple(_) => true,
            Self::Part { of, .. } => of.is_tuple(),
            Self::Base(_) | Self::Joined(_) => false,
        }
    }

    /// The first, second or third of each pair or triple, chosen by the same masks and indices.
    pub(super) fn part(self: &Arc<Self>, part: usize) -> Option<Arc<Self>> {
        let inner = |of: &Arc<Self>| of.part(part);
        Some(Arc::new(match &**self {
            Self::Tuple(tuple) => {
                let count = if let How::Sets(count) = tuple.how { count } else { tuple.of.len() };
                let place = if matches!(tuple.how, How::Sets(_)) { 0 } else { part };
                let of = Arc::clone(tuple.of.get(place).filter(|_| part < count)?);
                Self::Part { tuple: Arc::clone(tuple), part, of }
            }
            Self::Part { tuple, part, of } => Self::Part { tuple: Arc::clone(tuple), part: *part, of: inner(of)? },
            Self::Masked { of, level, mask } => Self::Masked { of: inner(of)?, level: *level, mask: mask.clone() },
            Self::Picked { of, level, item, from_end } => {
                Self::Picked { of: inner(of)?, level: *level, item: *item, from_end: *from_end }
            }
            Self::PickedBy { of, level, by, may_lack } => {
                Self::PickedBy { of: inner(of)?, level: *level, by: by.clone(), may_lack: *may_lack }
            }
            Self::Sliced { of, level, slice } => Self::Sliced { of: inner(of)?, level: *level, slice: *slice },
            Self::Base(_) | Self::Joined(_) => return None,
        }))
    }

    /// A value of each object. `leaf` makes it for what the collection is made of.
    pub(super) fn lift(self: &Arc<Self>, at: usize, leaf: Leaf<'_>) -> Result<Bound> {
        if let Some(bound) = leaf(self)? {
            return Ok(bound);
        }
        let boxed = |of: &Arc<Self>, leaf: Leaf<'_>| of.lift(at, leaf).map(Box::new);
        Ok(match &**self {
            Self::Base(base) => return Err(Error::internal(format!("{} has no value", base.name()))),
            Self::Tuple(_) => return Err(Error::internal("a combination has no value")),
            Self::Masked { of, level, mask } => {
                let of = boxed(of, leaf)?;
                let Bound { depth, of: kind, in_loop, .. } = *of;
                let op = Op::Mask { of, level: *level, mask: Box::new(mask.clone()) };
                Bound { op, at, depth, of: kind, in_loop: in_loop || mask.in_loop }
            }
            Self::Picked { of, level, item, from_end } => {
                let of = boxed(of, leaf)?;
                let Bound { depth, of: kind, in_loop, .. } = *of;
                let op = Op::Pick { of, level: *level, item: *item, from_end: *from_end };
                let picked = Bound { op, at, depth: depth.saturating_sub(1), of: kind, in_loop };
                // `first(Jet)` may lack; `Jet[0]` is as `Jet_pt[0]`.
                if *from_end { optional(picked) } else { picked }
            }
            Self::PickedBy { of, level, by, may_lack } => {
                let of = boxed(of, leaf)?;
                let Bound { depth, of: kind, in_loop, .. } = *of;
                let depth = depth.saturating_sub(1) + by.depth.saturating_sub(*level);
                let op = Op::PickBy { of, level: *level, by: Box::new(by.clone()) };
                let picked = Bound { op, at, depth, of: kind, in_loop: in_loop || by.in_loop };
                if *may_lack { optional(picked) } else { picked }
            }
            Self::Sliced { of, level, slice } => {
                let of = boxed(of, leaf)?;
                let Bound { depth, of: kind, in_loop, .. } = *of;
                Bound { op: Op::Slice { of, level: *level, slice: *slice }, at, depth, of: kind, in_loop }
            }
            Self::Joined(of) => {
                let of = of.iter().map(|of| of.lift(at, leaf)).collect::<Result<Vec<_>>>()?;
                concat(at, of).ok_or_else(|| Error::mismatch("concat() joins lists of numbers of one level"))?
            }
            Self::Part { tuple, part, of } => tuple.of_part(*part, of.lift(at, leaf)?),
        })
    }

    /// Stored objects that it is made of: the first of them.
    pub(super) fn base(&self) -> Option<&Base> {
        match self {
            Self::Base(base) => Some(base),
            Self::Masked { of, .. }
            | Self::Picked { of, .. }
            | Self::PickedBy { of, .. }
            | Self::Sliced { of, .. }
            | Self::Part { of, .. } => of.base(),
            Self::Joined(of) => of.first()?.base(),
            Self::Tuple(_) => None,
        }
    }

    /// Replaces the stored objects that it is made of.
    pub(super) fn replaced(
        self: &Arc<Self>,
        by: &mut dyn FnMut(&Base) -> Result<Option<Arc<Self>>>,
    ) -> Result<Option<Arc<Self>>> {
        let mut inner = |of: &Arc<Self>| of.replaced(by);
        Ok(Some(Arc::new(match &**self {
            Self::Base(base) => return by(base),
            Self::Tuple(_) => return Ok(None),
            Self::Masked { of, level, mask } => {
                let Some(of) = inner(of)? else { return Ok(None) };
                Self::Masked { of, level: *level, mask: mask.clone() }
            }
            Self::Picked { of, level, item, from_end } => {
                let Some(of) = inner(of)? else { return Ok(None) };
                Self::Picked { of, level: *level, item: *item, from_end: *from_end }
            }
            Self::PickedBy { of, level, by, may_lack } => {
                let Some(of) = inner(of)? else { return Ok(None) };
                Self::PickedBy { of, level: *level, by: by.clone(), may_lack: *may_lack }
            }
            Self::Sliced { of, level, slice } => {
                let Some(of) = inner(of)? else { return Ok(None) };
                Self::Sliced { of, level: *level, slice: *slice }
            }
            Self::Part { tuple, part, of } => {
                let Some(of) = inner(of)? else { return Ok(None) };
                Self::Part { tuple: Arc::clone(tuple), part: *part, of }
            }
            Self::Joined(of) => {
                let of = of.iter().map(inner).collect::<Result<Option<Vec<_>>>>()?;
                let Some(of) = of else { return Ok(None) };
                Self::Joined(of)
            }
        })))
    }
}

/// The names of parts.
pub(super) const PARTS: [&str; 3] = ["first", "second", "third"];

/// A value that may lack.
pub(super) fn optional(of: Bound) -> Bound {
    let Bound { at, depth, of: kind, in_loop, .. } = of;
    Bound { op: Op::Joint(Joint::Optional, vec![of]), at, depth, of: kind, in_loop }
}

/// The position of each item in its list.
pub(super) fn positions(of: Bound, level: usize) -> Bound {
    let Bound { at, in_loop, .. } = of;
    let op = Op::Joint(Joint::Positions { level }, vec![of]);
    Bound { op, at, depth: level + 1, of: computed(Wide::I64), in_loop }
}

/// Positions of the items of each list in ascending order.
pub(super) fn order(of: Bound) -> Bound {
    let Bound { at, depth, in_loop, .. } = of;
    Bound { op: Op::Joint(Joint::Order, vec![of]), at, depth, of: computed(Wide::I64), in_loop }
}

/// How many items the lists of a level have.
pub(super) fn sizes(of: Bound, level: usize) -> Bound {
    let Bound { at, in_loop, .. } = of;
    Bound { op: Op::Size(Box::new(of), level), at, depth: level, of: computed(Wide::I64), in_loop }
}

/// One whole number for each item.
pub(super) fn repeated(of: Bound, level: usize, whole: i64) -> Bound {
    let positions = positions(of, level);
    let Bound { at, depth, of: kind, in_loop, .. } = positions;
    let constant =
        |value| Bound { op: Op::Constant(Scalar::I64(value)), at, depth: 0, of: computed(Wide::I64), in_loop: false };
    let made = |op| Bound { op, at, depth, of: kind, in_loop };
    let zeros = made(Op::Binary(Binary::Multiply, Box::new(positions), Box::new(constant(0))));
    made(Op::Binary(Binary::Add, Box::new(zeros), Box::new(constant(whole))))
}

/// The lists of several numbers one after another; nothing if these are not of one level each, or texts.
pub(super) fn concat(at: usize, of: Vec<Bound>) -> Option<Bound> {
    if of.iter().any(|of| of.depth != 1) {
        return None;
    }
    let wides = of.iter().map(|of| of.number().map(Wide::of)).collect::<Option<Vec<_>>>()?;
    let wide = wides.into_iter().reduce(chosen)?;
    let kind = narrowest(wide, &of.iter().collect::<Vec<_>>());
    let in_loop = of.iter().any(|of| of.in_loop);
    Some(Bound { op: Op::Joint(Joint::Concat, of), at, depth: 1, of: kind, in_loop })
}
