//! Classes that ROOT streams by hand: their StreamerInfo, where there is one, does not describe their bytes.
//!
//! Format page: `docs/format/custom.md`. A class has one file with its columns and both directions; each names its
//! source. What reads and writes programs is behind two traits, so that nothing here knows of it.

mod array;
mod basket;
mod clones;
mod collection;
mod exmap;
mod interface;
mod key;
mod reference;

use super::program::Custom;
use crate::column::{BufferId, BufferKind, Kind, Number, Part};
use crate::error::Result;
use crate::wire::Reader;
use interface::{Columns, columns_of, field, push};
pub(super) use interface::{Decode, Encode};

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
        "TKey" => Custom::Key,
        _ => return None,
    })
}

/// Whether a class has a hand-written layout.
pub(crate) fn is_custom(class: &str) -> bool {
    which(class).is_some()
}

/// The numbers that `TArrayF` and its kin hold.
pub(crate) fn array_number(class: &str) -> Option<Number> {
    match which(class) {
        Some(Custom::Array(number)) => Some(number),
        _ => None,
    }
}

/// Whether a class is a list or an array of objects, as `TList` and `TObjArray` are.
pub(crate) fn is_list_of_objects(class: &str) -> bool {
    matches!(which(class), Some(Custom::List | Custom::ObjArray))
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
            | "TVirtualPS"
    )
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
        Custom::Key => key::fields(&mut columns),
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
        Custom::Key => key::read(machine, buffers, reader, part),
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
        Custom::Key => key::write(to, buffers),
        Custom::OldSeeks => basket::write_old_seeks(to, buffers),
    }
}
