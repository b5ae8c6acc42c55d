//! A reader that soon wants no more.

use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use sapwood::ErrorKind;
use sapwood::io::{Flow, Receive, Store};

struct Impatient(Instant);

impl Receive for Impatient {
    fn buffer(&self, bytes: usize) -> BytesMut {
        BytesMut::zeroed(bytes)
    }

    fn deliver(&mut self, _: usize, _: Bytes) -> Flow {
        Flow::Go
    }

    fn stopped(&self) -> bool {
        self.0.elapsed() > Duration::from_millis(100)
    }
}

/// Reads what does not come, wants no more, and is let go at once.
pub fn does_not_wait(store: &dyn Store) {
    let began = Instant::now();
    let error = store.read_ranges(&[0..50_000], &mut Impatient(began)).expect_err("it wants no more");
    assert_eq!(error.kind(), ErrorKind::Cancelled);
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
}
