//! What entries tell of how they are written, and StreamerInfos do not: which objects a `TClonesArray` holds, whether
//! the objects of collections stand one by one, and which classes have a `ClassDef`.

use std::ops::Range;
use std::sync::Arc;

use super::clones_form::{CLONES_ARRAY, ClonesForm, class_and_version, is_member_wise};
use super::execute::{Machine, Order};
use super::framing_trace::Trace;
use super::objects::Objects;
use super::program::{Custom, Program, Step};
use super::registry::Registry;
use crate::column::{Field, Kind, Part};
use crate::error::Result;
use crate::wire::{Limits, MEMBER_WISE, Reader};

/// A member: its class, and its name.
pub(crate) type MemberName = (Arc<str>, Arc<str>);

/// A basket's bytes before its entries end, and where they are in the record.
pub(crate) struct EntryBytes<'a> {
    /// The payload.
    pub(crate) data: &'a [u8],
    /// The entry in it.
    pub(crate) entry: Range<usize>,
    /// Bytes of the key before it.
    pub(crate) keylen: usize,
}

/// What an entry tells.
#[derive(Default)]
pub(crate) struct EntryForms {
    /// Members that are a `TClonesArray`.
    pub(crate) clones: Vec<(MemberName, ClonesForm)>,
    /// Whether the objects of any collection stand member by member; none where there is no collection of objects.
    pub(crate) is_member_wise: Option<bool>,
    /// Whether an entry was read, and is as its program says.
    pub(crate) is_told: bool,
    /// Classes that have a `ClassDef`: a version stands in front of their objects, and no checksum.
    pub(crate) numbered: Vec<Arc<str>>,
}

/// Whether values of a type have a `TClonesArray` in them, or behind a pointer of that class.
fn holds_clones(kind: &Kind) -> bool {
    match kind {
        Kind::Record { class, fields } => {
            &**class == CLONES_ARRAY || fields.iter().any(|field| holds_clones(&field.kind))
        }
        Kind::List { item, .. } | Kind::Fixed { item, .. } => holds_clones(item),
        Kind::Pointer { class, .. } => &**class == CLONES_ARRAY,
        Kind::Number { .. } | Kind::Text { .. } | Kind::Opaque { .. } | Kind::OneOf { .. } => false,
    }
}

impl EntryForms {
    /// Adds what an earlier entry tells.
    pub(crate) fn add(&mut self, more: Self) {
        self.clones.extend(more.clones);
        self.is_told |= more.is_told;
        self.numbered.extend(more.numbered);
        self.is_member_wise = self.is_member_wise.or(more.is_member_wise);
    }

    /// Whether entries of a program can tell anything.
    pub(crate) fn can_be_in(program: &Program) -> bool {
        holds_clones(&program.kind) || program.steps.iter().any(|step| class_of(step).is_some())
    }

    /// Whether entries of a program have a `TClonesArray`.
    pub(crate) fn has_clones(program: &Program) -> bool {
        holds_clones(&program.kind)
    }

    /// Those of an entry; `member` is the name of the whole where it is a member itself.
    ///
    /// # Errors
    ///
    /// Those of reading.
    pub(crate) fn read(
        registry: &Registry,
        program: &Program,
        member: Option<MemberName>,
        bytes: &EntryBytes<'_>,
        limits: &Limits,
    ) -> Result<Self> {
        let (mut objects, mut part) = (Objects::traced(), Part::new(&program.buffers));
        let mut reader = Reader::with_origin(bytes.data.get(..bytes.entry.end).unwrap_or_default(), bytes.keylen);
        reader.seek(bytes.entry.start)?;
        let mut machine = Machine { registry, objects: &mut objects, limits, displacement: 0, outside: &[], depth: 0 };
        machine.decode(program, &mut reader, 1, Order::Rows, &mut part)?;
        machine.settle(&mut reader)?;
        let trace = objects.trace.take().unwrap_or_default();
        let mut search = Search { program, trace: &trace, part: &part, objects: &objects, found: Vec::new() };
        search.walk(&program.kind, member);
        let mut told = Self { clones: search.found, is_told: true, ..Self::default() };
        for (index, step) in (0..).zip(&program.steps) {
            let (Some(class), Some(stamp)) = (class_of(step), trace.last(index, |_| true)) else { continue };
            let is_collection = matches!(step, Step::Collection { .. });
            let version = if is_collection { stamp.items.map_or(0, |(version, _)| version) } else { stamp.version };
            if version > 0 {
                told.numbered.push(Arc::clone(class));
            }
            if is_collection {
                let is_member_wise = stamp.version & MEMBER_WISE != 0;
                told.is_member_wise = Some(told.is_member_wise.unwrap_or(false) || is_member_wise);
            }
        }
        Ok(told)
    }
}

/// The class of which a step has objects, behind frames of theirs, or of a collection that may stand member by member.
fn class_of(step: &Step) -> Option<&Arc<str>> {
    match step {
        Step::Class { versions, .. } | Step::Collection { framed: true, columns: Some(versions), .. } => {
            Some(&versions.class)
        }
        _ => None,
    }
}

struct Search<'a> {
    program: &'a Program,
    trace: &'a Trace,
    part: &'a Part,
    objects: &'a Objects,
    found: Vec<(MemberName, ClonesForm)>,
}

impl Search<'_> {
    fn walk(&mut self, kind: &Kind, member: Option<MemberName>) {
        match kind {
            Kind::Record { class, fields } if &**class == CLONES_ARRAY => {
                let form = form(self.program, self.trace, self.part, fields, None);
                self.found.extend(member.zip(form));
            }
            Kind::Record { class, fields } => {
                for field in fields {
                    let member = (!field.base).then(|| (Arc::clone(class), Arc::clone(&field.name)));
                    self.walk(&field.kind, member);
                }
            }
            Kind::List { item, .. } | Kind::Fixed { item, .. } => self.walk(item, member),
            Kind::Pointer { buffer, class } if &**class == CLONES_ARRAY => {
                let ids = self.part.words(*buffer).iter().rev();
                let form = ids.copied().find_map(|id| {
                    let (row, trace) = (self.objects.get(id)?, self.objects.trace_of(id)?);
                    let (_, program) = self.objects.program_of(id)?;
                    let Kind::Record { class, fields } = row.kind else { return None };
                    let form =
                        (&**class == CLONES_ARRAY).then(|| form(program, trace, row.part, fields, Some(row.row)));
                    form.flatten().map(|form| ClonesForm { is_pointer: true, ..form })
                });
                self.found.extend(member.zip(form));
            }
            _ => {}
        }
    }
}

/// The form of the array that a part has in a row, or in its last.
fn form(program: &Program, trace: &Trace, part: &Part, fields: &[Field], row: Option<usize>) -> Option<ClonesForm> {
    let [name, low, ..] = fields else { return None };
    let (Kind::Text { offsets, bytes }, Kind::Number { buffer: low, .. }) = (&name.kind, &low.kind) else {
        return None;
    };
    let is_it = |step: &Step| match step {
        Step::Custom { which: Custom::ClonesArray, buffers } => buffers.first() == Some(offsets),
        _ => false,
    };
    let step = program.steps.iter().position(is_it)?;
    let stamp = trace.last(step as u32, |stamp| stamp.version > 0)?;
    let ends = part.words(*offsets);
    let row = row.or_else(|| ends.len().checked_sub(1))?;
    let start = row.checked_sub(1).map_or(Some(0), |before| ends.get(before).copied())?;
    let name = part.bytes(*bytes).get(start as usize..*ends.get(row)? as usize)?;
    let low = part.bytes(*low).get(4 * row..)?.first_chunk()?;
    let (class, version) = class_and_version(&crate::wire::text(stamp.raw.as_deref()?));
    let new = ClonesForm::new(&class, version?);
    let bits = if is_member_wise(stamp.version, stamp.bits) { new.bits } else { 0 };
    Some(ClonesForm { name: crate::wire::text(name).into(), low: i32::from_ne_bytes(*low), bits, ..new })
}
