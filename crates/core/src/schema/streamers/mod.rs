//! Classes that ROOT streams by hand: their StreamerInfo, where there is one, does not describe their bytes.
//!
//! Format page: `docs/format/custom.md`. A class has one file with its columns and both directions; each names its
//! source. What reads and writes programs is behind two traits, so that nothing here knows of it.

mod array;
mod basket;
mod clones;
mod collection;
mod exmap;
mod reference;

use std::borrow::Cow;
use std::sync::Arc;

use super::framing_trace::Stamp;
use super::program::{Custom, Target};
use crate::column::{BufferId, BufferKind, Field, Kind, ListOf, Number, Part};
use crate::error::{Error, Result};
use crate::wire::{Reader, Writer};

/// Which hand-written layout a class has.
pub(super) fn which(class: &str) -> Option<Custom> {
    Some(match class {
        "TArrayC" => Custom::Array(Number::I8),
        "TArrayS" => Custom::Array(Number::I16),
        "TArrayI" => Custom::Array(Number::I32),
        "TArrayL" | "TArrayL64" => Custom::Array(Number::I64),
        "TArrayF" => Custom::Array(Number::F32),
        "TArrayD" => Custom::Array(Number::F64),
        "TList" | "THashList" | "TSortedList" => Custom::List,
        "TObjArray" => Custom::ObjArray,
        "TClonesArray" => Custom::ClonesArray,
        "TMap" => Custom::Map,
        "TRef" => Custom::Ref,
        "TRefArray" => Custom::RefArray,
        "TDatime" => Custom::Datime,
        "TQObject" => Custom::Nothing,
        "TMatrixTSym<double>" | "TMatrixTSym<Double_t>" => Custom::MatrixSym(Number::F64),
        "TMatrixTSym<float>" | "TMatrixTSym<Float_t>" => Custom::MatrixSym(Number::F32),
        "TExMap" => Custom::ExMap,
        "TBasket" => Custom::Basket,
        _ => return None,
    })
}

/// Whether a class has a hand-written layout.
pub(crate) fn is_custom(class: &str) -> bool {
    which(class).is_some()
}

/// Whether a class's streamer only calls those of its bases, without a frame of its own: classes of version 0 whose
/// dictionary was made without `+`.
pub(super) fn forwards(class: &str) -> bool {
    matches!(
        class,
        "TSeqCollection"
            | "TOrdCollection"
            | "THashTable"
            | "TPair"
            | "RooWorkspace::CodeRepo::ClassFiles"
            | "RooWorkspace::CodeRepo::ClassRelInfo"
            | "RooWorkspace::CodeRepo::ExtraHeader"
            | "TAbsArgCache"
            | "TVirtualPerfStats"
            | "TVirtualTreePlayer"
            | "TVirtualMutex"
    )
}

/// The interface that a streamer needs from the executor of its program.
pub(super) trait Decode {
    /// Reads the place of a pointer; gives the number of the object, 0 for null.
    fn slot(&mut self, reader: &mut Reader<'_>) -> Result<u32>;
    /// Reads a framed object of a class; gives its number.
    fn object(&mut self, class: &Arc<str>, reader: &mut Reader<'_>) -> Result<u32>;
    /// Reads objects of a class member by member; gives the number of the first, which the others follow.
    fn columns(&mut self, class: &Arc<str>, target: &Target, n: usize, reader: &mut Reader<'_>) -> Result<u32>;
    /// Whether framing is to be recorded.
    fn is_traced(&self) -> bool;
    /// Notes it.
    fn note(&mut self, stamp: impl FnOnce() -> Stamp);
}

/// The same for writing: values are taken from their buffers in order.
pub(super) trait Encode {
    fn writer(&mut self) -> &mut Writer;
    /// The framing recorded when the object was read; none for one created here.
    fn stamp(&mut self) -> Option<Stamp>;
    /// Begins a frame; returns the argument for [`close`](Self::close).
    fn open(&mut self, stamp: &Stamp) -> Option<usize>;
    fn close(&mut self, frame: Option<usize>);
    /// `TObject`'s own bytes.
    fn tobject(&mut self, id: u32, bits: u32, pid: u16);
    /// Items of the next list.
    fn list(&mut self, ends: BufferId) -> usize;
    fn text(&mut self, ends: BufferId, bytes: BufferId) -> Cow<'_, [u8]>;
    fn number(&mut self, buffer: BufferId, number: Number) -> i64;
    /// The number that was taken last.
    fn last(&mut self, buffer: BufferId, number: Number) -> i64;
    /// Writes the next numbers.
    fn put(&mut self, buffer: BufferId, number: Number, items: usize);
    /// Writes the place of the next pointer.
    fn link(&mut self, buffer: BufferId) -> Result<()>;
    /// Writes the next `n` objects of a class: each behind a byte that says whether it is there, or member by member.
    fn objects(
        &mut self,
        buffer: BufferId,
        n: usize,
        class: &Arc<str>,
        target: &Target,
        in_columns: bool,
    ) -> Result<()>;
}

/// The type of a hand-written class; `buffer` hands out its buffers, in the order in which [`read`] and [`write`] take
/// them.
pub(super) fn kind(which: Custom, class: &str, buffer: &mut dyn FnMut(BufferKind) -> BufferId) -> Kind {
    let mut columns = Columns { buffer };
    let fields = match which {
        Custom::Array(of) => return columns.numbers(of),
        Custom::MatrixSym(of) => vec![field("fElements", columns.numbers(of))],
        Custom::List => collection::list_fields(&mut columns),
        Custom::ObjArray | Custom::ClonesArray => collection::array_fields(&mut columns),
        Custom::Map => collection::map_fields(&mut columns),
        Custom::Ref => reference::one_fields(&mut columns),
        Custom::RefArray => reference::array_fields(&mut columns),
        Custom::Datime => vec![field("fDatime", columns.number(Number::U32))],
        Custom::ExMap => exmap::fields(&mut columns),
        Custom::Basket => basket::fields(&mut columns),
        // Old basket positions are compiled where they stand: they are a member of one class only.
        Custom::Nothing | Custom::OldSeeks => Vec::new(),
    };
    Kind::Record { class: class.into(), fields }
}

/// Reads one object of a hand-written class.
pub(super) fn read(
    machine: &mut impl Decode,
    which: Custom,
    buffers: &[BufferId],
    reader: &mut Reader<'_>,
    part: &mut Part,
) -> Result<()> {
    match which {
        Custom::Array(number) => array::read(number, buffers, reader, part),
        Custom::MatrixSym(number) => array::read_triangle(number, buffers, reader, part),
        Custom::List => collection::read_list(machine, buffers, reader, part),
        Custom::ObjArray => collection::read_array(machine, buffers, reader, part),
        Custom::ClonesArray => clones::read(machine, buffers, reader, part),
        Custom::Map => collection::read_map(machine, buffers, reader, part),
        Custom::Ref => reference::read_one(machine, buffers, reader, part),
        Custom::RefArray => reference::read_array(machine, buffers, reader, part),
        Custom::Datime => {
            let [date] = columns_of("TDatime", buffers)?;
            push(part, date, reader.u32()?.to_ne_bytes());
            Ok(())
        }
        Custom::Nothing => Ok(()),
        Custom::ExMap => exmap::read(machine, buffers, reader, part),
        Custom::Basket => basket::read(machine, buffers, reader, part),
        Custom::OldSeeks => basket::read_old_seeks(machine, buffers, reader, part),
    }
}

/// Writes one object of a hand-written class.
pub(super) fn write(to: &mut impl Encode, which: Custom, buffers: &[BufferId]) -> Result<()> {
    match which {
        Custom::Array(number) => array::write(to, number, buffers),
        Custom::MatrixSym(number) => array::write_triangle(to, number, buffers),
        Custom::List => collection::write_list(to, buffers),
        Custom::ObjArray => collection::write_array(to, buffers),
        Custom::ClonesArray => clones::write(to, buffers),
        Custom::Map => collection::write_map(to, buffers),
        Custom::Ref => reference::write_one(to, buffers),
        Custom::RefArray => reference::write_array(to, buffers),
        Custom::Datime => {
            let [date] = columns_of("TDatime", buffers)?;
            let date = to.number(date, Number::U32) as u32;
            to.writer().u32(date);
            Ok(())
        }
        Custom::Nothing => Ok(()),
        Custom::ExMap => exmap::write(to, buffers),
        Custom::Basket => basket::write(to),
        Custom::OldSeeks => basket::write_old_seeks(to, buffers),
    }
}

/// Makes the columns of a class.
struct Columns<'b> {
    buffer: &'b mut dyn FnMut(BufferKind) -> BufferId,
}

impl Columns<'_> {
    fn number(&mut self, number: Number) -> Kind {
        Kind::Number { buffer: (self.buffer)(BufferKind::Numbers(number)), number }
    }

    fn text(&mut self) -> Kind {
        let offsets = (self.buffer)(BufferKind::Ends);
        Kind::Text { offsets, bytes: (self.buffer)(BufferKind::Bytes) }
    }

    fn pointer(&mut self) -> Kind {
        Kind::Pointer { buffer: (self.buffer)(BufferKind::Objects), class: "TObject".into() }
    }

    fn list(&mut self, item: impl FnOnce(&mut Self) -> Kind) -> Kind {
        let offsets = (self.buffer)(BufferKind::Ends);
        Kind::List { offsets, of: ListOf::Sequence, item: Box::new(item(self)) }
    }

    fn numbers(&mut self, number: Number) -> Kind {
        self.list(|columns| columns.number(number))
    }
}

fn field(name: &str, kind: Kind) -> Field {
    Field { name: name.into(), kind, base: false }
}

/// The buffers of a class, as many as it has.
fn columns_of<const N: usize>(class: &str, buffers: &[BufferId]) -> Result<[BufferId; N]> {
    buffers.try_into().map_err(|_| {
        Error::internal(format!("class {class} has other columns than its streamer"))
            .wanted(N as u64, buffers.len() as u64)
    })
}

fn push<const N: usize>(part: &mut Part, buffer: BufferId, value: [u8; N]) {
    part.bytes_mut(buffer).extend_from_slice(&value);
}

/// The frame of an object that was never read: its version in ROOT 6.
fn usual(version: i16) -> Stamp {
    Stamp { version, counted: true, ..Stamp::default() }
}
