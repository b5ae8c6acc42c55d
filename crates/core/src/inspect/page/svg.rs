//! Pages as SVG.

use std::fmt::Write as _;

use super::{Page, Point, Shape};
use crate::inspect::svg::{escaped, hex};

impl Page {
    /// The page as SVG.
    pub(in crate::inspect) fn svg(&self) -> String {
        let Self { width, height, .. } = self;
        let mut picture = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\">\n\
             <rect width=\"{width}\" height=\"{height}\" fill=\"white\"/>\n"
        );
        for shape in &self.shapes {
            // Writing to a string cannot fail.
            let _ = add(&mut picture, shape);
        }
        picture.push_str("</svg>\n");
        picture
    }
}

fn add(picture: &mut String, shape: &Shape) -> std::fmt::Result {
    match shape {
        // Edges that were blended with the paper would leave seams between cells.
        Shape::Cell { place: [x, y, width, height], colour } => writeln!(
            picture,
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" fill=\"{}\" \
             shape-rendering=\"crispEdges\"/>",
            hex(*colour)
        ),
        Shape::Area { outline, fill, line } => writeln!(
            picture,
            "<path d=\"{}\" fill=\"{}\" stroke=\"{}\" stroke-width=\"1.2\"/>",
            path(outline),
            hex(*fill),
            hex(*line)
        ),
        Shape::Line { points, colour } => {
            writeln!(picture, "<path d=\"{}\" fill=\"none\" stroke=\"{}\"/>", path(points), hex(*colour))
        }
        Shape::Dot { at: (x, y), radius, colour } => {
            writeln!(picture, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius}\" fill=\"{}\"/>", hex(*colour))
        }
        Shape::Text { at: (x, y), size, anchor, is_upright, text } => {
            let turned = if *is_upright { format!(" transform=\"rotate(-90 {x:.1} {y:.1})\"") } else { String::new() };
            writeln!(
                picture,
                "<text x=\"{x:.1}\" y=\"{y:.1}\" font-size=\"{size}\" text-anchor=\"{}\"{turned}>{}</text>",
                anchor.name(),
                escaped(text)
            )
        }
    }
}

fn path(points: &[Point]) -> String {
    let places: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1} {y:.1}")).collect();
    format!("M{}", places.join("L"))
}
