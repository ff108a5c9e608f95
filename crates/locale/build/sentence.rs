//! One sentence: text with `{placeholders}`, or a text for each plural form.

use super::plural::Form;

/// The placeholder that plural forms are chosen by.
pub(super) const COUNT: &str = "count";

/// Words that cannot name a function, a module or an argument: Rust's own, and what this crate has
/// at its root.
const TAKEN: &[&str] = &[
    "as", "async", "await", "become", "box", "break", "const", "continue", "crate", "do", "dyn",
    "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "language",
    "let", "loop", "macro", "match", "mod", "move", "mut", "override", "plural", "priv", "pub",
    "ref", "return", "self", "static", "struct", "super", "trait", "true", "try", "type", "typeof",
    "unsafe", "unsized", "use", "virtual", "where", "while", "yield",
];

/// Whether this is `snake_case` that Rust takes as a name.
pub(super) fn is_name(raw: &str) -> bool {
    let is_plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_';
    raw.starts_with(|c: char| c.is_ascii_lowercase())
        && raw.bytes().all(is_plain)
        && !TAKEN.contains(&raw)
}

/// What a key stands for in one language.
pub(super) enum Sentence {
    Plain(Template),
    /// In the order of the file.
    Plural(Vec<(Form, Template)>),
}

impl Sentence {
    pub(super) fn templates(&self) -> impl Iterator<Item = &Template> {
        let (plain, forms) = match self {
            Self::Plain(template) => (Some(template), [].as_slice()),
            Self::Plural(forms) => (None, forms.as_slice()),
        };
        plain
            .into_iter()
            .chain(forms.iter().map(|(_, template)| template))
    }

    /// Every placeholder once, in the order of its first appearance; the form `other` comes first,
    /// since it says what the others may leave out.
    pub(super) fn placeholders(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        let templates = self.other().into_iter().chain(self.templates());
        for name in templates.flat_map(|template| &template.placeholders) {
            if !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
        names
    }

    /// The form `other`.
    fn other(&self) -> Option<&Template> {
        match self {
            Self::Plain(_) => None,
            Self::Plural(forms) => {
                let mut others = forms.iter().filter(|(form, _)| *form == Form::Other);
                others.next().map(|(_, template)| template)
            }
        }
    }

    /// What shows best what is said.
    pub(super) fn example(&self) -> &str {
        let first = self.other().or(self.templates().next());
        first.map_or("", |template| &template.text)
    }

    pub(super) fn is_plural(&self) -> bool {
        matches!(self, Self::Plural(_))
    }
}

/// A text as it stands in the file. Its braces mean what they mean to Rust's `format!`.
pub(super) struct Template {
    pub(super) text: String,
    pub(super) placeholders: Vec<String>,
}

impl Template {
    pub(super) fn read(text: &str) -> Result<Self, String> {
        if text.trim().is_empty() {
            return Err("is empty".to_owned());
        }
        let mut placeholders = Vec::new();
        let mut rest = text;
        while let Some(at) = rest.find(['{', '}']) {
            let from = &rest[at..];
            rest = if let Some(after) = from.strip_prefix("{{").or(from.strip_prefix("}}")) {
                after
            } else {
                let (name, after) = placeholder(from)?;
                placeholders.push(name.to_owned());
                after
            };
        }
        Ok(Self {
            text: text.to_owned(),
            placeholders,
        })
    }

    /// The text as it is said, for one without placeholders.
    pub(super) fn literal(&self) -> String {
        self.text.replace("{{", "{").replace("}}", "}")
    }
}

/// The name in the brace that `from` begins with, and what follows.
fn placeholder(from: &str) -> Result<(&str, &str), String> {
    let inside = from
        .strip_prefix('{')
        .and_then(|inside| inside.split_once('}'));
    match inside {
        Some((name, after)) if is_name(name) => Ok((name, after)),
        Some((name, _)) => Err(format!(
            "{{{name}}} is no placeholder; it is a name in snake_case, and a literal brace is doubled"
        )),
        None => Err("has a brace alone; a literal brace is doubled".to_owned()),
    }
}
