//! `sapwood browse --terminal`: the tree of files in a terminal, with histograms of what is chosen.

use std::io::{IsTerminal, Write, stdout};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use crossterm::cursor::{Hide, MoveTo, Show};
use crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers, poll, read};
use crossterm::style::{Attribute, Print, SetAttribute};
use crossterm::terminal::{
    Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode, size,
};
use crossterm::{execute, queue};
use sapwood::inspect::histogram as picture;
use sapwood::{Error, Result};
use sapwood_serve::{Browsing, Work};
use serde_json::Value;

use crate::output::Outcome;
use crate::printable::printable;

/// Lines that are no rows of the tree: what the keys do, and what was said last.
const OTHER_LINES: usize = 2;
/// How often keys are looked at while something is drawn.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// A row of the tree.
#[derive(Clone, Default)]
struct Row {
    name: String,
    kind: String,
    detail: String,
    title: String,
    expression: String,
    has_inner: bool,
    is_open: bool,
    level: usize,
    /// By which it is asked for.
    file: String,
    path: String,
    branch: String,
    member: String,
}

/// What is on the screen.
struct Screen {
    browsing: Arc<Browsing>,
    rows: Vec<Row>,
    current: usize,
    /// The first row that is shown.
    top: usize,
    cut: String,
    said: String,
    /// A picture, in place of the tree.
    shown: Option<String>,
}

/// The terminal as it is to be left.
struct Raw;

impl Drop for Raw {
    fn drop(&mut self) {
        // There is no other way to leave it.
        let _ = execute!(stdout(), LeaveAlternateScreen, Show);
        let _ = disable_raw_mode();
    }
}

/// Browses until a key ends it.
pub(crate) fn browse(browsing: Arc<Browsing>) -> Outcome {
    if !stdout().is_terminal() {
        return Err(Error::mismatch("--terminal is for terminals, and this is none").into());
    }
    let mut screen =
        Screen { browsing, rows: Vec::new(), current: 0, top: 0, cut: String::new(), said: String::new(), shown: None };
    screen.rows = screen.below(None)?;
    if screen.rows.len() == 1 {
        screen.unfold();
    }
    enable_raw_mode()?;
    let _raw = Raw;
    execute!(stdout(), EnterAlternateScreen, Hide)?;
    loop {
        screen.paint()?;
        let Event::Key(key) = read()? else { continue };
        if key.kind == KeyEventKind::Release {
            continue;
        }
        if is_end(&key) || (screen.shown.take().is_none() && !screen.press(key.code)?) {
            return Ok(());
        }
    }
}

/// Whether a key ends everything, wherever it is pressed.
fn is_end(key: &KeyEvent) -> bool {
    key.modifiers.contains(KeyModifiers::CONTROL) && matches!(key.code, KeyCode::Char('c' | 'd'))
}

impl Screen {
    /// Does what a key says; false where that is the end.
    fn press(&mut self, key: KeyCode) -> Outcome<bool> {
        let last = self.rows.len().saturating_sub(1);
        let page = self.height().saturating_sub(1).max(1);
        match key {
            KeyCode::Char('q') | KeyCode::Esc => return Ok(false),
            KeyCode::Down | KeyCode::Char('j') => self.current = (self.current + 1).min(last),
            KeyCode::Up | KeyCode::Char('k') => self.current = self.current.saturating_sub(1),
            KeyCode::PageDown => self.current = (self.current + page).min(last),
            KeyCode::PageUp => self.current = self.current.saturating_sub(page),
            KeyCode::Home => self.current = 0,
            KeyCode::End => self.current = last,
            KeyCode::Right | KeyCode::Char('l') => self.unfold(),
            KeyCode::Left | KeyCode::Char('h') => self.fold(),
            KeyCode::Enter => return self.choose(),
            KeyCode::Char('/') => {
                if let Some(words) = self.prompt("search: ")? {
                    self.search(&words);
                }
            }
            KeyCode::Char('c') => {
                if let Some(words) = self.prompt("cut: ")? {
                    self.said = if words.is_empty() { String::new() } else { format!("cut: {words}") };
                    self.cut = words;
                }
            }
            _ => {}
        }
        Ok(true)
    }

    /// The rows below one, or the first ones.
    fn below(&self, row: Option<&Row>) -> Result<Vec<Row>> {
        let above = row.cloned().unwrap_or_default();
        let query =
            [("file", &*above.file), ("path", &*above.path), ("branch", &*above.branch), ("member", &*above.member)];
        let level = self.browsing.level(&query)?;
        let text = |name: &str, place: usize| level[name][place].as_str().unwrap_or_default().to_owned();
        let count = level["names"].as_array().map_or(0, Vec::len);
        let one = |place: usize| {
            let (kind, id) = (text("kinds", place), text("ids", place));
            let mut found = Row {
                name: text("names", place),
                detail: text("details", place),
                title: text("titles", place),
                expression: text("expressions", place),
                has_inner: level["inner"][place].as_bool().unwrap_or(false),
                is_open: false,
                level: row.map_or(0, |row| row.level + 1),
                ..above.clone()
            };
            match &*kind {
                "file" | "folder" => found.file = id,
                "branch" | "field" | "leaf" => found.branch = id,
                "member" | "value" => found.member = id,
                _ => found.path = id,
            }
            found.kind = kind;
            found
        };
        Ok((0..count).map(one).collect())
    }

    fn unfold(&mut self) {
        let Some(row) = self.rows.get(self.current).filter(|row| row.has_inner && !row.is_open).cloned() else {
            return;
        };
        match self.below(Some(&row)) {
            Ok(rows) => {
                self.said = format!("{} in {}", rows.len(), row.name);
                self.rows[self.current].is_open = true;
                self.rows.splice(self.current + 1..self.current + 1, rows);
            }
            Err(error) => self.said = error.to_string(),
        }
    }

    /// Folds the current row, or goes to the one above it.
    fn fold(&mut self) {
        let Some(row) = self.rows.get(self.current) else { return };
        let level = row.level;
        if !row.is_open {
            let above = self.rows[..self.current].iter().rposition(|row| row.level < level);
            self.current = above.unwrap_or(self.current);
            return;
        }
        let inner = self.rows[self.current + 1..].iter().take_while(|row| row.level > level).count();
        self.rows.drain(self.current + 1..self.current + 1 + inner);
        self.rows[self.current].is_open = false;
    }

    /// Draws a leaf or a histogram; unfolds everything else. False where a key ended everything meanwhile.
    fn choose(&mut self) -> Outcome<bool> {
        let Some(row) = self.rows.get(self.current).cloned() else { return Ok(true) };
        if !row.expression.is_empty() || (row.kind == "histogram" && row.member.is_empty()) {
            return self.draw(row);
        }
        if row.is_open {
            self.fold();
        } else {
            self.unfold();
        }
        Ok(true)
    }

    /// Draws in a thread, so that a key stops it, even where a server does not answer. False where one ended
    /// everything.
    fn draw(&mut self, row: Row) -> Outcome<bool> {
        let (work, height) = (Work::default(), self.height());
        let (sender, receiver) = channel();
        let (browsing, cut, asked) = (Arc::clone(&self.browsing), self.cut.clone(), work.clone());
        std::thread::spawn(move || {
            let query = [("file", &*row.file), ("path", &*row.path), ("x", &*row.expression), ("cut", &*cut)];
            let drawn = asked.heeded(|| browsing.histogram(&query, &asked));
            let text = drawn.and_then(|histogram| picture::text_within(&histogram, height));
            // Where it was stopped, it is not waited for.
            let _ = sender.send(text);
        });
        loop {
            match receiver.recv_timeout(LOOK_EVERY) {
                Ok(Ok(text)) => {
                    self.said.clear();
                    self.shown = Some(text);
                    return Ok(true);
                }
                Ok(Err(error)) => {
                    self.said = error.to_string();
                    return Ok(true);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    self.said = "it could not be drawn".to_owned();
                    return Ok(true);
                }
            }
            self.said = format!("drawing: {:.0} %   Esc stops", 100.0 * work.part());
            self.paint()?;
            while poll(Duration::ZERO)? {
                let Event::Key(key) = read()? else { continue };
                let is_end = is_end(&key);
                if is_end || matches!(key.code, KeyCode::Esc | KeyCode::Char('q')) {
                    work.stop();
                    self.said = "stopped".to_owned();
                    return Ok(!is_end);
                }
            }
        }
    }

    /// Shows the names that hold some words, in place of the tree below their file.
    fn search(&mut self, words: &str) {
        let file = self.rows.get(self.current).map(|row| row.file.clone()).unwrap_or_default();
        let found = match self.browsing.found(&[("file", &file), ("text", words)]) {
            Ok(found) => found,
            Err(error) => {
                self.said = error.to_string();
                return;
            }
        };
        let texts = |name: &str| -> Vec<String> {
            let of = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            found[name].as_array().map(|all| all.iter().map(of).collect()).unwrap_or_default()
        };
        self.said = format!("{} names hold {words}", found["total"]);
        let Some(at) = self.rows.iter().position(|row| row.file == file && row.path.is_empty()) else { return };
        self.current = at;
        if self.rows[at].is_open {
            self.fold();
        }
        let level = self.rows[at].level + 1;
        let rows: Vec<Row> = texts("paths")
            .into_iter()
            .zip(texts("branches"))
            .zip(texts("kinds").into_iter().zip(texts("expressions")))
            .map(|((path, branch), (kind, expression))| Row {
                name: if branch.is_empty() { path.clone() } else { branch.clone() },
                detail: if branch.is_empty() { kind.clone() } else { path.clone() },
                expression,
                has_inner: branch.is_empty(),
                level,
                file: file.clone(),
                kind,
                path,
                branch,
                ..Row::default()
            })
            .collect();
        self.rows[at].is_open = true;
        if !rows.is_empty() {
            self.current = at + 1;
        }
        self.rows.splice(at + 1..at + 1, rows);
    }

    /// A line that is typed; none where it is given up.
    fn prompt(&mut self, before: &str) -> Outcome<Option<String>> {
        let mut line = String::new();
        loop {
            self.said = format!("{before}{line}");
            self.paint()?;
            let Event::Key(key) = read()? else { continue };
            match key.code {
                KeyCode::Enter => return Ok(Some(line)),
                KeyCode::Esc => {
                    self.said.clear();
                    return Ok(None);
                }
                _ if is_end(&key) => return Ok(None),
                KeyCode::Backspace => drop(line.pop()),
                KeyCode::Char(letter) => line.push(letter),
                _ => {}
            }
        }
    }

    /// Rows of the tree that fit.
    fn height(&self) -> usize {
        let (_, lines) = size().unwrap_or((80, 24));
        usize::from(lines).saturating_sub(OTHER_LINES).max(1)
    }

    fn paint(&mut self) -> Outcome {
        let (wide, height) = (usize::from(size().map_or(80, |(columns, _)| columns)), self.height());
        // What stands in a file never steers the terminal.
        let cut = |text: &str| printable(text).chars().take(wide).collect::<String>();
        let mut out = stdout().lock();
        queue!(out, Clear(ClearType::All))?;
        if let Some(text) = &self.shown {
            for (line, text) in text.lines().take(height).enumerate() {
                queue!(out, MoveTo(0, line as u16), Print(cut(text)))?;
            }
        } else {
            self.current = self.current.min(self.rows.len().saturating_sub(1));
            self.top = self.top.clamp((self.current + 1).saturating_sub(height), self.current);
            for (line, row) in self.rows.iter().skip(self.top).take(height).enumerate() {
                let sign = match (row.has_inner, row.is_open) {
                    (false, _) => ' ',
                    (true, true) => '-',
                    (true, false) => '+',
                };
                let text = format!("{}{sign} {}  {}  {}", "  ".repeat(row.level), row.name, row.detail, row.title);
                queue!(out, MoveTo(0, line as u16))?;
                if self.top + line == self.current {
                    queue!(out, SetAttribute(Attribute::Reverse), Print(cut(&text)), SetAttribute(Attribute::Reset))?;
                } else {
                    queue!(out, Print(cut(&text)))?;
                }
            }
        }
        let keys = match self.shown {
            Some(_) => "any key: back to the tree",
            None => "arrows: move, unfold   Enter: draw   /: search   c: cut   q: end",
        };
        queue!(out, MoveTo(0, height as u16), Print(cut(&self.said)))?;
        queue!(out, MoveTo(0, height as u16 + 1), SetAttribute(Attribute::Dim), Print(cut(keys)))?;
        queue!(out, SetAttribute(Attribute::Reset))?;
        Ok(out.flush()?)
    }
}
