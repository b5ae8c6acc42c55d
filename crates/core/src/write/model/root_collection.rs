//! `TArrayF` and its kin, and `TList` and its kin without objects: what histograms have as members.
//!
//! Format page: `docs/format/custom.md`. Source: `TArrayF::Streamer`, `TList::Streamer`, `TObjArray::Streamer`.

use std::sync::Arc;

use crate::column::Number;
use crate::error::{Error, Result};
use crate::schema::{array_number, is_list_of_objects};
use crate::write::model::class::{Class, Type};
use crate::write::model::columns::Column;

/// The classes of arrays, one for each number.
const ARRAYS: [&str; 6] = ["TArrayC", "TArrayS", "TArrayI", "TArrayL64", "TArrayF", "TArrayD"];
const OBJECT_ARRAY: &str = "TObjArray";
/// The member with the objects.
const ITEMS: &str = "items";
/// The member of `TH1` that says how many bins there are, with those for underflow and overflow.
const CELLS: &str = "fNcells";

impl Type {
    /// The class of arrays of a number.
    pub(super) fn root_array_name(number: Number) -> &'static str {
        ARRAYS.into_iter().find(|class| array_number(class) == Some(number)).unwrap_or("TArray")
    }

    /// The type of members of a class of arrays.
    pub(crate) fn root_array(class: &str) -> Option<Self> {
        array_number(class).map(Self::RootArray)
    }
}

impl Class {
    /// A list or an array of objects as reading shows it. Values have none of these: of which classes they would be,
    /// columns do not tell.
    pub(crate) fn root_list(name: &str) -> Option<Self> {
        if !is_list_of_objects(name) {
            return None;
        }
        let class = Self::new(name).with_version(1).member("fName", Type::RootText);
        let items = Type::vector(Type::Pointer(Self::tobject()));
        Some(match name {
            OBJECT_ARRAY => class.member("fLowerBound", Type::Number(Number::I32)).member(ITEMS, items),
            _ => class.member(ITEMS, items).member("options", Type::vector(Type::RootText)),
        })
    }

    /// Whether it is one of these.
    pub(crate) fn is_root_list(&self) -> bool {
        is_list_of_objects(&self.name)
    }
}

impl Column {
    /// Refuses histograms with another number of bins than they say: ROOT would look behind the end of their array.
    pub(super) fn check_cells(class: &Arc<Class>, columns: &[Self]) -> Result<()> {
        let bases = || class.members.iter().zip(columns).filter(|(member, _)| member.is_base);
        let cells = bases().find_map(|(member, column)| match (&member.kind, column) {
            (Type::Object(base), Self::Record(_, columns)) => cells(base, columns),
            _ => None,
        });
        let array = bases().find_map(|(member, column)| match (&member.kind, column) {
            (Type::RootArray(_), Self::Lists(ends, _)) => Some(ends),
            _ => None,
        });
        let (Some(cells), Some(ends)) = (cells, array) else { return Ok(()) };
        let mut before = 0;
        for (row, (&end, cells)) in ends.iter().zip(Number::I32.wholes(cells)).enumerate() {
            let items = end - std::mem::replace(&mut before, end);
            if i64::try_from(items) != Ok(cells) {
                return Err(Error::mismatch(format!(
                    "{} {row} has an array of {items} numbers, and {CELLS}, which counts them, is {cells}",
                    class.name
                )));
            }
        }
        Ok(())
    }

    /// Refuses lists that hold objects.
    pub(super) fn check_root_list(class: &Arc<Class>, columns: &[Self]) -> Result<()> {
        for (member, column) in class.members.iter().zip(columns) {
            let Self::Lists(ends, _) = column else { continue };
            if matches!(member.kind, Type::Sequence(..))
                && let Some(row) = ends.iter().position(|&end| end > 0)
            {
                return Err(Error::mismatch(format!(
                    "the {} of object {row} has {}, and values do not tell of which classes its objects are: leave it \
                     empty, or add the entries by merging their file into this one",
                    class.name, member.name
                )));
            }
        }
        Ok(())
    }
}

/// The numbers of bins of objects of a class, or of one that derives from it.
fn cells<'c>(class: &Class, columns: &'c [Column]) -> Option<&'c [u8]> {
    class.members.iter().zip(columns).find_map(|(member, column)| match (&member.kind, column) {
        (Type::Number(Number::I32), Column::Numbers(_, bytes)) if &*member.name == CELLS => Some(&bytes[..]),
        (Type::Object(base), Column::Record(_, columns)) if member.is_base => cells(base, columns),
        _ => None,
    })
}
