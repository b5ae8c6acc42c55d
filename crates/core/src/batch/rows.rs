//! The rows of some columns, held for batches.

use std::ops::Range;

use super::deal::Deal;
use super::field::{Field, Form, Input, Source};
use super::lists::{Lists, Padding};
use super::numbers::Numbers;
use super::shuffle::Shuffle;
use super::threads::each;
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
    order: Order,
    /// The fields of rows that were read together; several of these if rows are shuffled.
    pub(super) pieces: Vec<Vec<Part>>,
    not_finite: Vec<Vec<u64>>,
}

/// The row at each place.
#[derive(Debug)]
enum Order {
    /// They come as they are.
    AsRead,
    Given(Vec<u32>),
    /// Of each piece the first row of each bucket, and the number of all of its rows.
    Shuffled(Shuffle, Vec<Vec<usize>>),
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
        let len = common_rows(fields)?;
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
            Some(order) => Deal::of_order(session, order, row_bytes)?,
            None => None,
        };
        let (parts, not_finite) = parts(session, found, order.is_some(), deal.as_ref(), len)?;
        let order = order.map_or(Order::AsRead, Order::Given);
        Ok(Self { len, order, pieces: vec![parts], not_finite })
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
        let order = if let Order::Given(order) = &self.order { size_of_val(&order[..]) } else { 0 };
        order + self.pieces.iter().flatten().map(Part::memory_bytes).sum::<usize>()
    }

    /// How many numbers of each column of each field are infinite or none.
    pub fn not_finite(&self) -> &[Vec<u64>] {
        &self.not_finite
    }

    /// The rows at some places.
    pub(super) fn at(&self, session: &Session, places: Range<usize>) -> At<'_> {
        match &self.order {
            Order::AsRead => At::Run(places),
            Order::Given(order) => At::Given(order.get(places).unwrap_or_default()),
            Order::Shuffled(shuffle, starts) => shuffled(session, *shuffle, starts, &places),
        }
    }
}

/// The rows at some places.
pub(super) enum At<'a> {
    /// These places are the rows.
    Run(Range<usize>),
    /// Rows of the only piece.
    Given(&'a [u32]),
    /// The number of a piece and a row of it, for each place; and the buckets in which they are.
    Shuffled(Vec<(u32, u32)>, Vec<Bucket>),
}

/// A bucket from which rows are taken.
pub(super) struct Bucket {
    /// How many.
    pub(super) taken: usize,
    /// All of its rows: those of each piece.
    pub(super) rows: Vec<(u32, Range<usize>)>,
}

/// Makes the order of the buckets that have some places.
fn shuffled<'a>(session: &Session, shuffle: Shuffle, starts: &[Vec<usize>], places: &Range<usize>) -> At<'a> {
    let (mut wanted, mut buckets, mut end) = (Vec::new(), Vec::new(), 0);
    for bucket in 0..shuffle.buckets() {
        let rows = |starts: &Vec<usize>| match starts.get(bucket..bucket + 2) {
            Some([start, stop]) => *start..*stop,
            _ => 0..0,
        };
        let pieces: Vec<(u32, Range<usize>)> = (0..).zip(starts.iter().map(rows)).collect();
        let start = end;
        end += pieces.iter().map(|(_, rows)| rows.len()).sum::<usize>();
        let inside = places.start.max(start)..places.end.min(end);
        if !inside.is_empty() {
            buckets.push(Bucket { taken: inside.len(), rows: pieces.clone() });
            wanted.push((bucket, pieces, inside.start - start..inside.end - start));
        }
    }
    let rows = each(session, wanted, |(bucket, pieces, inside)| {
        // The number of rows was compared with this type.
        let of = |(piece, rows): (u32, Range<usize>)| rows.map(move |row| (piece, row as u32));
        let mut rows: Vec<(u32, u32)> = pieces.into_iter().flat_map(of).collect();
        shuffle.shuffle(bucket, &mut rows);
        rows.truncate(inside.end);
        rows.drain(..inside.start);
        rows
    });
    At::Shuffled(rows.concat(), buckets)
}

/// Shuffled rows that are read in several pieces: each is dealt to buckets as it comes, so that its columns need no
/// memory any more when the next one is read. A number determines the order, whatever the pieces.
///
/// # Example
///
/// ```
/// use sapwood::batch::{Field, Input, Mixing, shuffled_order, take};
/// use sapwood::read::Column;
/// let session = sapwood::Session::with_threads(1);
/// let mut mixing = Mixing::new(7, 5)?;
/// for numbers in [&[0_u8, 1][..], &[2, 3, 4]] {
///     let pieces = vec![Column::from_numbers(numbers)];
///     mixing.add(&session, &[Field::Numbers(vec![Input { pieces, ..Input::default() }])])?;
/// }
/// let rows = mixing.finish()?;
/// let taken = take(&session, &[(&rows, 0..5)], None)?;
/// let order: Vec<u8> = shuffled_order(7, 5).into_iter().map(|row| row as u8).collect();
/// assert_eq!(taken[0].values, order);
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Debug)]
pub struct Mixing {
    shuffle: Shuffle,
    /// Rows so far.
    added: usize,
    pieces: Vec<Vec<Part>>,
    starts: Vec<Vec<usize>>,
    not_finite: Vec<Vec<u64>>,
    /// Of each field; empty before the first rows.
    forms: Vec<Form>,
}

impl Mixing {
    /// So many rows, in the order of a seed.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](crate::ErrorKind::Mismatch) for 2³² rows and more.
    pub fn new(seed: u64, rows: usize) -> Result<Self> {
        if u32::try_from(rows).is_err() {
            return Err(Error::mismatch("too many rows are shuffled together"));
        }
        let shuffle = Shuffle::new(seed, rows);
        Ok(Self {
            shuffle,
            added: 0,
            pieces: Vec::new(),
            starts: Vec::new(),
            not_finite: Vec::new(),
            forms: Vec::new(),
        })
    }

    /// Adds the next rows: the same fields each time.
    ///
    /// # Errors
    ///
    /// The errors of [`Rows::new`]; [`Mismatch`](crate::ErrorKind::Mismatch) for more rows than were announced, and for
    /// fields of other types than before.
    pub fn add(&mut self, session: &Session, fields: &[Field]) -> Result<()> {
        let len = common_rows(fields)?;
        if len > self.shuffle.rows - self.added {
            let error = Error::mismatch("there are more rows than were to be shuffled");
            return Err(error.wanted(self.shuffle.rows as u64, (self.added + len) as u64));
        }
        let forms = fields.iter().map(Field::form).collect::<Result<Vec<_>>>()?;
        if !self.pieces.is_empty() && forms != self.forms {
            let at = forms.iter().zip(&self.forms).take_while(|(new, known)| new == known).count();
            return Err(Error::mismatch(format!("field {at} of rows to be shuffled has another type than before")));
        }
        let found = fields.iter().map(|field| Found::new(session, field)).collect::<Result<Vec<_>>>()?;
        let (deal, starts) = Deal::of_shuffle(session, self.shuffle, self.added..self.added + len);
        let deal = (self.shuffle.buckets() > 1).then_some(&deal);
        let (parts, counts) = parts(session, found, true, deal, len)?;
        if self.not_finite.is_empty() {
            self.not_finite = counts;
        } else {
            let sums = self.not_finite.iter_mut().flatten().zip(counts.iter().flatten());
            sums.for_each(|(sum, count)| *sum += count);
        }
        self.added += len;
        self.forms = forms;
        self.pieces.push(parts);
        self.starts.push(starts);
        Ok(())
    }

    /// All rows.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](crate::ErrorKind::Mismatch) if some are missing.
    pub fn finish(self) -> Result<Rows> {
        if self.added != self.shuffle.rows {
            let error = Error::mismatch("there are fewer rows than were to be shuffled");
            return Err(error.wanted(self.shuffle.rows as u64, self.added as u64));
        }
        let order = Order::Shuffled(self.shuffle, self.starts);
        Ok(Rows { len: self.added, order, pieces: self.pieces, not_finite: self.not_finite })
    }
}

/// The fields of some rows, dealt if that is wanted; and how many numbers of each column are not finite.
fn parts(
    session: &Session,
    fields: Vec<Found>,
    is_mixed: bool,
    deal: Option<&Deal>,
    rows: usize,
) -> Result<(Vec<Part>, Vec<Vec<u64>>)> {
    let dealt = |lists: Lists| match deal {
        Some(deal) => lists.dealt(session, deal, rows),
        None => Ok(lists),
    };
    let one = |found| {
        Ok(match found {
            Found::Numbers(sources) => {
                let (numbers, counts) = Numbers::new(session, sources, is_mixed, deal)?;
                (Part::Numbers(numbers), counts)
            }
            Found::Lists(lists, count) => (Part::Lists(dealt(lists)?), vec![count]),
            Found::Padded(lists, padding, count) => (Part::Padded(dealt(lists)?, padding), vec![count]),
        })
    };
    Ok(fields.into_iter().map(one).collect::<Result<Vec<_>>>()?.into_iter().unzip())
}

/// How many rows all fields have.
fn common_rows(fields: &[Field]) -> Result<usize> {
    let len = fields.first().map_or(0, rows_of);
    if fields.iter().any(|field| rows_of(field) != len) || u32::try_from(len).is_err() {
        return Err(Error::mismatch("columns of batches have different numbers of rows"));
    }
    Ok(len)
}

/// How many rows a field has.
fn rows_of(field: &Field) -> usize {
    let of = |input: &Input| input.pieces.iter().map(|piece| piece.len).sum();
    match field {
        Field::Numbers(inputs) => inputs.first().map_or(0, of),
        Field::Lists(lists) | Field::Padded { lists, .. } => of(lists),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::NumberType;
    use crate::read::Column;

    #[test]
    fn rows_of_other_types_are_not_shuffled_together() {
        let session = Session::with_threads(1);
        let input = |column: Column, to| Input { pieces: vec![column], to, scale: None };
        let stored = |column: Column| [Field::Numbers(vec![input(column, NumberType::AsStored)])];
        let mut mixing = Mixing::new(1, 4).unwrap();
        mixing.add(&session, &stored(Column::from_numbers(&[1_f32, 2.0]))).unwrap();
        for other in [Column::from_numbers(&[1_i32, 2]), Column::from_numbers(&[1_f64, 2.0])] {
            let error = mixing.add(&session, &stored(other)).unwrap_err();
            assert_eq!(error.message(), "field 0 of rows to be shuffled has another type than before");
        }
        // A conversion makes one type of different ones.
        let converted = |column| [Field::Numbers(vec![input(column, NumberType::F64)])];
        let mut mixing = Mixing::new(1, 4).unwrap();
        mixing.add(&session, &converted(Column::from_numbers(&[1_i32, 2]))).unwrap();
        mixing.add(&session, &converted(Column::from_numbers(&[3_f32, 4.0]))).unwrap();
        assert_eq!(mixing.finish().unwrap().len(), 4);
    }
}
