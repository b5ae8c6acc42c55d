//! Names that mean something else in a chain than in one of its files.

/// Whether an expression asks how many entries all files have.
pub(super) fn counts_entries(text: &str) -> bool {
    text.match_indices("Entries$").any(|(at, _)| !text[..at].ends_with("Local"))
}

/// Aliases for `Entry$` in a file with `before` entries in front of it, and for `Entries$` if all files have `total`.
pub(super) fn names(before: u64, total: Option<u64>) -> Vec<(String, String)> {
    let entry = (before > 0).then(|| ("Entry$".to_owned(), format!("(LocalEntry$ + {before})")));
    entry.into_iter().chain(total.map(|total| ("Entries$".to_owned(), total.to_string()))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_of_one_file_are_local() {
        assert!(counts_entries("x / Entries$"));
        assert!(!counts_entries("LocalEntries$ + Entry$"));
        assert!(counts_entries("LocalEntries$ / Entries$"));
    }
}
