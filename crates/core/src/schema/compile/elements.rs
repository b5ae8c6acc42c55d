//! Bases and members, by their streamer codes.

use std::sync::Arc;

use super::super::clones_form::ClonesForm;
use super::super::info::{Detail, Element, StreamerInfo};
use super::super::program::{Body, Counter, Custom, Role, Span, Step, TextForm, Versions};
use super::super::streamers;
use super::super::typename::TypeName;
use super::{BARE, Compiled, Compiler, Scope};
use crate::column::{BufferKind, Field, Kind, ListOf, Number, Prim};
use crate::error::{Error, Result};

impl Compiler<'_> {
    /// One base or member.
    pub(super) fn element(&mut self, element: &Element, scope: &mut Scope) -> Result<(Vec<Step>, Option<Field>)> {
        let len = element.array_length.max(1);
        let (steps, kind) = match element.code {
            -1 => return Ok((Vec::new(), None)),
            0 | 66 | 67 if matches!(element.detail, Detail::Base { .. }) => return self.base(element, scope),
            _ if matches!(element.detail, Detail::Artificial) => return Ok((Vec::new(), None)),
            code if code >= BARE => self.without_frame(element, scope)?,
            code if is_number(code) => {
                let prim = prim_of(code, element)?;
                let (step, kind) = self.run(prim, 1)?;
                if let Kind::Number { buffer, number } = kind {
                    scope.counters.insert(Arc::clone(&element.name), (buffer, number));
                }
                (vec![step], kind)
            }
            code if (20..40).contains(&code) && is_number(code - 20) => {
                let (step, kind) = self.run(prim_of(code - 20, element)?, len)?;
                (vec![step], fixed(kind, element))
            }
            // Before version 10, a flag of 2 marks positions of 64 bits.
            43 | 56 if &*element.name == "fBasketSeek" && self.old_branch => self.old_seeks(element, scope)?,
            code if (40..60).contains(&code) && is_number(code - 40) => self.counted(element, scope)?,
            7 | 27 => {
                let (step, kind) = self.text(TextForm::CharStar);
                self.repeat(vec![step], kind, element)
            }
            15 => {
                let buffer = self.buffer(BufferKind::Numbers(Number::U32));
                (vec![Step::Bits { buffer }], Kind::Number { buffer, number: Number::U32 })
            }
            82 if matches!(
                TypeName::parse(&element.type_name),
                Ok(TypeName::Sequence(..) | TypeName::Mapping(..) | TypeName::Bitset(_))
            ) =>
            {
                // `std::array` of containers: they have no frames.
                let (step, kind) = self.container(&TypeName::parse(&element.type_name)?, 0)?;
                self.repeat(vec![step], kind, element)
            }
            61..=64 | 69 if let Some(form) = self.clones(element) => self.known_clones(form)?,
            61 | 62 | 63 | 68 | 81 | 82 => {
                let (steps, kind) = self.class_value(element.type_name.trim_end_matches(['*', ' ']), Role::Member)?;
                self.repeat(steps, kind, element)
            }
            64 | 69 => {
                let (step, kind) = self.pointer(&element.type_name);
                self.repeat(vec![step], kind, element)
            }
            65 => {
                let (step, kind) = self.text(TextForm::Counted);
                (vec![step], kind)
            }
            66 => self.tobject(),
            67 => self.class_value("TNamed", Role::Member)?,
            85..=87 => {
                let (steps, kind) = match element.code {
                    85 => {
                        let (step, kind) = self.text(TextForm::Counted);
                        (vec![step], kind)
                    }
                    86 => self.tobject(),
                    _ => self.class_value("TNamed", Role::Member)?,
                };
                let body = self.seal(steps);
                (vec![Step::SharedFrame { body, count: len }], fixed(kind, element))
            }
            365 => self.std_string(element),
            300 | 320 | 71 | 91 | 500 => match &element.detail {
                Detail::StlString => self.std_string(element),
                Detail::Stl { item_code, .. } => self.stl(element, *item_code)?,
                _ if matches!(&*element.type_name, "string" | "std::string") => self.std_string(element),
                _ => {
                    let (step, kind) = self.opaque(&element.type_name);
                    (vec![step], kind)
                }
            },
            501 | 521 => self.class_loop(element, scope)?,
            code => {
                return Err(Error::unsupported(format!(
                    "member {} of type {} has streamer code {code}, which no file should hold",
                    element.name, element.type_name
                )));
            }
        };
        Ok((steps, Some(Field { name: Arc::clone(&element.name), kind, base: false })))
    }

    /// What only hand-written streamers write: a container without a frame, a counted array without its flag byte.
    pub(super) fn without_frame(&mut self, element: &Element, scope: &Scope) -> Result<Compiled> {
        let element = Element { code: element.code - BARE, ..element.clone() };
        if element.code == 500 {
            let (step, kind) = self.container(&TypeName::parse(&element.type_name)?, 0)?;
            return Ok((vec![step], kind));
        }
        let each = element.array_length;
        let (mut steps, mut kind) = self.counted(&Element { array_length: 0, ..element }, scope)?;
        if let (Some(Step::Counted { flagged, len, .. }), Kind::List { item, .. }) = (steps.first_mut(), &mut kind) {
            *flagged = false;
            *len = each.max(1);
            if each > 0 {
                **item = Kind::Fixed { len: each as usize, item: item.clone() };
            }
        }
        Ok((steps, kind))
    }

    pub(super) fn std_string(&mut self, element: &Element) -> Compiled {
        let (step, kind) = self.text(TextForm::Counted);
        let body = self.seal(vec![step]);
        (vec![Step::SharedFrame { body, count: element.array_length.max(1) }], fixed(kind, element))
    }

    pub(super) fn base(&mut self, element: &Element, scope: &mut Scope) -> Result<(Vec<Step>, Option<Field>)> {
        let name = &element.name;
        let field = |kind| Some(Field { name: Arc::clone(name), kind, base: true });
        if element.code == 66 || &**name == "TObject" {
            let (steps, kind) = self.tobject();
            return Ok((steps, field(kind)));
        }
        if streamers::is_custom(name) || element.code == 67 {
            let (steps, kind) = self.class_value(name, Role::Member)?;
            return Ok((steps, field(kind)));
        }
        let Detail::Base { version } = element.detail else { return Ok((Vec::new(), None)) };
        let checksum = (version < 0 && element.max_index[1] != 0).then_some(element.max_index[1] as u32);
        let Some(info) = self.registry.info(name, Some(version), checksum).cloned() else {
            // An empty class that needs no description still has its frame.
            let (step, kind) = self.opaque(name);
            return Ok((vec![step], field(kind)));
        };
        let (steps, kind) = self.members_in(&info, scope)?;
        if streamers::forwards(name) {
            return Ok((steps, field(kind)));
        }
        // A class keeps its version when its base gets a new one: a file that was written by several programs describes
        // it once, with the base of the first.
        let versions = self.versions(name, &info, steps, &kind)?;
        Ok((vec![Step::Class { versions, role: Role::Base }], field(kind)))
    }

    pub(super) fn one_version(&self, info: &StreamerInfo, span: Span) -> Versions {
        let body = Body { version: info.version, checksum: info.checksum, span };
        Versions { class: Arc::clone(&info.name), bodies: Box::new([body]) }
    }

    pub(super) fn tobject(&mut self) -> Compiled {
        let id = self.buffer(BufferKind::Numbers(Number::U32));
        let bits = self.buffer(BufferKind::Numbers(Number::U32));
        let number = |name: &str, buffer| Field {
            name: name.into(),
            kind: Kind::Number { buffer, number: Number::U32 },
            base: false,
        };
        let fields = vec![number("fUniqueID", id), number("fBits", bits)];
        (vec![Step::Object { id, bits }], Kind::Record { class: "TObject".into(), fields })
    }

    /// What a member that is a `TClonesArray` holds, where that is known: where it is written.
    fn clones(&self, element: &Element) -> Option<Arc<ClonesForm>> {
        self.registry.clones_of(self.stack.last()?, &element.name).cloned()
    }

    /// A `TClonesArray` as the list of its objects.
    fn known_clones(&mut self, form: Arc<ClonesForm>) -> Result<Compiled> {
        let ends = self.buffer(BufferKind::Ends);
        let (steps, item) = self.class_value(&form.class, Role::Member)?;
        let item_steps = self.seal(steps);
        let kind = Kind::List { offsets: ends, of: ListOf::Sequence, item: Box::new(item) };
        Ok((vec![Step::Clones { form, item: item_steps, ends }], kind))
    }

    /// The spelling by which the file describes a class: a streamer info may leave out the namespace of its own class.
    pub(super) fn spelled(&self, class: &str) -> Arc<str> {
        if self.registry.versions(class).is_empty() {
            for outer in self.stack.iter().rev() {
                for (at, _) in outer.rmatch_indices("::") {
                    let name = format!("{}::{class}", &outer[..at]);
                    if !self.registry.versions(&name).is_empty() {
                        return name.into();
                    }
                }
            }
        }
        class.into()
    }

    pub(super) fn counted(&mut self, element: &Element, scope: &Scope) -> Result<Compiled> {
        let prim = prim_of(element.code - 40, element)?;
        let counter = self.counter(element, scope)?;
        let ends = self.buffer(BufferKind::Ends);
        let values = self.buffer(BufferKind::Numbers(prim.number()));
        let lists = element.array_length.max(1);
        let step = Step::Counted { prim, flagged: true, lists, len: 1, counter, ends, values };
        let item = Box::new(Kind::Number { buffer: values, number: prim.number() });
        let list = Kind::List { offsets: ends, of: ListOf::Sequence, item };
        Ok((vec![step], fixed(list, element)))
    }

    pub(super) fn old_seeks(&mut self, element: &Element, scope: &Scope) -> Result<Compiled> {
        let Counter::Member(counter, _) = self.counter(element, scope)? else {
            return Err(Error::unsupported("basket positions occur only in branches"));
        };
        let (ends, values) = (self.buffer(BufferKind::Ends), self.buffer(BufferKind::Numbers(Number::I64)));
        let step = Step::Custom { which: Custom::OldSeeks, buffers: Box::new([ends, values, counter]) };
        let item = Box::new(Kind::Number { buffer: values, number: Number::I64 });
        Ok((vec![step], Kind::List { offsets: ends, of: ListOf::Sequence, item }))
    }

    pub(super) fn counter(&self, element: &Element, scope: &Scope) -> Result<Counter> {
        let Detail::Counted { count_name, .. } = &element.detail else {
            return Err(Error::malformed(format!("member {} has no counter", element.name)));
        };
        match scope.counters.get(count_name) {
            Some(&(buffer, number)) => Ok(Counter::Member(buffer, number)),
            None if scope.outside => Ok(Counter::Outside),
            None => Err(Error::malformed(format!("{} counts by {count_name}, which is not there", element.name))),
        }
    }

    pub(super) fn class_loop(&mut self, element: &Element, scope: &Scope) -> Result<Compiled> {
        let counter = self.counter(element, scope)?;
        let ends = self.buffer(BufferKind::Ends);
        let name = element.type_name.trim_end_matches(['*', ' ']);
        // Up to ROOT 5.15/08, objects stood there even where the member is an array of pointers.
        const SLOTS_FROM: i32 = 51508;
        let slots = element.type_name.ends_with("**") && self.registry.file_version() > SLOTS_FROM;
        let (steps, item) = if slots {
            let (step, kind) = self.pointer(name);
            (vec![step], kind)
        } else {
            self.class_value(name, Role::Member)?
        };
        let mut item = item;
        let mut raw = None;
        if matches!(&item, Kind::Record { fields, .. } if fields.is_empty()) && !slots {
            let (_, bytes) = self.opaque(name);
            if let Kind::Opaque { offsets, bytes, .. } = bytes {
                raw = Some((offsets, bytes));
            }
            item = bytes;
        }
        let body = self.seal(steps);
        let step = Step::Loop { counter, array: element.array_length.max(1), body, ends, raw };
        Ok((vec![step], Kind::List { offsets: ends, of: ListOf::Sequence, item: Box::new(item) }))
    }

    pub(super) fn repeat(&mut self, steps: Vec<Step>, kind: Kind, element: &Element) -> Compiled {
        match element.array_length {
            0 | 1 => (steps, if element.extents.is_empty() { kind } else { fixed(kind, element) }),
            count => {
                let body = self.seal(steps);
                (vec![Step::Repeat { body, count }], fixed(kind, element))
            }
        }
    }
}

/// Wraps a type in a fixed array's extents.
pub(super) fn fixed(kind: Kind, element: &Element) -> Kind {
    if element.array_length == 0 {
        return kind;
    }
    let product = element.extents.iter().try_fold(1_u64, |product, &extent| product.checked_mul(u64::from(extent)));
    let extents = if product == Some(u64::from(element.array_length)) && !element.extents.is_empty() {
        element.extents.clone()
    } else {
        vec![element.array_length]
    };
    extents.iter().rev().fold(kind, |item, &extent| Kind::Fixed { len: extent as usize, item: Box::new(item) })
}

pub(super) fn is_number(code: i32) -> bool {
    matches!(code, 1..=6 | 8..=14 | 16..=19)
}

pub(super) fn plain_number(code: i32) -> Option<Number> {
    Some(match code {
        1 => Number::I8,
        2 => Number::I16,
        3 | 6 => Number::I32,
        4 | 16 => Number::I64,
        5 => Number::F32,
        8 => Number::F64,
        10 | 11 => Number::U8,
        12 => Number::U16,
        13 => Number::U32,
        14 | 17 => Number::U64,
        18 => Number::Bool,
        _ => return None,
    })
}

/// The number type of a streamer code, with what the member's title says of its packing.
pub(super) fn prim_of(code: i32, element: &Element) -> Result<Prim> {
    match code {
        9 => Ok(Prim::double32(&element.title)),
        19 => Ok(Prim::float16(&element.title)),
        // Before there was a code for `bool`, it was stored as an unsigned char.
        11 if matches!(element.type_name.trim_end_matches('*'), "Bool_t" | "bool") => Ok(Prim::Plain(Number::Bool)),
        // A counter is never negative; uproot takes all of them as unsigned, whatever the class says.
        6 => Ok(Prim::Plain(Number::U32)),
        code => plain_number(code)
            .map(Prim::Plain)
            .ok_or_else(|| Error::unsupported(format!("streamer code {code} is no number"))),
    }
}
