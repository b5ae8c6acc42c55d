//! `TRef` and `TRefArray`: numbers of objects that are elsewhere, which ROOT streams by hand.
//!
//! Format page: `docs/format/custom.md`. Source: `TRef::Streamer`, `TRefArray::Streamer`.

use std::sync::Arc;

use crate::column::Number;
use crate::error::{Error, Result};
use crate::write::model::branch::{BranchKind, BranchSpec};
use crate::write::model::class::{Class, Clones, Member, Type};
use crate::write::model::columns::Column;

const ONE: &str = "TRef";
const SEVERAL: &str = "TRefArray";
/// The member with the number of a process in the list of the file.
const PROCESS: &str = "pidf";
/// The members with the numbers of objects.
const OBJECT: &str = "ref";
const OBJECTS: &str = "refs";
/// Bit of a `TRef` whose process is named by its UUID.
const HAS_UUID: u32 = 1 << 5;

impl Class {
    /// `TRef`, as reading shows it: which process of the file's list, which object of it (0 is null), and bits.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::write::{Class, Column, Type};
    /// let null = Column::Record(1, vec![Column::from(&[0_u16]), Column::from(&[0_u32]), Column::from(&[0_u32])]);
    /// null.check(&Type::Object(Class::reference()))?;
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn reference() -> Arc<Self> {
        Arc::new(Self::reference_in(0))
    }

    /// `TRefArray`, as reading shows it: its name, which process of the file's list, its lower bound, and which
    /// objects.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::write::{Class, Column, Type};
    /// let empty = Column::of(&Type::Object(Class::references()));
    /// assert!(matches!(empty, Column::Record(0, members) if members.len() == 4));
    /// ```
    pub fn references() -> Arc<Self> {
        Arc::new(Self::references_in(0))
    }

    /// One of the classes of ROOT that a new class can have as its bases and members: `TObject`, `TNamed`, `TRef` or
    /// `TRefArray`.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::write::Class;
    /// assert_eq!(Class::of_root("TNamed"), Some(Class::tnamed()));
    /// assert_eq!(Class::of_root("TTree"), None);
    /// ```
    pub fn of_root(name: &str) -> Option<Arc<Self>> {
        [Self::tobject, Self::tnamed, Self::reference, Self::references]
            .into_iter()
            .map(|class| class())
            .find(|class| &*class.name == name)
    }

    /// `TRef` in a file that lists so many processes.
    pub(crate) fn reference_in(processes: u16) -> Self {
        let class = Self::new(ONE).with_version(1).member(PROCESS, Type::Number(Number::U16));
        let class = class.member(OBJECT, Type::Number(Number::U32)).member("fBits", Type::Number(Number::U32));
        Self { processes, ..class }
    }

    /// `TRefArray` in a file that lists so many processes.
    pub(crate) fn references_in(processes: u16) -> Self {
        let class = Self::new(SEVERAL).with_version(1).member("fName", Type::RootText);
        let class = class.member(PROCESS, Type::Number(Number::U16)).member("fLowerBound", Type::Number(Number::I32));
        Self { processes, ..class.member(OBJECTS, Type::vector(Type::Number(Number::I32))) }
    }

    /// Whether it is one of these.
    pub(crate) fn is_reference(&self) -> bool {
        matches!(&*self.name, ONE | SEVERAL)
    }
}

impl BranchSpec {
    /// Refuses a new branch of what only branches that exist can have: nothing would describe it, or ROOT would not
    /// read it.
    pub(crate) fn check_new(&self) -> Result<()> {
        match &self.kind {
            BranchKind::Object(kind, _) => kind.check_new().map_err(|error| error.in_object(&self.name)),
            _ => Ok(()),
        }
    }

    /// Whether references are in its entries.
    pub(crate) fn refers(&self) -> bool {
        matches!(&self.kind, BranchKind::Object(kind, _) if kind.refers())
    }

    /// The same in a file that lists so many processes whose objects can be referred to.
    pub(crate) fn in_processes(self, processes: u16) -> Self {
        match self.kind {
            BranchKind::Object(kind, level) => {
                Self { kind: BranchKind::Object(kind.in_processes(processes), level), ..self }
            }
            kind => Self { kind, ..self },
        }
    }
}

impl Type {
    fn check_new(&self) -> Result<()> {
        match self {
            Self::Object(class) | Self::Pointer(class) if class.is_reference() => Ok(()),
            Self::Object(class) | Self::Pointer(class) if class.is_root_list() => Err(self.only_there()),
            Self::Object(class) | Self::Pointer(class) => class.check_new(),
            Self::Clones(clones) => clones.class.check_new(),
            Self::Sequence(_, item) => item.check_new(),
            Self::Mapping(_, key, value) => key.check_new().and_then(|()| value.check_new()),
            Self::Number(_)
            | Self::Array(..)
            | Self::Text
            | Self::RootText
            | Self::Counted(..)
            | Self::RootArray(_) => Ok(()),
        }
    }

    fn only_there(&self) -> Error {
        Error::unsupported(format!(
            "members of type {} cannot be in new branches: take a vector, or add entries to a tree that ROOT made",
            self.name()
        ))
    }

    /// Whether references are in it.
    fn refers(&self) -> bool {
        let in_class = |class: &Class| class.is_reference() || class.members.iter().any(|member| member.kind.refers());
        match self {
            Self::Object(class) | Self::Pointer(class) => in_class(class),
            Self::Clones(clones) => in_class(&clones.class),
            Self::Sequence(_, item) => item.refers(),
            Self::Mapping(_, key, value) => key.refers() || value.refers(),
            _ => false,
        }
    }

    /// The same in a file that lists so many processes.
    fn in_processes(&self, processes: u16) -> Self {
        let class = |class: &Arc<Class>| Arc::new(class.in_processes(processes, &[]));
        match self {
            Self::Object(of) => Self::Object(class(of)),
            Self::Pointer(of) => Self::Pointer(class(of)),
            Self::Clones(clones) => {
                Self::Clones(Arc::new(Clones { class: class(&clones.class), ..(**clones).clone() }))
            }
            Self::Sequence(kind, item) => Self::sequence(*kind, item.in_processes(processes)),
            Self::Mapping(kind, key, value) => {
                Self::mapping(*kind, key.in_processes(processes), value.in_processes(processes))
            }
            plain => plain.clone(),
        }
    }
}

impl Class {
    fn check_new(&self) -> Result<()> {
        if self.derives_from_tobject() && self.version.is_none() {
            let words =
                format!("class {} derives from TObject, and has no version: give it that of its ClassDef", self.name);
            return Err(Error::mismatch(words));
        }
        for (index, member) in self.members.iter().enumerate() {
            match &member.kind {
                Type::RootArray(_) if member.is_base => Err(member.kind.only_there()),
                Type::Counted(_, counter) if Self::counter(&self.members[..index], counter) != Some(Number::I32) => {
                    let words =
                        format!("is counted by {counter}, which is no int before it: ROOT counts by such alone");
                    Err(Error::mismatch(format!("member {} {words}", member.name)))
                }
                kind => kind.check_new(),
            }
            .map_err(|error| error.in_object(&member.name).in_object(&self.name))?;
        }
        Ok(())
    }

    /// The same in a file that lists so many processes; its members that a class which derives from it counts by, and
    /// those that it counts by itself, are marked as such.
    fn in_processes(&self, processes: u16, counters: &[Arc<str>]) -> Self {
        let own = self.members.iter().filter_map(|member| match &member.kind {
            Type::Counted(_, counter) => Some(counter),
            _ => None,
        });
        let counters: Vec<Arc<str>> = counters.iter().chain(own).cloned().collect();
        let member = |member: &Member| match &member.kind {
            Type::Object(base) if member.is_base => {
                Member { kind: Type::Object(Arc::new(base.in_processes(processes, &counters))), ..member.clone() }
            }
            kind => Member {
                kind: kind.in_processes(processes),
                is_counter: member.is_counter || counters.contains(&member.name),
                ..member.clone()
            },
        };
        Self { processes, members: self.members.iter().map(member).collect(), ..self.clone() }
    }
}

impl Column {
    /// Refuses references to objects of processes that the file does not list, and of those that it cannot name.
    pub(super) fn check_references(class: &Class, columns: &[Self]) -> Result<()> {
        let column = |name: &str| {
            let at = class.members.iter().position(|member| &*member.name == name);
            at.and_then(|at| columns.get(at))
        };
        if let Some(Self::Numbers(_, bytes)) = column(PROCESS) {
            let (words, _) = bytes.as_chunks::<2>();
            let is_named = |row: usize| match (column(OBJECT), column(OBJECTS)) {
                (Some(Self::Numbers(width, bytes)), _) => {
                    bytes.get(width * row..width * (row + 1)).is_some_and(|number| number.iter().any(|&byte| byte != 0))
                }
                (_, Some(Self::Lists(ends, _))) => !Self::span(ends, &(row..row + 1)).is_empty(),
                _ => false,
            };
            let process = |row: usize| words.get(row).map_or(0, |word| u16::from_ne_bytes(*word));
            // Where there are several, those that reading shows count from what the key of their basket says.
            let is_wrong = |row: &usize| match is_named(*row) {
                true => class.processes != 1 || process(*row) > 0,
                false => process(*row) > 0 && process(*row) >= class.processes,
            };
            if let Some(row) = (0..words.len()).find(is_wrong) {
                return Err(Error::mismatch(format!(
                    "object {row} refers to an object of process {} (pidf), and the file lists {} (its keys ProcessID0 \
                     and so on), where values need exactly one: give null references, or add the entries by merging \
                     their file into this one",
                    process(row),
                    class.processes
                )));
            }
        }
        if let Some(Self::Numbers(4, bytes)) = column("fBits") {
            let (words, _) = bytes.as_chunks::<4>();
            if let Some(row) = words.iter().position(|word| u32::from_ne_bytes(*word) & HAS_UUID != 0) {
                return Err(Error::mismatch(format!(
                    "fBits of object {row} has the bit kHasUUID (32), and values do not have the UUID: add the entries \
                     by merging their file into this one"
                )));
            }
        }
        Ok(())
    }
}
