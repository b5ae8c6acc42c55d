//! `sapwood cache`: what is kept of remote files.

use std::io::Write;
use std::path::PathBuf;
use std::time::UNIX_EPOCH;

use sapwood_store::{CachedFile, clear_cache, environment, list_cache, verify_cache};
use serde_json::json;

use crate::output::{self, Failure, Outcome};

/// List, verify or clear what is kept of remote files on this machine.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  sapwood cache ls\n  sapwood cache verify --dir /scratch/me/cache && echo all whole"
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// List the files of which something is kept.
    Ls(Where),
    /// Compare all that is kept with its checksums. The exit code is 1 where anything is damaged: such blocks are never
    /// served, and such files are removed, so that both are fetched again.
    Verify(Where),
    /// Remove all that is kept.
    Clear(Where),
}

#[derive(Debug, clap::Args)]
struct Where {
    /// Folder of the cache; by default your own cache folder.
    #[arg(long)]
    dir: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

impl Where {
    fn dir(&self) -> Outcome<PathBuf> {
        Ok(self.dir.clone().map_or_else(environment::cache_dir, Ok)?)
    }
}

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> Outcome {
    match &arguments.what {
        What::Ls(place) => show(place, list_cache(place.dir()?)?, false, out),
        What::Verify(place) => show(place, verify_cache(place.dir()?)?, true, out),
        What::Clear(place) => {
            let dir = place.dir()?;
            let cleared = clear_cache(&dir)?;
            if place.json {
                let document = json!({ "dir": dir.to_string_lossy(), "files": cleared.files, "bytes": cleared.bytes });
                return output::json(out, &document);
            }
            Ok(writeln!(out, "{}: {} files of {} bytes removed", dir.display(), cleared.files, cleared.bytes)?)
        }
    }
}

fn show(place: &Where, files: Vec<CachedFile>, verified: bool, out: &mut dyn Write) -> Outcome {
    let damaged = files.iter().any(|file| file.damaged > 0);
    let name = |file: &CachedFile| if file.name.is_empty() { "?".to_owned() } else { file.name.clone() };
    let used = |file: &CachedFile| file.used.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    if place.json {
        let row = |file: &CachedFile| {
            let mut row = json!({
                "name": name(file), "kind": file.kind.as_str(), "bytes": file.len, "validator": file.validator,
                "kept_bytes": file.kept_bytes, "stored_bytes": file.stored_bytes, "used": used(file),
            });
            if verified {
                row["damaged"] = file.damaged.into();
            }
            row
        };
        let rows: Vec<_> = files.iter().map(row).collect();
        output::json(out, &json!({ "dir": place.dir()?.to_string_lossy(), "files": rows }))?;
    } else {
        let mut head = vec!["kind", "bytes", "kept", "stored"];
        head.extend(verified.then_some("damaged"));
        head.push("name");
        let row = |file: &CachedFile| {
            let mut row = vec![file.kind.as_str().to_owned()];
            row.extend([file.len, file.kept_bytes, file.stored_bytes].map(|bytes| bytes.to_string()));
            row.extend(verified.then(|| file.damaged.to_string()));
            row.push(name(file));
            row
        };
        output::table(out, &head, &files.iter().map(row).collect::<Vec<_>>())?;
    }
    if verified && damaged { Err(Failure::Found) } else { Ok(()) }
}
