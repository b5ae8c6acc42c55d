//! Which member of a stored class is which of the type that is wanted.
//!
//! Members are found by name, anywhere in the object, since bases may change. Only a name that several of the wanted
//! type's own classes have is looked for in the very class.

use std::collections::HashMap;
use std::sync::Arc;

use crate::column::{Field, Kind};
use crate::write::{Class, Member, Type};

/// The candidate stored members, those of the nearest class first.
#[derive(Clone)]
pub(super) struct Scope<'a> {
    classes: Vec<&'a [Field]>,
    /// How many classes of the wanted type have a member of a name.
    claims: HashMap<&'a str, usize>,
}

impl<'a> Scope<'a> {
    /// Of a whole object.
    pub(super) fn new(class: &'a Class, fields: &'a [Field]) -> Self {
        let mut claims = HashMap::new();
        claim(class, &mut claims);
        Self { classes: vec![fields], claims }
    }

    /// Of a base of it.
    pub(super) fn base(&self, member: &Member) -> Self {
        let names: Vec<&str> = names(member).collect();
        let found = self.classes.iter().find_map(|fields| base(fields, &names));
        let classes = std::iter::once(found.unwrap_or_default()).chain(self.classes.iter().copied()).collect();
        Self { classes, claims: self.claims.clone() }
    }

    /// A member.
    pub(super) fn member(&self, member: &Member) -> Option<&'a Kind> {
        names(member).find_map(|name| {
            if self.claims.get(name).is_some_and(|&claims| claims > 1) {
                return self.classes.first().and_then(|fields| own(fields, name));
            }
            self.classes.iter().find_map(|fields| anywhere(fields, name))
        })
    }
}

/// The names that a member has or had.
fn names(member: &Member) -> impl Iterator<Item = &str> {
    std::iter::once(&member.name).chain(&member.was).map(Arc::as_ref)
}

/// All names that a member of a type, or of what it is made of, has or had; those of bases included.
pub(super) fn all_names<'t>(kind: &'t Type, into: &mut std::collections::HashSet<&'t str>) {
    match kind {
        Type::Object(class) | Type::Pointer(class) => names_in(class, into),
        Type::Sequence(_, item) => all_names(item, into),
        Type::Mapping(_, key, value) => {
            into.extend(["first", "second"]);
            all_names(key, into);
            all_names(value, into);
        }
        Type::Clones(clones) => names_in(&clones.class, into),
        Type::Number(_) | Type::Array(..) | Type::Text | Type::RootText | Type::Counted(..) | Type::RootArray(_) => {}
    }
}

fn names_in<'t>(class: &'t Class, into: &mut std::collections::HashSet<&'t str>) {
    for member in &class.members {
        into.extend(names(member));
        all_names(&member.kind, into);
    }
}

fn claim<'a>(class: &'a Class, claims: &mut HashMap<&'a str, usize>) {
    for member in &class.members {
        match &member.kind {
            Type::Object(base) if member.is_base => claim(base, claims),
            _ => *claims.entry(&member.name).or_default() += 1,
        }
    }
}

fn own<'a>(fields: &'a [Field], name: &str) -> Option<&'a Kind> {
    fields.iter().find(|field| !field.base && &*field.name == name).map(|field| &field.kind)
}

fn anywhere<'a>(fields: &'a [Field], name: &str) -> Option<&'a Kind> {
    own(fields, name).or_else(|| {
        fields.iter().find_map(|field| match &field.kind {
            Kind::Record { fields, .. } if field.base => anywhere(fields, name),
            _ => None,
        })
    })
}

fn base<'a>(fields: &'a [Field], names: &[&str]) -> Option<&'a [Field]> {
    fields.iter().find_map(|field| match &field.kind {
        // RNTuples count their bases: only the class has a name.
        Kind::Record { class, fields }
            if field.base && [&*field.name, class].iter().any(|name| names.contains(name)) =>
        {
            Some(&fields[..])
        }
        Kind::Record { fields, .. } if field.base => base(fields, names),
        _ => None,
    })
}
