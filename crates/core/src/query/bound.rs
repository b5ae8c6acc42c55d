//! Values that can be computed, and their types.

use std::sync::Arc;

use super::compute::number_of;
use super::fault::fault;
use super::function::Function;
use super::index::Slice;
use super::joint::Joint;
use super::number::Wide;
use super::path::Path;
use super::reduce::Reduction;
use super::syntax::{Binary, Unary};
use super::value::{Of, Scalar};
use crate::column::Number;
use crate::error::Result;

/// A value that can be computed.
#[derive(Clone, Debug)]
pub(super) struct Bound {
    pub(super) op: Op,
    /// The byte of the expression that errors point at.
    pub(super) at: usize,
    /// Levels of lists.
    pub(super) depth: usize,
    pub(super) of: Of,
    /// Whether its value depends on the loop that it is in: `Iteration$`, `Length$`, `Alt$`.
    pub(super) in_loop: bool,
}

#[derive(Clone, Debug)]
pub(super) enum Op {
    Constant(Scalar),
    /// A column by its place in what is read, and the way down to the value.
    Column(usize, Path),
    Unary(Unary, Box<Bound>),
    Binary(Binary, Box<Bound>, Box<Bound>),
    Call(Function, Vec<Bound>),
    Choice(Box<Bound>, Box<Bound>, Box<Bound>),
    /// One item of each list of a level, counted from the end where it is negative and that is allowed.
    Pick {
        of: Box<Bound>,
        level: usize,
        item: i64,
        from_end: bool,
    },
    PickBy {
        of: Box<Bound>,
        level: usize,
        by: Box<Bound>,
    },
    Slice {
        of: Box<Bound>,
        level: usize,
        slice: Slice,
    },
    Mask {
        of: Box<Bound>,
        level: usize,
        mask: Box<Bound>,
    },
    /// How many items the lists of a level have.
    Size(Box<Bound>, usize),
    /// How many characters each text has.
    Length(Box<Bound>),
    /// How many innermost items an entry has.
    Count(Box<Bound>),
    /// Over all items of an entry, which may have to meet a condition.
    ReduceAll(Reduction, Box<Bound>, Option<Box<Bound>>),
    /// Over the innermost lists.
    ReduceInner(Reduction, Box<Bound>),
    /// The first or the second of each pair of items of a list.
    Pairs(Box<Bound>, bool),
    /// The first value where it is there, else the second.
    Alternative(Box<Bound>, Box<Bound>),
    /// Items of lists that are combined, joined or ordered.
    Joint(Joint, Vec<Bound>),
    /// A value that several others are computed from.
    Shared(Arc<Shared>),
    Entry,
    Entries,
    Iteration,
    LoopLength,
}

/// A value that is held once, and the answers that would otherwise need a walk through it.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) bound: Bound,
    /// The places of its columns, and of those whose pointers it follows, each once.
    columns: Vec<usize>,
    followed: Vec<usize>,
    loops: usize,
    masks: bool,
    picks: bool,
    may_lack: bool,
    size: u64,
    height: usize,
}

impl Bound {
    /// The values that it is computed of, in its own loop.
    pub(super) fn parts(&self) -> Vec<&Self> {
        match &self.op {
            Op::Unary(_, of) | Op::Length(of) | Op::Pairs(of, _) | Op::Size(of, _) | Op::ReduceInner(_, of) => vec![of],
            Op::Pick { of, .. } | Op::Slice { of, .. } => vec![of],
            Op::PickBy { of, by, .. } => vec![of, by],
            Op::Mask { of, mask, .. } => vec![of, mask],
            Op::Binary(_, a, b) => vec![a, b],
            Op::Choice(a, b, c) => vec![a, b, c],
            Op::Call(_, of) | Op::Joint(_, of) => of.iter().collect(),
            // The first value gives no loop its length.
            Op::Alternative(_, b) => vec![b],
            _ => Vec::new(),
        }
    }

    /// Holds the value once for all that are computed from it.
    pub(super) fn shared(self) -> Self {
        if matches!(self.op, Op::Shared(_) | Op::Constant(_)) {
            return self;
        }
        let Self { at, depth, of, in_loop, .. } = self;
        let mut columns = Vec::new();
        self.columns(&mut columns);
        let mut followed = Vec::new();
        self.followed(&mut followed);
        for places in [&mut columns, &mut followed] {
            places.sort_unstable();
            places.dedup();
        }
        let shared = Shared {
            columns,
            followed,
            loops: self.loops(),
            masks: self.masks(),
            picks: self.picks(),
            may_lack: self.may_lack(),
            size: self.size(),
            height: self.height(),
            bound: self,
        };
        Self { op: Op::Shared(Arc::new(shared)), at, depth, of, in_loop }
    }

    /// The value that it holds once for all that are computed from it, if it does.
    pub(super) fn held(&self) -> Option<&Self> {
        match &self.op {
            Op::Shared(shared) => Some(&shared.bound),
            _ => None,
        }
    }

    /// How many values are computed for it, each as often as it is needed.
    pub(super) fn size(&self) -> u64 {
        match &self.op {
            Op::Shared(shared) => shared.size,
            _ => self.all_parts().into_iter().map(Self::size).fold(1, u64::saturating_add),
        }
    }

    /// The depth of the expression, this value included: the number of nested calls that compute it.
    pub(super) fn height(&self) -> usize {
        match &self.op {
            Op::Shared(shared) => shared.height,
            _ => 1 + self.all_parts().into_iter().map(Self::height).max().unwrap_or(0),
        }
    }

    /// Whether it takes items of lists by a mask, whose lists have to be those of the same entry.
    pub(super) fn masks(&self) -> bool {
        match &self.op {
            Op::Mask { .. } => true,
            Op::Shared(shared) => shared.masks,
            _ => self.all_parts().into_iter().any(Self::masks),
        }
    }

    /// Whether it needs an item by a constant index.
    pub(super) fn picks(&self) -> bool {
        match &self.op {
            Op::Pick { .. } => true,
            Op::Shared(shared) => shared.picks,
            _ => self.parts().into_iter().any(Self::picks),
        }
    }

    /// The constant that it is.
    pub(super) fn constant(&self) -> Option<&Scalar> {
        match &self.op {
            Op::Constant(value) => Some(value),
            _ => None,
        }
    }

    /// Whether a type holds a number that is written down.
    fn fits(&self, number: Number) -> bool {
        if !Wide::of(number).is_whole() {
            return true;
        }
        let (value, sign) = match &self.op {
            Op::Constant(value) => (value, 1_i128),
            Op::Unary(Unary::Minus, of) => match &of.op {
                Op::Constant(value) => (value, -1),
                _ => return false,
            },
            _ => return false,
        };
        let value = sign
            * match value {
                Scalar::Bool(value) => i128::from(*value),
                Scalar::I64(value) => i128::from(*value),
                Scalar::U64(value) => i128::from(*value),
                Scalar::F64(_) | Scalar::Text(_) => return false,
            };
        let bits = 8 * number.bytes() as u32;
        let (least, most) = match number {
            Number::Bool => (0, 1),
            _ if number.is_unsigned() => (0, (1_i128 << bits) - 1),
            _ => (-(1_i128 << (bits - 1)), (1_i128 << (bits - 1)) - 1),
        };
        (least..=most).contains(&value)
    }

    /// Loops that are evaluated in each other because a value asks for its loop. Each takes twice the time.
    pub(super) fn loops(&self) -> usize {
        let own = match &self.op {
            Op::Shared(shared) => return shared.loops,
            Op::ReduceAll(_, of, condition) => of.in_loop || condition.as_ref().is_some_and(|of| of.in_loop),
            Op::Count(of) | Op::Size(of, _) => of.in_loop,
            _ => false,
        };
        usize::from(own) + self.all_parts().into_iter().map(Self::loops).max().unwrap_or(0)
    }

    /// Whether it is a number that is written down.
    fn is_constant(&self) -> bool {
        match &self.op {
            Op::Constant(_) => true,
            Op::Unary(_, of) => of.is_constant(),
            _ => false,
        }
    }

    /// Whether automatic bins are as wide as whole numbers: for columns of them and counts, and for nothing that is
    /// computed (`TTreeFormula::IsInteger`).
    pub(super) fn has_whole_bins(&self) -> bool {
        match &self.op {
            Op::Entry | Op::Entries | Op::Iteration | Op::LoopLength | Op::Count(_) => true,
            Op::Column(..) => matches!(self.of, Of::Number(number) if Wide::of(number).is_whole()),
            Op::Pick { of, .. } | Op::PickBy { of, .. } | Op::Slice { of, .. } | Op::Mask { of, .. } => {
                of.has_whole_bins()
            }
            Op::Alternative(of, _) => of.has_whole_bins(),
            Op::Joint(joint, of) => joint.counts() || joint.value(of).is_some_and(Self::has_whole_bins),
            Op::Shared(shared) => shared.bound.has_whole_bins(),
            _ => false,
        }
    }

    /// Whether it is true or false, and no weight.
    pub(super) fn is_condition(&self) -> bool {
        self.of == Of::Number(Number::Bool)
    }

    /// Adds the places of all columns that it needs, each as often as it is named.
    pub(super) fn columns(&self, into: &mut Vec<usize>) {
        match &self.op {
            Op::Column(place, _) => into.push(*place),
            Op::Shared(shared) => into.extend(&shared.columns),
            _ => {}
        }
        self.all_parts().into_iter().for_each(|part| part.columns(into));
    }

    /// The places of columns whose pointers it follows.
    pub(super) fn followed(&self, into: &mut Vec<usize>) {
        match &self.op {
            Op::Column(place, Path { follows: true, .. }) => into.push(*place),
            Op::Shared(shared) => into.extend(&shared.followed),
            _ => {}
        }
        self.all_parts().into_iter().for_each(|part| part.followed(into));
    }

    /// Whether values of it may be absent because those of a column are.
    pub(super) fn may_lack(&self) -> bool {
        match &self.op {
            Op::Column(_, path) => path.may_lack,
            Op::Size(..) => false,
            Op::Shared(shared) => shared.may_lack,
            Op::Joint(Joint::Optional, _) => true,
            Op::ReduceInner(reduction, of) => reduction.may_have_none() && of.may_lack(),
            _ => self.parts().into_iter().any(Self::may_lack),
        }
    }

    /// The values that it is computed of, those of inner loops, too.
    pub(super) fn all_parts(&self) -> Vec<&Self> {
        match &self.op {
            Op::Alternative(a, b) => vec![a, b],
            Op::Count(of) => vec![of],
            Op::ReduceAll(_, of, condition) => std::iter::once(of).chain(condition).map(|of| &**of).collect(),
            _ => self.parts(),
        }
    }

    /// The type of a column of such values.
    pub(super) fn number(&self) -> Option<Number> {
        match self.of {
            Of::Number(number) => Some(number),
            Of::Text => None,
        }
    }
}

/// The depth of what some values are computed to, and whether that depends on its loop.
pub(super) fn loop_of(values: &[&Bound]) -> (usize, bool) {
    (values.iter().map(|value| value.depth).max().unwrap_or(0), values.iter().any(|value| value.in_loop))
}

/// Numbers in the type that they are computed in.
pub(super) fn computed(wide: Wide) -> Of {
    Of::Number(number_of(wide))
}

/// The type of a column that is computed of others: fractions of 32 bits only stay such, as in NumPy, and whole
/// numbers get 64 bits, so that no sum is too large.
pub(super) fn of_values(wide: Wide, of: &[&Bound]) -> Of {
    match narrowest(wide, of) {
        Of::Number(Number::F32) => Of::Number(Number::F32),
        _ => computed(wide),
    }
}

/// The narrowest type that holds the values of some columns, as NumPy joins them. Constants have no say.
pub(super) fn narrowest(wide: Wide, of: &[&Bound]) -> Of {
    let numbers = of.iter().filter(|of| !of.is_constant()).filter_map(|of| of.number());
    let joined = numbers.map(Some).reduce(|a, b| join(a?, b?)).flatten();
    let constants = || of.iter().filter(|of| of.is_constant());
    let holds = |number: &Number| constants().all(|constant| constant.fits(*number));
    match joined.filter(|number| Wide::of(*number) == wide).filter(holds) {
        Some(number) => Of::Number(number),
        None => computed(wide),
    }
}

/// The narrower of the types that hold two; none where only a wide one does.
fn join(a: Number, b: Number) -> Option<Number> {
    let is_small = |number: Number| number.bytes() <= 2;
    match (a, b) {
        (a, b) if a == b => Some(a),
        (Number::F32, b) | (b, Number::F32) => (Wide::of(b).is_whole() && is_small(b)).then_some(Number::F32),
        (Number::F64, _) | (_, Number::F64) => Some(Number::F64),
        (a, b) if a.is_unsigned() == b.is_unsigned() => Some(if a.bytes() >= b.bytes() { a } else { b }),
        _ => None,
    }
}

/// The type of numbers; texts are refused.
pub(super) fn number(text: &str, value: &Bound) -> Result<Wide> {
    match value.of {
        Of::Number(number) => Ok(Wide::of(number)),
        Of::Text => Err(fault(text, value.at, "this is a text, and a number is needed; texts can be compared")),
    }
}
