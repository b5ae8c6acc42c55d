//! Finds stored collections and the columns of their members.

use std::sync::Arc;

use super::bind::{Binder, MOST_VALUES};
use super::bound::Bound;
use super::collection::{Base, Collection, concat, positions, repeated};
use super::fault::{fault, near};
use super::path::holds_clones;
use crate::column::Kind;
use crate::error::{Error, ErrorKind, Result};

/// Members that are tried to find out how deep or how long lists are.
const MAX_TRIED: usize = 16;
/// Values in each other that a collection may add to an expression, and collections that it may have.
const MAX_HEIGHT: u64 = 200;

impl Binder<'_> {
    pub(super) fn is_record(&mut self, parts: &[&str]) -> Result<bool> {
        let Some((found, _)) = self.source.find(parts)? else { return Ok(false) };
        let kind = self.source.kind(found.id)?;
        Ok(!holds_clones(&kind) && found.member.is_none() && record(&kind).is_some())
    }

    /// The column that some names lead to, without needing it.
    pub(super) fn column_of(&mut self, parts: &[&str]) -> Result<Option<Bound>> {
        let needed = self.needed.len();
        let parts: Vec<String> = parts.iter().map(|part| (*part).to_owned()).collect();
        let found = self.stored("", &parts, 0);
        self.forget(needed);
        found
    }

    /// The column that names lead to as they are.
    fn stored(&mut self, text: &str, parts: &[String], at: usize) -> Result<Option<Bound>> {
        let names: Vec<&str> = parts.iter().map(String::as_str).collect();
        if let [name] = names[..]
            && let Some(definition) = self.scope.find(name).cloned()
        {
            let is_value = self.definition_objects(&definition)?.is_none();
            return if is_value { self.definition(text, &definition, at).map(Some) } else { Ok(None) };
        }
        let Some((found, used)) = self.source.find(&names)? else { return Ok(None) };
        let mut members: Vec<Arc<str>> = found.member.into_iter().collect();
        members.extend(names[used..].iter().map(|&name| Arc::from(name)));
        let needed = self.needed.len();
        match self.column(text, found.id, members, at) {
            Ok(bound) => Ok(Some(bound)),
            Err(error) if error.kind() == ErrorKind::Expression => {
                self.forget(needed);
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// The column of a member: named so, or as in NanoAOD, where `Jet.pt` is `Jet_pt`.
    pub(super) fn leaf(&mut self, text: &str, parts: &[String], at: usize) -> Result<Option<Bound>> {
        self.values += 1;
        if self.values > MOST_VALUES {
            return Err(Error::limit("values of an expression and its collections", MOST_VALUES, self.values));
        }
        if let Some(found) = self.stored(text, parts, at)? {
            return Ok(Some(found));
        }
        for place in 1..parts.len() {
            let mut joined = parts.to_vec();
            let name = joined.remove(place);
            joined[place - 1] = format!("{}_{name}", joined[place - 1]);
            if let Some(found) = self.stored(text, &joined, at)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// The column of a member of stored objects. What was defined since they were named counts only for members that
    /// they did not have: a definition that uses the objects means what it meant.
    pub(super) fn leaf_of(&mut self, text: &str, base: &Base, parts: &[String], at: usize) -> Result<Option<Bound>> {
        match self.seeing(base, |binder| binder.leaf(text, parts, at))? {
            None if !self.scope.is(&base.sees) => self.leaf(text, parts, at),
            found => Ok(found),
        }
    }

    /// Binds something that sees the definitions that count for stored objects.
    pub(super) fn seeing<T>(&mut self, base: &Base, bind: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.scope.is(&base.sees) {
            return bind(self);
        }
        let scope = std::mem::replace(&mut self.scope, base.sees.clone());
        let by_name = std::mem::take(&mut self.collections.by_name);
        let found = bind(self);
        self.scope = scope;
        self.collections.by_name = by_name;
        found
    }

    /// The stored collection of a name: lists of records, or columns whose names begin with it.
    pub(super) fn base(&mut self, parts: &[String]) -> Result<Option<Arc<Collection>>> {
        let name = parts.join(".");
        if let Some(known) = self.collections.by_name.get(&format!("{name}.")) {
            return Ok(known.clone());
        }
        let found = self.stored_collection(parts, &name)?.map(|base| Arc::new(Collection::Base(base)));
        self.collections.by_name.insert(format!("{name}."), found.clone());
        Ok(found)
    }

    fn stored_collection(&mut self, parts: &[String], name: &str) -> Result<Option<Base>> {
        let names: Vec<&str> = parts.iter().map(String::as_str).collect();
        if let Some((found, used)) = self.source.find(&names)?
            && found.member.is_none()
        {
            let mut kind = self.source.kind(found.id)?;
            let mut depth = 0;
            for name in &names[used..] {
                let Some((above, fields)) = record(&kind) else { return Ok(None) };
                depth += above;
                let Some(field) = fields.into_iter().find(|(known, _)| known == name) else { return Ok(None) };
                kind = field.1;
            }
            let Some((below, fields)) = record(&kind) else { return Ok(None) };
            let members = ordered(fields.into_iter().map(|(name, _)| name));
            let (parts, sees) = (parts.to_vec(), self.scope.clone());
            return Ok(Some(Base { parts, depth: depth + below, members, sees }));
        }
        let prefix = format!("{name}_");
        let all = self.source.names();
        let friends = self.source.friends();
        let rest = |known: &str| {
            let of_friend = || {
                friends
                    .iter()
                    .find_map(|friend| known.strip_prefix(&*friend.name)?.strip_prefix('.')?.strip_prefix(&prefix))
            };
            known.strip_prefix(&prefix).or_else(of_friend).map(str::to_owned)
        };
        let defined = self.scope.all().filter_map(|definition| rest(&definition.name));
        let members: std::collections::BTreeSet<String> =
            all.iter().filter_map(|known| rest(known)).chain(defined).collect();
        let members = ordered(members.into_iter());
        let mut depth = None;
        let needed = self.needed.len();
        for member in members.iter().take(MAX_TRIED) {
            let parts: Vec<String> = parts.iter().chain([member]).cloned().collect();
            if let Some(found) = self.leaf("", &parts, 0)? {
                depth = Some(depth.map_or(found.depth, |depth: usize| depth.min(found.depth)));
            }
        }
        self.forget(needed);
        let sees = self.scope.clone();
        Ok(depth.map(|depth| Base { parts: parts.to_vec(), depth, members, sees }))
    }

    /// The value of a member of each object.
    pub(super) fn member(&mut self, text: &str, of: &Arc<Collection>, names: &[String], at: usize) -> Result<Bound> {
        let joined = names.join(".");
        let level = |of: &Collection| of.depth().saturating_sub(1);
        let is = |name: &str| names.len() == 1 && names[0] == name;
        let found = of.lift(at, &mut |of| match &**of {
            Collection::Base(base) => {
                let parts: Vec<String> = base.parts.iter().chain(names).cloned().collect();
                match self.leaf_of(text, base, &parts, at)? {
                    Some(found) => Ok(Some(Bound { at, ..found })),
                    None if is("index") && base.depth > 0 => Ok(Some(positions(self.lists_of(of, at)?, level(of)))),
                    None => Err(unknown_member(text, base, &joined, at)),
                }
            }
            Collection::Tuple(_) if is("index") => Ok(Some(positions(self.lists_of(of, at)?, level(of)))),
            Collection::Tuple(_) => {
                let words =
                    format!("{} has no member {joined:?}: it has .first, .second ..., and mass(...)", of.name());
                Err(fault(text, at, words))
            }
            Collection::Joined(all) if is("which") => {
                let each = all
                    .iter()
                    .enumerate()
                    .map(|(place, of)| Ok(repeated(self.lists_of(of, at)?, level(of), place as i64)));
                Ok(concat(at, each.collect::<Result<_>>()?))
            }
            _ => Ok(None),
        })?;
        self.checked(found)
    }

    /// Any value that has the lists of a collection.
    pub(super) fn lists_of(&mut self, of: &Arc<Collection>, at: usize) -> Result<Bound> {
        let found = of.lift(at, &mut |of| match &**of {
            Collection::Base(base) => self.any_member(base, at).map(Some),
            Collection::Tuple(_) => match of.part(0) {
                Some(part) => self.lists_of(&part, at).map(Some),
                None => Err(Error::internal("a combination has no parts")),
            },
            _ => Ok(None),
        })?;
        self.checked(found)
    }

    /// A member with the lists of its collection: one that is needed already, if there is any.
    fn any_member(&mut self, base: &Base, at: usize) -> Result<Bound> {
        let parts = |member: &str| base.parts.iter().map(String::as_str).chain([member]).map(str::to_owned).collect();
        let mut first = None;
        for member in base.members.iter().take(MAX_TRIED) {
            let needed = self.needed.len();
            let parts: Vec<String> = parts(member);
            let Some(found) = self.leaf_of("", base, &parts, at)?.filter(|found| found.depth == base.depth) else {
                continue;
            };
            if self.needed.len() == needed {
                return Ok(Bound { at, ..found });
            }
            self.forget(needed);
            first = first.or(Some(parts));
        }
        let found = first.map(|parts| self.leaf_of("", base, &parts, at)).transpose()?.flatten();
        found.map(|found| Bound { at, ..found }).ok_or_else(|| {
            Error::new(
                ErrorKind::Expression,
                format!("{} has no member that shows how long its lists are", base.name()),
            )
        })
    }

    /// Refuses values that are computed of too many others.
    pub(super) fn checked(&self, of: Bound) -> Result<Bound> {
        let [size, height] = [of.size(), of.height() as u64];
        if size > MOST_VALUES {
            return Err(Error::limit("values of an expression and its collections", MOST_VALUES, size));
        }
        if height > MAX_HEIGHT {
            return Err(Error::limit("values in each other in an expression and its collections", MAX_HEIGHT, height));
        }
        Ok(of)
    }

    /// A new collection made of others.
    pub(super) fn made(&mut self, of: Collection) -> Result<Arc<Collection>> {
        self.collections.made += 1;
        if self.collections.made as u64 > MAX_HEIGHT {
            let made = self.collections.made as u64;
            return Err(Error::limit("masks, indices and combinations of an expression", MAX_HEIGHT, made));
        }
        Ok(Arc::new(of))
    }
}

/// Lists above a record, and its members.
fn record(kind: &Kind) -> Option<(usize, Vec<(String, Kind)>)> {
    match kind {
        Kind::List { item, .. } | Kind::Fixed { item, .. } => record(item).map(|(depth, fields)| (depth + 1, fields)),
        Kind::Record { .. } if !holds_clones(kind) => {
            let fields = kind.members().into_iter().map(|(name, kind)| (name.to_string(), kind.clone()));
            Some((0, fields.collect()))
        }
        Kind::OneOf { of, .. } if of.len() == 1 => record(of.first()?),
        _ => None,
    }
}

/// Members in the order in which they are tried: those of four-vectors first.
fn ordered(members: impl Iterator<Item = String>) -> Vec<String> {
    let mut members: Vec<String> = members.collect();
    let place = |name: &String| ["pt", "eta", "phi", "px"].iter().position(|known| known == name).unwrap_or(4);
    members.sort_by_key(place);
    members
}

pub(super) fn unknown_member(text: &str, base: &Base, name: &str, at: usize) -> Error {
    let near = near(name, base.members.iter().map(String::as_str));
    let known = if near.is_empty() {
        let names: Vec<&str> = base.members.iter().take(10).map(String::as_str).collect();
        let more = if base.members.len() > names.len() { ", ..." } else { "" };
        format!("; it has {}{more}", names.join(", "))
    } else {
        near
    };
    fault(text, at, format!("{} has no member {name:?}{known}", base.name()))
}
