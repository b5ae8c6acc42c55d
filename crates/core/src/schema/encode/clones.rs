//! `TClonesArray`s whose objects are columns of the program that writes them.
//!
//! Source: `TClonesArray::Streamer`. Those that are objects of their own are written by `streamers::clones`.

use super::super::clones_form::{CLONES_ARRAY, ClonesForm};
use super::super::execute::Order;
use super::super::program::{Role, Span, Step};
use super::classes;
use super::source::Source;
use super::steps::Run;
use crate::column::BufferId;
use crate::error::Result;

/// The version of the class in ROOT 6.
const VERSION: i16 = 4;

impl Run<'_> {
    /// `n` arrays.
    pub(super) fn clones(
        &mut self,
        form: &ClonesForm,
        item: Span,
        ends: BufferId,
        source: &mut Source<'_>,
        n: usize,
    ) -> Result<()> {
        for _ in 0..n {
            let slot = form.is_pointer.then(|| self.encoder.writer.open_object(CLONES_ARRAY).1);
            let frame = self.encoder.open(&classes::by_hand(VERSION));
            self.encoder.tobject(0, form.bits, 0);
            self.encoder.writer.string(form.name.as_bytes());
            self.encoder.writer.string(format!("{};{}", form.class, form.version).as_bytes());
            let items = source.list(ends);
            self.encoder.writer.u32(items as u32);
            self.encoder.writer.i32(form.low);
            if form.is_member_wise() {
                self.span(self.members_of(item), source, items, Order::Columns)?;
            } else {
                for _ in 0..items {
                    /// Says that an object is there.
                    const THERE: u8 = 1;
                    self.encoder.writer.u8(THERE);
                    self.span(item, source, 1, Order::Rows)?;
                }
            }
            self.encoder.close(frame);
            self.encoder.close(slot);
        }
        Ok(())
    }

    /// The steps of the members of an object, which has a frame if it stands alone.
    fn members_of(&self, item: Span) -> Span {
        match self.program.steps.get(item.start as usize..item.end as usize) {
            Some([Step::Class { versions, role: Role::Member }]) => {
                versions.bodies.first().map_or(item, |body| body.span)
            }
            _ => item,
        }
    }
}
