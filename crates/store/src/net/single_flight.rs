//! Single-flight: several callers that want the same thing share one attempt.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::RequestError;

/// A value that the first caller makes while the others wait. Callers that waited share its result or its error:
/// otherwise each of them would wait for a dead server in turn.
#[derive(Debug, Default)]
pub(crate) struct SingleFlight<T> {
    state: tokio::sync::Mutex<T>,
    failures: Mutex<Failures>,
}

#[derive(Debug, Default)]
struct Failures {
    count: u64,
    last: Option<RequestError>,
}

impl<T> SingleFlight<T> {
    /// Waits until it is this caller's turn.
    ///
    /// # Errors
    ///
    /// The error of a caller that failed meanwhile.
    pub(crate) async fn take(&self) -> Result<tokio::sync::MutexGuard<'_, T>, RequestError> {
        let before = self.failures().count;
        let state = self.state.lock().await;
        let failures = self.failures();
        match &failures.last {
            Some(last) if failures.count != before => Err(last.copy()),
            _ => Ok(state),
        }
    }

    /// The turn, if it is free.
    pub(crate) fn free(&self) -> Option<tokio::sync::MutexGuard<'_, T>> {
        self.state.try_lock().ok()
    }

    /// The caller that has the turn failed.
    pub(crate) fn failed(&self, failure: &RequestError) {
        let mut failures = self.failures();
        failures.count += 1;
        failures.last = Some(failure.copy());
    }

    fn failures(&self) -> MutexGuard<'_, Failures> {
        self.failures.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures_util::future::join_all;
    use sapwood::Error;

    use super::*;

    #[test]
    fn callers_that_wait_share_the_failure() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let flights = SingleFlight::<u32>::default();
        let one = || async {
            let mut state = flights.take().await?;
            tokio::time::sleep(Duration::from_millis(5)).await;
            *state += 1;
            let failure = RequestError::later(Error::not_found("x"));
            flights.failed(&failure);
            Err::<(), _>(failure)
        };
        let many = (0..10).map(|_| one());
        let done = runtime.block_on(join_all(many));
        assert!(done.iter().all(Result::is_err));
        let state = runtime.block_on(flights.take()).expect("a later caller tries again");
        assert_eq!(*state, 1);
    }
}
