//! Why a request has no good answer.

use sapwood::{Error, ErrorKind};
use sapwood_store::xrootd_numbers::code;

/// The most of an error's words that is sent.
const MAX_WORDS: usize = 2000;
/// Seconds after which a client may ask again.
const LATER: u32 = 1;

/// Why a request has no good answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Trouble {
    /// An error, by a code of the protocol.
    Refused(u32, String),
    /// It may work after this number of seconds.
    Wait(u32),
    /// Nothing more can be sent to the client.
    Lost,
}

impl Trouble {
    pub(super) fn refused(code: u32, words: impl Into<String>) -> Self {
        let words: String = words.into();
        Self::Refused(code, words.chars().take(MAX_WORDS).collect())
    }

    /// An error of the upstream, or of the cache.
    pub(super) fn of(error: &Error, host: &str) -> Self {
        let code = match error.kind() {
            ErrorKind::NotFound | ErrorKind::Mismatch => code::NOT_FOUND,
            ErrorKind::Denied => code::NOT_AUTHORIZED,
            ErrorKind::TimedOut => code::TIMED_OUT,
            ErrorKind::Unsupported => code::UNSUPPORTED,
            ErrorKind::Limit => code::NO_MEMORY,
            ErrorKind::Internal => code::SERVER,
            ErrorKind::Cancelled => return Self::Wait(LATER),
            _ => code::INPUT_OUTPUT,
        };
        Self::refused(code, format!("{} (upstream {host})", error.message()))
    }

    /// Turns a wait into an error: once a part of the answer was sent, it is too late to ask again.
    pub(super) fn at_last(self) -> Self {
        match self {
            Self::Wait(_) => Self::refused(code::OVERLOADED, "the proxy is too busy to go on; try again later"),
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_have_their_codes() {
        let of = |kind| Trouble::of(&Error::new(kind, "words"), "a:1");
        assert_eq!(of(ErrorKind::NotFound), Trouble::Refused(3011, "words (upstream a:1)".to_owned()));
        let codes = [ErrorKind::Denied, ErrorKind::TimedOut, ErrorKind::Io, ErrorKind::Changed, ErrorKind::Unsupported];
        let codes = codes.map(|kind| match of(kind) {
            Trouble::Refused(code, _) => code,
            _ => 0,
        });
        assert_eq!(codes, [3010, 3034, 3007, 3007, 3013]);
        assert_eq!(of(ErrorKind::Cancelled), Trouble::Wait(1));
        assert!(matches!(of(ErrorKind::Cancelled).at_last(), Trouble::Refused(3024, _)));
        let long = Trouble::refused(1, "x".repeat(9_000));
        assert!(matches!(long, Trouble::Refused(1, words) if words.len() == MAX_WORDS));
    }
}
