//! Two runs side by side.

use std::io::Write;

use sapwood::inspect::perf::{Compared, PerfStats, compare};

use crate::output::{self, Outcome};

/// Two runs side by side.
pub(crate) fn words(before: &PerfStats, after: &PerfStats, out: &mut dyn Write) -> Outcome {
    let shown = |value: Option<f64>| match value {
        None => "-".to_owned(),
        Some(value) if value == value.trunc() => format!("{value:.0}"),
        Some(value) => format!("{value:.3}"),
    };
    let row = |figure: Compared| {
        let ratio = figure.ratio().map_or(String::new(), |ratio| format!("{ratio:.2}"));
        vec![figure.name.to_owned(), shown(figure.before), shown(figure.after), ratio, figure.unit.to_owned()]
    };
    let rows: Vec<Vec<String>> = compare(before, after).into_iter().map(row).collect();
    writeln!(out, "before: {}\nafter:  {}\n", before.title, after.title)?;
    output::table(out, &["figure", "before", "after", "ratio", "unit"], &rows)
}
