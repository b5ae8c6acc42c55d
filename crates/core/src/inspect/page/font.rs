//! The letters of pictures that have no fonts of their reader's.

use tiny_skia::{Path, PathBuilder};
use ttf_parser::{Face, GlyphId, OutlineBuilder};

use crate::error::{Error, Result};

/// Latin, Greek and signs of mathematics of DejaVu Sans; its licence is next to it.
const FONT: &[u8] = include_bytes!("DejaVuSans.ttf");
/// Stands for letters that the font lacks.
const UNKNOWN: char = '\u{fffd}';

fn face() -> Result<Face<'static>> {
    Face::parse(FONT, 0).map_err(|_| Error::internal("the font of pictures cannot be read"))
}

fn glyph(face: &Face<'_>, letter: char) -> GlyphId {
    face.glyph_index(letter).or_else(|| face.glyph_index(UNKNOWN)).unwrap_or_default()
}

/// The width of a text, in units of its size.
pub(super) fn width(text: &str) -> f64 {
    let Ok(face) = face() else { return 0.0 };
    let widths = text.chars().map(|letter| face.glyph_hor_advance(glyph(&face, letter)).unwrap_or(0));
    widths.map(f64::from).sum::<f64>() / f64::from(face.units_per_em())
}

/// The outline of a text of size 1 that begins at the origin, upwards positive.
pub(super) fn outline(text: &str) -> Result<Option<Path>> {
    let face = face()?;
    let mut pen = Pen { path: PathBuilder::new(), start: 0.0, scale: 1.0 / f32::from(face.units_per_em()) };
    for letter in text.chars() {
        let glyph = glyph(&face, letter);
        face.outline_glyph(glyph, &mut pen);
        pen.start += f32::from(face.glyph_hor_advance(glyph).unwrap_or(0)) * pen.scale;
    }
    Ok(pen.path.finish())
}

/// Draws letter after letter.
struct Pen {
    path: PathBuilder,
    start: f32,
    scale: f32,
}

impl Pen {
    fn at(&self, x: f32, y: f32) -> (f32, f32) {
        (self.start + x * self.scale, y * self.scale)
    }
}

impl OutlineBuilder for Pen {
    fn move_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.at(x, y);
        self.path.move_to(x, y);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.at(x, y);
        self.path.line_to(x, y);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        let ((x1, y1), (x, y)) = (self.at(x1, y1), self.at(x, y));
        self.path.quad_to(x1, y1, x, y);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let ((x1, y1), (x2, y2), (x, y)) = (self.at(x1, y1), self.at(x2, y2), self.at(x, y));
        self.path.cubic_to(x1, y1, x2, y2, x, y);
    }

    fn close(&mut self) {
        self.path.close();
    }
}

/// The beginning of a text that fits into a width, in units of its size; what is missing is marked.
pub(in crate::inspect) fn cut_short(text: &str, room: f64) -> String {
    if width(text) <= room {
        return text.to_owned();
    }
    let room = room - width("…");
    let mut found = String::new();
    let mut used = 0.0;
    for letter in text.chars() {
        used += width(letter.encode_utf8(&mut [0; 4]));
        if used > room {
            break;
        }
        found.push(letter);
    }
    found.push('…');
    found
}

/// A text in lines that fit into a width, in units of its size: broken between words, or inside one that is longer than
/// a line. The last of the `most` lines is cut short.
pub(in crate::inspect) fn wrapped(text: &str, room: f64, most: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() && lines.len() < most {
        if lines.len() + 1 == most {
            lines.push(cut_short(rest, room));
            break;
        }
        let mut used = 0.0;
        let mut end = rest.len();
        let mut space = None;
        for (at, letter) in rest.char_indices() {
            used += width(letter.encode_utf8(&mut [0; 4]));
            if used > room && at > 0 {
                end = space.unwrap_or(at);
                break;
            }
            if letter == ' ' {
                space = Some(at);
            }
        }
        lines.push(rest[..end].trim_end().to_owned());
        rest = rest[end..].trim_start();
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_have_widths_and_outlines() {
        assert!(width("W") > width("i") && width("") == 0.0);
        assert!((width("ab") - width("a") - width("b")).abs() < 1e-9);
        for text in ["0.25", "Σ p_{T} (GeV/c²) ± µ", "汉"] {
            let bounds = outline(text).unwrap().expect("letters").bounds();
            assert!(bounds.left() >= -0.1 && f64::from(bounds.right()) <= width(text) + 0.1, "{text}");
        }
        assert!(outline(" ").unwrap().is_none());
    }

    #[test]
    fn long_texts_are_wrapped_and_end_with_a_mark() {
        let text = "muon pair mass with a very long title";
        let lines = wrapped(text, 10.0, 9);
        assert!(lines.len() > 1 && lines.iter().all(|line| width(line) <= 10.0), "{lines:?}");
        assert_eq!(lines.join(" "), text);
        let lines = wrapped(text, 8.0, 2);
        assert!(lines.len() == 2 && lines[1].ends_with('…') && width(&lines[1]) <= 8.0, "{lines:?}");
        assert!(wrapped(&"x".repeat(100), 10.0, 20).iter().all(|line| width(line) <= 10.0));
        assert_eq!(wrapped("  ", 10.0, 3), Vec::<String>::new());
        assert_eq!(wrapped("w", 0.1, 2), ["…"].map(|_| "w"));
        assert_eq!((cut_short("abc", 9.0), cut_short("abc", 1.2)), ("abc".to_owned(), "…".to_owned()));
    }
}
