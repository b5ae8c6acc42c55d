//! `sapwood show`: the branches of a tree, or the classes of a file.

use std::io::Write;

use serde_json::json;

use crate::output::{self, Outcome};
use crate::remote::Remote;

/// Show the branches of a tree: name, type, entries, baskets, bytes and compression; or the classes of a file.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// FILE:TREE, or FILE for its only tree.
    target: String,
    /// Show the classes that the file describes instead.
    #[arg(long)]
    classes: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    pub(crate) remote: Remote,
}

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> Outcome {
    let (path, name) = output::split(&arguments.target);
    let file = output::open(path, 1, &arguments.remote)?;
    if arguments.classes {
        return classes(&file, arguments.json, out);
    }
    let tree = super::scan::tree(&file, name)?;
    let described = |branch: &sapwood::tree::Branch| match tree.interpretation(branch.id) {
        Ok(found) => (found.type_name.clone(), found.kind.to_string()),
        Err(_) if !branch.children.is_empty() => ("(group)".into(), String::new()),
        Err(error) => (format!("({})", error.message()), String::new()),
    };
    if arguments.json {
        let rows: Vec<_> = tree
            .branches()
            .iter()
            .map(|branch| {
                let (type_name, kind) = described(branch);
                json!({
                    "path": &*branch.path, "class": &*branch.class, "typename": type_name, "type": kind,
                    "entries": branch.entries, "baskets": branch.baskets().len(), "tot_bytes": branch.tot_bytes,
                    "zip_bytes": branch.zip_bytes,
                })
            })
            .collect();
        let clusters: Vec<_> = tree.clusters().into_iter().map(|range| json!([range.start, range.end])).collect();
        return output::json(
            out,
            &json!({
                "tree": &*tree.name, "title": &*tree.title, "entries": tree.entries, "branches": rows,
                "clusters": clusters,
            }),
        );
    }
    writeln!(out, "{} {:?}, {} entries, {} clusters", tree.name, &*tree.title, tree.entries, tree.clusters().len())?;
    let rows: Vec<Vec<String>> = tree
        .branches()
        .iter()
        .map(|branch| {
            let (type_name, kind) = described(branch);
            let factor = branch.tot_bytes as f64 / branch.zip_bytes.max(1) as f64;
            vec![
                branch.path.to_string(),
                type_name,
                kind,
                branch.entries.to_string(),
                branch.baskets().len().to_string(),
                branch.tot_bytes.to_string(),
                if branch.zip_bytes > 0 { format!("{factor:.2}") } else { String::new() },
            ]
        })
        .collect();
    output::table(out, &["branch", "type in C++", "type", "entries", "baskets", "bytes", "CX"], &rows)
}

fn classes(file: &sapwood::File, as_json: bool, out: &mut dyn Write) -> Outcome {
    let infos = file.infos()?;
    if as_json {
        let rows: Vec<_> = infos
            .iter()
            .map(|info| {
                let members: Vec<_> = info
                    .elements
                    .iter()
                    .map(|element| {
                        json!({
                            "name": &*element.name, "type": &*element.type_name, "code": element.code,
                            "title": &*element.title, "length": element.array_length,
                        })
                    })
                    .collect();
                json!({ "class": &*info.name, "version": info.version, "checksum": info.checksum, "members": members })
            })
            .collect();
        return output::json(out, &rows.into());
    }
    for info in &infos {
        writeln!(out, "{} (version {}, checksum {:#010x})", info.name, info.version, info.checksum)?;
        for element in &info.elements {
            let extents: String = element.extents.iter().map(|extent| format!("[{extent}]")).collect();
            writeln!(out, "    {} {}{extents}  {}", element.type_name, element.name, element.title)?;
        }
    }
    Ok(())
}
