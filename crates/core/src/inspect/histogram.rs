//! Histograms as text, and as pictures (SVG, PNG, PDF).

use std::fmt::Write as _;

use super::plot::{contents, page, short};
use crate::error::Result;
use crate::hist::{Axis, Histogram};

/// Lines and columns of a picture in a terminal, where nothing is said of them.
const LINES: usize = 32;
const COLUMNS: usize = 64;
/// Parts of a character cell, from empty to full.
const EIGHTHS: [&str; 9] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"];
const SHADES: [char; 5] = [' ', '░', '▒', '▓', '█'];

/// A histogram as text: its figures, and bars or shades for its bins. Bins are joined where there are more than lines.
///
/// # Errors
///
/// Those of [`Histogram::mean`] and [`Histogram::std_dev`].
///
/// # Example
///
/// ```
/// use sapwood::hist::{Axis, Histogram};
/// use sapwood::inspect::histogram;
/// let mut spectrum = Histogram::new("TH1D", [Axis::regular(2, 0.0, 1.0)?])?;
/// spectrum.fill(&[0.2], 1.0)?;
/// assert!(histogram::text(&spectrum)?.contains("entries 1"));
/// # Ok::<(), sapwood::Error>(())
/// ```
pub fn text(histogram: &Histogram) -> Result<String> {
    text_of(histogram, LINES)
}

/// The same with at most so many lines, the figures among them; at least five.
///
/// # Errors
///
/// As [`text`].
///
/// # Example
///
/// ```
/// use sapwood::hist::{Axis, Histogram};
/// use sapwood::inspect::histogram;
/// let spectrum = Histogram::new("TH1D", [Axis::regular(100, 0.0, 1.0)?])?;
/// assert_eq!(histogram::text_within(&spectrum, 20)?.lines().count(), 20);
/// # Ok::<(), sapwood::Error>(())
/// ```
pub fn text_within(histogram: &Histogram, lines: usize) -> Result<String> {
    // Two lines of figures, and one below.
    text_of(histogram, lines.saturating_sub(3).clamp(2, LINES))
}

fn text_of(histogram: &Histogram, lines: usize) -> Result<String> {
    let mut text = figures(histogram)?;
    match histogram.axes() {
        [x] => bars(&mut text, x, &contents(histogram), lines),
        [x, y] => shades(&mut text, histogram, [x, y], lines),
        _ => {}
    }
    Ok(text)
}

/// Name, title, entries, means, and what is beyond the axes.
fn figures(histogram: &Histogram) -> Result<String> {
    let mut text = format!("{}  {}\n", histogram.name(), histogram.title());
    let _ = write!(text, "entries {}", histogram.entries());
    for (place, letter) in (0..histogram.axes().len()).zip(["x", "y", "z"]) {
        let (mean, deviation) = (histogram.mean(place)?, histogram.std_dev(place)?);
        let _ = write!(text, "  mean {letter} {}  std dev {letter} {}", short(mean), short(deviation));
    }
    if let [x] = histogram.axes() {
        let _ = write!(text, "  underflow {}  overflow {}", histogram.value(0), histogram.value(x.bins() + 1));
    }
    text.push('\n');
    Ok(text)
}

fn bars(text: &mut String, x: &Axis, values: &[f64], lines: usize) {
    let joined = values.len().div_ceil(lines).max(1);
    let rows: Vec<(f64, f64)> = values
        .chunks(joined)
        .enumerate()
        .map(|(row, values)| (x.low_edge(1 + row * joined), values.iter().sum()))
        .collect();
    let most = rows.iter().fold(0.0_f64, |most, (_, value)| most.max(*value));
    let edges: Vec<String> = rows.iter().map(|(edge, _)| short(*edge)).collect();
    let counts: Vec<String> = rows.iter().map(|(_, value)| short(*value)).collect();
    let wide = |words: &[String]| words.iter().map(|word| word.chars().count()).max().unwrap_or(0);
    let (edge_width, count_width) = (wide(&edges), wide(&counts));
    for ((edge, count), (_, value)) in edges.iter().zip(&counts).zip(&rows) {
        let eighths = if most > 0.0 { (value.max(0.0) / most * (8 * COLUMNS) as f64).round() as usize } else { 0 };
        let bar = format!("{}{}", EIGHTHS[8].repeat(eighths / 8), EIGHTHS[eighths % 8]);
        let _ = writeln!(text, "{edge:>edge_width$} {count:>count_width$} {bar}");
    }
    if joined > 1 {
        let _ = writeln!(text, "each line is {joined} bins of {}", short(x.width(1)));
    }
}

fn shades(text: &mut String, histogram: &Histogram, [x, y]: [&Axis; 2], lines: usize) {
    let (across, down) = (x.bins().div_ceil(COLUMNS).max(1), y.bins().div_ceil(lines).max(1));
    let (columns, rows) = (x.bins().div_ceil(across), y.bins().div_ceil(down));
    let mut cells = vec![0.0; columns * rows];
    for bin_y in 1..=y.bins() {
        for bin_x in 1..=x.bins() {
            let value = histogram.value(histogram.bin([bin_x, bin_y, 0]));
            cells[(bin_y - 1) / down * columns + (bin_x - 1) / across] += value;
        }
    }
    let most = cells.iter().copied().fold(0.0, f64::max);
    for row in (0..rows).rev() {
        let _ = write!(text, "{:>10} ", short(y.low_edge(1 + row * down)));
        for value in &cells[row * columns..(row + 1) * columns] {
            let shade = if *value > 0.0 && most > 0.0 { 1 + (value / most * 3.999) as usize } else { 0 };
            text.push(SHADES[shade.min(4)]);
        }
        text.push('\n');
    }
    let _ = writeln!(text, "{:>10} {} to {}", "", short(x.min()), short(x.max()));
}

/// A histogram with one or two axes as SVG.
///
/// # Errors
///
/// [`Unsupported`](crate::ErrorKind::Unsupported) with three axes; [`Mismatch`](crate::ErrorKind::Mismatch) with
/// more bins than a picture shows.
///
/// # Example
///
/// ```
/// use sapwood::hist::{Axis, Histogram};
/// use sapwood::inspect::histogram;
/// let mut spectrum = Histogram::new("TH1D", [Axis::regular(2, 0.0, 1.0)?])?;
/// spectrum.fill(&[0.2], 1.0)?;
/// assert!(histogram::svg(&spectrum)?.starts_with("<svg"));
/// # Ok::<(), sapwood::Error>(())
/// ```
pub fn svg(histogram: &Histogram) -> Result<String> {
    Ok(page(histogram)?.svg())
}

/// A histogram with one or two axes as PNG.
///
/// # Errors
///
/// As [`svg`].
///
/// # Example
///
/// ```
/// use sapwood::hist::{Axis, Histogram};
/// use sapwood::inspect::histogram;
/// let mut spectrum = Histogram::new("TH1D", [Axis::regular(2, 0.0, 1.0)?])?;
/// spectrum.fill(&[0.2], 1.0)?;
/// assert!(histogram::png(&spectrum)?.starts_with(b"\x89PNG"));
/// # Ok::<(), sapwood::Error>(())
/// ```
pub fn png(histogram: &Histogram) -> Result<Vec<u8>> {
    page(histogram)?.png()
}

/// A histogram with one or two axes as PDF: one page, with a font that every reader has.
///
/// # Errors
///
/// As [`svg`].
///
/// # Example
///
/// ```
/// use sapwood::hist::{Axis, Histogram};
/// use sapwood::inspect::histogram;
/// let mut spectrum = Histogram::new("TH1D", [Axis::regular(2, 0.0, 1.0)?])?;
/// spectrum.fill(&[0.2], 1.0)?;
/// assert!(histogram::pdf(&spectrum)?.starts_with(b"%PDF"));
/// # Ok::<(), sapwood::Error>(())
/// ```
pub fn pdf(histogram: &Histogram) -> Result<Vec<u8>> {
    Ok(page(histogram)?.pdf())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_histogram_is_bars_in_a_terminal() {
        let mut histogram = Histogram::new("TH1D", [Axis::regular(3, 0.0, 3.0).expect("bins")]).expect("a histogram");
        histogram.fill_many(&[&[0.5, 1.5, 1.5, 9.0]], None).expect("fills");
        let shown = text(&histogram).expect("a picture");
        let lines: Vec<&str> = shown.lines().collect();
        assert_eq!(lines[1], "entries 4  mean x 1.16667  std dev x 0.471405  underflow 0  overflow 1");
        assert_eq!(lines[2].matches('█').count() * 2, lines[3].matches('█').count());
        assert_eq!(lines[4], "2 0 ");
    }

    #[test]
    fn a_pdf_says_where_its_objects_are() {
        let axis = Axis::regular(2, 0.0, 2.0).expect("bins").with_title("a (b) \u{e9}\u{3b1}");
        let mut histogram = Histogram::new("TH1D", [axis]).expect("a histogram").with_title("back\\slash");
        histogram.fill_many(&[&[0.5, 1.5, 1.5]], None).expect("fills");
        let file = String::from_utf8(pdf(&histogram).expect("a picture")).expect("text");
        assert!(file.contains("(back\\\\slash)") && file.contains("(a \\(b\\) \\351?)"), "{file}");
        let (body, table) = file.split_once("xref\n0 6\n").expect("a table");
        assert!(table.contains(&format!("startxref\n{}\n%%EOF", body.len())));
        for (number, line) in table.lines().skip(1).take(5).enumerate() {
            let at: usize = line[..10].parse().expect("an offset");
            assert!(file[at..].starts_with(&format!("{} 0 obj", number + 1)), "{line}");
        }
        let stream = file.split_once("stream\n").and_then(|(_, rest)| rest.split_once("endstream")).expect("a stream");
        assert!(file.contains(&format!("/Length {} ", stream.0.len())));
    }

    #[test]
    fn titles_are_escaped_in_pictures() {
        let axis = Axis::regular(2, 0.0, 2.0).expect("bins").with_title("a < b & c");
        let histogram = Histogram::new("TH1D", [axis]).expect("a histogram").with_title("<script>");
        let picture = svg(&histogram).expect("a picture");
        assert!(picture.contains("&lt;script&gt;") && picture.contains("a &lt; b &amp; c"));
        assert!(!picture.contains("<script>"));
    }
}
