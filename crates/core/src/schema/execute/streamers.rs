//! Classes that ROOT streams by hand, in a program that is read.

use std::sync::Arc;

use super::super::program::Target;
use super::super::streamers::Decode;
use super::super::trace::Stamp;
use super::{Machine, Order};
use crate::error::Result;
use crate::wire::Reader;

/// A machine at a step that a streamer reads.
pub(super) struct Reading<'m, 'a> {
    pub(super) machine: &'m mut Machine<'a>,
    pub(super) step: u32,
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
