//! Blocks that several threads miss at the same time.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};

use sapwood::io::{ByteRange, Ends, MemoryStore, Profile, Receive, Recorded, Store, load};
use sapwood::{Error, ErrorKind, Result};
use sapwood_store::{BlockCache, CacheKind, CacheOptions};

const BLOCK: u64 = 1 << 10;

/// A store that answers when it is told to.
struct Held {
    inner: Recorded<MemoryStore>,
    /// Whether answers may go out, and how many reads wait for that.
    gate: (Mutex<(bool, usize)>, Condvar),
    /// The next read fails.
    fails: AtomicBool,
}

impl Held {
    fn new(content: &[u8]) -> Arc<Self> {
        Arc::new(Self {
            inner: Recorded::new(MemoryStore::new("x", content.to_vec())),
            gate: Default::default(),
            fails: AtomicBool::new(false),
        })
    }

    fn release(&self) {
        self.gate.0.lock().expect("no panic under this lock").0 = true;
        self.gate.1.notify_all();
    }

    /// Until a read has come.
    fn reached(&self) {
        let mut state = self.gate.0.lock().expect("no panic under this lock");
        while state.1 == 0 {
            state = self.gate.1.wait(state).expect("no panic under this lock");
        }
    }
}

impl Store for Held {
    fn ends(&self, head: usize, tail: usize) -> Result<Ends> {
        self.inner.ends(head, tail)
    }

    fn read_ranges(&self, ranges: &[ByteRange], into: &mut dyn Receive) -> Result<()> {
        let mut state = self.gate.0.lock().expect("no panic under this lock");
        state.1 += 1;
        self.gate.1.notify_all();
        while !state.0 {
            state = self.gate.1.wait(state).expect("no panic under this lock");
        }
        drop(state);
        if self.fails.swap(false, Ordering::Relaxed) {
            return Err(Error::new(ErrorKind::Io, "this time it fails"));
        }
        self.inner.read_ranges(ranges, into)
    }

    fn profile(&self) -> Profile {
        self.inner.profile()
    }
}

#[test]
fn what_many_miss_at_once_is_asked_for_once() {
    let bytes: Vec<u8> = (0..3 * BLOCK as u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    for fails in [false, true] {
        let folder = std::env::temp_dir().join(format!("sapwood-at-once-{fails}-{}", std::process::id()));
        let options = CacheOptions::new(CacheKind::Blocks, &folder);
        let far = Held::new(&bytes);
        far.fails.store(fails, Ordering::Relaxed);
        // Two stores of one file: threads share blocks whichever they read.
        let stores = [0, 1].map(|_| Arc::new(BlockCache::new(far.clone(), "x", &options)));
        for store in &stores {
            store.ends(0, 0).unwrap();
        }
        far.inner.take_calls();
        // A waiting caller is polled whether it still wants to.
        let waiting = [const { AtomicBool::new(false) }; 8];
        let failed: usize = std::thread::scope(|scope| {
            let first =
                scope.spawn(|| load(&*stores[0], &[0..2 * BLOCK]).map(|got| got[0] == bytes[..2 * BLOCK as usize]));
            far.reached();
            let others: Vec<_> = (waiting.iter().zip(stores.iter().cycle()))
                .map(|(waits, store)| {
                    let wanted = || {
                        waits.store(true, Ordering::Relaxed);
                        true
                    };
                    scope.spawn(move || store.fetch(&[BLOCK + 5..2 * BLOCK], &wanted))
                })
                .collect();
            while !waiting.iter().all(|waits| waits.load(Ordering::Relaxed)) {
                std::thread::yield_now();
            }
            far.release();
            let joined: u64 = others.into_iter().map(|other| other.join().unwrap().unwrap().joined).sum();
            assert_eq!(joined, if fails { joined } else { 8 });
            let first = first.join().unwrap();
            assert!(first.as_ref().is_ok_and(|right| *right) || fails);
            usize::from(first.is_err())
        });
        assert_eq!(failed, usize::from(fails), "a request that waits for another does not fail with it");
        if !fails {
            let asked: Vec<_> = far.inner.take_calls().into_iter().map(|call| call.ranges).collect();
            assert_eq!(asked, [[0..2 * BLOCK]]);
        }
        assert!(load(&*stores[1], &[0..3 * BLOCK]).unwrap()[0] == bytes);
        std::fs::remove_dir_all(folder).unwrap();
    }
}
