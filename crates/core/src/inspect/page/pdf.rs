//! Pages as PDF, with a font that every reader has.

use std::fmt::Write as _;

use super::{Page, Point, Shape};
use crate::inspect::png::Colour;

/// Points by which a cell extends under the cells to its right and below it: some readers show seams otherwise.
const OVERLAP: f64 = 0.4;

impl Page {
    /// The page as PDF.
    pub(in crate::inspect) fn pdf(&self) -> Vec<u8> {
        let mut page = String::new();
        for shape in &self.shapes {
            // Writing to a string cannot fail.
            let _ = self.add(&mut page, shape);
        }
        let objects = [
            "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
            "<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_owned(),
            format!(
                "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {} {}] /Contents 4 0 R \
                 /Resources << /Font << /F1 5 0 R >> >> >>",
                self.width, self.height
            ),
            format!("<< /Length {} >>\nstream\n{page}endstream", page.len()),
            "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>".to_owned(),
        ];
        let mut file = "%PDF-1.4\n".to_owned();
        let mut table = "0000000000 65535 f \n".to_owned();
        for (number, object) in objects.iter().enumerate() {
            let _ = writeln!(table, "{:010} 00000 n ", file.len());
            let _ = writeln!(file, "{} 0 obj\n{object}\nendobj", number + 1);
        }
        let start = file.len();
        let size = objects.len() + 1;
        let _ =
            write!(file, "xref\n0 {size}\n{table}trailer\n<< /Size {size} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n");
        file.into_bytes()
    }

    fn add(&self, page: &mut String, shape: &Shape) -> std::fmt::Result {
        // The origin of a page is below.
        let up = |y: f64| self.height - y;
        let path = |points: &[Point]| {
            let step = |(place, (x, y)): (usize, &Point)| {
                format!("{x:.2} {:.2} {}\n", up(*y), if place == 0 { "m" } else { "l" })
            };
            points.iter().enumerate().map(step).collect::<String>()
        };
        match shape {
            Shape::Cell { place: [x, y, width, height], colour } => {
                let low = up(y + height) - OVERLAP;
                let [width, height] = [width, height].map(|length| length + OVERLAP);
                writeln!(page, "{} rg {x:.2} {low:.2} {width:.2} {height:.2} re f", parts(*colour))
            }
            Shape::Area { outline, fill, line } => {
                writeln!(page, "{} rg {} RG 1.2 w\n{}B", parts(*fill), parts(*line), path(outline))
            }
            Shape::Line { points, colour } => writeln!(page, "{} RG 1 w\n{}S", parts(*colour), path(points)),
            // A line without length and with round ends.
            Shape::Dot { at: (x, y), radius, colour } => {
                let y = up(*y);
                writeln!(page, "{} RG 1 J {} w {x:.2} {y:.2} m {x:.2} {y:.2} l S 0 J", parts(*colour), 2.0 * radius)
            }
            Shape::Text { at: (x, y), size, anchor, is_upright, text } => {
                let before = anchor.share() * text_width(text) * size;
                let (x, y) = if *is_upright { (*x, up(*y) - before) } else { (x - before, up(*y)) };
                let turn = if *is_upright { "0 1 -1 0" } else { "1 0 0 1" };
                writeln!(page, "0 g BT /F1 {size} Tf {turn} {x:.2} {y:.2} Tm ({}) Tj ET", pdf_text(text))
            }
        }
    }
}

/// A colour as parts of 1.
fn parts(colour: Colour) -> String {
    colour.map(|part| format!("{:.3}", f64::from(part) / 255.0)).join(" ")
}

/// About how wide a text is in Helvetica, in parts of its size.
fn text_width(text: &str) -> f64 {
    let width = |letter: char| match letter {
        '.' | ',' | ' ' | ':' | ';' | '!' | '/' => 0.278,
        'i' | 'j' | 'l' | '\'' | '|' => 0.222,
        '-' | '(' | ')' | 'r' | '*' | '"' => 0.333,
        'f' | 't' | '[' | ']' | 'I' => 0.278,
        'm' | 'M' => 0.833,
        'A'..='Z' => 0.69,
        _ => 0.556,
    };
    text.chars().map(width).sum()
}

/// A text as PDF has it between brackets: letters beyond Latin 1 are question marks.
fn pdf_text(text: &str) -> String {
    let mut found = String::new();
    for letter in text.chars() {
        let _ = match letter {
            '(' | ')' | '\\' => write!(found, "\\{letter}"),
            ' '..='~' => write!(found, "{letter}"),
            '\u{a0}'..='\u{ff}' => write!(found, "\\{:03o}", letter as u32),
            _ => write!(found, "?"),
        };
    }
    found
}
