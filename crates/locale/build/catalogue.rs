//! One language: its file as keys and sentences.

use std::collections::HashSet;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};

use super::plural::{self, Form};
use super::sentence::{Sentence, Template, is_name};
use super::{Fault, File};

/// A language that sentences can be written in, and how it counts.
#[derive(Clone, Copy)]
pub(super) struct Rule {
    language: &'static str,
    /// The function of `plural`, by its name in the code that is written.
    pub(super) function: &'static str,
    form: fn(u64) -> Form,
}

/// Every language whose plural forms are known. Another one is a line here and a function there.
const RULES: &[Rule] = &[
    rule("en", "english", plural::english),
    rule("ru", "east_slavic", plural::east_slavic),
    rule("uk", "east_slavic", plural::east_slavic),
    rule("zh", "chinese", plural::chinese),
];

const fn rule(language: &'static str, function: &'static str, form: fn(u64) -> Form) -> Rule {
    Rule {
        language,
        function,
        form,
    }
}

impl Rule {
    /// The forms that whole numbers take, asked from the rule itself: the last two digits decide in
    /// every language here.
    pub(super) fn forms(self) -> Vec<Form> {
        let mut forms: Vec<Form> = (0..=200).map(self.form).collect();
        forms.sort_unstable();
        forms.dedup();
        forms
    }
}

/// A file that can be read; whether it fits the others is another question.
pub(super) struct Catalogue {
    pub(super) file: String,
    /// The language as it is named in the world: `zh-Hans`.
    pub(super) tag: String,
    pub(super) rule: Rule,
    pub(super) sentences: Vec<(Key, Sentence)>,
}

/// `area.name`
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) area: String,
    pub(super) name: String,
}

impl Key {
    fn read(raw: &str) -> Option<Self> {
        let (area, name) = raw.split_once('.')?;
        (is_name(area) && is_name(name)).then(|| Self {
            area: area.to_owned(),
            name: name.to_owned(),
        })
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.area, self.name)
    }
}

impl Catalogue {
    pub(super) fn read(file: &File) -> Result<Self, Vec<Fault>> {
        let whole = |what: String| vec![Fault::in_file(&file.name, what)];
        let tag = file.name.trim_end_matches(".json");
        let Some(rule) = rule_of(tag) else {
            let what = format!(
                "how {tag:?} counts is not known; add its rule to crates/locale/src/plural.rs, and \
                 its line to RULES in crates/locale/build/catalogue.rs"
            );
            return Err(whole(what));
        };
        let raw = serde_json::from_str(&file.text).map_err(|error| whole(error.to_string()))?;
        let Raw::Entries(entries) = raw else {
            return Err(whole("is not an object of sentences".to_owned()));
        };
        let mut sentences = Vec::new();
        let mut faults = Vec::new();
        let mut seen = HashSet::new();
        for (key, raw) in entries {
            let is_new = seen.insert(key.clone());
            match read_entry(&key, raw) {
                Ok(_) if !is_new => faults.push(Fault::at(&file.name, &key, "stands here twice")),
                Ok(entry) => sentences.push(entry),
                Err(what) => faults.push(Fault::at(&file.name, &key, what)),
            }
        }
        if !faults.is_empty() {
            return Err(faults);
        }
        Ok(Self {
            file: file.name.clone(),
            tag: tag.to_owned(),
            rule,
            sentences,
        })
    }

    pub(super) fn sentence(&self, key: &Key) -> Option<&Sentence> {
        let found = self.sentences.iter().find(|(known, _)| known == key);
        found.map(|(_, sentence)| sentence)
    }
}

/// The rule of `zh-Hans` is that of `zh`; what is no tag has none.
fn rule_of(tag: &str) -> Option<Rule> {
    let mut parts = tag.split('-');
    let language = parts.next()?;
    let is_tag =
        parts.all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphabetic()));
    let mut known = RULES
        .iter()
        .filter(|rule| is_tag && rule.language == language);
    known.next().copied()
}

fn read_entry(raw_key: &str, raw: Raw) -> Result<(Key, Sentence), String> {
    let Some(key) = Key::read(raw_key) else {
        let what = "is no key; keys are area.name in snake_case, and Rust's own words are taken";
        return Err(what.to_owned());
    };
    let sentence = match raw {
        Raw::Text(text) => Sentence::Plain(Template::read(&text)?),
        Raw::Entries(forms) => Sentence::Plural(read_forms(forms)?),
    };
    Ok((key, sentence))
}

fn read_forms(raw: Vec<(String, Raw)>) -> Result<Vec<(Form, Template)>, String> {
    let mut forms: Vec<(Form, Template)> = Vec::new();
    for (name, text) in raw {
        let Some(form) = Form::ALL.into_iter().find(|form| form.name() == name) else {
            let known = Form::ALL.map(Form::name).join(", ");
            return Err(format!("{name:?} is no plural form; there are: {known}"));
        };
        let Raw::Text(text) = text else {
            return Err(format!("the form {name:?} is no sentence"));
        };
        if forms.iter().any(|(known, _)| *known == form) {
            return Err(format!("the form {name:?} stands here twice"));
        }
        forms.push((form, Template::read(&text)?));
    }
    Ok(forms)
}

/// What JSON may hold here. Repeated keys are kept, so that they can be refused.
enum Raw {
    Text(String),
    Entries(Vec<(String, Raw)>),
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct RawVisitor;

        impl<'de> Visitor<'de> for RawVisitor {
            type Value = Raw;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a sentence or an object of them")
            }

            fn visit_str<E>(self, text: &str) -> Result<Raw, E> {
                Ok(Raw::Text(text.to_owned()))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Raw, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Raw::Entries(entries))
            }
        }

        deserializer.deserialize_any(RawVisitor)
    }
}
