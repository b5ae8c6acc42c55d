//! Files of the upstream that are open, each for the clients that present the same secret.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, UNIX_EPOCH};

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared};
use sapwood::io::Store;
use sapwood::{Error, ErrorKind};
use sapwood_store::{BlockCache, CacheOptions, Listed};
use twox_hash::XxHash64;

use crate::access::{Access, Secret};
use crate::file_prefetch::FilePrefetch;
use crate::metrics::Metrics;
use crate::opened::Opened;
use crate::path::Path;
use crate::upstream::{Counted, Upstream};
use crate::upstream_reads::{FileReads, UpstreamReads, ending};

/// Doors that are remembered; those that were not used for the longest time are forgotten first.
const SLOTS: usize = 1024;

/// A path, and what a client presents to read it: what lets one client in says nothing for another.
type Key = (Path, Secret);

/// What several clients wait for.
type Opening = Shared<BoxFuture<'static, Result<Arc<Opened>, Arc<Error>>>>;

/// A file as it is open for clients that present the same secret.
#[derive(Default)]
struct FileSlot {
    state: Mutex<FileSlotState>,
    /// The higher, the later it was used.
    used: AtomicU64,
}

#[derive(Default)]
struct FileSlotState {
    /// Open, and since when that is known.
    opened: Option<(Instant, Arc<Opened>)>,
    /// The upstream is being asked.
    opening: Option<Opening>,
}

/// What all answers share.
pub(crate) struct Supply {
    pub(crate) reads: UpstreamReads,
    pub(crate) metrics: Arc<Metrics>,
}

/// The files that clients ask for.
pub(crate) struct Files {
    pub(crate) upstream: Upstream,
    pub(crate) access: Access,
    cache: CacheOptions,
    max_age: Duration,
    supply: Arc<Supply>,
    slots: Mutex<HashMap<Key, Arc<FileSlot>>>,
    clock: AtomicU64,
}

impl Files {
    pub(crate) fn new(
        upstream: Upstream,
        access: Access,
        cache: CacheOptions,
        max_age: Duration,
        supply: Arc<Supply>,
    ) -> Self {
        let (slots, clock) = Default::default();
        Self { upstream, access, cache, max_age, supply, slots, clock }
    }

    /// The file of a path, for clients that present `secret`. The upstream is asked for its state, with that secret,
    /// unless it was asked less than `max_age` ago. Clients that come while it is being asked share the outcome, and it
    /// is waited for even when all of them have left: a thread is taken for so long, and the next client finds what
    /// came of it.
    pub(crate) async fn open(self: &Arc<Self>, path: &Path, secret: &Secret) -> Result<Arc<Opened>, Arc<Error>> {
        let slot = self.slot(path, secret);
        let opening = {
            let mut state = lock(&slot.state);
            if let Some((since, opened)) = &state.opened
                && since.elapsed() < self.max_age
            {
                return Ok(Arc::clone(opened));
            }
            match &state.opening {
                Some(opening) => opening.clone(),
                None => {
                    let opening = Arc::clone(self).start_opening(path, secret, &slot);
                    state.opening = Some(opening.clone());
                    opening
                }
            }
        };
        opening.await
    }

    fn start_opening(self: Arc<Self>, path: &Path, secret: &Secret, slot: &Arc<FileSlot>) -> Opening {
        let (path, secret, slot) = (path.clone(), secret.clone(), Arc::clone(slot));
        let since = Instant::now();
        let work = async move {
            let reads = self.supply.reads.of_file(&path);
            let (files, of_file) = (Arc::clone(&self), reads.clone());
            let looked = self.supply.reads.run(&reads, move || files.look(&path, &secret, of_file)).await;
            let mut state = lock(&slot.state);
            state.opening = None;
            let old = state.opened.take().map(|(_, old)| old);
            let opened = looked.map_err(Arc::new)?;
            // What is known of a file stays known as long as it is the same.
            let same = old.filter(|old| old.etag == opened.etag && old.len == opened.len);
            let opened = same.unwrap_or_else(|| Arc::new(opened));
            state.opened = Some((since, Arc::clone(&opened)));
            Ok(opened)
        };
        let task = tokio::spawn(work);
        async move { task.await.unwrap_or_else(|_| Err(Arc::new(ending()))) }.boxed().shared()
    }

    /// The file is not what it was: the next request asks for its state.
    pub(crate) fn forget(&self, path: &Path, secret: &Secret, changed: &Arc<Opened>) {
        let slot = self.slot(path, secret);
        lock(&slot.state).opened.take_if(|(_, opened)| Arc::ptr_eq(opened, changed));
    }

    fn slot(&self, path: &Path, secret: &Secret) -> Arc<FileSlot> {
        let mut slots = lock(&self.slots);
        let key = (path.clone(), secret.clone());
        if slots.len() >= SLOTS && !slots.contains_key(&key) {
            let mut times: Vec<u64> = slots.values().map(|slot| slot.used.load(Ordering::Relaxed)).collect();
            times.sort_unstable();
            let middle = times.get(times.len() / 2).copied().unwrap_or(u64::MAX);
            slots.retain(|_, slot| slot.used.load(Ordering::Relaxed) > middle);
        }
        let slot = slots.entry(key).or_default();
        slot.used.store(self.clock.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
        Arc::clone(slot)
    }

    /// The names in a folder, as the upstream lists them to clients that present `secret`.
    pub(crate) async fn list(self: &Arc<Self>, path: &Path, secret: &Secret) -> sapwood::Result<Vec<Listed>> {
        let reads = self.supply.reads.of_file(path);
        let files = Arc::clone(self);
        let path = path.clone();
        let secret = secret.clone();
        let list = move || {
            files.supply.metrics.upstream_reads.add(1);
            let listed = files.upstream.list(&path, &files.access.net(&secret));
            if listed.is_err() {
                files.supply.metrics.upstream_errors.add(1);
            }
            listed
        };
        self.supply.reads.run(&reads, list).await
    }

    fn look(&self, path: &Path, secret: &Secret, reads: FileReads) -> sapwood::Result<Opened> {
        let (inner, name) = self.upstream.store(path, &self.access.net(secret))?;
        let store = Counted { inner, metrics: Arc::clone(&self.supply.metrics) };
        let cache = BlockCache::new(store, &name, &self.cache);
        let identity = cache.ends(0, 0)?.identity;
        let proof = cache.proof().unwrap_or_default();
        let validator = identity.validator.as_deref().unwrap_or_default();
        let modified = is_date(validator).then(|| validator.to_owned());
        let etag = match is_tag(validator) {
            true => validator.to_owned(),
            // Two numbers of the same text: that two states share both is not to be expected.
            false => {
                let text = format!("{}\n{proof}", identity.len);
                let half = |seed| XxHash64::oneshot(seed, text.as_bytes());
                format!("\"{:016x}{:016x}\"", half(0), half(1))
            }
        };
        if identity.len > i64::MAX as u64 {
            return Err(Error::new(ErrorKind::Unsupported, "the file is too long for http"));
        }
        Ok(Opened {
            cache: Arc::new(cache),
            len: identity.len,
            etag,
            changed: changed(validator),
            modified,
            sums: Mutex::default(),
            prefetch: FilePrefetch::default(),
            reads,
        })
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// When a file was changed, in seconds since 1970, if its validator is a date or begins with a time; otherwise 0.
fn changed(validator: &str) -> i64 {
    if is_date(validator) {
        let since = httpdate::parse_http_date(validator).ok().and_then(|date| date.duration_since(UNIX_EPOCH).ok());
        return since.and_then(|since| i64::try_from(since.as_secs()).ok()).unwrap_or(0);
    }
    validator.split_once(['.', '-']).and_then(|(seconds, _)| seconds.parse().ok()).filter(|time| *time > 0).unwrap_or(0)
}

/// Whether a validator can be passed on as a strong ETag.
fn is_tag(text: &str) -> bool {
    let inside = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    inside.is_some_and(|tag| tag.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'"'))
}

/// Whether a validator is a date of http: `Sun, 06 Nov 1994 08:49:37 GMT`.
fn is_date(text: &str) -> bool {
    text.len() == 29 && text.ends_with(" GMT") && text.is_ascii() && text.get(3..5) == Some(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn validators_are_tags_or_dates_or_neither() {
        assert!(
            is_tag("\"a-1\"") && !is_tag("a") && !is_tag("\"a\"b\"") && !is_tag("\"a\u{e9}\"") && !is_tag("\"a b\"")
        );
        assert!(
            is_date("Sun, 06 Nov 1994 08:49:37 GMT") && !is_date("now") && !is_date("1234567.000000000-12-1234567")
        );
        assert_eq!(changed("Sun, 06 Nov 1994 08:49:37 GMT"), 784_111_777);
        assert_eq!([changed("1234567.000000000-12-99"), changed("1234567-281")], [1_234_567; 2]);
        assert_eq!([changed("\"12-3\""), changed(""), changed("now"), changed("-5-3")], [0; 4]);
    }
}
