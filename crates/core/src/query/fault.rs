//! Errors that point at a character of an expression.

use std::fmt::Display;

use crate::error::{Error, ErrorKind};

/// Characters of an expression that an error shows.
const SHOWN: usize = 300;

/// An expression that cannot be understood or evaluated: why, and at which byte.
pub(super) fn fault(text: &str, at: usize, why: impl Display) -> Error {
    let character = text.get(..at).map_or(0, |before| before.chars().count()) + 1;
    let shown: String = text.chars().take(SHOWN).collect();
    let more = if text.chars().count() > SHOWN { " ..." } else { "" };
    Error::new(ErrorKind::Expression, format!("{why}, at character {character} of {shown:?}{more}"))
}

/// Names that look like one that is not there, as words behind a message; empty without any.
pub(super) fn near<'n>(name: &str, known: impl IntoIterator<Item = &'n str>) -> String {
    const MOST: usize = 3;
    let most = 1 + name.chars().count() / 3;
    let simple = name.to_lowercase();
    let distance = |other: &str| crate::file::distance(&simple, &other.to_lowercase());
    let mut close: Vec<(usize, &str)> = known.into_iter().map(|other| (distance(other), other)).collect();
    close.retain(|(distance, _)| *distance <= most);
    close.sort_unstable();
    close.dedup();
    let names: Vec<String> = close.into_iter().take(MOST).map(|(_, name)| format!("{name:?}")).collect();
    match names.is_empty() {
        true => String::new(),
        false => format!("; near to it: {}", names.join(", ")),
    }
}

/// A text where the types say that there is a number.
pub(super) fn no_number() -> Error {
    Error::internal("an expression computes with a text")
}

/// An item that no list has.
pub(super) fn outside() -> Error {
    Error::internal("an item of an expression is outside of its list")
}
