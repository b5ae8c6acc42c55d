//! `sapwood map`: every byte of a file accounted for, as `TFile::Map` shows it.

use std::io::Write;

use sapwood::container::{Key, Record, datime_text};
use serde_json::json;

use crate::output::{self, Outcome};
use crate::remote::Remote;

/// Show the header and every record of a file: offset, lengths, date, class, name and compression factor.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The file.
    file: String,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    pub(crate) remote: Remote,
}

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> Outcome {
    let file = output::open(&arguments.file, 1, &arguments.remote)?;
    let header = file.header();
    let uuid: String = header.uuid.iter().map(|byte| format!("{byte:02x}")).collect();
    let fields = json!({
        "fVersion": header.version, "fBEGIN": header.begin, "fEND": header.end, "fSeekFree": header.seek_free,
        "fNbytesFree": header.nbytes_free, "nfree": header.free_segments, "fNbytesName": header.nbytes_name,
        "fUnits": header.units, "fCompress": header.compress, "fSeekInfo": header.seek_info,
        "fNbytesInfo": header.nbytes_info, "fUUID": uuid,
    });
    let records = file.records()?;
    let free = file.free_segments()?;
    let parts = parts(&file);
    let part = |at: u64, key: &Key| {
        let payload = at + u64::from(key.keylen)..at + u64::from(key.nbytes);
        let first = parts.partition_point(|(at, _)| *at < payload.start);
        let words = parts.get(first).filter(|(at, _)| payload.contains(at)).map(|(_, words)| words.as_str());
        words.filter(|_| &*key.class == "RBlob")
    };
    if arguments.json {
        let rows: Vec<_> = records
            .iter()
            .map(|(at, record)| match record {
                Record::Gap(bytes) => json!({ "at": at, "nbytes": bytes, "gap": true }),
                Record::Key(key) => json!({
                    "at": at, "nbytes": key.nbytes, "objlen": key.objlen, "keylen": key.keylen, "cycle": key.cycle,
                    "date": datime_text(key.datime), "class": &*key.class, "name": &*key.name, "title": &*key.title,
                    "factor": factor(key), "part": part(*at, key),
                }),
            })
            .collect();
        let free: Vec<_> = free.iter().map(|segment| json!([segment.first, segment.last])).collect();
        return output::json(
            out,
            &json!({
                "file": &*sapwood_store::redact(&arguments.file), "header": fields, "records": rows, "free": free,
            }),
        );
    }
    if let Some(fields) = fields.as_object() {
        for (name, value) in fields {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            writeln!(out, "{name:<12} {value}")?;
        }
    }
    writeln!(out)?;
    let mut rows = Vec::with_capacity(records.len());
    let mut end = 0;
    for (at, record) in &records {
        let (bytes, mut row) = match record {
            Record::Gap(bytes) => {
                (*bytes, vec!["".into(), "".into(), "".into(), "".into(), "GAP".into(), "".into(), "".into()])
            }
            Record::Key(key) => (
                u64::from(key.nbytes),
                vec![
                    key.objlen.to_string(),
                    key.keylen.to_string(),
                    key.cycle.to_string(),
                    datime_text(key.datime),
                    key.class.to_string(),
                    part(*at, key).unwrap_or(&key.name).to_owned(),
                    factor(key).map_or_else(String::new, |factor| format!("{factor:.2}")),
                ],
            ),
        };
        row.insert(0, bytes.to_string());
        row.insert(0, at.to_string());
        rows.push(row);
        end = at + bytes;
    }
    output::table(out, &["at", "nbytes", "objlen", "keylen", "cycle", "date", "class", "name", "CX"], &rows)?;
    if end != header.end {
        writeln!(out, "\nrecords end at {end}, the header says {}", header.end)?;
    }
    for segment in &free {
        writeln!(out, "free {}..{}", segment.first, segment.last)?;
    }
    Ok(())
}

/// The offsets of the parts of RNTuples, and the kind of each. Parts that cannot be read have none: `sapwood verify`
/// reports why.
fn parts(file: &sapwood::File) -> Vec<(u64, String)> {
    let keys = file.keys(true).unwrap_or_default();
    let mut found = Vec::new();
    for ntuple in keys.iter().filter(|found| found.key.is_ntuple()) {
        let parts = file.ntuple_at(&ntuple.key).and_then(|ntuple| ntuple.parts()).unwrap_or_default();
        let path = format!("{};{}", ntuple.path, ntuple.key.cycle);
        found.extend(parts.into_iter().map(|(at, part)| (at, format!("{path}: {part}"))));
    }
    found.sort();
    found
}

/// Inflated over stored bytes of the payload, if it is compressed.
fn factor(key: &Key) -> Option<f64> {
    key.is_compressed().then(|| f64::from(key.objlen) / f64::from(key.stored_bytes().max(1)))
}
