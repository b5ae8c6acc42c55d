//! Classes that ROOT streams by hand: the counterpart of `schema/custom`.

use std::sync::Arc;

use super::super::draft::Draft;
use super::super::program::Custom;
use super::super::program::Target;
use super::super::trace::{Replay, Stamp};
use super::fill::Link;
use super::steps::{Run, Source};
use super::{Encoder, classes};
use crate::column::{BufferId, Number, Prim};
use crate::error::{Error, Result};

impl Run<'_> {
    pub(super) fn by_hand(
        &mut self,
        at: u32,
        which: Custom,
        buffers: &[BufferId],
        source: &mut Source<'_>,
    ) -> Result<()> {
        let id = |index: usize| buffers.get(index).copied().unwrap_or(0);
        let encoder = &mut *self.encoder;
        match which {
            Custom::Array(number) => {
                let items = source.list(id(0));
                encoder.writer.u32(items as u32);
                let values = source.numbers(id(1), number, items);
                encoder.numbers(Prim::Plain(number), &values);
            }
            Custom::List => {
                let (version, frame) = encoder.collection(source.replay.next(at), 5);
                named(encoder, version, source.text(id(0), id(1)));
                let items = source.list(id(2));
                let options = source.list(id(4));
                encoder.writer.u32(items as u32);
                for index in 0..items {
                    encoder.link(source.link(id(3)))?;
                    if version > 3 {
                        let option = if index < options { source.text(id(5), id(6)) } else { &[] };
                        encoder.writer.string(option);
                    }
                }
                encoder.close(frame);
            }
            Custom::ObjArray => {
                let (version, frame) = encoder.collection(source.replay.next(at), 3);
                named(encoder, version, source.text(id(0), id(1)));
                let items = source.list(id(3));
                encoder.writer.u32(items as u32);
                encoder.writer.i32(source.number(id(2), Number::I32) as i32);
                (0..items).try_for_each(|_| encoder.link(source.link(id(4))))?;
                encoder.close(frame);
            }
            Custom::ClonesArray => return self.clones(at, buffers, source),
            Custom::Map => {
                let (version, frame) = encoder.collection(source.replay.next(at), 3);
                named(encoder, version, source.text(id(0), id(1)));
                let items = source.list(id(2));
                encoder.writer.u32(items as u32);
                for _ in 0..items {
                    encoder.link(source.link(id(3)))?;
                    encoder.link(source.link(id(4)))?;
                }
                encoder.close(frame);
            }
            Custom::Ref => {
                const HAS_UUID: u32 = 1 << 5;
                let usual = Stamp { version: 1, ..Stamp::default() };
                let stamp = source.replay.next(at).unwrap_or(&usual);
                let pid = source.number(id(0), Number::U16) as u16;
                let unique = source.number(id(1), Number::U32) as u32;
                let bits = source.number(id(2), Number::U32) as u32;
                let frame = encoder.open(stamp);
                encoder.writer.u32(unique);
                encoder.writer.u32(bits);
                match &stamp.raw {
                    Some(uuid) if bits & HAS_UUID != 0 => encoder.writer.string(uuid),
                    _ => encoder.writer.u16(pid),
                }
                encoder.close(frame);
            }
            Custom::RefArray => {
                let (_, frame) = encoder.collection(source.replay.next(at), 1);
                encoder.writer.string(source.text(id(0), id(1)));
                let items = source.list(id(4));
                encoder.writer.u32(items as u32);
                encoder.writer.i32(source.number(id(3), Number::I32) as i32);
                encoder.writer.u16(source.number(id(2), Number::U16) as u16);
                let values = source.numbers(id(5), Number::I32, items);
                encoder.numbers(Prim::Plain(Number::I32), &values);
                encoder.close(frame);
            }
            Custom::Datime => encoder.writer.u32(source.number(id(0), Number::U32) as u32),
            Custom::Nothing => {}
            Custom::MatrixSym(number) => {
                let rows = usize::try_from(source.last(id(2), Number::I32)).unwrap_or(0);
                let (items, wanted) = (source.list(id(0)), rows.saturating_mul(rows.saturating_add(1)) / 2);
                if items != wanted {
                    return Err(Error::mismatch("a symmetric matrix has another number of elements than its rows say")
                        .wanted(wanted as u64, items as u64));
                }
                let values = source.numbers(id(1), number, items);
                encoder.numbers(Prim::Plain(number), &values);
            }
            Custom::ExMap => {
                let stamp = source.replay.next(at).cloned().unwrap_or_else(|| classes::by_hand(3));
                let frame = encoder.open(&stamp);
                encoder.tobject(stamp.id, stamp.bits, stamp.pid);
                let items = source.list(id(0));
                encoder.writer.u32(items as u32);
                let slots = stamp.raw.as_deref().unwrap_or(&[]);
                if items > 0 && slots.len() != 4 * items {
                    return Err(Error::unsupported("where the entries of a TExMap stand is not known"));
                }
                for slot in slots.chunks_exact(4) {
                    encoder.writer.bytes(slot);
                    for buffer in [id(1), id(2), id(3)] {
                        encoder.writer.i64(source.number(buffer, Number::I64));
                    }
                }
                encoder.close(frame);
            }
            // Its header and payload belong together: it is written as it was, or not at all.
            Custom::Basket => match source.replay.next(at).and_then(|stamp| stamp.raw.as_ref()) {
                Some(raw) => encoder.writer.bytes(raw),
                None => return Err(Error::unsupported("a basket is written only as it was read")),
            },
            Custom::OldSeeks => {
                let flag = source.replay.next(at).map_or(2, |stamp| stamp.id);
                let items = source.list(id(0));
                encoder.writer.u8(if items == 0 && flag != 0 { 1.min(flag as u8) } else { flag as u8 });
                let values = source.numbers(id(1), Number::I64, items);
                if flag == 2 {
                    encoder.numbers(Prim::Plain(Number::I64), &values);
                } else {
                    Number::I64.wholes(&values).for_each(|seek| encoder.writer.u32(seek as u32));
                }
            }
        }
        Ok(())
    }

    /// `TClonesArray::Streamer`.
    fn clones(&mut self, at: u32, buffers: &[BufferId], source: &mut Source<'_>) -> Result<()> {
        let id = |index: usize| buffers.get(index).copied().unwrap_or(0);
        let stamp = source.replay.next(at).cloned();
        let name = source.text(id(0), id(1));
        let low = source.number(id(2), Number::I32) as i32;
        let count = source.list(id(3));
        let links: Vec<Option<&Link>> = (0..count).map(|_| source.link(id(4))).collect();
        let drafts: Vec<Option<&Draft>> = links
            .iter()
            .map(|link| match link {
                Some(Link::Object(draft)) => Ok(Some(&**draft)),
                Some(Link::Same(_)) => Err(Error::mismatch("an object of a TClonesArray is another's, too")),
                None => Ok(None),
            })
            .collect::<Result<_>>()?;
        let Some(stamp) = stamp else {
            return Err(Error::unsupported("a TClonesArray is written only where it was read"));
        };
        let (version, frame) = self.encoder.collection(Some(&stamp), 4);
        let in_columns = stamp.bits & if version == 3 { 1 << 14 } else { 1 << 12 } != 0;
        named(self.encoder, version, name);
        let of = stamp.raw.clone().unwrap_or_default();
        self.encoder.writer.string(&of);
        self.encoder.writer.u32(count as u32);
        self.encoder.writer.i32(low);
        let class = crate::wire::text(&of);
        let (class, class_version) = class.split_once(';').unwrap_or((&class, ""));
        let class: Arc<str> = class.into();
        let target = Target::Members { class: Arc::clone(&class), version: class_version.parse().ok(), checksum: None };
        self.encoder.classes.note(self.registry, &class, &target);
        if !in_columns {
            for draft in drafts {
                self.encoder.writer.u8(u8::from(draft.is_some()));
                if let Some(draft) = draft {
                    self.encoder.object(draft)?;
                }
            }
        } else if drafts.is_empty() {
            if let Some(rest) = source.replay.next(at).and_then(|stamp| stamp.raw.as_ref()) {
                self.encoder.writer.bytes(rest);
            }
        } else {
            let drafts: Vec<&Draft> = drafts.into_iter().flatten().collect();
            let program = self.registry.program(&target)?;
            let trace = drafts.first().and_then(|draft| draft.origin.as_ref()).and_then(|origin| origin.trace.clone());
            self.encoder.rows(&program, self.registry, &drafts, Replay::new(trace.as_deref()), true)?;
        }
        self.encoder.close(frame);
        Ok(())
    }
}

impl Encoder {
    /// The head of a collection: its frame and `TObject`. Gives its version.
    fn collection(&mut self, stamp: Option<&Stamp>, usual: i16) -> (i16, Option<usize>) {
        let usual = classes::by_hand(usual);
        let stamp = stamp.unwrap_or(&usual);
        let frame = self.open(stamp);
        if stamp.version > 2 || usual.version == 1 {
            self.tobject(stamp.id, stamp.bits, stamp.pid);
        }
        (stamp.version, frame)
    }
}

/// The name of a collection, which came with version 2.
fn named(encoder: &mut Encoder, version: i16, name: &[u8]) {
    if version > 1 {
        encoder.writer.string(name);
    }
}
