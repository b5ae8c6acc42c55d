//! What is written: classes, branches, columns of values, and how objects are split into branches.

pub(crate) mod arrow;
pub(crate) mod branch;
pub(crate) mod class;
pub(crate) mod clones;
pub(crate) mod columns;
pub(crate) mod counted;
pub(crate) mod element;
pub(crate) mod layout;
pub(crate) mod new_class;
pub(crate) mod number_codes;
pub(crate) mod reference;
pub(crate) mod root_collection;
pub(crate) mod split;
pub(crate) mod tobject;
pub(crate) mod values;
