//! Errors of http requests.

use std::error::Error as _;
use std::time::Duration;

use reqwest::StatusCode;
use reqwest::header::{HeaderMap, RETRY_AFTER};
use sapwood::{Error, ErrorKind};

use crate::net::{LONGEST_ASKED, RequestError, RetryWhen};

impl RequestError {
    /// No connection, or one that broke.
    pub(crate) fn network(host: &str, error: reqwest::Error) -> Self {
        let (before, after) =
            if error.is_connect() { ("no connection to ", "") } else { ("the connection to ", " broke") };
        let kind = if error.is_timeout() { ErrorKind::TimedOut } else { ErrorKind::Io };
        let error = error.without_url();
        let (mut words, mut untrusted) = (Vec::new(), false);
        let mut beneath = error.source();
        while let Some(cause) = beneath {
            untrusted |= is_untrusted(cause);
            let text = cause.to_string();
            if words.last() != Some(&text) {
                words.push(text);
            }
            beneath = cause.source();
        }
        if words.is_empty() {
            words.push(error.to_string());
        }
        let words = words.join(": ");
        if untrusted {
            // A certificate is no better the second time.
            return Self::never(Error::new(ErrorKind::Denied, format!("no TLS with {host}")).because(words));
        }
        Self::later(Error::new(kind, format!("{before}{host}{after}")).because(words))
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
        // What a server cannot do or has no room for is no better the second time.
        let passes = status.is_server_error() && !matches!(status.as_u16(), 501 | 507);
        let again = if passes || busy {
            let asked = headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.trim().parse().ok());
            asked.map_or(RetryWhen::Later, |seconds| RetryWhen::After(Duration::from_secs(seconds).min(LONGEST_ASKED)))
        } else {
            RetryWhen::Never
        };
        let error = Error::new(kind, format!("{host} answered {status}"));
        Self { error, again, code: Some(status.as_u16()) }
    }
}

/// Whether a certificate was not accepted. I/O errors hide what is in them, one in another.
fn is_untrusted(cause: &(dyn std::error::Error + 'static)) -> bool {
    let inner = cause.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
    matches!(cause.downcast_ref(), Some(rustls::Error::InvalidCertificate(_)))
        || inner.is_some_and(|inner| is_untrusted(inner))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_have_kinds_and_a_time_to_come_again() {
        let refused = |code: u16, after: Option<&'static str>| {
            let mut headers = HeaderMap::new();
            if let Some(after) = after {
                headers.insert(RETRY_AFTER, after.parse().unwrap());
            }
            let failure = RequestError::refused("h", StatusCode::from_u16(code).unwrap(), &headers);
            (failure.error.kind(), failure.again)
        };
        assert_eq!(refused(404, None), (ErrorKind::NotFound, RetryWhen::Never));
        assert_eq!(refused(403, Some("1")), (ErrorKind::Denied, RetryWhen::Never));
        assert_eq!(refused(503, Some("2")), (ErrorKind::Io, RetryWhen::After(Duration::from_secs(2))));
        assert_eq!(refused(429, Some("9999")), (ErrorKind::Io, RetryWhen::After(LONGEST_ASKED)));
        assert_eq!(refused(500, Some("soon")), (ErrorKind::Io, RetryWhen::Later));
    }
}
