//! Threads and connections of the process: one small runtime, and one pool of connections for all files that are opened
//! with the same options.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, TryLockError};
use std::time::Duration;

use reqwest::redirect::Policy;
use reqwest::{Client, NoProxy, Proxy};
use sapwood::{Error, Result};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Semaphore;

use super::tls;
use crate::NetOptions;

/// Threads that move bytes and open TLS records; nothing is decoded on them.
const THREADS: usize = 2;
/// Idle connections that are kept.
const IDLE_CONNECTIONS: usize = 16;
/// Idle connections are closed after this time: servers and firewalls drop them, too.
const IDLE_TIME: Duration = Duration::from_secs(20);
/// Concurrent requests to one host, for all files of the same options: as many as a server accepts without complaint.
pub(crate) const PARALLEL: usize = 8;
/// Sets of options whose connections are kept.
const POOLS: usize = 64;

/// What a request needs.
#[derive(Clone)]
pub(crate) struct Link {
    pub(crate) runtime: Arc<Runtime>,
    pub(crate) client: Client,
    permits: Arc<Mutex<HashMap<String, Arc<Semaphore>>>>,
    kept: Arc<Mutex<HashMap<TypeId, Arc<dyn Any + Send + Sync>>>>,
}

impl Link {
    /// What a kind of store keeps for all files of these options, such as its connections. Made when first asked for.
    pub(crate) fn keep<T: Default + Send + Sync + 'static>(&self) -> Arc<T> {
        let mut kept = self.kept.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let one = kept.entry(TypeId::of::<T>()).or_insert_with(|| Arc::<T>::default());
        Arc::clone(one).downcast().unwrap_or_default() // it is of the type that it is kept under
    }

    /// One permit for each request to this host that may be on its way.
    pub(crate) fn permits(&self, host: &str) -> Arc<Semaphore> {
        let mut permits = self.permits.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        match permits.get(host) {
            Some(found) => Arc::clone(found),
            None => Arc::clone(permits.entry(host.to_owned()).or_insert_with(|| Arc::new(Semaphore::new(PARALLEL)))),
        }
    }
}

struct NetRuntime {
    /// The process that made it.
    process: u32,
    runtime: Arc<Runtime>,
    links: HashMap<NetOptions, Link>,
}

/// Threads belong to the process, so they are kept for as long as it lives. A program that opens no URL has none.
static RUNTIME: Mutex<Option<NetRuntime>> = Mutex::new(None);

/// The connections for these options.
pub(crate) fn link(options: &NetOptions) -> Result<Link> {
    let mut engine = match RUNTIME.try_lock() {
        Ok(engine) => engine,
        Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
        // Another thread holds it; in a child that was forked meanwhile, one that does not exist.
        Err(TryLockError::WouldBlock) => match patient() {
            Some(engine) => engine,
            None => return connect(Arc::new(runtime()?), options),
        },
    };
    let process = std::process::id();
    if let Some(old) = engine.take_if(|engine| engine.process != process) {
        // A child has none of its parent's threads, and may not speak on its parent's connections. To drop them would
        // be to wait for the threads.
        std::mem::forget(old);
    }
    if engine.is_none() {
        *engine = Some(NetRuntime { process, runtime: Arc::new(runtime()?), links: HashMap::new() });
    }
    let Some(engine) = &mut *engine else { return Err(Error::unsupported("no threads for the network")) };
    if let Some(link) = engine.links.get(options) {
        return Ok(link.clone());
    }
    let link = connect(Arc::clone(&engine.runtime), options)?;
    if engine.links.len() >= POOLS {
        engine.links.clear(); // what is in use lives on with its users
    }
    engine.links.insert(options.clone(), link.clone());
    Ok(link)
}

/// Waits a moment for the lock: its holder may be reading certificates.
fn patient() -> Option<std::sync::MutexGuard<'static, Option<NetRuntime>>> {
    for _ in 0..200 {
        std::thread::sleep(Duration::from_millis(5));
        match RUNTIME.try_lock() {
            Ok(engine) => return Some(engine),
            Err(TryLockError::Poisoned(poisoned)) => return Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => {}
        }
    }
    None
}

fn runtime() -> Result<Runtime> {
    let builder = &mut Builder::new_multi_thread();
    let built = builder.worker_threads(THREADS).thread_name("sapwood-net").enable_io().enable_time().build();
    Ok(built?)
}

fn connect(runtime: Arc<Runtime>, options: &NetOptions) -> Result<Link> {
    let refused = |what: &'static str| move |error: reqwest::Error| Error::mismatch(what).because(error);
    let mut builder = Client::builder()
        .tls_backend_preconfigured(tls::config(options)?)
        .http1_only()
        // XRootD 5.5 knows `Range` and no `range`: it would send the whole file.
        .http1_title_case_headers()
        // Where to go next, and with which secrets, is decided for each hop.
        .redirect(Policy::none())
        .referer(false)
        .no_proxy()
        .user_agent(concat!("sapwood/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(options.timeout)
        .pool_idle_timeout(IDLE_TIME)
        .pool_max_idle_per_host(IDLE_CONNECTIONS)
        .tcp_keepalive(Duration::from_secs(30));
    let except = options.no_proxy.as_deref().and_then(NoProxy::from_string);
    for (proxy, of) in [(&options.http_proxy, Proxy::http as fn(String) -> _), (&options.https_proxy, Proxy::https)] {
        if let Some(url) = proxy.clone().filter(|url| !url.is_empty()) {
            let proxy = of(url).map_err(refused("malformed URL of the http proxy"))?;
            builder = builder.proxy(proxy.no_proxy(except.clone()));
        }
    }
    let client = {
        let _inside = runtime.enter();
        builder.build().map_err(refused("no connections with these options"))?
    };
    Ok(Link { runtime, client, permits: Arc::default(), kept: Arc::default() })
}
