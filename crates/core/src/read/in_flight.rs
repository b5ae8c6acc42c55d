//! The bytes of one window, requested at once: of baskets, or of pages.

use std::ops::Range;
use std::sync::mpsc::{Receiver, Sender, channel};

use bytes::Bytes;

use crate::error::{Error, ErrorKind, Result};
use crate::file::File;
use crate::interrupt;
use crate::io::{Arrival, Flow, Ticket, Want, coalesce};
use crate::tree::{Coming, TreeCache};

/// Where the bytes of a piece of a window come from.
pub(crate) enum Origin {
    /// It has none, or they are there.
    Here(Bytes),
    /// This range of the file, for entries from this one on. The cache is asked first.
    Stored(Range<u64>, u64),
}

/// A window in flight.
pub(crate) struct InFlight {
    arrivals: Receiver<Arrival>,
    /// Dropping one cancels its request.
    _tickets: Vec<Ticket>,
    /// What was read immediately.
    read: Vec<Arrival>,
    missing: usize,
    /// What the cache holds, or waits for, by position in the window.
    kept: Vec<(usize, Coming)>,
    /// The bytes that are there, by position in the window.
    pieces: Vec<Bytes>,
}

impl InFlight {
    /// Requests the pieces of a window. Unless it `is_ahead`, this thread reads what the cache lacks at once.
    ///
    /// # Errors
    ///
    /// What the store reports.
    pub(crate) fn request(file: &File, cache: &TreeCache, is_ahead: bool, pieces: Vec<Origin>) -> Result<Self> {
        let (store, session) = (file.store(), &file.options().session);
        let (to, arrivals): (Sender<Arrival>, _) = channel();
        let (mut wants, mut kept) = (Vec::with_capacity(pieces.len()), Vec::new());
        let mut there = Vec::with_capacity(pieces.len());
        for (id, origin) in pieces.into_iter().enumerate() {
            let mut bytes = Bytes::new();
            match origin {
                Origin::Here(here) => bytes = here,
                Origin::Stored(range, first_entry) => match cache.get(range.start) {
                    Some(coming) => kept.push((id, coming)),
                    None => wants.push(Want { id: id as u64, range, first_entry }),
                },
            }
            there.push(bytes);
        }
        file.perf().note_hits(kept.len() as u64, 0);
        let missing = wants.len();
        let (mut read, mut tickets) = (Vec::with_capacity(if is_ahead { 0 } else { missing }), Vec::new());
        for request in coalesce(&wants, &store.profile()) {
            if is_ahead {
                let to = to.clone();
                let deliver = move |arrival| if to.send(arrival).is_ok() { Flow::Go } else { Flow::Stop };
                tickets.push(session.fetcher().submit(store, request, deliver));
            } else {
                read.extend(session.fetcher().read_now(&**store, &request)?);
            }
        }
        Ok(Self { arrivals, _tickets: tickets, read, missing, kept, pieces: there })
    }

    /// Waits for the pieces, in the order of the window.
    ///
    /// # Errors
    ///
    /// What the store reports, and what ends a wait.
    pub(crate) fn take(self, file: &File) -> Result<Vec<Bytes>> {
        let perf = file.perf();
        let from = perf.now();
        let outcome = self.collect();
        if let Some(from) = from {
            perf.note_wait(from);
        }
        outcome
    }

    fn collect(self) -> Result<Vec<Bytes>> {
        let mut pieces = self.pieces;
        let mut put = |id: usize, bytes: Bytes| match pieces.get_mut(id) {
            Some(piece) => {
                *piece = bytes;
                Ok(())
            }
            None => Err(Error::internal("bytes arrived that were not requested")),
        };
        let mut read = self.read.into_iter();
        for _ in 0..self.missing {
            let arrival = match read.next() {
                Some(arrival) => arrival,
                None => interrupt::receive(&self.arrivals)?
                    .ok_or_else(|| Error::new(ErrorKind::Io, "the store stopped delivering"))?,
            };
            put(arrival.id as usize, arrival.bytes?)?;
        }
        for (id, coming) in self.kept {
            put(id, coming.wait()?)?;
        }
        Ok(pieces)
    }
}
