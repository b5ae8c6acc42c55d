//! From tokens to expressions: the grammar.
//!
//! Operators bind as in C. Where Python, which uproot's expressions are written in, would read the same characters as
//! something else, brackets are asked for.

use super::fault::fault;
use super::number::Cast;
use super::syntax::{Binary, Expr, Item, Node, POWER, Unary};
use super::token::{Placed, Token, tokens};
use crate::error::{Error, ErrorKind, Result};

/// The longest expression, in bytes.
const LONGEST: usize = 20_000;
/// The deepest, in brackets, signs and choices inside each other, while it is parsed.
const DEEPEST: usize = 200;
/// The most operators, brackets and calls in each other. A long sum is as high as it has terms.
pub(super) const HIGHEST: usize = 250;

/// Parses one expression.
pub(super) fn parse(text: &str) -> Result<Expr> {
    let mut parser = Parser::new(text)?;
    let found = parser.choice(0)?;
    parser.end()?;
    Ok(found)
}

/// Parses expressions with colons between them, as those of the axes of a histogram.
pub(super) fn parse_list(text: &str) -> Result<Vec<Expr>> {
    let mut parser = Parser::new(text)?;
    let mut found = vec![parser.choice(0)?];
    while parser.take(":") {
        found.push(parser.choice(0)?);
    }
    parser.end()?;
    Ok(found)
}

/// Checks the form of an expression, whatever its names mean.
pub(crate) fn check_expression(text: &str) -> Result<()> {
    parse(text).map(drop)
}

/// The expressions of a text with colons between, as `TTree::Draw` and `TTree::Scan` take them.
///
/// # Errors
///
/// [`Expression`](ErrorKind::Expression) for what cannot be understood.
///
/// # Example
///
/// ```
/// assert_eq!(sapwood::query::split_expressions("a ? b : c : TMath::Abs(x)")?, ["a ? b : c", "TMath::Abs(x)"]);
/// # Ok::<(), sapwood::Error>(())
/// ```
pub fn split_expressions(text: &str) -> Result<Vec<String>> {
    Ok(parse_list(text)?.into_iter().filter_map(|expr| Some(text.get(expr.span)?.trim().to_owned())).collect())
}

/// Advice for expressions with Python's words.
const WRITE_SIGNS: &str = "write && for 'and', || for 'or', ! for 'not' and c ? a : b for a choice";

/// Whether a name is a word of Python. As the name of a branch it is a value like any other.
fn is_word(name: &str) -> bool {
    ["and", "or", "not", "if", "else", "lambda", "in", "is"].contains(&name)
}

struct Parser<'t> {
    text: &'t str,
    tokens: Vec<Placed>,
    at: usize,
}

impl<'t> Parser<'t> {
    fn new(text: &'t str) -> Result<Self> {
        if text.len() > LONGEST {
            let words = format!("an expression has {} characters, more than {LONGEST}", text.len());
            return Err(Error::new(ErrorKind::Expression, words));
        }
        Ok(Self { text, tokens: tokens(text)?, at: 0 })
    }

    fn token(&self) -> &Token {
        self.tokens.get(self.at).map_or(&Token::End, |placed| &placed.token)
    }

    /// Where the next token begins.
    fn start(&self) -> usize {
        self.tokens.get(self.at).map_or(self.text.len(), |placed| placed.span.start)
    }

    /// Where the last token ended.
    fn stop(&self) -> usize {
        self.at.checked_sub(1).and_then(|last| self.tokens.get(last)).map_or(0, |placed| placed.span.end)
    }

    fn is(&self, sign: &str) -> bool {
        matches!(self.token(), Token::Sign(found) if *found == sign)
    }

    fn take(&mut self, sign: &str) -> bool {
        let found = self.is(sign);
        self.at += usize::from(found);
        found
    }

    fn close(&mut self, sign: &str, opened: usize) -> Result<()> {
        if self.take(sign) {
            return Ok(());
        }
        let words = format!("this bracket needs a '{sign}', and {} follows", self.shown());
        Err(fault(self.text, opened, words))
    }

    fn shown(&self) -> String {
        match self.tokens.get(self.at) {
            Some(Placed { token, span }) if *token != Token::End => format!("'{}'", &self.text[span.clone()]),
            _ => "the end".to_owned(),
        }
    }

    /// Whether the last token is a word of Python that was taken for a name.
    fn follows_word(&self) -> bool {
        let last = self.at.checked_sub(1).and_then(|at| self.tokens.get(at));
        matches!(last, Some(Placed { token: Token::Name(name), .. }) if is_word(name))
    }

    fn end(&self) -> Result<()> {
        match self.token() {
            Token::End => Ok(()),
            Token::Name(name) if is_word(name) => Err(fault(self.text, self.start(), WRITE_SIGNS)),
            _ if self.follows_word() => Err(fault(self.text, self.start(), WRITE_SIGNS)),
            Token::Sign("=") => Err(fault(self.text, self.start(), "write == to compare")),
            Token::Sign(":") => {
                Err(fault(self.text, self.start(), "':' stands between the axes of a histogram; here is one value"))
            }
            _ => Err(fault(self.text, self.start(), format!("an operator is missing before {}", self.shown()))),
        }
    }

    fn made(&self, node: Node, start: usize) -> Result<Expr> {
        let height = node.height() + 1;
        if height > HIGHEST {
            let words = format!("more than {HIGHEST} operators, brackets and calls are in each other");
            return Err(fault(self.text, start, words));
        }
        Ok(Expr { node, span: start..self.stop(), bracketed: false, height })
    }

    fn deeper(&self, depth: usize) -> Result<usize> {
        if depth >= DEEPEST {
            return Err(fault(self.text, self.start(), format!("the expression is deeper than {DEEPEST} levels")));
        }
        Ok(depth + 1)
    }

    /// `condition ? yes : no`, and what binds tighter.
    fn choice(&mut self, depth: usize) -> Result<Expr> {
        let depth = self.deeper(depth)?;
        let start = self.start();
        let condition = self.binary(1, depth)?;
        let question = self.start();
        if !self.take("?") {
            return Ok(condition);
        }
        let yes = self.choice(depth)?;
        if !self.take(":") {
            return Err(fault(self.text, question, "'?' needs a ':' and a second value"));
        }
        let no = self.choice(depth)?;
        self.made(Node::Choice(Box::new(condition), Box::new(yes), Box::new(no)), start)
    }

    /// Operators that bind at least so tightly.
    fn binary(&mut self, least: u8, depth: usize) -> Result<Expr> {
        let start = self.start();
        let mut left = self.unary(depth)?;
        loop {
            let Token::Sign(sign) = *self.token() else { return Ok(left) };
            let Some(operator) = Binary::of_sign(sign).filter(|operator| operator.strength() >= least) else {
                return Ok(left);
            };
            let at = self.start();
            self.at += 1;
            let right = self.binary(operator.strength() + 1, depth)?;
            self.check_brackets(operator, at, &left, &right)?;
            left = self.made(Node::Binary(operator, Box::new(left), Box::new(right)), start)?;
        }
    }

    /// Asks for brackets where C and Python disagree.
    fn check_brackets(&self, operator: Binary, at: usize, left: &Expr, right: &Expr) -> Result<()> {
        let sides = [left.open_operator(), right.open_operator()];
        let any = |is: fn(Binary) -> bool| sides.into_iter().flatten().any(is);
        if operator.is_bitwise() && any(Binary::is_comparison) || operator.is_comparison() && any(Binary::is_bitwise) {
            let words = "'&' and '|' bind tighter than comparisons in Python, and less in C: put comparisons in \
                         brackets, as in (a > 1) & (b < 2), or write && and ||";
            return Err(fault(self.text, at, words));
        }
        if operator.is_comparison() && any(Binary::is_comparison) {
            let words = "comparisons in a row mean something else in Python than in C: put brackets, or write \
                         (a < b) && (b < c)";
            return Err(fault(self.text, at, words));
        }
        if operator.strength() == POWER && any(|inner| inner.strength() == POWER) {
            let words = "powers in a row are read from the left in ROOT, and from the right in Python: put brackets, \
                         as in (a**b)**c";
            return Err(fault(self.text, at, words));
        }
        Ok(())
    }

    fn unary(&mut self, depth: usize) -> Result<Expr> {
        let depth = self.deeper(depth)?;
        let start = self.start();
        let operator = match self.token() {
            Token::Sign("-") => Unary::Minus,
            Token::Sign("+") => Unary::Plus,
            Token::Sign("!") => Unary::Not,
            Token::Sign("~") => Unary::Invert,
            Token::Sign("(") => match self.cast() {
                Some(cast) => Unary::Cast(cast),
                None => return self.postfix(depth),
            },
            _ => return self.postfix(depth),
        };
        if !matches!(operator, Unary::Cast(_)) {
            self.at += 1;
        }
        // A sign before a power is a sign of the power; everything else is weaker than a sign.
        let of = if matches!(operator, Unary::Cast(_)) { self.unary(depth)? } else { self.binary(POWER, depth)? };
        self.made(Node::Unary(operator, Box::new(of)), start)
    }

    /// Takes `(int)` and the like.
    fn cast(&mut self) -> Option<Cast> {
        let mut words = Vec::new();
        let mut at = self.at + 1;
        while let Some(Placed { token: Token::Name(word), .. }) = self.tokens.get(at) {
            words.push(word.as_str());
            at += 1;
        }
        let is_closed = matches!(self.tokens.get(at), Some(Placed { token: Token::Sign(")"), .. }));
        let cast = Cast::of_name(&words.join(" ")).filter(|_| is_closed && !words.is_empty())?;
        // `(x)` could be a branch with the name of a type only if nothing follows that is a value.
        let follows = self.tokens.get(at + 1).map(|placed| &placed.token);
        let is_value = match follows {
            Some(Token::Sign(sign)) => ["(", "@", "!", "~"].contains(sign) || *sign == "-" || *sign == "+",
            Some(Token::End) | None => false,
            Some(_) => true,
        };
        if !is_value {
            return None;
        }
        self.at = at + 1;
        Some(cast)
    }

    /// A value with what follows it: members, indices, calls.
    fn postfix(&mut self, depth: usize) -> Result<Expr> {
        let start = self.start();
        let of = self.primary(depth)?;
        self.followed(of, start, depth, false)
    }

    /// A value with its members and indices. What `@` stands before ends at its `.size()`.
    fn followed(&mut self, mut of: Expr, start: usize, depth: usize, is_sized: bool) -> Result<Expr> {
        loop {
            let at = self.start();
            let node = if self.take("[") {
                Node::Index(Box::new(of), self.index(at, depth)?)
            } else if !is_sized && self.take("@") {
                if !self.take(".") {
                    return Err(fault(self.text, at, "'@' here needs '.size()' after it"));
                }
                self.size_call()?;
                Node::Size(Box::new(of))
            } else if self.take(".") {
                if self.is_size_call() && is_sized {
                    self.at -= 1;
                    return Ok(of);
                } else if self.is_size_call() {
                    self.size_call()?;
                    match of.node {
                        Node::Size(_) => of.node,
                        _ => Node::Length(Box::new(of)),
                    }
                } else {
                    let Token::Name(name) = self.token() else {
                        return Err(fault(self.text, at, "a name has to follow the point"));
                    };
                    let name = name.clone();
                    self.at += 1;
                    if self.is("(") {
                        let words = format!("the method '{name}' cannot be called: only size() can");
                        return Err(fault(self.text, at + 1, words));
                    }
                    Node::Member(Box::new(of), name)
                }
            } else {
                return Ok(of);
            };
            of = self.made(node, start)?;
        }
    }

    fn is_size_call(&self) -> bool {
        let token = |ahead: usize| self.tokens.get(self.at + ahead).map(|placed| &placed.token);
        let is_size = matches!(token(0), Some(Token::Name(name)) if ["size", "length"].contains(&name.as_str()));
        is_size && token(1) == Some(&Token::Sign("(")) && token(2) == Some(&Token::Sign(")"))
    }

    fn size_call(&mut self) -> Result<()> {
        if !self.is_size_call() {
            return Err(fault(self.text, self.start(), "only size() can be called here"));
        }
        self.at += 3;
        Ok(())
    }

    /// What is between the brackets of an index, and the closing one.
    fn index(&mut self, opened: usize, depth: usize) -> Result<Vec<Item>> {
        if self.take("]") {
            return Ok(vec![Item::All]);
        }
        let mut items = Vec::new();
        loop {
            items.push(self.index_item(depth)?);
            if !self.take(",") {
                break;
            }
        }
        self.close("]", opened)?;
        Ok(items)
    }

    fn index_item(&mut self, depth: usize) -> Result<Item> {
        if self.take("...") {
            return Ok(Item::Rest);
        }
        let from = if self.is(":") { None } else { Some(self.choice(depth)?) };
        if !self.take(":") {
            return match from {
                Some(one) => Ok(Item::One(one)),
                None => Err(fault(self.text, self.start(), "an index is missing")),
            };
        }
        let ends = |parser: &Self| [":", ",", "]"].into_iter().any(|sign| parser.is(sign));
        let to = if ends(self) { None } else { Some(self.choice(depth)?) };
        let step = if self.take(":") && !ends(self) { Some(self.choice(depth)?) } else { None };
        Ok(Item::Slice { from, to, step })
    }

    fn primary(&mut self, depth: usize) -> Result<Expr> {
        let start = self.start();
        let node = match self.token().clone() {
            Token::Whole(whole) => Node::Whole(whole),
            Token::Fraction(fraction) => Node::Fraction(fraction),
            Token::Text(text) => Node::Text(text),
            Token::Name(name) => {
                self.at += 1;
                if is_word(&name) && self.is("(") {
                    return Err(fault(self.text, start, WRITE_SIGNS));
                }
                let opened = self.start();
                if !self.take("(") {
                    return self.made(Node::Name(name), start);
                }
                let mut arguments = Vec::new();
                if !self.is(")") {
                    arguments.push(self.choice(depth)?);
                    while self.take(",") {
                        arguments.push(self.choice(depth)?);
                    }
                }
                self.close(")", opened)?;
                return self.made(Node::Call(name, arguments), start);
            }
            Token::Sign("(") => {
                self.at += 1;
                let inner = self.choice(depth)?;
                self.close(")", start)?;
                return Ok(Expr { span: start..self.stop(), bracketed: true, ..inner });
            }
            Token::Sign("@") => {
                let depth = self.deeper(depth)?;
                self.at += 1;
                let begin = self.start();
                let of = self.primary(depth)?;
                let of = self.followed(of, begin, depth, true)?;
                return self.made(Node::Size(Box::new(of)), start);
            }
            Token::Sign(_) | Token::End => {
                let words = format!("a value is missing before {}", self.shown());
                return Err(fault(self.text, start, words));
            }
        };
        self.at += 1;
        self.made(node, start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An expression with brackets around everything.
    fn shown(expr: &Expr) -> String {
        match &expr.node {
            Node::Whole(whole) => whole.to_string(),
            Node::Fraction(fraction) => fraction.to_string(),
            Node::Text(text) => format!("{text:?}"),
            Node::Name(name) => name.clone(),
            Node::Member(of, name) => format!("{}.{name}", shown(of)),
            Node::Size(of) => format!("@{}", shown(of)),
            Node::Length(of) => format!("{}.size()", shown(of)),
            Node::Call(name, of) => format!("{name}({})", of.iter().map(shown).collect::<Vec<_>>().join(",")),
            Node::Unary(operator, of) => format!("{operator:?}({})", shown(of)),
            Node::Binary(operator, a, b) => format!("({} {operator:?} {})", shown(a), shown(b)),
            Node::Choice(a, b, c) => format!("({} ? {} : {})", shown(a), shown(b), shown(c)),
            Node::Index(of, items) => {
                let item = |item: &Item| match item {
                    Item::All => String::new(),
                    Item::Rest => "...".to_owned(),
                    Item::One(one) => shown(one),
                    Item::Slice { from, to, step } => {
                        let part = |part: &Option<Expr>| part.as_ref().map_or_else(String::new, shown);
                        format!("{}:{}:{}", part(from), part(to), part(step))
                    }
                };
                format!("{}[{}]", shown(of), items.iter().map(item).collect::<Vec<_>>().join(","))
            }
        }
    }

    #[test]
    fn operators_bind_as_in_c_and_powers_tightest() {
        for (text, expected) in [
            ("a + b * c", "(a Add (b Multiply c))"),
            ("a - b - c", "((a Subtract b) Subtract c)"),
            ("-x**2", "Minus((x Power 2))"),
            ("x**-1", "(x Power Minus(1))"),
            ("!a == b", "(Not(a) Equal b)"),
            ("y<0 && sqrt(z)>6", "((y Less 0) And (sqrt(z) Greater 6))"),
            ("a || b && c", "(a Or (b And c))"),
            ("a ? b : c ? d : e", "(a ? b : (c ? d : e))"),
            ("(int)x + 1", "(Cast(Cast(I32))(x) Add 1)"),
            ("(x) + 1", "(x Add 1)"),
            ("v[][1].z", "v[][1].z"),
            ("v[:, 1:n:2, ...]", "v[::,1:n:2,...]"),
            ("@v.size() + v@.size()", "(@v Add @v)"),
        ] {
            assert_eq!(shown(&parse(text).expect(text)), expected, "{text}");
        }
        let axes = parse_list("a ? b : c : TMath::Abs(d)").expect("two axes");
        assert_eq!(axes.iter().map(shown).collect::<Vec<_>>(), ["(a ? b : c)", "TMath::Abs(d)"]);
    }

    #[test]
    fn what_reads_differently_in_two_languages_is_asked_for_in_brackets() {
        for text in ["a == 1 | b == 2", "a & 1 == 0", "1 < x < 3", "2**3**2", "x^2^3"] {
            let error = parse(text).expect_err(text);
            assert_eq!(error.kind(), ErrorKind::Expression);
            assert!(error.message().contains("write") || error.message().contains("brackets"), "{error}");
        }
        parse("(a == 1) | (b == 2)").expect("brackets");
        parse("(a & 1) == 0").expect("brackets");
    }

    #[test]
    fn mistakes_are_shown_with_their_place() {
        for (text, at, words) in [
            ("", 1, "missing"),
            ("x + * y", 5, "missing"),
            ("(x + y", 1, "')'"),
            ("x y", 3, "operator"),
            ("a and b", 3, "&&"),
            ("f(x,", 5, "missing"),
            ("x = 2", 3, "=="),
            ("v[1", 2, "']'"),
            ("a ? b", 3, "':'"),
            ("x.f()", 3, "size()"),
        ] {
            let error = parse(text).expect_err(text).to_string();
            assert!(error.contains(&format!("at character {at} ")) && error.contains(words), "{text:?}: {error}");
        }
    }

    #[test]
    fn length_and_depth_are_bounded() {
        let deep = format!("{}x{}", "(".repeat(500), ")".repeat(500));
        assert!(parse(&deep).expect_err("deep").message().contains("deeper"));
        let minus = format!("{}x", "-".repeat(500));
        assert!(parse(&minus).is_err());
        assert!(parse(&vec!["x"; 3_000].join("+")).is_err());
        assert!(parse(&"x".repeat(30_000)).is_err());
        assert!(parse(&format!("{}x", "@".repeat(19_000))).is_err());
        let sum = vec!["x"; 200].join("+");
        parse(&sum).expect("a long sum");
        assert!(parse(&format!("({sum})+{sum}")).is_err(), "brackets do not begin anew");
    }
}
