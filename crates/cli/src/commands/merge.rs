//! `sapwood merge`: many files become one.

use std::ffi::OsString;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

use sapwood::codec::{Compression, RandomAccess};
use sapwood::io::Flow;
use sapwood::merge::{Listed, Merge, Packing, Progress, inputs_of, names_of};
use sapwood::statistics::SideFile;
use sapwood::write::TreeOptions;
use sapwood::{Error, ErrorKind, File, OpenOptions, Session};

use crate::bar;
use crate::clusters::clusters;
use crate::output::{self, Failure, Outcome};
use crate::remote::Remote;
use crate::reports::merged::Report;
use crate::statistics;

/// Merge files: trees become one tree, directories one directory.
///
/// Baskets move as they are and are never inflated (level `copy`), unless another compression is asked for
/// (`recompress`), or other clusters (`re-encode`). The first input decides which branches a tree has. The output has
/// its name only once it is whole. Options of hadd are understood: -f -fk -ff -f505 -a -k -T -O -j -n -L -Ltype -v -d
/// -dbg -cachesize. Compression is kept by default, as with -fk.
#[derive(Debug, clap::Args)]
#[command(
    args_override_self = true,
    after_help = "Examples:\n  \
                        sapwood merge all.root run1.root run2.root\n  \
                        sapwood merge -f505 all.root @runs.txt\n  \
                        sapwood merge --force --recluster all.root part-*.root\n  \
                        sapwood merge -k --report all.root https://example.org/a.root b.root\n  \
                        sapwood merge root://example.org//all.root run1.root run2.root"
)]
pub(crate) struct Arguments {
    /// The file that is written, a path or a URL.
    output: PathBuf,
    /// Files that are read, paths or URLs; @LIST for those that a text file names, one a line.
    #[arg(required = true)]
    inputs: Vec<String>,
    /// Make statistics of the output, as `sapwood index` does. Without this, those of the inputs are joined if all have
    /// some.
    #[arg(long, conflicts_with = "append")]
    statistics: bool,
    /// Replace an existing output.
    #[arg(short, long)]
    force: bool,
    /// Add to an existing output, also with --force.
    #[arg(short, long)]
    append: bool,
    /// Leave out inputs that cannot be merged, and say so at the end.
    #[arg(short = 'k', long)]
    skip: bool,
    /// Compression of baskets, like zstd:5; `keep` for that of each input, `first` for that of the first.
    #[arg(long, default_value = "keep")]
    compression: String,
    /// Compression of objects and records of trees; that of the first input where baskets keep theirs.
    #[arg(long)]
    object_compression: Option<Compression>,
    /// Put entries into new clusters and baskets, across the borders of inputs.
    #[arg(short = 'O', long, conflicts_with = "append")]
    recluster: bool,
    /// Compressed bytes of a new cluster.
    #[arg(
        long, requires = "recluster", conflicts_with = "cluster_entries",
        value_parser = clap::value_parser!(u64).range(1..)
    )]
    cluster_bytes: Option<u64>,
    /// Entries of a new cluster.
    #[arg(long, requires = "recluster", value_parser = clap::value_parser!(u64).range(1..))]
    cluster_entries: Option<u64>,
    /// Bytes of a new basket before compression, at most.
    #[arg(long, requires = "recluster")]
    basket_bytes: Option<usize>,
    /// Compress new baskets in blocks of ENTRIES, each of which is read without the others; `auto` chooses.
    #[arg(long, value_name = "ENTRIES|auto|off", requires = "recluster")]
    random_access: Option<RandomAccess>,
    /// Leave trees out.
    #[arg(short = 'T', long)]
    no_trees: bool,
    /// Only objects, and directories, that this text file names, one a line, by name or by path.
    #[arg(long, value_name = "LIST", conflicts_with = "except")]
    only: Option<String>,
    /// All but the objects, and directories, that this text file names.
    #[arg(long, value_name = "LIST")]
    except: Option<String>,
    /// Files that are open at a time; 0 chooses.
    #[arg(long, short_alias = 'n', default_value_t = 0)]
    open_files: usize,
    /// Threads that compress; 0 for all cores.
    #[arg(short = 'j', long, default_value_t = 0)]
    threads: usize,
    /// Folder for the temporary file of --recluster; by default that of the output.
    #[arg(short = 'd', long, value_name = "DIR")]
    scratch: Option<PathBuf>,
    /// Bytes that are kept of each input while it is read; 0 for none.
    #[arg(long, value_name = "BYTES")]
    cache_bytes: Option<String>,
    /// Print nothing but errors.
    #[arg(short, long)]
    quiet: bool,
    /// As hadd has it: 0 prints nothing but errors.
    #[arg(short, long, value_name = "LEVEL", default_value_t = 99, hide = true)]
    verbosity: u32,
    /// Print bytes, rates and requests, too.
    #[arg(long)]
    report: bool,
    /// Inflate the baskets that are copied as they are: a damaged one is an error.
    #[arg(long)]
    verify: bool,
    /// Print the Adler-32 of the output.
    #[arg(long)]
    adler32: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    pub(crate) remote: Remote,
}

impl Arguments {
    fn how(&self, session: Session) -> Outcome<Merge> {
        let packing = match self.compression.as_str() {
            "keep" => Packing::Keep,
            "first" => Packing::First,
            setting => Packing::As(compression(setting)?),
        };
        let wish = clusters(self.cluster_bytes, self.cluster_entries, self.basket_bytes);
        let wish = TreeOptions { random_access: self.random_access, ..wish };
        let recluster = self.recluster.then_some(wish);
        let listed = match (&self.only, &self.except) {
            (Some(list), _) => Some(Listed::Only(names_of(list)?)),
            (_, Some(list)) => Some(Listed::Skip(names_of(list)?)),
            _ => None,
        };
        let usual = Merge::default();
        Ok(Merge {
            packing,
            objects: self.object_compression,
            append: self.append,
            replaces: self.force,
            skips: self.skip,
            trees: !self.no_trees,
            listed,
            recluster,
            scratch: self.scratch.clone(),
            open_files: if self.open_files == 0 { usual.open_files } else { self.open_files },
            session,
            verify: self.verify,
            ..usual
        })
    }
}

/// A setting by its name, or by ROOT's number.
fn compression(setting: &str) -> Outcome<Compression> {
    let is_number = setting.bytes().all(|byte| byte.is_ascii_digit());
    Ok(if is_number { self::setting(setting)? } else { setting.parse()? })
}

/// A number of bytes as hadd takes it: `100`, `20k`, `1.5MB`, `2GiB`.
fn bytes(text: &str) -> Outcome<u64> {
    let wrong = || Error::mismatch(format!("{text:?} is no number of bytes"));
    let lower = text.to_ascii_lowercase();
    let digits = lower.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(lower.len());
    let (number, unit) = lower.split_at(digits);
    let unit = unit.trim().strip_suffix('b').unwrap_or(unit.trim());
    let (prefix, base) = unit.strip_suffix('i').map_or((unit, 1000_f64), |prefix| (prefix, 1024_f64));
    let power = ["", "k", "m", "g", "t"].iter().position(|known| *known == prefix).ok_or_else(wrong)?;
    let number: f64 = number.parse().map_err(|_| wrong())?;
    Ok((number * base.powi(power as i32)) as u64)
}

/// Options of hadd in our own words: they have one dash and several letters.
///
/// # Errors
///
/// [`Unsupported`](ErrorKind::Unsupported) for those that mean nothing here.
pub(crate) fn translate(arguments: Vec<OsString>) -> sapwood::Result<Vec<OsString>> {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let mut words = Vec::new();
    let mut rest = arguments.into_iter().peekable();
    let (mut list, mut kind) = (None::<OsString>, None::<String>);
    while let Some(word) = rest.next() {
        let Some(text) = word.to_str().map(str::to_owned) else {
            words.push(word);
            continue;
        };
        let mut next_number = || rest.next_if(|next| next.to_str().is_some_and(is_number));
        let ours: Vec<OsString> = match text.as_str() {
            "--" => {
                words.push(word);
                words.extend(rest.by_ref());
                break;
            }
            "-ff" => vec!["--force".into(), "--compression=first".into()],
            "-fk" => vec!["--force".into(), "--compression=keep".into()],
            "-j" => vec![format!("--threads={}", said(next_number()).unwrap_or("0".into())).into()],
            "-v" => vec![format!("--verbosity={}", said(next_number()).unwrap_or("99".into())).into()],
            "-dbg" => vec!["--verbosity=99".into()],
            "-d" => {
                let folder = rest.next_if(|next| !next.to_string_lossy().starts_with('-'));
                folder.into_iter().flat_map(|folder| ["--scratch".into(), folder]).collect()
            }
            "-cachesize" => rest.next().into_iter().flat_map(|size| ["--cache-bytes".into(), size]).collect(),
            "-L" => {
                list = rest.next();
                Vec::new()
            }
            "-Ltype" => {
                kind = said(rest.next());
                Vec::new()
            }
            "-experimental-io-features" => {
                return Err(Error::unsupported("hadd's -experimental-io-features has no meaning here"));
            }
            text => match (text.strip_prefix("-fk"), text.strip_prefix("-f"), text.strip_prefix("-cachesize=")) {
                (Some(number), ..) if is_number(number) => {
                    let setting = setting(number)?;
                    vec![
                        "--force".into(),
                        "--compression=keep".into(),
                        format!("--object-compression={setting}").into(),
                    ]
                }
                (_, Some(number), _) if is_number(number) => {
                    vec!["--force".into(), format!("--compression={}", setting(number)?).into()]
                }
                (.., Some(size)) => vec![format!("--cache-bytes={size}").into()],
                _ => vec![word],
            },
        };
        words.extend(ours);
    }
    match (list, kind.as_deref()) {
        (None, None) => {}
        (Some(list), Some("OnlyListed")) => words.extend(["--only".into(), list]),
        (Some(list), Some("SkipListed")) => words.extend(["--except".into(), list]),
        (_, kind) => {
            let words = format!("-L LIST and -Ltype OnlyListed or SkipListed go together, not {kind:?}");
            return Err(Error::mismatch(words));
        }
    }
    Ok(words)
}

fn said(word: Option<OsString>) -> Option<String> {
    word.map(|word| word.to_string_lossy().into_owned())
}

/// A setting of hadd: algorithm times 100, and level.
fn setting(number: &str) -> sapwood::Result<Compression> {
    let wrong = || Error::mismatch(format!("{number} is no compression: 101 is zlib, 207 lzma, 404 lz4, 505 zstd"));
    // Those that ROOT writes today.
    let known = |number: &i32| matches!(number / 100, 0 | 1 | 2 | 4 | 5) && number % 100 <= 9;
    number.parse().ok().filter(known).and_then(Compression::from_root).ok_or_else(wrong)
}

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> Outcome {
    output::check_output(&arguments.output)?;
    statistics::check(&arguments.output, arguments.statistics)?;
    let session = Session::with_threads(arguments.threads);
    let how = arguments.how(session.clone())?;
    let inputs = inputs_of(&arguments.inputs)?;
    arguments.remote.is_for(inputs.iter().map(String::as_str))?;
    let usual = OpenOptions::default().cache_bytes;
    let cache_bytes = arguments.cache_bytes.as_deref().map(bytes).transpose()?.unwrap_or(usual);
    let options = OpenOptions { session, cache_bytes, ..OpenOptions::default() };
    let open = |name: &str| {
        output::open_with(name, options.clone(), &arguments.remote).map_err(|failure| match failure {
            Failure::Read(error) => error,
            _ => Error::mismatch("the input cannot be opened"),
        })
    };
    let is_quiet = arguments.quiet || arguments.verbosity == 0;
    let shows = !is_quiet && std::io::stderr().is_terminal();
    let mut watch = |progress: Progress| {
        if shows {
            draw(progress);
        }
        Flow::Go
    };
    let sum_of = |path: &Path| arguments.adler32.then(|| sapwood::merge::adler32(path)).transpose();
    let mut merge = || {
        if arguments.append {
            check_appendable(&arguments.output)?;
            let merged = how.run(&arguments.output, &inputs, &open, &mut watch)?;
            return Ok((merged, sum_of(&arguments.output)?));
        }
        let target = arguments.remote.target(&arguments.output, arguments.force)?;
        let merged = how.run_into(&target, &inputs, &open, &mut watch)?;
        let sum = sum_of(target.path())?;
        bar::shown("upload", || target.publish())?;
        Ok((merged, sum))
    };
    let (merged, adler32) = merge().map_err(|error: Error| match error.kind() {
        ErrorKind::Exists if !arguments.append && error.place().object.is_none() => {
            let words = "there is a file of that name: --force replaces it, --append adds to it";
            Error::new(ErrorKind::Exists, words).in_file(output::shown(&arguments.output))
        }
        _ => error,
    })?;
    if arguments.statistics {
        statistics::index(&arguments.output, &how.session)?;
    } else if !arguments.append && inputs.iter().all(|input| SideFile::path_of(input).exists()) {
        statistics::join(&arguments.output, inputs.iter().map(File::open), &arguments.remote);
    }
    let output = output::shown(&arguments.output);
    let report = Report { output: Path::new(&*output), merged: &merged, adler32 };
    if arguments.json {
        return output::json(out, &report.document());
    }
    if !is_quiet {
        report.words(out, arguments.report)?;
    } else if let Some(adler32) = adler32 {
        writeln!(out, "{adler32:08x}")?;
    }
    Ok(())
}

/// Refuses to add to a file on a server.
fn check_appendable(output: &Path) -> sapwood::Result<()> {
    let url = output.to_str().filter(|text| sapwood_store::is_url(text) && sapwood_store::file_path(text).is_none());
    let Some(url) = url else { return Ok(()) };
    let words = "nothing is added to a file on a server: merge it with the others into a new one";
    Err(Error::unsupported(words).in_file(sapwood_store::redact(url)))
}

/// Inputs that are done, in one line of the terminal.
fn draw(progress: Progress) {
    let Progress { done, inputs, bytes } = progress;
    let end = if done == inputs { "\n" } else { "" };
    let part = done as f64 / inputs.max(1) as f64;
    bar::draw(part, &format!("{done}/{inputs} inputs, {} MB", bytes / 1_000_000), end);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn translated(words: &str) -> String {
        let words = words.split(' ').map(OsString::from).collect();
        let ours: Vec<_> = translate(words).unwrap().iter().map(|word| word.to_string_lossy().into_owned()).collect();
        ours.join(" ")
    }

    #[test]
    fn options_of_hadd_are_understood() {
        assert_eq!(translated("-f out in"), "-f out in");
        assert_eq!(translated("-fk out in"), "--force --compression=keep out in");
        assert_eq!(translated("-fk207 out"), "--force --compression=keep --object-compression=lzma:7 out");
        assert_eq!(translated("-ff out"), "--force --compression=first out");
        assert_eq!(translated("-f505 out"), "--force --compression=zstd:5 out");
        assert_eq!(translated("-j 4 out"), "--threads=4 out");
        assert_eq!(translated("-j out"), "--threads=0 out");
        assert_eq!(translated("-v 0 -dbg out"), "--verbosity=0 --verbosity=99 out");
        assert_eq!(translated("-d dir -cachesize 3M o"), "--scratch dir --cache-bytes 3M o");
        assert_eq!(translated("-L list -Ltype SkipListed o"), "o --except list");
        assert_eq!(translated("-f -f505 o"), "-f --force --compression=zstd:5 o");
        assert_eq!(translated("-a -k -T -O -n 5 out"), "-a -k -T -O -n 5 out");
        let refused = |words: &str| translate(words.split(' ').map(OsString::from).collect()).is_err();
        assert!(refused("-L list o") && refused("-f999 o") && refused("-experimental-io-features x o"));
    }

    #[test]
    fn numbers_of_bytes_have_units() {
        let of = |text: &str| bytes(text).ok();
        assert_eq!(of("100"), Some(100));
        assert_eq!(
            (of("20k"), of("1.5MB"), of("2GiB"), of("3x")),
            (Some(20_000), Some(1_500_000), Some(2 << 30), None)
        );
    }
}
