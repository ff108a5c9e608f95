//! Exact arithmetic: `+ - * / ^` and brackets over fractions, refused where it would overflow.

/// Brackets, signs and powers may nest so deep.
const MAX_DEPTH: u32 = 64;
/// A fraction that never ends is shown with so many digits.
const SHOWN_DIGITS: usize = 12;
/// An exact fraction is shown with at most so many digits.
const MAX_EXACT_DIGITS: usize = 30;
/// Powers with larger exponents are refused; anything but 0 and ±1 would overflow anyway.
const MAX_EXPONENT: i128 = 1_000;

/// Why there is no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trouble {
    /// It is no expression.
    Malformed,
    /// Something is divided by zero.
    DivisionByZero,
    /// A number on the way is too large, or the brackets nest too deep.
    TooLarge,
}

/// A result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    /// In decimal digits, exact.
    Exact(String),
    /// A fraction in lowest terms, and its first decimal digits.
    Endless {
        /// Such as `1/3`.
        fraction: String,
        /// Such as `0.333333333333`.
        digits: String,
    },
}

/// Computes an expression.
///
/// # Errors
/// [`Trouble`] says why there is no result.
pub(super) fn evaluate(expression: &str) -> Result<Value, Trouble> {
    let mut reader = Reader {
        rest: expression,
        depth: 0,
    };
    let value = reader.sum()?;
    reader.skip_spaces();
    if reader.rest.is_empty() {
        value.shown()
    } else {
        Err(Trouble::Malformed)
    }
}

/// A fraction in lowest terms; the denominator is positive.
#[derive(Clone, Copy)]
struct Fraction {
    over: i128,
    under: i128,
}

impl Fraction {
    fn new(over: i128, under: i128) -> Result<Self, Trouble> {
        if under == 0 {
            return Err(Trouble::DivisionByZero);
        }
        let shared = gcd(over.unsigned_abs(), under.unsigned_abs());
        let shared = i128::try_from(shared).map_err(|_| Trouble::TooLarge)? * under.signum();
        Ok(Self {
            over: over / shared,
            under: under / shared,
        })
    }

    fn plus(self, other: Self) -> Result<Self, Trouble> {
        let left = self
            .over
            .checked_mul(other.under)
            .ok_or(Trouble::TooLarge)?;
        let right = other
            .over
            .checked_mul(self.under)
            .ok_or(Trouble::TooLarge)?;
        let over = left.checked_add(right).ok_or(Trouble::TooLarge)?;
        Self::new(
            over,
            self.under
                .checked_mul(other.under)
                .ok_or(Trouble::TooLarge)?,
        )
    }

    fn negative(self) -> Result<Self, Trouble> {
        let over = self.over.checked_neg().ok_or(Trouble::TooLarge)?;
        Ok(Self { over, ..self })
    }

    fn times(self, other: Self) -> Result<Self, Trouble> {
        // Reduced crosswise first, so that only results too large are refused.
        let (left, right) = (
            Self::new(self.over, other.under)?,
            Self::new(other.over, self.under)?,
        );
        let over = left.over.checked_mul(right.over).ok_or(Trouble::TooLarge)?;
        Self::new(
            over,
            left.under
                .checked_mul(right.under)
                .ok_or(Trouble::TooLarge)?,
        )
    }

    fn inverse(self) -> Result<Self, Trouble> {
        let sign = self.over.signum();
        let under = self.over.checked_abs().ok_or(Trouble::TooLarge)?;
        Self::new(self.under * sign, under)
    }

    fn power(self, exponent: Self) -> Result<Self, Trouble> {
        if exponent.under != 1 {
            return Err(Trouble::Malformed);
        }
        if exponent
            .over
            .checked_abs()
            .is_none_or(|size| size > MAX_EXPONENT)
        {
            return Err(Trouble::TooLarge);
        }
        let base = if exponent.over < 0 {
            self.inverse()?
        } else {
            self
        };
        let one = Self { over: 1, under: 1 };
        (0..exponent.over.abs()).try_fold(one, |product, _| product.times(base))
    }

    fn shown(self) -> Result<Value, Trouble> {
        let (whole, mut left) = (
            self.over / self.under,
            (self.over % self.under).unsigned_abs(),
        );
        let under = self.under.unsigned_abs();
        let mut digits = String::new();
        while left != 0 && digits.len() < MAX_EXACT_DIGITS {
            let tenfold = left.checked_mul(10).ok_or(Trouble::TooLarge)?;
            digits.push_str(&(tenfold / under).to_string());
            left = tenfold % under;
        }
        let sign = if self.over < 0 { "-" } else { "" };
        let whole = whole.unsigned_abs();
        if digits.is_empty() {
            return Ok(Value::Exact(format!("{sign}{whole}")));
        }
        if left == 0 {
            return Ok(Value::Exact(format!("{sign}{whole}.{digits}")));
        }
        digits.truncate(SHOWN_DIGITS);
        let fraction = format!("{}/{}", self.over, self.under);
        Ok(Value::Endless {
            fraction,
            digits: format!("{sign}{whole}.{digits}"),
        })
    }
}

fn gcd(a: u128, b: u128) -> u128 {
    if b == 0 { a.max(1) } else { gcd(b, a % b) }
}

/// Reads an expression from the left, each rule a method.
struct Reader<'a> {
    rest: &'a str,
    depth: u32,
}

impl Reader<'_> {
    fn sum(&mut self) -> Result<Fraction, Trouble> {
        let mut value = self.product()?;
        loop {
            if self.takes("+") {
                value = value.plus(self.product()?)?;
            } else if self.takes("-") {
                value = value.plus(self.product()?.negative()?)?;
            } else {
                return Ok(value);
            }
        }
    }

    fn product(&mut self) -> Result<Fraction, Trouble> {
        let mut value = self.signed()?;
        loop {
            if self.takes("*") {
                value = value.times(self.signed()?)?;
            } else if self.takes("/") {
                value = value.times(self.signed()?.inverse()?)?;
            } else {
                return Ok(value);
            }
        }
    }

    fn signed(&mut self) -> Result<Fraction, Trouble> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(Trouble::TooLarge);
        }
        let value = if self.takes("-") {
            self.signed()?.negative()?
        } else if self.takes("+") {
            self.signed()?
        } else {
            self.power()?
        };
        self.depth -= 1;
        Ok(value)
    }

    fn power(&mut self) -> Result<Fraction, Trouble> {
        let base = if self.takes("(") {
            let inner = self.sum()?;
            if !self.takes(")") {
                return Err(Trouble::Malformed);
            }
            inner
        } else {
            self.number()?
        };
        if self.takes("^") {
            base.power(self.signed()?)
        } else {
            Ok(base)
        }
    }

    fn number(&mut self) -> Result<Fraction, Trouble> {
        self.skip_spaces();
        let is_digit = |c: char| c.is_ascii_digit() || c == '.';
        let end = self.rest.find(|c| !is_digit(c)).unwrap_or(self.rest.len());
        let (digits, rest) = self.rest.split_at(end);
        self.rest = rest;
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let all = format!("{whole}{fraction}");
        if all.is_empty() || fraction.contains('.') {
            return Err(Trouble::Malformed);
        }
        let over = all.parse().map_err(|_| Trouble::TooLarge)?;
        let places = u32::try_from(fraction.len()).map_err(|_| Trouble::TooLarge)?;
        Fraction::new(over, 10_i128.checked_pow(places).ok_or(Trouble::TooLarge)?)
    }

    fn takes(&mut self, sign: &str) -> bool {
        self.skip_spaces();
        let rest = self.rest.strip_prefix(sign);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn skip_spaces(&mut self) {
        self.rest = self.rest.trim_start();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(expression: &str, expected: &str) {
        let value = match evaluate(expression) {
            Ok(Value::Exact(digits)) => digits,
            Ok(Value::Endless { fraction, digits }) => format!("{fraction} ~ {digits}"),
            Err(trouble) => format!("{trouble:?}"),
        };
        assert_eq!(value, expected, "{expression}");
    }

    // proves FC-5
    #[test]
    fn arithmetic_is_exact_or_says_why_not() {
        check("12 * (3+4)", "84");
        check("2+2*2", "6");
        check("0.1+0.2", "0.3");
        check("-7/2", "-3.5");
        check("2^-2", "0.25");
        check("-2^2", "-4");
        check("2^3^2", "512");
        check("1/3", "1/3 ~ 0.333333333333");
        check("-2/3", "-2/3 ~ -0.666666666666");
        check("(1/3)*3", "1");
        check("0/5", "0");
        check("1/0", "DivisionByZero");
        check("0^-1", "DivisionByZero");
        check("5/(2-2)", "DivisionByZero");
        check("2^127", "TooLarge");
        check("2^126", "85070591730234615865843651857942052864");
        check("99999999999999999999*99999999999999999999", "TooLarge");
        check("170141183460469231731687303715884105727+1", "TooLarge");
        check("1000000000000000000000*(1/1000000000000000000000)", "1");
        check("0^99999999999", "TooLarge");
        check("2^0.5", "Malformed");
        check("2+", "Malformed");
        check("(2", "Malformed");
        check("2 3", "Malformed");
        check("1.2.3", "Malformed");
        check("", "Malformed");
    }

    #[test]
    fn brackets_that_nest_without_end_are_refused() {
        for opening in ["(", "-", "+", "2^"] {
            assert_eq!(
                evaluate(&opening.repeat(100_000)),
                Err(Trouble::TooLarge),
                "{opening}"
            );
        }
        let deep = format!("{}1{}", "(".repeat(50), ")".repeat(50));
        assert_eq!(evaluate(&deep), Ok(Value::Exact("1".to_owned())));
    }
}
