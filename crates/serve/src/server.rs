//! The proxy as a server: it begins, and ends in order.

use std::net::{SocketAddr, TcpListener};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{Either, select};
use sapwood::{Error, Result};
use sapwood_store::Notices;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{Semaphore, watch};
use tokio::time::{sleep, timeout};

use crate::access::Access;
use crate::connections::Acceptor;
use crate::files::{Files, Supply};
use crate::handler::Handler;
use crate::http::Http;
use crate::metrics::Metrics;
use crate::options::ProxyOptions;
use crate::prefetch::Prefetcher;
use crate::tls::acceptor;
use crate::upstream::Upstream;
use crate::upstream_reads::{self, UpstreamReads};
use crate::xrootd::{Gate, Service, Xrootd};

/// Threads that move bytes.
const THREADS: usize = 2;
/// Threads that read the cache. Reads of the upstream have threads of their own, so that these never wait for a server.
const CACHE_READS: usize = 32;
/// More files are open at no time.
const OPEN_FILES: u64 = 65_536;
/// How long answers that are being sent may take once the proxy is to end.
const GRACE: Duration = Duration::from_secs(10);

/// A range server in front of files that are elsewhere. It ends when this is dropped.
///
/// # Example
///
/// ```
/// use sapwood::io::{Store, load};
/// use sapwood_serve::{Proxy, ProxyOptions};
/// use sapwood_store::{HttpStore, NetOptions};
/// # let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../core/tests/data");
/// # let cache = std::env::temp_dir().join(format!("sapwood-doc-proxy-{}", std::process::id()));
/// let proxy = Proxy::start(ProxyOptions::new(folder, &cache))?;
/// let store = HttpStore::new(&format!("{}/plain.root", proxy.url()), &NetOptions::default())?;
/// assert_eq!(&store.ends(4, 0)?.head[..], b"root");
/// assert!(proxy.metrics().contains("sapwood_proxy_misses_total 1"));
/// # drop(proxy);
/// # std::fs::remove_dir_all(cache).ok();
/// # Ok::<(), sapwood::Error>(())
/// ```
pub struct Proxy {
    address: SocketAddr,
    xrootd: Option<SocketAddr>,
    scheme: &'static str,
    handler: Arc<Handler>,
    notices: Notices,
    stop: watch::Sender<bool>,
    connections: usize,
    permits: Arc<Semaphore>,
    runtime: Option<Runtime>,
}

impl Proxy {
    /// Listens, and answers from then on.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](sapwood::ErrorKind::Mismatch) for invalid options; what reading certificates and listening report.
    /// The upstream is not asked.
    pub fn start(options: ProxyOptions) -> Result<Self> {
        let upstream = Upstream::new(&options.upstream)?;
        let access = Access::new(options.token.as_deref(), &options.net, upstream.is_far())?;
        let tls = match &options.tls {
            Some((certificate, key)) => Some(acceptor(certificate, key)?),
            None => None,
        };
        let metrics = Arc::new(Metrics::default());
        let supply = Arc::new(Supply { reads: UpstreamReads::new(&metrics), metrics: Arc::clone(&metrics) });
        let prefetcher = options.prefetch.then(|| Prefetcher::start(&metrics)).transpose()?.map(Arc::new);
        let gate = match &options.xrootd {
            Some(xrootd) => Some(Gate::new(xrootd, &access, tls.is_some())?),
            None => None,
        };
        let notices = options.cache.notices.clone();
        let cache_dir = options.cache.dir.clone();
        let files = Arc::new(Files::new(upstream, access, options.cache, options.max_age, Arc::clone(&supply)));
        let service = gate.map(|gate| {
            let service = Service::new(&files, &supply, prefetcher.as_ref(), gate, tls.clone(), options.idle);
            Arc::new(Xrootd(Arc::new(service)))
        });
        let handler = Arc::new(Handler { files, supply, prefetcher, cache_dir });
        let (listener, address) = listen(options.bind)?;
        let xrootd = options.xrootd.as_ref().map(|xrootd| listen(xrootd.bind)).transpose()?;
        let runtime = Builder::new_multi_thread()
            .worker_threads(THREADS)
            .max_blocking_threads(upstream_reads::ALL + CACHE_READS)
            .thread_name("sapwood-serve")
            .enable_io()
            .enable_time()
            .build()?;
        let connections = options.connections.clamp(1, Semaphore::MAX_PERMITS >> 32);
        let permits = Arc::new(Semaphore::new(connections));
        let (stop, stopped) = watch::channel(false);
        let scheme = if tls.is_some() { "https" } else { "http" };
        let http = Arc::new(Http { handler: Arc::clone(&handler), tls, idle: options.idle });
        let acceptor = Acceptor::new(http, Arc::clone(&permits), options.idle, stopped.clone());
        let inside = runtime.enter();
        runtime.spawn(acceptor.accept(tokio::net::TcpListener::from_std(listener)?));
        let xrootd = match xrootd.zip(service) {
            Some(((listener, address), service)) => {
                let acceptor = Acceptor::new(service, Arc::clone(&permits), options.idle, stopped);
                runtime.spawn(acceptor.accept(tokio::net::TcpListener::from_std(listener)?));
                Some(address)
            }
            None => None,
        };
        drop(inside);
        Ok(Self { address, xrootd, scheme, handler, notices, stop, connections, permits, runtime: Some(runtime) })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What stands before the paths of files: `http://127.0.0.1:1234`.
    pub fn url(&self) -> String {
        format!("{}://{}", self.scheme, self.address)
    }

    /// Address of XRootD's protocol, if it is spoken.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::io::{Store, load};
    /// use sapwood_serve::{Proxy, ProxyOptions};
    /// use sapwood_store::{NetOptions, XrootdStore};
    /// # let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../core/tests/data");
    /// # let cache = std::env::temp_dir().join(format!("sapwood-doc-xrootd-{}", std::process::id()));
    /// let proxy = Proxy::start(ProxyOptions::new(folder, &cache).xrootd(([127, 0, 0, 1], 0).into()))?;
    /// let url = proxy.xrootd_url().expect("it was asked for");
    /// assert_eq!(url, format!("root://{}/", proxy.xrootd_address().expect("it was asked for")));
    /// let store = XrootdStore::new(&format!("{url}/plain.root"), &NetOptions::default())?;
    /// assert_eq!(&store.ends(4, 0)?.head[..], b"root");
    /// # drop(proxy);
    /// # std::fs::remove_dir_all(cache).ok();
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn xrootd_address(&self) -> Option<SocketAddr> {
        self.xrootd
    }

    /// Prefix of the paths of files for clients of XRootD, if their protocol is spoken: `root://127.0.0.1:1094/`.
    pub fn xrootd_url(&self) -> Option<String> {
        self.xrootd.map(|address| format!("root://{address}/"))
    }

    /// What `/metrics` tells.
    pub fn metrics(&self) -> String {
        self.handler.metrics()
    }

    /// Waits for SIGINT or SIGTERM; what the cache has to say meanwhile is handed to `say`.
    ///
    /// # Errors
    ///
    /// Where the system gives no signals.
    pub fn wait(&self, say: &mut dyn FnMut(&str)) -> Result<()> {
        use tokio::signal::unix::{SignalKind, signal};
        let Some(runtime) = &self.runtime else { return Ok(()) };
        runtime.block_on(async {
            let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
            loop {
                let (one, other) = (pin!(interrupt.recv()), pin!(terminate.recv()));
                let clock = pin!(sleep(Duration::from_secs(1)));
                let ended = matches!(select(select(one, other), clock).await, Either::Left(_));
                self.notices.take().iter().for_each(|words| say(words));
                if ended {
                    return Ok(());
                }
            }
        })
    }

    /// Takes no more connections, lets answers that are being sent come to their end within ten seconds, and ends.
    pub fn stop(mut self) {
        let Some(runtime) = self.runtime.take() else { return };
        self.stop.send_replace(true);
        let all = u32::try_from(self.connections).unwrap_or(u32::MAX);
        runtime.block_on(async { drop(timeout(GRACE, self.permits.acquire_many(all)).await) });
        // Threads that wait for the upstream end by themselves.
        runtime.shutdown_background();
    }
}

/// Listens at an address; returns which one it is.
fn listen(bind: SocketAddr) -> Result<(TcpListener, SocketAddr)> {
    let listening = |error: std::io::Error| Error::mismatch(format!("{bind} cannot be listened on")).because(error);
    let listener = TcpListener::bind(bind).map_err(listening)?;
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?;
    Ok((listener, address))
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.stop.send_replace(true);
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// Lets this process have as many files open as the system allows it: each connection takes one, and so does each file
/// of the cache that is read. For programs that do nothing else; where it cannot be, fewer connections are served at a
/// time.
///
/// # Example
///
/// ```
/// sapwood_serve::raise_open_files();
/// ```
pub fn raise_open_files() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let now = getrlimit(Resource::Nofile);
    let most = now.maximum.map_or(OPEN_FILES, |most| most.min(OPEN_FILES));
    if now.current.is_some_and(|current| current < most) {
        let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(most), maximum: now.maximum });
    }
}
