//! Classes of an RNTuple in a tree, where a class has one layout for each of its versions.
//!
//! Source: `TStreamerInfo::Compile`.

use crate::column::{Number, Prim};
use crate::schema::{Element, Registry, TypeName, is_custom};
use crate::write::model::class::{Class, Type};
use crate::write::model::number_codes::ARRAY;

/// Gives a class the members that its version has in trees, as far as the file describes it: what is a text in an
/// RNTuple may be a `TString`.
///
/// # Errors
///
/// What a tree does not hold, where the class is streamed by hand, or its description has other members: readers take
/// the members of a version for those that are described.
pub(crate) fn fit_description(registry: &Registry, class: &mut Class) -> Result<(), String> {
    // A `std::array` as an item, which ROOT reads whole only.
    if class.name.starts_with("array<") || class.name.starts_with("std::array<") {
        return Err(format!("{} as an object", class.name));
    }
    if is_custom(&class.name) || Registry::is_streamed_by_hand(&class.name) {
        return Err(format!("members of a {}, which ROOT streams by hand", class.name));
    }
    let known = registry.info(&class.name, Some(class.info_version()), class.known_checksum);
    let Some(info) = known.filter(|info| info.version == class.info_version()) else { return Ok(()) };
    for member in &mut class.members {
        let described = info.elements.iter().find(|element| element.name == member.name);
        if described.is_some_and(|element| element.code == ROOT_TEXT) && matches!(member.kind, Type::Text) {
            member.kind = Type::RootText;
        }
    }
    let own = class.info().elements;
    let differs = |(own, described): &(&Element, &Element)| !is_alike(registry, own, described);
    let other = own.iter().zip(&info.elements).find(differs).map(|(_, described)| described);
    match other.or_else(|| info.elements.get(own.len())) {
        Some(other) => {
            let (class, version, member, of) = (&info.name, info.version, &other.name, &other.type_name);
            let otherwise = "otherwise than its StreamerInfo has them";
            Err(format!("members of class {class} (version {version}) {otherwise} ({member} is {of} there)"))
        }
        None if own.len() > info.elements.len() => {
            Err(format!("more members of class {} (version {}) than its StreamerInfo has", info.name, info.version))
        }
        None => Ok(()),
    }
}

/// `fType` of a `TString`.
const ROOT_TEXT: i32 = 65;

/// Whether a member of ours has the bytes that a description says.
fn is_alike(registry: &Registry, own: &Element, described: &Element) -> bool {
    /// `fType` by what it is on storage: `long` has 64 bits, a counter is an `int`, bits are an `unsigned int`, an
    /// object with a dictionary is one without, a container is one.
    fn stored(code: i32) -> i32 {
        match code {
            4 => 16,
            14 => 17,
            6 => 3,
            15 => 13,
            61 | 67 => 62,
            300 | 365 => 500,
            array if (ARRAY + 1..2 * ARRAY).contains(&array) => ARRAY + stored(array - ARRAY),
            other => other,
        }
    }
    let is_base = |element: &Element| element.class == "TStreamerBase";
    if is_base(own) || is_base(described) {
        return is_base(own) && is_base(described) && own.name == described.name;
    }
    let is_container = own.class == "TStreamerSTL" && described.class == "TStreamerSTL";
    own.name == described.name
        && stored(own.code) == stored(described.code)
        && own.extents == described.extents
        && (!is_container || same_container(registry, &own.type_name, &described.type_name))
}

/// Whether two names of containers mean one type.
fn same_container(registry: &Registry, own: &str, described: &str) -> bool {
    let names = TypeName::parse(own).ok().zip(TypeName::parse(described).ok());
    names.is_some_and(|(own, described)| same_type(registry, &own, &described))
}

fn same_type(registry: &Registry, own: &TypeName, described: &TypeName) -> bool {
    let same = |own: &TypeName, described: &TypeName| same_type(registry, own, described);
    match (own, described) {
        (TypeName::Sequence(of, own), TypeName::Sequence(kind, item)) => of == kind && same(own, item),
        (TypeName::Mapping(of, key, value), TypeName::Mapping(kind, its_key, its_value)) => {
            of == kind && same(key, its_key) && same(value, its_value)
        }
        (TypeName::Pair(first, second), TypeName::Pair(its_first, its_second)) => {
            same(first, its_first) && same(second, its_second)
        }
        // An enumeration.
        (TypeName::Number(Prim::Plain(Number::I32)), TypeName::Class(class)) => registry.versions(class).is_empty(),
        (TypeName::Class(own), TypeName::Class(class)) => own.replace(' ', "") == class.replace(' ', ""),
        _ => own == described,
    }
}
