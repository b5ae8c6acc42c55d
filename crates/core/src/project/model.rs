//! Classes to be declared: which, in which order, and what of their members can be expressed.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::language::Language;
use crate::column::{Number, Prim};
use crate::error::{Error, Result};
use crate::schema::{Detail, Element, Mapping, StreamerInfo, TypeName};
use crate::write::Type;

/// Classes, those that others are made of first.
pub(super) struct Project {
    pub(super) classes: Vec<Declared>,
}

/// A class.
pub(super) struct Declared {
    pub(super) name: Arc<str>,
    /// Its name in a language without namespaces and templates.
    pub(super) plain: String,
    /// The number of its `ClassDef`: 1 may be none.
    pub(super) version: i32,
    pub(super) members: Vec<Member>,
}

/// A base or a member.
pub(super) struct Member {
    pub(super) name: Arc<str>,
    pub(super) title: Arc<str>,
    pub(super) is_base: bool,
    /// As C++ spells it, with extents.
    pub(super) cpp: String,
    /// What it is in other languages; none of them, and why.
    pub(super) kind: Result<Kind, String>,
    /// The element itself.
    pub(super) element: Element,
}

impl Member {
    /// Its type, or the class of a base. An enum is known as its number only.
    pub(super) fn spelled(&self) -> String {
        match self.kind {
            _ if self.is_base => self.name.to_string(),
            Ok(Kind::Number(number)) if TypeName::number(&self.element.type_name).is_none() => {
                Type::Number(number).name()
            }
            _ => self.element.type_name.to_string(),
        }
    }
}

/// A type that other languages have.
pub(super) enum Kind {
    Number(Number),
    Array(Number, Vec<u32>),
    Text,
    Vector(Box<Kind>),
    Map(Box<Kind>, Box<Kind>),
    /// An object of a class, by its plain name.
    Object(String),
    Pointer(String),
}

/// What ROOT itself has, beside what begins with `ROOT::`.
const OWN: [&str; 62] = [
    "TArray",
    "TAtt",
    "TAxis",
    "TBits",
    "TBranch",
    "TBrowser",
    "TCanvas",
    "TChain",
    "TClonesArray",
    "TCollection",
    "TColor",
    "TCut",
    "TDatime",
    "TDecomp",
    "TDirectory",
    "TEfficiency",
    "TEllipse",
    "TEntryList",
    "TEventList",
    "TExMap",
    "TF1",
    "TF2",
    "TF3",
    "TFitResult",
    "TFile",
    "TFolder",
    "TFormula",
    "TFriendElement",
    "TGaxis",
    "TGeo",
    "TGraph",
    "TH1",
    "TH2",
    "TH3",
    "THashList",
    "THashTable",
    "THnBase",
    "THnSparse",
    "THStack",
    "TIOFeatures",
    "TKey",
    "TLatex",
    "TLeaf",
    "TLegend",
    "TLine",
    "TList",
    "TLorentz",
    "TMacro",
    "TMap",
    "TMatrix",
    "TMultiGraph",
    "TNamed",
    "TNtuple",
    "TObj",
    "TPad",
    "TParameter",
    "TPave",
    "TPolyMarker",
    "TProcessID",
    "TProfile",
    "TRef",
    "TTree",
];
const OWN_TOO: [&str; 16] = [
    "TRotation",
    "TSeqCollection",
    "TSpline",
    "TStreamer",
    "TString",
    "TStyle",
    "TText",
    "TTimeStamp",
    "TUUID",
    "TUrl",
    "TVector",
    "TVirtualIndex",
    "TVirtualPad",
    "TSelector",
    "TQObject",
    "TRandom",
];

/// Whether ROOT itself has a class.
pub(super) fn is_own(name: &str) -> bool {
    name.starts_with("ROOT::") || OWN.iter().chain(&OWN_TOO).any(|own| name.starts_with(own))
}

/// Names that the code around classes means otherwise.
fn reserved_words(language: Language) -> &'static [&'static str] {
    match language {
        Language::Rust => &[
            "BTreeMap",
            "Box",
            "Clone",
            "Debug",
            "Default",
            "Entry",
            "Option",
            "PartialEq",
            "Self",
            "String",
            "Vec",
            "bool",
            "str",
        ],
        Language::Python => &["Annotated", "bool", "dataclasses", "dict", "float", "int", "list", "np", "str"],
        Language::Cpp => &[],
    }
}

struct Finder<'i> {
    infos: HashMap<String, &'i StreamerInfo>,
    language: Language,
    /// Plain names of classes that were declared; none for those of which nothing can be.
    done: HashMap<String, Option<String>>,
    within: Vec<String>,
    plain: HashSet<String>,
    classes: Vec<Declared>,
}

impl Project {
    pub(super) fn new(infos: &[StreamerInfo], language: Language, classes: &[&str]) -> Result<Self> {
        let mut newest: HashMap<String, &StreamerInfo> = HashMap::new();
        let mut order = Vec::new();
        for info in infos {
            let Ok(TypeName::Class(name)) = TypeName::parse(&info.name) else { continue };
            if !is_class_name(&name) {
                continue;
            }
            match newest.get(&name) {
                Some(known) if known.version > info.version => {}
                known => {
                    if known.is_none() {
                        order.push(name.clone());
                    }
                    newest.insert(name, info);
                }
            }
        }
        let wanted: Vec<String> = match classes {
            [] => order.into_iter().filter(|name| !is_own(name)).collect(),
            some => some
                .iter()
                .map(|name| match TypeName::parse(name)? {
                    TypeName::Class(name) if newest.contains_key(&name) => Ok(name),
                    _ => Err(Error::not_found(format!("the file describes no class {name:?}"))),
                })
                .collect::<Result<_>>()?,
        };
        let mut finder = Finder {
            infos: newest,
            language,
            done: HashMap::new(),
            within: Vec::new(),
            plain: reserved_words(language).iter().map(|&name| name.to_owned()).collect(),
            classes: Vec::new(),
        };
        for name in wanted {
            // Requested classes are declared, wherever they are used.
            if let Some(info) = finder.infos.get(&name).copied() {
                finder.declare(&name, info);
            }
        }
        Ok(Self { classes: finder.classes })
    }
}

impl Finder<'_> {
    /// The plain name of a class that is declared, now or before.
    fn class(&mut self, name: &str) -> Result<String, String> {
        const DEEPEST: usize = 64;
        if let Some(done) = self.done.get(name) {
            return done.clone().ok_or_else(|| format!("class {name} has no member that can be expressed"));
        }
        if self.within.iter().any(|outer| outer == name) {
            return Err(format!("class {name} holds itself"));
        }
        if is_own(name) {
            return Err(format!("class {name} is ROOT's own"));
        }
        let Some(info) = self.infos.get(name).copied().filter(|_| self.within.len() < DEEPEST) else {
            return Err(format!("the file does not describe class {name}"));
        };
        if self.language == Language::Cpp
            && let Some(outer) = self.enclosing(name).filter(|outer| !self.within.contains(outer))
        {
            drop(self.class(&outer));
        }
        self.declare(name, info);
        self.done
            .get(name)
            .cloned()
            .flatten()
            .ok_or_else(|| format!("class {name} has no member that can be expressed"))
    }

    fn declare(&mut self, name: &str, info: &StreamerInfo) {
        if self.done.contains_key(name) {
            return;
        }
        self.within.push(name.to_owned());
        if self.language == Language::Cpp {
            // Classes within a class are declared in its body, so that what they need comes before it.
            let inner = format!("{name}::");
            let nested: Vec<String> = self.infos.keys().filter(|other| other.starts_with(&inner)).cloned().collect();
            sorted(nested).iter().for_each(|nested| drop(self.class(nested)));
            info.elements.iter().for_each(|element| self.declare_needed(element));
        }
        let mut members = Vec::new();
        for element in info.elements.iter().filter(|element| element.detail != Detail::Artificial) {
            let is_base = matches!(element.detail, Detail::Base { .. });
            let is_named = is_base || is_name(&element.name);
            let kind = if is_named { self.kind(element, is_base) } else { Err("no member has such a name".into()) };
            let extents: String = element.extents.iter().map(|extent| format!("[{extent}]")).collect();
            let cpp = format!("{}{extents}", if is_base { &element.name } else { &element.type_name });
            let (name, title) = (Arc::clone(&element.name), Arc::clone(&element.title));
            members.push(Member { name, title, is_base, cpp, kind, element: element.clone() });
        }
        self.within.pop();
        let last = if name.contains('<') { name } else { name.rsplit("::").next().unwrap_or(name) };
        let mut plain = identifier(last);
        if !self.plain.insert(plain.clone()) {
            plain = identifier(name);
            while !self.plain.insert(plain.clone()) {
                plain.push('_');
            }
        }
        let is_empty = self.language != Language::Cpp && members.iter().all(|member| member.kind.is_err());
        self.done.insert(name.to_owned(), (!is_empty).then(|| plain.clone()));
        self.classes.push(Declared { name: Arc::clone(&info.name), plain, version: info.version, members });
    }

    /// Declares the classes in the type of a member, arrays and pointers included: C++ wants them first.
    fn declare_needed(&mut self, element: &Element) {
        let name = if matches!(element.detail, Detail::Base { .. }) { &element.name } else { &element.type_name };
        let mut left: Vec<TypeName> = TypeName::parse(name.trim_end_matches('*').trim()).into_iter().collect();
        while let Some(name) = left.pop() {
            match name {
                TypeName::Class(class) => drop(self.class(&class)),
                TypeName::Sequence(_, item) | TypeName::Array(item, _) | TypeName::Pointer(item) => left.push(*item),
                TypeName::Mapping(_, first, second) | TypeName::Pair(first, second) => left.extend([*first, *second]),
                _ => {}
            }
        }
    }

    /// The class that holds a class of this name, if the file describes it.
    fn enclosing(&self, name: &str) -> Option<String> {
        let plain = name.split('<').next().unwrap_or(name);
        let outer = plain.match_indices("::").map(|(at, _)| &plain[..at]);
        outer.into_iter().find(|outer| self.infos.contains_key(*outer)).map(str::to_owned)
    }

    /// What a member is; or why other languages have nothing for it.
    fn kind(&mut self, element: &Element, is_base: bool) -> Result<Kind, String> {
        const CHARS: i32 = 7;
        const STREAMER: i32 = 500;
        let class = element.type_name.trim_end_matches('*').trim().to_owned();
        let is_array = element.array_length > 0;
        let named = |finder: &mut Self, name: &str| match TypeName::parse(name) {
            Ok(TypeName::Class(name)) => finder.class(&name),
            _ => Err(format!("{name} is no class")),
        };
        if is_base {
            return named(self, &element.name).map(Kind::Object);
        }
        if let Some(number) = number(element.code) {
            return Ok(Kind::Number(number));
        }
        if let Some(number) = number(element.code - 20).filter(|_| is_array) {
            return Ok(Kind::Array(number, element.extents.clone()));
        }
        if let Some(number) = number(element.code - 40).filter(|_| matches!(element.detail, Detail::Counted { .. })) {
            return if is_array {
                Err("is an array of arrays of other lengths".into())
            } else {
                Ok(Kind::Vector(Box::new(Kind::Number(number))))
            };
        }
        match element.code {
            _ if is_array && !matches!(element.code, 20..40) => Err("is an array of objects".into()),
            _ if matches!(element.detail, Detail::Counted { .. }) => {
                Err("is an array of objects, of a length of its own".into())
            }
            CHARS | 65 => Ok(Kind::Text),
            61 | 62 => match TypeName::parse(&class) {
                Ok(TypeName::Class(name)) => self.class(&name).map(Kind::Object),
                _ => Err(format!("{class} is no class")),
            },
            63 | 64 | 68 | 69 => named(self, &class).map(Kind::Pointer),
            300 | 365 | STREAMER if !element.type_name.ends_with('*') => {
                let name = TypeName::parse(&class).map_err(|error| error.message().to_owned())?;
                self.of_name(&name)
            }
            66 | 67 => Err(format!("class {class} is ROOT's own")),
            _ => Err(format!("nothing here is like {}", element.type_name)),
        }
    }

    /// What a type is by its name.
    fn of_name(&mut self, name: &TypeName) -> Result<Kind, String> {
        let held = |kind: Kind, place: &str| match kind {
            Kind::Array(..) | Kind::Pointer(_) => Err(format!("{place} of arrays or pointers cannot be written")),
            kind => Ok(Box::new(kind)),
        };
        match name {
            TypeName::Number(prim) => Ok(Kind::Number(prim.number())),
            TypeName::StdString | TypeName::TString => Ok(Kind::Text),
            TypeName::Sequence(_, item) => held(self.of_name(item)?, "lists").map(Kind::Vector),
            TypeName::Mapping(Mapping::Map | Mapping::UnorderedMap, key, value) => {
                let key = self.of_name(key)?;
                if !matches!(key, Kind::Text | Kind::Number(_))
                    || matches!(key, Kind::Number(Number::F32 | Number::F64))
                {
                    return Err("keys of maps are whole numbers or strings".into());
                }
                Ok(Kind::Map(Box::new(key), held(self.of_name(value)?, "maps")?))
            }
            TypeName::Array(item, len) => {
                let len = u32::try_from(*len).map_err(|_| "is too long")?;
                match self.of_name(item)? {
                    Kind::Number(number) => Ok(Kind::Array(number, vec![len])),
                    Kind::Array(number, extents) => Ok(Kind::Array(number, [vec![len], extents].concat())),
                    _ => Err("is an array of objects".into()),
                }
            }
            TypeName::Pointer(inner) => match &**inner {
                TypeName::Class(name) => self.class(name).map(Kind::Pointer),
                other => Err(format!("{other} is no class")),
            },
            // Of fields of RNTuples: an object, or none.
            TypeName::Class(name) if name.starts_with("unique_ptr<") || name.starts_with("optional<") => {
                let inner = name.split_once('<').and_then(|(_, inner)| inner.strip_suffix('>')).unwrap_or_default();
                match TypeName::parse(inner) {
                    Ok(TypeName::Class(name)) => self.class(&name).map(Kind::Pointer),
                    _ => Err(format!("nothing here is like {name}")),
                }
            }
            TypeName::Class(name) => self.class(name).map(Kind::Object),
            other => Err(format!("nothing here is like {other}")),
        }
    }
}

fn sorted(mut names: Vec<String>) -> Vec<String> {
    names.sort();
    names
}

/// The number of a code; of what is packed the number in memory.
fn number(code: i32) -> Option<Number> {
    Some(match code {
        1 => Number::I8,
        2 => Number::I16,
        3 | 6 => Number::I32,
        4 | 16 => Number::I64,
        5 | 19 => Number::F32,
        8 | 9 => Number::F64,
        11 => Number::U8,
        12 => Number::U16,
        13 | 15 => Number::U32,
        14 | 17 => Number::U64,
        18 => Number::Bool,
        _ => return None,
    })
}

/// Whether a name is one of a member: what comes from a file becomes source code.
pub(super) fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// The same of a class, in namespaces and of templates.
pub(super) fn is_class_name(name: &str) -> bool {
    let plain = name.split('<').next().unwrap_or(name);
    plain.split("::").all(is_name) && name.chars().all(|c| c.is_ascii_alphanumeric() || "_:<>, *-".contains(c))
}

/// A name as other languages allow it.
fn identifier(name: &str) -> String {
    let plain: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    let plain = plain.trim_end_matches('_').to_owned();
    if plain.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') { plain } else { format!("C{plain}") }
}

/// Text that stays in its line.
pub(super) fn line(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') { ' ' } else { c })
        .collect::<String>()
        .trim()
        .to_owned()
}

impl Kind {
    /// Whether its C++ name follows from it: others are worth a comment.
    pub(super) fn is_spelled(&self, element: &Element) -> bool {
        match self {
            Self::Number(number) => {
                matches!(TypeName::number(&element.type_name), Some(Prim::Plain(known)) if known == *number)
            }
            Self::Array(..) | Self::Object(_) | Self::Pointer(_) => true,
            Self::Text => &*element.type_name == "string",
            Self::Vector(_) => element.type_name.starts_with("vector<"),
            Self::Map(..) => element.type_name.starts_with("map<"),
        }
    }
}
