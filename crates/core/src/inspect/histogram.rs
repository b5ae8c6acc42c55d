//! Histograms as text, and as pictures (SVG, PNG, PDF).

use std::fmt::Write as _;

use super::png::Png;
use crate::error::{Error, Result};
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

/// The values of the bins of a histogram with one axis, without flow.
fn contents(histogram: &Histogram) -> Vec<f64> {
    let bins = histogram.axes().first().map_or(0, Axis::bins);
    (1..=bins).map(|bin| histogram.value(bin)).collect()
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

/// A number with as many digits as are looked at: six.
fn short(value: f64) -> String {
    if value != 0.0 && !(1e-4..1e9).contains(&value.abs()) {
        return format!("{value:.5e}").replace("00000e", "e").replace(".e", "e");
    }
    let decimals = if value == 0.0 { 0 } else { (5 - value.abs().log10().floor() as i32).clamp(0, 9) as usize };
    let text = format!("{value:.decimals$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

/// The picture's size, and the room for axes around it.
const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 480.0;
const LEFT: f64 = 76.0;
const BOTTOM: f64 = 52.0;
const TOP: f64 = 36.0;
const RIGHT: f64 = 20.0;
/// The most bins of an axis in a picture, and of each axis where there are two.
const MOST_BINS: usize = 10_000;
const MOST_CELLS: usize = 400;

/// Where a text is written from its place.
#[derive(Clone, Copy)]
enum Anchor {
    Start,
    Middle,
    End,
}

/// What a picture is made of: places in points from its upper left corner.
enum Shape {
    Cell {
        place: [f64; 4],
        share: f64,
    },
    /// The outline of the bins of a histogram.
    Area(Vec<(f64, f64)>),
    Line(Vec<(f64, f64)>),
    Text {
        at: (f64, f64),
        size: f64,
        anchor: Anchor,
        is_upright: bool,
        text: String,
    },
}

impl Shape {
    fn text(at: (f64, f64), size: f64, anchor: Anchor, text: &str) -> Self {
        Self::Text { at, size, anchor, is_upright: false, text: text.to_owned() }
    }
}

/// The colour of a cell by its share of the largest: from light to dark blue, parts of 255.
fn shade(share: f64) -> [f64; 3] {
    let light = 0.92 - 0.62 * share;
    let spread = 0.6 * light.min(1.0 - light);
    // Hue 213: blue is largest, red least.
    let (least, most) = (light - spread, light + spread);
    [least, least + (most - least) * (27.0 / 60.0), most].map(|part| (part * 255.0).round())
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
    let mut picture = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\">\n\
         <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"white\"/>\n"
    );
    let path = |points: &[(f64, f64)]| {
        let places: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1} {y:.1}")).collect();
        format!("M{}", places.join("L"))
    };
    for shape in shapes(histogram)? {
        let _ = match shape {
            Shape::Cell { place: [x, y, width, height], share } => {
                let [red, green, blue] = shade(share);
                writeln!(
                    picture,
                    "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" \
                     fill=\"rgb({red},{green},{blue})\"/>"
                )
            }
            Shape::Area(points) => writeln!(
                picture,
                "<path d=\"{}\" fill=\"#cfe0f5\" stroke=\"#1f4e8c\" stroke-width=\"1.2\"/>",
                path(&points)
            ),
            Shape::Line(points) => {
                writeln!(picture, "<path d=\"{}\" fill=\"none\" stroke=\"black\"/>", path(&points))
            }
            Shape::Text { at: (x, y), size, anchor, is_upright, text } => {
                let anchor = match anchor {
                    Anchor::Start => "start",
                    Anchor::Middle => "middle",
                    Anchor::End => "end",
                };
                let turned = if is_upright { format!(" transform=\"rotate(-90 {x} {y})\"") } else { String::new() };
                writeln!(
                    picture,
                    "<text x=\"{x:.1}\" y=\"{y:.1}\" font-size=\"{size}\" text-anchor=\"{anchor}\"{turned}>{}</text>",
                    escaped(&text)
                )
            }
        };
    }
    picture.push_str("</svg>\n");
    Ok(picture)
}

/// A histogram with one or two axes as PNG: bins and axes, without words.
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
    /// Points of the picture for one of the page.
    const SCALE: f64 = 2.0;
    const THIN: u32 = 2;
    let mut picture = Png::new((SCALE * WIDTH) as u32, (SCALE * HEIGHT) as u32);
    let place = |at: f64| (SCALE * at).round().max(0.0) as u32;
    // A box from corner to corner, at least one point wide and high.
    let between = |(left, top): (f64, f64), (right, low): (f64, f64)| {
        let (x, y) = (place(left.min(right)), place(top.min(low)));
        [x, y, (place(left.max(right)) - x).max(1), (place(top.max(low)) - y).max(1)]
    };
    for shape in shapes(histogram)? {
        match shape {
            Shape::Cell { place: [x, y, width, height], share } => {
                let colour = shade(share).map(|part| part as u8);
                picture.fill(between((x, y), (x + width, y + height)), colour);
            }
            Shape::Area(points) => {
                // The outline begins on the base, and has two points for each bin.
                let [(_, base), steps @ .., _] = &points[..] else { continue };
                for pair in steps.as_chunks::<2>().0 {
                    let [left, top, width, height] = between(pair[0], (pair[1].0, *base));
                    picture.fill([left, top, width, height], [0xcf, 0xe0, 0xf5]);
                }
                for pair in points.windows(2) {
                    let [x, y, width, height] = between(pair[0], pair[1]);
                    picture.fill([x, y, width.max(THIN), height.max(THIN)], [0x1f, 0x4e, 0x8c]);
                }
            }
            Shape::Line(points) => {
                for pair in points.windows(2) {
                    let [x, y, width, height] = between(pair[0], pair[1]);
                    picture.fill([x, y, width.max(THIN), height.max(THIN)], [0; 3]);
                }
            }
            Shape::Text { .. } => {}
        }
    }
    picture.pack()
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
    let mut page = String::new();
    // The origin of a page is below.
    let up = |y: f64| HEIGHT - y;
    let path = |points: &[(f64, f64)]| {
        let step = |(place, (x, y)): (usize, &(f64, f64))| {
            format!("{x:.2} {:.2} {}\n", up(*y), if place == 0 { "m" } else { "l" })
        };
        points.iter().enumerate().map(step).collect::<String>()
    };
    for shape in shapes(histogram)? {
        let _ = match shape {
            Shape::Cell { place: [x, y, width, height], share } => {
                let [red, green, blue] = shade(share).map(|part| part / 255.0);
                let low = up(y + height);
                writeln!(page, "{red:.3} {green:.3} {blue:.3} rg {x:.2} {low:.2} {width:.2} {height:.2} re f")
            }
            Shape::Area(points) => {
                writeln!(page, "0.812 0.878 0.961 rg 0.122 0.306 0.549 RG 1.2 w\n{}B", path(&points))
            }
            Shape::Line(points) => writeln!(page, "0 G 1 w\n{}S", path(&points)),
            Shape::Text { at: (x, y), size, anchor, is_upright, text } => {
                let before = match anchor {
                    Anchor::Start => 0.0,
                    Anchor::Middle => 0.5,
                    Anchor::End => 1.0,
                } * text_width(&text)
                    * size;
                let (x, y) = if is_upright { (x, up(y) - before) } else { (x - before, up(y)) };
                let turn = if is_upright { "0 1 -1 0" } else { "1 0 0 1" };
                writeln!(page, "0 g BT /F1 {size} Tf {turn} {x:.2} {y:.2} Tm ({}) Tj ET", pdf_text(&text))
            }
        };
    }
    let objects = [
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_owned(),
        format!(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {WIDTH} {HEIGHT}] /Contents 4 0 R \
             /Resources << /Font << /F1 5 0 R >> >> >>"
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
    let (start, size) = (file.len(), objects.len() + 1);
    let _ = write!(file, "xref\n0 {size}\n{table}trailer\n<< /Size {size} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n");
    Ok(file.into_bytes())
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

/// What the picture of a histogram is made of.
fn shapes(histogram: &Histogram) -> Result<Vec<Shape>> {
    let most = if histogram.axes().len() == 1 { MOST_BINS } else { MOST_CELLS };
    if let Some(axis) = histogram.axes().iter().find(|axis| axis.bins() > most) {
        let words = format!("a picture shows up to {most} bins of an axis, and {} were asked for", axis.bins());
        return Err(Error::mismatch(words));
    }
    let mut shapes = vec![Shape::text((LEFT, 22.0), 15.0, Anchor::Start, &histogram.title())];
    match histogram.axes() {
        [x] => steps(&mut shapes, histogram, x),
        [x, y] => cells(&mut shapes, histogram, x, y),
        _ => return Err(Error::unsupported("a histogram with three axes has no picture: write it as .root")),
    }
    Ok(shapes)
}

fn steps(shapes: &mut Vec<Shape>, histogram: &Histogram, x: &Axis) {
    let x = &x.with_finite_ends();
    let values = contents(histogram);
    let least = values.iter().copied().fold(0.0, f64::min);
    let most = values.iter().copied().fold(least, f64::max) * 1.08;
    let up = Scale { from: least, to: if most > least { most } else { least + 1.0 }, start: HEIGHT - BOTTOM, end: TOP };
    let along = Scale { from: x.min(), to: x.max(), start: LEFT, end: WIDTH - RIGHT };
    let base = up.at(0.0_f64.max(least));
    let mut outline = vec![(along.at(x.min()), base)];
    for (place, value) in values.iter().enumerate() {
        let (left, right) = (along.at(x.low_edge(place + 1)), along.at(x.low_edge(place + 2)));
        outline.extend([(left, up.at(*value)), (right, up.at(*value))]);
    }
    outline.push((along.at(x.max()), base));
    shapes.push(Shape::Area(outline));
    axes(shapes, &along, &up, x.title(), "");
}

fn cells(shapes: &mut Vec<Shape>, histogram: &Histogram, x: &Axis, y: &Axis) {
    let x = &x.with_finite_ends();
    let y = &y.with_finite_ends();
    let along = Scale { from: x.min(), to: x.max(), start: LEFT, end: WIDTH - RIGHT };
    let up = Scale { from: y.min(), to: y.max(), start: HEIGHT - BOTTOM, end: TOP };
    let value = |bin_x: usize, bin_y: usize| histogram.value(histogram.bin([bin_x, bin_y, 0]));
    let all = (1..=y.bins()).flat_map(|bin_y| (1..=x.bins()).map(move |bin_x| (bin_x, bin_y)));
    let most = all.clone().map(|(bin_x, bin_y)| value(bin_x, bin_y)).fold(0.0, f64::max);
    for (bin_x, bin_y) in all {
        let share = value(bin_x, bin_y) / most;
        if share > 0.0 {
            let (left, right) = (along.at(x.low_edge(bin_x)), along.at(x.low_edge(bin_x + 1)));
            let (low, high) = (up.at(y.low_edge(bin_y)), up.at(y.low_edge(bin_y + 1)));
            shapes.push(Shape::Cell { place: [left, high, right - left, low - high], share });
        }
    }
    axes(shapes, &along, &up, x.title(), y.title());
}

/// From values to places of a picture.
struct Scale {
    from: f64,
    to: f64,
    start: f64,
    end: f64,
}

impl Scale {
    fn at(&self, value: f64) -> f64 {
        self.start + (value - self.from) / (self.to - self.from) * (self.end - self.start)
    }

    /// Round values along it, about six.
    fn ticks(&self) -> Vec<f64> {
        let rough = (self.to - self.from) / 6.0;
        let power = 10_f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|digit| digit * power).find(|step| *step >= rough);
        let Some(step) = step.filter(|step| step.is_finite() && *step > 0.0) else { return Vec::new() };
        let first = (self.from / step).ceil() as i64;
        (first..first + 12).map(|tick| tick as f64 * step).filter(|tick| *tick <= self.to + step * 1e-9).collect()
    }
}

fn axes(shapes: &mut Vec<Shape>, along: &Scale, up: &Scale, title_x: &str, title_y: &str) {
    const SIZE: f64 = 13.0;
    let (left, right, low, high) = (along.start, along.end, up.start, up.end);
    shapes.push(Shape::Line(vec![(left, high), (left, low), (right, low)]));
    for tick in along.ticks() {
        let x = along.at(tick);
        shapes.push(Shape::Line(vec![(x, low), (x, low + 5.0)]));
        shapes.push(Shape::text((x, low + 19.0), SIZE, Anchor::Middle, &short(tick)));
    }
    for tick in up.ticks() {
        let y = up.at(tick);
        shapes.push(Shape::Line(vec![(left, y), (left - 5.0, y)]));
        shapes.push(Shape::text((left - 8.0, y + 4.0), SIZE, Anchor::End, &short(tick)));
    }
    shapes.push(Shape::text((right, HEIGHT - 12.0), SIZE, Anchor::End, title_x));
    let text = title_y.to_owned();
    shapes.push(Shape::Text { at: (16.0, high), size: SIZE, anchor: Anchor::End, is_upright: true, text });
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
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
