//! What is in a folder of a server.

use std::collections::BTreeMap;

use reqwest::Url;
use sapwood::io::Store;
use sapwood::{Error, Result};

use crate::listed::{Listed, is_name};
use crate::secrets::redact;
use crate::url::scheme;
use crate::{HttpStore, NetOptions, XrootdStore};

/// The longest index page.
const PAGE_BYTES: usize = 16 << 20;
/// The most names of a folder.
const MOST_NAMES: usize = 100_000;

/// Whether a URL names a folder: its path ends with a slash, or it names a bucket and nothing in it.
///
/// # Example
///
/// ```
/// use sapwood_store::is_folder_url;
/// assert!(is_folder_url("root://example.org//store/") && is_folder_url("https://example.org/data/?token=1"));
/// assert!(is_folder_url("s3://bucket") && !is_folder_url("s3://bucket/a.root") && !is_folder_url("data/"));
/// ```
pub fn is_folder_url(url: &str) -> bool {
    let Some((_, rest)) = scheme(url).and_then(|scheme| url.split_at_checked(scheme.len() + 3)) else { return false };
    let path = rest.split_once(['?', '#']).map_or(rest, |(path, _)| path);
    path.ends_with('/') || !path.contains('/') && crate::Provider::of(url).is_some()
}

/// The URL of a name below a folder's: `below` has slashes between its parts.
///
/// # Example
///
/// ```
/// use sapwood_store::below_url;
/// assert_eq!(below_url("https://example.org/data/?token=1", "run 1/a.root"),
///            "https://example.org/data/run%201/a.root?token=1");
/// assert_eq!(below_url("root://example.org//store/", "a b.root"), "root://example.org//store/a b.root");
/// ```
pub fn below_url(folder: &str, below: &str) -> String {
    let (path, query) = match folder.find(['?', '#']) {
        Some(at) if crate::Provider::of(folder).is_none() => folder.split_at(at),
        _ => (folder, ""),
    };
    let slash = if path.ends_with('/') { "" } else { "/" };
    let is_http = scheme(folder).is_some_and(|scheme| scheme.to_ascii_lowercase().starts_with("http"));
    let below = if is_http { escaped(below) } else { below.to_owned() };
    format!("{path}{slash}{below}{query}")
}

/// A path in which only letters, digits and what never has a meaning stand for themselves.
fn escaped(path: &str) -> String {
    let one = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    };
    path.bytes().map(one).collect()
}

/// What is in a folder of a server, by name: `root://` and `roots://` tell it, servers of `http://` and `https://` that
/// make an index page, and with the feature `clouds` buckets.
///
/// # Errors
///
/// [`Unsupported`](sapwood::ErrorKind::Unsupported) for other schemes, and for pages that are no index;
/// [`Limit`](sapwood::ErrorKind::Limit) for more than 100,000 names; what reading reports.
///
/// # Example
///
/// ```
/// use sapwood_store::list;
/// use sapwood_testkit::http_server::{HttpServer, ServerConfig};
/// let page = "<title>Index of /</title> <a href='../'>up</a> <a href='a.root'>a.root</a> <a href='run1/'>run1</a>";
/// let server = HttpServer::start(page, ServerConfig::default());
/// let found = list(&format!("http://{}/", server.address()), &Default::default())?;
/// assert_eq!(found.iter().map(|one| one.name.as_str()).collect::<Vec<_>>(), ["a.root", "run1"]);
/// assert!(found[1].is_folder);
/// # Ok::<(), sapwood::Error>(())
/// ```
pub fn list(url: &str, options: &NetOptions) -> Result<Vec<Listed>> {
    let plain = NetOptions { cache: None, ..options.clone() };
    let mut found = match scheme(url).map(str::to_ascii_lowercase).as_deref() {
        Some("http" | "https") => index_page(url, &plain)?,
        Some("root" | "roots" | "xroot" | "xroots") => XrootdStore::new(url, &plain)?.list()?,
        #[cfg(feature = "clouds")]
        Some(_) if crate::Provider::of(url).is_some() => crate::cloud::list(url, &plain)?,
        _ => {
            let words = "folders of this scheme are not listed: those of root://, http(s):// and clouds are";
            return Err(Error::unsupported(words).in_file(redact(url)));
        }
    };
    found.sort();
    found.dedup();
    if found.len() > MOST_NAMES {
        let error = Error::limit("too many names in a folder", MOST_NAMES as u64, found.len() as u64);
        return Err(error.in_file(redact(url)));
    }
    Ok(found)
}

fn index_page(url: &str, options: &NetOptions) -> Result<Vec<Listed>> {
    let ends = HttpStore::new(url, options)?.ends(PAGE_BYTES, 0)?;
    if ends.identity.len > PAGE_BYTES as u64 {
        let error = Error::limit("a page is too long for an index", PAGE_BYTES as u64, ends.identity.len);
        return Err(error.in_file(redact(url)));
    }
    let page = String::from_utf8_lossy(&ends.head);
    let is_page = page.to_ascii_lowercase().contains("<a ");
    let base = Url::parse(url).map_err(|error| Error::mismatch("malformed URL").because(error).in_file(redact(url)))?;
    match linked(&base, &page) {
        found if found.is_empty() && !is_page => {
            Err(Error::unsupported("the server gives no index of this folder").in_file(redact(url)))
        }
        found => Ok(found),
    }
}

/// What a page links to that lies directly in its folder.
fn linked(base: &Url, page: &str) -> Vec<Listed> {
    let mut found = BTreeMap::new();
    // ASCII letters keep their places when they are made small.
    let small = page.to_ascii_lowercase();
    let mut at = 0;
    while let Some(place) = small[at..].find("href=").filter(|_| found.len() <= MOST_NAMES) {
        at += place + "href=".len();
        let rest = &page[at..];
        let target = match rest.chars().next() {
            Some(quote @ ('"' | '\'')) => rest[1..].split(quote).next(),
            _ => rest.split(|c: char| c.is_whitespace() || c == '>').next(),
        };
        let Some(target) = target else { continue };
        let plain = target.replace("&amp;", "&").replace("&#39;", "'").replace("&quot;", "\"");
        let Ok(url) = base.join(&plain) else { continue };
        if (url.host(), url.port_or_known_default()) != (base.host(), base.port_or_known_default())
            || plain.contains(['?', '#'])
        {
            continue;
        }
        let Some(below) = url.path().strip_prefix(base.path()) else { continue };
        let (name, is_folder) = below.strip_suffix('/').map_or((below, false), |name| (name, true));
        let Some(name) = decoded(name) else { continue };
        if is_name(&name) {
            found.insert(name, is_folder);
        }
    }
    found.into_iter().map(|(name, is_folder)| Listed::named(name, is_folder)).collect()
}

fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let mut digit = || char::from(rest.next()?).to_digit(16);
                (16 * digit()? + digit()?) as u8
            }
            other => other,
        });
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_below_the_folder_are_its_names() {
        let base = Url::parse("https://example.org/data/").unwrap();
        let page = r##"<a href="?C=N;O=D">Name</a> <A HREF="../">up</A> <a href=plain.root>x</a>
            <a href='a%20b%26.root'>x</a> <a href="/data/sub/">x</a> <a href="/other/c.root">x</a>
            <a href="https://evil.org/data/d.root">x</a> <a href="sub/deep.root">x</a> <a href="%2e%2e/">x</a>
            <a href="./e&amp;f.root">x</a> <a href="%2Fetc">x</a> <a href="#top">x</a> <a href="x"##;
        let names: Vec<_> = linked(&base, page).into_iter().map(|one| (one.name, one.is_folder)).collect();
        let of = |name: &str, is_folder| (name.to_owned(), is_folder);
        let expected = [of("a b&.root", false), of("e&f.root", false), of("plain.root", false), of("sub", true)];
        assert_eq!(names[..4], expected);
        assert!(names[4..].iter().all(|(name, _)| name == "x"), "{names:?}");
    }
}
