//! A layout as a picture: entries to the right, offsets in the file downwards, one colour a branch.

use std::collections::HashMap;

use super::issue::bytes;
use super::layout::Layout;
use super::png::{Colour, Png};
use super::svg::{Anchor, Svg, colour, scaled};
use crate::error::Result;

/// More marks make pictures that no viewer opens; baskets that fall together at a coarser grid become one.
pub(super) const MOST_MARKS: usize = 20_000;
/// More lines hide what is between them.
const MOST_LINES: usize = 400;
/// Branches that the legend names: those with the most bytes.
const LEGEND: usize = 20;
/// Size of the plot.
const WIDTH: u32 = 1000;
const HEIGHT: u32 = 640;
/// Room around it.
const LEFT: u32 = 80;
const TOP: u32 = 40;
const RIGHT: u32 = 260;
const BOTTOM: u32 = 40;

/// A picture of a layout.
///
/// # Example
///
/// ```
/// use sapwood::inspect::layout::Layout;
/// use sapwood::inspect::picture::Picture;
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/plain.root");
/// let tree = sapwood::File::open(path)?.tree("t")?;
/// let picture = Picture::of(&Layout::of(&tree)?);
/// assert!(picture.to_svg().starts_with("<svg "));
/// assert!(picture.to_png()?.starts_with(b"\x89PNG"));
/// # Ok::<(), sapwood::Error>(())
/// ```
///
/// ```
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/plain.root");
/// use sapwood::inspect::{layout::Layout, picture::Picture};
/// let tree = sapwood::File::open(path)?.tree("t")?;
/// assert!(Picture::of(&Layout::of(&tree)?).marks() > 0);
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Picture {
    title: String,
    entries: u64,
    file_bytes: u64,
    marks: Vec<Mark>,
    /// Where clusters begin.
    lines: Vec<u32>,
    legend: Vec<(String, Colour)>,
    others: usize,
}

/// Baskets that fall together.
#[derive(Clone, Copy, Debug)]
struct Mark {
    x: u32,
    y: u32,
    width: u32,
    height: u32,
    colour: Colour,
}

impl Picture {
    /// Draws a layout.
    pub fn of(layout: &Layout) -> Self {
        let mut order: Vec<usize> = (0..layout.branches.len()).collect();
        order.sort_by_key(|&place| std::cmp::Reverse(layout.branches[place].zip_bytes));
        let mut colours = vec![[0; 3]; layout.branches.len()];
        for (rank, &place) in order.iter().enumerate() {
            colours[place] = colour(rank);
        }
        let mut marks = marks(layout, &colours, 1);
        let mut step = 2;
        while marks.len() > MOST_MARKS {
            marks = self::marks(layout, &colours, step);
            step *= 2;
        }
        let mut lines: Vec<u32> = layout
            .clusters
            .iter()
            .skip(1)
            .map(|cluster| scaled(cluster.entries.start, layout.entries, WIDTH))
            .collect();
        lines.dedup();
        if lines.len() > MOST_LINES {
            lines.clear();
        }
        let named = order.iter().take(LEGEND).map(|&place| (layout.branches[place].path.clone(), colours[place]));
        Self {
            title: format!(
                "{};{}: {} entries, {} clusters, {} baskets of {} branches",
                layout.tree,
                layout.cycle,
                layout.entries,
                layout.clusters.len(),
                layout.baskets.len(),
                layout.branches.len()
            ),
            entries: layout.entries,
            file_bytes: layout.file_bytes,
            marks,
            lines,
            legend: named.collect(),
            others: layout.branches.len().saturating_sub(LEGEND),
        }
    }

    /// How many marks it has: bounded, whatever the tree.
    pub fn marks(&self) -> usize {
        self.marks.len()
    }

    /// As SVG, with axes and legend.
    pub fn to_svg(&self) -> String {
        let mut svg = Svg::new(LEFT + WIDTH + RIGHT, TOP + HEIGHT + BOTTOM);
        svg.title(LEFT, &self.title);
        for line in &self.lines {
            svg.line(format_args!("M{} {TOP}v{HEIGHT}", LEFT + line), "stroke=\"#ccc\" stroke-width=\"1\"");
        }
        let placed = |mark: &Mark| ([LEFT + mark.x, TOP + mark.y, mark.width, mark.height], mark.colour);
        svg.marks(self.marks.iter().map(placed));
        svg.frame([LEFT, TOP, WIDTH, HEIGHT]);
        for tick in 0..=4_u32 {
            let (x, y) = (LEFT + WIDTH * tick / 4, TOP + HEIGHT * tick / 4);
            let entry = super::simulate::entries_at(self.entries, tick.into(), 4);
            let offset = super::simulate::entries_at(self.file_bytes, tick.into(), 4);
            svg.text(x, TOP + HEIGHT + 18, Anchor::Middle, entry);
            svg.text(LEFT - 6, y + 4, Anchor::End, bytes(offset));
        }
        svg.text(LEFT + WIDTH / 2, TOP + HEIGHT + 34, Anchor::Middle, "entry");
        svg.upright(14, TOP + HEIGHT / 2, "#000", "offset in the file");
        let left = LEFT + WIDTH + 16;
        for (row, (name, colour)) in self.legend.iter().enumerate() {
            let y = TOP + 20 * row as u32;
            svg.mark([left, y, 12, 12], *colour);
            svg.text(left + 18, y + 11, Anchor::Start, shortened(name));
        }
        if self.others > 0 {
            let y = TOP + 20 * self.legend.len() as u32 + 11;
            svg.text(left, y, Anchor::Start, format_args!("and {} others", self.others));
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
        let (width, height) = (WIDTH + 2 * EDGE, HEIGHT + 2 * EDGE);
        let mut png = Png::new(width, height);
        for line in &self.lines {
            png.fill([EDGE + line, EDGE, 1, HEIGHT], [0xcc; 3]);
        }
        for mark in &self.marks {
            png.fill([EDGE + mark.x, EDGE + mark.y, mark.width, mark.height], mark.colour);
        }
        png.frame([EDGE, EDGE, WIDTH, HEIGHT]);
        png.pack()
    }
}

/// One mark for all baskets that cover the same cells of a grid with cells of `step` points; the largest gives the
/// colour.
fn marks(layout: &Layout, colours: &[Colour], step: u32) -> Vec<Mark> {
    let mut cells: HashMap<[u32; 4], (u64, usize)> = HashMap::new();
    let down = |point: u32| point / step * step;
    for basket in &layout.baskets {
        let x = down(scaled(basket.entries.start, layout.entries, WIDTH - 1));
        let y = down(scaled(basket.at, layout.file_bytes, HEIGHT - 1));
        let right = scaled(basket.entries.end, layout.entries, WIDTH).max(x + step).min(WIDTH);
        let end = scaled(basket.at.saturating_add(basket.bytes), layout.file_bytes, HEIGHT).max(y + step).min(HEIGHT);
        let cell = [x, y, down(right + step - 1).min(WIDTH), down(end + step - 1).min(HEIGHT)];
        let held = cells.entry(cell).or_insert((0, basket.branch));
        if basket.bytes > held.0 {
            *held = (basket.bytes, basket.branch);
        }
    }
    let mut cells: Vec<_> = cells.into_iter().collect();
    // Large ones first, so that none is hidden; and in one order, so that the same file gives the same picture.
    let area = |cell: &[u32; 4]| u64::from(cell[2] - cell[0]) * u64::from(cell[3] - cell[1]);
    cells.sort_by_key(|(cell, _)| (std::cmp::Reverse(area(cell)), *cell));
    let mark = |([x, y, right, end], (_, branch)): ([u32; 4], (u64, usize))| Mark {
        x,
        y,
        width: right - x,
        height: end - y,
        colour: colours.get(branch).copied().unwrap_or_default(),
    };
    cells.into_iter().map(mark).collect()
}

/// The end of a path that is too long for the legend.
fn shortened(name: &str) -> String {
    const LONGEST: usize = 34;
    let count = name.chars().count();
    if count <= LONGEST {
        name.to_owned()
    } else {
        format!("…{}", name.chars().skip(count - LONGEST).collect::<String>())
    }
}

#[cfg(test)]
mod tests {
    use super::super::layout::{BranchLayout, Extent};
    use super::*;

    /// As many branches, each with as many baskets, all over the file.
    fn layout(branches: usize, baskets: usize) -> Layout {
        let branch = |id| BranchLayout {
            id,
            path: format!("<b&{id}>"),
            class: "TBranch".into(),
            type_name: None,
            entries: 10 * baskets as u64,
            baskets,
            embedded: 0,
            tot_bytes: 1,
            zip_bytes: 1,
            min_bytes: 1,
            median_bytes: 1,
            max_bytes: 1,
            per_cluster: 1.0,
            spanning: 0,
        };
        let extent = |branch: usize, basket: usize| Extent {
            branch,
            entries: 10 * basket as u64..10 * basket as u64 + 10,
            at: ((branch * 7919 + basket * 104_729) % (branches * baskets)) as u64 * 100,
            bytes: 100,
        };
        Layout {
            tree: "t".into(),
            cycle: 1,
            entries: 10 * baskets as u64,
            file_bytes: (branches * baskets * 100) as u64,
            has_clusters: false,
            branches: (0..branches).map(branch).collect(),
            clusters: Vec::new(),
            baskets: (0..branches).flat_map(|b| (0..baskets).map(move |n| extent(b, n))).collect(),
        }
    }

    #[test]
    fn marks_are_bounded_for_any_tree() {
        let small = Picture::of(&layout(3, 4));
        assert_eq!(small.marks(), 12);
        let large = Picture::of(&layout(10_000, 30));
        assert!(large.marks() <= MOST_MARKS && large.marks() > 1_000, "{}", large.marks());
        assert!(large.to_svg().len() < 3_000_000);
        assert!(large.to_svg().contains("and 9980 others"));
    }

    #[test]
    fn names_cannot_break_the_svg() {
        let svg = Picture::of(&layout(1, 1)).to_svg();
        assert!(svg.contains("&lt;b&amp;0&gt;") && !svg.contains("<b&"));
    }

    #[test]
    fn an_empty_tree_has_a_picture() {
        let picture = Picture::of(&Layout { baskets: Vec::new(), entries: 0, ..layout(0, 0) });
        assert_eq!(picture.marks(), 0);
        assert!(picture.to_png().unwrap().ends_with(b"IEND\xaeB`\x82"));
    }
}
