//! Exact arithmetic: `+ - * / ^` and brackets, refused where a number becomes too large.

use num_rational::Ratio;
use num_traits::{CheckedAdd, CheckedDiv, CheckedMul, CheckedSub, checked_pow};

/// Brackets, signs and powers may nest so deep.
const MAX_DEPTH: u32 = 64;
/// A number is shown with so many digits after its point.
const SHOWN_DIGITS: usize = 12;

type Number = Ratio<i128>;

/// Why there is no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// It is no expression.
    Malformed,
    DivisionByZero,
    /// A number on the way is too large, or the brackets nest too deep.
    TooLarge,
}

/// Computes an expression: its decimal digits, and whether they are all of them.
///
/// # Errors
/// [`Trouble`] says why there is no result.
pub(crate) fn evaluate(expression: &str) -> Result<(String, bool), Trouble> {
    let mut reader = Reader {
        rest: expression,
        depth: 0,
    };
    let value = reader.sum()?;
    if reader.rest.trim().is_empty() {
        shown(value)
    } else {
        Err(Trouble::Malformed)
    }
}

fn shown(value: Number) -> Result<(String, bool), Trouble> {
    let under = value.denom().unsigned_abs();
    let over = value.numer().unsigned_abs();
    let mut left = over % under;
    let mut digits = String::new();
    while left != 0 && digits.len() < SHOWN_DIGITS {
        let tenfold = left.checked_mul(10).ok_or(Trouble::TooLarge)?;
        digits.push_str(&(tenfold / under).to_string());
        left = tenfold % under;
    }
    let sign = if *value.numer() < 0 { "-" } else { "" };
    let point = if digits.is_empty() { "" } else { "." };
    Ok((format!("{sign}{}{point}{digits}", over / under), left == 0))
}

/// Reads an expression from the left, each rule a method.
struct Reader<'a> {
    rest: &'a str,
    depth: u32,
}

impl Reader<'_> {
    fn sum(&mut self) -> Result<Number, Trouble> {
        let mut value = self.product()?;
        loop {
            let sum = if self.takes("+") {
                value.checked_add(&self.product()?)
            } else if self.takes("-") {
                value.checked_sub(&self.product()?)
            } else {
                return Ok(value);
            };
            value = sum.ok_or(Trouble::TooLarge)?;
        }
    }

    fn product(&mut self) -> Result<Number, Trouble> {
        let mut value = self.signed()?;
        loop {
            let product = if self.takes("*") {
                value.checked_mul(&self.signed()?)
            } else if self.takes("/") {
                let by = self.signed()?;
                if by == Number::ZERO {
                    return Err(Trouble::DivisionByZero);
                }
                value.checked_div(&by)
            } else {
                return Ok(value);
            };
            value = product.ok_or(Trouble::TooLarge)?;
        }
    }

    fn signed(&mut self) -> Result<Number, Trouble> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(Trouble::TooLarge);
        }
        let value = if self.takes("-") {
            let value = self.signed()?;
            Number::ZERO.checked_sub(&value).ok_or(Trouble::TooLarge)?
        } else {
            self.power()?
        };
        self.depth -= 1;
        Ok(value)
    }

    fn power(&mut self) -> Result<Number, Trouble> {
        let base = if self.takes("(") {
            let inner = self.sum()?;
            if !self.takes(")") {
                return Err(Trouble::Malformed);
            }
            inner
        } else {
            self.number()?
        };
        if !self.takes("^") {
            return Ok(base);
        }
        let exponent = self.signed()?;
        if !exponent.is_integer() {
            return Err(Trouble::Malformed);
        }
        let times = exponent.numer().unsigned_abs();
        let times = usize::try_from(times).map_err(|_| Trouble::TooLarge)?;
        let power = checked_pow(base, times).ok_or(Trouble::TooLarge)?;
        match *exponent.numer() < 0 {
            true if power == Number::ZERO => Err(Trouble::DivisionByZero),
            true => Ok(power.recip()),
            false => Ok(power),
        }
    }

    fn number(&mut self) -> Result<Number, Trouble> {
        self.rest = self.rest.trim_start();
        let is_digit = |c: char| c.is_ascii_digit() || c == '.';
        let end = self.rest.find(|c| !is_digit(c)).unwrap_or(self.rest.len());
        let (digits, rest) = self.rest.split_at(end);
        self.rest = rest;
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
            return Err(Trouble::Malformed);
        }
        let over: i128 = format!("{whole}{fraction}")
            .parse()
            .map_err(|_| Trouble::TooLarge)?;
        let under = checked_pow(10_i128, fraction.len()).ok_or(Trouble::TooLarge)?;
        Ok(Number::new(over, under))
    }

    fn takes(&mut self, sign: &str) -> bool {
        self.rest = self.rest.trim_start();
        let rest = self.rest.strip_prefix(sign);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // proves FC-5
    #[test]
    fn arithmetic_is_exact_or_says_why_not() {
        let check = |expression: &str, expected: &str| {
            let value = match evaluate(expression) {
                Ok((digits, true)) => digits,
                Ok((digits, false)) => format!("~ {digits}"),
                Err(trouble) => format!("{trouble:?}"),
            };
            assert_eq!(value, expected, "{expression}");
        };
        check("12 * (3+4)", "84");
        check("2+2*2", "6");
        check("0.1+0.2", "0.3");
        check("-7/2", "-3.5");
        check("2^-2", "0.25");
        check("-2^2", "-4");
        check("2^3^2", "512");
        check("1/3", "~ 0.333333333333");
        check("-2/3", "~ -0.666666666666");
        check("(1/3)*3", "1");
        check("1/0", "DivisionByZero");
        check("0^-1", "DivisionByZero");
        check("5/(2-2)", "DivisionByZero");
        check("2^127", "TooLarge");
        check("2^126", "85070591730234615865843651857942052864");
        check("99999999999999999999*99999999999999999999", "TooLarge");
        check("170141183460469231731687303715884105727+1", "TooLarge");
        check("0^99999999999", "0");
        check("2^99999999999999999999", "TooLarge");
        check("2^0.5", "Malformed");
        check("2+", "Malformed");
        check("(2", "Malformed");
        check("2 3", "Malformed");
        check("1.2.3", "Malformed");
        check("", "Malformed");
        for opening in ["(", "-", "2^"] {
            check(&opening.repeat(100_000), "TooLarge");
        }
        check(&format!("{}1{}", "(".repeat(50), ")".repeat(50)), "1");
    }
}
