//! Stores against their contract, and the fetcher against stores that are slow or broken.

use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use sapwood::ErrorKind;
use sapwood::io::{
    Arrival, ByteRange, Fetcher, Flow, LocalFile, MemoryStore, Recorded, Request, Store, Ticket, Want, coalesce,
};
use sapwood::memory::Memory;
use sapwood_testkit::{Fault, Faulty, Throttled, store_contract};

/// Bytes that do not repeat within 64 KiB.
fn content(bytes: usize) -> Vec<u8> {
    (0..bytes.div_ceil(2)).flat_map(|i| (i as u16).to_be_bytes()).take(bytes).collect()
}

fn memory_store(bytes: usize) -> MemoryStore {
    MemoryStore::new("memory", content(bytes))
}

struct Scrap(PathBuf);

impl Drop for Scrap {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[test]
fn every_store_keeps_the_contract() {
    for bytes in [0, 1, 2, 10, 1_000, 50_000] {
        let content = content(bytes);
        let path = Scrap(std::env::temp_dir().join(format!("sapwood-contract-{}-{bytes}", std::process::id())));
        std::fs::write(&path.0, &content).unwrap();
        store_contract::check(&LocalFile::open(&path.0).unwrap(), &content);
        store_contract::check(&memory_store(bytes), &content);
        store_contract::check(&Recorded::new(memory_store(bytes)), &content);
        store_contract::check(&Arc::new(memory_store(bytes)), &content);
        store_contract::check(&Faulty::new(memory_store(bytes), []), &content);
        let link = Throttled::new(memory_store(bytes), Duration::from_micros(50), 1 << 40);
        store_contract::check(&link, &content);
    }
}

/// A request of these ranges, each of them one piece, numbered from `first_entry` on.
fn request(ranges: &[ByteRange], first_entry: u64) -> Request {
    let pieces = ranges.iter().zip(0..).map(|(range, index)| sapwood::io::Piece {
        id: first_entry + index as u64,
        range: index,
        place: 0..(range.end - range.start) as usize,
    });
    Request { ranges: ranges.to_vec(), pieces: pieces.collect(), first_entry }
}

/// Submits to a channel.
fn submit(fetcher: &Fetcher, store: &Arc<dyn Store>, request: Request) -> (Ticket, Receiver<Arrival>) {
    let (to, arrivals) = mpsc::channel();
    let deliver = move |arrival| if to.send(arrival).is_ok() { Flow::Go } else { Flow::Stop };
    (fetcher.submit(store, request, deliver), arrivals)
}

/// The thread that delivers is done a moment after the receiver has its bytes.
fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let from = Instant::now();
    while !holds() {
        assert!(from.elapsed() < Duration::from_secs(20), "{what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn live_bytes_become(fetcher: &Fetcher, bytes: u64) {
    eventually(&format!("{bytes} bytes are live"), || fetcher.live_bytes() == bytes);
}

#[test]
fn all_pieces_arrive_with_their_bytes_and_the_memory_is_used_again() {
    let bytes = content(3_000_000);
    let path = Scrap(std::env::temp_dir().join(format!("sapwood-fetch-{}", std::process::id())));
    std::fs::write(&path.0, &bytes).unwrap();
    let store: Arc<dyn Store> = Arc::new(LocalFile::open(&path.0).unwrap());
    let wants: Vec<_> = (0..200)
        .map(|id| (id, id * 13_331 % 2_900_000))
        .map(|(id, start)| Want { id, range: start..start + id * 100, first_entry: id })
        .collect();
    let memory = Memory::new(32 << 20);
    let fetcher = Fetcher::new(memory.clone(), 3);
    for _ in 0..3 {
        let (to, arrivals) = mpsc::channel();
        let tickets: Vec<_> = coalesce(&wants, &store.profile())
            .into_iter()
            .map(|request| {
                let to = to.clone();
                fetcher.submit(&store, request, move |arrival| match to.send(arrival) {
                    Ok(()) => Flow::Go,
                    Err(_) => Flow::Stop,
                })
            })
            .collect();
        drop(to);
        let mut met = vec![false; wants.len()];
        for Arrival { id, bytes: got } in arrivals {
            let range = &wants[id as usize].range;
            assert!(got.unwrap() == bytes[range.start as usize..range.end as usize]);
            assert!(!std::mem::replace(&mut met[id as usize], true));
        }
        assert!(met.iter().all(|met| *met));
        drop(tickets);
        live_bytes_become(&fetcher, 0);
        assert!(memory.idle_bytes() > 0, "to be used again");
    }
}

#[test]
fn requests_are_read_by_first_entry() {
    let store = Arc::new(Recorded::new(Throttled::new(memory_store(1_000), Duration::from_millis(30), 1 << 40)));
    let shared: Arc<dyn Store> = store.clone();
    let fetcher = Fetcher::new(Memory::new(1 << 20), 1);
    // The first keeps the thread busy while the others queue up.
    let submitted: Vec<_> =
        [0, 50, 20, 90, 10].map(|entry| submit(&fetcher, &shared, request(&[entry..entry + 5], entry))).into();
    for (_, arrivals) in &submitted {
        assert!(arrivals.recv().unwrap().bytes.is_ok());
    }
    eventually("the last call is noted", || store.calls().len() == 5);
    let starts: Vec<_> = store.calls().iter().map(|call| call.ranges[0].start).collect();
    assert_eq!(starts, [0, 10, 20, 50, 90]);
}

#[test]
fn the_budget_holds_requests_back_until_bytes_are_dropped() {
    let store = Arc::new(Recorded::new(Throttled::new(memory_store(10_000), Duration::from_millis(100), 1 << 40)));
    let shared: Arc<dyn Store> = store.clone();
    let fetcher = Fetcher::new(Memory::new(1_000), 4);
    let (_first_ticket, first) = submit(&fetcher, &shared, request(&[0..600], 0));
    let (_second_ticket, second) = submit(&fetcher, &shared, request(&[600..1_000], 1));
    let (_third_ticket, third) = submit(&fetcher, &shared, request(&[0..500], 2));
    let (one, two) = (first.recv().unwrap(), second.recv().unwrap());
    let mut three = third.recv().unwrap();
    eventually("the last call is noted", || store.calls().len() == 3);
    let calls = store.calls();
    let begin = |bytes: u64| calls.iter().find(|call| call.bytes() == bytes).unwrap();
    // The second fitted beside the first. The third did not, and came when nothing was being read any more.
    assert!(begin(400).at < begin(600).at + begin(600).took);
    assert!(begin(500).at >= begin(600).at + begin(600).took && begin(500).at >= begin(400).at + begin(400).took);
    assert_eq!(fetcher.live_bytes(), 1_500);
    drop((one, two));
    live_bytes_become(&fetcher, 500);
    // A slice keeps the whole range.
    three.bytes = three.bytes.map(|bytes| bytes.slice(7..8));
    assert_eq!(fetcher.live_bytes(), 500);
    drop(three);
    live_bytes_become(&fetcher, 0);
}

#[test]
fn a_request_larger_than_the_budget_passes_alone() {
    let store: Arc<dyn Store> = Arc::new(memory_store(10_000));
    let fetcher = Fetcher::new(Memory::new(10), 4);
    let (_ticket, arrivals) = submit(&fetcher, &store, request(&[0..10_000, 5..6], 0));
    assert_eq!(arrivals.into_iter().map(|arrival| arrival.bytes.unwrap().len()).collect::<Vec<_>>(), [10_000, 1]);
}

#[test]
fn holding_on_to_everything_slows_down_but_never_stops() {
    let store: Arc<dyn Store> = Arc::new(memory_store(10_000));
    let fetcher = Fetcher::new(Memory::new(100), 4);
    let submitted: Vec<_> = (0..50).map(|i| submit(&fetcher, &store, request(&[i * 90..i * 90 + 90], i))).collect();
    let held: Vec<_> = submitted.iter().map(|(_, arrivals)| arrivals.recv().unwrap()).collect();
    assert_eq!(fetcher.live_bytes(), 50 * 90);
    drop(held);
    live_bytes_become(&fetcher, 0);
}

#[test]
fn a_dropped_ticket_cancels() {
    let stalled: Arc<dyn Store> = Arc::new(Faulty::new(memory_store(100), [Fault::StallAfter(1), Fault::None]));
    let fetcher = Fetcher::new(Memory::new(1 << 20), 1);
    let (reading, first) = submit(&fetcher, &stalled, request(&[0..10, 10..20], 0));
    let (waiting, second) = submit(&fetcher, &stalled, request(&[20..30], 1));
    let (_kept, third) = submit(&fetcher, &stalled, request(&[30..40], 2));
    assert_eq!(first.recv().unwrap().bytes.unwrap().len(), 10);
    drop(waiting);
    assert!(second.recv().is_err(), "forgotten without a word");
    drop(reading);
    assert!(first.recv().is_err(), "told to stop");
    assert_eq!(third.recv().unwrap().bytes.unwrap().len(), 10, "the thread is free again");
    live_bytes_become(&fetcher, 0);
}

#[test]
fn each_missing_piece_arrives_as_the_error() {
    let kinds = |fault: Fault| -> Vec<(u64, Option<ErrorKind>)> {
        let store: Arc<dyn Store> = Arc::new(Faulty::new(memory_store(100), [fault]));
        let fetcher = Fetcher::new(Memory::new(1 << 20), 2);
        let (_ticket, arrivals) = submit(&fetcher, &store, request(&[0..10, 10..20, 30..30], 0));
        let kinds = arrivals.into_iter().map(|arrival| (arrival.id, arrival.bytes.err().map(|error| error.kind())));
        let kinds = kinds.collect();
        live_bytes_become(&fetcher, 0);
        kinds
    };
    let mismatch = Some(ErrorKind::Mismatch);
    assert_eq!(kinds(Fault::None), [(0, None), (1, None), (2, None)]);
    let failed = Some(ErrorKind::TimedOut);
    assert_eq!(kinds(Fault::FailAfter(0, ErrorKind::TimedOut)), [(0, failed), (1, failed), (2, failed)]);
    assert_eq!(kinds(Fault::FailAfter(2, ErrorKind::TimedOut)), [(0, None), (1, None), (2, failed)]);
    assert_eq!(kinds(Fault::LeaveOutFrom(1)), [(0, None), (1, mismatch), (2, mismatch)]);
    assert_eq!(kinds(Fault::Shorten), [(0, mismatch), (1, mismatch), (2, None)]);
    assert_eq!(kinds(Fault::Repeat), [(0, None), (1, None), (2, None)]);
    let panicked = Some(ErrorKind::Internal);
    assert_eq!(kinds(Fault::Panic), [(0, panicked), (1, panicked), (2, panicked)]);
}

#[test]
fn errors_keep_their_location() {
    let store: Arc<dyn Store> = Arc::new(memory_store(100));
    let fetcher = Fetcher::new(Memory::new(1 << 20), 1);
    let (_ticket, arrivals) = submit(&fetcher, &store, request(&[0..10, 95..105], 0));
    for arrival in arrivals {
        let error = arrival.bytes.unwrap_err();
        assert_eq!((error.kind(), error.place().offset), (ErrorKind::Malformed, Some(95)));
        assert_eq!((error.place().expected, error.place().found), (Some(100), Some(105)));
    }
}

#[test]
fn a_receiver_that_stops_or_panics_does_not_affect_others() {
    let store: Arc<dyn Store> = Arc::new(memory_store(100));
    let fetcher = Fetcher::new(Memory::new(1 << 20), 1);
    let count = Arc::new(Mutex::new(0));
    let counted = count.clone();
    let _stopping = fetcher.submit(&store, request(&[0..10, 10..20, 20..30], 0), move |_| {
        *counted.lock().unwrap() += 1;
        Flow::Stop
    });
    let _panicking = fetcher.submit(&store, request(&[0..10], 1), |_| panic!("by plan"));
    let (_ticket, arrivals) = submit(&fetcher, &store, request(&[0..10], 2));
    assert!(arrivals.recv().unwrap().bytes.is_ok());
    assert_eq!(*count.lock().unwrap(), 1);
}

#[test]
fn read_now_counts_but_does_not_wait() {
    let store: Arc<dyn Store> = Arc::new(memory_store(1_000));
    let fetcher = Fetcher::new(Memory::new(10), 1);
    let held = fetcher.read_now(&store, &request(&[0..100], 0)).unwrap();
    let more = fetcher.read_now(&store, &request(&[100..300, 7..9], 0)).unwrap();
    assert_eq!(fetcher.live_bytes(), 302);
    assert_eq!(more.iter().map(|arrival| arrival.id).collect::<Vec<_>>(), [0, 1]);
    drop((held, more));
    assert_eq!(fetcher.live_bytes(), 0);
    let error = fetcher.read_now(&store, &request(&[0..10, 999..1_001], 0)).unwrap_err();
    assert_eq!((error.kind(), fetcher.live_bytes()), (ErrorKind::Malformed, 0));
}

#[test]
fn a_dropped_fetcher_leaves_no_caller_waiting() {
    let store: Arc<dyn Store> = Arc::new(Faulty::new(memory_store(100), [Fault::StallAfter(0)]));
    let fetcher = Fetcher::new(Memory::new(1 << 20), 1);
    let (_first, reading) = submit(&fetcher, &store, request(&[0..10], 0));
    let (_second, waiting) = submit(&fetcher, &store, request(&[0..10], 1));
    live_bytes_become(&fetcher, 10);
    drop(fetcher);
    for arrivals in [reading, waiting] {
        assert_eq!(arrivals.recv().unwrap().bytes.unwrap_err().kind(), ErrorKind::Cancelled);
        assert!(arrivals.recv().is_err());
    }
}

#[test]
fn several_threads_hide_the_latency() {
    let store: Arc<dyn Store> = Arc::new(Throttled::new(memory_store(10_000), Duration::from_millis(50), 1 << 40));
    let fetcher = Fetcher::new(Memory::new(1 << 20), 8);
    let from = Instant::now();
    let submitted: Vec<_> = (0..16).map(|i| submit(&fetcher, &store, request(&[i * 10..i * 10 + 10], i))).collect();
    for (_, arrivals) in &submitted {
        assert!(arrivals.recv().unwrap().bytes.is_ok());
    }
    assert!(from.elapsed() < Duration::from_millis(16 * 50 / 2), "{:?}", from.elapsed());
}
