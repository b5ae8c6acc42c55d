//! C++ type names, as class names, members and branches spell them.

use std::fmt;

use crate::column::{Number, Packing, Prim};
use crate::error::{Error, Result};

/// A sequence-like or set-like container.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names are those of the standard library")]
pub enum Sequence {
    Vector,
    List,
    Deque,
    ForwardList,
    Set,
    MultiSet,
    UnorderedSet,
    UnorderedMultiSet,
    RVec,
}

/// A map-like container.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names are those of the standard library")]
pub enum Mapping {
    Map,
    MultiMap,
    UnorderedMap,
    UnorderedMultiMap,
}

/// What C++ and ROOT know of a container.
struct Known<T> {
    kind: T,
    /// Its name in its namespace.
    name: &'static str,
    /// `ROOT::ESTLType`, `fSTLtype` of a member.
    stl_type: i32,
    /// Bytes of an object in memory, as GCC has them.
    bytes: i32,
}

const fn known<T>(kind: T, name: &'static str, stl_type: i32, bytes: i32) -> Known<T> {
    Known { kind, name, stl_type, bytes }
}

const SEQUENCES: [Known<Sequence>; 9] = [
    known(Sequence::Vector, "vector", 1, 24),
    known(Sequence::List, "list", 2, 24),
    known(Sequence::Deque, "deque", 3, 80),
    known(Sequence::ForwardList, "forward_list", 9, 8),
    known(Sequence::Set, "set", 6, 48),
    known(Sequence::MultiSet, "multiset", 7, 48),
    known(Sequence::UnorderedSet, "unordered_set", 10, 56),
    known(Sequence::UnorderedMultiSet, "unordered_multiset", 11, 56),
    // Its size depends on its items: those that are few stand in it.
    known(Sequence::RVec, "RVec", 14, 0),
];

const MAPPINGS: [Known<Mapping>; 4] = [
    known(Mapping::Map, "map", 4, 48),
    known(Mapping::MultiMap, "multimap", 5, 48),
    known(Mapping::UnorderedMap, "unordered_map", 12, 56),
    known(Mapping::UnorderedMultiMap, "unordered_multimap", 13, 56),
];

macro_rules! containers {
    ($($type:ident: $table:ident, $first:literal;)*) => {$(
        impl $type {
            /// The container of a name without namespace.
            ///
            /// # Example
            ///
            /// ```
            #[doc = concat!("use sapwood::schema::", stringify!($type), ";")]
            #[doc = concat!("let kind = ", stringify!($type), "::from_name(\"", $first, "\");")]
            #[doc = concat!("assert_eq!(kind.map(|kind| kind.name()), Some(\"", $first, "\"));")]
            /// ```
            pub fn from_name(name: &str) -> Option<Self> {
                $table.iter().find(|known| known.name == name).map(|known| known.kind)
            }

            /// Its name without namespace.
            pub fn name(self) -> &'static str {
                self.known().map_or("", |known| known.name)
            }

            /// `ROOT::ESTLType`.
            pub(crate) fn stl_type(self) -> i32 {
                self.known().map_or(0, |known| known.stl_type)
            }

            /// Bytes of an object in memory.
            pub(crate) fn bytes(self) -> i32 {
                self.known().map_or(0, |known| known.bytes)
            }

            fn known(self) -> Option<&'static Known<Self>> {
                $table.iter().find(|known| known.kind == self)
            }
        }
    )*};
}

containers! {
    Sequence: SEQUENCES, "deque";
    Mapping: MAPPINGS, "unordered_map";
}

/// A parsed C++ type.
///
/// # Example
///
/// ```
/// use sapwood::schema::TypeName;
/// let name = TypeName::parse("vector<pair<Int_t,std::string> >")?;
/// assert_eq!(name.to_string(), "std::vector<std::pair<int32_t, std::string>>");
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum TypeName {
    /// A number.
    Number(Prim),
    /// `std::string`.
    StdString,
    /// `TString`.
    TString,
    /// A container of items.
    Sequence(Sequence, Box<TypeName>),
    /// A container of pairs.
    Mapping(Mapping, Box<TypeName>, Box<TypeName>),
    /// `std::pair`.
    Pair(Box<TypeName>, Box<TypeName>),
    /// `std::bitset` of so many bits.
    Bitset(usize),
    /// `std::array`.
    Array(Box<TypeName>, usize),
    /// A pointer.
    Pointer(Box<TypeName>),
    /// Any other class, spelled as the file spells it but for blanks.
    Class(String),
}

const DEEPEST: u32 = 64;

impl TypeName {
    /// Parses a name as ROOT writes it: with or without `std::`, with typedefs like `Int_t`, with default allocators
    /// and comparators, with `> >` or `>>`.
    ///
    /// # Errors
    ///
    /// [`Malformed`](crate::ErrorKind::Malformed) where brackets do not match; [`Limit`](crate::ErrorKind::Limit) above
    /// 64 levels.
    pub fn parse(name: &str) -> Result<Self> {
        parse(name.trim(), DEEPEST).map_err(|error| error.in_object(name))
    }

    /// The number type a spelling names, if it names one.
    pub fn number(name: &str) -> Option<Prim> {
        let plain = |number| Some(Prim::Plain(number));
        match name {
            "bool" | "Bool_t" | "_Bool" => plain(Number::Bool),
            "char" | "Char_t" | "signed char" | "int8_t" | "Text_t" | "std::int8_t" => plain(Number::I8),
            "unsigned char" | "UChar_t" | "uint8_t" | "Byte_t" | "std::uint8_t" | "std::byte" => plain(Number::U8),
            "short" | "Short_t" | "int16_t" | "Version_t" | "short int" | "std::int16_t" => plain(Number::I16),
            "unsigned short" | "UShort_t" | "uint16_t" | "Font_t" | "unsigned short int" | "std::uint16_t" => {
                plain(Number::U16)
            }
            "int" | "Int_t" | "int32_t" | "Ssiz_t" | "std::int32_t" | "signed" | "signed int" => plain(Number::I32),
            "unsigned int" | "unsigned" | "UInt_t" | "uint32_t" | "std::uint32_t" => plain(Number::U32),
            "long" | "Long_t" | "Long64_t" | "long long" | "int64_t" | "long int" | "long long int"
            | "std::int64_t" => plain(Number::I64),
            "unsigned long"
            | "ULong_t"
            | "ULong64_t"
            | "unsigned long long"
            | "uint64_t"
            | "size_t"
            | "std::uint64_t"
            | "std::size_t"
            | "unsigned long int"
            | "unsigned long long int" => plain(Number::U64),
            "float" | "Float_t" => plain(Number::F32),
            "double" | "Double_t" | "Stat_t" => plain(Number::F64),
            "Double32_t" => Some(Prim::Double32(Packing::Float)),
            "Float16_t" => Some(Prim::Float16(Packing::Mantissa { bits: 12 })),
            _ => None,
        }
    }
}

fn parse(name: &str, depth: u32) -> Result<TypeName> {
    if depth == 0 {
        return Err(Error::limit("a type name nests too deep", u64::from(DEEPEST), u64::from(DEEPEST) + 1));
    }
    let mut name = name.trim();
    while let Some(rest) = name.strip_prefix("const ").or_else(|| name.strip_suffix(" const")) {
        name = rest.trim();
    }
    if let Some(inner) = name.strip_suffix('*') {
        return Ok(TypeName::Pointer(Box::new(parse(inner, depth - 1)?)));
    }
    if let Some(prim) = TypeName::number(name) {
        return Ok(TypeName::Number(prim));
    }
    let bare = ["std::__1::", "std::__cxx11::", "std::", "ROOT::VecOps::", "ROOT::Internal::VecOps::"]
        .iter()
        .find_map(|space| name.strip_prefix(space))
        .unwrap_or(name);
    match bare {
        "string" => return Ok(TypeName::StdString),
        "TString" => return Ok(TypeName::TString),
        _ => {}
    }
    let Some(open) = bare.find('<') else { return Ok(TypeName::Class(name.to_owned())) };
    let Some(inside) = bare[open + 1..].strip_suffix('>') else {
        // `A<B>::C` is a class within a template.
        return balanced(name).map(|()| TypeName::Class(tidy(name)));
    };
    let Some(arguments) = split_arguments(inside)? else { return Ok(TypeName::Class(tidy(name))) };
    let argument = |index: usize| match arguments.get(index) {
        Some(text) => parse(text, depth - 1).map(Box::new),
        None => Err(Error::malformed("a template lacks an argument")),
    };
    let count = |index: usize| {
        let digits = arguments.get(index).map(|text| text.trim().trim_end_matches(|c: char| c.is_ascii_alphabetic()));
        digits.and_then(|text| text.parse::<usize>().ok()).ok_or_else(|| Error::malformed("a template lacks a number"))
    };
    let template = &bare[..open];
    if let Some(kind) = Sequence::from_name(template) {
        return Ok(TypeName::Sequence(kind, argument(0)?));
    }
    if let Some(kind) = Mapping::from_name(template) {
        return Ok(TypeName::Mapping(kind, argument(0)?, argument(1)?));
    }
    match template {
        "pair" => Ok(TypeName::Pair(argument(0)?, argument(1)?)),
        "bitset" => Ok(TypeName::Bitset(count(0)?)),
        "array" => Ok(TypeName::Array(argument(0)?, count(1)?)),
        "basic_string" if arguments.first().is_some_and(|text| text.trim() == "char") => Ok(TypeName::StdString),
        "unique_ptr" | "shared_ptr" => Ok(TypeName::Pointer(argument(0)?)),
        "atomic" => argument(0).map(|inner| *inner),
        _ => Ok(TypeName::Class(tidy(name))),
    }
}

fn balanced(name: &str) -> Result<()> {
    let open = name.matches('<').count();
    let close = name.matches('>').count() - name.matches("->").count().min(name.matches('>').count());
    if open == close || name.contains("operator") {
        Ok(())
    } else {
        Err(Error::malformed("brackets of a type name do not match").wanted(open as u64, close as u64))
    }
}

/// Splits at top-level commas; `None` where the text is no list of template arguments, as in `A<B>::C<D>`.
fn split_arguments(text: &str) -> Result<Option<Vec<&str>>> {
    let (mut depth, mut start, mut arguments) = (0_i32, 0, Vec::new());
    for (index, byte) in text.bytes().enumerate() {
        match byte {
            b'<' | b'(' => depth += 1,
            b'>' | b')' => depth -= 1,
            b',' if depth == 0 => {
                arguments.push(&text[start..index]);
                start = index + 1;
            }
            _ => {}
        }
        if depth < 0 {
            return Ok(None);
        }
    }
    if depth != 0 {
        return Err(Error::malformed("brackets of a type name do not match"));
    }
    arguments.push(&text[start..]);
    Ok(Some(arguments))
}

/// Removes blanks that ROOT puts or leaves out at will: after commas and before closing brackets.
pub fn tidy(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for c in name.trim().chars() {
        match c {
            ' ' if out.ends_with([',', '<', ' ']) => {}
            '>' | ',' => {
                out.truncate(out.trim_end().len());
                out.push(c);
            }
            c => out.push(c),
        }
    }
    out
}

impl fmt::Display for TypeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(Prim::Plain(number)) => f.write_str(number.cpp_name()),
            Self::Number(Prim::Double32(_)) => f.write_str("Double32_t"),
            Self::Number(Prim::Float16(_)) => f.write_str("Float16_t"),
            Self::StdString => f.write_str("std::string"),
            Self::TString => f.write_str("TString"),
            Self::Sequence(Sequence::RVec, item) => write!(f, "ROOT::VecOps::RVec<{item}>"),
            Self::Sequence(kind, item) => write!(f, "std::{}<{item}>", kind.name()),
            Self::Mapping(kind, key, value) => write!(f, "std::{}<{key}, {value}>", kind.name()),
            Self::Pair(first, second) => write!(f, "std::pair<{first}, {second}>"),
            Self::Bitset(bits) => write!(f, "std::bitset<{bits}>"),
            Self::Array(item, len) => write!(f, "std::array<{item}, {len}>"),
            Self::Pointer(inner) => write!(f, "{inner}*"),
            Self::Class(name) => f.write_str(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(name: &str) -> String {
        TypeName::parse(name).unwrap().to_string()
    }

    #[test]
    fn containers_nest() {
        assert_eq!(shown("vector<vector<unsigned long long> >"), "std::vector<std::vector<uint64_t>>");
        assert_eq!(
            shown("map<string,vector<Float_t>,less<string>,allocator<pair<const string,vector<float>>>>"),
            "std::map<std::string, std::vector<float>>"
        );
        assert_eq!(shown("bitset<16>"), "std::bitset<16>");
        assert_eq!(shown("std::array<double, 3>"), "std::array<double, 3>");
        assert_eq!(shown("vector<const TObject*>"), "std::vector<TObject*>");
    }

    #[test]
    fn classes_keep_their_spelling() {
        assert_eq!(shown("edm::Wrapper<std::vector<int> >"), "edm::Wrapper<std::vector<int>>");
        assert_eq!(shown("A<B>::C"), "A<B>::C");
        assert_eq!(
            shown("ROOT::Math::LorentzVector<ROOT::Math::PtEtaPhiM4D<float> >"),
            "ROOT::Math::LorentzVector<ROOT::Math::PtEtaPhiM4D<float>>"
        );
    }

    #[test]
    fn hostile_names_end() {
        assert!(TypeName::parse(&"vector<".repeat(100_000)).is_err());
        let deep = format!("{}int{}", "vector<".repeat(1000), ">".repeat(1000));
        assert_eq!(TypeName::parse(&deep).unwrap_err().kind(), crate::ErrorKind::Limit);
        for odd in ["", "<", ">", "vector<>", "vector<int", "map<int>", "bitset<x>", "pair<,>", "*", "a>b<c"] {
            let _ = TypeName::parse(odd);
        }
    }
}
