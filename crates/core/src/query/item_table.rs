//! The table of `TTree::Scan`: columns of a format.

use super::items::Item;
use crate::error::{Error, Result};

/// The format of a column, as `printf` and `TTree::Scan`'s `col=` have it: `10.3f`, `#x`, `20`.
#[derive(Clone, Copy, Debug)]
struct Format {
    width: usize,
    precision: usize,
    /// `x` with a mark before it.
    is_marked: bool,
    conversion: char,
}

impl Format {
    /// The formats of so many columns, from what is said of them, with colons between.
    fn of(words: &str, width: usize, precision: usize, columns: usize) -> Result<Vec<Self>> {
        const WIDEST: usize = 1_000;
        let usual = Self { width, precision, is_marked: false, conversion: 'g' };
        if width > WIDEST || precision > WIDEST {
            return Err(Error::mismatch(format!("columns are at most {WIDEST} characters wide")));
        }
        let mut given: Vec<&str> = if words.is_empty() { Vec::new() } else { words.split(':').collect() };
        if given.len() > columns {
            let words = format!("there are formats for {} columns, and {columns} columns", given.len());
            return Err(Error::mismatch(words));
        }
        given.resize(columns, "");
        let one = |words: &str| {
            let wrong = || Error::mismatch(format!("{words:?} is no format of a column: 10, 10.3, 12.4f, 8d, #x"));
            let rest = words.trim().trim_start_matches('%');
            let (is_marked, rest) = rest.strip_prefix('#').map_or((false, rest), |rest| (true, rest));
            let at = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
            let (size, letters) = rest.split_at(at);
            let conversion = letters.trim_start_matches(['l', 'h']);
            let mut format = Self { is_marked, ..usual };
            format.conversion = match conversion {
                "" => 'g',
                "d" | "i" | "u" => 'd',
                "x" | "X" | "o" | "e" | "f" | "g" => conversion.chars().next().unwrap_or('g'),
                _ => return Err(wrong()),
            };
            let (width, precision) = size.split_once('.').map_or((size, ""), |(width, precision)| (width, precision));
            for (words, number) in [(width, &mut format.width), (precision, &mut format.precision)] {
                if !words.is_empty() {
                    *number = words.parse().ok().filter(|number| *number <= WIDEST).ok_or_else(wrong)?;
                }
            }
            Ok(format)
        };
        given.into_iter().map(one).collect()
    }

    /// An item in this format, cut to the width.
    fn shown(&self, item: &Item) -> String {
        let Self { width, precision, .. } = *self;
        let text = match (item, self.conversion) {
            (Item::Text(text), _) => text.escape_debug().to_string(),
            (Item::Whole(value), 'd') => value.to_string(),
            (Item::Unsigned(value), 'd') => value.to_string(),
            (item, 'd') => format!("{:.0}", item.as_f64().trunc()),
            (item, letter @ ('x' | 'X' | 'o')) => {
                let bits = match item {
                    Item::Unsigned(value) => *value,
                    Item::Whole(value) => *value as u64,
                    other => other.as_f64() as i64 as u64,
                };
                match (letter, self.is_marked) {
                    ('x', true) => format!("{bits:#x}"),
                    ('x', false) => format!("{bits:x}"),
                    ('X', true) => format!("0X{bits:X}"),
                    ('X', false) => format!("{bits:X}"),
                    (_, true) => format!("0{bits:o}"),
                    (_, false) => format!("{bits:o}"),
                }
            }
            (item, 'f') => format!("{:.precision$}", item.as_f64()),
            (item, 'e') => exponential(item.as_f64(), precision),
            (item, _) => general(item.as_f64(), precision),
        };
        let exponent =
            text.rfind('e').filter(|_| matches!(self.conversion, 'g' | 'e') && !matches!(item, Item::Text(_)));
        let cut: String = match exponent.filter(|at| text.len() > width && text.len() - at < width) {
            // Digits go, and the exponent stays.
            Some(at) => [&text[..width - (text.len() - at)], &text[at..]].concat(),
            None => text.chars().take(width).collect(),
        };
        format!("{cut:>width$}")
    }
}

/// `%e`: an exponent of two digits at least.
fn exponential(value: f64, precision: usize) -> String {
    if !value.is_finite() {
        return value.to_string().to_lowercase();
    }
    let text = format!("{value:.precision$e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, exponent) = exponent.strip_prefix('-').map_or(("+", exponent), |exponent| ("-", exponent));
    format!("{digits}e{sign}{exponent:0>2}")
}

/// `%g`: so many digits, without zeros at their end.
fn general(value: f64, precision: usize) -> String {
    if !value.is_finite() {
        return value.to_string().to_lowercase();
    }
    let digits = precision.max(1);
    let text = format!("{value:.*e}", digits - 1);
    let exponent: i64 = text.split_once('e').and_then(|(_, exponent)| exponent.parse().ok()).unwrap_or(0);
    let trimmed = |text: &str| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text.to_owned(),
    };
    if exponent < -4 || exponent >= digits as i64 {
        let text = exponential(value, digits - 1);
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "+00"));
        return format!("{}e{exponent}", trimmed(digits));
    }
    trimmed(&format!("{value:.*}", (digits as i64 - 1 - exponent).max(0) as usize))
}

/// The table of `TTree::Scan`, line by line.
///
/// # Example
///
/// ```
/// use sapwood::query::{Item, ItemTable};
/// let table = ItemTable::new(&["x".to_owned(), "n".to_owned()], "5.2f:4", 9, 9, false)?;
/// assert_eq!(table.head().lines().nth(1), Some("*    Row   *     x *    n *"));
/// assert_eq!(table.row(7, 0, &[Some(Item::Number(1.0)), None]), "*        7 *  1.00 *      *");
/// assert_eq!(table.end(), "*".repeat(27));
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ItemTable {
    formats: Vec<Format>,
    /// Whether rows have the numbers of their items.
    has_lists: bool,
    head: String,
}

impl ItemTable {
    /// A table of columns with these names. `formats` are those of the columns, with colons between (`10.3f:#x::20`);
    /// what they leave out is `width` characters wide, with `precision` digits. With lists, rows have the numbers of
    /// their items.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](crate::ErrorKind::Mismatch) for what is no format, for more formats than columns, and for columns
    /// of more than 1,000 characters.
    pub fn new(names: &[String], formats: &str, width: usize, precision: usize, has_lists: bool) -> Result<Self> {
        let formats = Format::of(formats, width, precision, names.len())?;
        let mut head = if has_lists { "*    Row   * Instance " } else { "*    Row   " }.to_owned();
        for (name, format) in names.iter().zip(&formats) {
            let name: String = name.chars().take(format.width).collect();
            head.push_str(&format!("* {name:>width$} ", width = format.width));
        }
        head.push('*');
        Ok(Self { formats, has_lists, head })
    }

    /// The lines above the rows.
    pub fn head(&self) -> String {
        let line = self.end();
        format!("{line}\n{}\n{line}", self.head)
    }

    /// The line of an item of an entry.
    pub fn row(&self, entry: u64, instance: usize, cells: &[Option<Item>]) -> String {
        let mut line = format!("* {entry:>8} ");
        if self.has_lists {
            line.push_str(&format!("* {instance:>8} "));
        }
        for (cell, format) in cells.iter().zip(&self.formats) {
            let shown = cell.as_ref().map_or_else(|| " ".repeat(format.width), |item| format.shown(item));
            line.push_str(&format!("* {shown} "));
        }
        line.push('*');
        line
    }

    /// The line below the rows.
    pub fn end(&self) -> String {
        "*".repeat(self.head.chars().count())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_look_as_printf_writes_them() {
        for (value, precision, expected) in [
            (0.0, 9, "0"),
            (0.1_f32.into(), 9, "0.100000001"),
            (1e12, 9, "1e+12"),
            (123_456_789.0, 9, "123456789"),
            (1.5e-7, 9, "1.5e-07"),
            (-2.25, 2, "-2.2"),
            (99_999.96, 6, "100000"),
            (f64::NAN, 9, "nan"),
            (f64::NEG_INFINITY, 9, "-inf"),
        ] {
            assert_eq!(general(value, precision), expected);
        }
        assert_eq!(exponential(12345.678, 3), "1.235e+04");
    }

    #[test]
    fn formats_are_those_of_printf() {
        let formats = Format::of("6.2f:#x:8d:", 9, 9, 5).unwrap();
        assert_eq!(formats[4].shown(&Item::Whole(3_000_000_021)), "3.000e+09");
        let shown: Vec<String> = formats.iter().map(|format| format.shown(&Item::Whole(255))).collect();
        assert_eq!(shown, ["255.00", "     0xff", "     255", "      255", "      255"]);
        for wrong in ["5.q", "1:2:3", "a", "5000"] {
            assert!(Format::of(wrong, 9, 9, 2).is_err(), "{wrong}");
        }
    }
}
