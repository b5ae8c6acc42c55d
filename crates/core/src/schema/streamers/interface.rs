//! What a streamer sees of the engine: the executor that reads or writes its class, and the columns of that class.

use std::borrow::Cow;
use std::sync::Arc;

use super::super::framing_trace::Stamp;
use super::super::program::Target;
use crate::column::{BufferId, BufferKind, Field, Kind, ListOf, Number, Part};
use crate::error::{Error, Result};
use crate::wire::{Reader, Writer};

/// The interface that a streamer needs from the executor of its program.
pub(in crate::schema) trait Decode {
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
pub(in crate::schema) trait Encode {
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

/// Makes the columns of a class.
pub(super) struct Columns<'b> {
    pub(super) buffer: &'b mut dyn FnMut(BufferKind) -> BufferId,
}

impl Columns<'_> {
    pub(super) fn number(&mut self, number: Number) -> Kind {
        Kind::Number { buffer: (self.buffer)(BufferKind::Numbers(number)), number }
    }

    pub(super) fn text(&mut self) -> Kind {
        let offsets = (self.buffer)(BufferKind::Ends);
        Kind::Text { offsets, bytes: (self.buffer)(BufferKind::Bytes) }
    }

    pub(super) fn pointer(&mut self) -> Kind {
        Kind::Pointer { buffer: (self.buffer)(BufferKind::Objects), class: "TObject".into() }
    }

    pub(super) fn list(&mut self, item: impl FnOnce(&mut Self) -> Kind) -> Kind {
        let offsets = (self.buffer)(BufferKind::Ends);
        Kind::List { offsets, of: ListOf::Sequence, item: Box::new(item(self)) }
    }

    pub(super) fn numbers(&mut self, number: Number) -> Kind {
        self.list(|columns| columns.number(number))
    }
}

pub(super) fn field(name: &str, kind: Kind) -> Field {
    Field { name: name.into(), kind, base: false }
}

/// The buffers of a class, as many as it has.
pub(super) fn columns_of<const N: usize>(class: &str, buffers: &[BufferId]) -> Result<[BufferId; N]> {
    buffers.try_into().map_err(|_| {
        Error::internal(format!("class {class} has other columns than its streamer"))
            .wanted(N as u64, buffers.len() as u64)
    })
}

pub(super) fn push<const N: usize>(part: &mut Part, buffer: BufferId, value: [u8; N]) {
    part.bytes_mut(buffer).extend_from_slice(&value);
}

/// The frame of an object that was never read: its version in ROOT 6.
pub(super) fn usual(version: i16) -> Stamp {
    Stamp { version, counted: true, ..Stamp::default() }
}
