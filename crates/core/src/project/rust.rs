//! Rust structs with `#[derive(Entry)]`.

use std::collections::HashSet;
use std::fmt::Write as _;

use super::model::{Declared, Kind, Member, Project, line};
use crate::column::Number;

/// Words that are no names.
const KEYWORDS: [&str; 46] = [
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "do", "dyn", "else", "enum",
    "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop", "macro", "match", "mod", "move",
    "mut", "override", "priv", "pub", "ref", "return", "static", "struct", "trait", "true", "try", "type", "typeof",
    "unsafe", "unsized", "use", "where", "while",
];
/// Words that are no names even after `r#`.
const PATHS: [&str; 5] = ["self", "Self", "super", "crate", "_"];
const DERIVED: &str = "#[derive(Clone, Debug, Entry, PartialEq)]";

pub(super) fn source(project: &Project) -> String {
    let has_maps =
        project.classes.iter().flat_map(|class| &class.members).any(|member| member.kind.as_ref().is_ok_and(is_map));
    let maps = if has_maps { "use std::collections::BTreeMap;\n\n" } else { "" };
    let mut out = format!("//! Classes of a ROOT file.\n\n{maps}use sapwood::Entry;\n");
    project.classes.iter().for_each(|class| declare(class, &mut out));
    out
}

fn declare(class: &Declared, out: &mut String) {
    let mut body = String::new();
    let (mut names, mut odd) = (HashSet::new(), false);
    for member in &class.members {
        let kind = match &member.kind {
            Ok(kind) => spelled(kind),
            Err(why) => {
                let _ = writeln!(body, "    // {} {}: {}", line(&member.cpp), line(&member.name), line(why));
                continue;
            }
        };
        comment(member, &mut body);
        let (name, attribute) = name(member, &kind, &mut names);
        odd |= name.contains(|c: char| c.is_ascii_uppercase());
        let _ = writeln!(body, "{attribute}    pub {name}: {kind},");
    }
    out.push('\n');
    if class.members.iter().all(|member| member.kind.is_err()) {
        let _ = write!(out, "// Of class {} no member can be expressed:\n{body}", line(&class.name));
        return;
    }
    let _ = writeln!(out, "{DERIVED}");
    let class_name = (*class.plain != *class.name).then(|| format!("class = {:?}", &*class.name));
    let version =
        (class.version > 1 && class.version <= i16::MAX.into()).then(|| format!("version = {}", class.version));
    let attributes: Vec<String> = class_name.into_iter().chain(version).collect();
    if !attributes.is_empty() {
        let _ = writeln!(out, "#[entry({})]", attributes.join(", "));
    }
    let is_camel = class.plain.starts_with(|c: char| c.is_ascii_uppercase()) && !class.plain.contains('_');
    let allowed: Vec<&str> = [(!is_camel, "non_camel_case_types"), (odd, "non_snake_case")]
        .iter()
        .filter(|(is, _)| *is)
        .map(|(_, name)| *name)
        .collect();
    if !allowed.is_empty() {
        let _ = writeln!(out, "#[allow({})]", allowed.join(", "));
    }
    let _ = writeln!(out, "pub struct {} {{\n{body}}}", class.plain);
}

/// The title of a member, and its type in C++ where that is another.
fn comment(member: &Member, body: &mut String) {
    let title = line(&member.title);
    let cpp = match &member.kind {
        Ok(kind) if !kind.is_spelled(&member.element) => format!("`{}`", line(&member.cpp)),
        _ => String::new(),
    };
    let words: Vec<&str> = [title.as_str(), cpp.as_str()].into_iter().filter(|words| !words.is_empty()).collect();
    if !words.is_empty() && !member.is_base {
        let _ = writeln!(body, "    /// {}", words.join(" "));
    }
}

/// The name of a member, and what says how C++ calls it.
fn name(member: &Member, kind: &str, names: &mut HashSet<String>) -> (String, String) {
    if member.is_base {
        let mut name = String::new();
        for c in kind.chars() {
            if c.is_ascii_uppercase() && name.ends_with(|before: char| before.is_ascii_lowercase()) {
                name.push('_');
            }
            name.push(c.to_ascii_lowercase());
        }
        name += "_base";
        while !names.insert(name.clone()) {
            name.push('_');
        }
        return (name, "    #[entry(base)]\n".to_owned());
    }
    if PATHS.contains(&&*member.name) {
        let name = format!("{}_", member.name);
        return (name, format!("    #[entry(name = {:?})]\n", &*member.name));
    }
    let name = if KEYWORDS.contains(&&*member.name) { format!("r#{}", member.name) } else { member.name.to_string() };
    names.insert(name.clone());
    (name, String::new())
}

fn is_map(kind: &Kind) -> bool {
    match kind {
        Kind::Map(..) => true,
        Kind::Vector(item) => is_map(item),
        _ => false,
    }
}

fn spelled(kind: &Kind) -> String {
    match kind {
        Kind::Number(number) => number_name(*number).to_owned(),
        Kind::Array(number, extents) => {
            extents.iter().rev().fold(number_name(*number).to_owned(), |item, extent| format!("[{item}; {extent}]"))
        }
        Kind::Text => "String".to_owned(),
        Kind::Vector(item) => format!("Vec<{}>", spelled(item)),
        Kind::Map(key, value) => format!("BTreeMap<{}, {}>", spelled(key), spelled(value)),
        Kind::Object(class) => class.clone(),
        Kind::Pointer(class) => format!("Option<Box<{class}>>"),
    }
}

fn number_name(number: Number) -> &'static str {
    match number {
        Number::Bool => "bool",
        Number::I8 => "i8",
        Number::U8 => "u8",
        Number::I16 => "i16",
        Number::U16 => "u16",
        Number::I32 => "i32",
        Number::U32 => "u32",
        Number::I64 => "i64",
        Number::U64 => "u64",
        Number::F32 => "f32",
        Number::F64 => "f64",
    }
}
