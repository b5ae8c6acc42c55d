//! Formulas and functions of ROOT: `TFormula`, and `TF1`, `TF2`, `TF3`.

use super::select::Query;
use super::source::Source;
use crate::error::{Error, ErrorKind, Result};
use crate::object::{Members, Object, Value};
use crate::read::Column;

/// The most characters of a formula that stand for shapes and parameters.
const LONGEST: usize = 1 << 20;
/// The highest degree of `pol`.
const HIGHEST_DEGREE: usize = 64;

/// Constants of `TFormula` that the language of queries has under another name.
const CONSTANTS: [(&str, &str); 13] = [
    ("true", "1"),
    ("false", "0"),
    ("pi", "TMath::Pi()"),
    ("sqrt2", "TMath::Sqrt2()"),
    ("infinity", "TMath::Infinity()"),
    ("e", "TMath::E()"),
    ("ln10", "TMath::Ln10()"),
    ("loge", "TMath::LogE()"),
    ("c", "299792458."),
    ("g", "9.80665"),
    ("h", "6.62607015e-34"),
    ("k", "1.380649e-23"),
    ("eg", "TMath::EulerGamma()"),
];

/// A formula with values for its parameters: `[0]*x + [1]`.
///
/// # Example
///
/// ```
/// use sapwood::query::Formula;
/// let line = Formula::new("[0]*x + [1]", &[], &[2.0, 1.0])?;
/// assert_eq!(line.values(&[&[0.0, 3.0]])?, [1.0, 7.0]);
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Formula {
    /// In the language of queries.
    words: String,
}

/// A function over a range: a formula, or values that were saved of compiled code.
///
/// # Example
///
/// ```
/// # let path = sapwood_testkit::example("functions.root");
/// use sapwood::query::Function;
/// let function = Function::from_object(&sapwood::File::open(path)?.object("gauss")?)?;
/// assert_eq!(function.axes[0].points, 101);
/// assert_eq!(function.parameters[0].name, "Constant");
/// let values = function.values()?;
/// assert_eq!(values.len(), 101);
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Function {
    /// One for each variable.
    pub axes: Vec<FunctionAxis>,
    /// Its parameters.
    pub parameters: Vec<Parameter>,
    formula: Option<Formula>,
    saved: Vec<f64>,
    /// What values of the formula are divided by.
    norm: f64,
}

/// Where a function is computed along one variable: points at equal distances, both ends included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FunctionAxis {
    /// The first point.
    pub from: f64,
    /// The last point.
    pub to: f64,
    /// How many points there are.
    pub points: usize,
}

/// A parameter of a function.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: f64,
    /// The error that a fit gave it; 0 without one.
    pub error: f64,
}

impl Formula {
    /// A formula in ROOT's words. Parameters are known by number (`[0]`, `[p0]`) and by the names that are given.
    ///
    /// # Errors
    ///
    /// [`Expression`](ErrorKind::Expression) for parameters without a value, and formulas that are too long.
    pub fn new(text: &str, names: &[String], values: &[f64]) -> Result<Self> {
        let parameters = Parameters { text, names, values };
        Ok(Self { words: parameters.translated()? })
    }

    /// The formula in the language of queries, parameters replaced by their values.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::query::Formula;
    /// assert_eq!(Formula::new("[0]*x", &[], &[2.0])?.words(), "(2.0)*x");
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn words(&self) -> &str {
        &self.words
    }

    /// Its values at points, whose coordinates are given for each variable: `x`, `y`, `z`, `t`.
    ///
    /// # Errors
    ///
    /// [`Expression`](ErrorKind::Expression) and [`NotFound`](ErrorKind::NotFound) for what the language of queries
    /// does not know.
    pub fn values(&self, at: &[&[f64]]) -> Result<Vec<f64>> {
        let len = at.first().map_or(0, |first| first.len());
        let column = |(name, values): (&str, &&[f64])| (name.to_owned(), Column::from_numbers(values));
        let source = Source::of_columns(["x", "y", "z", "t"].into_iter().zip(at).map(column))?;
        // A constant is computed for each point, too.
        let answer = Query::new(source).value(&format!("({}) + 0. * Entry$", self.words))?.read(0..len as u64)?;
        let column = answer.columns.first().ok_or_else(|| Error::internal("a formula has no values"))?;
        column.numbers::<f64>()
    }
}

impl Function {
    /// The function that an object is: a `TF1`, or of a class that is derived from it.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](ErrorKind::Mismatch) for other objects, and for functions without a range;
    /// [`Unsupported`](ErrorKind::Unsupported) for compiled code of which no values were saved.
    pub fn from_object(object: &Object) -> Result<Self> {
        let members = object.members()?;
        let number = |name: &str| members.get(name).and_then(|value| value.as_float());
        if number("fXmin").is_none() || number("fNpx").is_none() {
            return Err(Error::mismatch(format!("a {} is no function", object.class())));
        }
        let saved = numbers(&members, "fSave");
        let axes = ["x", "y", "z"].iter().map_while(|letter| {
            let capital = letter.to_uppercase();
            Some((
                number(&format!("f{capital}min"))?,
                number(&format!("f{capital}max"))?,
                number(&format!("fNp{letter}"))?,
            ))
        });
        let mut axes: Vec<FunctionAxis> = axes
            .map(|(from, to, steps)| FunctionAxis { from, to, points: steps.clamp(1.0, 1e7) as usize + 1 })
            .collect();
        let own = match members.get("fFormula") {
            Some(Value::Object(formula)) => Some(described(&formula.members()?)),
            // Before ROOT 6 a function was a formula.
            _ if members.get("fFormula").is_none() => Some(described(&members)),
            _ => None,
        };
        let described = own.filter(|formula| !formula.text.is_empty());
        let (names, values) = match (&described, members.get("fParams")) {
            (Some(formula), _) => (formula.names.clone(), formula.values.clone()),
            (None, Some(Value::Object(kept))) => {
                let kept = kept.members()?;
                (texts(&kept, "fParNames"), numbers(&kept, "fParameters"))
            }
            _ => (Vec::new(), Vec::new()),
        };
        let formula = described.map(|formula| Formula::new(&formula.text, &names, &values)).transpose();
        let formula = match formula {
            Err(error) if saved.is_empty() => return Err(error),
            formula => formula.ok().flatten(),
        };
        if formula.is_none() {
            axes = saved_axes(&saved, axes.len())?;
        }
        if axes.iter().any(|axis| !(axis.from.is_finite() && axis.to.is_finite() && axis.from < axis.to)) {
            return Err(Error::mismatch("a function has no range"));
        }
        let errors = numbers(&members, "fParErrors");
        let parameter = |(place, &value): (usize, &f64)| Parameter {
            name: names.get(place).cloned().unwrap_or_else(|| format!("p{place}")),
            value,
            error: errors.get(place).copied().unwrap_or(0.0),
        };
        let parameters = values.iter().enumerate().map(parameter).collect();
        let is_normalized = number("fNormalized").is_some_and(|flag| flag != 0.0);
        let norm = number("fNormIntegral").filter(|&norm| is_normalized && norm != 0.0).unwrap_or(1.0);
        Ok(Self { axes, parameters, formula, saved, norm })
    }

    /// Its values at all points of the axes, those along x next to each other.
    ///
    /// # Errors
    ///
    /// Those of [`Formula::values`]; [`Limit`](ErrorKind::Limit) for more than a million points: lower
    /// [`points`](FunctionAxis::points) of the axes.
    pub fn values(&self) -> Result<Vec<f64>> {
        const MOST: usize = 1 << 20;
        let count = self.axes.iter().try_fold(1_usize, |count, axis| count.checked_mul(axis.points));
        let count = count.filter(|&count| count <= MOST);
        let count = count.ok_or_else(|| Error::limit("too many points of a function", MOST as u64, u64::MAX))?;
        let Some(formula) = &self.formula else { return Ok(self.saved.iter().copied().take(count).collect()) };
        let mut step = 1;
        let mut at = Vec::new();
        for axis in &self.axes {
            let wide = (axis.to - axis.from) / axis.points.saturating_sub(1).max(1) as f64;
            let point = |place: usize| axis.from + wide * (place / step % axis.points) as f64;
            at.push((0..count).map(point).collect::<Vec<f64>>());
            step *= axis.points;
        }
        let at: Vec<&[f64]> = at.iter().map(Vec::as_slice).collect();
        let values = formula.values(&at)?;
        Ok(values.into_iter().map(|value| value / self.norm).collect())
    }

    /// The same over fewer points: at most so many along each axis. Saved values stay as they are.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::example("functions.root");
    /// use sapwood::query::Function;
    /// let function = Function::from_object(&sapwood::File::open(path)?.object("gauss")?)?;
    /// assert_eq!(function.with_points(11).values()?.len(), 11);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    #[must_use]
    pub fn with_points(mut self, most: usize) -> Self {
        if self.formula.is_some() {
            self.axes.iter_mut().for_each(|axis| axis.points = axis.points.min(most.max(2)));
        }
        self
    }

    /// Whether its values are computed, and not saved ones.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::example("functions.root");
    /// use sapwood::query::Function;
    /// let file = sapwood::File::open(path)?;
    /// assert!(Function::from_object(&file.object("gauss")?)?.is_formula());
    /// assert!(!Function::from_object(&file.object("compiled")?)?.is_formula());
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn is_formula(&self) -> bool {
        self.formula.is_some()
    }
}

/// What saved values are over: their range stands behind them, and for several variables the number of steps.
fn saved_axes(saved: &[f64], variables: usize) -> Result<Vec<FunctionAxis>> {
    let none = || Error::new(ErrorKind::Unsupported, "a function is compiled code, of which no values were saved");
    let behind = if variables > 1 { 3 * variables } else { 2 };
    let (values, range) = saved.len().checked_sub(behind).and_then(|at| saved.split_at_checked(at)).ok_or_else(none)?;
    let axis = |place: usize| {
        let points = match variables {
            1 => values.len(),
            _ => range.get(2 * variables + place).map_or(0, |steps| steps.clamp(0.0, 1e7) as usize + 1),
        };
        Some(FunctionAxis { from: *range.get(2 * place)?, to: *range.get(2 * place + 1)?, points })
    };
    let axes: Vec<FunctionAxis> = (0..variables).filter_map(axis).collect();
    let points = axes.iter().try_fold(1_usize, |count, axis| count.checked_mul(axis.points));
    match points == Some(values.len()) && values.len() > 1 {
        true => Ok(axes),
        false => Err(none()),
    }
}

/// A formula as an object has it.
struct Described {
    text: String,
    names: Vec<String>,
    values: Vec<f64>,
}

fn described(members: &Members<'_>) -> Described {
    let text = |name: &str| members.get(name).and_then(|value| value.as_text()).filter(|text| !text.is_empty());
    let values = match numbers(members, "fClingParameters") {
        values if values.is_empty() => numbers(members, "fParams"),
        values => values,
    };
    Described {
        text: text("fFormula").or_else(|| text("fTitle")).unwrap_or_default(),
        names: named(members).unwrap_or_else(|| texts(members, "fNames")),
        values,
    }
}

/// Names of parameters by their numbers, of a map of these.
fn named(members: &Members<'_>) -> Option<Vec<String>> {
    let Some(Value::List(pairs)) = members.get("fParams") else { return None };
    let mut found = Vec::new();
    for pair in pairs.iter() {
        let Value::Record(pair) = pair else { return None };
        let mut sides = pair.iter().map(|(_, side)| side);
        let (name, number) = (sides.next()?.as_text()?, usize::try_from(sides.next()?.as_int()?).ok()?);
        // As many as there are, whatever the map says.
        if number < pairs.len() {
            found.resize(found.len().max(number + 1), String::new());
            found[number] = name;
        }
    }
    Some(found)
}

fn numbers(members: &Members<'_>, name: &str) -> Vec<f64> {
    members.get(name).and_then(|value| value.numbers::<f64>()).unwrap_or_default()
}

fn texts(members: &Members<'_>, name: &str) -> Vec<String> {
    match members.get(name) {
        Some(Value::List(items)) => items.iter().map(|item| item.as_text().unwrap_or_default()).collect(),
        _ => Vec::new(),
    }
}

/// A formula that is being translated.
struct Parameters<'a> {
    text: &'a str,
    names: &'a [String],
    values: &'a [f64],
}

impl Parameters<'_> {
    fn fault(&self, why: impl std::fmt::Display) -> Error {
        let shown: String = self.text.chars().take(200).collect();
        Error::new(ErrorKind::Expression, format!("{why}, in the formula {shown:?}"))
    }

    /// The formula in the language of queries.
    fn translated(&self) -> Result<String> {
        let mut found = String::new();
        let mut rest = self.text;
        let mut term = Term::Begins;
        while let Some(first) = rest.chars().next() {
            if found.len() > LONGEST {
                return Err(self.fault("it is too long"));
            }
            let len = if first == '[' {
                let end = rest.find(']').ok_or_else(|| self.fault("a bracket is not closed"))?;
                found += &self.parameter(rest[1..end].trim())?;
                term = Term::Other;
                end + 1
            } else if first.is_ascii_alphabetic() || first == '_' {
                term = Term::Other;
                let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | ':');
                // A colon alone is that of a choice.
                let len = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
                let len = rest[..len]
                    .match_indices(':')
                    .find(|(at, _)| !rest[*at..].starts_with("::") && !rest[..*at].ends_with(':'))
                    .map_or(len, |(at, _)| at);
                len + self.word(&rest[..len], &rest[len..], &mut found)?
            } else if first.is_ascii_digit() || first == '.' {
                let (number, behind) = rest.split_at(number_len(rest));
                term = term.with_number(number, behind, &mut found);
                number.len()
            } else {
                term = term.with_sign(first);
                // In a formula it is a power, whatever stands beside it.
                found += if first == '^' { "**" } else { rest.split_at(first.len_utf8()).0 };
                first.len_utf8()
            };
            rest = &rest[len..];
        }
        Ok(found)
    }

    /// Translates a name; gives how many bytes behind it belong to it.
    fn word(&self, word: &str, behind: &str, found: &mut String) -> Result<usize> {
        // `x[1]` is y.
        if word == "x" && behind.starts_with('[') {
            let end = behind.find(']').ok_or_else(|| self.fault("a bracket is not closed"))?;
            let letter = behind[1..end].trim().parse().ok().and_then(|at: usize| ["x", "y", "z", "t"].get(at).copied());
            *found += letter.ok_or_else(|| self.fault("it has more than four variables"))?;
            return Ok(end + 1);
        }
        let first = behind
            .strip_prefix('(')
            .and_then(|inner| inner.split_once(')'))
            .and_then(|(inner, _)| Some((inner.trim().parse::<usize>().ok()?, inner.len() + 2)));
        let (number, len) = first.unwrap_or((0, 0));
        if let Some(shape) = self.shape(word, number)? {
            *found += &shape;
            return Ok(len);
        }
        let is_numbered = |name: &str| name.strip_prefix('p').is_some_and(|digits| digits.parse::<usize>().is_ok());
        let is_called = behind.trim_start().starts_with('(');
        let constant = CONSTANTS.iter().find(|(name, _)| *name == word && !is_called);
        match constant {
            _ if is_numbered(word) || self.names.iter().any(|name| name == word) && !is_called => {
                *found += &self.parameter(word)?;
            }
            Some((_, value)) => *found += value,
            None => *found += word,
        }
        Ok(0)
    }

    /// A shape that ROOT has a name for: `gaus(3)` begins with parameter 3.
    fn shape(&self, word: &str, first: usize) -> Result<Option<String>> {
        let of = |place: usize| self.parameter(&format!("{}", first.saturating_add(place)));
        let peak = |(a, b, c): (String, String, String)| format!("{a}*exp(-0.5*((x-{b})/{c})*((x-{b})/{c}))");
        let three = || Ok::<_, Error>((of(0)?, of(1)?, of(2)?));
        Ok(Some(match word {
            "gaus" => format!("({})", peak(three()?)),
            "gausn" => format!("({}/(TMath::Sqrt(TMath::TwoPi())*{}))", peak(three()?), of(2)?),
            "landau" => format!("({}*TMath::Landau(x,{},{},0))", of(0)?, of(1)?, of(2)?),
            "landaun" => format!("({}*TMath::Landau(x,{},{},1))", of(0)?, of(1)?, of(2)?),
            "expo" => format!("exp({}+{}*x)", of(0)?, of(1)?),
            _ => match word.strip_prefix("pol").and_then(|digits| digits.parse::<usize>().ok()) {
                Some(degree) if degree <= HIGHEST_DEGREE => {
                    let term = |power: usize| Ok(format!("{}*pow(x,{power})", of(power)?));
                    format!("({})", (0..=degree).map(term).collect::<Result<Vec<_>>>()?.join("+"))
                }
                _ => return Ok(None),
            },
        }))
    }

    /// The value of a parameter by its name or number.
    fn parameter(&self, name: &str) -> Result<String> {
        let number = || name.strip_prefix('p').unwrap_or(name).parse().ok();
        let place = self.names.iter().position(|known| known == name).or_else(number);
        let value = place.and_then(|place| self.values.get(place));
        Ok(match value {
            Some(value) if value.is_finite() => format!("({value:?})"),
            Some(value) if value.is_nan() => "(TMath::QuietNaN())".to_owned(),
            Some(value) => format!("({}TMath::Infinity())", if *value > 0.0 { "" } else { "-" }),
            None => return Err(self.fault(format!("the parameter {name:?} has no value"))),
        })
    }
}

/// What is multiplied and divided so far. C computes with whole numbers as long as there are no others, and cuts their
/// quotients: `3*1/2*x` is `1*x`.
enum Term {
    /// Nothing yet.
    Begins,
    /// Whole numbers from a place of the text on, and their value.
    Whole(usize, i64),
    /// The same with a sign behind.
    Signed(usize, i64, char),
    /// Something else.
    Other,
}

impl Term {
    /// Adds a number, and its text; a whole quotient takes the place of what was divided.
    fn with_number(self, number: &str, behind: &str, found: &mut String) -> Self {
        let is_whole = number.bytes().all(|byte| byte.is_ascii_digit());
        // A power is computed before, and with fractions.
        let whole = number.parse::<i64>().ok().filter(|_| is_whole && !behind.trim_start().starts_with('^'));
        let begin = found.len();
        if let (Self::Signed(start, value, '/'), Some(divisor)) = (&self, whole)
            && let Some(quotient) = value.checked_div(divisor)
        {
            found.truncate(*start);
            *found += &quotient.to_string();
            return Self::Whole(*start, quotient);
        }
        *found += number;
        let Some(whole) = whole else { return Self::Other };
        let (start, value) = match self {
            Self::Begins => (begin, Some(whole)),
            Self::Signed(start, value, '*') => (start, value.checked_mul(whole)),
            Self::Signed(start, value, '%') => (start, value.checked_rem(whole)),
            _ => (begin, None),
        };
        value.map_or(Self::Other, |value| Self::Whole(start, value))
    }

    fn with_sign(self, sign: char) -> Self {
        match (self, sign) {
            (term, ' ' | '\t' | '\n') => term,
            (Self::Whole(start, value), '*' | '/' | '%') => Self::Signed(start, value, sign),
            (_, '*' | '/' | '%' | '^' | ')') | (Self::Signed(..), '+' | '-') => Self::Other,
            _ => Self::Begins,
        }
    }
}

/// Bytes of the number that a text begins with.
fn number_len(rest: &str) -> usize {
    let digits = |text: &str| text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let whole = digits(rest);
    let behind = &rest[whole..];
    let exponent = behind.strip_prefix(['e', 'E']).map(|text| (1, text));
    let exponent = exponent.map(|(len, text)| match text.strip_prefix(['+', '-']) {
        Some(text) => (len + 1, text),
        None => (len, text),
    });
    match exponent {
        Some((len, text)) if digits(text) > 0 => whole + len + digits(text),
        _ => whole,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str, parameters: &[f64], x: f64) -> f64 {
        Formula::new(text, &[], parameters).unwrap().values(&[&[x]]).unwrap()[0]
    }

    #[test]
    fn formulas_are_read_as_root_writes_them() {
        for (text, expected) in [
            ("[0] + [p1]*x", 21.0),
            ("x[0]^2 - p0", 99.0),
            ("pol1(0)", 21.0),
            ("gaus(1)", 2.0 * (-0.5 * (10.0_f64 - 3.0).powi(2) / 16.0).exp()),
            ("x > 5 ? 1e1 : [0]", 10.0),
            ("1/2*x + 7 / 2", 3.0),
            ("x*1/2 + 1./4", 5.25),
            ("1e-3/2*x", 0.005),
            ("[0]*1e-3/2 + 1e+3/8", 125.0005),
            ("pow(x,-1/2) + x^(-1/2)", 2.0),
            ("x + 3*1/2 - 7%4/2", 10.0),
            ("2^1/4 + 1/2^2 + (7/2)*x", 30.75),
            ("exp(0)*TMath::Sq(x)", 100.0),
            ("true + false + sqrt2*sqrt2", 3.0),
        ] {
            let found = value(text, &[1.0, 2.0, 3.0, 4.0], 10.0);
            assert!((found - expected).abs() < 1e-12, "{text}: {found}");
        }
    }

    #[test]
    fn what_has_no_value_is_an_error() {
        for text in ["[3", "[7]", "x[5]", "x[0", "gaus(2)"] {
            assert_eq!(Formula::new(text, &[], &[1.0, 2.0]).unwrap_err().kind(), ErrorKind::Expression, "{text}");
        }
        let long = "pol64".repeat(2000);
        assert!(Formula::new(&format!("{}x", "pol9+".repeat(1 << 17)), &[], &[1.0; 10]).is_err());
        assert!(Formula::new(&long, &[], &[1.0; 65]).unwrap().values(&[&[1.0]]).is_err());
        let unknown = Formula::new("none_such(x)", &[], &[]).unwrap();
        assert_eq!(unknown.values(&[&[1.0]]).unwrap_err().kind(), ErrorKind::Expression);
    }

    #[test]
    fn saved_values_that_do_not_fit_their_range_are_refused() {
        let axes = |saved: &[f64], variables| saved_axes(saved, variables).map(|axes| axes.len()).ok();
        assert_eq!(axes(&[1.0, 2.0, 0.0, 4.0], 1), Some(1));
        assert_eq!(axes(&[1.0, 2.0, 3.0, 4.0, 0.0, 1.0, 0.0, 1.0, 1.0, 1.0], 2), Some(2));
        for (saved, variables) in [(&[][..], 1), (&[0.0, 4.0], 1), (&[1.0, 0.0, 1.0, 0.0, 1.0, 1e300, 1e300], 2)] {
            assert_eq!(axes(saved, variables), None);
        }
    }
}
