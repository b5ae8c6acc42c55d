//! Keys that are shared with servers, in a file of the user's as XRootD writes it: one a line.

use std::fmt;
use std::path::Path;

use sapwood::{Error, ErrorKind, Result};
use zeroize::Zeroizing;

use crate::private_file::{self, Others};
use crate::x509;

/// A file that is longer holds something else.
const FILE_BYTES: u64 = 1 << 20;
const SECRET_BYTES: usize = 128;
const NAME_BYTES: usize = 191;

/// A key that a server has, too.
#[derive(Default)]
pub(super) struct Key {
    pub(super) number: i64,
    pub(super) name: String,
    pub(super) user: String,
    pub(super) group: String,
    /// Seconds since 1970; never where it is 0.
    pub(super) expires: i64,
    pub(super) secret: Zeroizing<Vec<u8>>,
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Key").field("number", &self.number).field("name", &self.name).finish_non_exhaustive()
    }
}

impl Key {
    /// The key of a file that XRootD's own client would take.
    pub(super) fn read(path: &Path) -> Result<Self> {
        Self::of_file(path, |text| Self::choose(text, now()))
    }

    /// All keys of a file, expired ones included.
    pub(super) fn read_all(path: &Path) -> Result<Vec<Self>> {
        Self::of_file(path, |text| Self::lines(text).collect())
    }

    fn of_file<T>(path: &Path, take: impl FnOnce(&str) -> Result<T>) -> Result<T> {
        // As for XRootD, others of the user's group may read a file of this name.
        let of_group = path.to_string_lossy().ends_with(".grp");
        let others = if of_group { Others::GroupReads } else { Others::Nothing };
        let content = private_file::read(path, "keytab", others, FILE_BYTES)?;
        let text = std::str::from_utf8(&content).map_err(|_| Error::malformed("the keytab is not text"));
        text.and_then(take).map_err(|error| error.in_file(path.to_string_lossy().as_ref()))
    }

    fn lines(text: &str) -> impl Iterator<Item = Result<Self>> {
        let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        lines.map(|(number, line)| {
            let wrong = |what| Error::malformed(format!("line {} of the keytab has {what}", number + 1));
            Self::parse(line).map_err(wrong)
        })
    }

    /// Of keys with the same name, user and group the one that lasts longest; of others the last.
    fn choose(text: &str, now: i64) -> Result<Self> {
        let mut keys: Vec<Self> = Vec::new();
        let mut expired = 0;
        for key in Self::lines(text) {
            let key = key?;
            if !key.is_good(now) {
                expired += 1;
                continue;
            }
            let same = |old: &&mut Self| (&old.name, &old.user, &old.group) == (&key.name, &key.user, &key.group);
            match keys.iter_mut().find(same) {
                Some(old) if old.lasts() < key.lasts() => *old = key,
                Some(_) => {}
                None => keys.push(key),
            }
        }
        let words = if expired > 0 { "the keys of the keytab are expired" } else { "the keytab has no keys" };
        keys.pop().ok_or_else(|| Error::new(ErrorKind::Denied, words))
    }

    /// Whether it has not expired.
    pub(super) fn is_good(&self, now: i64) -> bool {
        self.expires == 0 || self.expires > now
    }

    /// A line, or what is wrong with it, without a word of what it says.
    fn parse(line: &str) -> Result<Self, &'static str> {
        let mut words = line.split_ascii_whitespace();
        if !matches!(words.next(), Some("0" | "1")) {
            return Err("an unknown version");
        }
        let [name, user, group] = ["nowhere", "nobody", "nogroup"].map(str::to_owned);
        let mut key = Self { name, user, group, ..Self::default() };
        let mut numbered = false;
        for word in words {
            let Some((tag, value)) = word.split_once(':') else { continue };
            let short = || Some(value).filter(|value| (1..=NAME_BYTES).contains(&value.len()));
            match tag {
                "n" => short().ok_or("a name that cannot be")?.clone_into(&mut key.name),
                "u" => short().ok_or("an invalid user")?.clone_into(&mut key.user),
                "g" => short().ok_or("a group that cannot be")?.clone_into(&mut key.group),
                "e" => key.expires = value.parse().map_err(|_| "a time that cannot be")?,
                "N" => {
                    key.number = value.parse().map_err(|_| "a number that cannot be")?;
                    numbered = true;
                }
                "k" => key.secret = bytes(value).ok_or("a key that cannot be")?,
                _ => {}
            }
        }
        match (key.secret.is_empty(), numbered) {
            (true, _) => Err("no key"),
            (_, false) => Err("no number"),
            _ => Ok(key),
        }
    }

    fn lasts(&self) -> i64 {
        if self.expires == 0 { i64::MAX } else { self.expires }
    }
}

/// What hexadecimal digits say.
fn bytes(digits: &str) -> Option<Zeroizing<Vec<u8>>> {
    if !digits.len().is_multiple_of(2) || digits.len() > 2 * SECRET_BYTES {
        return None;
    }
    let digit = |byte: &u8| char::from(*byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let both = |pair: &[u8]| Some(digit(pair.first()?)? << 4 | digit(pair.get(1)?)?);
    digits.as_bytes().chunks(2).map(both).collect::<Option<Vec<u8>>>().map(Zeroizing::new)
}

/// Seconds since 1970.
pub(super) fn now() -> i64 {
    i64::try_from(x509::now().as_secs()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_key() {
        let key = Key::choose("0 u:me g:us n:mine N:6803212 c:1 e:0 f:0 k:00ff0a\n", 9).unwrap();
        assert_eq!((&*key.name, &*key.user, &*key.group, key.number), ("mine", "me", "us", 6_803_212));
        assert_eq!(*key.secret, [0, 255, 10]);
        assert!(!format!("{key:?}").contains("255"));
        let key = Key::choose("\n1 k:AB x:y N:-1", 9).unwrap();
        assert_eq!((&*key.name, &*key.user, &*key.group, key.number), ("nowhere", "nobody", "nogroup", -1));
    }

    #[test]
    fn of_many_keys_one_is_taken_as_xrootd_does() {
        let of = |text: &str| Key::choose(text, 100).map(|key| key.number).map_err(|error| error.message().to_owned());
        assert_eq!(of("0 n:a N:1 k:00\n0 n:b N:2 k:00"), Ok(2));
        assert_eq!(of("0 n:a N:1 k:00\n0 n:b N:2 e:99 k:00"), Ok(1));
        assert_eq!(of("0 n:a N:1 e:200 k:00\n0 n:a N:2 k:00\n0 n:a N:3 e:300 k:00"), Ok(2));
        assert_eq!(of("0 n:a N:1 e:200 k:00\n0 n:a N:2 e:150 k:00"), Ok(1));
        assert_eq!(of("0 n:a N:1 e:100 k:00"), Err("the keys of the keytab are expired".into()));
        assert_eq!(of(" \n"), Err("the keytab has no keys".into()));
    }

    #[test]
    fn what_is_wrong_is_said_without_the_key() {
        for (line, what) in [
            ("2 N:1 k:5ec2e7", "an unknown version"),
            ("0 N:1", "no key"),
            ("0 N:1 k:", "no key"),
            ("0 k:5ec2e7", "no number"),
            ("0 N:x k:5ec2e7", "a number that cannot be"),
            ("0 N:1 e:soon k:5ec2e7", "a time that cannot be"),
            ("0 N:1 k:5ec2e", "a key that cannot be"),
            ("0 N:1 k:5ec2ez", "a key that cannot be"),
            ("0 n: N:1 k:5ec2e7", "a name that cannot be"),
        ] {
            let error = Key::choose(&format!("\n{line}"), 1).unwrap_err().to_string();
            assert!(error.contains(&format!("line 2 of the keytab has {what}")) && !error.contains("5ec2"), "{error}");
        }
        let long = format!("0 N:1 k:{}", "0".repeat(258));
        assert!(Key::choose(&long, 1).is_err());
    }
}
