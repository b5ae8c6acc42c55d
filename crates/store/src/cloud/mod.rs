//! Files in the clouds: Amazon's S3 and all that speaks like it, Google's, and Azure's.
//!
//! `object_store` handles credentials, endpoints and signatures; the store for http sends the requests, checks the
//! answers and retries.

mod connector;
mod upload;
mod url;

use std::collections::HashMap;

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use object_store::{GetOptions, GetRange, ObjectStore};
use reqwest::header::HeaderMap;
use reqwest::{Method, Request, StatusCode, Url};
use sapwood::io::{ByteRange, Ends, Profile, Receive, Store};
use sapwood::{Error, ErrorKind, Result};

use crate::http::{HttpStore, Signer};
use crate::listed::{Listed, is_name};
use crate::net::{Link, RequestError, block_on, link};
use crate::{NetOptions, Provider, cache};
use connector::{Connector, Taken};
pub(crate) use upload::CloudUpload;
use url::{CloudUrl, words};

/// So many times its time may a request take that lists a folder: it is one for each thousand names.
const LISTING_TIMES: u32 = 20;
/// Buckets whose logins are kept.
const BUCKETS: usize = 64;

/// A file in a bucket of a cloud: `s3://bucket/key`, `gs://bucket/key`, `az://container/key` or
/// `abfss://container@account.dfs.core.windows.net/key`.
///
/// [`NetOptions::clouds`] holds the credentials. Each request has one range, and up to eight are on their way at a
/// time; all else is as [`HttpStore`] does it. The key is what stands in the URL, character by character.
///
/// # Example
///
/// ```
/// use sapwood::io::{Store, load};
/// use sapwood_store::{CloudStore, NetOptions};
/// use sapwood_testkit::http_server::{ServerConfig, HttpServer};
/// let server = HttpServer::start("hello world", ServerConfig::default());
/// let endpoint = format!("http://{}", server.address());
/// let clouds = vec![("AWS_ENDPOINT_URL".into(), endpoint), ("AWS_SKIP_SIGNATURE".into(), "true".into())];
/// let store = CloudStore::new("s3://bucket/data.root", &NetOptions { clouds, ..NetOptions::default() })?;
/// assert_eq!(&store.ends(5, 0)?.head[..], b"hello");
/// assert_eq!(load(&store, &[6..11])?, ["world"]);
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Debug)]
pub struct CloudStore(HttpStore);

impl CloudStore {
    /// A store for `url`. Nothing is sent before the first read.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](sapwood::ErrorKind::Mismatch) for a malformed URL or invalid settings,
    /// [`Unsupported`](sapwood::ErrorKind::Unsupported) for a scheme of no cloud, and what reading certificates
    /// reports.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood_store::{CloudStore, NetOptions};
    /// assert!(CloudStore::new("s3://bucket/a.root", &NetOptions::default()).is_ok());
    /// assert!(CloudStore::new("s3://bucket", &NetOptions::default()).is_err());
    /// ```
    pub fn new(url: &str, options: &NetOptions) -> Result<Self> {
        let place = CloudUrl::parse(url)?;
        let name = Arc::clone(&place.name);
        let named = |error: Error| error.in_file(Arc::clone(&name));
        let origin = Url::parse(&place.bucket);
        let origin = origin.map_err(|error| named(Error::mismatch("malformed URL").because(error)))?;
        let link = link(options).map_err(named)?;
        let login = Login { place, settings: options.clouds.clone(), timeout: options.timeout };
        login.bucket(&link)?;
        Ok(Self(HttpStore::signed(Arc::clone(&name), origin, Arc::new(login), options)))
    }
}

impl Store for CloudStore {
    fn ends(&self, head_bytes: usize, tail_bytes: usize) -> Result<Ends> {
        self.0.ends(head_bytes, tail_bytes)
    }

    fn read_ranges(&self, ranges: &[ByteRange], into: &mut dyn Receive) -> Result<()> {
        self.0.read_ranges(ranges, into)
    }

    fn profile(&self) -> Profile {
        self.0.profile()
    }
}

/// A file, with the cache that the options want in front of it; `plain` are the options without that cache.
pub(crate) fn open(url: &str, plain: &NetOptions, options: &NetOptions) -> Result<Arc<dyn Store>> {
    let name = CloudUrl::parse(url)?.cache_name(&options.clouds);
    Ok(cache::in_front_of(CloudStore::new(url, plain)?, &name, options))
}

/// What is in a folder of a bucket: keys that begin with its name, up to the next slash.
pub(crate) fn list(url: &str, options: &NetOptions) -> Result<Vec<Listed>> {
    let (place, prefix) = CloudUrl::folder(url)?;
    let name = Arc::clone(&place.name);
    let named = |error: Error| error.in_file(Arc::clone(&name));
    let link = link(options).map_err(named)?;
    let login = Login { place, settings: options.clouds.clone(), timeout: options.timeout };
    let bucket = login.bucket(&link).map_err(named)?;
    let _inside = link.runtime.enter();
    let patience = options.timeout.saturating_mul(LISTING_TIMES);
    let asked = async move { tokio::time::timeout(patience, bucket.store.list_with_delimiter(prefix.as_ref())).await };
    let found = block_on(async {
        match link.runtime.spawn(asked).await {
            Ok(Ok(found)) => found.map_err(|error| {
                let why = words(&error);
                match error {
                    object_store::Error::NotFound { .. } => Error::not_found("no such bucket").because(why),
                    // Of a listing it says no more.
                    _ if why.contains(" 404 ") => Error::not_found("no such bucket").because(why),
                    _ => Error::new(ErrorKind::Denied, "the cloud lists no names").because(why),
                }
            }),
            Ok(Err(_)) => Err(Error::new(ErrorKind::TimedOut, "listing a folder takes too long")),
            Err(_) => Err(Error::internal("listing a folder failed")),
        }
    });
    let found = found.map_err(named)?;
    let last = |path: &object_store::path::Path| path.filename().unwrap_or_default().to_owned();
    let folders = found.common_prefixes.iter().map(|path| Listed::named(last(path), true));
    let files = found.objects.iter().map(|object| Listed {
        len: Some(object.size),
        modified: Some(object.last_modified.timestamp()),
        ..Listed::named(last(&object.location), false)
    });
    Ok(folders.chain(files).filter(|one| is_name(&one.name)).collect())
}

/// What reaches a bucket.
#[derive(Clone, Debug)]
struct Bucket {
    store: Arc<dyn ObjectStore>,
    /// Where Amazon said that it is.
    region: Option<String>,
}

/// Buckets by their URL: credentials are fetched once for all files.
#[derive(Debug, Default)]
struct Buckets(Mutex<HashMap<String, Bucket>>);

/// Signs requests for a file.
struct Login {
    place: CloudUrl,
    settings: Vec<(String, String)>,
    timeout: Duration,
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The settings hold keys, and the key of the file may hold a ticket.
        f.debug_tuple("Login").field(&self.place.name).finish()
    }
}

impl Login {
    fn bucket(&self, link: &Link) -> Result<Bucket> {
        let buckets = link.keep::<Buckets>();
        let mut buckets = buckets.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = buckets.get(&self.place.bucket) {
            return Ok(found.clone());
        }
        if buckets.len() >= BUCKETS {
            buckets.clear();
        }
        let made = Bucket { store: self.reach(link, &self.settings)?, region: None };
        Ok(buckets.entry(self.place.bucket.clone()).or_insert(made).clone())
    }

    fn reach(&self, link: &Link, settings: &[(String, String)]) -> Result<Arc<dyn ObjectStore>> {
        self.place.reach(settings, Connector { client: link.client.clone(), timeout: self.timeout })
    }

    async fn request(&self, link: &Link, method: &Method, ranges: Option<&str>) -> Result<Request, RequestError> {
        let bucket = self.bucket(link).map_err(RequestError::never)?;
        let taken = Taken::default();
        let mut options = GetOptions { head: *method == Method::HEAD, ..GetOptions::default() };
        options.range = ranges.map(range).transpose().map_err(RequestError::never)?;
        options.extensions.insert(taken.clone());
        // It cannot succeed: what it would send is taken from it.
        let outcome = bucket.store.get_opts(&self.place.key, options).await;
        match (taken.take(), outcome) {
            (Some(request), _) => Ok(request),
            (None, Err(error)) => {
                let own = self.place.provider.variables();
                let message = format!("no credentials; {own}SKIP_SIGNATURE=true reads data that are public");
                Err(RequestError::never(Error::new(ErrorKind::Denied, message).because(words(&error))))
            }
            (None, Ok(_)) => Err(RequestError::never(Error::unsupported("the cloud's client made no request"))),
        }
    }
}

impl Signer for Login {
    fn sign<'a>(
        &'a self,
        link: &'a Link,
        method: &'a Method,
        ranges: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Request, RequestError>> {
        Box::pin(self.request(link, method, ranges))
    }

    fn learn(&self, link: &Link, status: StatusCode, headers: &HeaderMap) -> bool {
        let told = headers.get("x-amz-bucket-region").and_then(|region| region.to_str().ok());
        let told = told.filter(|region| region.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-'));
        let Some(region) = told.filter(|_| matches!(status.as_u16(), 301 | 307 | 308 | 400)) else { return false };
        let Ok(bucket) = self.bucket(link) else { return false };
        if bucket.region.as_deref() == Some(region) {
            return true; // another thread has learnt it meanwhile
        }
        let mut settings = self.settings.clone();
        settings.push(("aws_region".to_owned(), region.to_owned()));
        let Ok(store) = self.reach(link, &settings) else { return false };
        let made = Bucket { store, region: Some(region.to_owned()) };
        let buckets = link.keep::<Buckets>();
        buckets.0.lock().unwrap_or_else(PoisonError::into_inner).insert(self.place.bucket.clone(), made);
        true
    }

    fn knows_suffixes(&self) -> bool {
        self.place.provider != Provider::Azure
    }
}

/// The one range of a header.
fn range(header: &str) -> Result<GetRange> {
    let parse = || {
        let (first, last) = header.strip_prefix("bytes=")?.split_once('-')?;
        Some(match (first, last) {
            ("", count) => GetRange::Suffix(count.parse().ok()?),
            (start, "") => GetRange::Offset(start.parse().ok()?),
            (start, last) => GetRange::Bounded(start.parse().ok()?..last.parse::<u64>().ok()?.checked_add(1)?),
        })
    };
    parse().ok_or_else(|| Error::unsupported("clouds are asked for one range at a time"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_ranges() {
        assert_eq!(range("bytes=0-9").unwrap(), GetRange::Bounded(0..10));
        assert_eq!(range("bytes=-5").unwrap(), GetRange::Suffix(5));
        assert_eq!(range("bytes=0-").unwrap(), GetRange::Offset(0));
        assert!(range("bytes=0-1,3-4").is_err() && range("").is_err());
    }

    #[test]
    fn settings_are_not_shown() {
        let clouds =
            vec![("AWS_ACCESS_KEY_ID".into(), "wer".into()), ("AWS_SECRET_ACCESS_KEY".into(), "geheim".into())];
        let options = NetOptions { clouds, ..NetOptions::default() };
        let shown = format!("{:?} {options:?}", CloudStore::new("s3://b/a.root", &options).unwrap());
        assert!(!shown.contains("geheim") && !shown.contains("wer\""), "{shown}");
    }
}
