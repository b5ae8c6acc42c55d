//! What is written, and what of it is known: the payload, objects and classes that were met.

use std::collections::HashSet;
use std::sync::{Arc, LazyLock};

use super::super::framing_trace::Stamp;
use super::super::info::{self, StreamerInfo};
use super::super::numbers::NumberMap;
use super::super::program::Program;
use super::super::registry::Registry;
use super::classes;
use super::fill::Link;
use super::watch::Watch;
use crate::column::{BufferId, Part, Prim, encode_numbers};
use crate::error::{Error, Result};
use crate::wire::Writer;

/// The tag of the record's own object (`TKey` maps it at 1).
pub(super) const RECORD: u32 = 1;

/// Objects and bodies of programs within each other.
pub(super) const DEEPEST: u32 = 512;

/// Classes as ROOT 6.40 has them.
pub(super) static ROOT: LazyLock<Arc<Registry>> = LazyLock::new(|| {
    const VERSION: i32 = 64000;
    Arc::new(Registry::new(StreamerInfo::all_of_root().map(|info| (**info).clone()).collect(), VERSION))
});

/// How classes stream that no file has described yet.
#[derive(Clone, Debug, Default)]
pub(crate) struct Style {
    /// Collections of objects are written member by member.
    pub(crate) member_wise: bool,
    /// Classes without a version of their own: their checksum replaces it.
    pub(crate) foreign: HashSet<Arc<str>>,
}

/// How objects of a class that ROOT has are written, found out once a record.
pub(super) struct Known {
    pub(super) class: Arc<str>,
    pub(super) program: Arc<Program>,
    /// The usual frame, where the class has one of its own.
    pub(super) stamp: Option<Stamp>,
}

/// Writes objects into the payload of one record.
pub struct Encoder {
    pub(super) writer: Writer,
    /// Objects that were written, by where they or their marks are in memory, and where they stand in the file; the
    /// record's own object, which no tag stands in front of, is at no place.
    pub(super) written: NumberMap<usize, (Option<usize>, Link)>,
    /// Classes that were met.
    pub(super) classes: classes::Met,
    /// Parts to be filled again, by their program.
    pub(super) parts: NumberMap<usize, (Arc<Program>, Vec<Part>)>,
    /// Classes that were met, as ROOT has them.
    pub(super) known: Vec<Arc<Known>>,
    /// The usual frames of bases and members, by their versions in a program.
    pub(super) usual: Vec<(usize, Stamp)>,
    pub(super) depth: u32,
    /// Of classes made here; none for what was read, and for ROOT's own.
    pub(super) style: Option<Arc<Style>>,
    /// Takes note of where numbers are written, where that is wanted.
    pub(super) watch: Option<Watch>,
}

impl Encoder {
    /// An encoder for a record whose key has `keylen` bytes.
    pub fn new(keylen: usize) -> Self {
        Self {
            writer: Writer::with_origin(keylen),
            written: NumberMap::default(),
            classes: classes::Met::default(),
            parts: NumberMap::default(),
            known: Vec::new(),
            usual: Vec::new(),
            depth: 0,
            style: None,
            watch: None,
        }
    }

    /// Counts one level of nesting.
    pub(super) fn enter(&mut self) -> Result<()> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(Error::limit("objects nest too deep", u64::from(DEEPEST), u64::from(self.depth)));
        }
        Ok(())
    }

    /// The frame of an object that was never read.
    pub(super) fn stamp(&self, info: &StreamerInfo) -> Stamp {
        let is_foreign = self.style.as_ref().is_some_and(|style| style.foreign.contains(&info.name));
        classes::stamp(info, is_foreign)
    }

    /// Byte count, version, checksum.
    pub(super) fn open(&mut self, stamp: &Stamp) -> Option<usize> {
        let frame = stamp.counted.then(|| self.writer.open());
        self.writer.i16(stamp.version);
        if let Some(checksum) = stamp.checksum {
            self.writer.u32(checksum);
        }
        frame
    }

    pub(super) fn close(&mut self, frame: Option<usize>) {
        if let Some(frame) = frame {
            self.writer.close(frame);
        }
    }

    pub(super) fn numbers(&mut self, prim: Prim, values: &[u8]) {
        let items = values.len() / prim.number().bytes();
        encode_numbers(prim, values, self.writer.room(items * prim.bytes()));
    }

    /// Notes that a number of a buffer is written next, or a list of `items` of them, where that is wanted.
    #[inline]
    pub(super) fn watch_numbers(&mut self, buffer: BufferId, prim: Prim, items: Option<usize>) {
        if let Some(watch) = &mut self.watch {
            watch.numbers(&mut self.writer, buffer, prim, items);
        }
    }

    /// `TObject`'s bytes.
    pub(super) fn tobject(&mut self, id: u32, bits: u32, pid: u16) {
        self.writer.i16(1);
        self.writer.u32(id);
        self.writer.u32(bits);
        if bits & info::IS_REFERENCED != 0 {
            self.writer.u16(pid);
        }
    }
}
