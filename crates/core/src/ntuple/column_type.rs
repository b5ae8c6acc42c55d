//! How elements of a column are stored.
//!
//! Source: `ROOT::ENTupleColumnType`, `RColumnElement`.

use std::fmt;

use crate::column::Number;
use crate::error::{Error, Result};

/// Storage type of a column.
///
/// # Example
///
/// ```
/// use sapwood::ntuple::ColumnType;
/// assert_eq!((ColumnType::SplitReal32.to_string(), ColumnType::SplitReal32.code()), ("SplitReal32".into(), 0x18));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names are the format's")]
#[repr(u16)]
pub enum ColumnType {
    Bit = 0x00,
    Byte = 0x01,
    Char = 0x02,
    Int8 = 0x03,
    UInt8 = 0x04,
    Int16 = 0x05,
    UInt16 = 0x06,
    Int32 = 0x07,
    UInt32 = 0x08,
    Int64 = 0x09,
    UInt64 = 0x0a,
    Real16 = 0x0b,
    Real32 = 0x0c,
    Real64 = 0x0d,
    Index32 = 0x0e,
    Index64 = 0x0f,
    Switch = 0x10,
    SplitInt16 = 0x11,
    SplitUInt16 = 0x12,
    SplitInt32 = 0x13,
    SplitUInt32 = 0x14,
    SplitInt64 = 0x15,
    SplitUInt64 = 0x16,
    SplitReal16 = 0x17,
    SplitReal32 = 0x18,
    SplitReal64 = 0x19,
    SplitIndex32 = 0x1a,
    SplitIndex64 = 0x1b,
    Real32Trunc = 0x1c,
    Real32Quant = 0x1d,
}

use ColumnType::{
    Bit, Byte, Char, Index32, Index64, Int8, Int16, Int32, Int64, Real16, Real32, Real32Quant, Real32Trunc, Real64,
    SplitIndex32, SplitIndex64, SplitInt16, SplitInt32, SplitInt64, SplitReal16, SplitReal32, SplitReal64, SplitUInt16,
    SplitUInt32, SplitUInt64, Switch, UInt8, UInt16, UInt32, UInt64,
};

/// All types, in the order of their codes.
const ALL: [ColumnType; 30] = [
    Bit,
    Byte,
    Char,
    Int8,
    UInt8,
    Int16,
    UInt16,
    Int32,
    UInt32,
    Int64,
    UInt64,
    Real16,
    Real32,
    Real64,
    Index32,
    Index64,
    Switch,
    SplitInt16,
    SplitUInt16,
    SplitInt32,
    SplitUInt32,
    SplitInt64,
    SplitUInt64,
    SplitReal16,
    SplitReal32,
    SplitReal64,
    SplitIndex32,
    SplitIndex64,
    Real32Trunc,
    Real32Quant,
];

/// Types that store the same elements: one after another, and split.
const TWINS: [(ColumnType, ColumnType); 10] = [
    (Int16, SplitInt16),
    (UInt16, SplitUInt16),
    (Int32, SplitInt32),
    (UInt32, SplitUInt32),
    (Int64, SplitInt64),
    (UInt64, SplitUInt64),
    (Real32, SplitReal32),
    (Real64, SplitReal64),
    (Index32, SplitIndex32),
    (Index64, SplitIndex64),
];

/// How the bits of an element are arranged in a page, before compression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrangement {
    /// Elements one after another.
    Plain,
    /// First all lowest bytes, then all next ones, and so on.
    Split,
    /// Zigzag, then split.
    ZigzagSplit,
    /// Differences to the element before, then split.
    DeltaSplit,
    /// Bits one after another, lowest first.
    Bits,
}

impl ColumnType {
    /// The format's number for it.
    pub fn code(self) -> u16 {
        self as u16
    }

    /// The type of a number; none for types to come.
    pub(crate) fn of_code(code: u16) -> Option<Self> {
        ALL.get(usize::from(code)).copied()
    }

    /// Bits of an element; the column says where there is a choice.
    pub(crate) fn check_bits(self, bits: u16) -> Result<()> {
        let fits = match self {
            Bit => bits == 1,
            Byte | Char | Int8 | UInt8 => bits == 8,
            Int16 | UInt16 | SplitInt16 | SplitUInt16 | Real16 | SplitReal16 => bits == 16,
            Int32 | UInt32 | SplitInt32 | SplitUInt32 | Real32 | SplitReal32 | Index32 | SplitIndex32 => bits == 32,
            Int64 | UInt64 | SplitInt64 | SplitUInt64 | Real64 | SplitReal64 | Index64 | SplitIndex64 => bits == 64,
            Switch => bits == 96,
            Real32Trunc => (10..=31).contains(&bits),
            Real32Quant => (1..=32).contains(&bits),
        };
        if fits { Ok(()) } else { Err(Error::malformed(format!("a column of type {self} cannot have {bits} bits"))) }
    }

    /// Bits of an element, where the type determines them.
    pub(crate) fn bits(self) -> u16 {
        match self {
            Bit => 1,
            Byte | Char | Int8 | UInt8 => 8,
            Int16 | UInt16 | SplitInt16 | SplitUInt16 | Real16 | SplitReal16 => 16,
            Int64 | UInt64 | SplitInt64 | SplitUInt64 | Real64 | SplitReal64 | Index64 | SplitIndex64 => 64,
            Switch => 96,
            _ => 32,
        }
    }

    /// How its elements are arranged.
    pub(crate) fn arrangement(self) -> Arrangement {
        match self {
            SplitInt16 | SplitInt32 | SplitInt64 => Arrangement::ZigzagSplit,
            SplitUInt16 | SplitUInt32 | SplitUInt64 | SplitReal16 | SplitReal32 | SplitReal64 => Arrangement::Split,
            SplitIndex32 | SplitIndex64 => Arrangement::DeltaSplit,
            Bit | Real32Trunc | Real32Quant => Arrangement::Bits,
            _ => Arrangement::Plain,
        }
    }

    /// Type of its elements in memory; none for a switch.
    pub(crate) fn number(self) -> Option<Number> {
        Some(match self {
            Bit => Number::Bool,
            Byte | UInt8 => Number::U8,
            Char | Int8 => Number::I8,
            Int16 | SplitInt16 => Number::I16,
            UInt16 | SplitUInt16 => Number::U16,
            Int32 | SplitInt32 => Number::I32,
            UInt32 | SplitUInt32 | Index32 | SplitIndex32 => Number::U32,
            Int64 | SplitInt64 => Number::I64,
            UInt64 | SplitUInt64 | Index64 | SplitIndex64 => Number::U64,
            Real16 | SplitReal16 | Real32 | SplitReal32 | Real32Trunc | Real32Quant => Number::F32,
            Real64 | SplitReal64 => Number::F64,
            Switch => return None,
        })
    }

    /// Type of its elements where none of their bits is to be lost: quantised numbers are computed in double precision.
    pub(crate) fn stored_number(self) -> Option<Number> {
        if self == Real32Quant { Some(Number::F64) } else { self.number() }
    }

    /// The type that stores the same elements split, where compression gains by it; itself where there is none.
    pub(crate) fn split(self) -> Self {
        TWINS.into_iter().find(|&(plain, _)| plain == self).map_or(self, |(_, split)| split)
    }

    /// The type that stores the same elements as they are in memory; itself where there is none.
    pub(crate) fn plain(self) -> Self {
        TWINS.into_iter().find(|&(_, split)| split == self).map_or(self, |(plain, _)| plain)
    }

    /// Whether it stores every value that another type stores, so that nothing is lost on the way. Bits and ranges of
    /// both are to be the same where types alone do not tell.
    pub(crate) fn holds(self, other: Self) -> bool {
        match self.plain() {
            plain if plain == other.plain() => true,
            Index64 => other.is_index(),
            Real32 => matches!(other, Real16 | SplitReal16 | Real32Trunc),
            Real64 => matches!(other.number(), Some(Number::F32)),
            _ => false,
        }
    }

    /// Whether it holds the ends of lists.
    pub(crate) fn is_index(self) -> bool {
        matches!(self, Index32 | Index64 | SplitIndex32 | SplitIndex64)
    }
}

impl fmt::Display for ColumnType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_places_in_the_table() {
        assert!(ALL.iter().enumerate().all(|(code, kind)| usize::from(kind.code()) == code));
        assert_eq!(ColumnType::of_code(0x1e), None);
    }
}
