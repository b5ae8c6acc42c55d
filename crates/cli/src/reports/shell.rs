//! Commands that reports recommend, as a shell takes them.

/// Where a file goes that was written again: beside the old one, or here where that is on a server.
pub(crate) fn target(path: &str, word: &str) -> String {
    let path = sapwood_store::unpacked_name(path).unwrap_or(path);
    let path = match path.split(['?', '#']).next().and_then(|plain| plain.rsplit('/').next()) {
        Some(name) if sapwood_store::is_url(path) => name,
        _ => path,
    };
    format!("{}-{word}.root", path.strip_suffix(".root").unwrap_or(path))
}

/// As a shell takes it.
pub(crate) fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-:;,+=@%".contains(c);
    let plain = !word.is_empty() && word.chars().all(|c| is_plain(c) && c != ';');
    if plain { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_for_a_shell() {
        assert_eq!(quoted("dir/a.root"), "dir/a.root");
        assert_eq!(quoted("it's; here"), r"'it'\''s; here'");
        assert_eq!(target("dir/a.root", "mended"), "dir/a-mended.root");
        assert_eq!(target("https://b.org:80/dir/a.root?t=1/2", "mended"), "a-mended.root");
    }
}
