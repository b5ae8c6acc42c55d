//! `sapwood proxy`: a caching range server in front of files that are elsewhere.

use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use sapwood::Error;
use sapwood_serve::{Proxy, ProxyOptions, XrootdOptions, raise_open_files};
use sapwood_store::{NetOptions, environment};

use crate::output::{self, Outcome};

/// Serve the files of a server or a folder by ranges over http and root://, to ROOT, uproot, xrdcp, curl and sapwood,
/// and keep what was read.
///
/// Prints an address, and another one for root:// with `--xrootd`: paths of the upstream are paths of this address.
/// Concurrent readers of a block share one request, and the next cluster of the branches that a client reads is
/// prefetched. The token of a client is passed on, and data that need it are served to that client alone. /metrics is
/// for Prometheus, /health for checks that it runs. It ends with SIGINT or SIGTERM.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
                        sapwood proxy --upstream https://example.org/data --cache-dir /scratch/cache \
                        --bind 127.0.0.1:8080\n  \
                  sapwood ls http://127.0.0.1:8080/run1.root\n  \
                  sapwood proxy --upstream root://example.org//store --xrootd 1094\n  \
                  xrdcp root://127.0.0.1:1094//run1.root .")]
pub(crate) struct Arguments {
    /// Prefix of all paths: a URL of http, https, root, roots, dcap or a cloud (`s3://bucket`), or a folder.
    #[arg(long, value_name = "URL")]
    upstream: String,
    /// Folder of the cache; by default your own cache folder.
    #[arg(long, value_name = "DIR")]
    cache_dir: Option<PathBuf>,
    /// Size limit of the cache in bytes; 10000000000 by default.
    #[arg(long, value_name = "BYTES")]
    cache_size: Option<u64>,
    /// Where to listen; port 0 for any that is free.
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:0")]
    bind: SocketAddr,
    /// Where to speak XRootD's protocol as well; on loopback if only a port is named, and port 0 for any that is free.
    #[arg(long, value_name = "[ADDRESS:]PORT", value_parser = place)]
    xrootd: Option<SocketAddr>,
    /// File with keys (`sss`) for clients of root://. Those that have one may read, and the proxy reads with its own
    /// rights for them.
    #[arg(long, value_name = "FILE", requires = "xrootd")]
    xrootd_keytab: Option<PathBuf>,
    /// Let clients of root:// send the name of a user (`unix`), which proves nothing.
    #[arg(long, requires = "xrootd")]
    xrootd_unix: bool,
    /// PEM file with the certificate to speak TLS with, and what signed it.
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// PEM file with its key.
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// File with the token that clients have to present. The upstream is shown the proxy's own then (`BEARER_TOKEN`,
    /// keys of a cloud), and none of theirs.
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Seconds for which the state of a file, and a client's access to it, are not checked again.
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    max_age: u64,
    /// The most connections at a time.
    #[arg(long, value_name = "COUNT", default_value_t = 1024)]
    max_connections: usize,
    /// Seconds after which an idle client is disconnected.
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    idle: u64,
    /// Seconds for which the upstream may send nothing.
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    timeout: u64,
    /// Do not prefetch.
    #[arg(long)]
    no_prefetch: bool,
}

/// An address with a port, or a port of the loopback interface.
fn place(text: &str) -> Result<SocketAddr, String> {
    match text.parse::<u16>() {
        Ok(port) => Ok((Ipv4Addr::LOCALHOST, port).into()),
        Err(_) => text.parse().map_err(|_| "neither a port nor an address with a port".to_owned()),
    }
}

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write, err: &mut dyn Write) -> Outcome {
    if arguments.idle == 0 || arguments.timeout == 0 || arguments.max_connections == 0 {
        return Err(Error::mismatch("--idle, --timeout and --max-connections must not be 0").into());
    }
    let timeout = Duration::from_secs(arguments.timeout);
    let net = NetOptions { timeout, retries: 2, ..NetOptions::default() };
    let options = ProxyOptions {
        net: environment::network(&arguments.upstream, net)?,
        cache: environment::cache("blocks", arguments.cache_dir.clone(), arguments.cache_size)?,
        bind: arguments.bind,
        xrootd: arguments.xrootd.map(|bind| XrootdOptions {
            keytab: arguments.xrootd_keytab.clone(),
            unix: arguments.xrootd_unix,
            ..XrootdOptions::new(bind)
        }),
        tls: arguments.tls_cert.clone().zip(arguments.tls_key.clone()),
        token: arguments.token_file.as_deref().map(environment::token_of).transpose()?,
        max_age: Duration::from_secs(arguments.max_age),
        connections: arguments.max_connections,
        idle: Duration::from_secs(arguments.idle),
        prefetch: !arguments.no_prefetch,
        ..ProxyOptions::new(arguments.upstream.as_str(), "")
    };
    raise_open_files();
    let proxy = Proxy::start(options)?;
    writeln!(out, "{}", proxy.url())?;
    if let Some(url) = proxy.xrootd_url() {
        writeln!(out, "{url}")?;
    }
    out.flush()?;
    proxy.wait(&mut |words| {
        output::warn(err, &words);
    })?;
    proxy.stop();
    Ok(())
}
