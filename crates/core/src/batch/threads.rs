//! Work on the threads of a session, and memory that is fetched before it is used.

use rayon::prelude::*;

use crate::session::Session;

/// Bytes that one thread writes at a time.
const CHUNK_BYTES: usize = 256 << 10;
/// Scattered rows whose memory is asked for together: the processor waits for all of them at once.
pub(super) const TOGETHER: usize = 32;
/// Bytes that the processor fetches together.
const LINE: usize = 64;

/// Does a piece of work for each of some items, on the threads of a session.
pub(super) fn each<T: Send, R: Send>(session: &Session, items: Vec<T>, work: impl Fn(T) -> R + Send + Sync) -> Vec<R> {
    match session.pool().filter(|_| items.len() > 1) {
        Some(pool) => pool.install(|| items.into_par_iter().with_max_len(1).map(work).collect()),
        None => items.into_iter().map(work).collect(),
    }
}

/// Reads a byte of each line of some rows, so that they are in the processor's cache when they are copied.
pub(super) fn fetch<'a>(rows: impl Iterator<Item = &'a [u8]>) {
    let one = |row: &[u8]| row.iter().step_by(LINE).chain(row.last()).fold(0_u8, |sum, byte| sum ^ byte);
    std::hint::black_box(rows.fold(0, |sum, row| sum ^ one(row)));
}

/// Reads a memory from its beginning to its end, if `bytes` of it are used at the most a few times over: from then
/// on it is in the processor's cache. One after another, lines arrive faster than from anywhere.
pub(super) fn fetch_all(session: &Session, memory: &[u8], bytes: usize) {
    if memory.len() <= bytes.saturating_mul(4) {
        each(session, memory.chunks(CHUNK_BYTES).collect(), |part| fetch(std::iter::once(part)));
    }
}

/// How many rows one thread writes at a time, if a row has `row_bytes`.
pub(super) fn chunk_rows(row_bytes: usize) -> usize {
    (CHUNK_BYTES / row_bytes.max(1)).max(1)
}
