//! What the type of a field says beyond the [`Kind`](crate::column::Kind) of its values: names, versions, checksums.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::schema::Sequence;
use crate::write::model::class::{Class, Type};
use crate::write::page::names::number_name;

/// What a type says of a field that the kind of its values does not.
#[derive(Clone, Copy)]
pub(crate) enum Declared<'t> {
    Type(&'t Type),
    Class(&'t Class),
    Pair(&'t Type, &'t Type),
}

impl<'t> Declared<'t> {
    pub(crate) fn new(kind: &'t Type) -> Self {
        match kind {
            Type::Object(class) => Self::Class(class),
            kind => Self::Type(kind),
        }
    }

    /// Of the items of a list, or what a pointer points at; none for numbers in arrays.
    pub(crate) fn item(self) -> Option<Self> {
        match self {
            Self::Type(Type::Sequence(_, item)) => Some(Self::new(item)),
            Self::Type(Type::Mapping(_, key, value)) => Some(Self::Pair(key, value)),
            Self::Type(Type::Pointer(class)) => Some(Self::Class(class)),
            _ => None,
        }
    }

    /// Of a member of a record.
    pub(crate) fn member(self, index: usize) -> Option<Self> {
        match self {
            Self::Class(class) => class.members.get(index).map(|member| Self::new(&member.kind)),
            Self::Pair(key, value) => [key, value].get(index).map(|kind| Self::new(kind)),
            Self::Type(_) => None,
        }
    }

    /// Version and checksum of a class.
    pub(crate) fn version(self) -> (u32, Option<u32>) {
        /// Of a class without a `ClassDef`.
        const NO_VERSION: u32 = u32::MAX;
        match self {
            Self::Class(class) => (class.version.map_or(NO_VERSION, |version| version as u32), Some(class.checksum())),
            _ => (0, None),
        }
    }

    /// The name as ROOT normalises it.
    pub(crate) fn type_name(self) -> Result<String> {
        match self {
            Self::Type(kind) => cpp_name(kind),
            Self::Class(class) => Ok(class.name.to_string()),
            Self::Pair(key, value) => Ok(format!("std::pair<{},{}>", cpp_name(key)?, cpp_name(value)?)),
        }
    }
}

/// The name of a type as ROOT normalises it.
pub(crate) fn cpp_name(kind: &Type) -> Result<String> {
    let refused = |name: &str, instead: &str| {
        Err(Error::unsupported(format!("a field of an RNTuple cannot be a {name}: take a {instead}")))
    };
    Ok(match kind {
        Type::Number(number) => number_name(*number),
        Type::Array(number, extents) => {
            extents.iter().rev().fold(number_name(*number), |item, extent| format!("std::array<{item},{extent}>"))
        }
        Type::Text => "std::string".to_owned(),
        Type::RootText => return refused("TString", "std::string"),
        Type::Sequence(Sequence::List | Sequence::Deque | Sequence::ForwardList, _) => {
            return refused(&kind.name(), "std::vector");
        }
        Type::Sequence(Sequence::RVec, item) => format!("ROOT::VecOps::RVec<{}>", cpp_name(item)?),
        Type::Sequence(sequence, item) => format!("std::{}<{}>", sequence.name(), cpp_name(item)?),
        Type::Mapping(mapping, key, value) => {
            format!("std::{}<{},{}>", mapping.name(), cpp_name(key)?, cpp_name(value)?)
        }
        Type::Object(class) if class.is_root_list() => return refused(&class.name, "std::vector"),
        Type::Object(class) if class.is_reference() => return refused(&class.name, "number"),
        Type::Object(class) => {
            // What is refused in its members is refused here.
            class.members.iter().try_for_each(|member| {
                cpp_name(&member.kind).map(drop).map_err(|error| error.in_object(&member.name))
            })?;
            class.name.to_string()
        }
        Type::Counted(..) | Type::Clones(_) | Type::RootArray(_) => return refused(&kind.name(), "std::vector"),
        Type::Pointer(class) => format!("std::unique_ptr<{}>", cpp_name(&Type::Object(Arc::clone(class)))?),
    })
}
