//! What a URL of a cloud names, and what reaches it: pure.

use std::sync::Arc;
use std::time::Duration;

use object_store::aws::AmazonS3Builder;
use object_store::azure::MicrosoftAzureBuilder;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::path::Path;
use object_store::{BackoffConfig, ObjectStore, RetryConfig};
use reqwest::Url;
use sapwood::{Error, Result};

use super::connector::Connector;
use crate::provider::{Provider, says_where};
use crate::secrets::redact;

/// Retries of requests for credentials.
const PROOF_RETRIES: usize = 2;
/// A file in a bucket.
#[derive(Clone, Debug)]
pub(super) struct CloudUrl {
    pub(super) provider: Provider,
    /// Scheme and bucket: what one login is good for.
    pub(super) bucket: String,
    /// The key, as it stands in the URL: no character of it means anything.
    pub(super) key: Path,
    /// The URL, for messages.
    pub(super) name: Arc<str>,
}

impl CloudUrl {
    pub(super) fn parse(url: &str) -> Result<Self> {
        let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
        let (bucket, key) = rest.split_once('/').unwrap_or((rest, ""));
        let scheme = scheme.to_ascii_lowercase();
        let provider =
            Provider::of(url).ok_or_else(|| Error::unsupported("no cloud has this scheme").in_file(redact(url)))?;
        // Of Azure it is the container in the account.
        if provider != Provider::Azure && bucket.contains('@') {
            let words = "a URL of a cloud holds no keys: they are settings, or in the environment";
            return Err(Error::mismatch(words).in_file(format!("{scheme}://{}", last(bucket))));
        }
        let wrong = |words: &'static str| Error::mismatch(words).in_file(redact(url));
        if bucket.is_empty() || bucket.contains(['?', '#', '\\', '%']) {
            return Err(wrong("the URL names no bucket"));
        }
        if key.ends_with('/') || key.is_empty() {
            return Err(wrong("the URL names a bucket or a folder, and no file in it"));
        }
        let key = Path::parse(key).map_err(|error| wrong("a key of this form cannot be read").because(error))?;
        Ok(Self { provider, bucket: format!("{scheme}://{bucket}"), key, name: redact(url).into() })
    }

    /// A folder: its bucket, with a key that is not used, and the beginning of the keys in it; none for all.
    pub(super) fn folder(url: &str) -> Result<(Self, Option<Path>)> {
        let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
        let prefix = rest.split_once('/').map_or("", |(_, key)| key).trim_matches('/');
        let slash = if url.ends_with('/') { "" } else { "/" };
        let place = Self { name: redact(url).into(), ..Self::parse(&format!("{url}{slash}folder"))? };
        let wrong = |error| Error::mismatch("a key of this form cannot be read").because(error).in_file(redact(url));
        let prefix = (!prefix.is_empty()).then(|| Path::parse(prefix)).transpose().map_err(wrong)?;
        Ok((place, prefix))
    }

    /// The URL with what says where its bucket is, for a cache.
    pub(super) fn cache_name(&self, settings: &[(String, String)]) -> String {
        let Ok(mut url) = Url::parse(&self.bucket) else { return format!("{}/{}", self.bucket, self.key) };
        url.set_path(&self.key.as_ref().replace('%', "%25"));
        let elsewhere: Vec<_> = settings.iter().filter(|(name, _)| says_where(name)).collect();
        if !elsewhere.is_empty() {
            url.query_pairs_mut().extend_pairs(elsewhere);
        }
        url.into()
    }

    /// What makes requests for this bucket. Settings have the names that they have in the environment, in any case.
    pub(super) fn reach(&self, settings: &[(String, String)], connector: Connector) -> Result<Arc<dyn ObjectStore>> {
        let retry = RetryConfig {
            backoff: BackoffConfig { max_backoff: Duration::from_secs(1), ..BackoffConfig::default() },
            max_retries: PROOF_RETRIES,
            retry_timeout: Duration::from_secs(60),
        };
        // The same words for three builders that have no trait in common.
        macro_rules! reached {
            ($builder:ty) => {{
                let mut builder = <$builder>::new().with_http_connector(connector).with_retry(retry);
                for (name, value) in settings {
                    // Others are for other tools.
                    if let Ok(key) = name.to_ascii_lowercase().parse() {
                        if is_no_endpoint(name, value) {
                            let words = format!("{name} is no URL that begins with https:// or http://");
                            return Err(Error::mismatch(words).in_file(Arc::clone(&self.name)));
                        }
                        builder = builder.with_config(key, value);
                    }
                }
                // What the URL says goes before.
                builder.with_url(&self.bucket).build().map(|store| Arc::new(store) as Arc<dyn ObjectStore>)
            }};
        }
        let reached = match self.provider {
            Provider::Amazon => reached!(AmazonS3Builder),
            Provider::Google => reached!(GoogleCloudStorageBuilder),
            Provider::Azure => reached!(MicrosoftAzureBuilder),
        };
        reached.map_err(|error| {
            let message = "invalid settings for the cloud";
            Error::mismatch(message).because(words(&error)).in_file(Arc::clone(&self.name))
        })
    }
}

/// Whether a setting should be the URL of a server, and is none.
fn is_no_endpoint(name: &str, value: &str) -> bool {
    let is_server = |url: Url| matches!(url.scheme(), "http" | "https") && url.has_host();
    let name = name.to_ascii_lowercase();
    // Of Azure there is one that says yes or no.
    name.contains("endpoint") && !name.contains("_use_") && !Url::parse(value).is_ok_and(is_server)
}

/// What is behind the last `@`.
fn last(bucket: &str) -> &str {
    bucket.rsplit_once('@').map_or(bucket, |(_, last)| last)
}

/// The innermost cause, which has neither addresses nor what was sent in it.
pub(super) fn words(error: &object_store::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(beneath) = cause.source() {
        cause = beneath;
    }
    cause.to_string().trim_end_matches([':', ' ']).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn a_key_is_what_stands_there() {
        let place = CloudUrl::parse("S3://bucket/a b/c%20d#e?f.root").unwrap();
        assert_eq!((place.provider, &*place.bucket), (Provider::Amazon, "s3://bucket"));
        assert_eq!(place.key.as_ref(), "a b/c%20d#e?f.root");
        assert_eq!(place.cache_name(&[]), "s3://bucket/a%20b/c%2520d%23e%3Ff.root");
        let azure = CloudUrl::parse("abfss://box@account.dfs.core.windows.net/a.root").unwrap();
        assert_eq!((azure.provider, &*azure.bucket), (Provider::Azure, "abfss://box@account.dfs.core.windows.net"));
        for wrong in ["s3://", "s3://bucket", "s3://bucket/", "s3://bucket/a/", "s3:///a", "s3://b/a//b", "s3://b/../a"]
        {
            assert!(CloudUrl::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn keys_in_a_url_are_refused_and_not_shown() {
        let error = CloudUrl::parse("s3://name:geheim@bucket/a.root").unwrap_err();
        assert!(!error.to_string().contains("geheim") && !format!("{error:?}").contains("geheim"), "{error}");
    }

    #[test]
    fn an_endpoint_is_a_url() {
        for (value, wrong) in [("https://a.org", false), ("http://127.0.0.1:1", false), ("127.0.0.1:18171", true)] {
            assert_eq!(is_no_endpoint("AWS_ENDPOINT_URL", value), wrong, "{value}");
        }
        for value in ["", "nonsense", "http://", "ftp://a.org", "localhost:1"] {
            assert!(is_no_endpoint("aws_endpoint", value), "{value}");
        }
        assert!(!is_no_endpoint("AWS_REGION", "nonsense") && !is_no_endpoint("AZURE_USE_FABRIC_ENDPOINT", "true"));
    }

    #[test]
    fn the_same_name_elsewhere_is_another_file() {
        let place = CloudUrl::parse("s3://b/a.root").unwrap();
        let here = settings(&[("AWS_ENDPOINT_URL", "http://127.0.0.1:1"), ("AWS_SECRET_ACCESS_KEY", "geheim")]);
        let there = settings(&[("aws_endpoint", "http://127.0.0.1:2")]);
        assert_eq!(place.cache_name(&here), "s3://b/a.root?AWS_ENDPOINT_URL=http%3A%2F%2F127.0.0.1%3A1");
        assert_ne!(place.cache_name(&here), place.cache_name(&there));
    }
}
