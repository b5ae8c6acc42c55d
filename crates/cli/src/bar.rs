//! A line of the terminal that says how far long work is.

use std::io::{IsTerminal, Write, stderr};
use std::time::{Duration, Instant};

use sapwood::Result;
use sapwood::progress::{self, Progress};

const WIDTH: usize = 30;
/// So often is the line written anew.
const EVERY: Duration = Duration::from_millis(100);

/// Does `work`, and shows how far it is where standard error is a terminal; the line goes when it is done.
pub(crate) fn shown<T>(what: &'static str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    if !stderr().is_terminal() {
        return work();
    }
    let mut last: Option<Instant> = None;
    let tell = move |Progress { done_bytes, total_bytes }| {
        if last.is_none_or(|last| last.elapsed() >= EVERY) {
            last = Some(Instant::now());
            let part = done_bytes as f64 / total_bytes.max(1) as f64;
            draw(part, &format!("{what}: {:3.0}% of {} MB", 100.0 * part, total_bytes / 1_000_000), "");
        }
        Ok(())
    };
    let outcome = progress::telling(tell, work);
    let _ = write!(stderr(), "\r\x1b[K");
    outcome
}

/// Writes the line: a bar, `words`, and what ends it.
pub(crate) fn draw(part: f64, words: &str, end: &str) {
    let full = (WIDTH as f64 * part.clamp(0.0, 1.0)) as usize;
    // A terminal that is gone is no reason to stop.
    let _ = write!(stderr(), "\r[{}{}] {words}{end}", "=".repeat(full), " ".repeat(WIDTH - full));
}
