//! Classes that ROOT streams by hand, in a program that is read.

use std::sync::Arc;

use super::super::framing_trace::Stamp;
use super::super::program::{Custom, Target};
use super::super::streamers::{self, Decode};
use super::{Machine, Order};
use crate::column::{BufferId, Part};
use crate::error::Result;
use crate::wire::Reader;

impl Machine<'_> {
    /// Reads `n` objects of a class that ROOT streams by hand.
    pub(super) fn custom(
        &mut self,
        which: Custom,
        buffers: &[BufferId],
        reader: &mut Reader<'_>,
        n: usize,
        part: &mut Part,
    ) -> Result<()> {
        let step = self.objects.step;
        for _ in 0..n {
            streamers::read(&mut Reading { machine: &mut *self, step }, which, buffers, reader, part)?;
        }
        Ok(())
    }
}

/// A machine at a step that a streamer reads.
struct Reading<'m, 'a> {
    machine: &'m mut Machine<'a>,
    step: u32,
}

impl Decode for Reading<'_, '_> {
    fn slot(&mut self, reader: &mut Reader<'_>) -> Result<u32> {
        self.machine.slot(reader)
    }

    fn object(&mut self, class: &Arc<str>, reader: &mut Reader<'_>) -> Result<u32> {
        let id = self.machine.objects.fresh();
        self.machine.object(id, class, reader, None)?;
        Ok(id)
    }

    fn columns(&mut self, class: &Arc<str>, target: &Target, n: usize, reader: &mut Reader<'_>) -> Result<u32> {
        let machine = &mut *self.machine;
        let program = machine.registry.program(target)?;
        let (table, mut rows) = machine.objects.open(class, target, &program);
        let start = rows.rows;
        let outer = machine.objects.begin_trace();
        let outcome = machine.decode(&program, reader, n, Order::Columns, &mut rows);
        machine.objects.close(table, rows);
        let first = machine.objects.len() as u32 + 1;
        // The first object keeps what was noted for all.
        machine.objects.end_trace(first, outer);
        if let Err(error) = outcome {
            // Some columns have more values than others: further rows would have those of the broken ones.
            machine.objects.spoil(table, class, target);
            return Err(error.in_object(class));
        }
        for row in start..start + n {
            let object = machine.objects.fresh();
            machine.objects.set(object, table, row as u32);
        }
        Ok(first)
    }

    fn is_traced(&self) -> bool {
        self.machine.objects.trace.is_some()
    }

    fn note(&mut self, stamp: impl FnOnce() -> Stamp) {
        self.machine.objects.note(self.step, stamp);
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::layout_dsl::describe;
    use super::super::super::objects::Objects;
    use super::super::super::registry::Registry;
    use super::*;
    use crate::column::Kind;
    use crate::wire::Limits;

    #[test]
    fn objects_that_break_off_leave_no_values_to_those_that_follow() {
        let registry = Registry::new(vec![describe("A", 1, "a:3 s:65")], 63200);
        let (limits, mut objects) = (Limits::default(), Objects::default());
        let mut machine = Machine::of_tests(&registry, &limits, &mut objects);
        let mut reading = Reading { machine: &mut machine, step: 0 };
        let class: Arc<str> = "A".into();
        let target = Target::Members { class: Arc::clone(&class), version: Some(1), checksum: None };
        // Two numbers, and one string of two.
        let broken = [0, 0, 0, 1, 0, 0, 0, 2, 1, b'x'];
        assert!(reading.columns(&class, &target, 2, &mut Reader::new(&broken)).is_err());
        let id = reading.columns(&class, &target, 1, &mut Reader::new(&[0, 0, 0, 9, 1, b'y'])).unwrap();
        let row = objects.get(id).unwrap();
        let Kind::Record { fields, .. } = row.kind else { panic!("no record") };
        let Kind::Number { buffer, .. } = fields[0].kind else { panic!("no number") };
        assert_eq!(row.part.bytes(buffer)[4 * row.row..4 * row.row + 4], 9_i32.to_ne_bytes());
    }
}
