//! A C++ header that ACLiC compiles: names, types and order as they are in the file, so that the checksums are.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::model::{Declared, Kind, Member, Project, is_class_name, is_name, is_own, line};
use crate::schema::{Detail, TypeName};
use crate::write::Type;

pub(super) fn source(project: &Project) -> String {
    let declared: BTreeSet<&str> = project.classes.iter().map(|class| &*class.name).collect();
    let (mut includes, mut links, mut body) = (BTreeSet::from(["Rtypes.h".to_owned()]), Vec::new(), String::new());
    for class in &project.classes {
        declare(class, &declared, &mut includes, &mut links, &mut body);
    }
    let mut out = "// Classes of a ROOT file.\n#pragma once\n\n".to_owned();
    includes.iter().for_each(|name| out += &format!("#include <{name}>\n"));
    out += &body;
    out += "\n#ifdef __CLING__\n";
    let mut seen = BTreeSet::new();
    for link in links {
        if seen.insert(link.clone()) {
            let _ = writeln!(out, "#pragma link C++ class {link}+;");
        }
    }
    out + "#endif\n"
}

fn declare(
    class: &Declared,
    declared: &BTreeSet<&str>,
    includes: &mut BTreeSet<String>,
    links: &mut Vec<String>,
    out: &mut String,
) {
    if class.name.contains('<') {
        let _ = writeln!(out, "\n// class {}: a template is declared by hand", line(&class.name));
        return;
    }
    let parts: Vec<&str> = class.name.split("::").collect();
    let (name, spaces) = parts.split_last().map_or(("", &[][..]), |(name, spaces)| (*name, spaces));
    let (mut bases, mut body) = (Vec::new(), String::new());
    for member in &class.members {
        let why = match problem(member, declared, includes) {
            Some(why) => why,
            None if member.is_base => {
                bases.push(format!("public {}", with_std(&member.name)));
                continue;
            }
            None => {
                let type_name = with_std(&spelled(member));
                // A member may have the name of its class.
                let type_name = if declared.contains(type_name.trim_end_matches('*')) {
                    format!("::{type_name}")
                } else {
                    type_name
                };
                // ROOT knows arrays and owning pointers without a word, and refuses to be told.
                let needs_none = ["std::array<", "std::unique_ptr<", "std::shared_ptr<"];
                let needs_none = needs_none.iter().any(|template| type_name.starts_with(template));
                if type_name.starts_with("std::") && type_name.contains('<') && !needs_none {
                    links.push(type_name.trim_end_matches('*').to_owned());
                }
                let extents: String = member.element.extents.iter().map(|extent| format!("[{extent}]")).collect();
                let null = if type_name.ends_with('*') && extents.is_empty() { " = nullptr" } else { "" };
                let title = line(&member.title);
                // A mark of ROOT stands first: `[n]`, `->`, `!`.
                let title = if title.is_empty() { title } else { format!(" //{title}") };
                let _ = writeln!(body, "  {type_name} {}{extents}{null};{title}", member.name);
                continue;
            }
        };
        let _ = writeln!(body, "  // {} {}: {}", line(&member.cpp), line(&member.name), line(&why));
    }
    out.push('\n');
    spaces.iter().for_each(|space| *out += &format!("namespace {space} {{\n"));
    let inherits = if bases.is_empty() { String::new() } else { format!(" : {}", bases.join(", ")) };
    let _ = writeln!(out, "struct {name}{inherits} {{\n{body}  {name}() {{}}");
    if class.version > 1 {
        let _ = writeln!(out, "  virtual ~{name}() {{}}\n  ClassDef({}, {})", class.name, class.version);
    }
    out.push_str("};\n");
    spaces.iter().for_each(|_| out.push_str("}\n"));
    links.push(class.name.to_string());
}

/// The type of a member. An enum is known as its number only.
fn spelled(member: &Member) -> String {
    match member.kind {
        Ok(Kind::Number(number)) if TypeName::number(&member.element.type_name).is_none() => {
            Type::Number(number).name()
        }
        _ => member.element.type_name.to_string(),
    }
}

/// Why a member cannot be declared. What it needs is included.
fn problem(member: &Member, declared: &BTreeSet<&str>, includes: &mut BTreeSet<String>) -> Option<String> {
    let spelled = if member.is_base { member.name.to_string() } else { spelled(member) };
    if !member.is_base && !is_name(&member.name) {
        return Some("no member has such a name".to_owned());
    }
    if !spelled.chars().all(|c| c.is_ascii_alphanumeric() || "_:<>, *".contains(c))
        || member.element.detail == Detail::Artificial
    {
        return Some("no type has such a name".to_owned());
    }
    if spelled.contains("unique_ptr<") || spelled.contains("shared_ptr<") {
        includes.insert("memory".to_owned());
    }
    match TypeName::parse(&spelled) {
        Ok(name) => needs(&name, declared, includes).err(),
        Err(error) => Some(error.message().to_owned()),
    }
}

fn needs(name: &TypeName, declared: &BTreeSet<&str>, includes: &mut BTreeSet<String>) -> Result<(), String> {
    let mut include = |name: &str| includes.insert(name.to_owned());
    match name {
        TypeName::Number(_) => {}
        TypeName::StdString => drop(include("string")),
        TypeName::TString => drop(include("TString.h")),
        TypeName::Sequence(_, item) => {
            let spelled = name.to_string();
            let kind = spelled.split('<').next().unwrap_or_default().trim_start_matches("std::");
            include(match kind {
                "multiset" => "set",
                "unordered_multiset" => "unordered_set",
                "ROOT::VecOps::RVec" => "ROOT/RVec.hxx",
                kind => kind,
            });
            needs(item, declared, includes)?;
        }
        TypeName::Mapping(_, key, value) => {
            include(if name.to_string().contains("unordered") { "unordered_map" } else { "map" });
            needs(key, declared, includes)?;
            needs(value, declared, includes)?;
        }
        TypeName::Pair(first, second) => {
            include("utility");
            needs(first, declared, includes)?;
            needs(second, declared, includes)?;
        }
        TypeName::Bitset(_) => drop(include("bitset")),
        TypeName::Array(item, _) => {
            include("array");
            needs(item, declared, includes)?;
        }
        TypeName::Pointer(inner) => needs(inner, declared, includes)?,
        TypeName::Class(class) if declared.contains(class.as_str()) => {}
        TypeName::Class(class) if is_own(class) && !class.contains(['<', ':']) && is_class_name(class) => {
            let histogram =
                class.strip_prefix("TH").is_some_and(|rest| rest.starts_with(['1', '2', '3']) && rest.len() == 2);
            let header = if histogram { class.get(..3).unwrap_or(class) } else { class };
            include(&format!("{header}.h"));
        }
        TypeName::Class(class) => return Err(format!("class {class} is not declared here")),
    }
    Ok(())
}

/// Names of the standard library with its namespace, which ROOT leaves out.
fn with_std(name: &str) -> String {
    const NAMES: [&str; 20] = [
        "vector",
        "list",
        "deque",
        "forward_list",
        "set",
        "multiset",
        "unordered_set",
        "unordered_multiset",
        "map",
        "multimap",
        "unordered_map",
        "unordered_multimap",
        "pair",
        "bitset",
        "array",
        "string",
        "unique_ptr",
        "shared_ptr",
        "less",
        "allocator",
    ];
    let is_letter = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let (mut out, mut rest) = (String::new(), name);
    while let Some(first) = rest.chars().next() {
        let end = rest.find(|c: char| is_letter(c) != is_letter(first)).unwrap_or(rest.len());
        let (word, behind) = rest.split_at(end);
        if NAMES.contains(&word) && !out.ends_with(':') {
            out.push_str("std::");
        }
        out.push_str(word);
        rest = behind;
    }
    out
}
