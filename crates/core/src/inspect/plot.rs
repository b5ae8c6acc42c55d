//! Histograms as pages: bars, points with errors or coloured cells, between axes.

use super::page::{Page, Point, Shape, cut_short, wrapped};
use super::png::Colour;
use super::svg::Anchor;
use crate::error::{Error, Result};
use crate::hist::{Axis, Histogram};

/// The picture's size, and the room for axes around it.
const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 480.0;
const LEFT: f64 = 76.0;
const BOTTOM: f64 = 52.0;
const TOP: f64 = 36.0;
const RIGHT: f64 = 20.0;
/// Room for the scale of colours, between plot and edge.
const SCALE_RIGHT: f64 = 96.0;
const SCALE_WIDTH: f64 = 16.0;
/// Steps of the scale of colours.
const SCALE_STEPS: usize = 64;
/// Sizes of letters, and the distance of lines of the title.
const TITLE: f64 = 15.0;
const SMALL: f64 = 13.0;
const TITLE_LINE: f64 = 19.0;
/// More lines of a title are cut short.
const TITLE_LINES: usize = 3;
/// The most bins of an axis in a picture, and of each axis where there are two.
const MAX_BINS: usize = 10_000;
const MAX_CELLS: usize = 400;

const BLACK: Colour = [0; 3];
const LINE: Colour = [0x1f, 0x4e, 0x8c];
const FILL: Colour = [0xcf, 0xe0, 0xf5];

/// The page of a histogram with one or two axes.
pub(super) fn page(histogram: &Histogram) -> Result<Page> {
    let most = if histogram.axes().len() == 1 { MAX_BINS } else { MAX_CELLS };
    if let Some(axis) = histogram.axes().iter().find(|axis| axis.bins() > most) {
        let words = format!("a picture shows up to {most} bins of an axis, and {} were asked for", axis.bins());
        return Err(Error::mismatch(words));
    }
    let mut page = Page { width: WIDTH, height: HEIGHT, shapes: Vec::new() };
    let lines = wrapped(&histogram.title(), (WIDTH - LEFT - RIGHT) / TITLE, TITLE_LINES);
    for (number, line) in lines.iter().enumerate() {
        page.shapes.push(Shape::text((LEFT, 22.0 + TITLE_LINE * number as f64), TITLE, Anchor::Start, line));
    }
    let top = TOP + TITLE_LINE * lines.len().saturating_sub(1) as f64;
    match histogram.axes() {
        [x] if histogram.is_profile() => points(&mut page.shapes, histogram, x, top),
        [x] => bars(&mut page.shapes, histogram, x, top),
        [x, y] => cells(&mut page.shapes, histogram, [x, y], top),
        _ => return Err(Error::unsupported("a histogram with three axes has no picture: write it as .root")),
    }
    Ok(page)
}

/// The values of the bins of a histogram with one axis, without flow.
pub(super) fn contents(histogram: &Histogram) -> Vec<f64> {
    let bins = histogram.axes().first().map_or(0, Axis::bins);
    (1..=bins).map(|bin| histogram.value(bin)).collect()
}

/// A number with six digits.
pub(super) fn short(value: f64) -> String {
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

/// The outline of the bins.
fn bars(shapes: &mut Vec<Shape>, histogram: &Histogram, x: &Axis, top: f64) {
    let x = &x.with_finite_ends();
    // Values without a place stand on the base.
    let finite = |value: f64| if value.is_finite() { value } else { 0.0 };
    let values: Vec<f64> = contents(histogram).into_iter().map(finite).collect();
    let least = values.iter().copied().fold(0.0, f64::min);
    let most = values.iter().copied().fold(least, f64::max);
    let room = 0.08 * (most - least);
    let up = Scale::up(if least < 0.0 { least - room } else { least }, most + room, top);
    let along = Scale::along(x, RIGHT);
    let base = up.at(0.0);
    let mut outline = vec![(along.at(x.min()), base)];
    for (place, value) in values.iter().enumerate() {
        let [left, right] = along.edges(x, place + 1);
        outline.extend([(left, up.at(*value)), (right, up.at(*value))]);
    }
    outline.push((along.at(x.max()), base));
    shapes.push(Shape::Area { outline, fill: FILL, line: LINE });
    axes(shapes, &along, &up, x.title(), "");
}

/// Means with their errors, for bins that have entries.
fn points(shapes: &mut Vec<Shape>, histogram: &Histogram, x: &Axis, top: f64) {
    let x = &x.with_finite_ends();
    let counts = histogram.bin_entries().unwrap_or_default();
    let of_bin = |bin: usize| {
        let is_filled = counts.get(bin).is_some_and(|count| *count != 0.0);
        let value = histogram.value(bin);
        let error = histogram.error(bin);
        (is_filled && value.is_finite()).then_some((bin, value, if error.is_finite() { error } else { 0.0 }))
    };
    let found: Vec<(usize, f64, f64)> = (1..=x.bins()).filter_map(of_bin).collect();
    let least = found.iter().map(|(_, value, error)| value - error).fold(f64::INFINITY, f64::min);
    let most = found.iter().map(|(_, value, error)| value + error).fold(f64::NEG_INFINITY, f64::max);
    let (least, most) = if found.is_empty() { (0.0, 1.0) } else { (least, most) };
    let room = if most > least { 0.08 * (most - least) } else { 0.5 };
    let up = Scale::up(least - room, most + room, top);
    let along = Scale::along(x, RIGHT);
    for (bin, value, error) in found {
        let [left, right] = along.edges(x, bin);
        let middle = (left + right) / 2.0;
        let y = up.at(value);
        shapes.push(Shape::Line { points: vec![(left, y), (right, y)], colour: LINE });
        shapes.push(Shape::Line {
            points: vec![(middle, up.at(value - error)), (middle, up.at(value + error))],
            colour: LINE,
        });
        shapes.push(Shape::Dot { at: (middle, y), radius: 2.5, colour: LINE });
    }
    axes(shapes, &along, &up, x.title(), "");
}

/// Cells whose colour is their value, and the scale of colours.
fn cells(shapes: &mut Vec<Shape>, histogram: &Histogram, [x, y]: [&Axis; 2], top: f64) {
    let x = &x.with_finite_ends();
    let y = &y.with_finite_ends();
    let along = Scale::along(x, SCALE_RIGHT);
    let up = Scale::up(y.min(), y.max(), top);
    let counts = histogram.bin_entries();
    let of_cell = |bin_x: usize, bin_y: usize| {
        let bin = histogram.bin([bin_x, bin_y, 0]);
        let value = histogram.value(bin);
        let is_filled = match counts {
            Some(counts) => counts.get(bin).is_some_and(|count| *count != 0.0),
            None => value != 0.0,
        };
        (is_filled && value.is_finite()).then_some((bin_x, bin_y, value))
    };
    let all = (1..=y.bins()).flat_map(|bin_y| (1..=x.bins()).filter_map(move |bin_x| of_cell(bin_x, bin_y)));
    let filled: Vec<(usize, usize, f64)> = all.collect();
    // Sums begin at 0, means anywhere.
    let first = if counts.is_some() { f64::INFINITY } else { 0.0 };
    let least = filled.iter().map(|cell| cell.2).fold(first, f64::min);
    let most = filled.iter().map(|cell| cell.2).fold(f64::NEG_INFINITY, f64::max);
    let share = |value: f64| if most > least { (value - least) / (most - least) } else { 1.0 };
    for (bin_x, bin_y, value) in &filled {
        let [left, right] = along.edges(x, *bin_x);
        let [low, high] = up.edges(y, *bin_y);
        shapes.push(Shape::Cell { place: [left, high, right - left, low - high], colour: shade(share(*value)) });
    }
    axes(shapes, &along, &up, x.title(), y.title());
    if !filled.is_empty() {
        colours(shapes, &Scale { from: least, to: if most > least { most } else { least + 1.0 }, ..up }, along.end);
    }
}

/// The scale of colours, right of the plot.
fn colours(shapes: &mut Vec<Shape>, up: &Scale, right: f64) {
    let left = right + SCALE_WIDTH;
    let step = (up.start - up.end) / SCALE_STEPS as f64;
    for number in 0..SCALE_STEPS {
        let place = [left, up.start - step * (number + 1) as f64, SCALE_WIDTH, step];
        shapes.push(Shape::Cell { place, colour: shade((number as f64 + 0.5) / SCALE_STEPS as f64) });
    }
    let right = left + SCALE_WIDTH;
    for tick in up.ticks() {
        let y = up.at(tick);
        shapes.push(Shape::Line { points: vec![(right, y), (right + 4.0, y)], colour: BLACK });
        shapes.push(Shape::text((right + 7.0, y + 4.0), SMALL, Anchor::Start, &short(tick)));
    }
}

/// The colour of a cell by its place between the least and the largest: from light to dark blue.
fn shade(share: f64) -> Colour {
    let light = 0.92 - 0.62 * share;
    let spread = 0.6 * light.min(1.0 - light);
    // Hue 213: blue is largest, red least.
    let least = light - spread;
    let most = light + spread;
    [least, least + (most - least) * (27.0 / 60.0), most].map(|part| (part * 255.0).round() as u8)
}

/// From values to places of a picture.
#[derive(Clone, Copy)]
struct Scale {
    from: f64,
    to: f64,
    start: f64,
    end: f64,
}

impl Scale {
    fn along(x: &Axis, right: f64) -> Self {
        Self { from: x.min(), to: x.max(), start: LEFT, end: WIDTH - right }
    }

    fn up(from: f64, to: f64, top: f64) -> Self {
        Self { from, to: if to > from { to } else { from + 1.0 }, start: HEIGHT - BOTTOM, end: top }
    }

    fn at(&self, value: f64) -> f64 {
        self.start + (value - self.from) / (self.to - self.from) * (self.end - self.start)
    }

    /// Where a bin begins and ends.
    fn edges(&self, axis: &Axis, bin: usize) -> [f64; 2] {
        [bin, bin + 1].map(|bin| self.at(axis.low_edge(bin)))
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
    let Scale { start: left, end: right, .. } = *along;
    let Scale { start: low, end: high, .. } = *up;
    let mut line = |points: Vec<Point>| shapes.push(Shape::Line { points, colour: BLACK });
    line(vec![(left, high), (left, low), (right, low)]);
    along.ticks().iter().for_each(|tick| line(vec![(along.at(*tick), low), (along.at(*tick), low + 5.0)]));
    up.ticks().iter().for_each(|tick| line(vec![(left, up.at(*tick)), (left - 5.0, up.at(*tick))]));
    for tick in along.ticks() {
        shapes.push(Shape::text((along.at(tick), low + 19.0), SMALL, Anchor::Middle, &short(tick)));
    }
    for tick in up.ticks() {
        shapes.push(Shape::text((left - 8.0, up.at(tick) + 4.0), SMALL, Anchor::End, &short(tick)));
    }
    let title = cut_short(title_x, (right - left) / SMALL);
    shapes.push(Shape::text((right, HEIGHT - 12.0), SMALL, Anchor::End, &title));
    let text = cut_short(title_y, (low - high) / SMALL);
    shapes.push(Shape::Text { at: (16.0, high), size: SMALL, anchor: Anchor::End, is_upright: true, text });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(page: &Page) -> Vec<&str> {
        let mut found = Vec::new();
        for shape in &page.shapes {
            if let Shape::Text { text, .. } = shape {
                found.push(text.as_str());
            }
        }
        found
    }

    fn filled(class: &str, axes: &[(usize, f64, f64)], points: &[&[f64]]) -> Histogram {
        let axes = axes.iter().map(|(bins, from, to)| Axis::regular(*bins, *from, *to).unwrap());
        let mut histogram = Histogram::new(class, axes).unwrap();
        points.iter().for_each(|point| histogram.fill(point, 1.0).unwrap());
        histogram
    }

    #[test]
    fn a_picture_of_pixels_has_title_numbers_and_names() {
        let with = |title: &str| {
            let spectrum = filled("TH1D", &[(2, 0.0, 1.0)], &[&[0.2]]).with_title(title);
            page(&spectrum).unwrap()
        };
        let plain = with("");
        let titled = with("p_{T} of muons");
        assert_eq!(texts(&plain).iter().filter(|text| !text.is_empty()).count() + 1, texts(&titled).len() - 2);
        // They differ in the lines of the title.
        let rows = |page: &Page| {
            let png = page.png().unwrap();
            assert!(png.starts_with(b"\x89PNG") && png.ends_with(b"IEND\xaeB`\x82"));
            let data = png.windows(4).position(|word| word == b"IDAT").unwrap();
            let mut rows = vec![0; (1 + 3 * 1440) * 960];
            libdeflater::Decompressor::new().zlib_decompress(&png[data + 4..png.len() - 16], &mut rows).unwrap();
            rows.chunks(1 + 3 * 1440).map(<[u8]>::to_vec).collect::<Vec<_>>()
        };
        let [plain, titled] = [plain, titled].map(|page| rows(&page));
        let differ: Vec<usize> = (0..960).filter(|row| plain[*row] != titled[*row]).collect();
        assert!(!differ.is_empty() && differ.iter().all(|row| (10..56).contains(row)), "{differ:?}");
        // Numbers are left of the axis.
        let is_dark = |row: &Vec<u8>| row[1..1 + 3 * 130].iter().any(|part| *part < 100);
        assert!(plain[100..860].iter().any(is_dark));
    }

    #[test]
    fn a_profile_is_points_with_errors_for_the_bins_that_are_filled() {
        let profile = filled("TProfile", &[(4, 0.0, 4.0)], &[&[0.5, 10.0], &[0.5, 14.0], &[2.5, 11.0]]);
        let page = page(&profile).unwrap();
        let dots: Vec<Point> = page
            .shapes
            .iter()
            .filter_map(|shape| match shape {
                Shape::Dot { at, .. } => Some(*at),
                _ => None,
            })
            .collect();
        assert_eq!(dots.len(), 2);
        assert!(dots[0].1 < dots[1].1, "the mean of 12 stands above that of 11");
        assert!(!page.shapes.iter().any(|shape| matches!(shape, Shape::Area { .. })));
        assert!(page.svg().contains("<circle") && String::from_utf8_lossy(&page.pdf()).contains("1 J 5 w"));
        assert!(super::page(&filled("TProfile", &[(4, 0.0, 4.0)], &[])).is_ok());
    }

    #[test]
    fn two_axes_have_a_scale_of_colours_and_no_seams() {
        let counts = filled("TH2D", &[(2, 0.0, 2.0), (2, 0.0, 2.0)], &[&[0.5, 0.5], &[0.5, 0.5], &[1.5, 1.5]]);
        let page = page(&counts).unwrap();
        let cells = page.shapes.iter().filter(|shape| matches!(shape, Shape::Cell { .. })).count();
        assert_eq!(cells, 2 + SCALE_STEPS);
        let numbers = texts(&page);
        let scale: Vec<&&str> = numbers.iter().filter(|text| ["0", "0.5", "1", "1.5", "2"].contains(*text)).collect();
        assert!(scale.len() >= 3 * 3, "three axes with numbers: {numbers:?}");
        assert_eq!(page.svg().matches("crispEdges").count(), cells);
        // Means may all be negative.
        let means = filled("TProfile2D", &[(2, 0.0, 2.0), (1, 0.0, 1.0)], &[&[0.5, 0.5, -3.0], &[1.5, 0.5, -5.0]]);
        let page = super::page(&means).unwrap();
        assert!(texts(&page).contains(&"-4"), "{:?}", texts(&page));
        let empty = filled("TH2D", &[(2, 0.0, 2.0), (2, 0.0, 2.0)], &[]);
        assert!(super::page(&empty).unwrap().png().is_ok());
    }

    #[test]
    fn long_titles_are_wrapped_above_the_plot() {
        let long = "sqrt(2 * Muon_pt[0] * Muon_pt[1] * (cosh(Muon_eta[0] - Muon_eta[1]) - cos(Muon_phi[0] - Muon_phi[1]))) \
                    {nMuon == 2 && Muon_charge[0] != Muon_charge[1]}";
        let page = page(&filled("TH1D", &[(2, 0.0, 1.0)], &[&[0.2]]).with_title(long)).unwrap();
        let lines = texts(&page);
        assert!(lines[0].starts_with("sqrt(2") && !lines[1].starts_with("sqrt"), "{lines:?}");
        let top = page.shapes.iter().find_map(|shape| match shape {
            Shape::Line { points, .. } => Some(points[0].1),
            _ => None,
        });
        assert!(top.is_some_and(|top| top > TOP + 10.0), "{top:?}");
    }

    #[test]
    fn values_without_a_place_leave_the_picture_whole() {
        let mut odd = filled("TH1D", &[(3, 0.0, 3.0)], &[&[0.5]]);
        odd.fill(&[1.5], f64::NAN).unwrap();
        odd.fill(&[2.5], f64::INFINITY).unwrap();
        let page = page(&odd).unwrap();
        assert!(!page.svg().contains("NaN") && !page.svg().contains("inf") && page.png().is_ok());
        let negative = super::page(&filled("TH1D", &[(1, 0.0, 1.0)], &[])).unwrap();
        assert!(negative.svg().contains("<path"));
    }
}
