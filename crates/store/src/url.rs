//! URLs as the stores take them: schemes and paths.

use std::path::{Path, PathBuf};

use reqwest::Url;

/// Whether `text` is a URL, of any scheme, and no path.
///
/// # Example
///
/// ```
/// assert!(sapwood_store::is_url("https://example.org/a.root"));
/// assert!(sapwood_store::is_url("file:/data/a.root"));
/// assert!(!sapwood_store::is_url("data/a.root"));
/// ```
pub fn is_url(text: &str) -> bool {
    scheme(text).is_some()
}

/// The scheme of a URL, as it is written; none of a path. `file:` needs one slash, all others need two.
pub(crate) fn scheme(text: &str) -> Option<&str> {
    if let Some((scheme, rest)) = text.split_once(':')
        && scheme.eq_ignore_ascii_case("file")
        && rest.starts_with('/')
    {
        return Some(scheme);
    }
    let (scheme, _) = text.split_once("://")?;
    let mut letters = scheme.bytes();
    let good = letters.next().is_some_and(|first| first.is_ascii_alphabetic())
        && letters.all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'));
    good.then_some(scheme)
}

/// Where the path of a URL begins; none of a path, and of a URL without one. Colons before it belong to the scheme, the
/// login or the port.
///
/// # Example
///
/// ```
/// assert_eq!(sapwood_store::path_start("http://a:80/b.root"), Some(11));
/// assert_eq!(sapwood_store::path_start("file:/b.root"), Some(5));
/// assert_eq!(sapwood_store::path_start("b.root"), None);
/// ```
pub fn path_start(url: &str) -> Option<usize> {
    let after = scheme(url)?.len() + 1;
    let rest = url.get(after..)?;
    let authority = if rest.starts_with("//") { 2 } else { 0 };
    Some(after + authority + rest.get(authority..)?.find('/')?)
}

/// Whether the scheme is one of XRootD's.
pub(crate) fn is_root(url: &str) -> bool {
    scheme(url)
        .is_some_and(|scheme| ["root", "roots", "xroot", "xroots"].iter().any(|one| scheme.eq_ignore_ascii_case(one)))
}

/// Whether the scheme is that of http over TLS.
pub(crate) fn is_https(url: &str) -> bool {
    scheme(url).is_some_and(|scheme| scheme.eq_ignore_ascii_case("https"))
}

/// The host of a URL in lower case, without login and port.
pub(crate) fn host(url: &str) -> Option<String> {
    Url::parse(url).ok()?.host_str().map(str::to_ascii_lowercase)
}

/// Whether what is sent to this URL is encrypted, or stays on this machine, so that a secret may go there that was not
/// meant for this server alone. `root://` shows tokens over TLS only.
pub(crate) fn is_private(url: &str) -> bool {
    let Some((_, rest)) = url.split_once("://") else { return false };
    if is_https(url) || is_root(url) {
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

/// The path of a `file:` URL: as it stands, and where there is no such file, with `%20` and the like resolved. None of
/// other URLs and of paths.
///
/// # Example
///
/// ```
/// use sapwood_store::file_path;
/// assert_eq!(file_path("file:///data/a.root"), Some("/data/a.root".into()));
/// assert_eq!(file_path("file:/data/a.root"), Some("/data/a.root".into()));
/// assert_eq!(file_path("https://example.org/a.root"), None);
/// ```
pub fn file_path(url: &str) -> Option<PathBuf> {
    scheme(url).filter(|scheme| scheme.eq_ignore_ascii_case("file"))?;
    let plain = url.split_once(':').map_or(url, |(_, rest)| rest);
    let plain = plain.strip_prefix("//").unwrap_or(plain);
    let plain = plain.strip_prefix("localhost").filter(|rest| rest.starts_with('/')).unwrap_or(plain);
    if Path::new(plain).exists() {
        return Some(plain.into());
    }
    let parsed = Url::parse(url).ok().and_then(|url| url.to_file_path().ok());
    Some(parsed.unwrap_or_else(|| plain.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemes_are_told_from_paths() {
        for url in ["http://a/b", "HTTPS://a", "s3+x://b", "file:/a", "FILE:///a"] {
            assert!(is_url(url), "{url}");
        }
        for path in ["a.root", "/a/b://c", "1x://a", "://", "a:tree", "c:\\x", "file:a", "x:/a"] {
            assert!(!is_url(path), "{path}");
        }
        assert_eq!(path_start("http://a"), None);
        assert_eq!(path_start("root://a:1//b:t"), Some(10));
    }
}
