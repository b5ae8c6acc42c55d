//! What the environment says of the network, for programs that honour it: the command and the Python package open all
//! files here.

mod aws_profile;
mod statistics;
mod x509;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sapwood::io::{AtomicFile, LocalFile, Store};
use sapwood::{Error, Result};

pub use statistics::statistics;

use crate::open::open_metalink;
use crate::url::{is_private, is_root};
use crate::{CacheOptions, NetOptions, Provider, Replicas, in_front_of, is_metalink, is_url, unpacked};

/// Opens a path or a URL. What `options` leave open is taken from the environment, as curl and the grid's tools do:
/// `http_proxy`, `https_proxy`, `all_proxy`, `no_proxy`, `BEARER_TOKEN`, and the file that `BEARER_TOKEN_FILE` names;
/// keys shared with servers of `root://` in the file that `XrdSecSSSKT` or `XrdSecsssKT` names, or `.xrd/sss.keytab` in
/// the user's home; how many connections to such a server by `XRD_SUBSTREAMSPERCHANNEL`; certificates of X.509 for
/// `root://` and `https://` (`X509_USER_PROXY`, else `X509_USER_CERT` and `X509_USER_KEY`, else `/tmp/x509up_u` and the
/// number of the user) and a folder of authorities (`X509_CERT_DIR`, for `root://` also
/// `/etc/grid-security/certificates`); for clouds all that begins with `AWS_`, `GOOGLE_` or `AZURE_`, each for its own,
/// and profiles of `~/.aws`. A file in a packed one is read [in place](crate::unpacked).
///
/// # Errors
///
/// Those of [`crate::open`], and those of [`network`].
///
/// # Example
///
/// ```
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../core/tests/data/plain.root");
/// let store = sapwood_store::environment::open(path, Default::default())?;
/// let file = sapwood::File::from_store(store, Default::default())?;
/// assert_eq!(file.tree("t")?.entries, 60);
/// # Ok::<(), sapwood::Error>(())
/// ```
pub fn open(place: impl AsRef<Path>, options: NetOptions) -> Result<Arc<dyn Store>> {
    let place = place.as_ref();
    match place.to_str() {
        Some(text) => unpacked(text, options.threads, |outer| open_stored(outer, options)),
        None => open_stored(place, options),
    }
}

/// [`open`], for the bytes as they are stored: a packed file is one.
///
/// # Errors
///
/// Those of [`open`].
///
/// # Example
///
/// ```
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../core/tests/data/plain.root");
/// let store = sapwood_store::environment::open_stored(path, Default::default())?;
/// assert_eq!(&store.ends(4, 0)?.head[..], b"root");
/// # Ok::<(), sapwood::Error>(())
/// ```
pub fn open_stored(place: impl AsRef<Path>, options: NetOptions) -> Result<Arc<dyn Store>> {
    match place.as_ref().to_str() {
        Some(text) if is_metalink(text) => open_metalink(text, &options, network),
        Some(url) if is_url(url) => crate::open_stored(url, &network(url, options)?),
        _ => Ok(Arc::new(LocalFile::find(place)?)),
    }
}

/// Prepares to write a file to a path or a URL, as [`crate::target`] does, with what the environment adds.
///
/// # Errors
///
/// Those of [`crate::target`] and [`network`].
///
/// # Example
///
/// ```
/// # let path = std::env::temp_dir().join(format!("sapwood-doc-target-{}", std::process::id()));
/// let target = sapwood_store::environment::target(&path, true, Default::default())?;
/// std::fs::write(target.path(), "whole")?;
/// target.publish()?;
/// assert_eq!(std::fs::read(&path)?, b"whole");
/// # std::fs::remove_file(path)?;
/// # Ok::<(), sapwood::Error>(())
/// ```
pub fn target(place: impl AsRef<Path>, replaces: bool, options: NetOptions) -> Result<AtomicFile> {
    match place.as_ref().to_str().filter(|text| is_url(text)) {
        Some(url) => crate::target(url, replaces, &network(url, options)?),
        None => AtomicFile::new(place, replaces),
    }
}

/// Copies a file that is to be updated, as [`crate::fetch`] does, with what the environment adds.
///
/// # Errors
///
/// Those of [`crate::fetch`] and [`network`].
///
/// # Example
///
/// ```
/// assert!(sapwood_store::environment::fetch("gopher://a/b", "copy".as_ref(), Default::default()).is_err());
/// ```
pub fn fetch(url: &str, to: &Path, options: NetOptions) -> Result<()> {
    crate::fetch(url, to, &network(url, options)?)
}

/// What is in a folder of a server, as [`crate::list`] tells it, with what the environment adds.
///
/// # Errors
///
/// Those of [`crate::list`] and [`network`].
///
/// # Example
///
/// ```
/// assert!(sapwood_store::environment::list("dcap://example.org/data/", Default::default()).is_err());
/// ```
pub fn list(url: &str, options: NetOptions) -> Result<Vec<crate::Listed>> {
    crate::list(url, &network(url, options)?)
}

/// Opens one file that lies at several places, paths or URLs, each as [`open`] does: what the environment adds is for
/// each its own.
///
/// # Errors
///
/// Those of [`Replicas::new`], and of [`open`] for each place.
///
/// # Example
///
/// ```
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../core/tests/data/plain.root");
/// let store = sapwood_store::environment::open_replicas(&["no-such-file.root", path], Default::default())?;
/// let file = sapwood::File::from_store(store, Default::default())?;
/// assert_eq!(file.tree("t")?.entries, 60);
/// # Ok::<(), sapwood::Error>(())
/// ```
pub fn open_replicas<P: AsRef<str>>(places: &[P], options: NetOptions) -> Result<Arc<dyn Store>> {
    replicas(places, options, |place, options| open(place, options))
}

/// [`open_replicas`], for the bytes as they are stored: a packed file is one.
///
/// # Errors
///
/// Errors of [`open_replicas`].
///
/// # Example
///
/// ```
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../core/tests/data/plain.root");
/// let store = sapwood_store::environment::open_replicas_stored(&["no-such-file.root", path], Default::default())?;
/// assert_eq!(&store.ends(4, 0)?.head[..], b"root");
/// # Ok::<(), sapwood::Error>(())
/// ```
pub fn open_replicas_stored<P: AsRef<str>>(places: &[P], options: NetOptions) -> Result<Arc<dyn Store>> {
    replicas(places, options, |place, options| open_stored(place, options))
}

fn replicas<P: AsRef<str>>(
    places: &[P],
    options: NetOptions,
    open: impl Fn(&str, NetOptions) -> Result<Arc<dyn Store>> + Send + Sync + 'static,
) -> Result<Arc<dyn Store>> {
    let each = NetOptions { cache: None, ..options.clone() };
    let store = Replicas::new(places, move |place| open(place, each.clone()))?;
    let name = store.cache_name();
    Ok(in_front_of(store, &name, &options))
}

/// Options for what lies below `url`, with what the environment adds, as [`open`] takes it.
///
/// # Errors
///
/// What reading the file of the token, or those of profiles, reports; [`NotFound`](sapwood::ErrorKind::NotFound) for a
/// profile that is named and not there, [`Unsupported`](sapwood::ErrorKind::Unsupported) for one that wants more than
/// keys.
///
/// # Example
///
/// ```
/// let options = sapwood_store::environment::network("http://example.org/data", Default::default())?;
/// assert_eq!(options.token, None);
/// # Ok::<(), sapwood::Error>(())
/// ```
pub fn network(url: &str, options: NetOptions) -> Result<NetOptions> {
    let mut options = complete(url, options, &|name| std::env::var(name).ok())?;
    let Some(provider) = Provider::of(url) else { return Ok(options) };
    let text = |(name, value): (OsString, OsString)| Some((name.into_string().ok()?, value.into_string().ok()?));
    options.clouds = settings(provider, options.clouds, std::env::vars_os().filter_map(text));
    if provider == Provider::Amazon {
        let home = std::env::var_os("HOME").map(PathBuf::from);
        aws_profile::complete(&mut options.clouds, home.as_deref())?;
    }
    Ok(options)
}

/// A setting of the first group replaces all of the second: parts of other keys, other kinds of credentials, other
/// endpoints.
const OTHERS: [(&[&str], &[&str]); 3] = [
    (
        &["AWS_ACCESS_KEY_ID", "AWS_PROFILE"],
        &[
            "AWS_ACCESS_KEY_ID",
            "AWS_SECRET_ACCESS_KEY",
            "AWS_SESSION_TOKEN",
            "AWS_SKIP_SIGNATURE",
            "AWS_WEB_IDENTITY_TOKEN_FILE",
        ],
    ),
    (&["AWS_ENDPOINT_URL"], &["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT"]),
    (
        &["AZURE_STORAGE_ACCOUNT_KEY", "AZURE_STORAGE_SAS_TOKEN"],
        &[
            "AZURE_STORAGE_ACCOUNT_KEY",
            "AZURE_STORAGE_ACCESS_KEY",
            "AZURE_STORAGE_MASTER_KEY",
            "AZURE_STORAGE_SAS_TOKEN",
            "AZURE_STORAGE_SAS_KEY",
            "AZURE_STORAGE_TOKEN",
            "AZURE_STORAGE_CLIENT_SECRET",
            "AZURE_CLIENT_SECRET",
            "AZURE_FEDERATED_TOKEN_FILE",
            "AZURE_SKIP_SIGNATURE",
        ],
    ),
];

/// What a cloud was told, and what of the environment is for it.
fn settings(
    provider: Provider,
    said: Vec<(String, String)>,
    variables: impl Iterator<Item = (String, String)>,
) -> Vec<(String, String)> {
    let is_said = |name: &str| said.iter().any(|(one, _)| one == name);
    let is_other =
        |name: &str| OTHERS.iter().any(|(says, others)| others.contains(&name) && says.iter().any(|one| is_said(one)));
    let is_ours = |name: &str| name.starts_with(provider.variables()) && !is_said(name) && !is_other(name);
    let mut found: Vec<_> = variables.filter(|(name, value)| is_ours(name) && !value.is_empty()).collect();
    // Equal settings share their connections and logins, in whatever order the system tells them.
    found.sort();
    found.extend(said);
    found
}

/// A cache by what its user says: its kind (`blocks`, `whole`), its folder (the [usual one](cache_dir) where none is
/// named), its limit in bytes.
///
/// # Errors
///
/// [`Mismatch`](sapwood::ErrorKind::Mismatch) for another kind, and where no folder is named and there is no usual one.
///
/// # Example
///
/// ```
/// let cache = sapwood_store::environment::cache("blocks", Some("here".into()), Some(1_000_000))?;
/// assert_eq!(cache.dir.to_str(), Some("here"));
/// assert!(sapwood_store::environment::cache("some", None, None).is_err());
/// # Ok::<(), sapwood::Error>(())
/// ```
pub fn cache(kind: &str, dir: Option<PathBuf>, bytes: Option<u64>) -> Result<CacheOptions> {
    let kind = kind.parse()?;
    let mut cache = CacheOptions::new(kind, dir.map_or_else(cache_dir, Ok)?);
    cache.bytes = bytes.unwrap_or(cache.bytes);
    Ok(cache)
}

/// The folder in which this platform keeps a user's caches, and in it ours.
///
/// # Errors
///
/// [`NotFound`](sapwood::ErrorKind::NotFound) where the environment names none, nor a home.
///
/// # Example
///
/// ```
/// if let Ok(dir) = sapwood_store::environment::cache_dir() {
///     assert!(dir.ends_with("sapwood"));
/// }
/// ```
pub fn cache_dir() -> Result<PathBuf> {
    usual_dir(&|name| std::env::var_os(name).map(PathBuf::from))
}

fn usual_dir(variable: &dyn Fn(&str) -> Option<PathBuf>) -> Result<PathBuf> {
    // What is not absolute is to be ignored, says the standard.
    let first = |name: &str| variable(name).filter(|path| path.is_absolute());
    let below = if cfg!(target_os = "macos") { "Library/Caches" } else { ".cache" };
    let found = first("XDG_CACHE_HOME").or_else(|| first("HOME").map(|home| home.join(below)));
    let missing = || Error::not_found("no folder for a cache: neither XDG_CACHE_HOME nor HOME is set");
    found.map(|dir| dir.join("sapwood")).ok_or_else(missing)
}

/// Options with what the environment adds.
fn complete(url: &str, mut options: NetOptions, variable: &dyn Fn(&str) -> Option<String>) -> Result<NetOptions> {
    let first = |names: &[&str]| names.iter().find_map(|name| variable(name).filter(|value| !value.is_empty()));
    let all = first(&["all_proxy", "ALL_PROXY"]);
    // In capitals `HTTP_PROXY` may come from a header of a request that a server handles: curl does not read it either.
    options.http_proxy = options.http_proxy.or_else(|| first(&["http_proxy"])).or_else(|| all.clone());
    options.https_proxy = options.https_proxy.or_else(|| first(&["https_proxy", "HTTPS_PROXY"])).or(all);
    options.no_proxy = options.no_proxy.or_else(|| first(&["no_proxy", "NO_PROXY"]));
    if is_root(url) {
        let usual =
            || first(&["HOME"]).map(|home| Path::new(&home).join(".xrd/sss.keytab")).filter(|path| path.exists());
        let named = || first(&["XrdSecSSSKT", "XrdSecsssKT"]).map(PathBuf::from);
        if options.streams <= 1 {
            let streams = first(&["XRD_SUBSTREAMSPERCHANNEL"]);
            options.streams = streams.and_then(|count| count.trim().parse().ok()).unwrap_or(1);
        }
        options.keytab = options.keytab.or_else(named).or_else(usual);
    }
    x509::complete(url, &mut options, variable);
    // The token was not given for this server, so it is sent over private connections only.
    if options.token.is_none() && is_private(url) {
        options.token = match first(&["BEARER_TOKEN"]) {
            Some(token) => Some(token.trim().to_owned()),
            None => first(&["BEARER_TOKEN_FILE"]).map(|path| token_of(Path::new(&path))).transpose()?,
        };
    }
    Ok(options)
}

/// The token that a file holds.
///
/// # Errors
///
/// What reading the file reports.
///
/// # Example
///
/// ```
/// assert!(sapwood_store::environment::token_of("/no/such/file".as_ref()).is_err());
/// ```
pub fn token_of(path: &Path) -> Result<String> {
    let text = std::fs::read_to_string(path);
    let text = text.map_err(|error| Error::from(error).in_file(path.to_string_lossy().as_ref()))?;
    Ok(text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(url: &str, variables: &[(&str, &str)]) -> NetOptions {
        let variable =
            |name: &str| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
        complete(url, NetOptions::default(), &variable).unwrap()
    }

    #[test]
    fn the_environment_fills_what_was_left_open() {
        let options = with("https://a/b", &[("all_proxy", "http://p"), ("HTTPS_PROXY", "http://q"), ("NO_PROXY", "x")]);
        assert_eq!(options.http_proxy.as_deref(), Some("http://p"));
        assert_eq!(options.https_proxy.as_deref(), Some("http://q"));
        assert_eq!(options.no_proxy.as_deref(), Some("x"));
        assert_eq!(with("http://a/b", &[("HTTP_PROXY", "http://evil"), ("https_proxy", "")]), NetOptions::default());
    }

    #[test]
    fn connections_are_counted_for_servers_of_root_alone() {
        let streams = |url, count| with(url, &[("XRD_SUBSTREAMSPERCHANNEL", count)]).streams;
        assert_eq!(["4", " 16 ", "", "many", "1000"].map(|count| streams("root://a//b", count)), [4, 16, 1, 1, 1]);
        assert_eq!(streams("https://a/b", "4"), 1);
    }

    #[test]
    fn a_keytab_is_for_servers_of_root_alone() {
        let home = std::env::temp_dir().join(format!("sapwood-home-{}", std::process::id()));
        std::fs::create_dir_all(home.join(".xrd")).unwrap();
        let usual = home.join(".xrd/sss.keytab");
        let set = [("HOME", home.to_str().unwrap())];
        assert_eq!(with("root://a//b", &set).keytab, None);
        std::fs::write(&usual, "").unwrap();
        assert_eq!(with("root://a//b", &set).keytab, Some(usual.clone()));
        assert_eq!(with("https://a/b", &set).keytab, None);
        let named = [("XrdSecsssKT", "/one"), ("XrdSecSSSKT", "/other"), set[0]];
        assert_eq!(with("ROOTS://a//b", &named).keytab, Some("/other".into()));
        assert_eq!(with("xroot://a//b", &named[..1]).keytab, Some("/one".into()));
        std::fs::remove_dir_all(home).unwrap();
    }

    #[test]
    fn each_cloud_is_told_what_is_its_own() {
        let of = |url, said: &[(&str, &str)]| {
            let Some(provider) = Provider::of(url) else { return Vec::new() };
            let text = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
            let variables = [("AWS_REGION", "r"), ("AZURE_X", "x"), ("AWS_ACCESS_KEY_ID", "k"), ("AWS_PROFILE", "")];
            let found = settings(provider, said.iter().map(text).collect(), variables.iter().map(text));
            found.into_iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>()
        };
        assert_eq!(of("S3://b/a", &[]), ["AWS_ACCESS_KEY_ID=k", "AWS_REGION=r"]);
        assert_eq!(of("abfss://b@c/a", &[]), ["AZURE_X=x"]);
        // What was said goes before, and keys are never of two.
        assert_eq!(of("s3://b/a", &[("AWS_REGION", "s")]), ["AWS_ACCESS_KEY_ID=k", "AWS_REGION=s"]);
        assert_eq!(of("s3://b/a", &[("AWS_PROFILE", "p")]), ["AWS_REGION=r", "AWS_PROFILE=p"]);
    }

    #[test]
    fn what_was_said_is_not_joined_with_others_of_the_environment() {
        let left = |said: &str, variable: &str| {
            let pair = |name: &str| (name.to_owned(), "x".to_owned());
            let provider = Provider::of(if said.starts_with("AWS_") { "s3://b/a" } else { "az://b/a" }).unwrap();
            settings(provider, vec![pair(said)], [pair(variable)].into_iter()).len() == 2
        };
        for (said, variable) in [
            ("AWS_PROFILE", "AWS_WEB_IDENTITY_TOKEN_FILE"),
            ("AWS_ACCESS_KEY_ID", "AWS_SESSION_TOKEN"),
            ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"),
            ("AZURE_STORAGE_SAS_TOKEN", "AZURE_STORAGE_ACCOUNT_KEY"),
            ("AZURE_STORAGE_ACCOUNT_KEY", "AZURE_STORAGE_TOKEN"),
        ] {
            assert!(!left(said, variable), "{said} {variable}");
        }
        assert!(
            left("AWS_ENDPOINT_URL", "AWS_REGION") && left("AZURE_STORAGE_SAS_TOKEN", "AZURE_STORAGE_ACCOUNT_NAME")
        );
        assert!(left("AZURE_SKIP_SIGNATURE", "AZURE_STORAGE_ENDPOINT"));
    }

    #[test]
    fn the_usual_folder_is_the_users() {
        let with = |set: &[(&str, &str)]| {
            usual_dir(&|name| set.iter().find(|(key, _)| *key == name).map(|(_, value)| value.into()))
        };
        assert_eq!(with(&[("XDG_CACHE_HOME", "/c"), ("HOME", "/h")]).unwrap(), Path::new("/c/sapwood"));
        let home = with(&[("XDG_CACHE_HOME", "relative"), ("HOME", "/h")]).unwrap();
        assert!(home.starts_with("/h") && home.ends_with("sapwood"), "{home:?}");
        assert!(with(&[("HOME", "")]).is_err());
    }

    #[test]
    fn a_token_of_the_environment_is_not_sent_in_clear() {
        let set = [("BEARER_TOKEN", "sesame\n")];
        for url in [
            "https://a/b",
            "root://a//b",
            "roots://a//b",
            "http://localhost/b",
            "http://127.0.0.1:80/b",
            "http://me@[::1]:80/b",
        ] {
            assert_eq!(with(url, &set).token.as_deref(), Some("sesame"), "{url}");
        }
        for url in
            ["http://a/b", "http://localhost.evil.org/b", "http://localhost@evil.org/", "http://evil.org?@localhost"]
        {
            assert_eq!(with(url, &set).token, None, "{url}");
        }
        let missing = [("BEARER_TOKEN_FILE", "/no/such/file")];
        let variable = |name: &str| missing.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
        assert!(complete("https://a/", NetOptions::default(), &variable).is_err());
    }
}
