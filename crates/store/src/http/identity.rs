//! Which file it is: what each answer says of it, and whether that is still what the first one said.

use std::sync::Arc;

use reqwest::header::{CONTENT_LENGTH, CONTENT_RANGE, ETAG, HeaderMap, HeaderName, LAST_MODIFIED};
use sapwood::{Error, ErrorKind, Result};

use super::content_range::ContentRange;

/// What an answer says of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Facts {
    /// Its length.
    pub(crate) total: Option<u64>,
    etag: Option<String>,
    modified: Option<String>,
}

/// What is known of the file since it was opened.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    pub(crate) len: u64,
    facts: Facts,
}

impl Facts {
    /// `whole` if the body is the whole file, so that its length is the file's.
    pub(crate) fn of(headers: &HeaderMap, whole: bool) -> Self {
        let text = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
        let ranged = headers.get(CONTENT_RANGE).and_then(|value| ContentRange::parse(value.as_bytes()));
        let length = || text(CONTENT_LENGTH).and_then(|length| length.trim().parse().ok());
        let total = if whole { length() } else { ranged.and_then(|range| range.total) };
        Self { total, etag: text(ETAG), modified: text(LAST_MODIFIED) }
    }

    /// What one part of an answer says.
    pub(crate) fn of_part(total: Option<u64>) -> Self {
        Self { total, ..Self::default() }
    }

    /// An ETag without the mark of a weak one: a server may call the same state weak at first, and strong a second
    /// later.
    fn tag(&self) -> Option<&str> {
        self.etag.as_deref().map(|tag| tag.trim().trim_start_matches("W/"))
    }
}

impl Known {
    pub(crate) fn new(len: u64, facts: Facts) -> Self {
        Self { len, facts: Facts { total: Some(len), ..facts } }
    }

    /// What changes when the bytes do: the ETag, else the time of the last change.
    pub(crate) fn validator(&self) -> Option<Arc<str>> {
        let weak = self.facts.etag.as_deref().is_some_and(|tag| tag.trim().starts_with("W/"));
        let modified = self.facts.modified.as_deref();
        let found = if weak { modified.or(self.facts.tag()) } else { self.facts.tag().or(modified) };
        found.map(Into::into)
    }

    /// Compares an answer with what is known.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Changed`].
    pub(crate) fn check(&self, now: &Facts) -> Result<()> {
        let changed = |what| Error::new(ErrorKind::Changed, format!("the file changed while it was open: {what}"));
        if let Some(total) = now.total
            && total != self.len
        {
            return Err(changed("another length").wanted(self.len, total));
        }
        if let (Some(was), Some(is)) = (self.facts.tag(), now.tag()) {
            return if was == is { Ok(()) } else { Err(changed("another ETag")) };
        }
        match (&self.facts.modified, &now.modified) {
            (Some(was), Some(is)) if was != is => Err(changed("another time of change")),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(total: Option<u64>, etag: &str, modified: &str) -> Facts {
        let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        Facts { total, etag: some(etag), modified: some(modified) }
    }

    #[test]
    fn changes_are_detected_by_any_validator() {
        let known = Known::new(10, facts(None, "\"a\"", "Monday"));
        assert!(known.check(&facts(Some(10), "\"a\"", "Tuesday")).is_ok());
        assert!(known.check(&facts(None, "W/\"a\"", "")).is_ok());
        assert!(known.check(&facts(None, "", "")).is_ok());
        for wrong in [facts(Some(11), "\"a\"", ""), facts(Some(10), "\"b\"", "Monday"), facts(None, "", "Tuesday")] {
            assert_eq!(known.check(&wrong).unwrap_err().kind(), ErrorKind::Changed, "{wrong:?}");
        }
    }

    #[test]
    fn a_strong_tag_is_the_better_validator() {
        let validator = |etag, modified| Known::new(1, facts(None, etag, modified)).validator();
        assert_eq!(validator("\"a\"", "Monday").as_deref(), Some("\"a\""));
        assert_eq!(validator("W/\"a\"", "Monday").as_deref(), Some("Monday"));
        assert_eq!(validator("W/\"a\"", "").as_deref(), Some("\"a\""));
        assert_eq!(validator("", ""), None);
    }
}
