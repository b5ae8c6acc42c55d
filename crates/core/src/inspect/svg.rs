//! What pictures of layouts, runs and studies are drawn with, as SVG.

use std::fmt::{Arguments, Display, Write};

use super::png::Colour;

/// A picture that is being drawn.
pub(super) struct Svg(String);

/// Where a text stands from its place.
#[derive(Clone, Copy, Debug)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

impl Anchor {
    /// Its name in SVG.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Middle => "middle",
            Self::End => "end",
        }
    }

    /// The part of a text that stands before its place.
    pub(super) fn share(self) -> f64 {
        match self {
            Self::Start => 0.0,
            Self::Middle => 0.5,
            Self::End => 1.0,
        }
    }
}

impl Svg {
    /// White paper.
    pub(super) fn new(width: impl Display, height: impl Display) -> Self {
        let mut svg = Self(String::new());
        svg.put(format_args!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" font-size=\"12\">\n\
             <rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>\n"
        ));
        svg
    }

    fn put(&mut self, text: Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = self.0.write_fmt(text);
    }

    /// The title, above a plot.
    pub(super) fn title(&mut self, x: impl Display, words: &str) {
        self.put(format_args!("<text x=\"{x}\" y=\"24\" font-size=\"14\">{}</text>\n", escaped(words)));
    }

    /// A text.
    pub(super) fn text(&mut self, x: impl Display, y: impl Display, anchor: Anchor, words: impl Display) {
        self.coloured(x, y, anchor, "", words);
    }

    /// A text of a colour; of none, black.
    pub(super) fn coloured(
        &mut self,
        x: impl Display,
        y: impl Display,
        anchor: Anchor,
        fill: &str,
        words: impl Display,
    ) {
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        let fill = if fill.is_empty() { String::new() } else { format!(" fill=\"{fill}\"") };
        let words = escaped(&words.to_string());
        self.put(format_args!("<text x=\"{x}\" y=\"{y}\"{fill}{anchor}>{words}</text>\n"));
    }

    /// The name of an axis that goes up.
    pub(super) fn upright(&mut self, x: impl Display, y: impl Display, fill: &str, words: &str) {
        self.put(format_args!(
            "<text x=\"{x}\" y=\"{y}\" fill=\"{fill}\" text-anchor=\"middle\" \
             transform=\"rotate(-90 {x} {y})\">{}</text>\n",
            escaped(words)
        ));
    }

    /// Marks with sharp edges: left, top, width and height of each.
    pub(super) fn marks(&mut self, marks: impl IntoIterator<Item = ([u32; 4], Colour)>) {
        self.put(format_args!("<g shape-rendering=\"crispEdges\">\n"));
        for (place, colour) in marks {
            self.mark(place, colour);
        }
        self.end_group();
    }

    /// One mark.
    pub(super) fn mark(&mut self, [x, y, width, height]: [u32; 4], colour: Colour) {
        let fill = hex(colour);
        self.put(format_args!("<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" fill=\"{fill}\"/>\n"));
    }

    /// The frame of a plot.
    pub(super) fn frame<T: Display>(&mut self, [x, y, width, height]: [T; 4]) {
        self.put(format_args!(
            "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" fill=\"none\" stroke=\"#000\"/>\n"
        ));
    }

    /// A line, with the attributes of its stroke.
    pub(super) fn line(&mut self, path: impl Display, stroke: &str) {
        self.put(format_args!("<path d=\"{path}\" fill=\"none\" {stroke}/>\n"));
    }

    /// A point.
    pub(super) fn point(&mut self, x: f64, y: f64, radius: u32, colour: Colour) {
        let fill = hex(colour);
        self.put(format_args!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius}\" fill=\"{fill}\"/>\n"));
    }

    /// What follows stands to the right by so many points, until the group ends.
    pub(super) fn beside(&mut self, x: u32) {
        self.put(format_args!("<g transform=\"translate({x} 0)\">\n"));
    }

    pub(super) fn end_group(&mut self) {
        self.put(format_args!("</g>\n"));
    }

    /// The picture.
    pub(super) fn end(mut self) -> String {
        self.put(format_args!("</svg>\n"));
        self.0
    }
}

/// A part of a whole in points.
pub(super) fn scaled(part: u64, whole: u64, points: u32) -> u32 {
    let part = u128::from(part.min(whole)) * u128::from(points) / u128::from(whole.max(1));
    u32::try_from(part).unwrap_or(points).min(points)
}

/// Colours that differ from those of their neighbours: steps of the golden angle around the wheel, in turn dark and
/// light.
pub(super) fn colour(rank: usize) -> Colour {
    let hue = (rank as f64 * 137.507_764) % 360.0;
    let (saturation, light) = (0.65, [0.45, 0.62, 0.35][rank % 3]);
    let chroma = (1.0 - f64::abs(2.0 * light - 1.0)) * saturation;
    let second = chroma * (1.0 - f64::abs((hue / 60.0) % 2.0 - 1.0));
    let (red, green, blue) = match hue as u32 / 60 {
        0 => (chroma, second, 0.0),
        1 => (second, chroma, 0.0),
        2 => (0.0, chroma, second),
        3 => (0.0, second, chroma),
        4 => (second, 0.0, chroma),
        _ => (chroma, 0.0, second),
    };
    [red, green, blue].map(|part| ((part + light - chroma / 2.0) * 255.0) as u8)
}

/// A colour as SVG has it.
pub(super) fn hex([red, green, blue]: Colour) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}

/// Text that may stand in SVG.
pub(super) fn escaped(text: &str) -> String {
    let plain = |c: char| if c.is_control() { ' ' } else { c };
    text.chars().map(plain).collect::<String>().replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
