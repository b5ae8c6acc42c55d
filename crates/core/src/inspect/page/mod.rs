//! A page with a few shapes on it, which is written as SVG, PNG or PDF.

mod font;
mod pdf;
mod png;
mod svg;

use super::png::Colour;
use super::svg::Anchor;

pub(super) use font::{cut_short, wrapped};

/// A place on a page, from its upper left corner.
pub(super) type Point = (f64, f64);

/// A part of a page.
#[derive(Clone, Debug)]
pub(super) enum Shape {
    /// A box without an outline, next to others of its kind: left edge, upper edge, width, height.
    Cell {
        place: [f64; 4],
        colour: Colour,
    },
    /// A polygon with an outline.
    Area {
        outline: Vec<Point>,
        fill: Colour,
        line: Colour,
    },
    Line {
        points: Vec<Point>,
        colour: Colour,
    },
    Dot {
        at: Point,
        radius: f64,
        colour: Colour,
    },
    Text {
        at: Point,
        size: f64,
        anchor: Anchor,
        is_upright: bool,
        text: String,
    },
}

impl Shape {
    /// A text from left to right.
    pub(super) fn text(at: Point, size: f64, anchor: Anchor, text: &str) -> Self {
        Self::Text { at, size, anchor, is_upright: false, text: text.to_owned() }
    }
}

/// White paper with shapes, later ones above earlier ones.
#[derive(Clone, Debug)]
pub(super) struct Page {
    pub(super) width: f64,
    pub(super) height: f64,
    pub(super) shapes: Vec<Shape>,
}
