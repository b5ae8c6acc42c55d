//! What is secret in URLs, and texts that may be shown.

use std::borrow::Cow;

use reqwest::Url;

use crate::url::is_root;
use crate::{NetOptions, Provider};

/// What stands for a secret in a text that is shown.
const HIDDEN: &str = "...";

/// Shorter values are not looked for in the texts of servers: they would be found in words.
const LEAST_SECRET: usize = 6;

/// A URL, or a chain of them as fsspec has it, by which a cache knows a file: without what is secret, or good for one
/// visit only. Unlike in [`redact`], items of the query that are no known tickets stay as they are, since they may say
/// which file is meant.
pub(crate) fn cache_name(url: &str) -> String {
    let is_link =
        |at: usize| url.get(at + 2..).is_some_and(|rest| rest.split("::").next().unwrap_or(rest).contains("://"));
    match url.match_indices("::").find(|(at, _)| is_link(*at)) {
        Some((at, mark)) => {
            let (first, rest) = url.split_at(at);
            format!("{}{mark}{}", cache_name_of_link(first), cache_name(rest.trim_start_matches(mark)))
        }
        None => cache_name_of_link(url),
    }
}

fn cache_name_of_link(url: &str) -> String {
    let Ok(mut parsed) = Url::parse(url) else { return without_login(url) };
    // In a cloud a key may have this mark in it, and what stands before the host of Azure is a container.
    let is_cloud = Provider::of(url).is_some();
    // These fail for URLs that have no host, and nothing secret either.
    let _ = parsed.set_password(None);
    if !is_cloud {
        let _ = parsed.set_username("");
        parsed.set_fragment(None);
    }
    let kept: Vec<&str> = parsed
        .query()
        .unwrap_or_default()
        .split('&')
        .filter(|item| !item.is_empty() && !is_ticket(item.split('=').next().unwrap_or_default()))
        .collect();
    let query = (!kept.is_empty()).then(|| kept.join("&"));
    parsed.set_query(query.as_deref());
    parsed.into()
}

/// What is no URL to us may be one to others.
fn without_login(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    format!("{scheme}://{}", login_and_rest(rest).1)
}

/// Splits what stands behind `://` into the login, without its `@`, and the rest. A malformed URL, whose password holds
/// a slash for instance, is split at its last `@`.
fn login_and_rest(rest: &str) -> (&str, &str) {
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, behind) = rest.split_at(end);
    if let Some(at) = authority.rfind('@') {
        return (&rest[..at], &rest[at + 1..]);
    }
    let port = authority.rsplit_once(':').filter(|_| !authority.ends_with(']')).map_or("", |(_, port)| port);
    match behind.rfind('@') {
        Some(at) if !port.bytes().all(|byte| byte.is_ascii_digit()) => (&rest[..end + at], &rest[end + at + 1..]),
        _ => ("", rest),
    }
}

/// Any text as it may be shown: without passwords of URLs, and without the values of items such as `authz=` or
/// `X-Amz-Signature=`, wherever they stand. All texts that reach a user pass through it: errors, names of files, words
/// of servers.
///
/// # Example
///
/// ```
/// use sapwood_store::redact;
/// assert_eq!(redact("no https://me:secret@a.org/f?authz=secret&v=1 here"), "no https://a.org/f?authz=...&v=1 here");
/// assert_eq!(redact("no such file"), "no such file");
/// ```
pub fn redact(text: &str) -> Cow<'_, str> {
    if !text.contains("://") && !text.contains('=') && !text.to_ascii_lowercase().contains("bearer") {
        return Cow::Borrowed(text);
    }
    let mut found = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (before, behind) = rest.split_at(at + 3);
        found.push_str(before);
        let scheme = before.trim_end_matches("://").rsplit(|c: char| !c.is_ascii_alphanumeric()).next();
        let end = behind.find(|c: char| c.is_whitespace() || "\"'<>`".contains(c)).unwrap_or(behind.len());
        let (url, after) = behind.split_at(end);
        // Of a chain of URLs, the first link ends here.
        let (url, chain) = url.split_at(url.find("::").unwrap_or(url.len()));
        let (login, remainder) = login_and_rest(url);
        let (user, has_password) = login.split_once(':').map_or((login, false), |(user, _)| (user, true));
        let is_http =
            scheme.is_some_and(|scheme| ["http", "https"].iter().any(|http| scheme.eq_ignore_ascii_case(http)));
        // A name of http may be a token, and one of a cloud with a password is a key.
        let may_be_secret = is_http || has_password && Provider::of(text).is_some();
        if !user.is_empty() && !may_be_secret {
            found.push_str(user);
            found.push('@');
        }
        found.push_str(&without_values(remainder, true));
        if chain.contains("://") {
            rest = &rest[rest.len() - after.len() - chain.len()..];
            continue;
        }
        found.push_str(chain);
        rest = after;
    }
    found.push_str(rest);
    Cow::Owned(without_bearer(&without_values(&found, false)))
}

/// The text with the values of tickets hidden; of a query also those of any name that look like one.
fn without_values(text: &str, is_url: bool) -> String {
    let mut found = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('=') {
        let (before, behind) = rest.split_at(at + 1);
        found.push_str(before);
        let is_of_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
        let name = before.strip_suffix('=').unwrap_or(before);
        let name = name.rsplit(|c| !is_of_name(c)).next().unwrap_or_default();
        let name = name.trim_start_matches(|c: char| !c.is_ascii_alphanumeric());
        let end = behind.find(|c: char| c.is_whitespace() || "&;,\"'<>()`#".contains(c)).unwrap_or(behind.len());
        let (value, after) = behind.split_at(end);
        let is_secret = is_ticket(name) || (is_url && looks_secret(value));
        found.push_str(if is_secret && !value.is_empty() { HIDDEN } else { value });
        // A ticket may consist of two words: `Bearer eyJ...`.
        rest = match after.strip_prefix(' ') {
            Some(more) if is_secret && value.eq_ignore_ascii_case("bearer") => {
                &more[more.find(|c: char| c.is_whitespace() || "&;,\"'<>()`".contains(c)).unwrap_or(more.len())..]
            }
            _ => after,
        };
    }
    found.push_str(rest);
    found
}

/// The text without what follows the word `Bearer`, with a blank or an encoded one between.
fn without_bearer(text: &str) -> String {
    let mut found = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.to_ascii_lowercase().find("bearer") {
        let (before, behind) = rest.split_at(at + 6);
        found.push_str(before);
        rest = behind;
        for blank in [" ", "%20", "+"] {
            let Some(token) = behind.strip_prefix(blank) else { continue };
            let end = token.find(|c: char| c.is_whitespace() || "&;,\"'<>()`".contains(c)).unwrap_or(token.len());
            // A word of prose is none: tokens are long.
            if end >= 16 || looks_secret(&token[..end]) {
                found.push_str(blank);
                found.push_str(HIDDEN);
                rest = &token[end..];
            }
            break;
        }
    }
    found.push_str(rest);
    found
}

/// Whether an item of this name is a ticket, or a part of one.
fn is_ticket(name: &str) -> bool {
    const NAMES: [&str; 14] = [
        "auth",
        "awsaccesskeyid",
        "expires",
        "googleaccessid",
        "jwt",
        "key-pair-id",
        "policy",
        "pwd",
        "sessionid",
        "sig",
        "ticket",
        "api_key",
        "api-key",
        "apikey",
    ];
    const PARTS: [&str; 9] =
        ["authz", "authoriz", "bearer", "credential", "passw", "secret", "signature", "token", "cookie"];
    let name = name.to_ascii_lowercase();
    NAMES.contains(&&*name)
        || PARTS.iter().any(|part| name.contains(part))
        || ["x-amz-", "x-goog-", "x-oss-"].iter().any(|start| name.starts_with(start))
}

/// Whether a value is long and random, as tickets are.
fn looks_secret(value: &str) -> bool {
    let is_random = value.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-_=~".contains(&byte))
        && value.bytes().any(|byte| byte.is_ascii_digit())
        && value.bytes().any(|byte| byte.is_ascii_alphabetic());
    value.starts_with("eyJ") || (value.len() >= 32 && is_random)
}

/// What must never be shown of a file: what a server was told, and may repeat.
#[derive(Clone, Default)]
pub(crate) struct Secrets(Vec<String>);

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secrets")
    }
}

impl Secrets {
    /// Those of a URL and of options.
    pub(crate) fn of(url: &str, options: &NetOptions) -> Self {
        let mut found: Vec<&str> = options.token.iter().map(|token| token.trim()).collect();
        for (name, value) in &options.headers {
            if is_ticket(name) {
                found.push(value);
                found.extend(value.split(' '));
            }
        }
        let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
        let (login, rest) = login_and_rest(rest);
        found.extend(login.split_once(':').map(|(_, password)| password));
        // All that `root://` is sent along with a path is for the server alone.
        let all = is_root(url);
        for item in rest.split(['?', '&', '#']).skip(1) {
            let (name, value) = item.split_once('=').unwrap_or(("", item));
            if all || is_ticket(name) || looks_secret(value) {
                found.push(value);
                found.extend(value.strip_prefix("Bearer%20"));
            }
        }
        let mut found: Vec<String> =
            found.into_iter().filter(|secret| secret.len() >= LEAST_SECRET).map(str::to_owned).collect();
        // One may be a part of another.
        found.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        found.dedup();
        Self(found)
    }

    /// A text without these secrets, and without whatever [`redact`] hides.
    pub(crate) fn hide<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut shown = redact(text);
        for secret in &self.0 {
            if shown.contains(secret.as_str()) {
                shown = Cow::Owned(shown.replace(secret.as_str(), HIDDEN));
            }
        }
        shown
    }

    /// An error without them.
    pub(crate) fn hide_in(&self, error: sapwood::Error) -> sapwood::Error {
        let words = self.hide(error.message());
        let source = std::error::Error::source(&error).map(ToString::to_string);
        let shown_source = source.as_deref().map(|source| self.hide(source));
        if words == error.message() && shown_source.as_deref() == source.as_deref() {
            return error;
        }
        crate::net::reworded(&error, words.into_owned(), shown_source.map(Cow::into_owned))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_caches_hold_no_secrets() {
        for (url, name) in [
            ("https://me:pass@a.org/f.root#x", "https://a.org/f.root"),
            ("https://a.org/f?X-Amz-Signature=1&v=2&Token=x", "https://a.org/f?v=2"),
            ("https://a.org/f?authz=x", "https://a.org/f"),
            ("root://me@a.org:1094//f", "root://a.org:1094//f"),
            ("abfss://box@a.dfs.core.windows.net/f", "abfss://box@a.dfs.core.windows.net/f"),
            ("s3://bucket/f#2", "s3://bucket/f#2"),
            ("plain", "plain"),
            ("/data/a::b.root", "/data/a::b.root"),
            ("simplecache::https://me:pass@a.org/f?token=x", "simplecache::https://a.org/f"),
            ("zip://a.root::filecache::ftp://me:pass@a.org/z.zip", "zip://a.root::filecache::ftp://a.org/z.zip"),
            ("zip://b/a.root::http://me:pass@[::1]:81/z.zip", "zip://b/a.root::http://[::1]:81/z.zip"),
            ("sftp://me:pass@a.org:port/f", "sftp://a.org:port/f"),
            // Which file is meant stays, however random it looks.
            (
                "https://a.org/f?id=0123456789abcdef0123456789abcdef",
                "https://a.org/f?id=0123456789abcdef0123456789abcdef",
            ),
        ] {
            assert_eq!(cache_name(url), name);
        }
    }

    #[test]
    fn what_is_shown_holds_no_secrets() {
        for (text, shown) in [
            ("https://me:pass@a.org/f.root", "https://a.org/f.root"),
            ("https://geheim@a.org/f.root", "https://a.org/f.root"),
            ("ftp://me:pass@a.org/f", "ftp://me@a.org/f"),
            ("root://me:pass@a.org//f?authz=Bearer%20x&y=1", "root://me@a.org//f?authz=...&y=1"),
            ("http://me:p/ss@a.org/f", "http://a.org/f"),
            ("http://me:p#ss@a.org/f", "http://a.org/f"),
            ("http://me:p?ss@a.org/f", "http://a.org/f"),
            ("http://a.org:80/f@2", "http://a.org:80/f@2"),
            (
                "https://a/f?X-Amz-Signature=abc&X-Amz-Date=2&part=2",
                "https://a/f?X-Amz-Signature=...&X-Amz-Date=...&part=2",
            ),
            ("https://a/f?x=eyJhbGciOi.J9", "https://a/f?x=..."),
            ("https://a/f?x=0123456789abcdef0123456789abcdef", "https://a/f?x=..."),
            ("dcap://a/f?authz=geheim", "dcap://a/f?authz=..."),
            ("(see \"https://me:pass@a.org\" and /f?token=geheim)", "(see \"https://a.org\" and /f?token=...)"),
            ("refused: Authorization=Bearer abc, sorry", "refused: Authorization=..., sorry"),
            ("no Bearer eyJabc.def here", "no Bearer ... here"),
            ("the bearer of bad news", "the bearer of bad news"),
            ("zip://a.root::https://me:pass@a.org/z.zip", "zip://a.root::https://a.org/z.zip"),
            ("abfss://box@a.dfs.core.windows.net/f", "abfss://box@a.dfs.core.windows.net/f"),
            ("x = 1, y=2", "x = 1, y=2"),
            ("é://me:pass@a", "é://me@a"),
        ] {
            assert_eq!(redact(text), shown);
            assert_eq!(redact(shown), shown, "once is enough");
        }
    }

    #[test]
    fn what_a_server_repeats_is_hidden() {
        let options = NetOptions { token: Some("sesame-4711\n".into()), ..NetOptions::default() };
        let secrets = Secrets::of("root://me:passwort@a//f?xrd.x=ticket-77&short=1", &options);
        let text = "no: sesame-4711, passwort, ticket-77, 1";
        assert_eq!(secrets.hide(text), "no: ..., ..., ..., 1");
        assert!(!format!("{secrets:?}").contains("sesame"));
        let error = secrets.hide_in(sapwood::Error::not_found("it is ticket-77").because("ticket-77").at(7));
        assert_eq!(error.to_string().matches("ticket").count(), 0, "{error}");
        assert_eq!((error.kind(), error.place().offset), (sapwood::ErrorKind::NotFound, Some(7)));
    }

    #[test]
    fn any_text_is_taken() {
        for text in
            ["", "=", "==", "://", "://://", "a=://@", "@://@:@", "bearer", "bearer ", "?=&=", "é=ü&token=é", "x::y://"]
        {
            redact(text);
            cache_name(text);
            Secrets::of(text, &NetOptions::default());
        }
    }
}
