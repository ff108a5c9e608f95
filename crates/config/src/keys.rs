//! The keys, read off the schema: a flat list that everything else looks names up in.

use serde_json::Value;

use crate::kind::Kind;
use crate::nearest::fold;
use crate::schema::schema;

/// The table whose names are those of the table of providers.
const PROVIDERS: &str = "providers";

/// What the names of all variables begin with that are made from keys.
pub const VARIABLE_PREFIX: &str = "SAMOVAR__";

/// A provider that can be set up; the table of providers is somebody else's.
#[derive(Clone, Debug, Default)]
pub struct ProviderNames {
    /// Its name: lower case, words joined by `-`.
    pub name: String,
    /// Variables that may hold its key, the one that counts most first.
    pub key_variables: Vec<String>,
    /// Variables that may hold its address, the one that counts most first.
    pub base_variables: Vec<String>,
}

/// One key.
#[derive(Clone, Debug, PartialEq)]
pub struct Key {
    /// Its dotted name: `providers.openai.api_base`.
    pub name: String,
    /// The type of its value.
    pub kind: Kind,
    /// What it is for, in a sentence or two.
    pub purpose: String,
    /// The default; `None` if it depends on the machine.
    pub default: Option<Value>,
    /// An example value.
    pub example: Option<Value>,
    /// Whether it widens what agents may do, so that a folder's file can set it only when that file
    /// is trusted.
    pub widens: bool,
    /// Whether its value is never shown.
    pub is_secret: bool,
    /// The variables that set it, in order of precedence.
    pub variables: Vec<String>,
    /// Whether [`ANY_NAME`] in its name stands for any name.
    pub is_of_any: bool,
}

/// The placeholder in a key's name for a name that the user chooses.
pub const ANY_NAME: &str = "NAME";

/// Bytes of a name that somebody chooses, at most.
const MAX_NAME_BYTES: usize = 64;

impl Key {
    /// The same key under the name that was given in the place of [`ANY_NAME`].
    #[must_use]
    pub fn named(&self, name: &str) -> Self {
        Self {
            name: name.to_owned(),
            ..self.clone()
        }
    }

    /// Whether its value is the address of somebody's server, in which a key may hide.
    pub(crate) fn is_endpoint(&self) -> bool {
        let last = self.name.rsplit('.').next();
        matches!(last, Some("api_base" | "url" | "search_url" | "proxy"))
    }
}

/// Every key that there is.
#[derive(Clone, Debug, Default)]
pub struct Keys {
    keys: Vec<Key>,
    tables: Vec<String>,
}

impl Keys {
    /// The keys that there are with these providers, in the order of the types.
    pub fn new(providers: &[ProviderNames]) -> Self {
        let mut keys = Self::default();
        keys.walk(&schema(), "", providers);
        keys
    }

    /// The key of this name. One that stands in a table of any name is found by each.
    pub fn get(&self, name: &str) -> Option<&Key> {
        let exact = self.iter().find(|key| key.name == name);
        exact.or_else(|| {
            self.iter()
                .find(|key| key.is_of_any && fits(&key.name, name))
        })
    }

    /// The key that is meant by a name as people know it: its own, one that only spells the same
    /// words in another way (`defaults.maxTokens`), or that of a variable.
    pub fn find(&self, asked: &str) -> Option<&Key> {
        let has_variable = |key: &&Key| key.variables.iter().any(|variable| variable == asked);
        let is_spelled = |key: &&Key| fold(&key.name) == fold(asked);
        let named = || self.get(asked).or_else(|| self.iter().find(is_spelled));
        named().or_else(|| self.iter().find(has_variable))
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Key> {
        self.keys.iter()
    }

    /// Whether keys stand in a table of this name.
    pub(crate) fn has_table(&self, name: &str) -> bool {
        self.tables()
            .any(|table| table == name || fits(table, name))
    }

    /// The names of the tables that keys stand in: `server`, `providers.openai`.
    pub(crate) fn tables(&self) -> impl Iterator<Item = &str> {
        self.tables.iter().map(String::as_str)
    }

    fn walk(&mut self, schema: &Value, above: &str, providers: &[ProviderNames]) {
        for (name, below) in properties(schema) {
            let path = joined(above, name);
            let each = &below["additionalProperties"];
            if each.is_object() && path != PROVIDERS {
                self.tables.push(path.clone());
                let path = joined(&path, ANY_NAME);
                for (name, below) in properties(each) {
                    let key = read(&joined(&path, name), below, &[]);
                    self.keys.extend(key.map(|key| Key {
                        variables: Vec::new(),
                        is_of_any: true,
                        ..key
                    }));
                }
                self.tables.push(path);
            } else if each.is_object() {
                for provider in providers {
                    let path = joined(&path, &provider.name);
                    for (name, below) in properties(each) {
                        let own = provider.variables(name);
                        self.keys.extend(read(&joined(&path, name), below, own));
                    }
                    self.tables.push(path);
                }
                self.tables.push(path);
            } else if properties(below).next().is_none() {
                self.keys.extend(read(&path, below, &[]));
            } else {
                self.walk(below, &path, providers);
                self.tables.push(path);
            }
        }
    }
}

impl ProviderNames {
    /// The variables that providers have of old, for one of their keys.
    fn variables(&self, key: &str) -> &[String] {
        match key {
            "api_key" => &self.key_variables,
            "api_base" => &self.base_variables,
            _ => &[],
        }
    }
}

/// Whether a name is one that a pattern stands for.
fn fits(pattern: &str, name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    let is_name =
        |part: &str| (1..=MAX_NAME_BYTES).contains(&part.len()) && part.bytes().all(is_plain);
    let (patterns, parts) = (pattern.split('.'), name.split('.'));
    patterns.clone().count() == parts.clone().count()
        && patterns
            .zip(parts)
            .all(|(pattern, part)| pattern == part || (pattern == ANY_NAME && is_name(part)))
}

fn properties(schema: &Value) -> impl Iterator<Item = (&String, &Value)> {
    schema["properties"].as_object().into_iter().flatten()
}

/// The name of what stands in a table.
pub(crate) fn joined(above: &str, name: &str) -> String {
    match above {
        "" => name.to_owned(),
        above => format!("{above}.{name}"),
    }
}

/// A key, or none where the schema has a shape that no value here has.
fn read(name: &str, schema: &Value, own: &[String]) -> Option<Key> {
    let said = schema["x-variables"].as_array().into_iter().flatten();
    let said = said.filter_map(Value::as_str).map(str::to_owned);
    let variables = [variable(name)].into_iter().chain(said);
    Some(Key {
        name: name.to_owned(),
        kind: Kind::of(schema)?,
        purpose: schema["description"]
            .as_str()
            .unwrap_or_default()
            .to_owned(),
        default: schema.get("default").cloned(),
        example: schema["examples"].get(0).cloned(),
        widens: schema["x-widens"] != Value::Bool(false),
        is_secret: schema["writeOnly"] == Value::Bool(true),
        variables: variables.chain(own.iter().cloned()).collect(),
        is_of_any: false,
    })
}

/// The variable that is made from a key: `SAMOVAR__PROVIDERS__LM_STUDIO__API_BASE`.
fn variable(name: &str) -> String {
    let words = name.replace('.', "__").replace('-', "_");
    format!("{VARIABLE_PREFIX}{}", words.to_uppercase())
}
