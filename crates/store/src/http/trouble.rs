//! What went wrong with a request, and whether to try again.

use std::error::Error as _;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use reqwest::StatusCode;
use reqwest::header::{HeaderMap, RETRY_AFTER};
use sapwood::{Error, ErrorKind};

/// The first pause; each is twice as long as the one before.
const PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// The longest pause that a server may ask for.
const LONGEST_ASKED: Duration = Duration::from_secs(30);

/// A request that failed.
#[derive(Debug)]
pub(crate) struct Trouble {
    pub(crate) error: Error,
    pub(crate) again: Again,
    /// What the server answered, if it did.
    pub(crate) status: Option<StatusCode>,
}

/// Whether another attempt may go better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Again {
    Never,
    Later,
    /// The server said when.
    After(Duration),
}

impl Trouble {
    pub(crate) fn never(error: Error) -> Self {
        Self { error, again: Again::Never, status: None }
    }

    pub(crate) fn later(error: Error) -> Self {
        Self { error, again: Again::Later, status: None }
    }

    /// Nothing came for so long.
    pub(crate) fn late(host: &str, timeout: Duration) -> Self {
        let words = format!("{host} sent nothing for {} s", timeout.as_secs_f64());
        Self::later(Error::new(ErrorKind::TimedOut, words))
    }

    /// No connection, or one that broke.
    pub(crate) fn network(host: &str, error: reqwest::Error) -> Self {
        let what = if error.is_connect() { "no connection to" } else { "the connection broke to" };
        let kind = if error.is_timeout() { ErrorKind::TimedOut } else { ErrorKind::Io };
        let error = error.without_url();
        let (mut words, mut untrusted) = (Vec::new(), false);
        let mut beneath = error.source();
        while let Some(cause) = beneath {
            untrusted |= cause.is::<rustls::Error>();
            // An I/O error shows its source as its own words.
            let inner = cause.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
            untrusted |= inner.is_some_and(|inner| inner.is::<rustls::Error>());
            let text = cause.to_string();
            if words.last() != Some(&text) {
                words.push(text);
            }
            beneath = cause.source();
        }
        if words.is_empty() {
            words.push(error.to_string());
        }
        let made = Error::new(kind, format!("{what} {host}")).because(words.join(": "));
        // A certificate is no better the second time.
        if untrusted { Self::never(made) } else { Self::later(made) }
    }

    /// An answer that is a refusal.
    pub(crate) fn refused(host: &str, status: StatusCode, headers: &HeaderMap) -> Self {
        let kind = match status {
            StatusCode::NOT_FOUND | StatusCode::GONE => ErrorKind::NotFound,
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN | StatusCode::PROXY_AUTHENTICATION_REQUIRED => {
                ErrorKind::Denied
            }
            StatusCode::PRECONDITION_FAILED => ErrorKind::Changed,
            StatusCode::REQUEST_TIMEOUT | StatusCode::GATEWAY_TIMEOUT => ErrorKind::TimedOut,
            _ => ErrorKind::Io,
        };
        let busy = matches!(status, StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS);
        let again = if (status.is_server_error() && status != StatusCode::NOT_IMPLEMENTED) || busy {
            let asked = headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.trim().parse().ok());
            asked.map_or(Again::Later, |seconds| Again::After(Duration::from_secs(seconds).min(LONGEST_ASKED)))
        } else {
            Again::Never
        };
        let error = Error::new(kind, format!("{host} answered {status}"));
        Self { error, again, status: Some(status) }
    }
}

/// Counts attempts that brought nothing, and says how long to wait for the next.
#[derive(Debug)]
pub(crate) struct Patience {
    retries: u32,
    /// Attempts in a row that brought nothing.
    idle: u32,
    /// All attempts.
    attempts: u32,
}

impl Patience {
    pub(crate) fn new(retries: u32) -> Self {
        Self { retries, idle: 0, attempts: 0 }
    }

    /// An attempt failed that brought `news` bytes first: how long to wait, or the error for the caller.
    pub(crate) fn after(&mut self, trouble: Trouble, news: u64) -> Result<Duration, Error> {
        self.attempts = self.attempts.saturating_add(1);
        if news > 0 {
            self.idle = 0;
        } else {
            self.idle += 1;
        }
        if trouble.again == Again::Never || self.idle > self.retries {
            return Err(self.tell(trouble.error));
        }
        Ok(match trouble.again {
            Again::After(asked) => asked,
            _ if news > 0 => Duration::ZERO,
            _ => {
                let pause = PAUSE.saturating_mul(1 << (self.idle - 1).min(16)).min(LONGEST_PAUSE);
                // Many clients that were cut off at once should not come back at once.
                let clock = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.subsec_nanos());
                pause.mul_f64(0.75 + f64::from(clock % 1024) / 2048.0)
            }
        })
    }

    /// The error with the number of attempts.
    fn tell(&self, error: Error) -> Error {
        if self.attempts < 2 {
            return error;
        }
        let mut told = Error::new(error.kind(), format!("{}, at attempt {}", error.message(), self.attempts));
        let place = error.place();
        if let Some(offset) = place.offset {
            told = told.at(offset);
        }
        if let (Some(expected), Some(found)) = (place.expected, place.found) {
            told = told.wanted(expected, found);
        }
        match error.source() {
            Some(source) => told.because(source.to_string()),
            None => told,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn broken() -> Trouble {
        Trouble::later(Error::new(ErrorKind::Io, "broken"))
    }

    #[test]
    fn patience_ends_where_nothing_comes_and_not_before() {
        let mut patience = Patience::new(2);
        for _ in 0..100 {
            assert_eq!(patience.after(broken(), 1).unwrap(), Duration::ZERO);
        }
        let (first, second) = (patience.after(broken(), 0).unwrap(), patience.after(broken(), 0).unwrap());
        assert!(first >= Duration::from_millis(75) && second >= Duration::from_millis(150), "{first:?} {second:?}");
        let error = patience.after(broken(), 0).unwrap_err();
        assert_eq!(error.message(), "broken, at attempt 103");
        assert!(Patience::new(9).after(Trouble::never(Error::not_found("x")), 5).is_err());
    }

    #[test]
    fn refusals_have_kinds_and_a_time_to_come_again() {
        let refused = |code: u16, after: Option<&'static str>| {
            let mut headers = HeaderMap::new();
            if let Some(after) = after {
                headers.insert(RETRY_AFTER, after.parse().unwrap());
            }
            let trouble = Trouble::refused("h", StatusCode::from_u16(code).unwrap(), &headers);
            (trouble.error.kind(), trouble.again)
        };
        assert_eq!(refused(404, None), (ErrorKind::NotFound, Again::Never));
        assert_eq!(refused(403, Some("1")), (ErrorKind::Denied, Again::Never));
        assert_eq!(refused(503, Some("2")), (ErrorKind::Io, Again::After(Duration::from_secs(2))));
        assert_eq!(refused(429, Some("9999")), (ErrorKind::Io, Again::After(LONGEST_ASKED)));
        assert_eq!(refused(500, Some("soon")), (ErrorKind::Io, Again::Later));
    }
}
