//! `sapwood checksum`: checksums of whole files, as catalogues store them.

use std::io::Write;

use serde_json::json;

use sapwood_store::{ChecksumKind, checksums, redact};

use crate::output::{self, Failure, Outcome};
use crate::printable::printable;
use crate::remote::Remote;

/// Compute checksums of whole files: Adler-32 by default, as XRootD, dCache and Rucio store it. The bytes are read as
/// they are stored; a packed file is not unpacked. `sapwood verify --checksum` compares them.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
                        sapwood checksum events.root\n  \
                        sapwood checksum -a md5 -a crc32c root://example.org//store/events.root")]
pub(crate) struct Arguments {
    /// One file or more.
    #[arg(required = true)]
    files: Vec<String>,
    /// Algorithm: adler32, crc32c or md5; may be given several times.
    #[arg(short, long = "algorithm", value_name = "NAME", default_value = "adler32")]
    algorithms: Vec<ChecksumKind>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    pub(crate) remote: Remote,
}

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> Outcome {
    arguments.remote.is_for(arguments.files.iter().map(String::as_str))?;
    let mut is_complete = true;
    let mut rows = Vec::new();
    for path in &arguments.files {
        let shown = redact(path);
        let found = arguments.remote.open_stored(path).and_then(|store| checksums(&*store, &arguments.algorithms));
        match found {
            Ok(found) if arguments.json => {
                let sums: serde_json::Map<String, serde_json::Value> =
                    found.iter().map(|sum| (sum.kind().to_string(), sum.digits().into())).collect();
                rows.push(json!({ "file": &*shown, "checksums": sums }));
            }
            Ok(found) => {
                for sum in found {
                    writeln!(out, "{sum}  {}", printable(&shown))?;
                }
            }
            // The other files are still read.
            Err(error) if output::goes_on(&arguments.files, &error) => {
                is_complete = false;
                if arguments.json {
                    rows.push(json!({ "file": &*shown, "error": error.to_string() }));
                } else {
                    writeln!(out, "{}: not read: {error}", printable(&shown))?;
                }
            }
            Err(error) => return Err(error.into()),
        }
    }
    if arguments.json {
        output::json(out, &rows.into())?;
    }
    if is_complete { Ok(()) } else { Err(Failure::Found) }
}
