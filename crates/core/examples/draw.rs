//! Draws an expression of a tree, as `TTree::Draw` does.
//!
//! `cargo run --release --example draw -- events.root Events 'Muon_pt>>h(50, 0, 100)' 'nMuon > 1'`

use sapwood::query::Draw;
use sapwood::{File, OpenOptions, Session};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(path), Some(name), Some(expression)) = (arguments.next(), arguments.next(), arguments.next()) else {
        return Err("usage: draw FILE TREE EXPRESSION [CUT [TIMES]]".into());
    };
    let cut = arguments.next().unwrap_or_default();
    let times: u32 = arguments.next().map_or(Ok(1), |times| times.parse())?;
    let file = File::open_with(path, OpenOptions { session: Session::with_threads(1), ..OpenOptions::default() })?;
    let tree = file.tree(&name)?;
    let draw = Draw::new(&tree, &expression, &cut)?;
    for _ in 1..times {
        draw.run(0..tree.entries)?;
    }
    let histogram = draw.run(0..tree.entries)?;
    println!("{} entries, mean {}, std dev {}", histogram.entries(), histogram.mean(0)?, histogram.std_dev(0)?);
    for bin in 1..=histogram.axes()[0].bins() {
        println!("{:>12} {}", histogram.axes()[0].low_edge(bin), histogram.value(bin));
    }
    Ok(())
}
