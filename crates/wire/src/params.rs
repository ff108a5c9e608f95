//! Parameters of a call: a JSON body, or the pairs of a query (AS-1).
//!
//! Unknown parameters are ignored, so that a newer client works with an older server.

use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{self, DeserializeOwned, DeserializeSeed, IntoDeserializer, MapAccess, Visitor};
use serde::{Deserializer, forward_to_deserialize_any};
use serde_json::{Map, Value, json};

use samovar_core::{Code, Error};
use samovar_locale as locale;

/// Maximum nesting of objects and arrays in a body.
pub const MAX_DEPTH: usize = 64;

/// Reads parameters from a JSON body: an object keyed by parameter name, or an object with such an
/// object under its only key `params`. An empty body, white space and `null` mean an empty object.
///
/// # Errors
/// [`Code::InvalidJson`] when the body is not JSON or deeper than [`MAX_DEPTH`];
/// [`Code::InvalidParams`] when a parameter is missing, has the wrong type or is out of bounds.
pub fn from_body<T: DeserializeOwned>(body: &[u8]) -> Result<T, Error> {
    if body.iter().all(u8::is_ascii_whitespace) {
        return read(Map::new());
    }
    if depth(body) > MAX_DEPTH {
        let why = locale::params::too_deep(MAX_DEPTH as u64);
        return Err(Error::new(Code::InvalidJson, why));
    }
    let body = samovar_core::json::read(body)
        .map_err(|error| Error::new(Code::InvalidJson, locale::params::not_json(error)))?;
    match body {
        Value::Object(given) => read(unwrapped(given)),
        Value::Null => read(Map::new()),
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Err(Error::new(Code::InvalidParams, locale::params::no_object()))
        }
    }
}

/// Reads parameters from an object that was read already.
///
/// # Errors
/// [`Code::InvalidParams`], as [`from_body`].
pub(crate) fn from_object<T: DeserializeOwned>(given: Map<String, Value>) -> Result<T, Error> {
    read(given)
}

/// Reads parameters from the decoded pairs of a query. Numbers and booleans use their JSON
/// spelling. An empty `after` counts as absent: clients send it before they have read anything.
///
/// # Errors
/// [`Code::InvalidParams`], as [`from_body`]; also when a parameter is given twice.
pub fn from_query<T: DeserializeOwned>(pairs: Vec<(String, String)>) -> Result<T, Error> {
    let is_given = |(name, text): &(String, String)| name != "after" || !text.is_empty();
    let given = pairs.into_iter().filter(is_given);
    read(given.map(|(name, text)| (name, Text(text))))
}

/// The deepest nesting of brackets outside strings.
pub(crate) fn depth(json: &[u8]) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    let (mut in_string, mut escaped) = (false, false);
    for byte in json {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'{' | b'[' if !in_string => depth += 1,
            b'}' | b']' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    deepest
}

/// The object under a single key `params`, or the object itself.
fn unwrapped(mut given: Map<String, Value>) -> Map<String, Value> {
    if given.len() == 1
        && let Some(Value::Object(params)) = given.get_mut("params")
    {
        return std::mem::take(params);
    }
    given
}

fn read<T, V>(given: impl IntoIterator<Item = (String, V)>) -> Result<T, Error>
where
    T: DeserializeOwned,
    V: Deserializer<'static, Error = serde_json::Error>,
{
    let pairs: Vec<_> = given.into_iter().collect();
    let names: Vec<_> = pairs.iter().map(|(name, _)| name.clone()).collect();
    let given = ParamPairs {
        pairs: pairs.into_iter(),
        open: None,
    };
    T::deserialize(MapAccessDeserializer::new(given)).map_err(|fault| {
        let Some(name) = fault.parameter else {
            return Error::new(Code::InvalidParams, fault.message);
        };
        let near = names.iter().find(|given| is_near(given, &name));
        let why = match near.filter(|_| !names.contains(&name)) {
            Some(given) => locale::params::missing_near(given, &name),
            None => fault.message,
        };
        Error::new(Code::InvalidParams, why).with_details(json!({ "parameter": name }))
    })
}

/// Whether a name is another spelling of a parameter: `session_id` of `sessionId`.
fn is_near(given: &str, name: &str) -> bool {
    given.replace(['_', '-'], "").eq_ignore_ascii_case(name)
}

/// Named values on their way into a type; errors carry the name.
struct ParamPairs<I, V> {
    pairs: I,
    open: Option<(String, V)>,
}

impl<I, V> MapAccess<'static> for ParamPairs<I, V>
where
    I: Iterator<Item = (String, V)>,
    V: Deserializer<'static, Error = serde_json::Error>,
{
    type Error = Fault;

    fn next_key_seed<K: DeserializeSeed<'static>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Fault> {
        self.open = self.pairs.next();
        let name = self.open.as_ref().map(|(name, _)| name.clone());
        name.map(|name| seed.deserialize(name.into_deserializer()))
            .transpose()
    }

    fn next_value_seed<S: DeserializeSeed<'static>>(&mut self, seed: S) -> Result<S::Value, Fault> {
        let (name, value) = self
            .open
            .take()
            .ok_or_else(|| de::Error::custom(locale::params::out_of_order()))?;
        seed.deserialize(value).map_err(|error| {
            // Some errors name their parameter, too.
            let cause = error.to_string();
            let cause = cause.strip_prefix(&format!("{name} ")).unwrap_or(&cause);
            Fault {
                message: locale::params::wrong(&name, cause),
                parameter: Some(name),
            }
        })
    }
}

/// A value of a query: text that can also be read as a number or a boolean.
struct Text(String);

impl Text {
    /// The number or boolean that the whole text spells.
    fn scalar(&self) -> Option<Value> {
        let is_bare = self.0.trim().len() == self.0.len();
        let scalar = serde_json::from_str(&self.0).ok().filter(|_| is_bare)?;
        matches!(scalar, Value::Number(_) | Value::Bool(_)).then_some(scalar)
    }
}

macro_rules! scalars {
    ($($method:ident)*) => { $(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
            match self.scalar() {
                Some(scalar) => scalar.deserialize_any(visitor),
                None => visitor.visit_string(self.0),
            }
        }
    )* };
}

impl<'de> Deserializer<'de> for Text {
    type Error = serde_json::Error;

    scalars! {
        deserialize_bool deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64
        deserialize_f32 deserialize_f64
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        visitor.visit_string(self.0)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        visitor.visit_enum(self.0.into_deserializer())
    }

    forward_to_deserialize_any! {
        char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map struct
        identifier ignored_any
    }
}

/// What is wrong, and with which parameter.
#[derive(Debug)]
struct Fault {
    parameter: Option<String>,
    message: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Fault {}

impl de::Error for Fault {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self {
            parameter: None,
            message: message.to_string(),
        }
    }

    fn missing_field(name: &'static str) -> Self {
        Self {
            parameter: Some(name.to_owned()),
            message: locale::params::missing(name),
        }
    }

    fn duplicate_field(name: &'static str) -> Self {
        Self {
            parameter: Some(name.to_owned()),
            message: locale::params::twice(name),
        }
    }
}
