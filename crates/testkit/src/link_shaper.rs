//! One direction of a link that is far away: a rate that all share, and a time to travel.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// When bytes come to the other end. Those of all connections follow one another at the rate of the link; then they
/// travel, and what is behind them does not wait until they are there.
#[derive(Debug, Default)]
pub(crate) struct LinkShaper {
    /// When the last of them has left.
    free: Mutex<Option<Instant>>,
}

impl LinkShaper {
    /// When bytes that stand ready at `now` are at the other end, of a link of so many bytes a second and so long a
    /// way.
    pub(crate) fn arrival(&self, now: Instant, bytes: usize, rate: u64, way: Duration) -> Instant {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let begins = free.map_or(now, |free| free.max(now));
        let left = begins + Duration::from_secs_f64(bytes as f64 / rate.max(1) as f64);
        *free = Some(left);
        left + way
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_follow_one_another_and_travel_together() {
        let (link, now, ms) = (LinkShaper::default(), Instant::now(), Duration::from_millis);
        let arrival = |after: Duration, bytes| link.arrival(now + after, bytes, 1_000_000, ms(100)) - now;
        assert_eq!(arrival(ms(0), 10_000), ms(110));
        assert_eq!(arrival(ms(1), 10_000), ms(120), "behind the first, and not behind its arrival");
        assert_eq!(arrival(ms(50), 1_000), ms(151), "the link was free");
        let wide = LinkShaper::default();
        assert_eq!(wide.arrival(now, 16 << 10, u64::MAX, ms(3)), now + ms(3));
    }
}
