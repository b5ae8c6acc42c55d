//! The parts of a batch: what they are made of.

use bytes::Bytes;

use super::convert::{Cells, Conversion, NumberType, not_finite};
use crate::column::{Kind, Number};
use crate::error::{Error, Result};
use crate::read::Column;

/// A column of a batch: its pieces, one after another, and what happens to its numbers.
#[derive(Clone, Debug, Default)]
pub struct Input {
    /// Columns of the same shape, one for each file, for instance. Their numbers may differ if `to` names a type.
    pub pieces: Vec<Column>,
    /// The type of its numbers in batches.
    pub to: NumberType,
    /// A mean that is subtracted, and a width to divide by: in double precision. As stored, whole numbers become
    /// `float64` then.
    pub scale: Option<(f64, f64)>,
}

/// A part of a batch.
#[derive(Clone, Debug)]
pub enum Field {
    /// Rows of numbers: of one column, or of several side by side.
    Numbers(Vec<Input>),
    /// Lists of different lengths.
    Lists(Input),
    /// Lists that are cut or filled up.
    Padded {
        /// The lists.
        lists: Input,
        /// Items of each.
        width: usize,
        /// The bytes of the number that fills up shorter lists.
        fill: Vec<u8>,
    },
}

/// The form of a field in batches: rows of equal forms can be in one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Form {
    /// Of each column the type of its numbers, the stored one if it stays, and the numbers of a row or an item.
    columns: Vec<(NumberType, Option<Number>, usize)>,
    is_list: bool,
    padding: Option<(usize, Vec<u8>)>,
}

impl Field {
    /// The form of the field in batches.
    pub(super) fn form(&self) -> Result<Form> {
        Ok(match self {
            Self::Numbers(inputs) => {
                let column = |input: &Input| input.form(input.first()?);
                let columns = inputs.iter().map(column).collect::<Result<_>>()?;
                Form { columns, is_list: false, padding: None }
            }
            Self::Lists(lists) => {
                Form { columns: vec![lists.form(&lists.first()?.items()?)?], is_list: true, padding: None }
            }
            Self::Padded { lists, width, fill } => Form {
                columns: vec![lists.form(&lists.first()?.items()?)?],
                is_list: true,
                padding: Some((*width, fill.clone())),
            },
        })
    }
}

impl Input {
    fn first(&self) -> Result<&Column> {
        self.pieces.first().ok_or_else(|| Error::mismatch("a column of batches has no pieces"))
    }

    fn form(&self, column: &Column) -> Result<(NumberType, Option<Number>, usize)> {
        let (number, width, _) = shape(&column.kind)?;
        let to = self.to_of(number);
        Ok((to, (to == NumberType::AsStored).then_some(number), width))
    }

    /// The type of its numbers in batches, if they are stored as `number`.
    fn to_of(&self, number: Number) -> NumberType {
        match self.to {
            NumberType::AsStored if self.scale.is_some() && number == Number::F32 => NumberType::F32,
            NumberType::AsStored if self.scale.is_some() => NumberType::F64,
            to => to,
        }
    }
}

/// Rows of one piece of a column.
#[derive(Debug)]
pub(super) struct Piece {
    /// Its first row, of all pieces.
    pub(super) first: usize,
    pub(super) rows: usize,
    /// Numbers of all rows, and nothing else.
    pub(super) bytes: Bytes,
    pub(super) number: Number,
    /// Numbers of a row.
    pub(super) width: usize,
}

impl Piece {
    /// Bytes of a row.
    pub(super) fn row_bytes(&self) -> usize {
        self.width * self.number.bytes()
    }

    /// Some of its rows, and their place in batches.
    pub(super) fn cells<'a>(&self, source: &'a [u8], at: usize, conversion: Conversion) -> Cells<'a> {
        Cells { source, number: self.number, width: self.width, at, conversion }
    }
}

/// Numbers of a column with one row after another.
#[derive(Debug)]
pub(super) struct Source {
    pub(super) pieces: Vec<Piece>,
    pub(super) conversion: Conversion,
    /// Bytes of a row in batches.
    pub(super) bytes: usize,
}

impl Source {
    /// The numbers of all pieces; rows of lists are their items.
    pub(super) fn new(input: &Input, columns: &[Column]) -> Result<Self> {
        let mut pieces: Vec<Piece> = Vec::with_capacity(columns.len());
        for column in columns {
            let (number, width, buffer) = shape(&column.kind)?;
            let bytes = column.buffer(buffer);
            let size = column.len.checked_mul(width * number.bytes()).filter(|size| *size <= bytes.len());
            let size = size.ok_or_else(|| Error::mismatch("a column of batches has fewer numbers than rows"))?;
            let bytes = bytes.slice(..size);
            let first = pieces.last().map_or(0, |last| last.first + last.rows);
            pieces.push(Piece { first, rows: column.len, bytes, number, width });
        }
        let Some(first) = pieces.first() else { return Err(Error::mismatch("a column of batches has no pieces")) };
        let conversion = Conversion { to: input.to_of(first.number), scale: input.scale };
        let differ = |piece: &Piece| {
            piece.width != first.width || (conversion.to == NumberType::AsStored && piece.number != first.number)
        };
        if pieces.iter().any(differ) {
            return Err(Error::mismatch("the pieces of a column have different types"));
        }
        let bytes = first.width * conversion.to.bytes(first.number);
        Ok(Self { pieces, conversion, bytes })
    }

    /// Its rows.
    pub(super) fn rows(&self) -> usize {
        self.pieces.last().map_or(0, |last| last.first + last.rows)
    }

    /// Its memory, if that is a single one and stays as it is.
    pub(super) fn as_it_is(&self) -> Option<Bytes> {
        match &self.pieces[..] {
            [piece] if self.conversion.is_none() => Some(piece.bytes.clone()),
            _ => None,
        }
    }

    /// How many of its numbers are infinite or none.
    pub(super) fn not_finite(&self) -> u64 {
        self.pieces.iter().map(|piece| not_finite(piece.number, &piece.bytes)).sum()
    }
}

/// The numbers of a row: their type, how many, and their buffer.
fn shape(kind: &Kind) -> Result<(Number, usize, u32)> {
    match kind {
        Kind::Number { buffer, number } => Ok((*number, 1, *buffer)),
        Kind::Fixed { len, item } => {
            let (number, width, buffer) = shape(item)?;
            let width = width.checked_mul(*len).filter(|width| *width < 1 << 40);
            Ok((number, width.ok_or_else(|| Error::mismatch("a row has too many numbers"))?, buffer))
        }
        other => Err(Error::mismatch(format!("batches take numbers and lists of numbers, not {other}"))),
    }
}
