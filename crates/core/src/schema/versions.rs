//! Several versions of a class in one set of columns.

use std::collections::HashMap;

use super::program::{Counter, Step};
use crate::column::{BufferId, Kind, Number};

/// How the members of one version of a class fill the columns of another.
pub(super) struct Fit {
    /// Buffers that mean the same.
    pub(super) same: HashMap<BufferId, BufferId>,
    /// What is to be done behind the members.
    pub(super) steps: Vec<Step>,
    tie: bool,
}

impl Fit {
    /// Fits `theirs` into `ours`; `None` where a member changed to another kind of thing.
    ///
    /// Numbers become those of our version as they do in ROOT; where nothing says which version is the newer one
    /// (`tie`), only if none of them is lost.
    pub(super) fn new(theirs: &Kind, ours: &Kind, tie: bool) -> Option<Self> {
        let mut fit = Self { same: HashMap::new(), steps: Vec::new(), tie };
        fit.pair(theirs, ours, Some(1)).then_some(fit)
    }

    /// `times` is how many values a row has, as long as that is fixed: inside lists nothing can be filled in, but
    /// converted.
    fn pair(&mut self, theirs: &Kind, ours: &Kind, times: Option<u32>) -> bool {
        match (theirs, ours) {
            (Kind::Number { buffer: from, number: a }, Kind::Number { buffer: to, number: b }) => {
                if a == b {
                    self.same.insert(*from, *to);
                } else if !self.tie || keeps(*a, *b) {
                    self.steps.push(Step::Convert { from: (*from, *a), to: (*to, *b), count: times });
                } else {
                    return false;
                }
                true
            }
            (Kind::Pointer { buffer: from, .. }, Kind::Pointer { buffer: to, .. }) => {
                self.same.insert(*from, *to);
                true
            }
            (Kind::Text { offsets: a, bytes: c }, Kind::Text { offsets: b, bytes: d })
            | (Kind::Opaque { offsets: a, bytes: c, .. }, Kind::Opaque { offsets: b, bytes: d, .. }) => {
                self.same.extend([(*a, *b), (*c, *d)]);
                true
            }
            (Kind::List { offsets: a, item: x, .. }, Kind::List { offsets: b, item: y, .. }) => {
                self.same.insert(*a, *b);
                self.pair(x, y, None)
            }
            (Kind::Fixed { len: a, item: x }, Kind::Fixed { len: b, item: y }) => {
                let times = times.and_then(|times| times.checked_mul(u32::try_from(*a).ok()?));
                a == b && self.pair(x, y, times)
            }
            (Kind::Record { fields: theirs, .. }, Kind::Record { fields: ours, .. }) => {
                let known = |name: &str, base| theirs.iter().find(|field| &*field.name == name && field.base == base);
                ours.iter().all(|field| match (known(&field.name, field.base), times) {
                    (Some(other), _) => self.pair(&other.kind, &field.kind, times),
                    (None, Some(count)) => {
                        self.steps.push(Step::Missing { kind: Box::new(field.kind.clone()), count });
                        true
                    }
                    (None, None) => false,
                })
            }
            _ => false,
        }
    }
}

/// Whether every number of the one type is one of the other.
fn keeps(from: Number, to: Number) -> bool {
    // Bits of the whole numbers that a type holds, and whether negative ones are among them.
    let whole = |number| match number {
        Number::Bool => (1, false),
        Number::U8 => (8, false),
        Number::I8 => (7, true),
        Number::U16 => (16, false),
        Number::I16 => (15, true),
        Number::U32 => (32, false),
        Number::I32 => (31, true),
        Number::U64 => (64, false),
        Number::I64 => (63, true),
        Number::F32 => (24, true),
        Number::F64 => (53, true),
    };
    let ((bits, signed), (room, takes_signed)) = (whole(from), whole(to));
    match (from, to) {
        (Number::F32, Number::F64) => true,
        (Number::F32 | Number::F64, _) => false,
        _ => bits <= room && (takes_signed || !signed),
    }
}

/// Converts numbers as C++ does when it assigns one to another, but for numbers that do not fit: those saturate.
pub(super) fn convert(from: &[u8], a: Number, b: Number, into: &mut Vec<u8>) {
    macro_rules! each {
        ($type:ty, $number:ident => $push:expr) => {
            for chunk in from.as_chunks::<{ size_of::<$type>() }>().0 {
                let $number = <$type>::from_ne_bytes(*chunk);
                $push;
            }
        };
    }
    macro_rules! push {
        ($number:ident) => {
            match b {
                Number::Bool => into.push(u8::from($number as f64 != 0.0)),
                Number::I8 => into.extend(($number as i8).to_ne_bytes()),
                Number::U8 => into.extend(($number as u8).to_ne_bytes()),
                Number::I16 => into.extend(($number as i16).to_ne_bytes()),
                Number::U16 => into.extend(($number as u16).to_ne_bytes()),
                Number::I32 => into.extend(($number as i32).to_ne_bytes()),
                Number::U32 => into.extend(($number as u32).to_ne_bytes()),
                Number::I64 => into.extend(($number as i64).to_ne_bytes()),
                Number::U64 => into.extend(($number as u64).to_ne_bytes()),
                Number::F32 => into.extend(($number as f32).to_ne_bytes()),
                Number::F64 => into.extend(($number as f64).to_ne_bytes()),
            }
        };
    }
    match a {
        Number::Bool | Number::U8 => each!(u8, number => push!(number)),
        Number::I8 => each!(i8, number => push!(number)),
        Number::I16 => each!(i16, number => push!(number)),
        Number::U16 => each!(u16, number => push!(number)),
        Number::I32 => each!(i32, number => push!(number)),
        Number::U32 => each!(u32, number => push!(number)),
        Number::I64 => each!(i64, number => push!(number)),
        Number::U64 => each!(u64, number => push!(number)),
        Number::F32 => each!(f32, number => push!(number)),
        Number::F64 => each!(f64, number => push!(number)),
    }
}

impl Step {
    /// Replaces buffers.
    pub(super) fn rename(&mut self, same: &HashMap<BufferId, BufferId>) {
        let swap = |id: &mut BufferId| {
            if let Some(other) = same.get(id) {
                *id = *other;
            }
        };
        let swap_counter = |counter: &mut Counter| {
            if let Counter::Member(id, _) = counter {
                swap(id);
            }
        };
        match self {
            Self::Run { fields, .. } => fields.iter_mut().for_each(|field| swap(&mut field.buffer)),
            Self::Counted { counter, ends, values, .. } => {
                swap_counter(counter);
                swap(ends);
                swap(values);
            }
            Self::Text { ends, bytes, .. } | Self::Opaque { ends, bytes, .. } => {
                swap(ends);
                swap(bytes);
            }
            Self::Collection { ends, .. } | Self::Clones { ends, .. } => swap(ends),
            Self::Loop { counter, ends, raw, .. } => {
                swap_counter(counter);
                swap(ends);
                if let Some((offsets, bytes)) = raw {
                    swap(offsets);
                    swap(bytes);
                }
            }
            Self::Pointer { buffer } | Self::Boxed { buffer, .. } | Self::Bits { buffer } => swap(buffer),
            Self::Object { id, bits } => {
                swap(id);
                swap(bits);
            }
            Self::Custom { buffers, .. } => buffers.iter_mut().for_each(swap),
            // Made when the buffers had their names.
            Self::Missing { .. } | Self::Convert { .. } => {}
            Self::SharedFrame { .. } | Self::Repeat { .. } | Self::Each { .. } | Self::Class { .. } => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::column::Field;

    fn record(fields: &[(&str, BufferId, Number)]) -> Kind {
        let field = |&(name, buffer, number): &(&str, BufferId, Number)| Field {
            name: name.into(),
            kind: Kind::Number { buffer, number },
            base: false,
        };
        Kind::Record { class: "A".into(), fields: fields.iter().map(field).collect() }
    }

    #[test]
    fn members_are_paired_by_name() {
        let new = record(&[("a", 0, Number::I32), ("b", 1, Number::F64), ("c", 2, Number::I8)]);
        let old = record(&[("b", 3, Number::F32), ("x", 4, Number::I8), ("a", 5, Number::I32)]);
        let fit = Fit::new(&old, &new, false).unwrap();
        assert_eq!(fit.same, HashMap::from([(5, 0)]));
        assert_eq!(fit.steps.len(), 2);
        assert_eq!(fit.steps[0], Step::Convert { from: (3, Number::F32), to: (1, Number::F64), count: Some(1) });
        assert!(matches!(&fit.steps[1], Step::Missing { count: 1, .. }));
        let list = |item| Kind::List { offsets: 9, of: crate::column::ListOf::Sequence, item: Box::new(item) };
        assert!(Fit::new(&list(old), &list(new), false).is_none());
    }

    #[test]
    fn lists_convert_and_between_equals_without_loss() {
        let list = |buffer, number| Kind::List {
            offsets: 9,
            of: crate::column::ListOf::Sequence,
            item: Box::new(Kind::Number { buffer, number }),
        };
        let fit = Fit::new(&list(1, Number::F32), &list(0, Number::F64), true).unwrap();
        assert_eq!(fit.steps, [Step::Convert { from: (1, Number::F32), to: (0, Number::F64), count: None }]);
        assert!(Fit::new(&list(1, Number::F64), &list(0, Number::F32), true).is_none());
        assert!(Fit::new(&list(1, Number::F32), &list(0, Number::I32), false).is_some());
    }

    #[test]
    fn numbers_convert_as_they_do_in_memory() {
        let mut out = Vec::new();
        convert(&[2.5_f32.to_ne_bytes(), (-1.0_f32).to_ne_bytes()].concat(), Number::F32, Number::F64, &mut out);
        convert(&(-3_i16).to_ne_bytes(), Number::I16, Number::I32, &mut out);
        let expected =
            [&2.5_f64.to_ne_bytes()[..], &(-1.0_f64).to_ne_bytes()[..], &(-3_i32).to_ne_bytes()[..]].concat();
        assert_eq!(out, expected);
    }
}
