//! `TRef` and `TRefArray`: numbers of objects that are elsewhere, which ROOT streams by hand.
//!
//! Format page: `docs/format/custom.md`. Source: `TRef::Streamer`, `TRefArray::Streamer`.

use std::sync::Arc;

use crate::column::Number;
use crate::error::{Error, Result};
use crate::write::model::class::{Class, Type};
use crate::write::model::columns::Column;

const ONE: &str = "TRef";
const SEVERAL: &str = "TRefArray";
/// The member with the number of a process in the list of the file.
const PROCESS: &str = "pidf";
/// The members with the numbers of objects.
const OBJECT: &str = "ref";
const OBJECTS: &str = "refs";
/// Bit of a `TRef` whose process is named by its UUID.
const HAS_UUID: u32 = 1 << 5;

impl Class {
    /// `TRef`, as reading shows it: which process of the file's list, which object of it (0 is null), and bits.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::write::{Class, Column, Type};
    /// let null = Column::Record(1, vec![Column::from(&[0_u16]), Column::from(&[0_u32]), Column::from(&[0_u32])]);
    /// null.check(&Type::Object(Class::reference()))?;
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn reference() -> Arc<Self> {
        Arc::new(Self::reference_in(0))
    }

    /// `TRefArray`, as reading shows it: its name, which process of the file's list, its lower bound, and which
    /// objects.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::write::{Class, Column, Type};
    /// let empty = Column::of(&Type::Object(Class::references()));
    /// assert!(matches!(empty, Column::Record(0, members) if members.len() == 4));
    /// ```
    pub fn references() -> Arc<Self> {
        Arc::new(Self::references_in(0))
    }

    /// `TRef` in a file that lists so many processes.
    pub(crate) fn reference_in(processes: u16) -> Self {
        let class = Self::new(ONE).with_version(1).member(PROCESS, Type::Number(Number::U16));
        let class = class.member(OBJECT, Type::Number(Number::U32)).member("fBits", Type::Number(Number::U32));
        Self { processes, ..class }
    }

    /// `TRefArray` in a file that lists so many processes.
    pub(crate) fn references_in(processes: u16) -> Self {
        let class = Self::new(SEVERAL).with_version(1).member("fName", Type::RootText);
        let class = class.member(PROCESS, Type::Number(Number::U16)).member("fLowerBound", Type::Number(Number::I32));
        Self { processes, ..class.member(OBJECTS, Type::vector(Type::Number(Number::I32))) }
    }

    /// Whether it is one of these.
    pub(crate) fn is_reference(&self) -> bool {
        matches!(&*self.name, ONE | SEVERAL)
    }
}

impl Column {
    /// Refuses references to objects of processes that the file does not list, and of those that it cannot name.
    pub(super) fn check_references(class: &Class, columns: &[Self]) -> Result<()> {
        let column = |name: &str| {
            let at = class.members.iter().position(|member| &*member.name == name);
            at.and_then(|at| columns.get(at))
        };
        if let Some(Self::Numbers(_, bytes)) = column(PROCESS) {
            let (words, _) = bytes.as_chunks::<2>();
            let is_named = |row: usize| match (column(OBJECT), column(OBJECTS)) {
                (Some(Self::Numbers(width, bytes)), _) => {
                    bytes.get(width * row..width * (row + 1)).is_some_and(|number| number.iter().any(|&byte| byte != 0))
                }
                (_, Some(Self::Lists(ends, _))) => !Self::span(ends, &(row..row + 1)).is_empty(),
                _ => false,
            };
            let process = |row: usize| words.get(row).map_or(0, |word| u16::from_ne_bytes(*word));
            // Where there are several, those that reading shows count from what the key of their basket says.
            let is_wrong = |row: &usize| match is_named(*row) {
                true => class.processes != 1 || process(*row) > 0,
                false => process(*row) > 0 && process(*row) >= class.processes,
            };
            if let Some(row) = (0..words.len()).find(is_wrong) {
                return Err(Error::mismatch(format!(
                    "object {row} refers to an object of process {} (pidf), and the file lists {} (its keys ProcessID0 \
                     and so on), where values need exactly one: give null references, or add the entries by merging \
                     their file into this one",
                    process(row),
                    class.processes
                )));
            }
        }
        if let Some(Self::Numbers(4, bytes)) = column("fBits") {
            let (words, _) = bytes.as_chunks::<4>();
            if let Some(row) = words.iter().position(|word| u32::from_ne_bytes(*word) & HAS_UUID != 0) {
                return Err(Error::mismatch(format!(
                    "fBits of object {row} has the bit kHasUUID (32), and values do not have the UUID: add the entries \
                     by merging their file into this one"
                )));
            }
        }
        Ok(())
    }
}
