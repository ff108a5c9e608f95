//! Whether a language says what English says: every sentence, its values, its plural forms.

use super::Fault;
use super::catalogue::{Catalogue, Key};
use super::plural::Form;
use super::sentence::{COUNT, Sentence, Template};

/// What is wrong with a language beside the English one, which is held against itself too.
pub(super) fn against(english: &Catalogue, other: &Catalogue) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (key, original) in &english.sentences {
        match other.sentence(key) {
            Some(sentence) => faults.extend(differences(original, sentence, key, other)),
            None => faults.push(Fault::at(&other.file, &key.to_string(), "is missing")),
        }
    }
    for (key, _) in &other.sentences {
        if english.sentence(key).is_none() {
            let what = "is not in en.json";
            faults.push(Fault::at(&other.file, &key.to_string(), what));
        }
    }
    faults
}

fn differences(
    original: &Sentence,
    sentence: &Sentence,
    key: &Key,
    other: &Catalogue,
) -> Vec<Fault> {
    let whats = match (original, sentence) {
        (Sentence::Plural(_), Sentence::Plain(_)) => {
            vec!["has no plural forms, but in en.json it has".to_owned()]
        }
        (Sentence::Plain(_), Sentence::Plural(_)) => {
            vec!["has plural forms, but in en.json it has none".to_owned()]
        }
        (Sentence::Plain(_), Sentence::Plain(_)) => wrong_values(original, sentence),
        (Sentence::Plural(_), Sentence::Plural(forms)) => {
            let mut whats = wrong_forms(forms, other);
            whats.extend(wrong_values(original, sentence));
            whats
        }
    };
    let at = |what| Fault::at(&other.file, &key.to_string(), what);
    whats.into_iter().map(at).collect()
}

/// Values that English does not give, and values that get lost.
fn wrong_values(original: &Sentence, sentence: &Sentence) -> Vec<String> {
    let known = original.placeholders();
    let said = sentence.placeholders();
    let mut whats: Vec<String> = said
        .iter()
        .filter(|name| !known.contains(*name))
        .map(|name| format!("{{{name}}} does not stand in en.json"))
        .collect();
    for name in known {
        // "One session" needs no number.
        let is_optional = sentence.is_plural() && name == COUNT;
        let has = |template: &Template| template.placeholders.iter().any(|own| own == name);
        if !is_optional && !sentence.templates().all(has) {
            whats.push(format!("lacks {{{name}}}"));
        }
    }
    if sentence.is_plural() && !said.contains(&COUNT) {
        whats.push(format!("has plural forms, and none has {{{COUNT}}}"));
    }
    whats
}

/// Forms that the language needs and lacks, and forms that it never takes.
fn wrong_forms(forms: &[(Form, Template)], catalogue: &Catalogue) -> Vec<String> {
    let needed = catalogue.rule.forms();
    let lacks = |form: &&Form| forms.iter().all(|(given, _)| given != *form);
    let missing = needed.iter().filter(lacks);
    let mut whats: Vec<String> = missing
        .map(|form| format!("lacks the plural form {:?}", form.name()))
        .collect();
    for (form, _) in forms {
        // Tools for translators write `other` for every language; it is that of fractions then.
        if !needed.contains(form) && *form != Form::Other {
            let (tag, name) = (&catalogue.tag, form.name());
            whats.push(format!("{tag} has no plural form {name:?}"));
        }
    }
    whats
}
