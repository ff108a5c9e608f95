//! Sentences that people see and that stand in the code, where no other language can reach them.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{Span, TokenStream, TokenTree};
use serde_json::{Map, Value};
use syn::visit::{self, Visit};
use syn::{
    Attribute, Block, Expr, ExprCall, ExprMethodCall, ExprStruct, Lit, Local, Macro, PatIdent,
};

use super::Violation;
use super::tree::RustFile;

mod tests;

/// The language that all others follow.
pub(super) const ENGLISH: &str = "locales/en.json";

/// The sentences of the web page, which its own tests hold against its source.
const PAGE: &str = "page";

/// The crates that speak from the catalogue.
const CRATES: [&str; 10] = [
    "agents",
    "config",
    "core",
    "engine",
    "providers",
    "samovar",
    "sandbox",
    "server",
    "stores",
    "wire",
];

/// What tells a model, and so stays in the code: the jail's refusals are results of tools.
const FOR_MODELS: [&str; 1] = ["crates/sandbox/src/error.rs"];

/// Functions that take what is said to a person.
const SPEAKERS: [[&str; 2]; 9] = [
    ["Error", "new"],
    ["Failure", "new"],
    ["Failure", "usage"],
    ["Fault", "bad"],
    ["Fault", "new"],
    ["", "complaint"],
    ["", "refuse"],
    ["", "refused"],
    ["", "say"],
];

/// Methods that do.
const METHODS: [&str; 2] = ["fail", "failed"];

/// Types whose field `message` a person reads.
const SPEECH: [&str; 2] = ["Fault", "Failure"];

/// Sentences that are said from this file and do not come from the catalogue.
pub(super) fn untranslated(file: &RustFile) -> Vec<Violation> {
    let path = file.path.as_str();
    let is_watched = CRATES
        .iter()
        .any(|name| path.starts_with(&format!("crates/{name}/src/")));
    if !is_watched || path.ends_with("tests.rs") || FOR_MODELS.contains(&path) {
        return Vec::new();
    }
    let syntax = match syn::parse2(file.tokens.clone()) {
        Ok(syntax) => syntax,
        Err(cause) => return vec![Violation::new(path, format!("has no items: {cause}"))],
    };
    let mut reader = Reader::default();
    reader.visit_file(&syntax);
    let breach = |sentence| format!("says {sentence:?}; put it into locales/en.json");
    let found = reader.found.into_iter();
    found
        .map(|(line, sentence)| Violation::at(path, line, breach(sentence)))
        .collect()
}

/// Sentences of the catalogue that no crate says.
pub(super) fn unsaid(english: Option<&str>, files: &[RustFile]) -> Vec<Violation> {
    let sentences = english.map(serde_json::from_str::<Map<String, Value>>);
    let Some(Ok(sentences)) = sentences else {
        return vec![Violation::new(ENGLISH, "is no object of sentences")];
    };
    let is_outside = |file: &&RustFile| !file.path.starts_with("crates/locale/");
    let mut said = BTreeSet::new();
    for file in files.iter().filter(is_outside) {
        let aliases: BTreeMap<&str, &str> = around(&file.text, " as ")
            .map(|(area, alias)| (alias, area))
            .collect();
        for (area, name) in around(&file.text, "::") {
            said.insert((area, name));
            said.extend(aliases.get(area).map(|area| (*area, name)));
        }
    }
    let is_silent = |key: &&String| {
        key.split_once('.')
            .is_none_or(|key| key.0 != PAGE && !said.contains(&key))
    };
    let breach = |key| Violation::new(ENGLISH, format!("nobody says {key}; delete it"));
    sentences.keys().filter(is_silent).map(breach).collect()
}

/// The words on both sides of each place with this sign.
fn around<'a>(text: &'a str, sign: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
    text.match_indices(sign).map(move |(at, _)| {
        let (before, after) = (&text[..at], &text[at + sign.len()..]);
        let begin = before
            .char_indices()
            .rev()
            .take_while(|(_, letter)| is_inside(*letter));
        let begin = begin.last().map_or(at, |(begin, _)| begin);
        let end = after.find(|letter| !is_inside(letter));
        (&before[begin..], &after[..end.unwrap_or(after.len())])
    })
}

/// Whether a letter can stand in a name.
fn is_inside(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

#[derive(Default)]
struct Reader {
    /// By line.
    found: BTreeMap<usize, String>,
    /// What the blocks around have bound to names: the sentences in it.
    bound: Vec<(String, Vec<(Span, String)>)>,
}

impl Reader {
    /// Takes note of what is said, itself or by a name that a sentence was bound to.
    fn hear(&mut self, said: &Expr) {
        let heard = sentences(said);
        self.keep(heard);
        for name in names(said) {
            let bound = self.bound.iter().rev().find(|(known, _)| *known == name);
            if let Some((_, sentences)) = bound {
                self.keep(sentences.clone());
            }
        }
    }

    fn keep(&mut self, sentences: Vec<(Span, String)>) {
        for (span, sentence) in sentences {
            self.found.insert(span.start().line, sentence);
        }
    }
}

impl<'ast> Visit<'ast> for Reader {
    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        if !is_test(&module.attrs) {
            visit::visit_item_mod(self, module);
        }
    }

    fn visit_block(&mut self, block: &'ast Block) {
        let outside = self.bound.len();
        visit::visit_block(self, block);
        self.bound.truncate(outside);
    }

    fn visit_local(&mut self, local: &'ast Local) {
        visit::visit_local(self, local);
        if let Some(init) = &local.init {
            let mut pattern = Pattern::default();
            pattern.visit_pat(&local.pat);
            let sentences = sentences(&init.expr);
            let bound = pattern.0.into_iter().map(|name| (name, sentences.clone()));
            self.bound.extend(bound);
        }
    }

    fn visit_attribute(&mut self, attribute: &'ast Attribute) {
        // What `thiserror` prints.
        if let (true, syn::Meta::List(list)) = (attribute.path().is_ident("error"), &attribute.meta)
        {
            let mut sentences = Vec::new();
            of_tokens(list.tokens.clone(), &mut sentences);
            self.keep(sentences);
        }
    }

    fn visit_expr_call(&mut self, call: &'ast ExprCall) {
        if let Expr::Path(function) = call.func.as_ref()
            && speaks(&function.path)
        {
            call.args.iter().for_each(|said| self.hear(said));
        }
        visit::visit_expr_call(self, call);
    }

    fn visit_expr_method_call(&mut self, call: &'ast ExprMethodCall) {
        if METHODS.iter().any(|name| call.method == name) {
            call.args.iter().for_each(|said| self.hear(said));
        }
        visit::visit_expr_method_call(self, call);
    }

    fn visit_expr_struct(&mut self, made: &'ast ExprStruct) {
        let name = made.path.segments.last().map(|last| last.ident.to_string());
        if name.is_some_and(|name| SPEECH.contains(&name.as_str())) {
            let said = made.fields.iter();
            let said = said.filter(
                |field| matches!(&field.member, syn::Member::Named(name) if name == "message"),
            );
            said.for_each(|field| self.hear(&field.expr));
        }
        visit::visit_expr_struct(self, made);
    }
}

fn speaks(path: &syn::Path) -> bool {
    let mut segments = path
        .segments
        .iter()
        .rev()
        .map(|part| part.ident.to_string());
    let (name, owner) = (segments.next(), segments.next().unwrap_or_default());
    name.is_some_and(|name| {
        SPEAKERS
            .iter()
            .any(|[known, function]| *function == name && (known.is_empty() || *known == owner))
    })
}

fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let is_cfg = attribute.path().is_ident("cfg");
        is_cfg
            && matches!(&attribute.meta, syn::Meta::List(list) if list.tokens.to_string() == "test")
    })
}

/// The sentences in an expression, those of macros such as `format!` too, but not what is logged.
fn sentences(said: &Expr) -> Vec<(Span, String)> {
    #[derive(Default)]
    struct Ears(Vec<(Span, String)>);

    impl<'ast> Visit<'ast> for Ears {
        fn visit_lit(&mut self, literal: &'ast Lit) {
            if let Lit::Str(text) = literal {
                self.0
                    .extend(sentence(text.value()).map(|said| (text.span(), said)));
            }
        }

        fn visit_macro(&mut self, inner: &'ast Macro) {
            let is_log = inner
                .path
                .segments
                .first()
                .is_some_and(|part| part.ident == "tracing");
            if !is_log {
                of_tokens(inner.tokens.clone(), &mut self.0);
            }
        }
    }

    let mut ears = Ears::default();
    ears.visit_expr(said);
    ears.0
}

fn of_tokens(tokens: TokenStream, found: &mut Vec<(Span, String)>) {
    for token in tokens {
        match token {
            TokenTree::Group(group) => of_tokens(group.stream(), found),
            TokenTree::Literal(literal) => {
                if let Ok(Lit::Str(text)) = syn::parse_str::<Lit>(&literal.to_string()) {
                    found.extend(sentence(text.value()).map(|said| (literal.span(), said)));
                }
            }
            TokenTree::Ident(_) | TokenTree::Punct(_) => {}
        }
    }
}

/// The text, if two words of it at least stand outside braces.
fn sentence(text: String) -> Option<String> {
    let mut depth = 0_u32;
    let outside = |letter: char| {
        match letter {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > 0 { '0' } else { letter }
    };
    let plain: String = text.chars().map(outside).collect();
    let is_word = |word: &&str| word.chars().any(char::is_alphabetic);
    (plain.split_whitespace().filter(is_word).count() > 1).then_some(text)
}

/// The names that a pattern binds.
#[derive(Default)]
struct Pattern(Vec<String>);

impl<'ast> Visit<'ast> for Pattern {
    fn visit_pat_ident(&mut self, name: &'ast PatIdent) {
        self.0.push(name.ident.to_string());
        visit::visit_pat_ident(self, name);
    }
}

/// The variables in an expression.
fn names(said: &Expr) -> BTreeSet<String> {
    #[derive(Default)]
    struct Names(BTreeSet<String>);

    impl<'ast> Visit<'ast> for Names {
        fn visit_expr_path(&mut self, path: &'ast syn::ExprPath) {
            self.0
                .extend(path.path.get_ident().map(ToString::to_string));
        }

        fn visit_macro(&mut self, inner: &'ast Macro) {
            let idents = inner
                .tokens
                .clone()
                .into_iter()
                .filter_map(|token| match token {
                    TokenTree::Ident(name) => Some(name.to_string()),
                    TokenTree::Group(_) | TokenTree::Punct(_) | TokenTree::Literal(_) => None,
                });
            self.0.extend(idents);
        }
    }

    let mut names = Names::default();
    names.visit_expr(said);
    names.0
}
