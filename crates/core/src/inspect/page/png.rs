//! Pages as PNG.

use tiny_skia::{Color, FillRule, Paint, Path, PathBuilder, Pixmap, Rect, Stroke, Transform};

use super::{Page, Point, Shape, font};
use crate::error::{Error, ErrorKind, Result};
use crate::inspect::png::{Colour, packed};

/// Points of the picture for one of the page.
const SCALE: f32 = 2.0;

impl Page {
    /// The page as PNG.
    ///
    /// # Errors
    ///
    /// [`Io`](ErrorKind::Io) for a picture that needs more memory than there is.
    pub(in crate::inspect) fn png(&self) -> Result<Vec<u8>> {
        let [width, height] = [self.width, self.height].map(|length| (length as f32 * SCALE).ceil() as u32);
        let paper = Pixmap::new(width, height);
        let mut paper = paper.ok_or_else(|| Error::new(ErrorKind::Io, "not enough memory for a picture"))?;
        paper.fill(Color::WHITE);
        for shape in &self.shapes {
            draw(&mut paper, shape)?;
        }
        // Nothing is transparent: the paper is white.
        let pixels = paper.pixels().chunks(width as usize);
        let rows = pixels.flat_map(|row| {
            let bytes = row.iter().flat_map(|pixel| [pixel.red(), pixel.green(), pixel.blue()]);
            [0].into_iter().chain(bytes)
        });
        packed(width, height, &rows.collect::<Vec<u8>>())
    }
}

fn draw(paper: &mut Pixmap, shape: &Shape) -> Result<()> {
    let scaled = Transform::from_scale(SCALE, SCALE);
    match shape {
        Shape::Cell { place: [x, y, width, height], colour } => {
            // Neighbours end and begin at one pixel.
            let edge = |at: f64| (at as f32 * SCALE).round();
            let [left, top, right, low] = [*x, *y, x + width, y + height].map(edge);
            let place = Rect::from_ltrb(left, top, right.max(left + 1.0), low.max(top + 1.0));
            if let Some(place) = place {
                paper.fill_rect(place, &paint(*colour), Transform::identity(), None);
            }
        }
        Shape::Area { outline, fill, line } => {
            if let Some(path) = path(outline) {
                paper.fill_path(&path, &paint(*fill), FillRule::Winding, scaled, None);
                stroke(paper, &path, 1.2, *line);
            }
        }
        Shape::Line { points, colour } => {
            if let Some(path) = path(points) {
                stroke(paper, &path, 1.0, *colour);
            }
        }
        Shape::Dot { at: (x, y), radius, colour } => {
            if let Some(path) = PathBuilder::from_circle(*x as f32, *y as f32, *radius as f32) {
                paper.fill_path(&path, &paint(*colour), FillRule::Winding, scaled, None);
            }
        }
        Shape::Text { at: (x, y), size, anchor, is_upright, text } => {
            let Some(letters) = font::outline(text)? else { return Ok(()) };
            let before = (font::width(text) * anchor.share()) as f32;
            let turn = if *is_upright { -90.0 } else { 0.0 };
            let place = scaled
                .pre_translate(*x as f32, *y as f32)
                .pre_rotate(turn)
                .pre_scale(*size as f32, -*size as f32)
                .pre_translate(-before, 0.0);
            paper.fill_path(&letters, &paint([0; 3]), FillRule::Winding, place, None);
        }
    }
    Ok(())
}

fn paint([red, green, blue]: Colour) -> Paint<'static> {
    let mut paint = Paint::default();
    paint.set_color_rgba8(red, green, blue, 255);
    paint
}

fn stroke(paper: &mut Pixmap, path: &Path, width: f32, colour: Colour) {
    let stroke = Stroke { width, ..Stroke::default() };
    paper.stroke_path(path, &paint(colour), &stroke, Transform::from_scale(SCALE, SCALE), None);
}

/// None for fewer than two points, and for points without a place.
fn path(points: &[Point]) -> Option<Path> {
    let mut path = PathBuilder::new();
    for (number, (x, y)) in points.iter().enumerate() {
        let [x, y] = [x, y].map(|at| *at as f32);
        if number == 0 { path.move_to(x, y) } else { path.line_to(x, y) }
    }
    path.finish()
}
