//! Classes of new branches: what they cannot have, and what the file that they are in adds to them.
//!
//! Source: `TStreamerBasicPointer::Init`, `TProcessID`.

use std::sync::Arc;

use crate::column::Number;
use crate::error::{Error, Result};
use crate::write::model::branch::{BranchKind, BranchSpec};
use crate::write::model::class::{Class, Clones, Member, Type};
use crate::write::model::number_codes::cpp_name;

impl BranchSpec {
    /// Refuses a new branch of what only branches that exist can have: nothing would describe it, or ROOT would not
    /// read it.
    pub(crate) fn check_new(&self) -> Result<()> {
        match &self.kind {
            BranchKind::Object(kind @ Type::Object(class), _) if class.is_reference() => {
                let words = format!("a {} is a member of a class, and no branch", kind.name());
                Err(Error::unsupported(words).in_object(&self.name))
            }
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
            "members of type {} cannot be in new branches: take a vector, or begin a tree like one that has them (mktree(like=), tree_like)",
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
    /// The classes of ROOT that a new class can have as its bases and members.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::write::Class;
    /// let names: Vec<_> = Class::of_root().iter().map(|class| class.name.to_string()).collect();
    /// assert_eq!(names, ["TObject", "TNamed", "TRef", "TRefArray"]);
    /// ```
    pub fn of_root() -> [Arc<Self>; 4] {
        [Self::tobject(), Self::tnamed(), Self::reference(), Self::references()]
    }

    fn check_new(&self) -> Result<()> {
        if self.derives_from_tobject() && self.version.is_none() {
            let words =
                format!("class {} derives from TObject, and has no version: give it that of its ClassDef", self.name);
            return Err(Error::mismatch(words));
        }
        for (index, member) in self.members.iter().enumerate() {
            match &member.kind {
                Type::RootArray(_) if member.is_base => Err(member.kind.only_there()),
                Type::Counted(_, counter) => match Self::counter(&self.members[..index], counter) {
                    Some(Number::I32) => Ok(()),
                    found => {
                        let words = match found {
                            Some(number) => format!("which is a {}: ROOT counts by an int", cpp_name(number)),
                            None => "and no member of that name is before it that is a number".to_owned(),
                        };
                        Err(Error::mismatch(format!("member {} is counted by {counter}, {words}", member.name)))
                    }
                },
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
