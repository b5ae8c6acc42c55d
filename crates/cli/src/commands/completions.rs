//! `sapwood completions`: what a shell needs to complete the command.

use std::io::Write;

use clap_complete::{Generator, Shell};

use crate::output::Outcome;

/// Print what a shell completes the command with.
///
/// For bash: `sapwood completions bash > ~/.local/share/bash-completion/completions/sapwood`. For zsh: the same into
/// a file `_sapwood` in a folder of `$fpath`. For fish: into `~/.config/fish/completions/sapwood.fish`.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    shell: Shell,
}

pub(crate) fn run(arguments: &Arguments, mut command: clap::Command, out: &mut dyn Write) -> Outcome {
    command.set_bin_name("sapwood");
    command.build();
    arguments.shell.try_generate(&command, out)?;
    Ok(())
}
