//! Where a file is that another file names: a friend, a part of a chain, baskets of a branch.

use std::path::Path;

use sapwood::{Error, Result};

use crate::packed::member_start;
use crate::secrets::redact;
use crate::url::{file_path, is_url, path_start};

/// The place of a file that the file `of` names: from its folder, on its server, or in its archive. A path of this
/// machine that is complete stays as it is.
///
/// A file cannot make this process ask another server than its own, and what is on a server cannot name files of this
/// machine.
///
/// # Errors
///
/// [`Unsupported`](sapwood::ErrorKind::Unsupported) for these, and for chains of file systems.
///
/// # Example
///
/// ```
/// use sapwood_store::beside;
/// assert_eq!(beside("data/a.root", "b.root")?, "data/b.root");
/// assert_eq!(beside("image.sqfs:run1/a.root", "b.root")?, "image.sqfs:run1/b.root");
/// assert_eq!(beside("https://example.org/run1/a.root", "b.root")?, "https://example.org/run1/b.root");
/// assert!(beside("https://example.org/a.root", "https://example.com/b.root").is_err());
/// # Ok::<(), sapwood::Error>(())
/// ```
pub fn beside(of: &str, path: &str) -> Result<String> {
    let refuse = |words: String| Err(Error::unsupported(format!("{words}: open it by hand")));
    let shown = redact(path);
    // What a chain of file systems asks stands behind its first link, and what it reads there need not have folders.
    let is_chain = of.contains("::") && of.contains("://") && !Path::new(of).exists();
    if path.contains("::") || is_chain && (is_url(of) || is_url(path)) {
        return refuse(format!("{shown:?} leads through several file systems"));
    }
    let plain = file_path(path).map(|path| path.to_string_lossy().into_owned());
    let is_far = is_chain || is_url(of) && file_path(of).is_none();
    match (&plain, is_far) {
        (Some(plain), false) => return Ok(plain.clone()),
        (Some(_), true) => return refuse("its path is one of another machine".to_owned()),
        (None, false) if is_url(path) => {
            return refuse(format!("{shown:?} is on a server, and the file that names it is not"));
        }
        (None, true) if is_url(path) => {
            return match server(path) == server(of) {
                true => Ok(path.to_owned()),
                false => refuse(format!("{shown:?} is on another server than the file that names it")),
            };
        }
        (None, true) if Path::new(path).is_absolute() => {
            return refuse("its path is one of another machine".to_owned());
        }
        (None, _) => {}
    }
    if Path::new(path).is_absolute() {
        return Ok(path.to_owned());
    }
    // What a query says is about that one file.
    let of = if is_far { of.split('?').next().unwrap_or(of) } else { of };
    if let Some(start) = member_start(of) {
        let (outer, member) = of.split_at(start);
        return Ok(format!("{outer}{}", in_archive(member, path)?));
    }
    let folder = of.rfind('/').map_or("", |at| &of[..=at]);
    Ok(format!("{folder}{path}"))
}

/// [`beside`], or the path as it is where only that exists on this machine: what `TBranch::SetFile` names.
///
/// # Errors
///
/// Those of [`beside`].
///
/// # Example
///
/// ```
/// use sapwood_store::found_beside;
/// assert_eq!(found_beside("https://example.org/run1/a.root", "b.root")?, "https://example.org/run1/b.root");
/// # Ok::<(), sapwood::Error>(())
/// ```
pub fn found_beside(of: &str, path: &str) -> Result<String> {
    let place = beside(of, path)?;
    let is_here =
        !is_url(of) && !Path::new(&place).exists() && member_start(&place).is_none() && Path::new(path).exists();
    Ok(if is_here { path.to_owned() } else { place })
}

/// A path from the folder of a member of an archive, which it does not leave.
fn in_archive(member: &str, path: &str) -> Result<String> {
    let mut parts: Vec<&str> = member.split('/').collect();
    parts.pop();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                let left = || Error::unsupported(format!("{path:?} leads out of the archive: open it by hand"));
                parts.pop().ok_or_else(left)?;
            }
            part => parts.push(part),
        }
    }
    Ok(parts.join("/"))
}

/// Scheme, login, host and port.
fn server(url: &str) -> String {
    url[..path_start(url).unwrap_or(url.len())].to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_found_beside_others() {
        for (of, path, found) in [
            ("t.root", "f.root", "f.root"),
            ("a/t.root", "../f.root", "a/../f.root"),
            ("a/t.root", "/data/f.root", "/data/f.root"),
            ("a/t.root", "file:///data/f.root", "/data/f.root"),
            ("i.sqfs:t.root", "f.root", "i.sqfs:f.root"),
            ("a/i.zip:b/c/t.root", "../f.root", "a/i.zip:b/f.root"),
            ("http://h:80/a.zip:t.root", "f.root", "http://h:80/a.zip:f.root"),
            ("http://h/a/t.root?k=/x", "f.root", "http://h/a/f.root"),
            ("simplecache::http://h/a/t.root", "f.root", "simplecache::http://h/a/f.root"),
            ("root://h//a/t.root", "root://h//b/f.root", "root://h//b/f.root"),
        ] {
            assert_eq!(beside(of, path).unwrap(), found, "{of} {path}");
        }
        for (of, path) in [
            ("t.root", "http://h/f.root"),
            ("http://h/t.root", "http://other/f.root"),
            ("http://h/t.root", "/etc/f.root"),
            ("http://h/t.root", "file:/etc/f.root"),
            ("i.sqfs:t.root", "../f.root"),
            ("t.root", "zip://f.root::http://h/a.zip"),
            ("zip://t.root::a.zip", "http://h/f.root"),
            ("zip://t.root::a.zip", "f.root"),
            ("simplecache::http://h/t.root", "/etc/f.root"),
        ] {
            assert!(beside(of, path).unwrap_err().message().contains("by hand"), "{of} {path}");
        }
    }
}
