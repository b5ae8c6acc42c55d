//! Connections that go wrong, the same in each run.

use std::time::Duration;

use sapwood_testkit::tcp_proxy::Wire;

use crate::common::Dice;

/// What the connection of this number is like: two of three go wrong.
pub fn wire(seed: u64, connection: usize) -> Wire {
    let mut dice = Dice::of(seed, connection);
    let bytes = dice.below(60_000) as usize;
    match dice.below(12) {
        0 | 1 => Wire::CutAfter(bytes),
        2 | 3 => Wire::ResetAfter(bytes),
        4 => Wire::StallAfter(bytes),
        5 => Wire::Answers([500, 502, 503, 429, 408][dice.below(5) as usize]),
        6 => Wire::Delayed(Duration::from_millis(dice.below(20))),
        7 => Wire::Slow(500_000 + dice.below(1_000_000)),
        _ => Wire::Good,
    }
}
