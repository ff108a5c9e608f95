//! Money and budgets on the wire.

use std::borrow::Cow;
use std::fmt;

use samovar_core::{Budget, Usd};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// An amount of US dollars above 0, as a number with at most nine decimal places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dollars(pub Usd);

impl Serialize for Dollars {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[expect(
            clippy::cast_precision_loss,
            reason = "shown to nine places; exact below 9 million dollars"
        )]
        serializer.serialize_f64(self.0.nanos() as f64 / 1e9)
    }
}

impl<'de> Deserialize<'de> for Dollars {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Amount;

        impl Visitor<'_> for Amount {
            type Value = Dollars;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number of dollars above 0 with at most nine decimal places")
            }

            fn visit_f64<E: de::Error>(self, number: f64) -> Result<Self::Value, E> {
                // The shortest decimal text of a number is the one that was written.
                let amount = Usd::parse(&number.to_string());
                let amount = amount.filter(|amount| *amount > Usd::default());
                amount
                    .map(Dollars)
                    .ok_or_else(|| E::invalid_value(Unexpected::Float(number), &self))
            }

            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Self::Value, E> {
                let amount = Usd::parse(&number.to_string());
                let amount = amount.filter(|amount| *amount > Usd::default());
                amount
                    .map(Dollars)
                    .ok_or_else(|| E::invalid_value(Unexpected::Unsigned(number), &self))
            }

            fn visit_i64<E: de::Error>(self, number: i64) -> Result<Self::Value, E> {
                match u64::try_from(number) {
                    Ok(number) => self.visit_u64(number),
                    Err(_) => Err(E::invalid_value(Unexpected::Signed(number), &self)),
                }
            }
        }

        deserializer.deserialize_f64(Amount)
    }
}

impl JsonSchema for Dollars {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Dollars".into()
    }

    fn json_schema(_generator: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "number", "minimum": 0 })
    }
}

/// A budget, or what is left of one; absent limits are not set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BudgetInfo {
    /// Iterations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steps: Option<u32>,
    /// Tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// US dollars.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "maybe"
    )]
    pub usd: Option<Dollars>,
    /// Milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wall_ms: Option<u64>,
}

impl BudgetInfo {
    /// `None` for a budget that limits nothing.
    pub fn of(budget: Budget) -> Option<Self> {
        (!budget.is_empty()).then(|| Self {
            steps: budget.steps,
            tokens: budget.tokens,
            usd: budget.cost.map(Dollars),
            wall_ms: budget.wall_ms,
        })
    }
}

/// Reads an amount that may be nothing.
pub(crate) fn maybe<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Dollars>, D::Error> {
    let number: Option<f64> = Option::deserialize(from)?;
    let amount = number.map(|number| Usd::parse(&number.to_string()));
    Ok(amount.flatten().map(Dollars))
}
