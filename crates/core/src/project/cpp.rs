//! A C++ header that ACLiC compiles: names, types and order as they are in the file, so that the checksums are.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::cpp_forward::Forward;
use super::cpp_names::{outer_names, with_std};
use super::cpp_order::{Order, unified};
use super::model::{Declared, Member, Project, is_class_name, is_name, is_own, line};
use crate::schema::{Detail, TypeName};

pub(super) fn source(project: &Project) -> String {
    let mut header = Header::of(project);
    let mut body = String::new();
    for class in &project.classes {
        if header.outer_of(&class.name).is_none() {
            header.declare_in_namespace(class, &mut body);
        }
    }
    let mut out = "// Classes of a ROOT file.\n#pragma once\n\n".to_owned();
    header.includes.iter().for_each(|name| out += &format!("#include <{name}>\n"));
    header.forward.write(&mut out);
    out += &body;
    out += "\n#ifdef __CLING__\n";
    let mut seen = BTreeSet::new();
    for link in header.links {
        if seen.insert(link.clone()) {
            let _ = writeln!(out, "#pragma link C++ class {link}+;");
        }
    }
    out + "#endif\n"
}

/// A header while it is written.
struct Header<'p> {
    project: &'p Project,
    /// Names of the classes that it declares, spelled as types of members are.
    declared: BTreeSet<String>,
    includes: BTreeSet<String>,
    links: Vec<String>,
    /// Declarations without a body, which come first.
    forward: Forward,
    /// Classes that are keys of maps and items of sets, and what these hold.
    order: Order,
}

impl<'p> Header<'p> {
    fn of(project: &'p Project) -> Self {
        let mut includes = BTreeSet::from(["Rtypes.h".to_owned()]);
        let mut forward = Forward::default();
        let plain: BTreeSet<&str> =
            project.classes.iter().map(|class| &*class.name).filter(|name| !name.contains('<')).collect();
        let mut is_declared = |class: &&Declared| {
            let name = &*class.name;
            // Classes within others are declared in their bodies.
            let is_nested = |name: &str| outer_names(name).any(|outer| plain.contains(outer));
            if is_nested(name.split('<').next().unwrap_or(name)) {
                return !name.contains('<');
            }
            !name.contains(">::") && forward.add(name, &plain, &mut includes)
        };
        let declared = project.classes.iter().filter(&mut is_declared).map(|class| unified(&class.name)).collect();
        let order = Order::of(project, &|member| problem(member, &declared, &mut BTreeSet::new()).is_none());
        if !order.is_empty() {
            includes.insert("algorithm".to_owned());
        }
        Self { project, declared, includes, links: Vec::new(), forward, order }
    }

    /// The class in whose body a class is declared.
    fn outer_of<'n>(&self, name: &'n str) -> Option<&'n str> {
        let (outer, _) = name.split('<').next().unwrap_or(name).rsplit_once("::")?;
        Some(outer).filter(|outer| self.declared.contains(*outer))
    }

    /// Whether ROOT has to know the version of a class: it numbers others by itself, but not those with a base that it
    /// streams by its number.
    fn has_version(&self, class: &Declared) -> bool {
        let bases = class.members.iter().filter(|member| member.is_base);
        let is_versioned = |base: &Member| {
            let declared = self.project.classes.iter().find(|other| other.name == base.name);
            is_own(&base.name) || declared.is_some_and(|declared| self.has_version(declared))
        };
        class.version > 1 || bases.into_iter().any(is_versioned)
    }

    fn declare_in_namespace(&mut self, class: &Declared, out: &mut String) {
        if !self.declared.contains(&unified(&class.name)) {
            let _ = writeln!(out, "\n// class {}: a template is declared by hand", line(&class.name));
            return;
        }
        let (path, arguments) = class.name.split_at(class.name.find('<').unwrap_or(class.name.len()));
        let (spaces, name) = path.rsplit_once("::").map_or((None, path), |(spaces, name)| (Some(spaces), name));
        out.push('\n');
        if let Some(spaces) = spaces {
            let _ = writeln!(out, "namespace {spaces} {{");
        }
        if !arguments.is_empty() {
            out.push_str("template <> ");
        }
        self.declare(class, name, &with_std(arguments), out);
        if spaces.is_some() {
            out.push_str("}\n");
        }
    }

    /// Declares a class, and those within it.
    fn declare(&mut self, class: &Declared, name: &str, arguments: &str, out: &mut String) {
        let mut body = String::new();
        let project = self.project;
        let nested: Vec<&Declared> =
            project.classes.iter().filter(|other| self.outer_of(&other.name) == Some(&*class.name)).collect();
        for inner in nested {
            let last = inner.name.rsplit("::").next().unwrap_or_default();
            self.declare(inner, last, "", &mut body);
        }
        let mut bases = Vec::new();
        let mut declared = Vec::new();
        for member in &class.members {
            if let Some(why) = self.why_left_out(member) {
                let _ = writeln!(body, "  // {} {}: {}", line(&member.cpp), line(&member.name), line(&why));
                continue;
            }
            declared.push(member);
            if member.is_base {
                bases.push(format!("public {}", with_std(&member.name)));
            } else {
                self.member(member, &mut body);
            }
        }
        let inherits = if bases.is_empty() { String::new() } else { format!(" : {}", bases.join(", ")) };
        let _ = writeln!(out, "struct {name}{arguments}{inherits} {{\n{body}  {name}() {{}}");
        if self.order.has(&class.name) {
            self.order.write(declared.into_iter(), name, out);
        }
        // The macro takes no name with a comma.
        if self.has_version(class) && arguments.is_empty() {
            let _ = writeln!(out, "  virtual ~{name}() {{}}\n  ClassDef({}, {})", class.name, class.version);
        }
        out.push_str("};\n");
        self.links.push(class.name.to_string());
    }

    /// Why a member becomes a comment. What it needs else is included.
    fn why_left_out(&mut self, member: &Member) -> Option<String> {
        problem(member, &self.declared, &mut self.includes).or_else(|| {
            let key = self.order.lacks(&TypeName::parse(&member.spelled()).ok()?)?;
            Some(format!("nothing is known by which {key} is a key: declare it by hand"))
        })
    }

    fn member(&mut self, member: &Member, body: &mut String) {
        let spelled = member.spelled();
        let type_name = with_std(&spelled);
        // A member may have the name of its class.
        let is_declared = self.declared.contains(&unified(spelled.trim_end_matches('*')));
        let type_name = if is_declared { format!("::{type_name}") } else { type_name };
        // ROOT knows arrays and owning pointers by itself, and refuses a pragma for them.
        let needs_none = ["std::array<", "std::unique_ptr<", "std::shared_ptr<"];
        let needs_none = needs_none.iter().any(|template| type_name.starts_with(template));
        if type_name.starts_with("std::") && type_name.contains('<') && !needs_none {
            self.links.push(type_name.trim_end_matches('*').to_owned());
        }
        let extents: String = member.element.extents.iter().map(|extent| format!("[{extent}]")).collect();
        let null = match (type_name.ends_with('*'), extents.is_empty()) {
            (true, true) => " = nullptr",
            (true, false) => " = {}",
            _ => "",
        };
        let title = line(&member.title);
        // A mark of ROOT stands first: `[n]`, `->`, `!`.
        let title = if title.is_empty() { title } else { format!(" //{title}") };
        let _ = writeln!(body, "  {type_name} {}{extents}{null};{title}", member.name);
    }
}

/// Why a member cannot be declared. What it needs is included.
fn problem(member: &Member, declared: &BTreeSet<String>, includes: &mut BTreeSet<String>) -> Option<String> {
    let spelled = member.spelled();
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

fn needs(name: &TypeName, declared: &BTreeSet<String>, includes: &mut BTreeSet<String>) -> Result<(), String> {
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
        TypeName::Class(class) if declared.contains(class) => {}
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
