//! Parses a `\set` expression by precedence climbing; precedences are those of exprparse.y.

use crate::cursor::{Fault, Lookup, Parser};
use crate::error::undefined;
use crate::expr::{find_function, Arity, Expr, Function};
use crate::token::Token;
use crate::value::Value;

/// Bounds recursion, in parsing, evaluating and dropping, far below what a thread's stack holds.
const MAX_DEPTH: usize = 100;
const MAX_OPERATORS: usize = 1_000;

const FUNCTIONS: &str = "there are abs, debug, double, exp, greatest, hash, hash_fnv1a, \
     hash_murmur2, int, least, ln, mod, permute, pi, pow, power, random, random_exponential, \
     random_gaussian, random_zipfian and sqrt";

// Lowest to highest, as exprparse.y lists them.
const OR: u8 = 1;
const AND: u8 = 2;
const NOT: u8 = 3;
const IS: u8 = 4;
const COMPARE: u8 = 5;
const BITS: u8 = 6;
const SUM: u8 = 7;
const PRODUCT: u8 = 8;
const UNARY: u8 = 9;

/// Parses the whole of `text`.
pub(crate) fn expression(text: &str, lookup: &mut dyn Lookup) -> Result<Expr, Fault> {
    let mut parser = Parser::new(text, lookup)?;
    let expr = parser.binary(OR)?;
    match parser.next {
        Token::End => Ok(expr),
        _ => Err(parser.syntax_error()),
    }
}

impl<'a> Parser<'a, '_> {
    /// The binary operator `next` is: its precedence, its function, whether operands change sides.
    fn operator(&self) -> Option<(u8, Function, bool)> {
        let symbol = match self.next {
            Token::Symbol(symbol) => symbol,
            Token::Word(word) if word.eq_ignore_ascii_case("and") => {
                return Some((AND, Function::And, false))
            }
            Token::Word(word) if word.eq_ignore_ascii_case("or") => {
                return Some((OR, Function::Or, false))
            }
            _ => return None,
        };
        Some(match symbol {
            "+" => (SUM, Function::Add, false),
            "-" => (SUM, Function::Sub, false),
            "*" => (PRODUCT, Function::Mul, false),
            "/" => (PRODUCT, Function::Div, false),
            "%" => (PRODUCT, Function::Mod, false),
            "<" => (COMPARE, Function::Lt, false),
            "<=" => (COMPARE, Function::Le, false),
            ">" => (COMPARE, Function::Lt, true),
            ">=" => (COMPARE, Function::Le, true),
            "=" => (COMPARE, Function::Eq, false),
            "<>" | "!=" => (COMPARE, Function::Ne, false),
            "&" => (BITS, Function::BitAnd, false),
            "|" => (BITS, Function::BitOr, false),
            "#" => (BITS, Function::BitXor, false),
            "<<" => (BITS, Function::ShiftLeft, false),
            ">>" => (BITS, Function::ShiftRight, false),
            _ => return None,
        })
    }

    /// An expression whose operators all bind at least as tightly as `least`.
    fn binary(&mut self, least: u8) -> Result<Expr, Fault> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return self.fault("expression is nested too deeply");
        }
        let mut left = self.prefix()?;
        // `a < b < c` is no expression: comparisons do not associate.
        let mut compared = false;
        loop {
            if IS >= least {
                if let Some(test) = self.postfix()? {
                    left = apply_test(left, test);
                    compared = false;
                    continue;
                }
            }
            let Some((level, function, swapped)) = self.operator() else {
                break;
            };
            if level < least {
                break;
            }
            if compared && level == COMPARE {
                return Err(self.syntax_error());
            }
            self.take_operator()?;
            let right = self.binary(level + 1)?;
            let pair = if swapped {
                vec![right, left]
            } else {
                vec![left, right]
            };
            left = Expr::Call(function, pair);
            compared = level == COMPARE;
        }
        self.depth -= 1;
        Ok(left)
    }

    /// `IS [NOT] NULL|TRUE|FALSE`, `ISNULL`, `NOTNULL`: what to compare with, and whether negated.
    fn postfix(&mut self) -> Result<Option<(Value, bool)>, Fault> {
        if self.is_word("isnull") || self.is_word("notnull") {
            let negated = self.is_word("notnull");
            self.take_operator()?;
            return Ok(Some((Value::Null, negated)));
        }
        if !self.is_word("is") {
            return Ok(None);
        }
        self.take_operator()?;
        let negated = self.take_word("not")?;
        for (word, value) in [
            ("null", Value::Null),
            ("true", Value::Bool(true)),
            ("false", Value::Bool(false)),
        ] {
            if self.take_word(word)? {
                return Ok(Some((value, negated)));
            }
        }
        Err(self.syntax_error())
    }

    fn take_operator(&mut self) -> Result<(), Fault> {
        self.operators += 1;
        if self.operators > MAX_OPERATORS {
            return self.fault("expression has too many operators");
        }
        self.advance()
    }

    fn prefix(&mut self) -> Result<Expr, Fault> {
        match self.next {
            Token::Symbol("(") => {
                self.advance()?;
                let inner = self.binary(OR)?;
                if self.take_symbol(")")? {
                    Ok(inner)
                } else {
                    Err(self.syntax_error())
                }
            }
            Token::Symbol("+") => {
                self.advance()?;
                self.binary(UNARY)
            }
            Token::Symbol("-") => self.negative(),
            Token::Symbol("~") => {
                self.advance()?;
                let operand = self.binary(BITS + 1)?;
                Ok(Expr::Call(
                    Function::BitXor,
                    vec![Expr::Constant(Value::Int(-1)), operand],
                ))
            }
            Token::Int(value) => {
                let Ok(value) = i64::try_from(value) else {
                    return self.fault("bigint constant overflow");
                };
                self.constant(Value::Int(value))
            }
            Token::Double(value) => self.constant(Value::Double(value)),
            Token::Variable(name) => self.variable(name),
            Token::Word(word) => self.word(word),
            Token::Symbol(_) | Token::End => Err(self.syntax_error()),
        }
    }

    /// Unary minus is `0 - x`, but −2^63 is a constant of its own.
    fn negative(&mut self) -> Result<Expr, Fault> {
        self.advance()?;
        if self.next == Token::Int(1 << 63) {
            return self.constant(Value::Int(i64::MIN));
        }
        let operand = self.binary(UNARY)?;
        Ok(Expr::Call(
            Function::Sub,
            vec![Expr::Constant(Value::Int(0)), operand],
        ))
    }

    fn constant(&mut self, value: Value) -> Result<Expr, Fault> {
        self.advance()?;
        Ok(Expr::Constant(value))
    }

    fn variable(&mut self, name: &str) -> Result<Expr, Fault> {
        let Some(found) = self.lookup.find(name) else {
            return self.fault(undefined(name));
        };
        self.advance()?;
        Ok(Expr::Variable(found.slot, name.into()))
    }

    fn word(&mut self, word: &'a str) -> Result<Expr, Fault> {
        match word.to_ascii_lowercase().as_str() {
            "null" => self.constant(Value::Null),
            "true" => self.constant(Value::Bool(true)),
            "false" => self.constant(Value::Bool(false)),
            "not" => {
                self.advance()?;
                let operand = self.binary(NOT)?;
                Ok(Expr::Call(Function::Not, vec![operand]))
            }
            "case" => self.case(),
            _ => self.call(word),
        }
    }

    fn case(&mut self) -> Result<Expr, Fault> {
        self.advance()?;
        let mut branches = Vec::new();
        while self.take_word("when")? {
            let condition = self.binary(OR)?;
            self.expect_word("then")?;
            branches.push((condition, self.binary(OR)?));
        }
        if branches.is_empty() {
            return Err(self.syntax_error());
        }
        let otherwise = match self.take_word("else")? {
            true => self.binary(OR)?,
            false => Expr::Constant(Value::Null),
        };
        self.expect_word("end")?;
        Ok(Expr::Case(branches, Box::new(otherwise)))
    }

    fn call(&mut self, name: &'a str) -> Result<Expr, Fault> {
        let at = self.start;
        let Some((function, arity)) = find_function(name) else {
            return self.fault(format!("unexpected function name \"{name}\"; {FUNCTIONS}"));
        };
        self.advance()?;
        if !self.take_symbol("(")? {
            return Err(self.syntax_error());
        }
        let mut arguments = Vec::new();
        if !self.take_symbol(")")? {
            loop {
                arguments.push(self.binary(OR)?);
                if self.take_symbol(")")? {
                    break;
                }
                if !self.take_symbol(",")? {
                    return Err(self.syntax_error());
                }
            }
        }
        let fits = match arity {
            Arity::Exactly(count) => arguments.len() == count,
            Arity::AtLeastOne => !arguments.is_empty(),
            Arity::Seeded(count) => arguments.len() == count || arguments.len() == count + 1,
        };
        if !fits {
            let what = match arity {
                Arity::AtLeastOne => "at least one argument expected",
                _ => "unexpected number of arguments",
            };
            return Err(Fault {
                offset: at,
                message: format!("{what} of function \"{name}\""),
            });
        }
        if arity == Arity::Seeded(arguments.len()) {
            match self.lookup.find("default_seed") {
                Some(found) => {
                    arguments.push(Expr::Variable(found.slot, "default_seed".into()));
                }
                None => {
                    return Err(Fault {
                        offset: at,
                        message: undefined("default_seed"),
                    })
                }
            }
        }
        Ok(Expr::Call(function, arguments))
    }
}

fn apply_test(operand: Expr, (value, negated): (Value, bool)) -> Expr {
    let test = Expr::Call(Function::Is, vec![operand, Expr::Constant(value)]);
    match negated {
        true => Expr::Call(Function::Not, vec![test]),
        false => test,
    }
}
