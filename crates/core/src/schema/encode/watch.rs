//! Takes note of where numbers of some objects are written.

use std::collections::HashMap;
use std::sync::Arc;

use super::super::program::Program;
use super::template::{NumberAt, Place};
use crate::column::{BufferId, Kind, Prim};
use crate::wire::{Fixup, Writer};

/// Which members of a class are watched: which kind of object it is, and their names.
pub(crate) type Watched = fn(&str) -> Option<(usize, &'static [&'static str])>;

/// What is known of numbers that were written.
pub(super) struct Watch {
    watched: Watched,
    /// Objects of each kind so far.
    counts: HashMap<usize, usize>,
    /// The buffers of members, by the program that writes them.
    known: HashMap<usize, Arc<[(BufferId, usize)]>>,
    /// The object that is being written.
    now: Option<Now>,
    pub(super) numbers: Vec<NumberAt>,
}

/// An object that is being written.
pub(super) struct Now {
    kind: usize,
    object: usize,
    members: Arc<[(BufferId, usize)]>,
}

impl Watch {
    pub(super) fn new(watched: Watched) -> Self {
        Self { watched, counts: HashMap::new(), known: HashMap::new(), now: None, numbers: Vec::new() }
    }

    fn look_at(&mut self, class: &str, program: &Arc<Program>) -> Option<Now> {
        let (kind, names) = (self.watched)(class)?;
        let count = self.counts.entry(kind).or_default();
        let object = *count;
        *count += 1;
        let members = self.known.entry(Arc::as_ptr(program) as usize).or_insert_with(|| {
            // Those of bases come first: of two members of one name the class's own is meant.
            let all = program.kind.members();
            let found = |name: &str| all.iter().rev().find(|(known, _)| &***known == name).map(|(_, kind)| *kind);
            let buffer = |name: &str| match found(name)? {
                Kind::Number { buffer, .. } => Some(*buffer),
                Kind::List { item, .. } => match &**item {
                    Kind::Number { buffer, .. } => Some(*buffer),
                    _ => None,
                },
                _ => None,
            };
            names.iter().enumerate().filter_map(|(member, name)| Some((buffer(name)?, member))).collect()
        });
        Some(Now { kind, object, members: Arc::clone(members) })
    }

    /// Begins an object; returns the one around it.
    pub(super) fn object(&mut self, class: &str, program: &Arc<Program>) -> Option<Now> {
        let now = self.look_at(class, program);
        std::mem::replace(&mut self.now, now)
    }

    /// Goes on with the object around it.
    pub(super) fn outer(&mut self, outer: Option<Now>) {
        self.now = outer;
    }

    /// Notes that a number of a buffer is written next, or a list of `items` of them with a byte in front.
    pub(super) fn numbers(&mut self, writer: &mut Writer, buffer: BufferId, prim: Prim, items: Option<usize>) {
        let (Some(now), Prim::Plain(number)) = (&self.now, prim) else { return };
        let Some(&(_, member)) = now.members.iter().find(|(known, _)| *known == buffer) else { return };
        let place = Place { kind: now.kind, object: now.object, member };
        let bytes = items.map_or(number.bytes(), |items| 1 + items * number.bytes()) as u32;
        writer.fixup(Fixup::Value { number: self.numbers.len() as u32, bytes });
        self.numbers.push(NumberAt { place, number, is_list: items.is_some() });
    }
}
