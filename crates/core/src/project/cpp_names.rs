//! Names of C++: their namespaces, and the arguments of templates.

/// `A::B` and `A` of `A::B::C`.
pub(super) fn outer_names(name: &str) -> impl Iterator<Item = &str> {
    name.match_indices("::").filter_map(|(at, _)| name.get(..at))
}

/// The arguments of a template, without those of templates in them.
pub(super) fn split(arguments: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0;
    let at_comma = move |c: char| {
        depth += i32::from(c == '<') - i32::from(c == '>');
        c == ',' && depth == 0
    };
    arguments.split(at_comma).map(str::trim)
}

/// Whether the standard library, or the language, has a name.
pub(super) fn is_standard(name: &str) -> bool {
    with_std(name).starts_with("std::") || matches!(name, "void" | "size_t")
}

/// Names of the standard library with its namespace, which ROOT leaves out.
pub(super) fn with_std(name: &str) -> String {
    const NAMES: [&str; 21] = [
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
        "greater",
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
