//! Programs: a class compiled to a flat list of steps.
//!
//! ROOT's compiled streamer actions, in columns: each step consumes `n` items in its own layout and appends them to the
//! buffers of its columns, so that the same list reads one object, a basket of objects, or the columns of a member-wise
//! collection.

use std::sync::Arc;

use super::clones_form::ClonesForm;
use crate::column::{BufferId, BufferKind, Kind, Number, Prim};
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

/// A run of steps in a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    pub(crate) start: u32,
    pub(crate) end: u32,
}

/// A compiled class, member or container.
#[derive(Clone, Debug)]
pub struct Program {
    pub(crate) steps: Vec<Step>,
    pub(crate) root: Span,
    /// Type of the column that it fills.
    pub kind: Kind,
    /// The buffers that `kind` names, and scratch buffers of no column.
    pub buffers: Vec<BufferKind>,
}

/// A field of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunField {
    /// Bytes from the start of the run.
    pub(crate) at: u32,
    /// Items.
    pub(crate) count: u32,
    pub(crate) prim: Prim,
    pub(crate) buffer: BufferId,
}

/// Bytes that a run may have: no record of ROOT is larger. Lengths of arrays come from files, and products of them must
/// not wrap.
pub(crate) const MOST_RUN_BYTES: u32 = 1 << 30;

impl Step {
    /// `count` consecutive numbers.
    ///
    /// # Errors
    ///
    /// [`Limit`](crate::ErrorKind::Limit) for arrays that no record could hold.
    pub(crate) fn numbers(prim: Prim, count: usize, buffer: BufferId) -> Result<Self> {
        let wide = (count as u64).saturating_mul(prim.bytes() as u64);
        match (u32::try_from(wide), u32::try_from(count)) {
            (Ok(bytes), Ok(count)) if bytes <= MOST_RUN_BYTES => {
                Ok(Self::Run { fields: Box::new([RunField { at: 0, count, prim, buffer }]), bytes })
            }
            _ => Err(Error::limit("a fixed array is larger than any record", u64::from(MOST_RUN_BYTES), wide)),
        }
    }
}

/// The source of the length of a counted array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counter {
    /// A member read before, in the same object.
    Member(BufferId, Number),
    /// A member of a sibling branch: the caller knows it.
    Outside,
}

/// The format of a string in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextForm {
    /// One length byte, or 255 and four: `TString`, `std::string` in containers.
    Counted,
    /// Four bytes of length: `char*`.
    CharStar,
}

/// A framed container of numbers, or of containers of them: the most common branches besides plain arrays.
#[derive(Clone, Copy, Debug)]
pub(crate) struct VectorOfNumbers {
    pub(crate) prim: Prim,
    pub(crate) values: BufferId,
    /// Ends of the containers in it.
    pub(crate) inner: Option<BufferId>,
    pub(crate) ends: BufferId,
}

/// Whether a class stands as a member or as a base.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Framed always.
    Member,
    /// Framed in objects, bare in columns.
    Base,
}

/// One version of a class.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Body {
    pub(crate) version: i32,
    pub(crate) checksum: u32,
    pub(crate) span: Span,
}

/// The versions of a class that the file describes.
#[derive(Clone, Debug, PartialEq)]
pub struct Versions {
    pub(crate) class: Arc<str>,
    pub(crate) bodies: Box<[Body]>,
}

impl Versions {
    /// The body for a version word, and for the checksum that follows a version of 0 or less.
    pub(crate) fn body(&self, version: i16, checksum: Option<u32>) -> Option<Body> {
        let found = match checksum {
            Some(sum) => self.bodies.iter().find(|body| body.checksum == sum),
            None => self.bodies.iter().find(|body| body.version == i32::from(version)),
        };
        // A version the file does not describe: where it describes one only, that one is meant.
        found.or(if self.bodies.len() == 1 { self.bodies.first() } else { None }).copied()
    }

    /// Whether a version word of 0 belongs to the class itself, so that no checksum follows.
    pub(crate) fn declares_zero(&self) -> bool {
        self.bodies.iter().any(|body| body.version == 0)
    }
}

/// Classes that ROOT streams by hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Custom {
    /// `TArrayC` and its kin: a count and numbers. Buffers: ends, values.
    Array(Prim2),
    /// `TList`, `THashList`: buffers name ends/bytes, list ends, objects, option list ends, option ends/bytes.
    List,
    /// `TObjArray`: name ends/bytes, lower bound, list ends, objects.
    ObjArray,
    /// `TClonesArray`: name ends/bytes, lower bound, list ends, objects.
    ClonesArray,
    /// `TMap`: name ends/bytes, list ends, keys, values.
    Map,
    /// `TRef`: pid, id, bits.
    Ref,
    /// `TRefArray`: name ends/bytes, pid, lower bound, list ends, ids.
    RefArray,
    /// `TDatime`: packed date.
    Datime,
    /// `TQObject` and other classes without bytes.
    Nothing,
    /// `TMatrixTSym<T>`, behind its base: list ends, values; the upper triangle.
    MatrixSym(Prim2),
    /// `TExMap`: list ends, hashes, keys, values.
    ExMap,
    /// An embedded basket: key fields, header, ends, payload.
    Basket,
    /// `TKey`: eight numbers and three texts.
    Key,
    /// Basket positions of `TBranch` before version 10: 32 or 64 bits each, as a flag says. Buffers: ends, values.
    OldSeeks,
}

/// A plain number, as the element type of a hand-written array.
pub type Prim2 = Number;

/// One step.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Neighbouring numbers of fixed size, regrouped: one check of bounds, strided over `n`.
    Run {
        /// Its fields.
        fields: Box<[RunField]>,
        /// Bytes of one row.
        bytes: u32,
    },
    /// `T *x; //[n]`: a flag byte, then `counter * len` numbers.
    Counted {
        /// Type of the numbers.
        prim: Prim,
        /// Whether a flag byte says if anything follows; counted leaves have none.
        flagged: bool,
        /// Lists, 1 unless the member is a fixed array of pointers: each has as many items as the counter says.
        lists: u32,
        /// Numbers an item, 1 unless the items are fixed arrays.
        len: u32,
        /// The source of the count.
        counter: Counter,
        /// Ends of the lists.
        ends: BufferId,
        /// Values.
        values: BufferId,
    },
    /// Strings.
    Text {
        /// Their format in the file.
        form: TextForm,
        /// Ends.
        ends: BufferId,
        /// Bytes.
        bytes: BufferId,
    },
    /// One frame around a whole column, whose body runs `n * count` times.
    SharedFrame {
        /// What is inside.
        body: Span,
        /// Items a row.
        count: u32,
    },
    /// A body that runs `n * count` times, without a frame.
    Repeat {
        /// What is repeated.
        body: Span,
        /// Times a row.
        count: u32,
    },
    /// A body that runs row by row: pairs of a map in object-wise form.
    Each {
        /// What is repeated.
        body: Span,
    },
    /// An STL container.
    Collection {
        /// Whether a frame comes first (once for all `n`).
        framed: bool,
        /// Containers a row, 1 unless the member is a fixed array of containers.
        array: u32,
        /// Items in object-wise form.
        item: Span,
        /// Items in member-wise form, where the value is a class.
        columns: Option<Versions>,
        /// From which version of the frame on the value's version stands behind it: 8, or 9 for pointers.
        value_version_from: i16,
        /// Ends of the lists.
        ends: BufferId,
    },
    /// A class by value.
    Class {
        /// Its versions.
        versions: Versions,
        /// As member or base.
        role: Role,
    },
    /// `T *x; //[n]` of classes: one frame, then `counter * array` objects or object slots.
    Loop {
        /// The source of the count.
        counter: Counter,
        /// Blocks of a fixed array of such pointers.
        array: u32,
        /// One object or slot.
        body: Span,
        /// Ends of the lists.
        ends: BufferId,
        /// Ends and bytes, where nothing is known of the objects but that all have one size: what a class without
        /// described members writes by hand.
        raw: Option<(BufferId, BufferId)>,
    },
    /// A pointer: null, an object, or a reference to one.
    Pointer {
        /// Numbers of objects.
        buffer: BufferId,
    },
    /// A framed object that cannot be columns of this program, because its class contains itself.
    Boxed {
        /// Numbers of objects.
        buffer: BufferId,
        /// Its class.
        class: Arc<str>,
    },
    /// `TObject`'s own bytes.
    Object {
        /// `fUniqueID`.
        id: BufferId,
        /// `fBits`.
        bits: BufferId,
    },
    /// `TObject::fBits` as a member of its own: a ProcessID follows where the object is referenced.
    Bits {
        /// `fBits`.
        buffer: BufferId,
    },
    /// A class that ROOT streams by hand.
    Custom {
        /// Which.
        which: Custom,
        /// Its buffers, in the order that [`Custom`] gives.
        buffers: Box<[BufferId]>,
    },
    /// A `TClonesArray` of which is known what it holds: it is written, and never read.
    Clones {
        /// All but the objects.
        form: Arc<ClonesForm>,
        /// One object.
        item: Span,
        /// Ends of the lists.
        ends: BufferId,
    },
    /// A member that this version of a class does not have: zero or empty.
    Missing {
        /// Its type.
        kind: Box<Kind>,
        /// Values a row.
        count: u32,
    },
    /// A member that has another type in this version of a class: its values are converted from a scratch buffer to
    /// their column.
    Convert {
        /// What was decoded.
        from: (BufferId, Number),
        /// Where it goes.
        to: (BufferId, Number),
        /// Values a row; `None` for all that were decoded, as many as lists hold.
        count: Option<u32>,
    },
    /// Framed bytes of unknown layout.
    Opaque {
        /// Ends.
        ends: BufferId,
        /// Bytes, frame included.
        bytes: BufferId,
        /// Whether one frame holds a whole column: then its rows cannot be told apart.
        shared: bool,
    },
}

impl Program {
    /// Whether the bytes that it reads may name places of objects or classes.
    pub(crate) fn may_have_tags(&self) -> bool {
        self.steps.iter().any(|step| {
            matches!(
                step,
                Step::Pointer { .. }
                    | Step::Boxed { .. }
                    | Step::Loop { .. }
                    | Step::Custom { .. }
                    | Step::Opaque { .. }
            )
        })
    }

    /// Whether a row of these steps, one of a column, has any bytes: those of a class without members have none.
    pub(crate) fn has_bytes(&self, span: Span) -> bool {
        let steps = self.steps.get(span.start as usize..span.end as usize).unwrap_or(&[]);
        steps.iter().any(|step| match step {
            Step::Run { bytes, .. } => *bytes > 0,
            Step::Class { versions, role: Role::Base } => {
                versions.bodies.first().is_some_and(|body| self.has_bytes(body.span))
            }
            Step::Repeat { body, .. } | Step::Each { body } => self.has_bytes(*body),
            Step::Missing { .. } | Step::Convert { .. } | Step::Custom { which: Custom::Nothing, .. } => false,
            _ => true,
        })
    }

    /// A program of steps that are known to be right: what leaves mean.
    pub(crate) fn of(steps: Vec<Step>, kind: Kind, buffers: Vec<BufferKind>) -> Self {
        let root = Span { start: 0, end: steps.len() as u32 };
        Self { steps, root, kind, buffers }
    }

    /// The steps at the root.
    pub(crate) fn root_steps(&self) -> &[Step] {
        &self.steps[self.root.start as usize..self.root.end as usize]
    }

    /// What a row holds if it is one framed container of numbers, or of such containers.
    pub(crate) fn vector_of_numbers(&self) -> Option<VectorOfNumbers> {
        let [Step::Collection { framed: true, array: 1, item, ends, .. }] = self.root_steps() else { return None };
        let body = |span: &Span| self.steps.get(span.start as usize..span.end as usize);
        let (item, inner) = match body(item)? {
            [Step::Collection { framed: false, array: 1, item, ends, .. }] => (body(item)?, Some(*ends)),
            numbers => (numbers, None),
        };
        match item {
            [Step::Run { fields, .. }] => match &**fields {
                [field] if field.count == 1 => {
                    Some(VectorOfNumbers { prim: field.prim, values: field.buffer, inner, ends: *ends })
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// Bytes of one row in the file, where they are the same for all rows.
    pub fn fixed_bytes(&self) -> Option<usize> {
        match self.steps.get(self.root.start as usize..self.root.end as usize)? {
            [Step::Run { bytes, .. }] => Some(*bytes as usize),
            _ => None,
        }
    }

    /// The only number that a row consists of, with its count, if that is all.
    pub fn single_run(&self) -> Option<(Prim, usize)> {
        match self.steps.get(self.root.start as usize..self.root.end as usize)? {
            [Step::Run { fields, .. }] => match &**fields {
                [field] => Some((field.prim, field.count as usize)),
                _ => None,
            },
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn arrays_that_no_record_holds_are_refused_before_their_length_wraps() {
        let prim = Prim::Plain(Number::F64);
        for count in [1 << 29, u32::MAX as usize, usize::MAX] {
            assert_eq!(Step::numbers(prim, count, 0).unwrap_err().kind(), ErrorKind::Limit);
        }
        let half = Step::numbers(prim, 1 << 26, 0).unwrap();
        assert!(matches!(half, Step::Run { bytes, .. } if bytes == MOST_RUN_BYTES / 2));
        let grouped = crate::schema::regroup(vec![half.clone(), half.clone(), half]);
        assert_eq!(grouped.len(), 2, "runs are joined up to the limit and not beyond");
    }
}
