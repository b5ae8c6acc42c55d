//! The `sapwood` command: one file a sub-command, each of them glue around a library function.

#![forbid(unsafe_code)]

mod analysis;
mod bar;
mod clusters;
mod commands;
mod output;
mod overview;
mod printable;
mod remote;
pub mod reports;
mod source;
mod statistics;
mod targets;
mod terminal;

use std::ffi::OsString;
use std::io::Write;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use commands::{
    browse, cache, checksum, completions, compression, cp, doctor, draw, dump, frame, index, layout, ls, makeproject,
    man, map, merge, mkdir, optimize, pack, perf, pick, proxy, recover, rewrite, rm, scan, show, verify,
};
use printable::Printable;
use remote::Remote;

/// Reads and writes CERN ROOT files, without ROOT.
#[derive(Debug, Parser)]
#[command(name = "sapwood", version, disable_help_subcommand = true)]
#[command(help_template = overview::TEMPLATE)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Ls(ls::Arguments),
    Map(map::Arguments),
    Show(show::Arguments),
    Scan(scan::Arguments),
    Draw(draw::Arguments),
    Frame(frame::Arguments),
    Browse(browse::Arguments),
    Dump(dump::Arguments),
    Makeproject(makeproject::Arguments),
    Layout(layout::Arguments),
    Perf(perf::Arguments),
    Pick(pick::Arguments),
    Doctor(doctor::Arguments),
    Optimize(optimize::Arguments),
    Compression(compression::Arguments),
    Verify(verify::Arguments),
    Index(index::Arguments),
    Checksum(checksum::Arguments),
    Rewrite(rewrite::Arguments),
    Merge(merge::Arguments),
    Recover(recover::Arguments),
    Pack(pack::Pack),
    Unpack(pack::Unpack),
    Cp(cp::Copy),
    Mv(cp::Move),
    Mkdir(mkdir::Arguments),
    Rm(rm::Arguments),
    Cache(cache::Arguments),
    Proxy(proxy::Arguments),
    Completions(completions::Arguments),
    Man(man::Arguments),
}

/// The command, with its sub-commands in groups.
fn command() -> clap::Command {
    let command = Arguments::command();
    let words = overview::overview(&command);
    command.after_help(words)
}

/// The command with all of its sub-commands.
fn with_those_of_python() -> clap::Command {
    let add = |command: clap::Command, (name, about)| command.subcommand(clap::Command::new(name).about(about));
    overview::OF_PYTHON.into_iter().fold(Arguments::command(), add)
}

impl Command {
    /// The options for remote files of commands that read files.
    fn remote(&self) -> Option<&Remote> {
        Some(match self {
            Self::Ls(arguments) => &arguments.remote,
            Self::Map(arguments) => &arguments.remote,
            Self::Show(arguments) => &arguments.remote,
            Self::Scan(arguments) => &arguments.remote,
            Self::Draw(arguments) => &arguments.remote,
            Self::Frame(arguments) => &arguments.remote,
            Self::Browse(arguments) => &arguments.remote,
            Self::Dump(arguments) => &arguments.remote,
            Self::Makeproject(arguments) => &arguments.remote,
            Self::Layout(arguments) => &arguments.remote,
            Self::Perf(arguments) => &arguments.remote,
            Self::Pick(arguments) => &arguments.remote,
            Self::Doctor(arguments) => &arguments.remote,
            Self::Optimize(arguments) => &arguments.remote,
            Self::Compression(arguments) => &arguments.remote,
            Self::Verify(arguments) => &arguments.remote,
            Self::Index(arguments) => &arguments.remote,
            Self::Checksum(arguments) => &arguments.remote,
            Self::Rewrite(arguments) => &arguments.remote,
            Self::Merge(arguments) => &arguments.remote,
            Self::Cp(arguments) => &arguments.remote,
            Self::Pack(arguments) => &arguments.remote,
            Self::Unpack(arguments) => &arguments.remote,
            Self::Recover(_)
            | Self::Mv(_)
            | Self::Mkdir(_)
            | Self::Rm(_)
            | Self::Cache(_)
            | Self::Proxy(_)
            | Self::Completions(_)
            | Self::Man(_) => return None,
        })
    }
}

/// Runs a command line and returns its exit code: 0, 1 for a file that cannot be read as asked, 2 for a
/// malformed command line.
///
/// # Example
///
/// ```
/// let mut output = Vec::new();
/// let code = sapwood_cli::run(["sapwood", "ls", "no-such-file.root"], &mut output, &mut Vec::new());
/// assert_eq!(code, 1);
/// ```
pub fn run<I, T>(arguments: I, out: &mut dyn Write, err: &mut dyn Write) -> i32
where
    I: IntoIterator<Item = T>,
    T: Into<OsString> + Clone,
{
    let (out, err) = (&mut Printable::new(out), &mut Printable::new(err));
    let arguments = match in_our_words(arguments.into_iter().map(Into::into).collect()) {
        Ok(arguments) => arguments,
        Err(error) => {
            output::warn(err, &error);
            return 2;
        }
    };
    let parsed = command().try_get_matches_from(arguments);
    let arguments = match parsed.and_then(|matches| Arguments::from_arg_matches(&matches)) {
        Ok(arguments) => arguments,
        Err(error) => {
            // A closed pipe is no reason to complain.
            let _ = if error.use_stderr() { write!(err, "{error}") } else { write!(out, "{error}") };
            return error.exit_code();
        }
    };
    let outcome = match &arguments.command {
        Command::Ls(arguments) => ls::run(arguments, out),
        Command::Map(arguments) => map::run(arguments, out),
        Command::Show(arguments) => show::run(arguments, out),
        Command::Scan(arguments) => scan::run(arguments, out),
        Command::Draw(arguments) => draw::run(arguments, out),
        Command::Frame(arguments) => frame::run(arguments, out),
        Command::Browse(arguments) => browse::run(arguments, out),
        Command::Dump(arguments) => dump::run(arguments, out),
        Command::Makeproject(arguments) => makeproject::run(arguments, out),
        Command::Layout(arguments) => layout::run(arguments, out),
        Command::Perf(arguments) => perf::run(arguments, out),
        Command::Pick(arguments) => pick::run(arguments, out),
        Command::Doctor(arguments) => doctor::run(arguments, out),
        Command::Optimize(arguments) => optimize::run(arguments, out),
        Command::Compression(arguments) => compression::run(arguments, out),
        Command::Verify(arguments) => verify::run(arguments, out),
        Command::Index(arguments) => index::run(arguments, out),
        Command::Checksum(arguments) => checksum::run(arguments, out),
        Command::Rewrite(arguments) => rewrite::run(arguments, out),
        Command::Merge(arguments) => merge::run(arguments, out),
        Command::Recover(arguments) => recover::run(arguments, out),
        Command::Pack(arguments) => pack::run_pack(arguments, out, err),
        Command::Unpack(arguments) => pack::run_unpack(arguments, out),
        Command::Cp(arguments) => cp::copy(arguments),
        Command::Mv(arguments) => cp::rename(arguments),
        Command::Mkdir(arguments) => mkdir::run(arguments),
        Command::Rm(arguments) => rm::run(arguments),
        Command::Cache(arguments) => cache::run(arguments, out),
        Command::Proxy(arguments) => proxy::run(arguments, out, err),
        Command::Completions(arguments) => completions::run(arguments, with_those_of_python(), out),
        Command::Man(arguments) => man::run(arguments, Arguments::command(), out),
    };
    for words in arguments.command.remote().map(|remote| remote.notices.take()).unwrap_or_default() {
        output::warn(err, &words);
    }
    // What does not reach a full disk is an error.
    match outcome.and_then(|()| Ok(out.flush()?)) {
        Ok(()) => 0,
        Err(output::Failure::Pipe) => 0,
        Err(output::Failure::Found) => 1,
        Err(output::Failure::Read(error)) => {
            output::warn(err, &error);
            1
        }
    }
}

/// The command line, with the options that `merge` takes over from hadd translated.
fn in_our_words(mut arguments: Vec<OsString>) -> sapwood::Result<Vec<OsString>> {
    if arguments.get(1).is_some_and(|command| command == "merge") {
        let own = arguments.split_off(2);
        arguments.extend(merge::translate(own)?);
    }
    Ok(arguments)
}
