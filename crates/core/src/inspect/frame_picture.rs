//! Pictures of the steps of an analysis.

use std::fmt::Write;

use super::svg::{Anchor, Svg};
use crate::frame::{Diagram, DiagramStep, StepKind};

/// Widths in points: of a box, of the gap between boxes, and of a character.
const BOX: u32 = 330;
const GAP: u32 = 46;
const CHARACTER: u32 = 7;
/// Heights of a line and of the space around the lines of a box.
const LINE: u32 = 16;
const PADDING: u32 = 6;
const TOP: u32 = 44;
const LEFT: u32 = 16;

/// Steps that are drawn in one box: a result, or definitions and filters in a row.
struct Block {
    above: Option<usize>,
    steps: Vec<usize>,
    depth: u32,
    /// Its top, and the height of its lines.
    y: u32,
    height: u32,
}

/// Draws the steps of frames as SVG: entries and seconds of each, the more time the redder.
///
/// # Example
///
/// ```
/// # let path = sapwood_testkit::example("nano.root");
/// use sapwood::frame::{Frame, Run};
/// let tree = sapwood::File::open(path)?.tree("Events")?;
/// let mut run = Run::new([Frame::new().filter("nJet > 2", "three jets")?.count()]);
/// run.add(&tree, 0..tree.entries)?;
/// let svg = sapwood::inspect::draw_frame(run.diagram());
/// assert!(svg.starts_with("<svg") && svg.contains("three jets"));
/// # Ok::<(), sapwood::Error>(())
/// ```
#[must_use]
pub fn draw_frame(diagram: &Diagram) -> String {
    let mut blocks = blocks(&diagram.steps);
    let height = arrange(&mut blocks);
    let columns = blocks.iter().map(|block| block.depth + 1).max().unwrap_or(1);
    let width = 2 * LEFT + columns * BOX + (columns - 1) * GAP;
    let mut svg = Svg::new(width, height);
    svg.title(LEFT, &title(diagram));
    let most = diagram.steps.iter().map(|step| step.time.as_secs_f64()).fold(0.0, f64::max);
    for block in &blocks {
        let x = LEFT + block.depth * (BOX + GAP);
        if let Some(above) = block.above.and_then(|above| blocks.get(above)) {
            let from = above.y + above.height / 2;
            let to = block.y + block.height / 2;
            let path = format!("M{} {from}H{}V{to}H{x}", x - GAP, x - GAP / 2);
            svg.line(path, "stroke=\"#888\"");
        }
        for (line, step) in block.steps.iter().filter_map(|step| diagram.steps.get(*step)).enumerate() {
            let top = block.y + line as u32 * (block.height / block.steps.len().max(1) as u32);
            let height = block.height / block.steps.len().max(1) as u32;
            svg.mark([x, top, BOX, height], heat(step.time.as_secs_f64(), most));
            let (first, second) = lines(step);
            let base = top + PADDING + LINE - 4;
            svg.text(x + 6, base, Anchor::Start, shortened(&first, (BOX - 12) / CHARACTER));
            svg.coloured(x + 6, base + LINE, Anchor::Start, "#444", shortened(&second, (BOX - 12) / CHARACTER));
        }
        svg.frame([x, block.y, BOX, block.height]);
    }
    svg.end()
}

/// Definitions and filters in a row are one block, if nothing else follows one of them but the last.
fn blocks(steps: &[DiagramStep]) -> Vec<Block> {
    let mut on_top = vec![0_usize; steps.len()];
    for above in steps.iter().filter_map(|step| step.parent) {
        if let Some(count) = on_top.get_mut(above) {
            *count += 1;
        }
    }
    let is_inner = |kind| kind != StepKind::Result;
    let mut blocks: Vec<Block> = Vec::new();
    let mut of_step: Vec<usize> = Vec::with_capacity(steps.len());
    for (number, step) in steps.iter().enumerate() {
        let above = step.parent.and_then(|above| of_step.get(above).copied());
        let is_alone = step.parent.is_some_and(|above| on_top.get(above) == Some(&1));
        let continues = is_alone
            && is_inner(step.kind)
            && step.parent.and_then(|above| steps.get(above)).is_some_and(|above| is_inner(above.kind));
        match above.and_then(|above| Some((above, blocks.get_mut(above)?))) {
            Some((above, block)) if continues => {
                block.steps.push(number);
                of_step.push(above);
            }
            found => {
                let depth = found.map_or(0, |(_, block)| block.depth + 1);
                blocks.push(Block { above, steps: vec![number], depth, y: 0, height: 0 });
                of_step.push(blocks.len() - 1);
            }
        }
    }
    blocks
}

/// Places blocks to the right of those that they are on top of. Returns the height of the picture.
fn arrange(blocks: &mut [Block]) -> u32 {
    for block in blocks.iter_mut() {
        block.height = block.steps.len() as u32 * (2 * LINE + 2 * PADDING);
    }
    let mut below: Vec<Vec<usize>> = vec![Vec::new(); blocks.len()];
    let mut roots = Vec::new();
    for (number, block) in blocks.iter().enumerate() {
        match block.above.and_then(|above| below.get_mut(above)) {
            Some(of) => of.push(number),
            None => roots.push(number),
        }
    }
    // From top to bottom. What is on top of a block begins at its height.
    let mut free = vec![TOP; 1 + blocks.iter().map(|block| block.depth as usize).max().unwrap_or(0)];
    let mut waiting: Vec<(usize, u32)> = roots.into_iter().rev().map(|root| (root, TOP)).collect();
    let mut bottom = TOP;
    while let Some((number, least)) = waiting.pop() {
        let Some(block) = blocks.get_mut(number) else { continue };
        let depth = block.depth as usize;
        // Below all that lies to the right, too: lines do not cross boxes.
        let y = free.iter().skip(depth).copied().fold(least, u32::max);
        block.y = y;
        let end = y + block.height + 8;
        if let Some(free) = free.get_mut(depth) {
            *free = end;
        }
        bottom = bottom.max(end);
        waiting.extend(below.get(number).into_iter().flatten().rev().map(|below| (*below, y)));
    }
    bottom + 8
}

fn title(diagram: &Diagram) -> String {
    let mut title = format!("{} entries", diagram.entries);
    if diagram.read < diagram.entries {
        // Writing to a string cannot fail.
        let _ = write!(title, ", {} read (statistics ruled out the others)", diagram.read);
    }
    let computed: f64 = diagram.steps.iter().map(|step| step.time.as_secs_f64()).sum();
    let _ = write!(title, "; reading {:.3} s, computing {computed:.3} s", diagram.reading.as_secs_f64());
    title
}

/// The two lines of a step: its expression, and its entries and seconds.
fn lines(step: &DiagramStep) -> (String, String) {
    let of_filter = || if step.name.is_empty() { step.text.clone() } else { format!("{}: {}", step.name, step.text) };
    let first = match step.kind {
        StepKind::Define => format!("{} = {}", step.name, step.text),
        StepKind::Function => format!("{} = function of {}", step.name, step.text),
        StepKind::Filter => format!("filter {}", of_filter()),
        StepKind::Range => format!("range {}", step.text),
        StepKind::Vary => format!("vary {}", step.text),
        StepKind::Result => format!("{} {}", step.name, step.text),
    };
    let mut second = match step.kind {
        StepKind::Filter | StepKind::Range => {
            let share = 100.0 * step.passed as f64 / step.met.max(1) as f64;
            format!("{} of {} ({share:.1} %), ", step.passed, step.met)
        }
        StepKind::Result | StepKind::Function => format!("{} entries, ", step.met),
        StepKind::Define | StepKind::Vary => String::new(),
    };
    if step.kind != StepKind::Vary {
        let _ = write!(second, "{:.3} s", step.time.as_secs_f64());
    }
    if step.varied > 0 {
        let _ = write!(second, ", {} variations", step.varied);
    }
    (first, second)
}

/// The colour of a share of the time: white for nothing, red for the most.
fn heat(part: f64, most: f64) -> [u8; 3] {
    let share = if most > 0.0 { (part / most).clamp(0.0, 1.0) } else { 0.0 };
    let channel = |end: f64| (255.0 - share * (255.0 - end)) as u8;
    [255, channel(170.0), channel(150.0)]
}

/// A text, cut if it has more characters.
fn shortened(text: &str, characters: u32) -> String {
    let room = characters as usize;
    if text.chars().count() <= room {
        return text.to_owned();
    }
    text.chars().take(room.saturating_sub(1)).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn step(parent: Option<usize>, kind: StepKind, name: &str) -> DiagramStep {
        let (text, time) = ("x < 1 && \"a\"".to_owned(), Duration::from_millis(20));
        DiagramStep { parent, kind, name: name.to_owned(), text, met: 10, passed: 4, time, varied: 0 }
    }

    #[test]
    fn steps_in_a_row_share_a_box() {
        let steps = [
            step(None, StepKind::Define, "a"),
            step(Some(0), StepKind::Define, "b"),
            step(Some(1), StepKind::Filter, "cut"),
            step(Some(2), StepKind::Result, "count"),
            step(Some(2), StepKind::Define, "c"),
            step(Some(4), StepKind::Result, "histogram"),
            step(None, StepKind::Result, "count"),
        ];
        let mut blocks = blocks(&steps);
        assert_eq!(blocks.iter().map(|block| block.steps.clone()).collect::<Vec<_>>()[..2], [vec![0, 1, 2], vec![3]]);
        arrange(&mut blocks);
        // No two boxes of a column overlap.
        for (number, one) in blocks.iter().enumerate() {
            for other in blocks.iter().skip(number + 1).filter(|other| other.depth == one.depth) {
                assert!(one.y + one.height <= other.y || other.y + other.height <= one.y);
            }
        }
        let diagram = Diagram { entries: 10, read: 8, reading: Duration::ZERO, steps: steps.to_vec() };
        let svg = draw_frame(&diagram);
        assert!(svg.contains("10 entries, 8 read") && svg.contains("4 of 10 (40.0 %)"));
        assert!(svg.contains("x &lt; 1 &amp;&amp;"));
    }

    #[test]
    fn nothing_is_a_picture_too() {
        assert!(draw_frame(&Diagram::default()).ends_with("</svg>\n"));
    }
}
