//! The browser as a server: it begins, waits, and ends.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::select;
use sapwood::{Error, Result};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{Semaphore, watch};

use super::admission::Admission;
use super::handler::Handler;
use super::open_files::OpenFiles;
use super::options::BrowseOptions;
use crate::connections::Acceptor;
use crate::http::Http;

/// Threads that move bytes, and those that read files.
const THREADS: usize = 2;
const READS: usize = 64;
/// Pages have few connections each.
const CONNECTIONS: usize = 256;
const IDLE: Duration = Duration::from_secs(60);

/// A local web page about files. It ends when this is dropped.
///
/// # Example
///
/// ```
/// use std::sync::Arc;
/// use sapwood_serve::{BrowseOptions, Browser};
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../core/tests/data/plain.root");
/// let browser = Browser::start(BrowseOptions {
///     targets: vec![path.to_owned()],
///     port: 0,
///     threads: 1,
///     opener: Arc::new(|path| sapwood_store::environment::open(path, Default::default())),
///     lister: Arc::new(|url| sapwood_store::environment::list(url, Default::default())),
/// })?;
/// // The address has the token: who knows it may read the files.
/// assert!(browser.url().starts_with("http://127.0.0.1:"));
/// # Ok::<(), sapwood::Error>(())
/// ```
pub struct Browser {
    url: String,
    stop: watch::Sender<bool>,
    runtime: Option<Runtime>,
}

impl Browser {
    /// Listens on the loopback interface, and answers from then on. Files are opened when a page asks for them.
    ///
    /// # Errors
    ///
    /// [`NotFound`](sapwood::ErrorKind::NotFound) for a local file that is not there; what listening reports.
    pub fn start(options: BrowseOptions) -> Result<Self> {
        let open_files = OpenFiles::new(&options)?;
        let wanted = SocketAddr::from((Ipv4Addr::LOCALHOST, options.port));
        let listening =
            |error: std::io::Error| Error::mismatch(format!("{wanted} cannot be listened on")).because(error);
        let listener = TcpListener::bind(wanted).map_err(listening)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let (stop, stopped) = watch::channel(false);
        let admission = Admission::new(address.port())?;
        let url = format!("http://{address}{}", admission.prefix());
        let handler = Arc::new(Handler::new(admission, open_files));
        let http = Arc::new(Http { handler, tls: None, idle: IDLE });
        let runtime = Builder::new_multi_thread()
            .worker_threads(THREADS)
            .max_blocking_threads(READS)
            .thread_name("sapwood-browse")
            .enable_io()
            .enable_time()
            .build()?;
        let listener = {
            let _inside = runtime.enter();
            tokio::net::TcpListener::from_std(listener)?
        };
        let permits = Arc::new(Semaphore::new(CONNECTIONS));
        runtime.spawn(Acceptor::new(http, permits, IDLE, stopped).accept(listener));
        Ok(Self { url, stop, runtime: Some(runtime) })
    }

    /// The address of the page.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Waits for SIGINT, SIGTERM or SIGHUP: the end of its terminal.
    ///
    /// # Errors
    ///
    /// Where the system gives no signals.
    pub fn wait(&self) -> Result<()> {
        use tokio::signal::unix::{SignalKind, signal};
        let Some(runtime) = &self.runtime else { return Ok(()) };
        runtime.block_on(async {
            let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
            let mut hangup = signal(SignalKind::hangup())?;
            select(select(pin!(interrupt.recv()), pin!(terminate.recv())), pin!(hangup.recv())).await;
            Ok(())
        })
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        self.stop.send_replace(true);
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
