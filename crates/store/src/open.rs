//! One function for all places: which store a URL needs.

use std::sync::Arc;

use sapwood::io::{LocalFile, Store};
use sapwood::{Error, Result};

use crate::metalink::{Metalink, is_metalink};
use crate::secrets::redact;
use crate::url::{file_path, host, is_url, scheme};
use crate::{DcapStore, HttpStore, NetOptions, Replicas, XrootdStore, cache, unpacked};

/// Opens what `url` names: `http://`, `https://`, `root://`, `roots://`, `dcap://`, `file://`, or the path of a plain
/// file; with the feature `clouds` also `s3://`, `gs://`, `az://`, `abfs://` and `abfss://`. Nothing is asked of a
/// server before the first read. What is not on this machine is kept here if [`NetOptions::cache`] says so.
///
/// A file in a packed one is read [in place](crate::unpacked): `x.root.zst`, `image.sqfs:path/x.root`,
/// `archive.zip:path/x.root`. A [metalink](crate::Metalink), `x.root.meta4`, is the file that it lists.
///
/// # Errors
///
/// [`NotFound`](sapwood::ErrorKind::NotFound) and the like for plain files; [`Mismatch`](sapwood::ErrorKind::Mismatch)
/// for a malformed URL or invalid options; [`Unsupported`](sapwood::ErrorKind::Unsupported) for other schemes. Whether
/// a packed file is one shows at the first read.
///
/// # Example
///
/// ```
/// use sapwood::{File, OpenOptions};
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../core/tests/data/plain.root");
/// let store = sapwood_store::open(path, &Default::default())?;
/// let file = File::from_store(store, OpenOptions::default())?;
/// assert_eq!(file.tree("t")?.entries, 60);
/// assert!(sapwood_store::open("gopher://example.org/a.root", &Default::default()).is_err());
/// # Ok::<(), sapwood::Error>(())
/// ```
pub fn open(url: &str, options: &NetOptions) -> Result<Arc<dyn Store>> {
    unpacked(url, options.threads, |outer| open_stored(outer, options))
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
/// let store = sapwood_store::open_stored(path, &Default::default())?;
/// assert_eq!(&store.ends(4, 0)?.head[..], b"root");
/// # Ok::<(), sapwood::Error>(())
/// ```
pub fn open_stored(url: &str, options: &NetOptions) -> Result<Arc<dyn Store>> {
    if is_metalink(url) {
        return open_metalink(url, options, |_, options| Ok(options));
    }
    open_place(url, options)
}

/// Opens the file that a metalink lists, at the places that it lists. `complete` adds to the options for each place.
///
/// A list from a server may name any host: tokens and headers are for its own host then. A certificate shows no secret.
pub(crate) fn open_metalink(
    place: &str,
    options: &NetOptions,
    complete: impl Fn(&str, NetOptions) -> Result<NetOptions> + Send + Sync + 'static,
) -> Result<Arc<dyn Store>> {
    let each = plain(options);
    let own = if is_url(place) { complete(place, each.clone())? } else { each.clone() };
    let list = Metalink::read(&*open_place(place, &own)?)?;
    let named_by = is_url(place).then(|| host(place));
    let open = move |url: &str| {
        let found = complete(url, each.clone())?;
        let is_trusted = named_by.as_ref().is_none_or(|list| *list == host(url));
        open_place(url, &if is_trusted { found } else { found.without_tokens() })
    };
    let mut store = Replicas::new(&list.urls, open)?;
    if let Some(bytes) = list.bytes {
        store = store.of_length(bytes);
    }
    let name = store.cache_name();
    Ok(cache::in_front_of(store, &name, options))
}

fn open_place(url: &str, options: &NetOptions) -> Result<Arc<dyn Store>> {
    if let Some(path) = file_path(url) {
        return Ok(Arc::new(LocalFile::find(path)?));
    }
    match scheme(url).map(str::to_ascii_lowercase).as_deref() {
        None => Ok(Arc::new(LocalFile::find(url)?)),
        Some("http" | "https") => Ok(cache::in_front_of(HttpStore::new(url, &plain(options))?, url, options)),
        Some("root" | "roots" | "xroot" | "xroots") => {
            Ok(cache::in_front_of(XrootdStore::new(url, &plain(options))?, url, options))
        }
        Some("dcap") => Ok(cache::in_front_of(DcapStore::new(url, &plain(options))?, url, options)),
        Some(tunnel) if tunnel.ends_with("dcap") => {
            let words = format!(
                "{tunnel}:// needs authentication that only dCache's own client implements; \
                                 the same file may be read by https:// or root://"
            );
            Err(Error::unsupported(words).in_file(redact(url)))
        }
        #[cfg(feature = "clouds")]
        Some(_) if crate::Provider::of(url).is_some() => crate::cloud::open(url, &plain(options), options),
        Some(other) => {
            let clouds = if cfg!(feature = "clouds") { " s3, gs, az, abfs, abfss," } else { "" };
            let words = format!(
                "{other}:// is not read here: http, https, root, roots, dcap,{clouds} file, and plain paths are"
            );
            Err(Error::unsupported(words).in_file(redact(url)))
        }
    }
}

/// Opens one file that lies at several places, of all kinds that [`open`] takes: [`Replicas`] says how they are read.
/// All of them are told the same `options`, a token included; name and password in a URL are for its own host.
///
/// # Errors
///
/// [`Mismatch`](sapwood::ErrorKind::Mismatch) where no URL is given; those of [`open`], of plain files when they are
/// read.
///
/// # Example
///
/// ```
/// use sapwood::{File, OpenOptions};
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../core/tests/data/plain.root");
/// let store = sapwood_store::open_replicas(&["/no/such/file.root", path], &Default::default())?;
/// assert_eq!(File::from_store(store, OpenOptions::default())?.tree("t")?.entries, 60);
/// # Ok::<(), sapwood::Error>(())
/// ```
pub fn open_replicas<U: AsRef<str>>(urls: &[U], options: &NetOptions) -> Result<Arc<dyn Store>> {
    let each = plain(options);
    let store = Replicas::new(urls, move |url| open(url, &each))?;
    let name = store.cache_name();
    Ok(cache::in_front_of(store, &name, options))
}

/// What connections are told. They are shared by it, and a cache is no part of that.
fn plain(options: &NetOptions) -> NetOptions {
    NetOptions { cache: None, ..options.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_urls_are_plain_files() {
        let place = std::env::temp_dir().join(format!("sapwood store {}.bin", std::process::id()));
        std::fs::write(&place, "hello").unwrap();
        let plain = format!("file://{}", place.display());
        for url in [
            plain.clone(),
            plain.replace(' ', "%20"),
            plain.replace("file://", "file://localhost"),
            plain.replace("file://", "file:"),
        ] {
            let ends = open(&url, &NetOptions::default()).unwrap().ends(5, 5).unwrap();
            assert_eq!(&ends.head[..], b"hello");
        }
        std::fs::remove_file(place).unwrap();
    }
}
