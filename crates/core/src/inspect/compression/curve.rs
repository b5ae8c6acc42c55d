//! A study as a picture: the time to inflate to the right, bytes upwards; a point for each setting, and the line of the
//! best choices by branch.

use super::{Study, Trial};
use crate::codec::Algorithm;
use crate::inspect::issue::bytes;
use crate::inspect::svg::{Anchor, Svg, colour};

/// Size of the plot, and room around it.
const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 460.0;
const LEFT: f64 = 90.0;
const TOP: f64 = 44.0;
const RIGHT: f64 = 170.0;
const BOTTOM: f64 = 50.0;
/// Points of the line.
const PRICES: i32 = 24;

/// The trade-off between size and time.
///
/// # Example
///
/// ```
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/plain.root");
/// use sapwood::inspect::compression::{Curve, Study, StudyOptions};
/// let study = Study::of(&sapwood::File::open(path)?, None, &StudyOptions::default())?;
/// assert!(Curve::of(&study).to_svg().starts_with("<svg "));
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Curve {
    title: String,
    points: Vec<Point>,
    line: Vec<Trial>,
    now: u64,
}

#[derive(Clone, Debug)]
struct Point {
    label: String,
    algorithm: usize,
    trial: Trial,
    /// Whether it is of baskets as a rewrite makes them; others are small.
    is_usual: bool,
}

impl Curve {
    /// Draws a study.
    pub fn of(study: &Study) -> Self {
        let mut points = Vec::new();
        for (size, &basket_bytes) in study.basket_bytes.iter().enumerate() {
            for (setting, how) in study.settings.iter().enumerate().filter(|(_, how)| how.level > 0) {
                points.push(Point {
                    label: how.to_string(),
                    algorithm: Algorithm::ALL.iter().position(|known| *known == how.algorithm).unwrap_or(0),
                    trial: study.total(size, |_| setting),
                    is_usual: basket_bytes == study.usual_basket_bytes || study.basket_bytes.len() == 1,
                });
            }
        }
        let size = study.basket_bytes.iter().position(|bytes| *bytes == study.usual_basket_bytes).unwrap_or(0);
        // Bytes that a second is worth, from nearly nothing to nearly everything.
        let price = |step: i32| 2.0_f64.powi(step + 14);
        let choice = |step: i32| study.cheapest(size, &|trial| trial.bytes as f64 + price(step) * trial.read_seconds).1;
        let mut line: Vec<Trial> = (0..PRICES).map(choice).collect();
        line.sort_by(|a, b| a.read_seconds.total_cmp(&b.read_seconds));
        line.dedup();
        let kind = if study.is_ntuple { "RNTuple" } else { "tree" };
        let title = format!("{kind} {}: {} of {} entries tried", study.path, study.sampled_entries, study.entries);
        Self { title, points, line, now: study.stored_bytes() }
    }

    /// As SVG.
    pub fn to_svg(&self) -> String {
        let trials = || self.points.iter().map(|point| &point.trial).chain(&self.line);
        // A scale of powers: codecs differ by factors of a hundred.
        let least = trials().map(|trial| trial.read_seconds).filter(|time| *time > 0.0).fold(f64::INFINITY, f64::min);
        let least = if least.is_finite() { least } else { 1e-6 };
        let most = trials().map(|trial| trial.read_seconds).fold(least * 2.0, f64::max);
        let top = trials().map(|trial| trial.bytes).max().unwrap_or(1).max(1) as f64 * 1.05;
        let span = (most / least).ln();
        let x = |seconds: f64| LEFT + (seconds.max(least) / least).ln() / span * WIDTH;
        let y = |count: u64| TOP + HEIGHT * (1.0 - (count as f64 / top).min(1.0));
        let mut svg = Svg::new(LEFT + WIDTH + RIGHT, TOP + HEIGHT + BOTTOM);
        svg.title(LEFT, &self.title);
        svg.frame([LEFT, TOP, WIDTH, HEIGHT]);
        for tick in 0..=4 {
            let share = f64::from(tick) / 4.0;
            let (across, down) = (LEFT + WIDTH * share, TOP + HEIGHT * (1.0 - share));
            let (seconds, count) = (least * (span * share).exp(), (top * share) as u64);
            svg.text(across, TOP + HEIGHT + 18.0, Anchor::Middle, format_args!("{seconds:.3} s"));
            svg.text(LEFT - 6.0, down + 4.0, Anchor::End, bytes(count));
        }
        let words = "seconds of one core to inflate all of it";
        svg.text(LEFT + WIDTH / 2.0, TOP + HEIGHT + 38.0, Anchor::Middle, words);
        let now = y(self.now);
        svg.line(format_args!("M{LEFT} {now:.1}h{WIDTH}"), "stroke=\"#999\" stroke-dasharray=\"4 3\"");
        let below = format!("{:.1}", now + 4.0);
        svg.coloured(LEFT + WIDTH + 6.0, below, Anchor::Start, "#666", "now");
        let places: Vec<String> =
            self.line.iter().map(|trial| format!("{:.1} {:.1}", x(trial.read_seconds), y(trial.bytes))).collect();
        if places.len() > 1 {
            svg.line(format_args!("M{}", places.join("L")), "stroke=\"#000\" stroke-width=\"1.5\"");
        }
        for Point { label, algorithm, trial, is_usual } in &self.points {
            let (x, y) = (x(trial.read_seconds), y(trial.bytes));
            svg.point(x, y, if *is_usual { 5 } else { 3 }, colour(*algorithm));
            if *is_usual {
                let (x, y) = (format!("{:.1}", x + 7.0), format!("{:.1}", y - 5.0));
                svg.text(x, y, Anchor::Start, label);
            }
        }
        for (row, words) in ["● one setting for all", "• in other baskets", "— the best by branch"].iter().enumerate()
        {
            svg.text(LEFT + WIDTH + 16.0, TOP + 20.0 * row as f64 + 11.0, Anchor::Start, words);
        }
        svg.end()
    }
}
