//! Text as a terminal may show it: names in a file may hold sequences that a terminal obeys.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, Write};

/// Whether a character does something else than stand there: control characters, and those that turn the direction of
/// writing.
fn acts(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn escaped(text: &str, stays: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(|c| acts(c) && !stays(c)) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if acts(c) && !stays(c) {
            let _ = write!(shown, "\\u{:04x}", u32::from(c)); // to memory; JSON has the same form
        } else {
            shown.push(c);
        }
    }
    Cow::Owned(shown)
}

/// A name in one line, with `\u001b` and the like for characters that a terminal would obey.
pub(crate) fn printable(name: &str) -> Cow<'_, str> {
    escaped(name, |_| false)
}

/// Writes text to a terminal, or to whatever stands for one, as [`printable`] does; line breaks and tabs stay. All
/// output of the command goes through this.
pub(crate) struct Printable<'a> {
    inner: &'a mut dyn Write,
    /// The first bytes of a character whose others are still to come.
    begun: Vec<u8>,
}

impl<'a> Printable<'a> {
    pub(crate) fn new(inner: &'a mut dyn Write) -> Self {
        Self { inner, begun: Vec::new() }
    }

    fn put(&mut self, text: &str) -> io::Result<()> {
        self.inner.write_all(escaped(text, |c| matches!(c, '\n' | '\t')).as_bytes())
    }
}

impl Write for Printable<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let joined = [std::mem::take(&mut self.begun), bytes.to_vec()].concat();
        for chunk in joined.utf8_chunks() {
            self.put(chunk.valid())?;
            let invalid = chunk.invalid();
            // What is cut off at the end may go on with the next call.
            let is_begun = joined.ends_with(invalid) && invalid.first().is_some_and(|first| *first >= 0xC2);
            if is_begun && std::str::from_utf8(invalid).is_err_and(|error| error.error_len().is_none()) {
                self.begun = invalid.to_vec();
            } else if !invalid.is_empty() {
                self.put("\u{fffd}")?;
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_shown() {
        assert_eq!(printable("plain ünïcode"), "plain ünïcode");
        assert_eq!(printable("\u{1b}]0;x\u{7}\n\u{9b}m\u{202e}"), "\\u001b]0;x\\u0007\\u000a\\u009bm\\u202e");
    }

    #[test]
    fn output_is_the_same_however_it_is_cut() {
        let text = "a\tü\n\u{1b}[2J\u{9b}1m €\u{202e}\u{7f}".as_bytes();
        let text = [text, b"\x9b1m \xff", "ü".as_bytes()].concat();
        for step in 1..=text.len() {
            let mut out = Vec::new();
            let mut printable = Printable::new(&mut out);
            for piece in text.chunks(step) {
                printable.write_all(piece).unwrap();
            }
            let shown = String::from_utf8(out).unwrap();
            assert_eq!(shown, "a\tü\n\\u001b[2J\\u009b1m €\\u202e\\u007f\u{fffd}1m \u{fffd}ü", "{step}");
        }
    }
}
