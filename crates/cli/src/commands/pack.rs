//! `sapwood pack` and `sapwood unpack`: files in blocks that are compressed one by one.

use std::io::Write;
use std::path::PathBuf;

use sapwood::Error;
use sapwood_store::{PackOptions, pack, packed_name, unpack, unpacked_name};
use serde_json::json;

use crate::output::{self, Outcome};
use crate::remote::Remote;

/// Pack a file into blocks that are compressed one by one, so that it can still be read in place.
///
/// The result is a zstd file in its seekable format: `sapwood ls x.root.zst` reads it as it is, and plain zstd inflates
/// it. Only files that are not compressed inside gain. For many small reads take small blocks, for archives large ones
/// and a higher level.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
                        sapwood rewrite events.root plain.root --compression zlib:0\n  \
                        sapwood pack plain.root -o events.root.zst --block 128kiB --level 9\n  \
                        sapwood ls events.root.zst")]
pub(crate) struct Pack {
    /// The file that is packed.
    input: String,
    /// The packed file; by default the name of the file followed by .zst.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Bytes of a block before it is compressed, like 4kiB, 64kB or 1MiB; 64kiB by default.
    #[arg(long, value_name = "SIZE", value_parser = size)]
    block: Option<usize>,
    /// Level of zstd, 1 to 22; 5 by default. Levels of ROOT are half of these.
    #[arg(long, value_name = "LEVEL")]
    level: Option<i32>,
    /// Threads that compress; 0 for all cores.
    #[arg(short = 'j', long, default_value_t = 0)]
    threads: usize,
    /// Replace an existing file.
    #[arg(short, long)]
    force: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    pub(crate) remote: Remote,
}

/// Give a packed file back, byte for byte: x.root.zst, image.sqfs:path/x.root or archive.zip:path/x.root.
///
/// Checksums are compared if the packed file has them.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  sapwood unpack events.root.zst\n  sapwood unpack image.sqfs:run1/x.root -o x.root"
)]
pub(crate) struct Unpack {
    /// The packed file.
    input: String,
    /// The file that is written; by default the name of the packed one without .zst, or that of the member.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace an existing file.
    #[arg(short, long)]
    force: bool,
    #[command(flatten)]
    pub(crate) remote: Remote,
}

pub(crate) fn run_pack(arguments: &Pack, out: &mut dyn Write, err: &mut dyn Write) -> Outcome {
    let input = &arguments.input;
    let usual = PackOptions::default();
    let options = PackOptions {
        block_bytes: arguments.block.unwrap_or(usual.block_bytes),
        level: arguments.level.unwrap_or(usual.level),
        threads: arguments.threads,
        replaces: arguments.force,
    };
    let output = arguments.output.clone().unwrap_or_else(|| packed_name(input).into());
    let store = arguments.remote.open(input.as_ref())?;
    let report = pack(&store, &output, &options)?;
    let advice = report.advice(input);
    if arguments.json {
        let document = json!({
            "output": output.to_string_lossy(),
            "bytes": report.bytes,
            "packed_bytes": report.packed_bytes,
            "blocks": report.blocks,
            "advice": advice,
        });
        writeln!(out, "{document}")?;
        return Ok(());
    }
    let ratio = report.bytes as f64 / report.packed_bytes.max(1) as f64;
    writeln!(
        out,
        "{}: {} bytes of {} in {} blocks, {ratio:.2} times shorter",
        output.display(),
        report.packed_bytes,
        report.bytes,
        report.blocks
    )?;
    if let Some(advice) = advice {
        output::warn(err, &advice);
    }
    Ok(())
}

const NOT_PACKED: &str = "the name does not say how the file is packed: x.root.zst, image.sqfs:path/x.root and \
                          archive.zip:path/x.root are unpacked";

pub(crate) fn run_unpack(arguments: &Unpack, out: &mut dyn Write) -> Outcome {
    let input = &arguments.input;
    let output = match (&arguments.output, unpacked_name(input)) {
        (Some(output), _) => output.clone(),
        (None, Some(name)) => name.into(),
        (None, None) => {
            return Err(Error::mismatch(NOT_PACKED).in_file(input.as_str()).into());
        }
    };
    if unpacked_name(input).is_none() {
        return Err(Error::mismatch(NOT_PACKED).in_file(input.as_str()).into());
    }
    let store = arguments.remote.open(input.as_ref())?;
    let bytes = unpack(&store, &output, arguments.force)?;
    writeln!(out, "{}: {bytes} bytes", output.display())?;
    Ok(())
}

/// A number of bytes, with or without a unit.
fn size(text: &str) -> Result<usize, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let factor = match unit.trim_start().to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "kb" => 1_000,
        "kib" => 1 << 10,
        "mb" => 1_000_000,
        "mib" => 1 << 20,
        _ => return Err("sizes are like 65536, 64kB, 64kiB, 1MB or 1MiB".to_owned()),
    };
    let bytes = number.parse::<usize>().ok().and_then(|number| number.checked_mul(factor));
    bytes.ok_or_else(|| "no number of bytes".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        for (text, bytes) in [("7", 7), ("64kB", 64_000), ("64 kiB", 65_536), ("1MiB", 1 << 20), ("2mb", 2_000_000)] {
            assert_eq!(size(text), Ok(bytes), "{text}");
        }
        for wrong in ["", "kB", "-1", "1.5kB", "64k", "99999999999999999999", "18446744073709551615kB"] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
    }
}
