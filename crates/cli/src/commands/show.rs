//! `sapwood show`: the branches of a tree, the fields of an RNTuple, or the classes of a file.

use std::io::Write;

use sapwood::ntuple::{Field, NTuple};
use sapwood::table::Table;
use sapwood::tree::Branch;
use serde_json::json;

use crate::output::{self, Outcome};
use crate::remote::Remote;
use crate::source::table_or_part;

/// Show the branches of a tree, or the fields of an RNTuple: name, type, entries, baskets or pages, bytes and
/// compression; or the classes of a file.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// FILE:TREE, FILE:TREE/BRANCH, or FILE for its only tree or RNTuple.
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
    let (table, part) = table_or_part(&file, name)?;
    let tree = match table {
        Table::Tree(tree) => tree,
        Table::NTuple(ntuple) => return fields(&ntuple, part, arguments.json, out),
    };
    let shown = match part {
        Some(name) => within(tree.branches(), tree.branch(name)?),
        None => tree.branches().iter().collect(),
    };
    let described = |branch: &Branch| match tree.interpretation(branch.id) {
        Ok(found) => (found.type_name.clone(), found.kind.to_string()),
        Err(_) if !branch.children.is_empty() => ("(group)".into(), String::new()),
        Err(error) => (format!("({})", error.message()), String::new()),
    };
    if arguments.json {
        let rows: Vec<_> = shown
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
    let rows: Vec<Vec<String>> = shown
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

/// A branch and those below it.
fn within<'t>(branches: &'t [Branch], top: &'t Branch) -> Vec<&'t Branch> {
    let mut found = vec![top];
    let mut next = 0;
    while let Some(branch) = found.get(next) {
        let children = branch.children.iter().filter_map(|&id| branches.get(id));
        let children: Vec<&Branch> = children.collect();
        next += 1;
        found.splice(next..next, children);
    }
    found
}

/// The fields of an RNTuple that have names.
fn fields(ntuple: &NTuple, part: Option<&str>, as_json: bool, out: &mut dyn Write) -> Outcome {
    let described = |field: &Field| match ntuple.kind(field.id) {
        Ok(kind) => kind.to_string(),
        Err(error) => format!("({})", error.message()),
    };
    let version = ntuple.version.map(|part| part.to_string()).join(".");
    let clusters = ntuple.clusters()?;
    let mut named: Vec<&Field> = ntuple.fields().iter().filter(|field| field.is_named).collect();
    if let Some(name) = part {
        let top = &ntuple.field(name)?.path;
        let is_below = |path: &str| path.strip_prefix(&**top).is_some_and(|rest| rest.starts_with('.'));
        named.retain(|field| field.path == *top || is_below(&field.path));
    }
    if as_json {
        let mut rows = Vec::with_capacity(named.len());
        for field in named {
            let bytes = ntuple.field_bytes(field.id)?;
            rows.push(json!({
                "path": &*field.path, "typename": &*field.type_name, "type": described(field),
                "description": &*field.description, "pages": bytes.pages, "tot_bytes": bytes.inflated,
                "zip_bytes": bytes.stored, "compression": bytes.compression, "late": field.is_late,
            }));
        }
        let clusters: Vec<_> = clusters.into_iter().map(|range| json!([range.start, range.end])).collect();
        return output::json(
            out,
            &json!({
                "ntuple": &*ntuple.name, "description": &*ntuple.description, "version": version,
                "writer": &*ntuple.writer, "entries": ntuple.entries, "fields": rows, "clusters": clusters,
                "attribute_sets": ntuple.attribute_sets.iter().map(|name| &**name).collect::<Vec<_>>(),
            }),
        );
    }
    writeln!(
        out,
        "{} {:?}, RNTuple of version {version} by {}, {} entries, {} clusters",
        ntuple.name,
        &*ntuple.description,
        ntuple.writer,
        ntuple.entries,
        clusters.len()
    )?;
    let mut rows = Vec::with_capacity(named.len());
    for field in named {
        let bytes = ntuple.field_bytes(field.id)?;
        let factor = bytes.inflated as f64 / bytes.stored.max(1) as f64;
        rows.push(vec![
            field.path.to_string(),
            field.type_name.to_string(),
            described(field),
            bytes.pages.to_string(),
            bytes.inflated.to_string(),
            if bytes.stored > 0 { format!("{factor:.2}") } else { String::new() },
        ]);
    }
    output::table(out, &["field", "type in C++", "type", "pages", "bytes", "CX"], &rows)
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
