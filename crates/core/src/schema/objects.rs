//! Objects behind pointers, and objects by key: rows of a table for each class.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use bytes::Bytes;

use super::framing_trace::{Stamp, Trace};
use super::numbers::NumberMap;
use super::program::Program;
use super::program::Target;
use super::registry::Registry;
use super::streamers;
use crate::column::{Kind, Part, check};
use crate::error::{Error, ErrorKind, Result};
use crate::memory::Memory;
use crate::wire::Reader;

/// All objects of one record, or of one part of a branch. Object 0 is null.
#[derive(Debug, Default)]
pub struct Objects {
    tables: Vec<Table>,
    /// Table and row of each object, from 1 on.
    rows: Vec<Option<(u32, u32)>>,
    /// Tables that may take more rows.
    open: HashMap<(Arc<str>, Target), u32>,
    positions: NumberMap<usize, u32>,
    /// Names of classes that were met, so that equal names share one string.
    names: Vec<Arc<str>>,
    /// What was found out about classes that were met.
    resolved: Vec<Arc<Resolved>>,
    /// Table of the last row.
    last_table: u32,
    pending: VecDeque<Pending>,
    /// Bytes of objects that waited, as far as no memory is set aside for them: what bounds setting aside.
    room_bytes: usize,
    failures: HashMap<u32, Error>,
    /// The bytes that are decoded, where lists of numbers stay in them until they are asked for.
    pub(super) record: Option<Bytes>,
    /// The framing of the object being decoded, if requested.
    pub(super) trace: Option<Trace>,
    /// The step that is being run, where it is wanted.
    pub(super) step: u32,
    traces: HashMap<u32, Arc<Trace>>,
}

/// The rows of one class at one version.
#[derive(Debug)]
struct Table {
    class: Arc<str>,
    target: Target,
    program: Arc<Program>,
    part: Part,
    taken: bool,
    /// No more rows: its last one is broken.
    closed: bool,
}

/// What to do with objects of a class, found out once for each version.
#[derive(Debug)]
pub(super) struct Resolved {
    class: Arc<str>,
    /// Version and checksum as they stand in front of the object; none for classes without a frame of the usual kind.
    stamp: Option<(i16, u32)>,
    pub(super) program: Arc<Program>,
    /// Whether the frame is not part of the program.
    pub(super) framed: bool,
    pub(super) target: Target,
}

/// Classes and versions that a record usually has: more are looked up each time.
const MOST_REMEMBERED: usize = 64;

/// An object whose place is known and whose bytes are not decoded yet.
#[derive(Debug)]
pub(super) struct Pending {
    pub(super) id: u32,
    pub(super) class: Arc<str>,
    pub(super) at: usize,
    pub(super) end: usize,
}

/// One object: its class, and where its members are.
#[derive(Clone, Copy, Debug)]
pub struct ObjectRow<'a> {
    /// Its class.
    pub class: &'a Arc<str>,
    /// Types of its members.
    pub kind: &'a Kind,
    /// Values of all objects of the class.
    pub part: &'a Part,
    /// Which row.
    pub row: usize,
}

impl Objects {
    /// Object `id`, if it is neither null nor undecodable.
    pub fn get(&self, id: u32) -> Option<ObjectRow<'_>> {
        let (table, row) = (*self.rows.get((id as usize).checked_sub(1)?)?)?;
        let table = self.tables.get(table as usize)?;
        Some(ObjectRow { class: &table.class, kind: &table.program.kind, part: &table.part, row: row as usize })
    }

    /// Which table object `id` is in, and its row; nothing for null and for what could not be decoded.
    pub(crate) fn place(&self, id: u32) -> Option<(u32, u32)> {
        *self.rows.get((id as usize).checked_sub(1)?)?
    }

    /// Class, type and values of the objects in a table.
    pub(crate) fn table(&self, index: u32) -> Option<(&Arc<str>, &Kind, &Part)> {
        self.tables.get(index as usize).map(|table| (&table.class, &table.program.kind, &table.part))
    }

    /// The classes of the objects; a class may come several times.
    pub fn classes(&self) -> impl Iterator<Item = &Arc<str>> {
        self.tables.iter().map(|table| &table.class)
    }

    /// How many objects are of some classes.
    pub(crate) fn count(&self, is_wanted: impl Fn(&str) -> bool) -> usize {
        self.tables.iter().filter(|table| is_wanted(&table.class)).map(|table| table.part.rows).sum()
    }

    /// Checks that the decoded objects have a value for each member.
    ///
    /// # Errors
    ///
    /// [`Internal`](crate::ErrorKind::Internal).
    pub(crate) fn check(&self) -> Result<()> {
        // The last row of a closed table is broken, and known to be.
        self.tables.iter().filter(|table| !table.closed).try_for_each(|table| {
            let checked = check(&table.program.kind, table.part.rows, &table.part);
            checked.map_err(|error| error.in_object(&table.class))
        })
    }

    /// The same table, which keeps what it takes to write its objects as they were.
    pub(super) fn traced() -> Self {
        Self { trace: Some(Trace::default()), ..Self::default() }
    }

    /// The same table, which leaves lists of numbers in the record until they are asked for.
    pub(crate) fn kept_in(record: Bytes) -> Self {
        Self { record: Some(record), ..Self::default() }
    }

    /// Forgets what only decoding needs, when all objects are decoded.
    pub(crate) fn seal(&mut self) {
        /// A record is kept where at least this part of it are lists that are not decoded: less is not worth the memory
        /// of the rest.
        const PART: usize = 4;
        self.positions = NumberMap::default();
        self.pending = VecDeque::new();
        if let Some(record) = self.record.take() {
            let later: usize = self.tables.iter().map(|table| table.part.later_bytes()).sum();
            if later < record.len() / PART {
                self.tables.iter_mut().for_each(|table| table.part.settle());
            }
        }
    }

    /// Records framing, if requested.
    #[inline]
    pub(super) fn note(&mut self, step: u32, stamp: impl FnOnce() -> Stamp) {
        if let Some(trace) = &mut self.trace {
            trace.push(step, stamp());
        }
    }

    /// Begins recording for another object; returns the recording of the enclosing one.
    pub(super) fn begin_trace(&mut self) -> Option<Trace> {
        self.trace.as_mut().map(std::mem::take)
    }

    /// Stores the recording of object `id`, and continues with the enclosing one.
    pub(super) fn end_trace(&mut self, id: u32, outer: Option<Trace>) {
        if let (Some(now), Some(outer)) = (&mut self.trace, outer) {
            self.traces.insert(id, Arc::new(std::mem::replace(now, outer)));
        }
    }

    pub(super) fn trace_of(&self, id: u32) -> Option<&Arc<Trace>> {
        self.traces.get(&id)
    }

    /// What the members of object `id` were compiled for, and the program.
    pub(super) fn program_of(&self, id: u32) -> Option<(&Target, &Arc<Program>)> {
        let (table, _) = (*self.rows.get((id as usize).checked_sub(1)?)?)?;
        let table = self.tables.get(table as usize)?;
        Some((&table.target, &table.program))
    }

    /// How many objects there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Why an object could not be decoded.
    pub fn failure(&self, id: u32) -> Option<&Error> {
        self.failures.get(&id)
    }

    /// Forgets positions: references never reach from one entry into another.
    pub(crate) fn next_entry(&mut self) {
        self.positions.clear();
    }

    /// Bytes of memory in use.
    pub fn memory_bytes(&self) -> usize {
        self.tables.iter().map(|table| table.part.memory_bytes()).sum::<usize>() + 8 * self.rows.len()
    }

    /// Reserves memory for what follows: of so many bytes so many are expected in all.
    ///
    /// # Errors
    ///
    /// [`Limit`](ErrorKind::Limit) where the system has no such memory.
    pub(crate) fn reserve(&mut self, memory: &Memory, expected: impl Fn(usize) -> usize) -> Result<()> {
        self.tables.iter_mut().try_for_each(|table| table.part.reserve_all(memory, &expected))
    }

    /// Makes large values readable by many: no more objects follow.
    pub(crate) fn share(&mut self, memory: &Memory) {
        self.tables.iter_mut().for_each(|table| table.part.share(memory));
    }

    /// The object at a position, which may come later.
    pub(super) fn at_position(&mut self, position: usize) -> u32 {
        if let Some(&id) = self.positions.get(&position) {
            return id;
        }
        let id = self.fresh();
        self.positions.insert(position, id);
        id
    }

    /// A new object that nothing refers to by position.
    pub(super) fn fresh(&mut self) -> u32 {
        self.rows.push(None);
        self.rows.len() as u32
    }

    /// A new object that cannot be decoded, and why.
    pub(super) fn lost(&mut self, error: Error) -> u32 {
        let id = self.fresh();
        self.failures.insert(id, error);
        id
    }

    /// The name of a class, shared by all objects of it.
    pub(super) fn class(&mut self, name: &[u8]) -> Arc<str> {
        if let Some(known) = self.names.iter().find(|known| known.as_bytes() == name) {
            return Arc::clone(known);
        }
        let class: Arc<str> = crate::wire::text(name).into();
        if self.names.len() < MOST_REMEMBERED {
            self.names.push(Arc::clone(&class));
        }
        class
    }

    /// What to do with an object of `class` whose frame comes next.
    pub(super) fn resolve(
        &mut self,
        registry: &Registry,
        class: &Arc<str>,
        reader: &Reader<'_>,
    ) -> Result<Arc<Resolved>> {
        let mut ahead = reader.clone();
        let stamp = match ahead.frame() {
            Ok(frame) if frame.version <= 0 => (frame.version, ahead.peek_or_zero()),
            Ok(frame) => (frame.version, 0),
            Err(_) => (0, 0),
        };
        let known = self
            .resolved
            .iter()
            .find(|known| Arc::ptr_eq(&known.class, class) && known.stamp.is_none_or(|of| of == stamp));
        if let Some(known) = known {
            return Ok(Arc::clone(known));
        }
        let (target, framed) = self.target(registry, class, reader)?;
        let program = registry.program(&target)?;
        let stamp = framed.then_some(stamp);
        let resolved = Arc::new(Resolved { class: Arc::clone(class), stamp, program, framed, target });
        if self.resolved.len() < MOST_REMEMBERED {
            self.resolved.push(Arc::clone(&resolved));
        }
        Ok(resolved)
    }

    /// A table for rows of what was resolved.
    pub(super) fn open_resolved(&mut self, resolved: &Resolved) -> (u32, Part) {
        // Most often it is the table of the row before.
        let last = self.last_table as usize;
        if let Some(table) = self.tables.get_mut(last)
            && !table.taken
            && Arc::ptr_eq(&table.program, &resolved.program)
            && Arc::ptr_eq(&table.class, &resolved.class)
            && !table.closed
        {
            table.taken = true;
            return (last as u32, std::mem::take(&mut table.part));
        }
        let (index, part) = self.open(&resolved.class, &resolved.target, &resolved.program);
        self.last_table = index;
        (index, part)
    }

    pub(super) fn defer(&mut self, id: u32, class: Arc<str>, at: usize, end: usize) {
        self.room_bytes = self.room_bytes.saturating_add(end.saturating_sub(at));
        self.pending.push_back(Pending { id, class, at, end });
    }

    pub(super) fn next_pending(&mut self) -> Option<Pending> {
        self.pending.pop_front()
    }

    /// What to compile for an object of `class` whose frame comes next, and whether the frame is not part of that.
    pub(super) fn target(&self, registry: &Registry, class: &Arc<str>, reader: &Reader<'_>) -> Result<(Target, bool)> {
        if streamers::is_custom(class) || matches!(&**class, "TString" | "TObject" | "string") {
            return Ok((Target::Value { name: Arc::clone(class) }, false));
        }
        let next = reader.peek_or_zero();
        if class.contains('<') && next & crate::wire::BYTE_COUNT == 0 && is_container(class) {
            return Ok((Target::Bare { name: Arc::clone(class) }, false));
        }
        if registry.versions(class).is_empty() {
            return Ok((Target::Value { name: Arc::clone(class) }, false));
        }
        if streamers::forwards(class) {
            return Ok((Target::Members { class: Arc::clone(class), version: None, checksum: None }, false));
        }
        let mut ahead = reader.clone();
        let frame = ahead.frame()?;
        let checksum = if frame.version <= 0 { ahead.peek_u32().ok() } else { None };
        let known = registry.versions(class);
        let version = i32::from(frame.class_version());
        let found = known
            .iter()
            .find(|info| Some(info.checksum) == checksum && info.checksum != 0)
            .or_else(|| known.iter().find(|info| info.version == version));
        let target = match found {
            Some(info) => {
                Target::Members { class: Arc::clone(class), version: Some(info.version), checksum: Some(info.checksum) }
            }
            None => Target::Members { class: Arc::clone(class), version: None, checksum: None },
        };
        Ok((target, true))
    }

    /// A table that rows of a target may be added to; one whose row is not yet complete stays out.
    pub(super) fn open(&mut self, class: &Arc<str>, target: &Target, program: &Arc<Program>) -> (u32, Part) {
        let key = (Arc::clone(class), target.clone());
        if let Some(&index) = self.open.get(&key)
            && let Some(table) = self.tables.get_mut(index as usize)
            && !table.taken
        {
            table.taken = true;
            return (index, std::mem::take(&mut table.part));
        }
        let index = self.tables.len() as u32;
        self.tables.push(Table {
            class: Arc::clone(class),
            target: target.clone(),
            program: Arc::clone(program),
            part: Part::default(),
            taken: true,
            closed: false,
        });
        self.open.entry(key).or_insert(index);
        // Pending objects are most often of the class that comes first among them.
        (index, Part::with_room(&program.buffers, self.pending.len() + 1, &mut self.room_bytes))
    }

    pub(super) fn close(&mut self, index: u32, part: Part) {
        if let Some(table) = self.tables.get_mut(index as usize) {
            table.part = part;
            table.taken = false;
        }
    }

    pub(super) fn set(&mut self, id: u32, table: u32, row: u32) {
        if let Some(slot) = self.rows.get_mut(id as usize - 1) {
            *slot = Some((table, row));
        }
    }

    /// Takes no more rows into a table whose last row is broken.
    pub(super) fn spoil(&mut self, index: u32, class: &Arc<str>, target: &Target) {
        if let Some(table) = self.tables.get_mut(index as usize) {
            table.closed = true;
        }
        let key = (Arc::clone(class), target.clone());
        if self.open.get(&key) == Some(&index) {
            self.open.remove(&key);
        }
    }

    /// Notes that an object cannot be decoded: it hides nothing else.
    pub(super) fn fail(&mut self, id: u32, class: &Arc<str>, error: Error) -> Result<()> {
        if error.kind() == ErrorKind::Limit {
            return Err(error);
        }
        self.failures.insert(id, error.in_object(class));
        Ok(())
    }
}

/// Whether whole objects of the class may stand without a frame: what is no class of ROOT's own dictionary.
fn is_container(class: &str) -> bool {
    use super::TypeName::{Bitset, Mapping, Pair, Sequence};
    matches!(super::TypeName::parse(class), Ok(Sequence(..) | Mapping(..) | Pair(..) | Bitset(_)))
}
