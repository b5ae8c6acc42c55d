//! Certificates that the environment names, as the grid's tools do.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::NetOptions;
use crate::url::{is_https, is_root};

/// Where machines of the grid have their authorities.
const AUTHORITIES: &str = "/etc/grid-security/certificates";

/// Adds the user's certificate and the authorities for servers of `root://` and `https://`.
pub(super) fn complete(url: &str, options: &mut NetOptions, variable: &dyn Fn(&str) -> Option<String>) {
    let named = |name: &str| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if !is_root(url) && !is_https(url) {
        return;
    }
    if options.certificate.is_none() {
        let both = named("X509_USER_CERT").zip(named("X509_USER_KEY"));
        if let Some(proxy) = named("X509_USER_PROXY") {
            options.certificate = Some(proxy);
        } else if let Some((certificate, key)) = both {
            (options.certificate, options.key) = (Some(certificate), Some(key));
        } else {
            options.certificate = default_proxy(is_root(url));
        }
        options.certificate_if_usable = options.certificate.is_some();
    }
    if options.authorities.is_none() {
        // A variable that a script set for all machines may name a folder that this one has not.
        let folder = named("X509_CERT_DIR").filter(|folder| folder.is_dir());
        let default = || Some(PathBuf::from(AUTHORITIES)).filter(|folder| is_root(url) && folder.is_dir());
        options.authorities = folder.or_else(default);
        options.authorities_if_usable = options.authorities.is_some();
    }
}

/// The path at which the grid's tools store proxies. Anybody may create a file of this name, so it must belong to the
/// user. `always` returns the path of a missing file, too.
fn default_proxy(always: bool) -> Option<PathBuf> {
    let user = rustix::process::getuid().as_raw();
    let path = Path::new("/tmp").join(format!("x509up_u{user}"));
    match std::fs::metadata(&path) {
        Ok(found) => (found.uid() == user).then_some(path),
        Err(_) => always.then_some(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(url: &str, set: &[(&str, &str)], options: NetOptions) -> NetOptions {
        let mut options = options;
        let variable = |name: &str| set.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
        complete(url, &mut options, &variable);
        options
    }

    #[test]
    fn a_proxy_goes_before_a_certificate() {
        let set = [("X509_USER_PROXY", "/p"), ("X509_USER_CERT", "/c"), ("X509_USER_KEY", "/k")];
        for url in ["root://a//b", "roots://a//b", "https://a/b"] {
            let found = with(url, &set, NetOptions::default());
            assert_eq!((found.certificate, found.key, found.certificate_if_usable), (Some("/p".into()), None, true));
            let found = with(url, &set[1..], NetOptions::default());
            assert_eq!((found.certificate, found.key), (Some("/c".into()), Some("/k".into())));
            let own = NetOptions { certificate: Some("/mine".into()), ..NetOptions::default() };
            let found = with(url, &set, own);
            assert_eq!((found.certificate, found.certificate_if_usable), (Some("/mine".into()), false));
        }
        for url in ["http://a/b", "dcap://a/b", "s3://a/b"] {
            assert_eq!(with(url, &set, NetOptions::default()), NetOptions::default(), "{url}");
        }
    }

    #[test]
    fn without_a_name_it_is_the_one_in_tmp() {
        let user = rustix::process::getuid().as_raw();
        let found = with("root://a//b", &[("X509_USER_PROXY", "")], NetOptions::default()).certificate;
        let path = PathBuf::from(format!("/tmp/x509up_u{user}"));
        let is_ours = std::fs::metadata(&path).map_or(true, |found| found.uid() == user);
        assert_eq!(found, is_ours.then_some(path));
    }

    #[test]
    fn a_missing_folder_is_ignored() {
        let here = std::env::temp_dir();
        let found = with("https://a/b", &[("X509_CERT_DIR", here.to_str().unwrap())], NetOptions::default());
        assert_eq!((found.authorities, found.authorities_if_usable), (Some(here.clone()), true));
        let found = with("https://a/b", &[("X509_CERT_DIR", "/no/such/folder")], NetOptions::default());
        assert_eq!(found.authorities, None);
        let own = NetOptions { authorities: Some("/mine".into()), ..NetOptions::default() };
        let found = with("root://a//b", &[("X509_CERT_DIR", here.to_str().unwrap())], own);
        assert_eq!((found.authorities, found.authorities_if_usable), (Some("/mine".into()), false));
    }
}
