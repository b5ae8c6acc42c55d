//! Runs as a picture: entries to the right, offsets in the file upwards, a mark a range; and the time by which they
//! were read.

use std::collections::{BTreeMap, HashMap};

use super::{PerfStats, Read, format_figure};
use crate::error::Result;
use crate::inspect::picture::MOST_MARKS;
use crate::inspect::png::{Colour, Png};
use crate::inspect::svg::{Anchor, Svg, hex, scaled};

/// Size of the plot of a run.
const WIDTH: u32 = 640;
const HEIGHT: u32 = 420;
/// Room around it; on the right stand the axis of times and the figures.
const LEFT: u32 = 80;
const TOP: u32 = 40;
const RIGHT: u32 = 320;
const BOTTOM: u32 = 48;
/// What was used, and time.
const USED: Colour = [0x21, 0x66, 0xac];
const TIME: Colour = [0xd7, 0x30, 0x27];
/// Of the colour, what is left where nothing was used.
const PALE: f64 = 0.25;

/// A picture of one run, or of several side by side, in the same scales.
///
/// A mark is a range that was read: entries to the right, offsets in the file upwards. The less of it was used, the
/// paler it is. The red line says when all that belongs to entries up to there had been read.
///
/// # Example
///
/// ```
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/plain.root");
/// use sapwood::inspect::perf::{PerfPicture, PerfStats};
/// let tree = sapwood::File::open(path)?.tree("t")?;
/// tree.file().perf().start();
/// sapwood::read::columns(&tree, &[tree.branch("x")?.id], 0..tree.entries)?;
/// let stats = PerfStats::of(&tree)?;
/// let picture = PerfPicture::of(&[("before", &stats), ("after", &stats)]);
/// assert!(picture.to_svg().starts_with("<svg "));
/// assert!(picture.to_png()?.starts_with(b"\x89PNG"));
/// # Ok::<(), sapwood::Error>(())
/// ```
///
/// ```
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/plain.root");
/// use sapwood::inspect::perf::{PerfPicture, PerfStats};
/// let tree = sapwood::File::open(path)?.tree("t")?;
/// tree.file().perf().start();
/// sapwood::read::columns(&tree, &[0], 0..tree.entries)?;
/// assert!(PerfPicture::of(&[("run", &PerfStats::of(&tree)?)]).marks() > 0);
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct PerfPicture {
    panels: Vec<Panel>,
    scale: Scale,
}

/// What the ends of the axes stand for.
#[derive(Clone, Copy, Debug, Default)]
struct Scale {
    entry: u64,
    byte: u64,
    seconds: f64,
}

/// One run.
#[derive(Clone, Debug)]
struct Panel {
    title: String,
    marks: Vec<([u32; 4], Colour)>,
    figures: Vec<(&'static str, String)>,
}

impl PerfPicture {
    /// Draws runs, each with what to call it: nothing, or a word like `before`.
    pub fn of(runs: &[(&str, &PerfStats)]) -> Self {
        let mut scale = Scale::default();
        for read in runs.iter().flat_map(|(_, stats)| drawn(stats)) {
            scale.entry = scale.entry.max(read.entry.unwrap_or(0));
            scale.byte = scale.byte.max(read.range.end);
            scale.seconds = scale.seconds.max(read.at + read.took);
        }
        Self { panels: runs.iter().map(|(name, stats)| Panel::of(name, stats, scale)).collect(), scale }
    }

    /// How many marks it has: bounded, whatever was read.
    pub fn marks(&self) -> usize {
        self.panels.iter().map(|panel| panel.marks.len()).sum()
    }

    /// As SVG, with axes and figures.
    pub fn to_svg(&self) -> String {
        let (wide, height) = (LEFT + WIDTH + RIGHT, TOP + HEIGHT + BOTTOM);
        let width = wide * self.panels.len() as u32;
        let mut svg = Svg::new(width, height);
        for (place, panel) in self.panels.iter().enumerate() {
            svg.beside(wide * place as u32);
            svg.title(LEFT, &panel.title);
            let placed =
                |&([x, y, width, height], colour): &([u32; 4], Colour)| ([LEFT + x, TOP + y, width, height], colour);
            svg.marks(panel.marks.iter().map(placed));
            svg.frame([LEFT, TOP, WIDTH, HEIGHT]);
            let (right, red) = (LEFT + WIDTH, hex(TIME));
            for tick in 0..=4_u32 {
                let (x, y) = (LEFT + WIDTH * tick / 4, TOP + HEIGHT - HEIGHT * tick / 4 + 4);
                let part = f64::from(tick) / 4.0;
                let (offset, seconds) = (self.scale.byte as f64 * part / 1e6, self.scale.seconds * part);
                svg.text(x, TOP + HEIGHT + 18, Anchor::Middle, format_args!("{:.0}", self.scale.entry as f64 * part));
                svg.text(LEFT - 6, y, Anchor::End, format_args!("{offset:.3}"));
                svg.coloured(right + 6, y, Anchor::Start, &red, format_args!("{seconds:.3}"));
            }
            svg.text(LEFT + WIDTH / 2, TOP + HEIGHT + 38, Anchor::Middle, "entry");
            svg.upright(14, TOP + HEIGHT / 2, "#000", "offset in the file (MB)");
            svg.upright(right + 62, TOP + HEIGHT / 2, &red, "time (s)");
            for (row, (name, value)) in panel.figures.iter().enumerate() {
                let (x, y) = (right + 84, TOP + 12 + 19 * row as u32);
                svg.text(x, y, Anchor::Start, name);
                svg.text(x + 90, y, Anchor::Start, value);
            }
            svg.end_group();
        }
        svg.end()
    }

    /// As PNG: the marks and the lines, without words.
    ///
    /// # Errors
    ///
    /// [`Io`](crate::ErrorKind::Io) where there is no memory for it.
    pub fn to_png(&self) -> Result<Vec<u8>> {
        const EDGE: u32 = 8;
        let wide = WIDTH + 2 * EDGE;
        let mut png = Png::new((wide * self.panels.len() as u32).max(1), HEIGHT + 2 * EDGE);
        for (place, panel) in self.panels.iter().enumerate() {
            let left = wide * place as u32 + EDGE;
            for &([x, y, width, height], colour) in &panel.marks {
                png.fill([left + x, EDGE + y, width, height], colour);
            }
            png.frame([left, EDGE, WIDTH, HEIGHT]);
        }
        png.pack()
    }
}

impl Panel {
    fn of(name: &str, stats: &PerfStats, scale: Scale) -> Self {
        let mut step = 1;
        let mut marks = marks(stats, scale, step);
        while marks.len() > MOST_MARKS {
            step *= 2;
            marks = self::marks(stats, scale, step);
        }
        marks.extend(times(stats, scale).into_iter().map(|line| (line, TIME)));
        let title = match name {
            "" => stats.title.clone(),
            name => format!("{name}: {}", stats.title),
        };
        let figures =
            stats.figures().into_iter().map(|(name, value, unit)| (name, format_figure(value, unit))).collect();
        Self { title, marks, figures }
    }
}

/// The ranges with baskets.
fn drawn(stats: &PerfStats) -> impl Iterator<Item = &Read> {
    stats.reads.iter().filter(|read| read.entry.is_some())
}

/// Where an entry stands.
fn across(read: &Read, scale: Scale) -> u32 {
    scaled(read.entry.unwrap_or(0), scale.entry, WIDTH - 1)
}

/// One mark for all ranges that cover the same cells of a grid with cells of `step` points.
fn marks(stats: &PerfStats, scale: Scale, step: u32) -> Vec<([u32; 4], Colour)> {
    let mut cells: HashMap<[u32; 3], (u64, u64)> = HashMap::new();
    for read in drawn(stats) {
        let x = across(read, scale) / step * step;
        let bottom = scaled(read.range.start, scale.byte, HEIGHT - 1) / step * step;
        let top = scaled(read.range.end, scale.byte, HEIGHT).max(bottom + 1).next_multiple_of(step).min(HEIGHT);
        let (bytes, used) = cells.entry([x, bottom, top]).or_default();
        *bytes = bytes.saturating_add(read.range.end.saturating_sub(read.range.start));
        *used = used.saturating_add(read.used_bytes);
    }
    let mut cells: Vec<_> = cells.into_iter().collect();
    // High ones first, so that none is hidden; and in one order, so that the same run gives the same picture.
    cells.sort_by_key(|([x, bottom, top], _)| (std::cmp::Reverse(top.saturating_sub(*bottom)), *x, *bottom));
    let mark = |([x, bottom, top], (bytes, used)): ([u32; 3], (u64, u64))| {
        let share = if bytes > 0 { (used as f64 / bytes as f64).min(1.0) } else { 1.0 };
        let strength = PALE + (1.0 - PALE) * share;
        let colour = USED.map(|part| (255.0 - (255.0 - f64::from(part)) * strength) as u8);
        ([x, HEIGHT - top, step.max(3).min(WIDTH - x), top.saturating_sub(bottom)], colour)
    };
    cells.into_iter().map(mark).collect()
}

/// The line of times: stairs from point to point.
fn times(stats: &PerfStats, scale: Scale) -> Vec<[u32; 4]> {
    const THICK: u32 = 2;
    let mut latest: BTreeMap<u32, f64> = BTreeMap::new();
    for read in drawn(stats) {
        let time = latest.entry(across(read, scale)).or_default();
        *time = time.max(read.at + read.took);
    }
    let mut stairs = Vec::new();
    let (mut from, mut low) = (0, 0);
    for (x, time) in latest {
        let share = if scale.seconds > 0.0 { (time / scale.seconds).clamp(0.0, 1.0) } else { 0.0 };
        let high = low.max((share * f64::from(HEIGHT - THICK)) as u32);
        stairs.push([from, HEIGHT - THICK - low, x - from + THICK, THICK]);
        stairs.push([x, HEIGHT - THICK - high, THICK, high - low + THICK]);
        (from, low) = (x, high);
    }
    stairs.retain(|[_, _, width, height]| *width > 0 && *height > 0);
    stairs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(reads: u64) -> PerfStats {
        let read = |place: u64| Read {
            entry: (place > 0).then_some(place * 7919 % 100_003),
            range: place * 104_729 % (1 << 30)..place * 104_729 % (1 << 30) + 5000,
            at: place as f64 * 1e-3,
            took: 1e-3,
            used_bytes: place % 5001,
        };
        PerfStats { title: "<b&>".into(), reads: (0..reads).map(read).collect(), ..PerfStats::default() }
    }

    #[test]
    fn marks_are_bounded_for_any_run() {
        let few = run(2);
        assert_eq!(PerfPicture::of(&[("", &few)]).marks(), 1 + 2, "a range, and the stairs to it");
        let many = run(300_000);
        let picture = PerfPicture::of(&[("before", &many), ("after", &many)]);
        assert!(picture.marks() <= 2 * (MOST_MARKS + 2 * WIDTH as usize) && picture.marks() > 1_000);
        assert!(picture.to_svg().contains("before: &lt;b&amp;&gt;"));
        assert!(picture.to_png().is_ok_and(|png| png.ends_with(b"IEND\xaeB`\x82")));
    }

    #[test]
    fn nothing_read_has_a_picture() {
        let picture = PerfPicture::of(&[("", &PerfStats::default())]);
        assert_eq!(picture.marks(), 0);
        assert!(picture.to_svg().contains("ReadCalls") && picture.to_png().is_ok());
    }
}
