//! The list of sub-commands that `sapwood --help` prints, by what one wants to do.

/// Sub-commands that only the Python package has, and what they do.
pub(crate) const OF_PYTHON: [(&str, &str); 3] = [
    ("convert", "Convert files to and from Parquet, Arrow, CSV, JSON lines, NumPy and HDF5"),
    ("process", "Run a selector of Python over trees of many files"),
    ("makeselector", "Write the skeleton of such a selector"),
];

/// Every sub-command, once.
const GROUPS: [(&str, &[&str]); 6] = [
    ("See what files hold", &["ls", "show", "scan", "draw", "frame", "browse", "dump"]),
    ("See how it is stored", &["map", "layout", "perf", "doctor", "optimize", "compression", "verify", "checksum"]),
    ("Write files", &["merge", "rewrite", "pick", "convert", "index", "recover", "pack", "unpack"]),
    ("Change files in place", &["cp", "mv", "mkdir", "rm"]),
    ("Serve and keep remote files", &["proxy", "cache"]),
    ("Write code, pages and completions", &["process", "makeselector", "makeproject", "completions", "man"]),
];

/// How `--help` arranges its parts: the sub-commands stand in `{after-help}`.
pub(crate) const TEMPLATE: &str = "{about}\n\n{usage-heading} {usage}{after-help}\n\nOptions:\n{options}";

/// The sub-commands in groups, each with its first line.
pub(crate) fn overview(command: &clap::Command) -> String {
    let mut words = String::new();
    for (heading, names) in GROUPS {
        words.push_str(&format!("{heading}:\n"));
        for name in names {
            words.push_str(&format!("  {name:13} {}\n", first_clause(&about(command, name))));
        }
        words.push('\n');
    }
    words.push_str("`sapwood COMMAND --help` shows the options of one, with examples.");
    words.push_str(" convert, process and makeselector need the\nPython package.");
    words
}

/// The text before the first colon, semicolon or full stop: the rest is for the help of the command itself.
fn first_clause(about: &str) -> &str {
    [": ", "; ", ". "].iter().filter_map(|end| about.find(end)).min().map_or(about, |end| &about[..end])
}

fn about(command: &clap::Command, name: &str) -> String {
    let own = command.find_subcommand(name).and_then(clap::Command::get_about).map(ToString::to_string);
    let of_python = || OF_PYTHON.iter().find(|(known, _)| *known == name).map(|(_, about)| (*about).to_owned());
    own.or_else(of_python).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_in_one_group() {
        let command = crate::command();
        let mut listed: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        let mut known: Vec<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
        known.extend(OF_PYTHON.map(|(name, _)| name));
        listed.sort_unstable();
        known.sort_unstable();
        assert_eq!(listed, known);
        assert!(listed.iter().all(|name| !about(&command, name).is_empty()));
    }
}
