//! The items of lists on rows of their own, as `TTree::Scan` has them.

use super::ranks::Ranks;
use crate::column::{Kind, Number};
use crate::error::{Error, Result};
use crate::read::Column;

/// One item of a column: what a cell of a scan shows.
///
/// # Example
///
/// ```
/// use sapwood::query::Item;
/// assert_eq!(Item::Whole(-3).as_f64(), -3.0);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    /// A fraction.
    Number(f64),
    /// A whole number with a sign.
    Whole(i64),
    /// A whole number without one, or a truth value.
    Unsigned(u64),
    /// A text.
    Text(String),
}

fn number_at(bytes: &[u8], number: Number, row: usize) -> Item {
    macro_rules! read {
        ($type:ty) => {
            match bytes.get(row * size_of::<$type>()..).and_then(|rest| rest.first_chunk()) {
                Some(chunk) => <$type>::from_ne_bytes(*chunk),
                None => return Item::Number(f64::NAN),
            }
        };
    }
    match number {
        Number::Bool => Item::Unsigned(u64::from(read!(u8) != 0)),
        Number::I8 => Item::Whole(read!(i8).into()),
        Number::U8 => Item::Unsigned(read!(u8).into()),
        Number::I16 => Item::Whole(read!(i16).into()),
        Number::U16 => Item::Unsigned(read!(u16).into()),
        Number::I32 => Item::Whole(read!(i32).into()),
        Number::U32 => Item::Unsigned(read!(u32).into()),
        Number::I64 => Item::Whole(read!(i64)),
        Number::U64 => Item::Unsigned(read!(u64)),
        Number::F32 => Item::Number(read!(f32).into()),
        Number::F64 => Item::Number(read!(f64)),
    }
}

impl Item {
    /// As a double; NaN for a text.
    pub fn as_f64(&self) -> f64 {
        match self {
            Self::Number(value) => *value,
            Self::Whole(value) => *value as f64,
            Self::Unsigned(value) => *value as f64,
            Self::Text(_) => f64::NAN,
        }
    }
}

/// Where a row is in one of its columns.
#[derive(Clone, Copy)]
struct Place<'c> {
    column: &'c Column,
    kind: &'c Kind,
    ranks: &'c Ranks,
    /// The number of the value; nothing where the lists above have too few items.
    at: Option<usize>,
}

impl Place<'_> {
    /// The value itself, in place of one that may be absent or of one of several types.
    fn present(self) -> Self {
        let (Kind::OneOf { tags, of }, Some(at)) = (self.kind, self.at) else { return self };
        let tag = self.column.buffer(*tags).get(at).copied();
        let kind = tag.and_then(|tag| of.get(usize::from(tag)));
        let rank = self.ranks.by_tags(*tags).get(at);
        match (kind, rank) {
            (Some(kind), Some(rank)) => Self { kind, at: Some(*rank as usize), ..self }.present(),
            _ => Self { at: None, ..self },
        }
    }

    fn is_list(&self) -> bool {
        matches!(self.kind, Kind::List { .. } | Kind::Fixed { .. }) && self.at.is_some()
    }

    fn is_single(&self) -> bool {
        matches!(self.kind, Kind::Number { .. } | Kind::Text { .. }) && self.at.is_some()
    }

    /// How many items a list has.
    fn len(&self) -> usize {
        match (self.kind, self.at) {
            (Kind::List { offsets, .. }, Some(at)) => self.column.bounds(*offsets, at).len(),
            (Kind::Fixed { len, .. }, Some(_)) => *len,
            _ => 0,
        }
    }

    /// An item of a list; a single value is the same for all items of others.
    fn item(self, number: usize) -> Self {
        let (first, len, kind) = match (self.kind, self.at) {
            (Kind::List { offsets, item, .. }, Some(at)) => {
                let bounds = self.column.bounds(*offsets, at);
                (bounds.start, bounds.len(), item)
            }
            (Kind::Fixed { len, item }, Some(at)) => (at * len, *len, item),
            _ => return self,
        };
        Self { kind, at: (number < len).then(|| first + number), ..self }.present()
    }

    fn value(&self) -> Result<Option<Item>> {
        let Some(at) = self.at else { return Ok(None) };
        Ok(match self.kind {
            Kind::Number { buffer, number } => Some(number_at(&self.column.buffer(*buffer), *number, at)),
            Kind::Text { offsets, bytes } => {
                let bytes = self.column.buffer(*bytes);
                let text = crate::wire::text(bytes.get(self.column.bounds(*offsets, at)).unwrap_or(&[]));
                Some(Item::Text(text))
            }
            Kind::List { .. } | Kind::Fixed { .. } => None,
            Kind::Record { .. } | Kind::Opaque { .. } | Kind::Pointer { .. } | Kind::OneOf { .. } => {
                let words = "records have no items to be put on lines: name a member of them";
                return Err(Error::mismatch(words));
            }
        })
    }
}

/// Columns whose items stand on lines of their own, as `TTree::Scan` puts them.
///
/// # Example
///
/// ```
/// # let path = sapwood_testkit::example("nano.root");
/// use sapwood::query::{ItemLines, Query};
/// let tree = sapwood::File::open(path)?.tree("Events")?;
/// let columns = Query::new(&tree).value("nJet")?.value("Jet_pt")?.read(0..1)?.columns;
/// let mut lines = 0;
/// ItemLines::new(&columns).of_row(0, &mut |cells| {
///     lines += 1;
///     assert_eq!(cells.len(), 2);
///     Ok::<(), sapwood::Error>(())
/// })?;
/// assert!(lines > 0);
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Debug)]
pub struct ItemLines<'c> {
    columns: Vec<(&'c Column, Ranks)>,
}

impl<'c> ItemLines<'c> {
    /// The lines of columns of equal length.
    pub fn new(columns: &'c [Column]) -> Self {
        Self { columns: columns.iter().map(|column| (column, Ranks::of(column))).collect() }
    }

    /// Calls `print` for each item of the lists of a row: with the items that stand beside each other, one of each
    /// column. Lists of several columns are matched index by index from the outside in, so that an item stands beside
    /// those of the same indices, and beside what holds it in a column of fewer lists. A row without items has one
    /// line; what is absent leaves its cell empty.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](crate::ErrorKind::Mismatch) for records and pointers, and what `print` returns.
    pub fn of_row<E, P>(&self, row: usize, print: &mut P) -> Result<(), E>
    where
        E: From<Error>,
        P: FnMut(&[Option<Item>]) -> Result<(), E>,
    {
        let places = self.columns.iter().map(|(column, ranks)| {
            let at = Place { column, kind: &column.kind, ranks, at: Some(row) };
            at.present()
        });
        let places: Vec<Place<'_>> = places.collect();
        let mut any = false;
        below(&places, &[], &mut |cells| {
            any = true;
            print(cells)
        })?;
        if any {
            return Ok(());
        }
        let of = |place: &Place<'_>| if place.is_list() { Ok(None) } else { place.value() };
        print(&places.iter().map(of).collect::<Result<Vec<_>>>()?)
    }
}

/// The lines of the lists at some places, which are items of those `above`.
fn below<E, P>(places: &[Place<'_>], above: &[Place<'_>], print: &mut P) -> Result<(), E>
where
    E: From<Error>,
    P: FnMut(&[Option<Item>]) -> Result<(), E>,
{
    let items = places.iter().filter(|place| place.is_list()).map(Place::len).max();
    for number in 0..items.unwrap_or(0) {
        let items: Vec<Place<'_>> = places.iter().map(|place| place.item(number)).collect();
        below(&items, places, print)?;
    }
    // An item of one column stands alone where another one has an empty list for it.
    let ends_here = || above.iter().zip(places).any(|(above, place)| above.is_list() && place.is_single());
    if items.is_none() || items == Some(0) && ends_here() {
        print(&places.iter().map(Place::value).collect::<Result<Vec<_>>>()?)?;
    }
    Ok(())
}
