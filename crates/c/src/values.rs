//! Branches as C describes them, and values in its memory.

use std::ffi::{c_char, c_void};

use sapwood::column::Number;
use sapwood::write::{BranchSpec, Item, Values};
use sapwood::{Error, Result};

use crate::argument::{optional_text, slice, text};
use crate::options::number;

/// A branch that is written: one value an entry, or a list of them.
#[repr(C)]
#[derive(Debug)]
pub struct SapwoodBranch {
    /// Its name.
    pub name: *const c_char,
    /// Type of its values: a `SapwoodType`.
    pub r#type: u32,
    /// Whether an entry has a list of values: a `std::vector`, unless a counter is named.
    pub is_list: bool,
    /// The branch that counts the items of a list, as in `Jet_pt[nJet]/F`; it is made and filled by itself. NULL for
    /// none.
    pub counter: *const c_char,
}

/// Values of consecutive entries of a branch, in the caller's memory.
#[repr(C)]
#[derive(Debug)]
pub struct SapwoodValues {
    /// The branch.
    pub name: *const c_char,
    /// Type of the values, which must be that of the branch: a `SapwoodType`.
    pub r#type: u32,
    /// The values, those of all lists one after another; or the bytes of all texts.
    pub data: *const c_void,
    /// How many values; of texts how many bytes.
    pub count: usize,
    /// Of lists and texts: where each begins, and where the last one ends; the first is 0. NULL otherwise.
    pub offsets: *const i64,
    /// How many offsets: one more than entries.
    pub offset_count: usize,
}

/// The branches that C describes, with those that count others.
///
/// # Safety
///
/// That of the crate.
pub(crate) unsafe fn branches(given: &[SapwoodBranch]) -> Result<Vec<BranchSpec>> {
    let mut specs: Vec<BranchSpec> = Vec::with_capacity(given.len());
    for branch in given {
        // SAFETY: as this function's.
        let (name, counter) = unsafe { (text(branch.name, "name")?, optional_text(branch.counter, "counter")?) };
        let named = |error: Error| error.in_object(name);
        let of = number(branch.r#type).map_err(named)?;
        let spec = match (branch.is_list, of, counter) {
            (false, _, Some(_)) => return Err(named(Error::mismatch("only lists have a counter"))),
            (false, Some(number), None) => BranchSpec::number(name, number),
            (false, None, None) => BranchSpec::text(name),
            (true, Some(number), Some(counter)) => {
                if !specs.iter().any(|spec| *spec.name == *counter) {
                    specs.push(BranchSpec::counter(counter));
                }
                BranchSpec::jagged(name, number, counter)
            }
            (true, Some(number), None) => BranchSpec::vector(name, Item::Number(number), 1),
            (true, None, _) => {
                let words = "lists of texts are written as batches of Arrow (sapwood_context_extend)";
                return Err(named(Error::unsupported(words)));
            }
        };
        specs.push(spec);
    }
    Ok(specs)
}

/// Values in the memory of C, with their names.
///
/// # Safety
///
/// That of the crate; the memory outlives what is returned.
pub(crate) unsafe fn values<'a>(given: &'a [SapwoodValues]) -> Result<Vec<(&'a str, Values<'a>)>> {
    let mut values = Vec::with_capacity(given.len());
    for of in given {
        // SAFETY: as this function's.
        let name = unsafe { text(of.name, "name")? };
        // SAFETY: as this function's.
        let taken = unsafe { memory(of) };
        values.push((name, taken.map_err(|error| error.in_object(name))?));
    }
    Ok(values)
}

/// Values of one branch.
///
/// # Safety
///
/// That of [`values`].
unsafe fn memory(of: &SapwoodValues) -> Result<Values<'_>> {
    let number = number(of.r#type)?;
    let width = number.map_or(1, Number::bytes);
    let too_many = || Error::mismatch("there are more values than memory can hold");
    let bytes = of.count.checked_mul(width).ok_or_else(too_many)?;
    // SAFETY: as this function's: `count` values of that width are bytes of any alignment.
    let (data, offsets) =
        unsafe { (slice(of.data.cast::<u8>(), bytes, "data")?, slice(of.offsets, of.offset_count, "offsets")?) };
    match offsets {
        [] if number.is_none() => {
            Err(Error::mismatch("texts need offsets: where each begins, and where the last ends"))
        }
        [] => Ok(Values::from_memory(number, &[], data)),
        [0, ends @ ..] => Ok(Values::from_memory(number, &[ends], data)),
        [first, ..] => Err(Error::mismatch(format!("the first offset is {first}, not 0"))),
    }
}
