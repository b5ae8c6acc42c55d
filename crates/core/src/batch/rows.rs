//! The rows of some columns, held for batches.

use std::ops::Range;

use super::deal::Deal;
use super::field::{Field, Input, Source};
use super::lists::{Lists, Padding};
use super::numbers::Numbers;
use crate::error::{Error, Result};
use crate::session::Session;

/// Rows from which batches are [taken](super::take).
///
/// # Example
///
/// ```
/// use sapwood::batch::{Field, Input, NumberType, Rows};
/// use sapwood::read::Column;
/// let session = sapwood::Session::with_threads(1);
/// let input = |column| Input { pieces: vec![column], to: NumberType::F64, scale: None };
/// let columns = [Column::from_numbers(&[1_i32, 2, 3]), Column::from_numbers(&[0.5_f32, f32::NAN, 1.5])];
/// let matrix = Field::Numbers(columns.map(input).into());
/// let rows = Rows::new(&session, &[matrix], None)?;
/// assert_eq!((rows.len(), rows.is_empty()), (3, false));
/// assert_eq!(rows.not_finite(), [[0, 1]]);
/// assert_eq!(rows.memory_bytes(), 3 * (4 + 4));
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Debug)]
pub struct Rows {
    len: usize,
    /// The row at each place; none if they come as they are.
    order: Option<Vec<u32>>,
    pub(super) parts: Vec<Part>,
    not_finite: Vec<Vec<u64>>,
}

/// The rows of a field.
#[derive(Debug)]
pub(super) enum Part {
    Numbers(Numbers),
    Lists(Lists),
    Padded(Lists, Padding),
}

/// The columns of a field, before its rows are put side by side.
enum Found {
    Numbers(Vec<Source>),
    Lists(Lists, u64),
    Padded(Lists, Padding, u64),
}

impl Found {
    fn new(session: &Session, field: &Field) -> Result<Self> {
        Ok(match field {
            Field::Numbers(inputs) => {
                let source = |input: &Input| Source::new(input, &input.pieces);
                Self::Numbers(inputs.iter().map(source).collect::<Result<_>>()?)
            }
            Field::Lists(lists) => {
                let (lists, count) = Lists::new(session, lists)?;
                Self::Lists(lists, count)
            }
            Field::Padded { lists, width, fill } => {
                let (lists, count) = Lists::new(session, lists)?;
                let padding = Padding::new(*width, fill.clone(), lists.item_bytes)?;
                Self::Padded(lists, padding, count)
            }
        })
    }

    /// Bytes of a row, on average.
    fn row_bytes(&self, rows: usize) -> usize {
        match self {
            Self::Numbers(sources) => sources.iter().map(|source| source.bytes).sum(),
            Self::Lists(lists, _) | Self::Padded(lists, ..) => lists.memory_bytes().div_ceil(rows.max(1)),
        }
    }
}

impl Part {
    fn memory_bytes(&self) -> usize {
        match self {
            Self::Numbers(numbers) => numbers.memory_bytes(),
            Self::Lists(lists) | Self::Padded(lists, _) => lists.memory_bytes(),
        }
    }
}

impl Rows {
    /// The rows of some columns. With `order`, which has each row once, they are taken in that order: they are copied
    /// now, so that rows of adjacent places are close together, on the threads of the session.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](crate::ErrorKind::Mismatch) for columns that hold other things than numbers and lists of them, for
    /// columns with different numbers of rows, and for an order of other rows.
    pub fn new(session: &Session, fields: &[Field], order: Option<Vec<u32>>) -> Result<Self> {
        let len = fields.first().map_or(0, rows_of);
        if fields.iter().any(|field| rows_of(field) != len) || u32::try_from(len).is_err() {
            return Err(Error::mismatch("columns of batches have different numbers of rows"));
        }
        if let Some(order) = &order
            && order.len() != len
        {
            let error = Error::mismatch("an order has other rows than the columns");
            return Err(error.wanted(len as u64, order.len() as u64));
        }
        let found = fields.iter().map(|field| Found::new(session, field)).collect::<Result<Vec<_>>>()?;
        let mut order = order;
        let row_bytes = found.iter().map(|found| found.row_bytes(len)).sum();
        let deal = match &mut order {
            Some(order) => Deal::new(session, order, row_bytes)?,
            None => None,
        };
        let mut parts = Vec::with_capacity(fields.len());
        let mut not_finite = Vec::with_capacity(fields.len());
        let dealt = |lists: Lists| match &deal {
            Some(deal) => lists.dealt(session, deal, len),
            None => Ok(lists),
        };
        for found in found {
            let (part, count) = match found {
                Found::Numbers(sources) => {
                    let (numbers, counts) = Numbers::new(session, sources, order.is_some(), deal.as_ref())?;
                    (Part::Numbers(numbers), counts)
                }
                Found::Lists(lists, count) => (Part::Lists(dealt(lists)?), vec![count]),
                Found::Padded(lists, padding, count) => (Part::Padded(dealt(lists)?, padding), vec![count]),
            };
            parts.push(part);
            not_finite.push(count);
        }
        Ok(Self { len, order, parts, not_finite })
    }

    /// Its rows.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bytes of memory.
    pub fn memory_bytes(&self) -> usize {
        let order = self.order.as_ref().map_or(0, |order| size_of_val(&order[..]));
        order + self.parts.iter().map(Part::memory_bytes).sum::<usize>()
    }

    /// How many numbers of each column of each field are infinite or none.
    pub fn not_finite(&self) -> &[Vec<u64>] {
        &self.not_finite
    }

    /// The rows at some places of the order; none if they are these places.
    pub(super) fn at(&self, places: Range<usize>) -> Option<&[u32]> {
        self.order.as_ref().map(|order| order.get(places).unwrap_or_default())
    }
}

/// How many rows a field has.
fn rows_of(field: &Field) -> usize {
    let of = |input: &Input| input.pieces.iter().map(|piece| piece.len).sum();
    match field {
        Field::Numbers(inputs) => inputs.first().map_or(0, of),
        Field::Lists(lists) | Field::Padded { lists, .. } => of(lists),
    }
}
