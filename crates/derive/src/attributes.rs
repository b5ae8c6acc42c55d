//! What `#[entry(...)]` says.

use syn::{Attribute, LitInt, LitStr, Result};

/// Of a struct.
#[derive(Default)]
pub(crate) struct OfClass {
    /// Its name in C++.
    pub(crate) class: Option<String>,
    /// The number of its `ClassDef`.
    pub(crate) version: Option<i16>,
    /// Whether its `Default` has the members that a file lacks.
    pub(crate) default: bool,
}

/// Of a member.
#[derive(Default)]
pub(crate) struct OfMember {
    /// Its name in C++.
    pub(crate) name: Option<String>,
    /// Names that it had before.
    pub(crate) was: Vec<String>,
    /// Whether it is a base class.
    pub(crate) base: bool,
    /// The member that is its length.
    pub(crate) counted: Option<String>,
    /// Whether it is not written.
    pub(crate) skip: bool,
}

impl OfClass {
    pub(crate) fn parse(attributes: &[Attribute]) -> Result<Self> {
        let mut found = Self::default();
        for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("entry")) {
            attribute.parse_nested_meta(|meta| {
                if meta.path.is_ident("class") {
                    found.class = Some(class_name(&meta.value()?.parse::<LitStr>()?)?);
                } else if meta.path.is_ident("version") {
                    let number: LitInt = meta.value()?.parse()?;
                    let version: i16 = number.base10_parse()?;
                    if version < 1 {
                        return Err(syn::Error::new(number.span(), "the version of a class is 1 or more"));
                    }
                    found.version = Some(version);
                } else if meta.path.is_ident("default") {
                    found.default = true;
                } else {
                    return Err(meta.error("of a struct `class`, `version` and `default` are known"));
                }
                Ok(())
            })?;
        }
        Ok(found)
    }
}

impl OfMember {
    pub(crate) fn parse(attributes: &[Attribute]) -> Result<Self> {
        let mut found = Self::default();
        for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("entry")) {
            attribute.parse_nested_meta(|meta| {
                if meta.path.is_ident("name") {
                    found.name = Some(member_name(&meta.value()?.parse::<LitStr>()?)?);
                } else if meta.path.is_ident("was") {
                    found.was.push(meta.value()?.parse::<LitStr>()?.value());
                } else if meta.path.is_ident("base") {
                    found.base = true;
                } else if meta.path.is_ident("counted") {
                    found.counted = Some(member_name(&meta.value()?.parse::<LitStr>()?)?);
                } else if meta.path.is_ident("skip") {
                    found.skip = true;
                } else {
                    return Err(meta.error("of a member `name`, `was`, `base`, `counted` and `skip` are known"));
                }
                Ok(())
            })?;
            let is_other = found.base || found.name.is_some() || found.counted.is_some() || !found.was.is_empty();
            if found.skip && is_other {
                return Err(syn::Error::new_spanned(attribute, "what is skipped has no name and is no base"));
            }
            if found.base && found.counted.is_some() {
                return Err(syn::Error::new_spanned(attribute, "a base has no length"));
            }
            if found.base && found.name.is_some() {
                return Err(syn::Error::new_spanned(attribute, "a base has the name of its class"));
            }
        }
        Ok(found)
    }
}

fn is_name(name: &str) -> bool {
    let mut letters = name.chars();
    letters.next().is_some_and(|first| first.is_alphabetic() || first == '_')
        && letters.all(|letter| letter.is_alphanumeric() || letter == '_')
}

fn member_name(literal: &LitStr) -> Result<String> {
    let name = literal.value();
    if is_name(&name) { Ok(name) } else { Err(syn::Error::new(literal.span(), "no member of C++ has such a name")) }
}

/// A class may be in namespaces, and a template.
fn class_name(literal: &LitStr) -> Result<String> {
    let name = literal.value();
    let plain = name.split_once('<').map_or(name.as_str(), |(plain, _)| plain);
    if plain.split("::").all(is_name) && (plain == name || name.ends_with('>')) {
        return Ok(name);
    }
    Err(syn::Error::new(literal.span(), "no class of C++ has such a name"))
}
