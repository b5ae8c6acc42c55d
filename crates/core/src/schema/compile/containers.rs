//! Containers, pairs and the types in them, by their names.

use super::super::info::Element;
use super::super::program::{Body, Role, Span, Step, TextForm, Versions};
use super::super::streamers;
use super::super::typename::{Mapping, Sequence, TypeName};
use super::elements::{fixed, plain_number};
use super::{Compiled, Compiler, FOREIGN, pair_record};
use crate::column::{BufferKind, Kind, ListOf, Number, Packing, Prim};
use crate::error::{Error, Result};

impl Compiler<'_> {
    /// A container that is a member, or a base.
    pub(super) fn stl(&mut self, element: &Element, item_code: i32) -> Result<Compiled> {
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
        if let Step::Collection { array, columns, value_version_from, .. } = &mut step {
            *array = element.array_length.max(1);
            *value_version_from = if pointer { 9 } else { 8 };
            // Objects of what is not to be split stand one by one.
            if self.registry.is_for_writing() && element.title.starts_with("||") {
                *columns = None;
            }
        }
        let kind = if let Step::Opaque { .. } = step { kind } else { fixed(kind, element) };
        Ok((vec![step], kind))
    }

    /// A container with a frame of its own. Where the file does not describe its items, it is bytes: streamed member by
    /// member, not even their number would say where one ends.
    pub(super) fn framed_container(&mut self, name: &TypeName, item_code: i32) -> Result<(Step, Kind)> {
        let (mut step, kind) = self.container(name, item_code)?;
        let is_opaque = match &kind {
            Kind::List { item, .. } => match &**item {
                Kind::Opaque { .. } => true,
                // ROOT writes their count, and nothing of what they point at.
                Kind::Pointer { class, .. } => TypeName::number(class.trim_start_matches("const ")).is_some(),
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
    pub(super) fn container(&mut self, name: &TypeName, item_code: i32) -> Result<(Step, Kind)> {
        self.enter()?;
        let made = self.container_of(name, item_code)?;
        self.depth -= 1;
        Ok(made)
    }

    pub(super) fn container_of(&mut self, name: &TypeName, item_code: i32) -> Result<(Step, Kind)> {
        let ends = self.buffer(BufferKind::Ends);
        let collection =
            |item, columns| Step::Collection { framed: false, array: 1, item, columns, value_version_from: 8, ends };
        let list = |of, item| Kind::List { offsets: ends, of, item: Box::new(item) };
        match name {
            TypeName::Sequence(kind, item) => {
                // ROOT writes items that are enums as `int`, whatever type it says is theirs.
                let item_code = match plain_number(item_code) {
                    Some(Number::F32 | Number::F64) | None => item_code,
                    Some(_) => 3,
                };
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
                let codes = self.codes_of_pair(key, value);
                let (first, kind_of_first, first_column) = self.items_and_column(key, codes[0])?;
                let (second, kind_of_second, second_column) = self.items_and_column(value, codes[1])?;
                let pair = self.seal([first, second].concat());
                let item = self.seal(vec![Step::Each { body: pair }]);
                let columns = self.seal([first_column, second_column].concat());
                let body = Body { version: 0, checksum: self.checksum_of_pair(key, value), span: columns };
                let columns = Versions { class: "pair".into(), bodies: Box::new([body]) };
                let record = pair_record(kind_of_first, kind_of_second);
                Ok((collection(item, Some(columns)), list(ListOf::Map, record)))
            }
            TypeName::Bitset(_) => {
                let (step, kind) = self.run(Prim::Plain(Number::Bool), 1)?;
                let span = self.seal(vec![step]);
                Ok((collection(span, None), list(ListOf::Sequence, kind)))
            }
            other => Err(Error::unsupported(format!("{other} is no container"))),
        }
    }

    /// The items of a sequence: object-wise steps, their type, and the columns of the member-wise form.
    pub(super) fn items(&mut self, item: &TypeName, item_code: i32) -> Result<(Vec<Step>, Kind, Option<Versions>)> {
        match item {
            TypeName::Class(name) if !streamers::is_custom(name) => {
                let name = &self.spelled(name);
                if self.registry.versions(name).is_empty() && !matches!(item_code, 61 | 63) && item_code < 60 {
                    // A plain name that the file does not describe is an enum.
                    let number = plain_number(item_code).unwrap_or(Number::I32);
                    let (step, kind) = self.run(Prim::Plain(number), 1)?;
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
                if let TypeName::Array(..) = other
                    && let Some((steps, kind, versions)) = self.array_class(other)?
                {
                    return Ok((steps, kind, Some(versions)));
                }
                let (steps, kind) = self.bare(other, item_code)?;
                Ok((steps, kind, None))
            }
        }
    }

    /// One half of a map's pair, in both forms that the same columns have in the file.
    pub(super) fn items_and_column(&mut self, name: &TypeName, item_code: i32) -> Result<(Vec<Step>, Kind, Vec<Step>)> {
        let (steps, kind, _) = self.items(name, item_code)?;
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
    pub(super) fn pair(&mut self, first: &TypeName, second: &TypeName) -> Result<(Span, Kind)> {
        let (steps, kind) = self.pair_members(first, second)?;
        Ok((self.seal(steps), kind))
    }

    pub(super) fn pair_members(&mut self, first: &TypeName, second: &TypeName) -> Result<Compiled> {
        let codes = self.codes_of_pair(first, second);
        let (mut steps, first) = self.member(first, codes[0])?;
        let (more, second) = self.member(second, codes[1])?;
        steps.extend(more);
        Ok((steps, pair_record(first, second)))
    }

    /// The checksum of a pair where the file describes it; 0 else. It says nothing to a reader, but ROOT looks for it.
    fn checksum_of_pair(&self, first: &TypeName, second: &TypeName) -> u32 {
        let pair = TypeName::Pair(Box::new(first.clone()), Box::new(second.clone()));
        let info = self.registry.template(&pair).and_then(|name| self.registry.info(name, None, None));
        info.map_or(0, |info| info.checksum)
    }

    /// The codes of a pair's members where the file describes it: of enums, only these tell the size.
    fn codes_of_pair(&self, first: &TypeName, second: &TypeName) -> [i32; 2] {
        let is_class = |name: &TypeName| matches!(name, TypeName::Class(_));
        if !is_class(first) && !is_class(second) {
            return [0; 2];
        }
        let pair = TypeName::Pair(Box::new(first.clone()), Box::new(second.clone()));
        let info = self.registry.template(&pair).and_then(|name| self.registry.info(name, None, None));
        let code = |index: usize| info.and_then(|info| info.elements.get(index)).map_or(0, |element| element.code);
        [code(0), code(1)]
    }

    /// An array that the file describes as a class: within containers and pairs, ROOT streams it as one.
    fn array_class(&mut self, name: &TypeName) -> Result<Option<(Vec<Step>, Kind, Versions)>> {
        let Some(class) = self.registry.template(name).cloned() else { return Ok(None) };
        let (steps, kind) = self.class_value(&class, Role::Member)?;
        let Some(Step::Class { versions, .. }) = steps.first() else { return Ok(None) };
        let versions = versions.clone();
        Ok(Some((steps, kind, versions)))
    }

    /// A type as an item of a container: strings and containers have no frame there.
    pub(super) fn bare(&mut self, name: &TypeName, item_code: i32) -> Result<Compiled> {
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

    pub(super) fn array_of(&mut self, steps: Vec<Step>, kind: Kind, len: usize) -> Compiled {
        let body = self.seal(steps);
        let step = Step::Repeat { body, count: u32::try_from(len).unwrap_or(u32::MAX) };
        (vec![step], Kind::Fixed { len, item: Box::new(kind) })
    }

    /// A type as a member, or as a branch of its own.
    pub(super) fn member(&mut self, name: &TypeName, item_code: i32) -> Result<Compiled> {
        match name {
            TypeName::Number(prim) => {
                let prim = match prim {
                    Prim::Double32(_) => Prim::Double32(Packing::Float),
                    other => *other,
                };
                let (step, kind) = self.run(prim, 1)?;
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
                if let Some((steps, kind, _)) = self.array_class(name)? {
                    return Ok((steps, kind));
                }
                let (steps, kind) = self.member(item, item_code)?;
                Ok(self.array_of(steps, kind, *len))
            }
            TypeName::Pointer(inner) => {
                let (step, kind) = self.pointer(&inner.to_string());
                Ok((vec![step], kind))
            }
            TypeName::Class(class) => match plain_number(item_code) {
                Some(number) if self.registry.versions(&self.spelled(class)).is_empty() => {
                    let (step, kind) = self.run(Prim::Plain(number), 1)?;
                    Ok((vec![step], kind))
                }
                _ => self.class_value(class, Role::Member),
            },
        }
    }
}

/// The items' type in the title of a `This` element: `<T> Used to call ...`.
pub(super) fn this_item(title: &str) -> Option<&str> {
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
