//! Python dataclasses, as the Python package understands them.

use std::fmt::Write as _;

use super::model::{Declared, Kind, Member, Project, line};
use crate::column::Number;

/// Words that are no names.
const KEYWORDS: [&str; 35] = [
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del",
    "elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "nonlocal",
    "not", "or", "pass", "raise", "return", "try", "while", "with", "yield",
];

pub(super) fn source(project: &Project) -> String {
    let head = "\"\"\"Classes of a ROOT file.\"\"\"\n\nfrom __future__ import annotations\n\nimport dataclasses\nfrom typing import Annotated\n\nimport numpy as np\n\n__all__ = [";
    let names: Vec<String> =
        project.classes.iter().filter(|class| is_declared(class)).map(|class| format!("\"{}\"", name(class))).collect();
    // What a file does not need is still imported: its place is known then, and tools remove it.
    let mut out = format!("{head}{}]\n", names.join(", "));
    project.classes.iter().for_each(|class| declare(class, &mut out));
    out
}

fn is_declared(class: &Declared) -> bool {
    class.members.iter().any(|member| member.kind.is_ok())
}

/// A class may have a name that is a word of the language.
fn name(class: &Declared) -> String {
    python_name(&class.plain)
}

fn python_name(plain: &str) -> String {
    if KEYWORDS.contains(&plain) { format!("{plain}_") } else { plain.to_owned() }
}

fn declare(class: &Declared, out: &mut String) {
    let (mut bases, mut body) = (Vec::new(), String::new());
    for member in &class.members {
        match (&member.kind, problem(member)) {
            (Ok(Kind::Object(base)), _) if member.is_base => bases.push(python_name(base)),
            (Ok(kind), None) => {
                let title = line(&member.title);
                let cpp = if kind.is_spelled(&member.element) { String::new() } else { line(&member.cpp) };
                let words: Vec<&str> =
                    [title.as_str(), cpp.as_str()].into_iter().filter(|words| !words.is_empty()).collect();
                let comment = if words.is_empty() { String::new() } else { format!("  # {}", words.join("; ")) };
                let _ = writeln!(body, "    {}: {}{comment}", member.name, spelled(kind));
            }
            (kind, problem) => {
                let why = kind.as_ref().err().map(String::as_str).or(problem).unwrap_or_default();
                let _ = writeln!(body, "    # {} {}: {}", line(&member.cpp), line(&member.name), line(why));
            }
        }
    }
    if !is_declared(class) {
        let _ = write!(
            out,
            "\n\n# Of class {} no member can be expressed:\n{}",
            line(&class.name),
            body.replace("    #", "#")
        );
        return;
    }
    let inherited = if bases.is_empty() { String::new() } else { format!("({})", bases.join(", ")) };
    let _ = write!(out, "\n\n@dataclasses.dataclass\nclass {}{inherited}:\n", name(class));
    let mut head = String::new();
    if *name(class) != *class.name {
        let _ = writeln!(head, "    __root_name__ = {:?}", &*class.name);
    }
    if class.version > 1 {
        let _ = writeln!(head, "    __root_version__ = {}", class.version);
    }
    if !head.is_empty() && !body.is_empty() {
        head.push('\n');
    }
    let is_empty = head.is_empty() && !body.lines().any(|line| !line.trim_start().starts_with('#'));
    let pass = if is_empty { "    pass\n" } else { "" };
    let _ = write!(out, "{head}{body}{pass}");
}

/// Why a member cannot be one of a dataclass.
fn problem(member: &Member) -> Option<&'static str> {
    if KEYWORDS.contains(&&*member.name) {
        return Some("its name is a word of Python");
    }
    member.name.starts_with("__").then_some("Python changes such a name")
}

fn spelled(kind: &Kind) -> String {
    match kind {
        Kind::Number(number) => number_name(*number),
        Kind::Array(number, extents) => {
            let extents: Vec<String> = extents.iter().map(u32::to_string).collect();
            format!("Annotated[{}, {}]", number_name(*number), extents.join(", "))
        }
        Kind::Text => "str".to_owned(),
        Kind::Vector(item) => format!("list[{}]", spelled(item)),
        Kind::Map(key, value) => format!("dict[{}, {}]", spelled(key), spelled(value)),
        Kind::Object(class) => python_name(class),
        Kind::Pointer(class) => format!("{} | None", python_name(class)),
    }
}

fn number_name(number: Number) -> String {
    match number {
        Number::Bool => "bool".to_owned(),
        Number::I64 => "int".to_owned(),
        Number::F64 => "float".to_owned(),
        number => format!("np.{}", number.numpy_name()),
    }
}
