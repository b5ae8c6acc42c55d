//! Where files are read from: one function for paths and URLs, and what the environment says of the network.

use std::path::Path;
use std::sync::Arc;

use sapwood::io::{LocalFile, Store};
use sapwood::{Error, Result};
use sapwood_store::NetOptions;

/// Opens a path or a URL. What `options` leave open is taken from the environment, as curl and the grid's tools do:
/// `http_proxy`, `https_proxy`, `all_proxy`, `no_proxy`, `BEARER_TOKEN`, and the file that `BEARER_TOKEN_FILE` names.
///
/// # Errors
///
/// Those of [`sapwood_store::open`], and what reading the file of the token reports.
///
/// # Example
///
/// ```
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../core/tests/data/plain.root");
/// let store = sapwood_cli::places::open(path, Default::default())?;
/// let file = sapwood::File::from_store(store, Default::default())?;
/// assert_eq!(file.tree("t")?.entries, 60);
/// # Ok::<(), sapwood::Error>(())
/// ```
pub fn open(place: impl AsRef<Path>, options: NetOptions) -> Result<Arc<dyn Store>> {
    match place.as_ref().to_str().filter(|text| sapwood_store::is_url(text)) {
        Some(url) => sapwood_store::open(url, &complete(url, options, &|name| std::env::var(name).ok())?),
        None => Ok(Arc::new(LocalFile::open(place)?)),
    }
}

/// Options with what the environment adds.
fn complete(url: &str, mut options: NetOptions, variable: &dyn Fn(&str) -> Option<String>) -> Result<NetOptions> {
    let first = |names: &[&str]| names.iter().find_map(|name| variable(name).filter(|value| !value.is_empty()));
    let all = first(&["all_proxy", "ALL_PROXY"]);
    // In capitals `HTTP_PROXY` may come from a header of a request that a server handles: curl does not read it either.
    options.http_proxy = options.http_proxy.or_else(|| first(&["http_proxy"])).or_else(|| all.clone());
    options.https_proxy = options.https_proxy.or_else(|| first(&["https_proxy", "HTTPS_PROXY"])).or(all);
    options.no_proxy = options.no_proxy.or_else(|| first(&["no_proxy", "NO_PROXY"]));
    // Nobody said that this server may have the token: so it goes nowhere where others could read it.
    if options.token.is_none() && is_private(url) {
        options.token = match first(&["BEARER_TOKEN"]) {
            Some(token) => Some(token.trim().to_owned()),
            None => first(&["BEARER_TOKEN_FILE"]).map(|path| token_of(Path::new(&path))).transpose()?,
        };
    }
    Ok(options)
}

fn token_of(path: &Path) -> Result<String> {
    let text = std::fs::read_to_string(path);
    let text = text.map_err(|error| Error::from(error).in_file(path.to_string_lossy().as_ref()))?;
    Ok(text.trim().to_owned())
}

/// Whether nobody reads what is sent there: it is encrypted, or stays on this machine.
fn is_private(url: &str) -> bool {
    let Some((scheme, rest)) = url.split_once("://") else { return false };
    // Of root:// tokens are shown over TLS and not otherwise.
    if ["https", "root", "roots", "xroot", "xroots"].iter().any(|one| scheme.eq_ignore_ascii_case(one)) {
        return true;
    }
    let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let host = match host.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => host,
    };
    matches!(host, "localhost" | "127.0.0.1" | "[::1]")
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
