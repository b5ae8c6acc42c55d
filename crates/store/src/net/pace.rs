//! The least rate of an answer: a server that sends a byte now and then must not keep its reader for ever.

use std::time::Duration;

/// Bytes a second. Any link that is worth waiting for is faster.
pub(crate) const LEAST_RATE: u64 = 1 << 10;

/// Compares what comes of one answer with the least rate. Only time spent waiting for the server counts, so that a slow
/// receiver is not taken for a slow server.
#[derive(Debug)]
pub(crate) struct Pace {
    window: Duration,
    waited: Duration,
    bytes: u64,
}

impl Pace {
    /// The rate is looked at each time that so long was waited.
    pub(crate) fn new(window: Duration) -> Self {
        Self { window, waited: Duration::ZERO, bytes: 0 }
    }

    /// So many bytes came after so long; false where they come too slowly.
    pub(crate) fn keeps_up(&mut self, bytes: usize, waited: Duration) -> bool {
        self.waited += waited;
        self.bytes += bytes as u64;
        if self.waited < self.window {
            return true;
        }
        let enough = self.bytes as f64 >= LEAST_RATE as f64 * self.waited.as_secs_f64();
        (self.waited, self.bytes) = (Duration::ZERO, 0);
        enough
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drip_is_told_from_a_slow_link() {
        let second = Duration::from_secs(1);
        let mut slow = Pace::new(5 * second);
        assert!((0..100).all(|_| slow.keeps_up(2_000, second)));
        let mut drip = Pace::new(5 * second);
        assert_eq!((0..100).take_while(|_| drip.keeps_up(1, second)).count(), 4);
        // A pause that is no longer than the window, behind many bytes.
        let mut bursts = Pace::new(5 * second);
        assert!((0..100).all(|_| bursts.keeps_up(100_000, Duration::ZERO) && bursts.keeps_up(10, 5 * second)));
    }
}
