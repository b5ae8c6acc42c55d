//! Names of types in C++, as ROOT normalises them.

use crate::column::{Kind, ListOf, Number};
use crate::error::{Error, Result};

pub(crate) fn refused(kind: &Kind) -> Error {
    Error::unsupported(format!("an RNTuple cannot hold values of type {kind}"))
}

/// The name of a number.
pub(crate) fn number_name(number: Number) -> String {
    match number {
        Number::Bool => "bool".to_owned(),
        Number::F32 => "float".to_owned(),
        Number::F64 => "double".to_owned(),
        other => format!("std::{}", other.cpp_name()),
    }
}

/// A type in C++, as ROOT normalises it; empty where a record without a class is inside.
pub(crate) fn type_name(kind: &Kind) -> Result<String> {
    let all = |kinds: &mut dyn Iterator<Item = &Kind>| -> Result<Option<String>> {
        let names = kinds.map(type_name).collect::<Result<Vec<_>>>()?;
        Ok((!names.iter().any(String::is_empty)).then(|| names.join(",")))
    };
    let around = |template: &str, inside: Option<String>| {
        inside.map_or_else(String::new, |inside| format!("{template}<{inside}>"))
    };
    Ok(match kind {
        Kind::Number { number, .. } => number_name(*number),
        Kind::Text { .. } => "std::string".to_owned(),
        Kind::List { of, item, .. } => {
            let item = Some(type_name(item)?).filter(|name| !name.is_empty());
            match of {
                ListOf::Sequence => around("std::vector", item),
                ListOf::Set => around("std::set", item),
                ListOf::Map => item.map_or_else(String::new, |pair| {
                    let inside = pair.strip_prefix("std::pair<").and_then(|pair| pair.strip_suffix('>'));
                    inside.map_or_else(String::new, |inside| format!("std::map<{inside}>"))
                }),
            }
        }
        Kind::OneOf { of, .. } => {
            let inside = all(&mut of.iter())?;
            if inside.is_none() {
                let message = "values that may be absent, or of several types, cannot be records without a class";
                return Err(Error::unsupported(message));
            }
            around(if of.len() == 1 { "std::optional" } else { "std::variant" }, inside)
        }
        Kind::Fixed { len, item } => {
            let item = type_name(item)?;
            if item.is_empty() {
                return Err(Error::unsupported("arrays of fixed length cannot hold records without a class"));
            }
            format!("std::array<{item},{len}>")
        }
        Kind::Record { class, fields } => match &**class {
            "pair" => around("std::pair", all(&mut fields.iter().map(|field| &field.kind))?),
            "tuple" => around("std::tuple", all(&mut fields.iter().map(|field| &field.kind))?),
            class => class.to_owned(),
        },
        Kind::Opaque { .. } | Kind::Pointer { .. } => return Err(refused(kind)),
    })
}
