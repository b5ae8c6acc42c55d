//! From a class as the file describes it to a program.

use std::collections::HashMap;
use std::sync::Arc;

use super::custom;
use super::info::{Detail, Element, StreamerInfo};
use super::program::{Body, Counter, Custom, Program, Role, RunField, Span, Step, TextForm, Versions};
use super::registry::Registry;
use super::shorthand::BARE;
use super::typename::{Mapping, Sequence, TypeName};
use super::versions::Fit;
use crate::column::{BufferId, BufferKind, Field, Kind, ListOf, Number, Packing, Prim};
use crate::error::{Error, Result};

/// What a program is compiled for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// The members of a class, without a frame: unsplit branches, and objects whose frame was read.
    Members {
        /// Class name.
        class: Arc<str>,
        /// Version, where it is known.
        version: Option<i32>,
        /// Checksum, where it is known.
        checksum: Option<u32>,
    },
    /// One member of a class: split branches.
    Member {
        /// Class that declares it.
        class: Arc<str>,
        /// Version of that class.
        version: i32,
        /// Checksum of that class.
        checksum: u32,
        /// Which element.
        index: usize,
    },
    /// A type as it stands as the value of a member: framed where such a value is.
    Value {
        /// Type name.
        name: Arc<str>,
    },
    /// A container or pair without a frame: whole objects of such a type.
    Bare {
        /// Type name.
        name: Arc<str>,
    },
}

/// Compiles a target.
pub(super) fn compile(target: &Target, registry: &Registry) -> Result<Program> {
    let mut compiler = Compiler {
        registry,
        steps: Vec::new(),
        buffers: Vec::new(),
        stack: Vec::new(),
        old_branch: false,
        depth: 0,
        classes: 0,
    };
    let (steps, kind) = match target {
        Target::Members { class, version, checksum } => {
            let info = registry
                .info(class, *version, *checksum)
                .ok_or_else(|| Error::unsupported(format!("the file does not describe class {class}")))?;
            compiler.members(&Arc::clone(info))?
        }
        Target::Member { class, version, checksum, index } => {
            let info = registry
                .info(class, Some(*version), Some(*checksum))
                .ok_or_else(|| Error::unsupported(format!("the file does not describe class {class}")))?;
            let element = info.elements.get(*index).ok_or_else(|| {
                Error::malformed(format!("class {class} has no such member"))
                    .wanted(info.elements.len() as u64, *index as u64)
            })?;
            compiler.stack.push(Arc::clone(&info.name));
            let (steps, field) = compiler.element(element, &mut Scope::outside())?;
            (steps, field.map_or_else(|| Kind::Record { class: "".into(), fields: Vec::new() }, |field| field.kind))
        }
        Target::Bare { name } => match TypeName::parse(name)? {
            TypeName::Pair(first, second) => compiler.pair_members(&first, &second)?,
            other => compiler.bare(&other, 0)?,
        },
        Target::Value { name } => match TypeName::parse(name)? {
            // A string that is a whole object has no frame.
            TypeName::StdString => compiler.bare(&TypeName::StdString, 0)?,
            other => compiler.member(&other, 0)?,
        },
    };
    let root = compiler.seal(steps);
    Ok(Program { steps: compiler.steps, root, kind, buffers: compiler.buffers })
}

type Compiled = (Vec<Step>, Kind);

/// Members that later members of the same object may name as their counter.
#[derive(Default)]
struct Scope {
    counters: HashMap<Arc<str>, (BufferId, Number)>,
    outside: bool,
}

impl Scope {
    /// A member alone: its counter, if it has one, is another branch.
    fn outside() -> Self {
        Self { counters: HashMap::new(), outside: true }
    }
}

struct Compiler<'r> {
    registry: &'r Registry,
    steps: Vec<Step>,
    buffers: Vec<BufferKind>,
    /// Classes being compiled, outermost first.
    stack: Vec<Arc<str>>,
    /// Whether the members are those of a `TBranch` that was still streamed by hand.
    old_branch: bool,
    /// Classes and containers around what is being compiled.
    depth: usize,
    /// Classes compiled so far, also those that were thrown away.
    classes: usize,
}

/// Version of a class without a dictionary of its own: the file gives 0 and a checksum.
const FOREIGN: i32 = -1;
const DEEPEST: usize = 96;
const MOST_STEPS: usize = 1 << 18;
const MOST_CLASSES: usize = 1 << 16;

impl Compiler<'_> {
    fn buffer(&mut self, kind: BufferKind) -> BufferId {
        self.buffers.push(kind);
        (self.buffers.len() - 1) as BufferId
    }

    fn seal(&mut self, steps: Vec<Step>) -> Span {
        let start = self.steps.len() as u32;
        self.steps.extend(regroup(steps));
        Span { start, end: self.steps.len() as u32 }
    }

    fn run(&mut self, prim: Prim, count: u32) -> (Step, Kind) {
        let buffer = self.buffer(BufferKind::Numbers(prim.number()));
        let fields = Box::new([RunField { at: 0, count, prim, buffer }]);
        (Step::Run { fields, bytes: count * prim.bytes() as u32 }, Kind::Number { buffer, number: prim.number() })
    }

    fn text(&mut self, form: TextForm) -> (Step, Kind) {
        let offsets = self.buffer(BufferKind::Ends);
        let bytes = self.buffer(BufferKind::Bytes);
        (Step::Text { form, ends: offsets, bytes }, Kind::Text { offsets, bytes })
    }

    fn opaque(&mut self, class: &str) -> (Step, Kind) {
        let offsets = self.buffer(BufferKind::Ends);
        let bytes = self.buffer(BufferKind::Bytes);
        (Step::Opaque { ends: offsets, bytes, shared: false }, Kind::Opaque { offsets, bytes, class: class.into() })
    }

    fn pointer(&mut self, class: &str) -> (Step, Kind) {
        let buffer = self.buffer(BufferKind::Objects);
        (Step::Pointer { buffer }, Kind::Pointer { buffer, class: class.trim_end_matches('*').into() })
    }

    /// All members of a class, as a record.
    fn members(&mut self, info: &Arc<StreamerInfo>) -> Result<Compiled> {
        let mut scope = Scope::default();
        self.members_in(info, &mut scope)
    }

    fn members_in(&mut self, info: &Arc<StreamerInfo>, scope: &mut Scope) -> Result<Compiled> {
        self.classes += 1;
        if self.steps.len() >= MOST_STEPS || self.classes >= MOST_CLASSES {
            return Err(Error::limit("a class has too many parts", MOST_CLASSES as u64, self.classes as u64));
        }
        self.enter()?;
        self.stack.push(Arc::clone(&info.name));
        self.old_branch = &*info.name == "TBranch" && info.version < 10;
        let (mut steps, mut fields) = (Vec::new(), Vec::new());
        for element in &info.elements {
            let old_branch = self.old_branch;
            let (more, field) = self.element(element, scope).map_err(|error| error.in_object(&element.name))?;
            self.old_branch = old_branch;
            steps.extend(more);
            fields.extend(field);
        }
        self.stack.pop();
        self.depth -= 1;
        Ok((steps, Kind::Record { class: Arc::clone(&info.name), fields }))
    }

    /// Counts one level of nesting.
    fn enter(&mut self) -> Result<()> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(Error::limit("a class nests too deep", DEEPEST as u64, self.depth as u64));
        }
        Ok(())
    }

    /// One base or member.
    fn element(&mut self, element: &Element, scope: &mut Scope) -> Result<(Vec<Step>, Option<Field>)> {
        let len = element.array_length.max(1);
        let (steps, kind) = match element.code {
            -1 => return Ok((Vec::new(), None)),
            0 | 66 | 67 if matches!(element.detail, Detail::Base { .. }) => return self.base(element, scope),
            _ if matches!(element.detail, Detail::Artificial) => return Ok((Vec::new(), None)),
            code if code >= BARE => self.without_frame(element, scope)?,
            code if is_number(code) => {
                let prim = prim_of(code, element)?;
                let (step, kind) = self.run(prim, 1);
                if let Kind::Number { buffer, number } = kind {
                    scope.counters.insert(Arc::clone(&element.name), (buffer, number));
                }
                (vec![step], kind)
            }
            code if (20..40).contains(&code) && is_number(code - 20) => {
                let (step, kind) = self.run(prim_of(code - 20, element)?, len);
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
    fn without_frame(&mut self, element: &Element, scope: &Scope) -> Result<Compiled> {
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
                *item = Box::new(Kind::Fixed { len: each as usize, item: item.clone() });
            }
        }
        Ok((steps, kind))
    }

    fn std_string(&mut self, element: &Element) -> Compiled {
        let (step, kind) = self.text(TextForm::Counted);
        let body = self.seal(vec![step]);
        (vec![Step::SharedFrame { body, count: element.array_length.max(1) }], fixed(kind, element))
    }

    fn base(&mut self, element: &Element, scope: &mut Scope) -> Result<(Vec<Step>, Option<Field>)> {
        let name = &element.name;
        let field = |kind| Some(Field { name: Arc::clone(name), kind, base: true });
        if element.code == 66 || &**name == "TObject" {
            let (steps, kind) = self.tobject();
            return Ok((steps, field(kind)));
        }
        if custom::is_custom(name) || element.code == 67 {
            let (steps, kind) = self.class_value(name, Role::Member)?;
            return Ok((steps, field(kind)));
        }
        let Detail::Base { version } = element.detail else { return Ok((Vec::new(), None)) };
        let checksum = (version < 0 && element.max_index[0] != 0).then_some(element.max_index[0] as u32);
        let Some(info) = self.registry.info(name, Some(version), checksum).cloned() else {
            // An empty class that needs no description still has its frame.
            let (step, kind) = self.opaque(name);
            return Ok((vec![step], field(kind)));
        };
        let (steps, kind) = self.members_in(&info, scope)?;
        if custom::forwards(name) {
            return Ok((steps, field(kind)));
        }
        let span = self.seal(steps);
        let versions = self.versions(&info, span);
        Ok((vec![Step::Class { versions, role: Role::Base }], field(kind)))
    }

    fn versions(&self, info: &StreamerInfo, span: Span) -> Versions {
        let body = Body { version: info.version, checksum: info.checksum, span };
        Versions { class: Arc::clone(&info.name), bodies: Box::new([body]) }
    }

    fn tobject(&mut self) -> Compiled {
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

    /// The spelling by which the file describes a class: a streamer info may leave out the namespace of its own class.
    fn spelled(&self, class: &str) -> Arc<str> {
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

    fn counted(&mut self, element: &Element, scope: &Scope) -> Result<Compiled> {
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

    fn old_seeks(&mut self, element: &Element, scope: &Scope) -> Result<Compiled> {
        let Counter::Member(counter, _) = self.counter(element, scope)? else {
            return Err(Error::unsupported("basket positions stand only in branches"));
        };
        let (ends, values) = (self.buffer(BufferKind::Ends), self.buffer(BufferKind::Numbers(Number::I64)));
        let step = Step::Custom { which: Custom::OldSeeks, buffers: Box::new([ends, values, counter]) };
        let item = Box::new(Kind::Number { buffer: values, number: Number::I64 });
        Ok((vec![step], Kind::List { offsets: ends, of: ListOf::Sequence, item }))
    }

    fn counter(&self, element: &Element, scope: &Scope) -> Result<Counter> {
        let Detail::Counted { count_name, .. } = &element.detail else {
            return Err(Error::malformed(format!("member {} has no counter", element.name)));
        };
        match scope.counters.get(count_name) {
            Some(&(buffer, number)) => Ok(Counter::Member(buffer, number)),
            None if scope.outside => Ok(Counter::Outside),
            None => Err(Error::malformed(format!("{} counts by {count_name}, which is not there", element.name))),
        }
    }

    fn class_loop(&mut self, element: &Element, scope: &Scope) -> Result<Compiled> {
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

    fn repeat(&mut self, steps: Vec<Step>, kind: Kind, element: &Element) -> Compiled {
        match element.array_length {
            0 | 1 => (steps, if element.extents.is_empty() { kind } else { fixed(kind, element) }),
            count => {
                let body = self.seal(steps);
                (vec![Step::Repeat { body, count }], fixed(kind, element))
            }
        }
    }

    /// A container that is a member, or a base.
    fn stl(&mut self, element: &Element, item_code: i32) -> Result<Compiled> {
        let spelled = element.type_name.trim();
        let pointer = spelled.ends_with('*');
        let mut name = TypeName::parse(spelled.trim_end_matches(['*', ' ']))?;
        if let TypeName::Class(_) = name {
            // A class that *is* a collection: its one element `This` has the items' type in the title.
            name = match this_item(&element.title) {
                Some(item) => TypeName::Sequence(Sequence::Vector, Box::new(TypeName::parse(item)?)),
                None => {
                    let (step, kind) = self.opaque(spelled);
                    return Ok((vec![step], kind));
                }
            };
        }
        if name == TypeName::StdString {
            return Ok(self.std_string(element));
        }
        let (mut step, kind) = self.framed_container(&name, item_code)?;
        if let Step::Collection { array, value_version_from, .. } = &mut step {
            *array = element.array_length.max(1);
            *value_version_from = if pointer { 9 } else { 8 };
        }
        let kind = if let Step::Opaque { .. } = step { kind } else { fixed(kind, element) };
        Ok((vec![step], kind))
    }

    /// A container with a frame of its own. Where the file does not describe its items, it is bytes: streamed member by
    /// member, not even their number would say where one ends.
    fn framed_container(&mut self, name: &TypeName, item_code: i32) -> Result<(Step, Kind)> {
        let (mut step, kind) = self.container(name, item_code)?;
        let is_opaque = match &kind {
            Kind::List { item, .. } => match &**item {
                Kind::Opaque { .. } => true,
                Kind::Record { fields, .. } if matches!(name, TypeName::Mapping(..)) => {
                    fields.iter().any(|field| matches!(field.kind, Kind::Opaque { .. }))
                }
                _ => false,
            },
            _ => false,
        };
        if is_opaque {
            let (offsets, bytes) = (self.buffer(BufferKind::Ends), self.buffer(BufferKind::Bytes));
            let step = Step::Opaque { ends: offsets, bytes, shared: true };
            return Ok((step, Kind::Opaque { offsets, bytes, class: name.to_string().into() }));
        }
        if let Step::Collection { framed, .. } = &mut step {
            *framed = true;
        }
        Ok((step, kind))
    }

    /// A container without a frame of its own.
    fn container(&mut self, name: &TypeName, item_code: i32) -> Result<(Step, Kind)> {
        self.enter()?;
        let made = self.container_of(name, item_code)?;
        self.depth -= 1;
        Ok(made)
    }

    fn container_of(&mut self, name: &TypeName, item_code: i32) -> Result<(Step, Kind)> {
        let ends = self.buffer(BufferKind::Ends);
        let collection =
            |item, columns| Step::Collection { framed: false, array: 1, item, columns, value_version_from: 8, ends };
        let list = |of, item| Kind::List { offsets: ends, of, item: Box::new(item) };
        match name {
            TypeName::Sequence(kind, item) => {
                let (steps, kind_of_item, columns) = self.items(item, item_code)?;
                let span = self.seal(steps);
                let of = match kind {
                    Sequence::Set | Sequence::MultiSet | Sequence::UnorderedSet | Sequence::UnorderedMultiSet => {
                        ListOf::Set
                    }
                    _ => ListOf::Sequence,
                };
                Ok((collection(span, columns), list(of, kind_of_item)))
            }
            TypeName::Mapping(kind, key, value) => {
                let _: &Mapping = kind;
                let (first, kind_of_first, first_column) = self.items_and_column(key)?;
                let (second, kind_of_second, second_column) = self.items_and_column(value)?;
                let pair = self.seal([first, second].concat());
                let item = self.seal(vec![Step::Each { body: pair }]);
                let columns = self.seal([first_column, second_column].concat());
                let body = Body { version: 0, checksum: 0, span: columns };
                let columns = Versions { class: "pair".into(), bodies: Box::new([body]) };
                let record = pair_record(kind_of_first, kind_of_second);
                Ok((collection(item, Some(columns)), list(ListOf::Map, record)))
            }
            TypeName::Bitset(_) => {
                let (step, kind) = self.run(Prim::Plain(Number::Bool), 1);
                let span = self.seal(vec![step]);
                Ok((collection(span, None), list(ListOf::Sequence, kind)))
            }
            other => Err(Error::unsupported(format!("{other} is no container"))),
        }
    }

    /// The items of a sequence: object-wise steps, their type, and the columns of the member-wise form.
    fn items(&mut self, item: &TypeName, item_code: i32) -> Result<(Vec<Step>, Kind, Option<Versions>)> {
        match item {
            TypeName::Class(name) if !custom::is_custom(name) => {
                let name = &self.spelled(name);
                if self.registry.versions(name).is_empty() && !matches!(item_code, 61 | 63) && item_code < 60 {
                    // A plain name that the file does not describe is an enum.
                    let number = plain_number(item_code).unwrap_or(Number::I32);
                    let (step, kind) = self.run(Prim::Plain(number), 1);
                    return Ok((vec![step], kind, None));
                }
                let (steps, kind) = self.class_value(name, Role::Member)?;
                let columns = match steps.first() {
                    Some(Step::Class { versions, .. }) => Some(versions.clone()),
                    _ => None,
                };
                Ok((steps, kind, columns))
            }
            TypeName::Pair(first, second) => {
                let (span, kind) = self.pair(first, second)?;
                let body = Body { version: FOREIGN, checksum: 0, span };
                let versions = Versions { class: "pair".into(), bodies: Box::new([body]) };
                Ok((vec![Step::Class { versions: versions.clone(), role: Role::Member }], kind, Some(versions)))
            }
            other => {
                let (steps, kind) = self.bare(other, item_code)?;
                Ok((steps, kind, None))
            }
        }
    }

    /// One half of a map's pair, in both forms that the same columns have in the file.
    fn items_and_column(&mut self, name: &TypeName) -> Result<(Vec<Step>, Kind, Vec<Step>)> {
        let (steps, kind, _) = self.items(name, 0)?;
        let column = match (name, steps.first()) {
            (TypeName::StdString, _) => {
                let body = self.seal(steps.clone());
                vec![Step::SharedFrame { body, count: 1 }]
            }
            (_, Some(Step::Collection { .. })) => {
                let mut column = steps.clone();
                for step in &mut column {
                    if let Step::Collection { framed, .. } = step {
                        *framed = true;
                    }
                }
                column
            }
            _ => steps.clone(),
        };
        Ok((steps, kind, column))
    }

    /// A pair as a class: its members as members.
    fn pair(&mut self, first: &TypeName, second: &TypeName) -> Result<(Span, Kind)> {
        let (steps, kind) = self.pair_members(first, second)?;
        Ok((self.seal(steps), kind))
    }

    fn pair_members(&mut self, first: &TypeName, second: &TypeName) -> Result<Compiled> {
        let (mut steps, first) = self.member(first, 0)?;
        let (more, second) = self.member(second, 0)?;
        steps.extend(more);
        Ok((steps, pair_record(first, second)))
    }

    /// A type as an item of a container: strings and containers have no frame there.
    fn bare(&mut self, name: &TypeName, item_code: i32) -> Result<Compiled> {
        match name {
            TypeName::StdString | TypeName::TString => {
                let (step, kind) = self.text(TextForm::Counted);
                Ok((vec![step], kind))
            }
            TypeName::Sequence(..) | TypeName::Mapping(..) | TypeName::Bitset(_) => {
                self.container(name, 0).map(|(step, kind)| (vec![step], kind))
            }
            TypeName::Array(item, len) => {
                let (steps, kind) = self.bare(item, item_code)?;
                Ok(self.array_of(steps, kind, *len))
            }
            other => self.member(other, item_code),
        }
    }

    fn array_of(&mut self, steps: Vec<Step>, kind: Kind, len: usize) -> Compiled {
        let body = self.seal(steps);
        let step = Step::Repeat { body, count: u32::try_from(len).unwrap_or(u32::MAX) };
        (vec![step], Kind::Fixed { len, item: Box::new(kind) })
    }

    /// A type as a member, or as a branch of its own.
    fn member(&mut self, name: &TypeName, item_code: i32) -> Result<Compiled> {
        match name {
            TypeName::Number(prim) => {
                let prim = match prim {
                    Prim::Double32(_) => Prim::Double32(Packing::Float),
                    other => *other,
                };
                let (step, kind) = self.run(prim, 1);
                Ok((vec![step], kind))
            }
            TypeName::StdString => {
                let (step, kind) = self.text(TextForm::Counted);
                let body = self.seal(vec![step]);
                Ok((vec![Step::SharedFrame { body, count: 1 }], kind))
            }
            TypeName::TString => {
                let (step, kind) = self.text(TextForm::Counted);
                Ok((vec![step], kind))
            }
            TypeName::Sequence(..) | TypeName::Mapping(..) | TypeName::Bitset(_) => {
                let (step, kind) = self.framed_container(name, item_code)?;
                Ok((vec![step], kind))
            }
            TypeName::Pair(first, second) => {
                let (span, kind) = self.pair(first, second)?;
                let body = Body { version: FOREIGN, checksum: 0, span };
                let versions = Versions { class: "pair".into(), bodies: Box::new([body]) };
                Ok((vec![Step::Class { versions, role: Role::Member }], kind))
            }
            TypeName::Array(item, len) => {
                let (steps, kind) = self.member(item, item_code)?;
                Ok(self.array_of(steps, kind, *len))
            }
            TypeName::Pointer(inner) => {
                let (step, kind) = self.pointer(&inner.to_string());
                Ok((vec![step], kind))
            }
            TypeName::Class(class) => self.class_value(class, Role::Member),
        }
    }

    /// A class by value, framed as its streamer frames it.
    fn class_value(&mut self, class: &str, role: Role) -> Result<Compiled> {
        match class {
            "TString" => {
                let (step, kind) = self.text(TextForm::Counted);
                return Ok((vec![step], kind));
            }
            "TObject" => return Ok(self.tobject()),
            // A string that is a whole object has no frame.
            "string" | "std::string" => {
                let (step, kind) = self.text(TextForm::Counted);
                return Ok((vec![step], kind));
            }
            _ => {}
        }
        if let Some(which) = custom::which(class) {
            return self.custom(which, class);
        }
        if self.stack.iter().any(|outer| &**outer == class) {
            let buffer = self.buffer(BufferKind::Objects);
            let step = Step::Boxed { buffer, class: class.into() };
            return Ok((vec![step], Kind::Pointer { buffer, class: class.into() }));
        }
        let spelled = self.spelled(class);
        if *spelled != *class {
            return self.class_value(&spelled, role);
        }
        let Some(info) = self.registry.info(class, None, None).cloned() else {
            return match TypeName::parse(class)? {
                TypeName::Class(_) => {
                    let (step, kind) = self.opaque(class);
                    Ok((vec![step], kind))
                }
                other => self.member(&other, 0),
            };
        };
        let (steps, kind) = self.members(&info)?;
        if custom::forwards(class) {
            return Ok((steps, kind));
        }
        let span = self.seal(steps);
        let mut versions = self.versions(&info, span);
        let others: Vec<_> = self.registry.versions(class).iter().filter(|other| ***other != *info).cloned().collect();
        for other in others {
            if let Some(body) = self.other_version(&other, &kind)? {
                versions.bodies = [&*versions.bodies, &[body]].concat().into();
            }
        }
        Ok((vec![Step::Class { versions, role }], kind))
    }

    /// A further version of a class whose columns stand already. Members that it has not become zero or empty; members
    /// that only it has are decoded into buffers of nobody; numbers of another type are converted.
    fn other_version(&mut self, info: &Arc<StreamerInfo>, kind: &Kind) -> Result<Option<Body>> {
        let (from, mark) = (self.steps.len(), self.buffers.len());
        let (mut steps, theirs) = self.members(info)?;
        let Some(fit) = Fit::new(&theirs, kind) else {
            self.steps.truncate(from);
            self.buffers.truncate(mark);
            return Ok(None);
        };
        steps.extend(fit.steps);
        let span = self.seal(steps);
        for step in &mut self.steps[from..] {
            step.rename(&fit.same);
        }
        Ok(Some(Body { version: info.version, checksum: info.checksum, span }))
    }

    fn custom(&mut self, which: Custom, class: &str) -> Result<Compiled> {
        let mut buffers = Vec::new();
        let kind = custom::kind(which, class, &mut |kind| {
            let id = self.buffer(kind);
            buffers.push(id);
            id
        });
        let mut steps = Vec::new();
        let kind = if let Custom::MatrixSym(_) = which {
            // Its own streamer writes the base as the base is described, and the upper triangle behind.
            let base = class.replacen("TMatrixTSym", "TMatrixTBase", 1);
            let info = self
                .registry
                .info(&base, None, None)
                .cloned()
                .or_else(|| self.registry.info(class, None, None).cloned());
            let (base_steps, base_kind) = match info {
                Some(info) => {
                    let (steps, kind) = self.members(&info)?;
                    let span = self.seal(steps);
                    let versions = self.versions(&info, span);
                    (vec![Step::Class { versions, role: Role::Member }], kind)
                }
                None => return Err(Error::unsupported(format!("the file does not describe class {base}"))),
            };
            let rows =
                base_kind.members().into_iter().find(|(name, _)| &***name == "fNrows").map(|(_, kind)| kind.clone());
            if let Some(Kind::Number { buffer, .. }) = rows {
                buffers.push(buffer);
            }
            steps.extend(base_steps);
            let Kind::Record { class, mut fields } = kind else {
                return Err(Error::unsupported("a matrix has members"));
            };
            fields.insert(0, Field { name: base.into(), kind: base_kind, base: true });
            Kind::Record { class, fields }
        } else {
            kind
        };
        steps.push(Step::Custom { which, buffers: buffers.into() });
        Ok((steps, kind))
    }
}

fn pair_record(first: Kind, second: Kind) -> Kind {
    let field = |name: &str, kind| Field { name: name.into(), kind, base: false };
    Kind::Record { class: "pair".into(), fields: vec![field("first", first), field("second", second)] }
}

/// Wraps a type in a fixed array's extents.
fn fixed(kind: Kind, element: &Element) -> Kind {
    if element.array_length == 0 {
        return kind;
    }
    let product: u64 = element.extents.iter().map(|&extent| u64::from(extent)).product();
    let extents = if product == u64::from(element.array_length) && !element.extents.is_empty() {
        element.extents.clone()
    } else {
        vec![element.array_length]
    };
    extents.iter().rev().fold(kind, |item, &extent| Kind::Fixed { len: extent as usize, item: Box::new(item) })
}

fn is_number(code: i32) -> bool {
    matches!(code, 1..=6 | 8..=14 | 16..=19)
}

fn plain_number(code: i32) -> Option<Number> {
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
fn prim_of(code: i32, element: &Element) -> Result<Prim> {
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

/// The items' type in the title of a `This` element: `<T> Used to call ...`.
fn this_item(title: &str) -> Option<&str> {
    let rest = title.strip_prefix('<')?;
    let mut depth = 1;
    for (index, byte) in rest.bytes().enumerate() {
        match byte {
            b'<' => depth += 1,
            b'>' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(rest[..index].trim());
        }
    }
    None
}

/// Joins neighbouring runs into one.
pub(crate) fn regroup(steps: Vec<Step>) -> Vec<Step> {
    let mut out: Vec<Step> = Vec::with_capacity(steps.len());
    for step in steps {
        if let Step::Run { fields: more, bytes: more_bytes } = &step
            && let Some(Step::Run { fields, bytes }) = out.last_mut()
        {
            let shifted = more.iter().map(|field| RunField { at: field.at + *bytes, ..*field });
            *fields = fields.iter().copied().chain(shifted).collect();
            *bytes += more_bytes;
        } else {
            out.push(step);
        }
    }
    out
}
