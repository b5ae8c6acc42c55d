//! `sapwood draw`, and expressions of `scan` and `rewrite`.

use sapwood::File;

fn run(arguments: &[&str]) -> (i32, String, String) {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let code = sapwood_cli::run(std::iter::once(&"sapwood").chain(arguments), &mut out, &mut err);
    (code, String::from_utf8(out).expect("text"), String::from_utf8(err).expect("text"))
}

fn file() -> String {
    sapwood_testkit::example("nano.root").to_str().expect("a name").to_owned()
}

/// Its tree of events.
fn example() -> String {
    format!("{}:Events", file())
}

#[test]
fn a_histogram_is_shown_in_the_terminal() {
    let (code, out, err) = run(&["draw", &example(), "nJet>>jets(8, 0, 8)"]);
    assert_eq!(code, 0, "{err}");
    let lines: Vec<&str> = out.lines().collect();
    assert!(lines[0].starts_with("jets") && lines[1].starts_with("entries 10 "), "{out}");
    assert_eq!(lines.len(), 2 + 8, "{out}");
    assert!(out.contains('█'));
    let (code, _, err) = run(&["draw", &example(), "nJett"]);
    assert!(code == 1 && err.contains("no branch \"nJett\"; near to it: \"nJet\""), "{err}");
    let (code, _, err) = run(&["draw", &example(), "nJet +"]);
    assert!(code == 1 && err.contains("at character 7"), "{err}");
}

#[test]
fn a_histogram_is_written_as_a_picture_or_an_object() {
    let (svg, root) = (sapwood_testkit::scratch("draw.svg"), sapwood_testkit::scratch("draw.root"));
    let (svg, root) = (svg.to_str().expect("a name"), root.to_str().expect("a name"));
    let (code, out, err) =
        run(&["draw", &example(), "Jet_pt:Jet_eta>>h(5,-5,5,4,0,100)", "nJet > 2", "--out", svg, "--force"]);
    assert!(code == 0 && out.is_empty(), "{err}");
    let picture = std::fs::read_to_string(svg).expect("a picture");
    assert!(picture.starts_with("<svg") && picture.contains("Jet_eta") && picture.contains("nJet &gt; 2"));
    let arguments = ["draw", &example(), "Jet_pt>>h(4,0,100)", "", "--out", root];
    let (code, _, err) = run(&[&arguments[..], &["--force"]].concat());
    assert_eq!(code, 0, "{err}");
    let file = File::open(root).expect("a file");
    let histogram = sapwood::hist::Histogram::from_draft(file.draft("h").expect("a draft")).expect("a histogram");
    assert_eq!(histogram.axes()[0].bins(), 4);
    let (code, _, err) = run(&arguments);
    assert!(code == 1 && err.contains("--force"), "{err}");
    let (code, _, err) = run(&["draw", &example(), "nJet", "", "--out", "h.gif"]);
    assert!(code == 1 && err.contains(".svg, .png, .pdf or .root"), "{err}");
    let pdf = sapwood_testkit::scratch("draw.pdf");
    let (code, _, err) = run(&["draw", &example(), "Jet_pt:Jet_eta", "", "--out", pdf.to_str().expect("a name")]);
    assert_eq!(code, 0, "{err}");
    assert!(std::fs::read(&*pdf).expect("a picture").starts_with(b"%PDF-1.4"));
}

#[test]
fn entries_that_cannot_be_are_refused() {
    let path = file();
    let (code, _, err) = run(&["scan", &example(), "nJet", "--start", "5000000"]);
    assert!(code == 1 && err.contains("--start 5000000 is after the end"), "{err}");
    let output = format!("{path}.new");
    let (code, _, err) = run(&["rewrite", &path, &output, "--entries", "3:1"]);
    assert!(code == 1 && err.contains("\"3:1\" is not a range of entries"), "{err}");
    for option in ["--cluster-entries", "--cluster-bytes"] {
        let (code, _, err) = run(&["rewrite", &path, &output, option, "0"]);
        assert!(code == 2 && err.contains("0 is not in 1.."), "{err}");
    }
}

#[test]
fn scan_takes_expressions_and_a_cut() {
    let (code, out, err) = run(&["scan", &example(), "nJet", "Sum$(Jet_pt) > 100", "--cut", "nJet > 2", "-n", "2"]);
    assert_eq!(code, 0, "{err}");
    assert_eq!(out.lines().count(), 1 + 2, "a head and two rows: {out}");
    let (code, out, _) = run(&["scan", &example(), "--json", "nJet", "nJet * 2", "--cut", "nJet == 3", "-n", "1"]);
    assert!(code == 0 && out.contains("\"nJet\":3") && out.contains("\"nJet * 2\":6"), "{out}");
    let (code, _, err) = run(&["scan", &example(), "nJett"]);
    assert!(code == 1 && err.contains("nearest"), "{err}");
}

#[test]
fn rewrite_keeps_what_passes_a_cut() {
    let output = sapwood_testkit::scratch("draw-rewrite.root");
    let output = output.to_str().expect("a name");
    let rewrite = |cut: &str| run(&["rewrite", "--force", "--tree", "Events", "--cut", cut, &file(), output]);
    let (code, _, err) = rewrite("nJet > 2 && Jet_pt[0] > 0");
    assert_eq!(code, 0, "{err}");
    let (all, kept) = (File::open(file()).expect("a file"), File::open(output).expect("a file"));
    let count = |file: &File| file.tree("Events").expect("a tree").entries;
    assert!(count(&kept) > 0 && count(&kept) < count(&all));
    let (code, _, err) = rewrite("nope > 2");
    assert!(code == 1 && err.contains("no branch \"nope\""), "{err}");
}
