//! What errors of a server mean for us.

use sapwood::{Error, ErrorKind};

use super::wire::numbers::code::*;
use super::wire::{Broken, Refusal};
use crate::net::{RequestError, RetryWhen};

/// A refusal in the server's own words.
pub(super) fn refused(server: &str, refusal: &Refusal) -> RequestError {
    let kind = match refusal.code {
        NOT_FOUND | NO_REPLICAS => ErrorKind::NotFound,
        NOT_AUTHORIZED | TLS_REQUIRED | AUTH_FAILED => ErrorKind::Denied,
        UNSUPPORTED => ErrorKind::Unsupported,
        NOT_A_FILE | IS_FOLDER => ErrorKind::Mismatch,
        TIMED_OUT | TIMER_EXPIRED => ErrorKind::TimedOut,
        _ => ErrorKind::Io,
    };
    let passes = matches!(
        refusal.code,
        FILE_NOT_OPEN | FILE_SYSTEM | INPUT_OUTPUT | NO_MEMORY | SERVER | IN_PROGRESS | OVERLOADED
    );
    let again = if passes || kind == ErrorKind::TimedOut { RetryWhen::Later } else { RetryWhen::Never };
    let words = match refusal.words.as_str() {
        "" => format!("{server} refuses, with the number {}", refusal.code),
        words => format!("{server} says: {words}"),
    };
    RequestError { error: Error::new(kind, words), again, code: Some(u16::try_from(refusal.code).unwrap_or(u16::MAX)) }
}

/// A violation of the protocol.
pub(super) fn nonsense(server: &str, broken: Broken) -> RequestError {
    RequestError::later(Error::new(ErrorKind::Io, format!("protocol error from {server}: {}", broken.0)))
}

/// Whether another server may have what this one does not give, and the protocol's word for why.
pub(super) fn elsewhere(failure: &RequestError) -> Option<&'static str> {
    match failure.code.map(u32::from) {
        Some(NOT_FOUND | NO_REPLICAS) => Some("enoent"),
        Some(INPUT_OUTPUT) => Some("ioerr"),
        Some(FILE_SYSTEM | NO_MEMORY) => Some("fserr"),
        Some(SERVER | OVERLOADED | NO_SERVER) => Some("srverr"),
        Some(_) => None,
        // No connection, or one that broke.
        None if failure.again != RetryWhen::Never => Some("srverr"),
        None => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_have_kinds_and_words() {
        let of = |code, words: &str| {
            let failure = refused("h:1", &Refusal { code, words: words.into() });
            (failure.error.kind(), failure.again, failure.error.message().to_owned())
        };
        assert_eq!(of(3011, "no such file"), (ErrorKind::NotFound, RetryWhen::Never, "h:1 says: no such file".into()));
        assert_eq!(of(3010, "x").0, ErrorKind::Denied);
        assert_eq!(of(3024, "x").1, RetryWhen::Later);
        assert_eq!(of(99_999, "").2, "h:1 refuses, with the number 99999");
    }

    #[test]
    fn errors_say_whether_another_server_may_do() {
        let of = |code| elsewhere(&refused("h", &Refusal { code, words: String::new() }));
        assert_eq!(
            (of(3011), of(3007), of(3005), of(3024)),
            (Some("enoent"), Some("ioerr"), Some("fserr"), Some("srverr"))
        );
        assert_eq!((of(3010), of(3000)), (None, None));
        assert_eq!(elsewhere(&RequestError::later(Error::not_found("x"))), Some("srverr"));
        assert_eq!(elsewhere(&RequestError::never(Error::not_found("x"))), None);
    }
}
