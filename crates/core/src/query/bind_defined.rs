//! Binds definitions: names that stand for expressions, collections, or columns that functions compute.

use std::sync::Arc;

use super::bind::Binder;
use super::bound::{Bound, Op};
use super::collection::{Collection, Defined, Known, Reached};
use super::defined::{Definition, FIRST_COMPUTED, Meaning, Scope};
use super::fault::fault;
use super::parse::{HIGHEST, parse};
use super::path::path;
use super::value::Of;
use crate::column::Kind;
use crate::error::{Error, Result};

/// The longest chain of collections that are made of each other through definitions.
const MAX_CHAIN: usize = 600;

impl Binder<'_> {
    /// Adds a column that a function computes. Returns its levels of lists, and the type of their items.
    pub(super) fn add_computed(&mut self, kind: Kind) -> Result<(usize, Of)> {
        let no_classes = |_: &Arc<str>| Err(Error::unsupported("a function gives numbers, texts, or lists of them"));
        let (_, depth, of) = path(kind.clone(), Vec::new(), &no_classes, ("", 0))?;
        self.computed.push(kind);
        Ok((depth, of))
    }

    /// The value of an expression that sees some definitions.
    pub(super) fn bind_in(&mut self, scope: &Scope, text: &str) -> Result<Bound> {
        (self.scope, self.height, self.values) = (scope.clone(), 0, 0);
        // Other definitions make other collections.
        self.collections = Known::default();
        let expr = parse(text)?;
        let bound = self.bind(text, &expr)?;
        self.check_height(text, &bound)?;
        self.pinned = self.needed.len();
        Ok(bound)
    }

    /// Binds the last definition of a name. A collection has no value.
    pub(super) fn bind_definition(&mut self, scope: &Scope, name: &str) -> Result<Option<Bound>> {
        (self.scope, self.height, self.values) = (scope.clone(), 0, 0);
        self.collections = Known::default();
        let Some(definition) = scope.find(name).cloned() else { return Ok(None) };
        match self.definition_objects(&definition)? {
            Some(_) => Ok(None),
            None => self.definition(name, &definition, 0).map(Some),
        }
    }

    /// The value of a definition, which is bound once.
    pub(super) fn definition(&mut self, text: &str, definition: &Arc<Definition>, at: usize) -> Result<Bound> {
        let address = Arc::as_ptr(definition).addr();
        if let Some((_, Defined { value: Some(known), .. })) = self.defined.get(&address) {
            return Ok(Bound { at, ..known.clone() });
        }
        let meaning = match &definition.meaning {
            Meaning::Text(meaning) => meaning,
            Meaning::Computed(number) => return self.column(text, FIRST_COMPUTED + number, Vec::new(), at),
        };
        let bound = self.within(definition, |binder| {
            let expr = parse(meaning)?;
            binder.bind(meaning, &expr)
        })?;
        self.check_height(meaning, &bound)?;
        // Others look at whether it is a column.
        let bound = if matches!(bound.op, Op::Column(..)) { bound } else { bound.shared() };
        self.pinned = self.needed.len();
        let known = self.defined.entry(address).or_insert_with(|| (Arc::clone(definition), Defined::default()));
        known.1.value = Some(bound.clone());
        Ok(Bound { at, ..bound })
    }

    /// The collection that a definition stands for, if it is one.
    pub(super) fn definition_objects(&mut self, definition: &Arc<Definition>) -> Result<Option<Arc<Collection>>> {
        let Meaning::Text(meaning) = &definition.meaning else { return Ok(None) };
        let address = Arc::as_ptr(definition).addr();
        if let Some((_, Defined { objects: Some((known, chain)), .. })) = self.defined.get(&address) {
            self.collections.below = self.collections.below.max(*chain);
            return Ok(known.clone());
        }
        let (found, chain) = self.within(definition, |binder| {
            let expr = parse(meaning)?;
            Ok((binder.reach(meaning, &expr)?, binder.collections.made + binder.collections.below))
        })?;
        if chain > MAX_CHAIN {
            let name = &definition.name;
            let words =
                format!("{name:?} is made of more than {MAX_CHAIN} masks, indices and combinations in each other");
            return Err(fault(meaning, 0, words));
        }
        self.collections.below = self.collections.below.max(chain);
        let found = match found {
            Some(Reached::Objects(of)) => Some(of),
            _ => None,
        };
        self.pinned = self.needed.len();
        let known = self.defined.entry(address).or_insert_with(|| (Arc::clone(definition), Defined::default()));
        known.1.objects = Some((found.clone(), chain));
        Ok(found)
    }

    /// Binds something that sees what a definition sees.
    fn within<T>(&mut self, definition: &Definition, bind: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let scope = std::mem::replace(&mut self.scope, definition.sees.clone());
        let collections = std::mem::take(&mut self.collections);
        let is_sized = std::mem::take(&mut self.is_sized);
        let found = bind(self);
        (self.scope, self.collections, self.is_sized) = (scope, collections, is_sized);
        found.map_err(|error| {
            let words = format!("{} (the definition of {:?})", error.message(), definition.name);
            Error::new(error.kind(), words)
        })
    }

    /// Refuses a value whose computation would overflow the stack.
    pub(super) fn check_height(&self, text: &str, bound: &Bound) -> Result<()> {
        if bound.height() <= HIGHEST {
            return Ok(());
        }
        let words = format!("more than {HIGHEST} values are in each other, those of definitions included");
        Err(fault(text, bound.at, words))
    }

    /// Forgets the columns that were only tried: those after the first `needed`.
    pub(super) fn forget(&mut self, needed: usize) {
        self.needed.truncate(needed.max(self.pinned));
    }
}
