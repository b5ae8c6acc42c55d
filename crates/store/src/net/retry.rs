//! Failed requests, and when to retry them.

use std::error::Error as _;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use sapwood::{Error, ErrorKind};

use super::pace::LEAST_RATE;

/// The pause after an attempt that brought enough.
const SHORT_PAUSE: Duration = Duration::from_millis(10);
/// The first pause after one that did not; each is twice as long as the one before.
const PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// An attempt that brings so many bytes is progress. One that brings less is as good as none when there are many of
/// them in a row.
const ENOUGH_BYTES: u64 = 16 << 10;
/// So many times the attempts that may bring nothing may bring little.
const LITTLE_TIMES: u32 = 4;
/// The longest pause that a server may ask for.
pub(crate) const LONGEST_ASKED: Duration = Duration::from_secs(30);

/// A request that failed.
#[derive(Debug)]
pub(crate) struct RequestError {
    pub(crate) error: Error,
    pub(crate) again: RetryWhen,
    /// What the server answered, if it did: the number of a status or of an error.
    pub(crate) code: Option<u16>,
}

/// Whether another attempt may go better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RetryWhen {
    Never,
    Later,
    /// The server said when.
    After(Duration),
}

impl From<Error> for RequestError {
    fn from(error: Error) -> Self {
        Self::never(error)
    }
}

impl RequestError {
    pub(crate) fn never(error: Error) -> Self {
        Self { error, again: RetryWhen::Never, code: None }
    }

    pub(crate) fn later(error: Error) -> Self {
        Self { error, again: RetryWhen::Later, code: None }
    }

    /// What comes is less than the least rate.
    pub(crate) fn slow(host: &str) -> Self {
        let words = format!("{host} sent less than {LEAST_RATE} bytes a second");
        Self::later(Error::new(ErrorKind::TimedOut, words))
    }

    /// Nothing came for so long.
    pub(crate) fn late(host: &str, timeout: Duration) -> Self {
        let words = format!("{host} sent nothing for {} s", timeout.as_secs_f64());
        Self::later(Error::new(ErrorKind::TimedOut, words))
    }

    /// An answer that was announced did not come. Asking again would only wait as long once more.
    pub(crate) fn unanswered(host: &str, waited: Duration) -> Self {
        let words = format!("{host} announced an answer, and did not send it within {} s", waited.as_secs_f64());
        Self::never(Error::new(ErrorKind::TimedOut, words))
    }

    /// The same once more: one link may break for many.
    pub(crate) fn copy(&self) -> Self {
        let error = reworded(&self.error, self.error.message().to_owned(), source_of(&self.error));
        Self { error, again: self.again, code: self.code }
    }
}

fn source_of(error: &Error) -> Option<String> {
    error.source().map(ToString::to_string)
}

/// The error in other words, with another text of its cause.
pub(crate) fn reworded(error: &Error, words: String, source: Option<String>) -> Error {
    let mut copy = Error::new(error.kind(), words);
    let place = error.place();
    if let Some(offset) = place.offset {
        copy = copy.at(offset);
    }
    if let (Some(expected), Some(found)) = (place.expected, place.found) {
        copy = copy.wanted(expected, found);
    }
    match source {
        Some(source) => copy.because(source),
        None => copy,
    }
}

/// Counts attempts that brought nothing, or little, and says how long to wait for the next.
#[derive(Debug)]
pub(crate) struct Retry {
    retries: u32,
    /// Attempts in a row that brought nothing.
    idle: u32,
    /// Attempts in a row that brought nothing or little.
    little: u32,
    /// All attempts.
    attempts: u32,
}

impl Retry {
    pub(crate) fn new(retries: u32) -> Self {
        Self { retries, idle: 0, little: 0, attempts: 0 }
    }

    /// An attempt failed that brought `news` bytes first: how long to wait, or the error for the caller.
    pub(crate) fn after(&mut self, failure: RequestError, news: u64) -> Result<Duration, Error> {
        self.attempts = self.attempts.saturating_add(1);
        self.idle = if news > 0 { 0 } else { self.idle.saturating_add(1) };
        self.little = if news >= ENOUGH_BYTES { 0 } else { self.little.saturating_add(1) };
        let most_little = self.retries.saturating_add(1).saturating_mul(LITTLE_TIMES);
        if failure.again == RetryWhen::Never || self.idle > self.retries || self.little > most_little {
            return Err(self.tell(failure.error));
        }
        Ok(match failure.again {
            RetryWhen::After(asked) => asked,
            _ if self.little == 0 => SHORT_PAUSE,
            _ => {
                let pause = PAUSE.saturating_mul(1 << (self.little - 1).min(16)).min(LONGEST_PAUSE);
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
        reworded(&error, format!("{}, at attempt {}", error.message(), self.attempts), source_of(&error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn broken() -> RequestError {
        RequestError::later(Error::new(ErrorKind::Io, "broken"))
    }

    #[test]
    fn retries_end_where_nothing_comes_and_not_before() {
        let mut retry = Retry::new(2);
        for _ in 0..100 {
            assert_eq!(retry.after(broken(), ENOUGH_BYTES).unwrap(), SHORT_PAUSE);
        }
        let (first, second) = (retry.after(broken(), 0).unwrap(), retry.after(broken(), 0).unwrap());
        assert!(first >= Duration::from_millis(75) && second >= Duration::from_millis(150), "{first:?} {second:?}");
        let error = retry.after(broken(), 0).unwrap_err();
        assert_eq!(error.message(), "broken, at attempt 103");
        // A byte an attempt is no progress for long.
        let mut retry = Retry::new(2);
        let pauses: Vec<_> = std::iter::from_fn(|| retry.after(broken(), 1).ok()).take(1000).collect();
        assert_eq!(pauses.len(), 12);
        assert!(pauses.iter().all(|pause| *pause >= Duration::from_millis(75)), "{pauses:?}");
        assert!(Retry::new(9).after(RequestError::never(Error::not_found("x")), 5).is_err());
    }
}
