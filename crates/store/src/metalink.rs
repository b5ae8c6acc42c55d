//! Metalinks: the places of a file in a small XML file, as catalogues and redirectors of the grid give them.
//!
//! Source: RFC 5854 (`.meta4`), and version 3 (`.metalink`).

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};
use sapwood::io::{Store, load};
use sapwood::{Error, Result};

use crate::checksum::Checksum;
use crate::secrets::redact;
use crate::url::{file_path, is_url};

/// A longer file is not read as a metalink.
const MAX_BYTES: u64 = 1 << 20;
/// Elements in each other.
const MAX_DEPTH: usize = 16;
/// The priority of a place without one: the last.
const LAST: i64 = 999_999;

/// The places of a file, with its length and checksums.
///
/// # Example
///
/// ```
/// use sapwood_store::Metalink;
/// let text = r#"<metalink xmlns="urn:ietf:params:xml:ns:metalink"><file name="run1.root">
///     <size>1234</size><hash type="adler32">0a1b2c3d</hash>
///     <url priority="2">https://b.example.org/run1.root</url>
///     <url priority="1">root://a.example.org//run1.root</url>
///   </file></metalink>"#;
/// let metalink = Metalink::parse(text)?;
/// assert_eq!(metalink.urls, ["root://a.example.org//run1.root", "https://b.example.org/run1.root"]);
/// assert_eq!((metalink.bytes, metalink.checksums[0].to_string()), (Some(1234), "adler32:0a1b2c3d".to_owned()));
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Metalink {
    /// The name of the file; empty without one.
    pub name: String,
    /// Its places, the best first.
    pub urls: Vec<String>,
    /// Its length.
    pub bytes: Option<u64>,
    /// Its checksums, of the kinds that [`checksums`](crate::checksums) computes.
    pub checksums: Vec<Checksum>,
}

/// Whether a path or URL names a metalink, by its ending: `.meta4` or `.metalink`.
///
/// # Example
///
/// ```
/// use sapwood_store::is_metalink;
/// assert!(is_metalink("run1.root.meta4") && is_metalink("https://example.org/run1.metalink?scope=data"));
/// assert!(!is_metalink("run1.root"));
/// ```
#[must_use]
pub fn is_metalink(place: &str) -> bool {
    let path = if is_url(place) { place.split(['?', '#']).next().unwrap_or_default() } else { place };
    [".meta4", ".metalink"].iter().any(|ending| {
        let start = path.len().saturating_sub(ending.len());
        start > 0 && path.get(start..).is_some_and(|end| end.eq_ignore_ascii_case(ending))
    })
}

impl Metalink {
    /// Reads a metalink.
    ///
    /// # Errors
    ///
    /// [`Malformed`](sapwood::ErrorKind::Malformed) for what is not one, and if it lists several files or no place on a
    /// server.
    pub fn parse(text: &str) -> Result<Self> {
        let mut found = Places::default();
        let mut reader = Reader::from_str(text);
        let broken = |error: &dyn std::fmt::Display| Error::malformed(format!("this is not a metalink: {error}"));
        loop {
            match reader.read_event().map_err(|error| broken(&error))? {
                Event::Start(start) => found.begin(&start).map_err(|error| broken(&error))?,
                Event::Text(text) => found.text.push_str(&text.decode().map_err(|error| broken(&error))?),
                Event::CData(text) => found.text.push_str(&text.decode().map_err(|error| broken(&error))?),
                Event::GeneralRef(name) => {
                    let character = match name.resolve_char_ref().map_err(|error| broken(&error))? {
                        Some(character) => character,
                        None => match &name[..] {
                            b"amp" => '&',
                            b"lt" => '<',
                            b"gt" => '>',
                            b"quot" => '"',
                            b"apos" => '\'',
                            _ => return Err(broken(&"it has an entity that XML does not define")),
                        },
                    };
                    found.text.push(character);
                }
                Event::End(_) => found.end()?,
                Event::Eof => break,
                _ => {}
            }
        }
        found.finish()
    }

    /// Reads a metalink from a store.
    ///
    /// # Errors
    ///
    /// Errors of the store and of [`parse`](Self::parse), and [`Limit`](sapwood::ErrorKind::Limit) for a longer file
    /// than any metalink.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::io::MemoryStore;
    /// use sapwood_store::Metalink;
    /// assert!(Metalink::read(&MemoryStore::new("a.meta4", "<html></html>")).is_err());
    /// ```
    pub fn read(store: &dyn Store) -> Result<Self> {
        let identity = store.ends(0, 0)?.identity;
        let named = |error: Error| error.in_file(std::sync::Arc::clone(&identity.name));
        if identity.len > MAX_BYTES {
            return Err(named(Error::limit("bytes of a metalink", MAX_BYTES, identity.len)));
        }
        let bytes = load(store, &[0..identity.len])?.pop().unwrap_or_default();
        let text = std::str::from_utf8(&bytes).map_err(|_| named(Error::malformed("a metalink is text in UTF-8")))?;
        Self::parse(text).map_err(named)
    }
}

/// A metalink that has been read up to some element.
#[derive(Default)]
struct Places {
    metalink: Metalink,
    /// Names of the elements that are open, without prefixes.
    open: Vec<String>,
    text: String,
    /// Attributes of the last element that began.
    priority: i64,
    hash: String,
    files: usize,
    has_root: bool,
    urls: Vec<(i64, String)>,
}

impl Places {
    fn begin(&mut self, start: &BytesStart<'_>) -> std::result::Result<(), String> {
        if self.open.len() >= MAX_DEPTH {
            return Err(format!("more than {MAX_DEPTH} elements are in each other"));
        }
        let name = String::from_utf8_lossy(start.local_name().as_ref()).into_owned();
        self.text.clear();
        (self.priority, self.hash) = (LAST, String::new());
        for attribute in start.attributes() {
            let attribute = attribute.map_err(|error| error.to_string())?;
            let value = String::from_utf8_lossy(&attribute.value).into_owned();
            match attribute.key.local_name().as_ref() {
                b"priority" => self.priority = value.trim().parse().unwrap_or(LAST),
                // Version 3: the larger, the better, up to 100.
                b"preference" => self.priority = value.trim().parse().map_or(LAST, |of: i64| -of.min(LAST)),
                b"type" => self.hash = value.to_ascii_lowercase(),
                b"name" if name == "file" => self.metalink.name = value,
                _ => {}
            }
        }
        self.has_root |= self.open.is_empty() && name == "metalink";
        self.files += usize::from(name == "file");
        self.open.push(name);
        Ok(())
    }

    fn end(&mut self) -> Result<()> {
        let Some(name) = self.open.pop() else { return Ok(()) };
        let text = std::mem::take(&mut self.text);
        let text = text.trim();
        let above = self.open.last().map_or("", String::as_str);
        match (name.as_str(), above) {
            // A list must not make a program read files of the machine that it runs on.
            ("url", "file" | "resources") if is_url(text) && file_path(text).is_none() => {
                self.urls.push((self.priority, text.to_owned()));
            }
            ("size", "file") => {
                let bytes =
                    text.parse().map_err(|_| Error::malformed(format!("{text:?} is not a length of a file")))?;
                self.metalink.bytes = Some(bytes);
            }
            ("hash", "file" | "verification") => {
                let kind = if self.hash == "a32" { "adler32" } else { self.hash.as_str() };
                // Kinds that are not computed here are of no use.
                if let Ok(checksum) = format!("{kind}:{text}").parse() {
                    self.metalink.checksums.push(checksum);
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Metalink> {
        if !self.has_root {
            return Err(Error::malformed("this is not a metalink: it has no such element"));
        }
        if self.files > 1 {
            return Err(Error::malformed(format!("the metalink lists {} files, and one is read", self.files)));
        }
        self.urls.sort_by_key(|(priority, _)| *priority);
        self.metalink.urls = self.urls.into_iter().map(|(_, url)| url).collect();
        if self.metalink.urls.is_empty() {
            let of = if self.metalink.name.is_empty() {
                String::new()
            } else {
                format!(" of {}", redact(&self.metalink.name))
            };
            return Err(Error::malformed(format!("the metalink lists no place{of} on a server")));
        }
        Ok(self.metalink)
    }
}

#[cfg(test)]
mod tests {
    use sapwood::ErrorKind;

    use super::*;

    #[test]
    fn version_3_is_read_too() {
        let text = r#"<?xml version="1.0"?><!-- made by a catalogue -->
            <metalink version="3.0" xmlns="http://www.metalinker.org/"><files><file name="f.root"><size> 7 </size>
            <verification><hash type="md5">0123456789abcdef0123456789abcdef</hash><hash type="sha-256">00</hash>
            <hash type="a32">1</hash></verification><resources maxconnections="2">
            <url type="https" preference="10">https://b.org/f.root?a=1&amp;b=2</url>
            <url type="root" preference="90"><![CDATA[root://a.org//f.root]]></url></resources></file></files></metalink>"#;
        let found = Metalink::parse(text).unwrap();
        assert_eq!(found.urls, ["root://a.org//f.root", "https://b.org/f.root?a=1&b=2"]);
        assert_eq!((found.name.as_str(), found.bytes, found.checksums.len()), ("f.root", Some(7), 2));
    }

    #[test]
    fn places_without_priority_are_the_last_in_their_order() {
        let text = "<metalink><file><url>http://c/f</url><url priority=\"1\">http://a/f</url><url>http://d/f</url>\
                    <url priority=\"x\">http://e/f</url></file></metalink>";
        assert_eq!(Metalink::parse(text).unwrap().urls, ["http://a/f", "http://c/f", "http://d/f", "http://e/f"]);
    }

    #[test]
    fn other_texts_are_refused() {
        let deep = format!("<metalink>{}", "<a>".repeat(100));
        let bomb =
            "<!DOCTYPE m [<!ENTITY a \"aaaa\"><!ENTITY b \"&a;&a;\">]><metalink><file><url>&b;</url></file></metalink>";
        for text in [
            "",
            "hello",
            "<html><a href=\"x\"/></html>",
            "<metalink><file><url>http://a/f</url></file><file/></metalink><",
            "<metalink><file></file><file></file></metalink>",
            "<metalink><file><size>many</size></file></metalink>",
            "<metalink><file><url>/etc/passwd</url><url>file:///etc/passwd</url></file></metalink>",
            "<metalink></file></metalink>",
            &deep,
            bomb,
        ] {
            let error = Metalink::parse(text).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Malformed, "{text}: {error}");
        }
    }
}
