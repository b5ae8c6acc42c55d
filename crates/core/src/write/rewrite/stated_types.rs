//! Dates, times and bytes that `sapwood convert` keeps as whole numbers: the title of a tree, or the description of an
//! RNTuple, lists their types.

use std::collections::{BTreeMap, HashSet};

use crate::error::{Error, Result};

/// Such a title begins so. A mapping from paths to types follows, as JSON.
const PREFIX: &str = "Types of columns: ";

/// Checks that columns which both of two tables have are of the same types: their titles, and paths of their columns.
///
/// # Errors
///
/// [`Mismatch`](crate::ErrorKind::Mismatch) for values of one that would be taken for those of the other.
pub(crate) fn check<'p>(
    (first, first_paths): (&str, impl Iterator<Item = &'p str>),
    (other, other_paths): (&str, impl Iterator<Item = &'p str>),
) -> Result<()> {
    if first == other || ![first, other].iter().any(|title| title.starts_with(PREFIX)) {
        return Ok(());
    }
    let of_first = listed(first);
    let of_other = listed(other);
    let first_has: HashSet<&str> = first_paths.collect();
    let other_has: HashSet<&str> = other_paths.collect();
    for path in of_first.keys().chain(of_other.keys()) {
        let one = of_first.get(path);
        let two = of_other.get(path);
        if one != two && has(path, &first_has) && has(path, &other_has) {
            let kind = |kind: Option<&String>| kind.map_or("whole numbers", String::as_str).to_owned();
            let words = format!(
                "{path:?} has values of type {} here, and of {} in the first input: convert them to one type first",
                kind(two),
                kind(one)
            );
            return Err(Error::mismatch(words));
        }
    }
    Ok(())
}

/// The path below a column that a title lists.
pub(crate) fn of_column(title: &str, name: &str) -> Option<String> {
    listed(title)
        .into_keys()
        .find(|path| path == name || path.strip_prefix(name).is_some_and(|rest| rest.starts_with('.')))
}

/// Whether a table has the column of a path, or the record that it is a member of.
fn has(path: &str, columns: &HashSet<&str>) -> bool {
    let ends = path.match_indices('.').map(|(place, _)| place).chain([path.len()]);
    ends.map(|end| &path[..end]).any(|start| columns.contains(start))
}

/// Types by path; nothing of other titles.
fn listed(title: &str) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut texts = title.strip_prefix(PREFIX).map(texts).unwrap_or_default().into_iter();
    while let (Some(path), Some(kind)) = (texts.next(), texts.next()) {
        found.insert(path, kind);
    }
    found
}

/// The texts of JSON in their order.
fn texts(json: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut current: Option<String> = None;
    let mut letters = json.chars();
    while let Some(letter) = letters.next() {
        match (&mut current, letter) {
            (None, '"') => current = Some(String::new()),
            (Some(_), '"') => found.extend(current.take()),
            (Some(text), '\\') => text.extend(escaped(&mut letters)),
            (Some(text), letter) => text.push(letter),
            (None, _) => {}
        }
    }
    found
}

/// The letter that an escape of JSON stands for.
fn escaped(letters: &mut std::str::Chars<'_>) -> Option<char> {
    Some(match letters.next()? {
        'n' => '\n',
        't' => '\t',
        'r' => '\r',
        'b' => '\u{8}',
        'f' => '\u{c}',
        'u' => {
            let digits: String = letters.take(4).collect();
            // Letters beyond 16 bits are written as they are, and not as two halves.
            char::from_u32(u32::from_str_radix(&digits, 16).ok()?)?
        }
        letter => letter,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_compared_by_column() {
        let all = || ["t", "u"].into_iter();
        let ms = r#"Types of columns: {"t": "ms", "u": "us"}"#;
        let us = r#"Types of columns: {"u": "us", "t": "ms"}"#;
        check((ms, all()), (us, all())).expect("another order is the same");
        let other = r#"Types of columns: {"t": "us", "u": "us"}"#;
        let error = check((ms, all()), (other, all())).expect_err("another unit");
        assert!(error.to_string().contains("\"t\" has values of type us here, and of ms in the first"), "{error}");
        check((ms, all()), (other, ["u"].into_iter())).expect("a column that only one has");
        check((ms, all()), ("Events", all())).expect_err("plain numbers");
        check(("Events", all()), ("Runs", all())).expect("titles");
    }

    #[test]
    fn members_and_names_with_quotes_are_found() {
        let title = r#"Types of columns: {"r.d": "ms", "a\"b\\": "us"}"#;
        assert_eq!(listed(title).into_keys().collect::<Vec<_>>(), ["a\"b\\", "r.d"]);
        assert_eq!(of_column(title, "r").as_deref(), Some("r.d"));
        assert_eq!(of_column(title, "r.d").as_deref(), Some("r.d"));
        assert_eq!(of_column(title, "d"), None);
        let odd = r#"Types of columns: {"a\tb\u0007": "ms", "c": "us"}"#;
        assert_eq!(listed(odd).into_keys().collect::<Vec<_>>(), ["a\tb\u{7}", "c"]);
        let columns = HashSet::from(["r"]);
        assert!(has("r.d", &columns) && !has("rd", &columns));
    }
}
