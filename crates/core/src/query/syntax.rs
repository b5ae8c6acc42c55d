//! Expressions as they are written.

use std::ops::Range;

/// An expression, and the bytes that it is written with.
#[derive(Clone, Debug)]
pub(super) struct Expr {
    pub(super) node: Node,
    pub(super) span: Range<usize>,
    /// Whether brackets are around it.
    pub(super) bracketed: bool,
    /// Expressions in each other, this one included.
    pub(super) height: usize,
}

#[derive(Clone, Debug)]
pub(super) enum Node {
    Whole(u64),
    Fraction(f64),
    Text(String),
    Name(String),
    /// `of.name`
    Member(Box<Expr>, String),
    /// `of[...]`
    Index(Box<Expr>, Vec<Item>),
    /// `@of`, with or without `.size()`: the list itself instead of its items.
    Size(Box<Expr>),
    /// `of.size()`, `of.length()`: of a list its items, of texts the characters of each.
    Length(Box<Expr>),
    Call(String, Vec<Expr>),
    Unary(Unary, Box<Expr>),
    Binary(Binary, Box<Expr>, Box<Expr>),
    /// `condition ? yes : no`
    Choice(Box<Expr>, Box<Expr>, Box<Expr>),
}

/// What stands between the brackets of an index.
#[derive(Clone, Debug)]
pub(super) enum Item {
    /// Nothing: all items.
    All,
    One(Expr),
    Slice {
        from: Option<Expr>,
        to: Option<Expr>,
        step: Option<Expr>,
    },
    /// `...`
    Rest,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unary {
    Plus,
    Minus,
    /// `!`
    Not,
    /// `~`
    Invert,
    /// `(int)`, `(double)` and others.
    Cast(super::number::Cast),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Binary {
    Or,
    And,
    BitOr,
    BitAnd,
    Equal,
    Unequal,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    ShiftLeft,
    ShiftRight,
    Add,
    Subtract,
    Multiply,
    Divide,
    FloorDivide,
    Remainder,
    /// `**`
    Power,
    /// `^`: a power in ROOT, an exclusive or in Python.
    Caret,
}

impl Binary {
    /// The operator that a sign means between two values.
    pub(super) fn of_sign(sign: &str) -> Option<Self> {
        Some(match sign {
            "||" => Self::Or,
            "&&" => Self::And,
            "|" => Self::BitOr,
            "&" => Self::BitAnd,
            "==" => Self::Equal,
            "!=" => Self::Unequal,
            "<" => Self::Less,
            "<=" => Self::LessEqual,
            ">" => Self::Greater,
            ">=" => Self::GreaterEqual,
            "<<" => Self::ShiftLeft,
            ">>" => Self::ShiftRight,
            "+" => Self::Add,
            "-" => Self::Subtract,
            "*" => Self::Multiply,
            "/" => Self::Divide,
            "//" => Self::FloorDivide,
            "%" => Self::Remainder,
            "**" => Self::Power,
            "^" => Self::Caret,
            _ => return None,
        })
    }

    /// How tightly it binds, as in C; powers bind tightest.
    pub(super) fn strength(self) -> u8 {
        match self {
            Self::Or => 1,
            Self::And => 2,
            Self::BitOr => 3,
            Self::BitAnd => 4,
            Self::Equal | Self::Unequal => 5,
            Self::Less | Self::LessEqual | Self::Greater | Self::GreaterEqual => 6,
            Self::ShiftLeft | Self::ShiftRight => 7,
            Self::Add | Self::Subtract => 8,
            Self::Multiply | Self::Divide | Self::FloorDivide | Self::Remainder => 9,
            Self::Power | Self::Caret => POWER,
        }
    }

    pub(super) fn is_comparison(self) -> bool {
        matches!(self.strength(), 5 | 6)
    }

    pub(super) fn is_bitwise(self) -> bool {
        matches!(self, Self::BitOr | Self::BitAnd)
    }
}

/// The strength of powers. Signs before a value bind less: `-x**2` is `-(x**2)`.
pub(super) const POWER: u8 = 10;

impl Node {
    /// The height of the highest part.
    pub(super) fn height(&self) -> usize {
        let of_item = |item: &Item| match item {
            Item::All | Item::Rest => 0,
            Item::One(one) => one.height,
            Item::Slice { from, to, step } => {
                [from, to, step].into_iter().flatten().map(|part| part.height).max().unwrap_or(0)
            }
        };
        match self {
            Self::Whole(_) | Self::Fraction(_) | Self::Text(_) | Self::Name(_) => 0,
            Self::Member(of, _) | Self::Size(of) | Self::Length(of) | Self::Unary(_, of) => of.height,
            Self::Index(of, items) => items.iter().map(of_item).max().unwrap_or(0).max(of.height),
            Self::Call(_, of) => of.iter().map(|of| of.height).max().unwrap_or(0),
            Self::Binary(_, a, b) => a.height.max(b.height),
            Self::Choice(a, b, c) => a.height.max(b.height).max(c.height),
        }
    }
}

impl Expr {
    /// The operator that joins its two sides, unless brackets are around it.
    pub(super) fn open_operator(&self) -> Option<Binary> {
        match &self.node {
            Node::Binary(operator, ..) if !self.bracketed => Some(*operator),
            _ => None,
        }
    }
}
