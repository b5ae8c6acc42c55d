//! Names that are defined for expressions, each on top of those before.

use std::sync::Arc;

/// The first number of columns that functions compute, above the numbers of all stored columns.
pub(super) const FIRST_COMPUTED: usize = usize::MAX / 2;

/// Definitions, the last one first. Cheap to clone: what is added leaves those before as they are.
///
/// The expression of a definition sees definitions before it alone. So a name may be defined again by what it
/// meant before, and no definition can need itself.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scope(Option<Arc<Definition>>);

/// A name and what it stands for.
#[derive(Debug)]
pub(crate) struct Definition {
    pub(super) name: String,
    pub(super) meaning: Meaning,
    /// The definitions that its expression sees.
    pub(super) sees: Scope,
    before: Scope,
}

/// The meaning of a name.
#[derive(Clone, Debug)]
pub(super) enum Meaning {
    Text(String),
    /// A column that a function computes, by its number.
    Computed(usize),
}

impl Scope {
    /// Adds a definition on top.
    pub(crate) fn with(&self, name: &str, text: &str) -> Self {
        self.with_seeing(name, text, self)
    }

    /// Adds a definition whose expression sees other definitions.
    pub(crate) fn with_seeing(&self, name: &str, text: &str, sees: &Self) -> Self {
        self.on_top(name, Meaning::Text(text.to_owned()), sees)
    }

    /// Adds a name for a column that a function computes.
    pub(crate) fn with_computed(&self, name: &str, number: usize) -> Self {
        self.on_top(name, Meaning::Computed(number), self)
    }

    fn on_top(&self, name: &str, meaning: Meaning, sees: &Self) -> Self {
        let sees = sees.clone();
        let before = self.clone();
        Self(Some(Arc::new(Definition { name: name.to_owned(), meaning, sees, before })))
    }

    /// Whether both are the same definitions.
    pub(super) fn is(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (None, None) => true,
            (Some(own), Some(others)) => Arc::ptr_eq(own, others),
            _ => false,
        }
    }

    /// The last definition of a name.
    pub(super) fn find(&self, name: &str) -> Option<&Arc<Definition>> {
        self.all().find(|definition| definition.name == name)
    }

    /// All definitions, the last one first.
    pub(super) fn all(&self) -> impl Iterator<Item = &Arc<Definition>> {
        std::iter::successors(self.0.as_ref(), |definition| definition.before.0.as_ref())
    }
}

impl Drop for Definition {
    /// Drops one after another: thousands of definitions in each other would overflow the stack.
    fn drop(&mut self) {
        let mut rest: Vec<Arc<Self>> = [self.before.0.take(), self.sees.0.take()].into_iter().flatten().collect();
        while let Some(definition) = rest.pop() {
            if let Some(mut definition) = Arc::into_inner(definition) {
                rest.extend([definition.before.0.take(), definition.sees.0.take()].into_iter().flatten());
            }
        }
    }
}
