//! Reports of `sapwood index`, as JSON documents and in words.

use sapwood::inspect::index::Made;
use sapwood::query::Decided;
use serde_json::{Value, json};

/// Statistics that were made, as JSON.
///
/// # Example
///
/// ```
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../core/tests/data/plain.root");
/// use sapwood::inspect::index::make;
/// use sapwood_cli::reports::index;
/// let made = make(&sapwood::File::open(path)?, &Default::default())?;
/// let document = index::made("plain.root", "plain.root.sapwood-index", 900, 20_000, &made);
/// assert_eq!(document["columns"][0]["kept"], true);
/// assert!(index::made_words(&document).contains("900 bytes"));
/// # Ok::<(), sapwood::Error>(())
/// ```
pub fn made(file: &str, side_file: &str, bytes: u64, file_bytes: u64, made: &Made) -> Value {
    let columns = made.columns.iter().map(|column| {
        json!({
            "tree": column.table, "name": column.name, "runs": column.runs, "part": column.part, "kept": column.is_kept,
        })
    });
    json!({
        "file": file, "statistics": side_file, "bytes": bytes, "file_bytes": file_bytes,
        "columns": columns.collect::<Vec<_>>(),
    })
}

/// Statistics that were made, in one line.
pub fn made_words(document: &Value) -> String {
    let columns = document["columns"].as_array().map_or(&[][..], Vec::as_slice);
    let kept = columns.iter().filter(|column| column["kept"] == true).count();
    let [bytes, all] = ["bytes", "file_bytes"].map(|name| document[name].as_u64().unwrap_or(0));
    let left_out = match columns.len() - kept {
        0 => String::new(),
        count => format!(" ({count} left out: their values are alike everywhere)"),
    };
    format!(
        "{}: {kept} columns{left_out}, {bytes} bytes, {:.2} % of the file",
        document["file"].as_str().unwrap_or_default(),
        100.0 * bytes as f64 / all.max(1) as f64
    )
}

/// Decisions of statistics on a cut, as JSON.
///
/// # Example
///
/// ```
/// use sapwood_cli::reports::index;
/// assert_eq!(index::decided("a.root", 10, None)["statistics"], false);
/// assert!(index::decided_words(10, None).contains("no statistics"));
/// ```
pub fn decided(file: &str, entries: u64, decided: Option<&Decided>) -> Value {
    match decided {
        None => json!({ "file": file, "entries": entries, "statistics": false }),
        Some(found) => json!({
            "file": file, "entries": entries, "statistics": true,
            "none": { "entries": found.none.len(), "runs": found.runs_none },
            "all": { "entries": found.all.len(), "runs": found.runs_all },
            "look": { "entries": found.look.len(), "runs": found.runs_look },
        }),
    }
}

/// Decisions of statistics on a cut, in one line.
pub fn decided_words(entries: u64, decided: Option<&Decided>) -> String {
    let Some(found) = decided else {
        return format!("no statistics decide on this cut: all {entries} entries are read");
    };
    let part = |count: u64| 100.0 * count as f64 / entries.max(1) as f64;
    format!(
        "{} runs of entries cannot pass ({:.2} % of the entries), {} pass whole ({:.2} %), {} are read ({:.2} %)",
        found.runs_none,
        part(found.none.len()),
        found.runs_all,
        part(found.all.len()),
        found.runs_look,
        part(found.look.len())
    )
}
