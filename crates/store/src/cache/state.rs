//! Which bytes a remote file has: its name without secrets, its length, and what changes when they do.

use sapwood::io::{Ends, Identity};
use twox_hash::XxHash64;

/// So much of the head and of the tail shows the state of a file whose server does not name it. The header of a ROOT
/// file, with its own number, is in the one; its list of keys, with the time of each, is in the other as a rule. As
/// much as is read to open a file.
pub(crate) const PROOF_HEAD: usize = 4096;
/// See [`PROOF_HEAD`].
pub(crate) const PROOF_TAIL: usize = 65536;

/// A longer description does not fit the head of a segment.
const MOST_TEXT: usize = 3_500;
const SECOND_SEED: u64 = 0x5A70_0D5A_700D_5A70;

/// A state of a file. Two that differ never share bytes: its text is in all that is kept, and is compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct State {
    /// Without secrets.
    pub(crate) name: String,
    pub(crate) len: u64,
    /// `v:` and the validator, or `h:` and what the ends look like.
    pub(crate) proof: String,
}

impl State {
    /// The state that `identity` names; none where its server names none.
    pub(crate) fn named(name: &str, identity: &Identity) -> Option<Self> {
        let validator = identity.validator.as_deref()?;
        Some(Self { name: name.to_owned(), len: identity.len, proof: format!("v:{validator}") })
    }

    /// The state of a file whose ends are these; as long as [`PROOF_HEAD`] and [`PROOF_TAIL`], or all there is.
    pub(crate) fn of(name: &str, ends: &Ends) -> Self {
        Self::named(name, &ends.identity).unwrap_or_else(|| {
            let head = ends.head.get(..PROOF_HEAD).unwrap_or(&ends.head);
            let tail = ends.tail.get(ends.tail.len().saturating_sub(PROOF_TAIL)..).unwrap_or_default();
            let (head, tail) = (hash128(head), hash128(tail));
            Self { name: name.to_owned(), len: ends.identity.len, proof: format!("h:{head:032x}{tail:032x}") }
        })
    }

    /// Whether the server names the state, so that it can be asked for alone.
    pub(crate) fn is_named(&self) -> bool {
        self.proof.starts_with("v:")
    }

    /// As it is kept; none where it cannot be: too long, or in more than one line.
    pub(crate) fn text(&self) -> Option<String> {
        let plain = |text: &str| !text.contains(char::is_control);
        let text = format!("{}\n{}\n{}\n", self.name, self.len, self.proof);
        (plain(&self.name) && plain(&self.proof) && text.len() <= MOST_TEXT).then_some(text)
    }

    /// Reads what [`text`](Self::text) gave.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut lines = text.split('\n');
        let (name, len, proof) = (lines.next()?, lines.next()?.parse().ok()?, lines.next()?);
        let state = Self { name: name.to_owned(), len, proof: proof.to_owned() };
        (state.text().as_deref() == Some(text)).then_some(state)
    }

    /// A number of this state: for names of files, and so that no block passes for one of another state.
    pub(crate) fn number(&self) -> u128 {
        hash128(format!("{}\n{}\n{}\n", self.name, self.len, self.proof).as_bytes())
    }
}

/// Two hashes in one number. Two texts with the same hash are harmless: texts are compared.
pub(crate) fn hash128(bytes: &[u8]) -> u128 {
    let half = |seed| u128::from(XxHash64::oneshot(seed, bytes));
    half(0) << 64 | half(SECOND_SEED)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;

    #[test]
    fn a_state_is_what_its_text_says() {
        let state = State { name: "http://a/b".into(), len: 7, proof: "v:\"x\"".into() };
        let text = state.text().unwrap();
        assert_eq!(State::parse(&text), Some(state.clone()));
        assert_eq!(State::parse(&format!("{text}more")), None);
        assert_eq!(State::parse("a\n-1\nv:x\n"), None);
        for name in ["a\nb".to_owned(), "x".repeat(MOST_TEXT)] {
            assert_eq!(State { name, ..state.clone() }.text(), None);
        }
    }

    #[test]
    fn a_file_without_a_name_of_its_state_is_known_by_its_ends() {
        let ends = |head: &'static str, validator: Option<&str>| Ends {
            identity: Identity { name: "a".into(), len: 5, validator: validator.map(Into::into) },
            head: Bytes::from(head),
            tail: Bytes::from("tail"),
        };
        assert_eq!(State::of("a", &ends("one", None)), State::of("a", &ends("one", None)));
        assert_ne!(State::of("a", &ends("one", None)), State::of("a", &ends("two", None)));
        assert_eq!(State::of("a", &ends("one", Some("x"))), State::of("a", &ends("two", Some("x"))));
    }
}
