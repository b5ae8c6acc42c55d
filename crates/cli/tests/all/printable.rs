//! Names in files do nothing to a terminal.

use sapwood::column::Number;
use sapwood::write::{BranchSpec, FileWriter, TreeOptions, Values, WriteOptions};

const EVIL: &str = "a\u{1b}c0;owned\u{7}\u{9b}2J\u{202e}b";

#[test]
fn no_command_prints_what_a_terminal_obeys() {
    let path = std::env::temp_dir().join(format!("sapwood-cli-printable-{}.root", std::process::id()));
    let mut file = FileWriter::recreate(&path, WriteOptions::default()).unwrap();
    let mut tree = file.tree(EVIL, vec![BranchSpec::number(EVIL, Number::I32)], TreeOptions::default()).unwrap();
    tree.extend(&[(EVIL, Values::from(&[7_i32]))]).unwrap();
    tree.close().unwrap();
    file.close().unwrap();
    let path = path.to_str().unwrap();
    let (inside, none) = (format!("{path}:{EVIL}"), format!("{path}:{EVIL}2"));
    let commands: [&[&str]; 11] = [
        &["ls", path],
        &["ls", "--json", path],
        &["show", &inside],
        &["scan", &inside],
        &["scan", &none],
        &["map", path],
        &["map", "--json", path],
        &["doctor", path],
        &["verify", path],
        &["layout", &inside],
        &["show", EVIL],
    ];
    let mut shown = 0;
    for arguments in commands {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        sapwood_cli::run([&["sapwood"], arguments].concat(), &mut out, &mut err);
        let text = String::from_utf8([out, err].concat()).unwrap();
        let acts = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
        assert!(!text.contains(acts), "{arguments:?}: {text:?}");
        shown += usize::from(text.contains("\\u001b") || text.contains("\\u{1b}"));
        if arguments.contains(&"--json") {
            assert!(text.contains("\\u009b"), "{text}");
        }
    }
    assert!(shown > 6, "names are shown, escaped: {shown}");
    std::fs::remove_file(path).unwrap();
}
