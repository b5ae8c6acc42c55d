//! The order of classes that are keys of maps and items of sets: a file does not say what it was, so that all that two
//! objects may differ in is compared.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::cpp_names::with_std;
use super::model::{Declared, Member, Project};
use crate::schema::{Mapping, Sequence, TypeName};

/// Classes with an order, spelled as [`TypeName`] does.
pub(super) struct Order(BTreeSet<String>);

impl Order {
    /// The classes that need an order and have something to compare. `can_declare`: whether the header has a member.
    pub(super) fn of(project: &Project, can_declare: &dyn Fn(&Member) -> bool) -> Self {
        let needed = needed(project);
        let mut order = Self(BTreeSet::new());
        loop {
            let has_order = |class: &&Declared| {
                let name = unified(&class.name);
                let is_new = needed.contains(&name) && !order.0.contains(&name);
                is_new && class.members.iter().any(|member| can_declare(member) && order.of_member(member))
            };
            let found: Vec<String> =
                project.classes.iter().filter(has_order).map(|class| unified(&class.name)).collect();
            if found.is_empty() {
                return order;
            }
            order.0.extend(found);
        }
    }

    /// Whether the class has an order.
    pub(super) fn has(&self, class: &str) -> bool {
        self.0.contains(&unified(class))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether two values of a type can be compared.
    pub(super) fn of_type(&self, name: &TypeName) -> bool {
        match name {
            TypeName::Number(_) | TypeName::StdString | TypeName::TString => true,
            TypeName::Class(class) => self.0.contains(class),
            TypeName::Sequence(sequence, item) => is_compared(*sequence) && self.of_type(item),
            TypeName::Mapping(Mapping::Map | Mapping::MultiMap, first, second) | TypeName::Pair(first, second) => {
                self.of_type(first) && self.of_type(second)
            }
            TypeName::Array(item, _) => self.of_type(item),
            TypeName::Mapping(..) | TypeName::Bitset(_) | TypeName::Pointer(_) => false,
        }
    }

    fn of_member(&self, member: &Member) -> bool {
        TypeName::parse(&member.spelled()).is_ok_and(|name| self.of_type(&name))
    }

    /// The key of a map or item of a set in a type that has no order, or no hash, if there is one.
    pub(super) fn lacks(&self, name: &TypeName) -> Option<String> {
        let ordered = |key: &TypeName| self.of_type(key) || matches!(key, TypeName::Pointer(_));
        match name {
            TypeName::Sequence(sequence, item) => {
                let is_fit = match sequence {
                    Sequence::Set | Sequence::MultiSet => ordered(item),
                    Sequence::UnorderedSet | Sequence::UnorderedMultiSet => has_hash(item),
                    _ => true,
                };
                (!is_fit).then(|| item.to_string()).or_else(|| self.lacks(item))
            }
            TypeName::Mapping(mapping, key, value) => {
                let is_fit = match mapping {
                    Mapping::Map | Mapping::MultiMap => ordered(key),
                    Mapping::UnorderedMap | Mapping::UnorderedMultiMap => has_hash(key),
                };
                (!is_fit).then(|| key.to_string()).or_else(|| self.lacks(key)).or_else(|| self.lacks(value))
            }
            TypeName::Pair(first, second) => self.lacks(first).or_else(|| self.lacks(second)),
            TypeName::Array(item, _) | TypeName::Pointer(item) => self.lacks(item),
            TypeName::Number(_)
            | TypeName::StdString
            | TypeName::TString
            | TypeName::Bitset(_)
            | TypeName::Class(_) => None,
        }
    }

    /// Writes the operator of a class, which compares these members.
    pub(super) fn write<'m>(&self, members: impl Iterator<Item = &'m Member>, name: &str, out: &mut String) {
        let _ = writeln!(out, "  bool operator<(const {name}& other) const {{");
        for member in members.filter(|member| self.of_member(member)) {
            let [less, more] = comparisons(member);
            let _ = writeln!(out, "    if ({less}) return true;\n    if ({more}) return false;");
        }
        out.push_str("    return false;\n  }\n");
    }
}

/// Whether a member is less than that of the other object, and the reverse.
fn comparisons(member: &Member) -> [String; 2] {
    let name = &member.name;
    if member.is_base {
        let base = with_std(name);
        let own = format!("static_cast<const {base}&>(*this)");
        let other = format!("static_cast<const {base}&>(other)");
        return [format!("{own} < {other}"), format!("{other} < {own}")];
    }
    // A member may be called `other` itself.
    if member.element.extents.is_empty() {
        return [format!("this->{name} < other.{name}"), format!("other.{name} < this->{name}")];
    }
    let first = "[0]".repeat(member.element.extents.len());
    let len: u64 = member.element.extents.iter().map(|extent| u64::from(*extent)).product();
    let range = |of: &str| format!("&{of}{name}{first}, &{of}{name}{first} + {len}");
    let less = |one: &str, two: &str| format!("std::lexicographical_compare({}, {})", range(one), range(two));
    [less("this->", "other."), less("other.", "this->")]
}

/// Whether the standard library, or ROOT, has a hash of a type.
fn has_hash(name: &TypeName) -> bool {
    matches!(
        name,
        TypeName::Number(_) | TypeName::StdString | TypeName::TString | TypeName::Bitset(_) | TypeName::Pointer(_)
    )
}

/// Containers that C++ compares as a whole: one of `RVec` is compared item by item, into another.
fn is_compared(sequence: Sequence) -> bool {
    !matches!(sequence, Sequence::UnorderedSet | Sequence::UnorderedMultiSet | Sequence::RVec)
}

/// A class's name as types of members spell it.
pub(super) fn unified(class: &str) -> String {
    TypeName::parse(class).map_or_else(|_| class.to_owned(), |name| name.to_string())
}

/// Classes that are keys of maps and items of sets, their bases, and classes of their members.
fn needed(project: &Project) -> BTreeSet<String> {
    fn keys(name: &TypeName, is_key: bool, found: &mut BTreeSet<String>) {
        match name {
            TypeName::Sequence(sequence, item) => {
                keys(item, is_key || matches!(sequence, Sequence::Set | Sequence::MultiSet), found)
            }
            TypeName::Mapping(_, key, value) => {
                keys(key, true, found);
                keys(value, is_key, found);
            }
            TypeName::Pair(first, second) => {
                keys(first, is_key, found);
                keys(second, is_key, found);
            }
            TypeName::Array(item, _) => keys(item, is_key, found),
            TypeName::Class(class) if is_key => drop(found.insert(class.clone())),
            _ => {}
        }
    }
    let type_of = |member: &Member| TypeName::parse(&member.spelled()).ok();
    let mut found = BTreeSet::new();
    let members = project.classes.iter().flat_map(|class| &class.members);
    members.filter_map(type_of).for_each(|name| keys(&name, false, &mut found));
    let mut left: Vec<String> = found.iter().cloned().collect();
    while let Some(name) = left.pop() {
        let Some(class) = project.classes.iter().find(|class| unified(&class.name) == name) else { continue };
        let mut inner = BTreeSet::new();
        class.members.iter().filter_map(type_of).for_each(|name| keys(&name, true, &mut inner));
        left.extend(inner.into_iter().filter(|name| found.insert(name.clone())));
    }
    found
}
