//! Numbers of expressions: equal ones have the same, wherever they stand.

use std::collections::HashMap;
use std::fmt::Write as _;

use super::super::bound::{Bound, Op};

/// An operation, and the numbers of its parts.
type Key = (String, Vec<usize>);

/// Numbers of expressions: those of its parts are smaller than its own.
#[derive(Debug, Default)]
pub(super) struct Interner {
    numbers: HashMap<Key, usize>,
    pub(super) nodes: Vec<Interned>,
    /// Numbers by the addresses of expressions, which do not move.
    pub(super) by_address: HashMap<usize, usize>,
}

/// An expression with a number.
#[derive(Debug)]
pub(super) struct Interned {
    /// Its parts, by number.
    pub(super) parts: Vec<usize>,
    /// Whether a look at it costs next to nothing, or its value depends on the loop that it is in: each that needs it
    /// computes it.
    pub(super) is_own: bool,
    /// Whether it has a name: its time is counted.
    pub(super) is_named: bool,
    /// The place of its column, and whether pointers are followed.
    pub(super) column: Option<(usize, bool)>,
}

/// The address of an expression.
pub(super) fn address(of: &Bound) -> usize {
    std::ptr::from_ref(of).addr()
}

impl Interner {
    /// The number of an expression that does not move any more.
    pub(super) fn number(&mut self, of: &Bound) -> usize {
        if let Some(known) = self.by_address.get(&address(of)) {
            return *known;
        }
        let number = match &of.op {
            Op::Shared(shared) => self.number(&shared.bound),
            _ => {
                let parts: Vec<usize> = of.all_parts().into_iter().map(|part| self.number(part)).collect();
                self.of_key((shallow(of), parts), of)
            }
        };
        self.by_address.insert(address(of), number);
        number
    }

    fn of_key(&mut self, key: Key, of: &Bound) -> usize {
        if let Some(known) = self.numbers.get(&key) {
            return *known;
        }
        let number = self.nodes.len();
        let column = match &of.op {
            Op::Column(place, path) => Some((*place, path.follows)),
            _ => None,
        };
        let is_cheap = matches!(of.op, Op::Constant(_) | Op::Entries);
        self.nodes.push(Interned { parts: key.1.clone(), is_own: is_cheap || of.in_loop, is_named: false, column });
        self.numbers.insert(key, number);
        number
    }
}

/// An operation without its parts.
fn shallow(of: &Bound) -> String {
    let mut words = String::new();
    // Writing into a text cannot fail.
    let _ = match &of.op {
        Op::Constant(value) => write!(words, "constant {value:?}"),
        Op::Shared(_) => write!(words, "shared"),
        Op::Joint(joint, _) => write!(words, "joint {joint:?}"),
        Op::Column(place, path) => write!(words, "column {place} {path:?} {:?} {}", of.of, of.depth),
        Op::Unary(operator, _) => write!(words, "unary {operator:?}"),
        Op::Binary(operator, ..) => write!(words, "binary {operator:?}"),
        Op::Call(function, _) => write!(words, "call {function:?}"),
        Op::Choice(..) => write!(words, "choice"),
        Op::Pick { level, item, from_end, .. } => write!(words, "pick {level} {item} {from_end}"),
        Op::PickBy { level, .. } => write!(words, "pick by {level}"),
        Op::Slice { level, slice, .. } => write!(words, "slice {level} {slice:?}"),
        Op::Mask { level, .. } => write!(words, "mask {level}"),
        Op::Size(_, level) => write!(words, "size {level}"),
        Op::Length(_) => write!(words, "length"),
        Op::Count(_) => write!(words, "count"),
        Op::ReduceAll(reduction, _, condition) => write!(words, "all {reduction:?} {}", condition.is_some()),
        Op::ReduceInner(reduction, _) => write!(words, "inner {reduction:?}"),
        Op::Pairs(_, is_second) => write!(words, "pairs {is_second}"),
        Op::Alternative(..) => write!(words, "alternative"),
        Op::Entry => write!(words, "entry"),
        Op::Entries => write!(words, "entries"),
        Op::Iteration => write!(words, "iteration"),
        Op::LoopLength => write!(words, "loop length"),
    };
    words
}
