//! `sapwood browse`: files as a local web page.

use std::env;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use sapwood_serve::{BrowseOptions, Browser, Browsing};

use crate::output::Outcome;
use crate::remote::Remote;
use crate::terminal;

/// Browse files in a web browser: folders, histograms of expressions, tables, objects, and how files are laid out.
///
/// The page is on this machine alone: the address that is printed has a token, without which nothing is answered. Files
/// are read only, and of remote ones only what is looked at. It ends with SIGINT or SIGTERM.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  sapwood browse events.root\n  \
                        sapwood browse root://example.org//store/runs/\n  \
                        sapwood browse https://example.org/data/run1.root ~/data --no-open\n\n\
                        On another machine: sapwood browse events.root --no-open --port 8787 there, and here\n\
                        ssh -L 8787:127.0.0.1:8787 THERE; then open the address that was printed.")]
pub(crate) struct Arguments {
    /// Files, folders, and URLs of both: that of a folder ends with a slash.
    #[arg(required = true, value_name = "FILE|URL|FOLDER")]
    targets: Vec<String>,
    /// Port to listen on; 0 for any that is free.
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// Do not open the page, only print its address.
    #[arg(long)]
    no_open: bool,
    /// Browse in this terminal: arrows move and unfold, Enter draws, `/` searches, `c` sets a cut, `q` ends.
    #[arg(long, conflicts_with_all = ["port", "no_open"])]
    terminal: bool,
    /// Threads that decode; 0 for all cores.
    #[arg(short = 'j', long, default_value_t = 0)]
    threads: usize,
    #[command(flatten)]
    pub(crate) remote: Remote,
}

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> Outcome {
    arguments.remote.is_for(arguments.targets.iter().map(String::as_str))?;
    let (remote, listed) = (arguments.remote.clone(), arguments.remote.clone());
    let options = BrowseOptions {
        targets: arguments.targets.clone(),
        port: arguments.port,
        threads: arguments.threads,
        opener: Arc::new(move |path: &Path| remote.open(path)),
        lister: Arc::new(move |url: &str| listed.list(url)),
    };
    if arguments.terminal {
        return terminal::browse(Arc::new(Browsing::new(&options)?));
    }
    let browser = Browser::start(options)?;
    writeln!(out, "{}", browser.url())?;
    out.flush()?;
    // Where there is no web browser, the address was printed anyway.
    let _page = if arguments.no_open { None } else { OpenedPage::open(browser.url()).ok() };
    browser.wait()?;
    Ok(())
}

/// A file of the user's that leads to the page, and that the web browser is started with: everybody on the machine can
/// list programs with their arguments, so the address is not an argument. Dropping this deletes the file.
struct OpenedPage(PathBuf);

impl OpenedPage {
    fn open(url: &str) -> io::Result<Self> {
        let folder = env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|folder| folder.is_dir());
        let folder = folder.unwrap_or_else(env::temp_dir);
        let port = url.split(':').nth(2).and_then(|rest| rest.split('/').next()).unwrap_or_default();
        let place = folder.join(format!("sapwood-browse-{}-{port}.html", std::process::id()));
        // One that is there already is another user's.
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&place)?;
        let page = Self(place);
        let link = format!("<a href=\"{url}\">Sapwood</a>");
        write!(
            file,
            "<!doctype html><meta http-equiv=\"refresh\" content=\"0; url={url}\"><title>Sapwood</title>{link}"
        )?;
        let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
        let mut command = Command::new(program);
        command.arg(&page.0).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn()?;
        std::thread::spawn(move || child.wait());
        Ok(page)
    }
}

impl Drop for OpenedPage {
    fn drop(&mut self) {
        // It leads nowhere any more.
        let _ = std::fs::remove_file(&self.0);
    }
}
