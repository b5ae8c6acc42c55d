//! The rows of some columns, held for batches.

use std::ops::Range;

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
    /// Which row comes at which place; none if they come as they are.
    order: Option<Vec<u32>>,
    pub(super) parts: Vec<Part>,
    not_finite: Vec<Vec<u64>>,
}

/// What a field holds.
#[derive(Debug)]
pub(super) enum Part {
    Numbers(Numbers),
    Lists(Lists),
    Padded(Lists, Padding),
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
    /// The rows of some columns. With `order`, they are taken in that order; columns that are joined to a matrix are
    /// joined now, on the threads of the session.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](crate::ErrorKind::Mismatch) for columns that hold other things than numbers and lists of them, for
    /// columns with different numbers of rows, and for an order of other rows.
    pub fn new(session: &Session, fields: &[Field], order: Option<Vec<u32>>) -> Result<Self> {
        let (mut parts, mut not_finite) = (Vec::with_capacity(fields.len()), Vec::with_capacity(fields.len()));
        for field in fields {
            let (part, count) = match field {
                Field::Numbers(inputs) => {
                    let source = |input: &Input| Source::new(input, &input.pieces);
                    let sources = inputs.iter().map(source).collect::<Result<Vec<_>>>()?;
                    let (numbers, counts) = Numbers::new(session, sources, order.is_some())?;
                    (Part::Numbers(numbers), counts)
                }
                Field::Lists(lists) => {
                    let (lists, count) = Lists::new(session, lists)?;
                    (Part::Lists(lists), vec![count])
                }
                Field::Padded { lists, width, fill } => {
                    let (lists, count) = Lists::new(session, lists)?;
                    let padding = Padding::new(*width, fill.clone(), lists.item_bytes)?;
                    (Part::Padded(lists, padding), vec![count])
                }
            };
            parts.push(part);
            not_finite.push(count);
        }
        let len = fields.first().map_or(0, rows_of);
        if fields.iter().any(|field| rows_of(field) != len) || u32::try_from(len).is_err() {
            return Err(Error::mismatch("columns of batches have different numbers of rows"));
        }
        if let Some(order) = &order
            && (order.len() != len || order.iter().any(|&row| row as usize >= len))
        {
            return Err(
                Error::mismatch("an order of rows has others than there are").wanted(len as u64, order.len() as u64)
            );
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

/// The rows of a field.
fn rows_of(field: &Field) -> usize {
    let of = |input: &Input| input.pieces.iter().map(|piece| piece.len).sum();
    match field {
        Field::Numbers(inputs) => inputs.first().map_or(0, of),
        Field::Lists(lists) | Field::Padded { lists, .. } => of(lists),
    }
}
