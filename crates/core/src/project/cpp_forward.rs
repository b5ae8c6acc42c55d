//! Declarations at the top of a header: classes that pointers lead to, arguments of templates, and templates.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::cpp_names::{is_standard, outer_names, split};
use super::model::{is_class_name, is_own};
use crate::schema::TypeName;

/// Templates within each other that are looked into.
const MAX_DEPTH: usize = 16;

/// How a class is declared before its body.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    Class,
    /// A template whose arguments are types.
    OfTypes,
    /// A template whose arguments are numbers.
    OfNumbers,
}

/// Declarations without a body, by the full name.
#[derive(Default)]
pub(super) struct Forward {
    shapes: BTreeMap<String, Shape>,
}

impl Forward {
    /// Notes a class, and what the arguments of a template need. Returns whether C++ can declare it: not if arguments
    /// of one template are types and numbers, nor if a name has two meanings.
    /// `plain` has the other classes of the file, without templates.
    pub(super) fn add(&mut self, name: &str, plain: &BTreeSet<&str>, includes: &mut BTreeSet<String>) -> bool {
        let mut found = Vec::new();
        let can_declare = collect(name, true, 0, plain, &mut found, includes)
            && found.iter().all(|(name, shape)| {
                let is_same = self.shapes.get(name).is_none_or(|known| known == shape);
                // A name within a class is known only once the class has its body.
                is_same && !outer_names(name).any(|outer| plain.contains(outer))
            });
        if can_declare {
            self.shapes.extend(found);
        }
        can_declare
    }

    pub(super) fn write(&self, out: &mut String) {
        if !self.shapes.is_empty() {
            out.push('\n');
        }
        for (path, shape) in &self.shapes {
            let (spaces, name) = path.rsplit_once("::").map_or((None, &**path), |(spaces, name)| (Some(spaces), name));
            if let Some(spaces) = spaces {
                let _ = write!(out, "namespace {spaces} {{ ");
            }
            out.push_str(match shape {
                Shape::Class => "struct ",
                Shape::OfTypes => "template <typename...> struct ",
                Shape::OfNumbers => "template <auto...> struct ",
            });
            let _ = writeln!(out, "{name};{}", if spaces.is_some() { " }" } else { "" });
        }
    }
}

/// Collects the classes that a name and its arguments need. Returns whether C++ can declare them.
fn collect(
    name: &str,
    is_declared_here: bool,
    depth: usize,
    plain: &BTreeSet<&str>,
    found: &mut Vec<(String, Shape)>,
    includes: &mut BTreeSet<String>,
) -> bool {
    let name = name.trim().trim_start_matches("const ").trim_end_matches(['*', '&', ' ']);
    let name = name.trim_end_matches(" const");
    let Some((template, arguments)) = name.split_once('<') else {
        return match () {
            () if TypeName::number(name).is_some() || is_standard(name) => true,
            () if !is_class_name(name) => false,
            () if is_own(name) && !is_declared_here && !plain.contains(name) => {
                // Headers of classes in namespaces have other names.
                includes.insert(format!("{name}.h"));
                !name.contains("::")
            }
            () => {
                found.push((name.to_owned(), Shape::Class));
                true
            }
        };
    };
    let Some(arguments) = arguments.trim_end().strip_suffix('>').filter(|_| depth < MAX_DEPTH) else { return false };
    if !is_standard(template) && is_own(template) && !is_declared_here {
        return false;
    }
    let mut numbers = BTreeSet::new();
    for argument in split(arguments) {
        let is_number =
            matches!(argument, "true" | "false") || argument.starts_with(|c: char| c.is_ascii_digit() || c == '-');
        numbers.insert(is_number);
        if !is_number && !collect(argument, false, depth + 1, plain, found, includes) {
            return false;
        }
    }
    if is_standard(template) {
        return true;
    }
    let shape = match (numbers.contains(&true), numbers.contains(&false)) {
        (true, true) => return false,
        (true, false) => Shape::OfNumbers,
        _ => Shape::OfTypes,
    };
    found.push((template.to_owned(), shape));
    true
}
