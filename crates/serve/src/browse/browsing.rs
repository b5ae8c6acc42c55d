//! What a page can ask, for programs that show it without one.

use std::path::Path;

use sapwood::hist::Histogram;
use sapwood::{Error, Result};
use serde_json::Value;

use super::open_files::OpenFiles;
use super::options::BrowseOptions;
use super::page_query::PageQuery;
use super::reply::Work;
use super::{drawing, nodes, search};

/// Files, URLs and folders that are browsed. Files are opened when they are asked about.
///
/// # Example
///
/// ```
/// use std::sync::Arc;
/// use sapwood_serve::{BrowseOptions, Browsing, Work};
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../core/tests/data/plain.root");
/// let browsing = Browsing::new(&BrowseOptions {
///     targets: vec![path.to_owned()],
///     port: 0,
///     threads: 1,
///     opener: Arc::new(|path| sapwood_store::environment::open(path, Default::default())),
///     lister: Arc::new(|url| sapwood_store::environment::list(url, Default::default())),
/// })?;
/// let level = browsing.level(&[("file", "0")])?;
/// assert_eq!(level["names"][0], "t;1");
/// assert!(browsing.found(&[("file", "0"), ("text", "x")])?["total"].as_u64() > Some(0));
/// let drawn = browsing.histogram(&[("file", "0"), ("path", "t"), ("x", "x")], &Work::default())?;
/// assert!(drawn.entries() > 0.0);
/// # Ok::<(), sapwood::Error>(())
/// ```
pub struct Browsing(OpenFiles);

impl Browsing {
    /// Looks whether local files are there.
    ///
    /// # Errors
    ///
    /// [`NotFound`](sapwood::ErrorKind::NotFound) for a local file that is not there.
    pub fn new(options: &BrowseOptions) -> Result<Self> {
        OpenFiles::new(options).map(Self)
    }

    /// One level of the tree, in columns: of the roots, or of what `file`, `path`, `branch` and `member` name.
    ///
    /// # Errors
    ///
    /// What opening and reading report.
    pub fn level(&self, query: &[(&str, &str)]) -> Result<Value> {
        nodes::level(&self.0, &PageQuery::of(query))
    }

    /// Names of a `file` that hold the words of `text`, in columns.
    ///
    /// # Errors
    ///
    /// What opening and reading report.
    pub fn found(&self, query: &[(&str, &str)]) -> Result<Value> {
        search::search(&self.0, &PageQuery::of(query))
    }

    /// A histogram: of the expression `x` (and `y`, `z`, with `cut`, `weight`, `bins`) over the tree `path` of `file`,
    /// or the one that is stored at `path`. `work` says how far it is, and stops it.
    ///
    /// # Errors
    ///
    /// What opening and reading report; [`Mismatch`](sapwood::ErrorKind::Mismatch) for objects that are none;
    /// [`Cancelled`](sapwood::ErrorKind::Cancelled) where it was stopped.
    pub fn histogram(&self, query: &[(&str, &str)], work: &Work) -> Result<Histogram> {
        let query = PageQuery::of(query);
        if !query.text("x").is_empty() {
            return drawing::histogram(&self.0, &query, work);
        }
        let opened = self.0.open(query.text("file"))?;
        let key = opened.file.key(query.text("path"))?;
        Histogram::from_object(&opened.object(&key)?)
            .map_err(|_| Error::mismatch(format!("a {} is no histogram", key.class)).in_object(&key.name))
    }

    /// The name of a file, without secrets that its URL may hold.
    ///
    /// # Errors
    ///
    /// [`NotFound`](sapwood::ErrorKind::NotFound) for what is not browsed.
    ///
    /// # Example
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use sapwood_serve::{BrowseOptions, Browsing};
    /// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../core/tests/data/plain.root");
    /// # let opener = Arc::new(|path: &std::path::Path| sapwood_store::environment::open(path, Default::default()));
    /// # let lister = Arc::new(|url: &str| sapwood_store::environment::list(url, Default::default()));
    /// # let options = BrowseOptions { targets: vec![path.to_owned()], port: 0, threads: 1, opener, lister };
    /// assert_eq!(Browsing::new(&options)?.name("0")?, "plain.root");
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn name(&self, file: &str) -> Result<String> {
        let name = self.0.name(file)?;
        let last = Path::new(&name).file_name().map(|last| last.to_string_lossy().into_owned());
        Ok(last.unwrap_or(name))
    }
}
