//! Names of files within other files: `x.root.zst`, `image.sqfs:path/x.root`, `archive.zip:path/x.root`.

use std::path::Path;

use sapwood::{Error, Result};

use crate::secrets::redact;
use crate::url::{is_url, path_start};

/// Endings of archives, which a colon and a path within follow.
const ARCHIVES: [(&str, Archive); 3] =
    [(".sqfs", Archive::Squashfs), (".squashfs", Archive::Squashfs), (".zip", Archive::Zip)];
/// Files within files within files: more is a mistake.
const MOST_LAYERS: usize = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Archive {
    Squashfs,
    Zip,
}

/// How one file lies within another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Layer {
    /// In the seekable format of zstd.
    Seekable,
    /// At this path of a SquashFS image.
    Squashfs(String),
    /// Under this name in a zip archive.
    Zip(String),
}

/// The outermost file of a place, and how it holds what is meant.
pub(super) fn parse(place: &str) -> Result<(String, Vec<Layer>)> {
    if !is_url(place) && Path::new(place).exists() {
        return whole(place, place.to_owned());
    }
    if place.contains("::") {
        return Ok((place.to_owned(), Vec::new())); // a chain of fsspec's, which unpacks by itself
    }
    // Of a URL the query belongs to the outermost file: the path is in front of it.
    let path_at = if is_url(place) { path_start(place).unwrap_or(place.len()) } else { 0 };
    let query_at = if is_url(place) { place.find('?').unwrap_or(place.len()) } else { place.len() };
    let (path, query) = place.split_at(query_at);
    let mut marks = marks(path, path_at).into_iter().peekable();
    let Some(outer) = marks.peek().map(|mark| &path[..mark.colon]) else {
        return whole(path, place.to_owned());
    };
    let mut layers = Vec::new();
    while let Some(mark) = marks.next() {
        let end = marks.peek().map_or(path.len(), |next| next.colon);
        let member = path[mark.colon + 1..end].trim_start_matches('/').to_owned();
        let packed = ends_packed(&member);
        layers.push(match mark.archive {
            Archive::Squashfs => Layer::Squashfs(member),
            Archive::Zip => Layer::Zip(member),
        });
        layers.extend(packed.then_some(Layer::Seekable));
    }
    if layers.len() > MOST_LAYERS {
        let error = Error::limit("files lie within files to some depth only", MOST_LAYERS as u64, layers.len() as u64);
        return Err(error.in_file(redact(place)));
    }
    Ok((format!("{outer}{query}"), layers))
}

/// A place that is no member of an archive; `path` is what of it can have an ending.
fn whole(path: &str, place: String) -> Result<(String, Vec<Layer>)> {
    let archive = path.trim_end_matches(':');
    if ARCHIVES.iter().any(|(ending, _)| ends_with(archive, ending)) {
        let words =
            "an archive was named, and no file in it: write it as archive.zip:path/x.root or image.sqfs:path/x.root";
        return Err(Error::mismatch(words).in_file(redact(&place)));
    }
    let layers = ends_packed(path).then_some(Layer::Seekable);
    Ok((place, layers.into_iter().collect()))
}

/// Where the name of a file within an archive ends, and `:OBJECT` may begin; none of all other names. Names of such
/// files have no colons.
///
/// # Example
///
/// ```
/// use sapwood_store::member_end;
/// assert_eq!(member_end("image.sqfs:run1/x.root:tree"), Some(22));
/// assert_eq!(member_end("https://example.org:8443/a.zip:x.root"), Some(37));
/// assert_eq!(member_end("x.root:tree"), None);
/// ```
pub fn member_end(target: &str) -> Option<usize> {
    let last = member_start(target)?;
    // The query of a URL belongs to the outermost file, and may have colons.
    let path_end = if is_url(target) { target.find('?').unwrap_or(target.len()) } else { target.len() };
    let colon = target.get(last..path_end)?.find(':');
    Some(colon.map_or(target.len(), |at| last + at))
}

/// Refuses the name of a packed file as that of one that is written: packed files are written as a whole, by
/// [`pack`](crate::pack).
///
/// # Errors
///
/// [`Mismatch`](sapwood::ErrorKind::Mismatch) that says what to do.
///
/// # Example
///
/// ```
/// assert!(sapwood_store::check_output("x.root").is_ok());
/// assert!(sapwood_store::check_output("x.root.zst").is_err());
/// assert!(sapwood_store::check_output("archive.zip:x.root").is_err());
/// ```
pub fn check_output(place: &str) -> Result<()> {
    let words = match member_start(place) {
        Some(_) => "files within archives are not written: write the file beside it, and make the archive anew",
        None if ends_packed(place) => {
            "this is the name of a packed file, which is not written into: write it without .zst, and pack that \
             (sapwood pack FILE)"
        }
        None => return Ok(()),
    };
    Err(Error::mismatch(words).in_file(redact(place)))
}

/// Where the name of a file within an archive begins; none of all other names.
pub(crate) fn member_start(place: &str) -> Option<usize> {
    if !is_url(place) && Path::new(place).exists() {
        return None;
    }
    let path_at = if is_url(place) { path_start(place)? } else { 0 };
    Some(marks(place, path_at).into_iter().next_back()?.colon + 1)
}

struct Mark {
    archive: Archive,
    /// Where the colon is.
    colon: usize,
}

/// The colons that follow the name of an archive, and are followed by that of a file in it.
fn marks(text: &str, from: usize) -> Vec<Mark> {
    let colons = text.match_indices(':').map(|(at, _)| at).filter(|at| *at >= from);
    let is_mark = |colon: usize| {
        let inside = &text[colon + 1..];
        let (_, archive) = ARCHIVES.iter().find(|(ending, _)| ends_with(&text[from..colon], ending))?;
        let is_path = !inside.is_empty() && !inside.starts_with(':') && !inside.starts_with("//");
        is_path.then_some(Mark { archive: *archive, colon })
    };
    colons.filter_map(is_mark).collect()
}

fn ends_packed(name: &str) -> bool {
    ends_with(name, ".zst")
}

/// Whether a name has an ending, and more in front of it.
fn ends_with(name: &str, ending: &str) -> bool {
    let Some(start) = name.len().checked_sub(ending.len()).filter(|start| *start > 0) else { return false };
    name.get(start..).is_some_and(|end| end.eq_ignore_ascii_case(ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_taken_apart() {
        let squashfs = |path: &str| Layer::Squashfs(path.into());
        let zip = |path: &str| Layer::Zip(path.into());
        for (place, outer, layers) in [
            ("x.root", "x.root", vec![]),
            ("x.root.ZST", "x.root.ZST", vec![Layer::Seekable]),
            ("i.sqfs:a/x.root", "i.sqfs", vec![squashfs("a/x.root")]),
            ("i.squashfs:/x.root", "i.squashfs", vec![squashfs("x.root")]),
            ("a.Zip:x.root.zst", "a.Zip", vec![zip("x.root.zst"), Layer::Seekable]),
            ("a.zip:b.sqfs:x.root", "a.zip", vec![zip("b.sqfs"), squashfs("x.root")]),
            ("http://h:80/a.zip:x.root?k=1:2", "http://h:80/a.zip?k=1:2", vec![zip("x.root")]),
            ("http://h/x.root.zst?k", "http://h/x.root.zst?k", vec![Layer::Seekable]),
            ("http://h.zip:80/x.root", "http://h.zip:80/x.root", vec![]),
            ("a.zip::x", "a.zip::x", vec![]),
            ("zip://x.root::/data/a.zip", "zip://x.root::/data/a.zip", vec![]),
            ("a.b:c.root", "a.b:c.root", vec![]),
            ("", "", vec![]),
        ] {
            assert_eq!(parse(place).unwrap(), (outer.to_owned(), layers), "{place}");
        }
        for wrong in ["a.zip", "i.sqfs", "a.zip:", "a.zip:b.zip:c.zip:d.zip:e.zip:x.root"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn objects_follow_the_last_file() {
        for (target, end) in [
            ("i.sqfs:x.root", Some(13)),
            ("i.sqfs:x.root:t", Some(13)),
            ("a.zip:b.sqfs:x.root:d/t", Some(19)),
            ("a.zip", None),
            ("a.zip:", None),
            ("http://h.zip:80/x.root:t", None),
            ("http://h.zip:80/a.zip:x.root:t", Some(28)),
            ("http://h/a.zip:x.root?k=1:2", Some(27)),
            ("http://h/a.zip:x.root:t?k=1:2", Some(21)),
        ] {
            assert_eq!(member_end(target), end, "{target}");
        }
    }
}
