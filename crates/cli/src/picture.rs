//! Histograms as text, and as pictures (SVG).

use std::fmt::Write as _;

use sapwood::hist::{Axis, Histogram};
use sapwood::{Error, Result};

/// Lines and columns of a picture in a terminal.
const LINES: usize = 32;
const COLUMNS: usize = 64;
/// Parts of a character cell, from empty to full.
const EIGHTHS: [&str; 9] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"];
const SHADES: [char; 5] = [' ', '░', '▒', '▓', '█'];

/// A histogram as text: its figures, and bars or shades for its bins. Bins are joined where there are more than lines.
pub(crate) fn in_terminal(histogram: &Histogram) -> Result<String> {
    let mut text = figures(histogram)?;
    match histogram.axes() {
        [x] => bars(&mut text, x, &contents(histogram)),
        [x, y] => shades(&mut text, histogram, x, y),
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

fn bars(text: &mut String, x: &Axis, values: &[f64]) {
    let joined = values.len().div_ceil(LINES).max(1);
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

fn shades(text: &mut String, histogram: &Histogram, x: &Axis, y: &Axis) {
    let (across, down) = (x.bins().div_ceil(COLUMNS).max(1), y.bins().div_ceil(LINES).max(1));
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

/// A histogram with one or two axes as SVG.
///
/// # Errors
///
/// [`Unsupported`](sapwood::ErrorKind::Unsupported) with three axes; [`Mismatch`](sapwood::ErrorKind::Mismatch) with
/// more bins than a picture shows.
pub(crate) fn svg(histogram: &Histogram) -> Result<String> {
    let mut picture = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" \
         font-size=\"13\">\n<rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"white\"/>\n"
    );
    let _ = writeln!(picture, "<text x=\"{LEFT}\" y=\"22\" font-size=\"15\">{}</text>", escaped(&histogram.title()));
    let most = if histogram.axes().len() == 1 { MOST_BINS } else { MOST_CELLS };
    if let Some(axis) = histogram.axes().iter().find(|axis| axis.bins() > most) {
        let words = format!("a picture shows up to {most} bins of an axis, and {} were asked for", axis.bins());
        return Err(Error::mismatch(words));
    }
    match histogram.axes() {
        [x] => steps(&mut picture, histogram, x),
        [x, y] => cells(&mut picture, histogram, x, y),
        _ => return Err(Error::unsupported("a histogram with three axes has no picture: write it as .root")),
    }
    picture.push_str("</svg>\n");
    Ok(picture)
}

fn steps(picture: &mut String, histogram: &Histogram, x: &Axis) {
    let values = contents(histogram);
    let least = values.iter().copied().fold(0.0, f64::min);
    let most = values.iter().copied().fold(least, f64::max) * 1.08;
    let up = Scale { from: least, to: if most > least { most } else { least + 1.0 }, start: HEIGHT - BOTTOM, end: TOP };
    let along = Scale { from: x.min(), to: x.max(), start: LEFT, end: WIDTH - RIGHT };
    let mut path = format!("M{:.1} {:.1}", along.at(x.min()), up.at(0.0_f64.max(least)));
    for (place, value) in values.iter().enumerate() {
        let _ = write!(path, "V{:.1}H{:.1}", up.at(*value), along.at(x.low_edge(place + 2)));
    }
    let _ = write!(path, "V{:.1}", up.at(0.0_f64.max(least)));
    let _ = writeln!(picture, "<path d=\"{path}\" fill=\"#cfe0f5\" stroke=\"#1f4e8c\" stroke-width=\"1.2\"/>");
    axes(picture, &along, &up, x.title(), "");
}

fn cells(picture: &mut String, histogram: &Histogram, x: &Axis, y: &Axis) {
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
            let light = 92.0 - 62.0 * share;
            let _ = writeln!(
                picture,
                "<rect x=\"{left:.1}\" y=\"{high:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"hsl(213,60%,{light:.0}%)\"/>",
                right - left,
                low - high
            );
        }
    }
    axes(picture, &along, &up, x.title(), y.title());
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

fn axes(picture: &mut String, along: &Scale, up: &Scale, title_x: &str, title_y: &str) {
    let (left, right, low, high) = (along.start, along.end, up.start, up.end);
    let _ = writeln!(picture, "<path d=\"M{left} {high}V{low}H{right}\" fill=\"none\" stroke=\"black\"/>");
    for tick in along.ticks() {
        let x = along.at(tick);
        let _ = writeln!(
            picture,
            "<path d=\"M{x:.1} {low}v5\" stroke=\"black\"/><text x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
            low + 19.0,
            short(tick)
        );
    }
    for tick in up.ticks() {
        let y = up.at(tick);
        let _ = writeln!(
            picture,
            "<path d=\"M{left} {y:.1}h-5\" stroke=\"black\"/><text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            left - 8.0,
            y + 4.0,
            short(tick)
        );
    }
    let _ = writeln!(
        picture,
        "<text x=\"{right}\" y=\"{}\" text-anchor=\"end\">{}</text><text x=\"16\" y=\"{high}\" text-anchor=\"end\" \
         transform=\"rotate(-90 16 {high})\">{}</text>",
        HEIGHT - 12.0,
        escaped(title_x),
        escaped(title_y)
    );
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
        let text = in_terminal(&histogram).expect("a picture");
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[1], "entries 4  mean x 1.16667  std dev x 0.471405  underflow 0  overflow 1");
        assert_eq!(lines[2].matches('█').count() * 2, lines[3].matches('█').count());
        assert_eq!(lines[4], "2 0 ");
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
