//! The work list: a text file with one line for each branch and each basket, written by `bench/support/index.py`.

use std::str::SplitAsciiWhitespace;

/// How the entries of a branch lie in a basket.
#[derive(Clone, Copy, PartialEq)]
pub enum Kind {
    /// the same number of values in each entry
    Fixed,
    /// a list of values in each entry, after `header` bytes
    List,
    /// a list of lists
    Lists2,
    /// a string: length, then characters
    Text,
    /// whole objects, described by steps
    Rows,
}

/// What lies next in an object.
pub enum Step {
    Skip(usize),
    Member { width: usize, times: usize, widen: bool },
    Count,
    Element { width: usize, widen: bool },
}

pub struct Basket {
    pub seek: usize,
    pub nbytes: usize,
    pub keylen: usize,
    pub objlen: usize,
    /// bytes of values; the entry offsets follow
    pub border: usize,
    pub entries: usize,
    pub first_entry: usize,
    pub first_value: usize,
    pub first_inner: usize,
}

pub struct Branch {
    pub name: String,
    pub kind: Kind,
    /// bytes of a value in the file
    pub width: usize,
    /// values that each element of a list has (a fixed array in a list)
    pub times: usize,
    /// a `Double32_t` that is a float in the file and a double in the answer
    pub widen: bool,
    /// `i`, `u` or `f`; `-` for what has no sum
    pub number: char,
    /// bytes before the values of each entry
    pub header: usize,
    pub entries: usize,
    pub values: usize,
    pub inner: usize,
    pub baskets: Vec<Basket>,
    pub steps: Vec<Step>,
    step_numbers: Vec<(char, usize)>,
}

impl Branch {
    pub fn out_width(&self) -> usize {
        if self.widen { 8 } else { self.width }
    }

    /// Kind of number and width in the answer, for each column of `Kind::Rows`.
    pub fn row_numbers(&self) -> Vec<(char, usize)> {
        self.step_numbers.clone()
    }
}

/// A record that is inflated whole: the tree's own.
#[derive(Default)]
pub struct Record {
    pub seek: usize,
    pub nbytes: usize,
    pub keylen: usize,
    pub objlen: usize,
}

pub struct Index {
    pub file: String,
    pub record: Record,
    pub branches: Vec<Branch>,
    /// bytes of the largest basket, inflated
    pub largest: usize,
}

fn number(words: &mut SplitAsciiWhitespace<'_>) -> usize {
    words.next().expect("a line of the index is too short").parse().expect("a number in the index")
}

impl Index {
    pub fn read(path: &str) -> Index {
        let text = std::fs::read_to_string(path).expect("the index");
        let mut index = Index { file: String::new(), record: Record::default(), branches: Vec::new(), largest: 0 };
        for line in text.lines() {
            let mut words = line.split_ascii_whitespace();
            match words.next() {
                Some("file") => index.file = line[5..].to_string(),
                Some("record") => {
                    let w = &mut words;
                    index.record = Record { seek: number(w), nbytes: number(w), keylen: number(w), objlen: number(w) };
                }
                Some("branch") => index.branches.push(branch(&mut words)),
                Some("step") => {
                    let b = index.branches.last_mut().expect("a step belongs to a branch");
                    step(b, &mut words);
                }
                Some("basket") => {
                    let w = &mut words;
                    let k = Basket {
                        seek: number(w),
                        nbytes: number(w),
                        keylen: number(w),
                        objlen: number(w),
                        border: number(w),
                        entries: number(w),
                        first_entry: number(w),
                        first_value: number(w),
                        first_inner: number(w),
                    };
                    index.largest = index.largest.max(k.objlen);
                    index.branches.last_mut().expect("a basket belongs to a branch").baskets.push(k);
                }
                _ => {}
            }
        }
        index
    }
}

fn branch(w: &mut SplitAsciiWhitespace<'_>) -> Branch {
    let name = w.next().expect("a name").to_string();
    let kind = match w.next().expect("a kind") {
        "fixed" => Kind::Fixed,
        "list" => Kind::List,
        "lists2" => Kind::Lists2,
        "text" => Kind::Text,
        "rows" => Kind::Rows,
        other => panic!("no kind {other}"),
    };
    Branch {
        name,
        kind,
        width: number(w),
        times: number(w).max(1),
        widen: number(w) == 1,
        number: w.next().and_then(|x| x.chars().next()).expect("a kind of number"),
        header: number(w),
        entries: number(w),
        values: number(w),
        inner: number(w),
        baskets: Vec::new(),
        steps: Vec::new(),
        step_numbers: Vec::new(),
    }
}

fn step(b: &mut Branch, w: &mut SplitAsciiWhitespace<'_>) {
    let what = w.next().expect("a step");
    if what == "skip" {
        b.steps.push(Step::Skip(number(w)));
        return;
    }
    if what == "count" {
        b.steps.push(Step::Count);
        return;
    }
    let (width, times, widen) = (number(w), number(w), number(w) == 1);
    let kind = w.next().and_then(|x| x.chars().next()).expect("a kind of number");
    b.step_numbers.push((kind, if widen { 8 } else { width }));
    b.steps.push(match what {
        "member" => Step::Member { width, times, widen },
        "element" => Step::Element { width, widen },
        other => panic!("no step {other}"),
    });
}
