//! Baskets that several threads seal, and that are written in order while later ones are sealed.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::error::{Error, Result};
use crate::write::basket::SealedBasket;

/// Baskets are written once there are so many bytes of them: they are still in a cache of the processor, and a call of
/// the system costs little beside it.
const WAVE_BYTES: usize = 1 << 20;

/// Which step failed: what cannot be sealed never can, what was not written may be later.
#[derive(Debug)]
pub(crate) enum Failure {
    Sealing(Error),
    Writing(Error),
}

/// The baskets of a cluster, until all are written.
struct Waves<W> {
    baskets: usize,
    /// The next that no thread has begun.
    next: AtomicUsize,
    /// Whether no further one is begun.
    is_over: AtomicBool,
    unwritten: Mutex<Unwritten<W>>,
}

struct Unwritten<W> {
    /// Those that are sealed; at most all of a cluster, where storage is slow.
    sealed: Vec<Option<SealedBasket>>,
    /// All before this one are written, or being written.
    first: usize,
    /// The baskets from there to this one are the next wave, as far as it is sealed; and their bytes.
    ready: usize,
    ready_bytes: usize,
    /// What writes; a thread that writes has it.
    write: Option<W>,
    /// The first failure, in the order of baskets.
    failure: Option<(usize, Failure)>,
}

/// Seals so many baskets on the threads of a pool, or in this one, and writes them in order: `write` is given the
/// number of the first and the baskets of a wave, and is called by one thread at a time. A thread that has sealed the
/// last basket of a wave writes it, while others seal on; a basket that fails ends it all.
///
/// # Errors
///
/// The first failure, in the order of baskets: no wave behind it is written, and all before it are.
pub(crate) fn seal_and_write(
    pool: Option<&rayon::ThreadPool>,
    baskets: usize,
    seal: impl Fn(usize) -> Result<SealedBasket> + Sync,
    write: impl FnMut(usize, Vec<SealedBasket>) -> Result<()> + Send,
) -> std::result::Result<(), Failure> {
    let sealed = (0..baskets).map(|_| None).collect();
    let unwritten = Unwritten { sealed, first: 0, ready: 0, ready_bytes: 0, write: Some(write), failure: None };
    let (next, is_over) = (AtomicUsize::new(0), AtomicBool::new(false));
    let waves = Waves { baskets, next, is_over, unwritten: Mutex::new(unwritten) };
    match pool {
        Some(pool) => pool.scope(|scope| {
            for _ in 0..pool.current_num_threads().min(baskets) {
                scope.spawn(|_| {
                    let _end = EndOfPanic(&waves.is_over);
                    waves.work(&seal);
                });
            }
        }),
        None => waves.work(&seal),
    }
    let unwritten = waves.unwritten.into_inner().unwrap_or_else(PoisonError::into_inner);
    unwritten.failure.map_or(Ok(()), |(_, failure)| Err(failure))
}

/// Has other threads begin nothing more if this one panics.
struct EndOfPanic<'w>(&'w AtomicBool);

impl Drop for EndOfPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}

impl<W: FnMut(usize, Vec<SealedBasket>) -> Result<()>> Waves<W> {
    /// What each thread does.
    fn work(&self, seal: impl Fn(usize) -> Result<SealedBasket>) {
        while !self.is_over.load(Ordering::Relaxed) {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            if number >= self.baskets {
                return;
            }
            match seal(number) {
                Ok(basket) => self.lock().sealed[number] = Some(basket),
                Err(error) => self.fail(&mut self.lock(), number, Failure::Sealing(error)),
            }
            while self.write_wave() {}
        }
    }

    /// Writes a wave, if there is one and no other thread writes.
    fn write_wave(&self) -> bool {
        let taken = self.lock().take();
        let Some((first, wave, mut write)) = taken else { return false };
        let written = write(first, wave);
        let mut unwritten = self.lock();
        unwritten.write = Some(write);
        written.unwrap_or_else(|error| self.fail(&mut unwritten, first, Failure::Writing(error)));
        true
    }

    fn fail(&self, unwritten: &mut Unwritten<W>, number: usize, failure: Failure) {
        self.is_over.store(true, Ordering::Relaxed);
        if unwritten.failure.as_ref().is_none_or(|(first, _)| number < *first) {
            unwritten.failure = Some((number, failure));
        }
    }

    fn lock(&self) -> MutexGuard<'_, Unwritten<W>> {
        // Nothing that could panic is done under the lock.
        self.unwritten.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<W> Unwritten<W> {
    /// The next wave and what writes it, unless one of its baskets is missing, or another thread writes. Where a wave
    /// ends depends on the baskets alone.
    fn take(&mut self) -> Option<(usize, Vec<SealedBasket>, W)> {
        while self.ready_bytes < WAVE_BYTES
            && let Some(Some(basket)) = self.sealed.get(self.ready)
        {
            self.ready_bytes += basket.nbytes() as usize;
            self.ready += 1;
        }
        let is_whole = self.ready_bytes >= WAVE_BYTES || self.ready == self.sealed.len();
        // What is before a basket that cannot be sealed is written: how much must not depend on the threads.
        let is_lost = matches!(self.failure, Some((_, Failure::Writing(_))));
        if is_lost || self.ready == self.first || !is_whole {
            return None;
        }
        let write = self.write.take()?;
        let first = std::mem::replace(&mut self.first, self.ready);
        self.ready_bytes = 0;
        let wave = self.sealed[first..self.ready].iter_mut().filter_map(Option::take).collect();
        Some((first, wave, write))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    fn pool() -> rayon::ThreadPool {
        rayon::ThreadPoolBuilder::new().num_threads(4).build().expect("threads")
    }

    /// A basket whose record says which it is.
    fn basket(number: usize, bytes: usize) -> SealedBasket {
        let mut record = vec![0; bytes.max(8)];
        record[..8].copy_from_slice(&(number as u64).to_be_bytes());
        SealedBasket { record, in_rows: None, elsewhere: 0, unsealed_bytes: 0 }
    }

    fn number(basket: &SealedBasket) -> usize {
        u64::from_be_bytes(basket.record[..8].try_into().expect("8 bytes")) as usize
    }

    #[test]
    fn waves_are_in_order_and_end_with_enough_bytes_or_with_the_last_basket() {
        let pool = pool();
        for (baskets, bytes) in [(0, 8), (1, 8), (7, 8), (40, WAVE_BYTES / 3), (5, 2 * WAVE_BYTES)] {
            let ends = [None, Some(&pool)].map(|pool| {
                let (mut order, mut waves) = (Vec::new(), Vec::new());
                let write = |first, wave: Vec<SealedBasket>| {
                    assert_eq!(first, order.len());
                    waves.push(wave.iter().map(|basket| basket.record.len()).sum::<usize>());
                    order.extend(wave.iter().map(number));
                    Ok(())
                };
                seal_and_write(pool, baskets, |number| Ok(basket(number, bytes)), write).expect("all");
                assert_eq!(order, (0..baskets).collect::<Vec<_>>());
                let whole = waves.split_last().map_or(&[][..], |(_, whole)| whole);
                assert!(whole.iter().all(|all| (WAVE_BYTES..WAVE_BYTES + bytes).contains(all)), "{waves:?}");
                waves
            });
            assert_eq!(ends[0], ends[1], "with one thread and with many");
        }
    }

    #[test]
    fn later_baskets_are_sealed_while_one_is_written() {
        // Whether the first wave is being written, and how many baskets are begun.
        let (seen, changed) = (Mutex::new((false, 0)), std::sync::Condvar::new());
        let wait = |until: &dyn Fn(&(bool, usize)) -> bool| {
            let seen = seen.lock().expect("what is seen");
            drop(changed.wait_while(seen, |seen| !until(seen)).expect("what is seen"));
        };
        let seal = |number| {
            seen.lock().expect("what is seen").1 += 1;
            changed.notify_all();
            if number > 1 {
                wait(&|seen| seen.0);
            }
            Ok(basket(number, WAVE_BYTES))
        };
        let write = |_: usize, _: Vec<SealedBasket>| {
            seen.lock().expect("what is seen").0 = true;
            changed.notify_all();
            // It ends because other threads go on.
            wait(&|seen| seen.1 == 8);
            Ok(())
        };
        seal_and_write(Some(&pool()), 8, seal, write).expect("all");
    }

    #[test]
    fn a_failure_ends_it_and_nothing_behind_it_is_written() {
        let error = || Error::new(ErrorKind::Limit, "full");
        let seal = |number| if number == 30 { Err(error()) } else { Ok(basket(number, WAVE_BYTES / 4)) };
        let mut written = 0;
        let count = |_: usize, wave: Vec<SealedBasket>| {
            written += wave.len();
            Ok(())
        };
        let failed = seal_and_write(Some(&pool()), 100, seal, count);
        assert!(matches!(failed, Err(Failure::Sealing(error)) if error.kind() == ErrorKind::Limit));
        assert_eq!(written, 28, "whole waves");
        let mut calls = 0;
        let write = |_: usize, _: Vec<SealedBasket>| {
            calls += 1;
            if calls == 2 { Err(error()) } else { Ok(()) }
        };
        let failed = seal_and_write(Some(&pool()), 100, |number| Ok(basket(number, WAVE_BYTES / 4)), write);
        assert!(matches!(failed, Err(Failure::Writing(_))));
        assert_eq!(calls, 2, "what comes after a failure is not written");
    }

    #[test]
    fn of_two_failures_the_first_counts() {
        for _ in 0..100 {
            let error = || Error::new(ErrorKind::Limit, "full");
            let seal = |number| if number == 30 { Err(error()) } else { Ok(basket(number, WAVE_BYTES / 4)) };
            let write = |first, _: Vec<SealedBasket>| if first == 8 { Err(error()) } else { Ok(()) };
            assert!(matches!(seal_and_write(Some(&pool()), 100, seal, write), Err(Failure::Writing(_))));
        }
    }

    #[test]
    fn a_panic_ends_it_in_the_caller() {
        let seal = |number| if number == 3 { panic!("on purpose") } else { Ok(basket(number, 8)) };
        let work = || seal_and_write(Some(&pool()), 8, seal, |_, _| Ok(()));
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).is_err());
        let write = |_: usize, _: Vec<SealedBasket>| -> Result<()> { panic!("on purpose") };
        let work = || seal_and_write(Some(&pool()), 8, |number| Ok(basket(number, 8)), write);
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).is_err());
    }
}
