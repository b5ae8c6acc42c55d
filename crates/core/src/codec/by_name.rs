//! Settings of branches and fields by their names.

use super::Compression;
use crate::{Error, Result};

/// One setting for all branches or fields, and others for those whose names are like a pattern.
///
/// What is spelled out comes before patterns, and patterns come in the order in which they were given. `*`, `?` and
/// `[a-z]` mean what they mean to a shell.
///
/// # Example
///
/// ```
/// use sapwood::codec::CompressionByName;
/// let settings = CompressionByName::parse(["zstd:5", "Muon_*=lz4:4", "Muon_charge=lzma:9"])?;
/// assert_eq!(settings.general(), Some("zstd:5".parse()?));
/// assert_eq!(settings.of(&["Muon_pt"]), Some("lz4:4".parse()?));
/// assert_eq!(settings.of(&["Muon_charge"]), Some("lzma:9".parse()?));
/// assert_eq!(settings.of(&["run"]), None);
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CompressionByName {
    general: Option<Compression>,
    patterns: Vec<(String, Compression)>,
}

impl CompressionByName {
    /// Reads settings, each of all (`zstd:5`) or of names like a pattern (`Muon_*=lz4:4`).
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Mismatch`](crate::ErrorKind::Mismatch) for an unknown codec or level, an empty pattern, and where
    /// two settings are for the same names.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::codec::CompressionByName;
    /// assert!(CompressionByName::parse(["x=brotli"]).is_err());
    /// assert!(CompressionByName::parse(["zstd", "lz4"]).is_err());
    /// ```
    pub fn parse<S: AsRef<str>>(settings: impl IntoIterator<Item = S>) -> Result<Self> {
        let mut found = Self::default();
        for setting in settings {
            let setting = setting.as_ref();
            let (pattern, words) = setting.rsplit_once('=').unwrap_or(("*", setting));
            if pattern.is_empty() {
                return Err(Error::mismatch(format!("{setting:?} names no branch: NAME=SETTING was expected")));
            }
            if found.insert(pattern, words.parse()?).is_some() {
                return Err(Error::mismatch(format!("there are two settings of compression for {pattern:?}")));
            }
        }
        Ok(found)
    }

    /// Adds or replaces the setting of a pattern, and returns what it was; `*` is for all that have none of their own.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::codec::{Compression, CompressionByName};
    /// let mut settings = CompressionByName::default();
    /// settings.insert("*_phi", "lz4".parse()?);
    /// assert_eq!(settings.insert("*_phi", Compression::NONE), Some("lz4:4".parse()?));
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn insert(&mut self, pattern: &str, compression: Compression) -> Option<Compression> {
        if pattern == "*" {
            return self.general.replace(compression);
        }
        match self.patterns.iter_mut().find(|(known, _)| known == pattern) {
            Some((_, known)) => Some(std::mem::replace(known, compression)),
            None => {
                self.patterns.push((pattern.to_owned(), compression));
                None
            }
        }
    }

    /// The setting of all that have none of their own, if there is one.
    pub fn general(&self) -> Option<Compression> {
        self.general
    }

    /// The patterns and their settings, in the order in which they were given, without the general one.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::codec::CompressionByName;
    /// let settings = CompressionByName::parse(["zstd:5", "Muon_*=lz4:4"])?;
    /// assert_eq!(settings.patterns().collect::<Vec<_>>(), [("Muon_*", "lz4:4".parse()?)]);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn patterns(&self) -> impl Iterator<Item = (&str, Compression)> {
        self.patterns.iter().map(|(pattern, compression)| (&**pattern, *compression))
    }

    /// The settings as [`parse`](Self::parse) reads them: the general one first.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::codec::CompressionByName;
    /// assert_eq!(CompressionByName::parse(["x=lz4", "505"])?.to_texts(), ["zstd:5", "x=lz4:4"]);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn to_texts(&self) -> Vec<String> {
        let general = self.general.map(|general| general.to_string());
        general.into_iter().chain(self.patterns().map(|(pattern, own)| format!("{pattern}={own}"))).collect()
    }

    /// The own setting of what goes by these names, the most exact name first: a path, a name, the name of the branch
    /// that holds it. None where only the general one applies.
    pub fn of(&self, names: &[&str]) -> Option<Compression> {
        let exact = names.iter().find_map(|name| self.patterns.iter().find(|(pattern, _)| pattern == name));
        let like = || self.patterns.iter().find(|(pattern, _)| names.iter().any(|name| is_like(pattern, name)));
        exact.or_else(like).map(|(_, compression)| *compression)
    }
}

/// Whether a name is a pattern's own, or is like it: `*`, `?` and `[a-z]` as in the shell.
pub fn is_like(pattern: &str, name: &str) -> bool {
    if pattern == name {
        return true;
    }
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    let (mut at, mut from) = (0, 0);
    // Where the last star is, and how much of the name it stands for: never more than one star is tried anew.
    let mut star: Option<(usize, usize)> = None;
    while from < name.len() {
        let step = match pattern.get(at) {
            Some('*') => {
                star = Some((at, from));
                at += 1;
                continue;
            }
            Some(_) => one_of(&pattern[at..], name[from]),
            None => None,
        };
        match (step, star) {
            (Some(length), _) => (at, from) = (at + length, from + 1),
            (None, Some((place, covered))) => {
                star = Some((place, covered + 1));
                (at, from) = (place + 1, covered + 1);
            }
            (None, None) => return false,
        }
    }
    pattern[at..].iter().all(|letter| *letter == '*')
}

/// How many letters of a pattern stand for this letter, if they do.
fn one_of(pattern: &[char], letter: char) -> Option<usize> {
    let set = match pattern {
        ['?', ..] => return Some(1),
        ['[', set @ ..] => set,
        [first, ..] => return (*first == letter).then_some(1),
        [] => return None,
    };
    let (is_not, set) = match set {
        ['!' | '^', set @ ..] => (true, set),
        _ => (false, set),
    };
    // A bracket that comes first is one of the letters.
    let Some(end) = set.iter().skip(1).position(|letter| *letter == ']').map(|end| end + 1) else {
        return (letter == '[').then_some(1);
    };
    let (mut letters, mut found) = (&set[..end], false);
    loop {
        letters = match letters {
            [first, '-', last, rest @ ..] => {
                found |= (*first..=*last).contains(&letter);
                rest
            }
            [one, rest @ ..] => {
                found |= *one == letter;
                rest
            }
            [] => break,
        };
    }
    (found != is_not).then_some(end + 2 + usize::from(is_not))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_those_of_a_shell() {
        for (pattern, yes, no) in [
            ("Muon_*", vec!["Muon_", "Muon_pt"], vec!["nMuon", "Muon"]),
            ("*_p?", vec!["a_pt", "_p1"], vec!["a_p", "pt"]),
            ("*", vec!["", "anything"], vec![]),
            ("a*b*c", vec!["abc", "aXbYbZc"], vec!["ab", "acb"]),
            ("x[12]", vec!["x1", "x2", "x[12]"], vec!["x3", "x", "x12"]),
            ("x[!a-c]y", vec!["xdy"], vec!["xay", "xy"]),
            ("x[3", vec!["x[3"], vec!["x3"]),
            ("x[]a]", vec!["x]", "xa"], vec!["x"]),
            ("", vec![""], vec!["a"]),
        ] {
            assert!(yes.iter().all(|name| is_like(pattern, name)), "{pattern}");
            assert!(!no.iter().any(|name| is_like(pattern, name)), "{pattern}");
        }
        // Takes no time that grows with more than the product of the lengths.
        assert!(!is_like(&"a*".repeat(500), &"a".repeat(400)));
        assert!(!is_like(&format!("{}b", "*a".repeat(200)), &"a".repeat(2_000)));
    }

    #[test]
    fn the_exact_name_wins_then_the_first_pattern() {
        let settings = CompressionByName::parse(["a*=lz4:1", "zstd:5", "ab=lzma:9", "*b=zlib:6", "x=y=lz4:2"]).unwrap();
        let of = |names: &[&str]| settings.of(names).map(|found| found.to_string()).unwrap_or_default();
        assert_eq!(of(&["ab"]), "lzma:9");
        assert_eq!(of(&["abb"]), "lz4:1");
        assert_eq!(of(&["bb"]), "zlib:6");
        assert_eq!(of(&["top/leaf", "leaf", "ab"]), "lzma:9");
        assert_eq!(of(&["x=y"]), "lz4:2", "names may hold an equals sign");
        assert_eq!(of(&["c"]), "");
        assert_eq!(settings.patterns().count(), 4);
    }

    #[test]
    fn settings_that_contradict_one_another_are_refused() {
        for settings in [vec!["x=lz4", "x=zstd"], vec!["lz4", "*=zstd"], vec!["=lz4"], vec!["x="], vec!["x=zstd:12"]] {
            assert!(CompressionByName::parse(&settings).is_err(), "{settings:?}");
        }
    }
}
