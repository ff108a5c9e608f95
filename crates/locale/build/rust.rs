//! Writes checked catalogues as Rust.

use std::fmt::Write;

use super::catalogue::{Catalogue, Key, Rule};
use super::plural::Form;
use super::sentence::{COUNT, Sentence, Template};

/// The language type, and a module an area with a function a sentence. English comes first.
pub(super) fn write(catalogues: &[Catalogue]) -> String {
    let mut source = language(catalogues);
    let Some(english) = catalogues.first() else {
        return source;
    };
    let mut areas: Vec<&str> = english
        .sentences
        .iter()
        .map(|(key, _)| key.area.as_str())
        .collect();
    areas.sort_unstable();
    areas.dedup();
    for area in areas {
        source += &module(area, catalogues, english);
    }
    source
}

fn language(catalogues: &[Catalogue]) -> String {
    let each = |line: fn(&str) -> String| -> String {
        catalogues
            .iter()
            .map(|catalogue| line(&catalogue.tag))
            .collect()
    };
    let variants = each(|tag| {
        let default = if tag == super::ENGLISH {
            "    #[default]\n"
        } else {
            ""
        };
        format!("    /// `{tag}`\n{default}    {},\n", variant(tag))
    });
    let all = each(|tag| format!("Self::{}, ", variant(tag)));
    let tags = each(|tag| format!("            Self::{} => {tag:?},\n", variant(tag)));
    format!(
        "/// The languages of the catalogue, a file each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Language {{
{variants}}}

impl Language {{
    /// All of them, English first.
    pub const ALL: &'static [Self] = &[{all}];

    /// The tag that it is known by in the world.
    pub const fn tag(self) -> &'static str {{
        match self {{
{tags}        }}
    }}
}}
"
    )
}

/// `zh-Hans` is `ZhHans`.
fn variant(tag: &str) -> String {
    let mut name = String::new();
    for part in tag.split('-') {
        let mut letters = part.chars();
        name.extend(letters.next().map(|first| first.to_ascii_uppercase()));
        name.extend(letters.map(|letter| letter.to_ascii_lowercase()));
    }
    name
}

fn module(area: &str, catalogues: &[Catalogue], english: &Catalogue) -> String {
    let of_area = english.sentences.iter().filter(|(key, _)| key.area == area);
    let functions: String = of_area
        .map(|(key, sentence)| function(key, sentence, catalogues))
        .collect();
    format!(
        "
/// The sentences of `{area}`.
#[allow(clippy::match_same_arms, reason = \"two languages may say the same\")]
pub mod {area} {{{functions}}}
"
    )
}

fn function(key: &Key, english: &Sentence, catalogues: &[Catalogue]) -> String {
    let arguments: Vec<String> = english
        .placeholders()
        .into_iter()
        .map(|name| match name {
            COUNT if english.is_plural() => format!("{name}: u64"),
            _ => format!("{name}: impl ::std::fmt::Display"),
        })
        .collect();
    let returned = if arguments.is_empty() {
        "&'static str"
    } else {
        "String"
    };
    let arms: String = catalogues
        .iter()
        .filter_map(|catalogue| {
            let said = expression(catalogue.sentence(key)?, catalogue.rule);
            let variant = variant(&catalogue.tag);
            Some(format!(
                "            crate::Language::{variant} => {said},\n"
            ))
        })
        .collect();
    let (name, doc, arguments) = (&key.name, doc(english), arguments.join(", "));
    format!(
        "
    {doc}
    pub fn {name}({arguments}) -> {returned} {{
        match crate::language::chosen() {{
{arms}        }}
    }}
"
    )
}

/// The English sentence as documentation.
fn doc(english: &Sentence) -> String {
    let line = english
        .example()
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    // More backticks than stand in the text, so that it is shown as it is.
    let longest = line
        .split(|c| c != '`')
        .map(str::len)
        .max()
        .unwrap_or_default();
    let fence = "`".repeat(longest + 1);
    let space = if longest > 0 { " " } else { "" };
    format!("/// {fence}{space}{line}{space}{fence}")
}

fn expression(sentence: &Sentence, rule: Rule) -> String {
    match sentence {
        Sentence::Plain(template) => text(template),
        Sentence::Plural(forms) => by_form(forms, rule),
    }
}

fn text(template: &Template) -> String {
    if template.placeholders.is_empty() {
        format!("{:?}", template.literal())
    } else {
        format!("format!({:?})", template.text)
    }
}

/// A match on the form of `count`; the last form that the language has takes those that it has not.
fn by_form(forms: &[(Form, Template)], rule: Rule) -> String {
    let needed = rule.forms();
    let own = forms.iter().filter(|(form, _)| needed.contains(form));
    let mut own: Vec<_> = own.collect();
    own.sort_by_key(|(form, _)| *form);
    let mut source = format!("match crate::plural::{}(count) {{\n", rule.function);
    for (at, (form, template)) in own.iter().enumerate() {
        let is_last = at + 1 == own.len();
        let others = Form::ALL
            .into_iter()
            .filter(|other| is_last && !needed.contains(other));
        let forms: Vec<String> = [*form].into_iter().chain(others).map(path).collect();
        // A form such as "one session" says no number, and the function gives a String all the same.
        let owned = if template.placeholders.is_empty() {
            ".to_owned()"
        } else {
            ""
        };
        let said = text(template) + owned;
        writeln!(source, "                {} => {said},", forms.join(" | ")).ok();
    }
    source + "            }"
}

fn path(form: Form) -> String {
    format!("crate::plural::Form::{form:?}")
}
