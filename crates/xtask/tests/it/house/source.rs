//! A Rust file as the rules see it: which lines hold code, where functions begin and end.
//!
//! It reads tokens, not syntax, so that what stands inside a macro (`proptest!`, `macro_rules!`)
//! counts like everything else, and a word in a string or a comment does not.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use proc_macro2::{Delimiter, Group, Span, TokenStream, TokenTree};

mod tests;

/// What the rules ask of one file; lines count from 1.
#[derive(Default)]
pub(super) struct Source {
    /// The lines that hold more than a comment.
    pub(super) code: BTreeSet<usize>,
    pub(super) functions: Vec<Function>,
    /// The lines with the keyword `unsafe`.
    pub(super) unsafe_lines: Vec<usize>,
    /// The lines with a macro that stands for code to come.
    pub(super) unwritten_lines: Vec<usize>,
}

/// A function with a body.
#[derive(Debug)]
pub(super) struct Function {
    pub(super) name: String,
    /// From the keyword `fn` to the closing brace.
    pub(super) lines: RangeInclusive<usize>,
    /// From the first attribute to the opening brace.
    pub(super) head: RangeInclusive<usize>,
    pub(super) is_test: bool,
    pub(super) is_ignored: bool,
}

impl Source {
    pub(super) fn of(tokens: TokenStream) -> Source {
        let mut source = Source::default();
        source.walk(tokens);
        source
            .functions
            .sort_by_key(|function| *function.lines.start());
        source
    }

    /// How many of these lines hold code.
    pub(super) fn count(&self, lines: &RangeInclusive<usize>) -> usize {
        self.code.range(lines.clone()).count()
    }

    fn walk(&mut self, tokens: TokenStream) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut item = Item::default();
        let mut at = 0;
        while let Some(token) = tokens.get(at) {
            if let Some((length, group)) = attribute(&tokens[at..]) {
                if !is_doc(group) {
                    item.attribute(token.span(), group);
                    tokens[at..at + length]
                        .iter()
                        .for_each(|part| self.mark(part));
                    self.walk(group.stream());
                }
                at += length;
                continue;
            }
            self.notice(token, tokens.get(at + 1));
            item.token(token, tokens.get(at + 1));
            if let TokenTree::Group(group) = token {
                if group.delimiter() == Delimiter::Brace {
                    self.functions
                        .extend(std::mem::take(&mut item).close(group));
                }
                self.walk(group.stream());
            } else if is_punct(token, ';') {
                item = Item::default();
            }
            self.mark(token);
            at += 1;
        }
    }

    /// Marks the lines of a token; of a group, those of its two delimiters.
    fn mark(&mut self, token: &TokenTree) {
        match token {
            TokenTree::Group(group) => {
                self.code.insert(group.span_open().start().line);
                self.code.insert(group.span_close().end().line);
            }
            other => self.code.extend(lines(other.span())),
        }
    }

    fn notice(&mut self, token: &TokenTree, next: Option<&TokenTree>) {
        let TokenTree::Ident(word) = token else {
            return;
        };
        let line = word.span().start().line;
        if word == "unsafe" {
            self.unsafe_lines.push(line);
        }
        let is_macro = next.is_some_and(|next| is_punct(next, '!'));
        if is_macro && (word == "todo" || word == "unimplemented") {
            self.unwritten_lines.push(line);
        }
    }
}

/// What has been read of an item: its attributes, and the keyword and name if it is a function.
#[derive(Default)]
struct Item {
    first_line: Option<usize>,
    attributes: Vec<String>,
    function: Option<(usize, String)>,
}

impl Item {
    fn attribute(&mut self, start: Span, group: &Group) {
        self.first_line.get_or_insert(start.start().line);
        self.attributes.extend(path_end(group));
    }

    fn token(&mut self, token: &TokenTree, next: Option<&TokenTree>) {
        let (TokenTree::Ident(word), Some(TokenTree::Ident(name))) = (token, next) else {
            return;
        };
        if word == "fn" && self.function.is_none() {
            self.function = Some((word.span().start().line, name.to_string()));
        }
    }

    fn close(self, body: &Group) -> Option<Function> {
        let (line, name) = self.function?;
        let has = |wanted: &str| self.attributes.iter().any(|attribute| attribute == wanted);
        Some(Function {
            is_test: has("test"),
            is_ignored: has("ignore"),
            head: self.first_line.unwrap_or(line)..=body.span_open().start().line,
            lines: line..=body.span_close().end().line,
            name,
        })
    }
}

/// The attribute at the front of these tokens: how many of them it takes, and its brackets.
fn attribute(tokens: &[TokenTree]) -> Option<(usize, &Group)> {
    let (hash, rest) = tokens.split_first()?;
    let inner = rest.first().is_some_and(|token| is_punct(token, '!'));
    let at = if inner { 2 } else { 1 };
    match tokens.get(at) {
        Some(TokenTree::Group(group))
            if is_punct(hash, '#') && group.delimiter() == Delimiter::Bracket =>
        {
            Some((at + 1, group))
        }
        _ => None,
    }
}

/// Whether this is a doc comment, which the lexer hands over as `#[doc = "…"]`.
fn is_doc(attribute: &Group) -> bool {
    let mut tokens = attribute.stream().into_iter();
    matches!(tokens.next(), Some(TokenTree::Ident(word)) if word == "doc")
        && tokens.next().is_some_and(|token| is_punct(&token, '='))
}

/// The last word of an attribute's path: `test` of `#[tokio::test(..)]`.
fn path_end(attribute: &Group) -> Option<String> {
    let path = attribute
        .stream()
        .into_iter()
        .take_while(|token| match token {
            TokenTree::Ident(_) => true,
            other => is_punct(other, ':'),
        });
    let last = path.last()?;
    matches!(last, TokenTree::Ident(_)).then(|| last.to_string())
}

fn is_punct(token: &TokenTree, wanted: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == wanted)
}

fn lines(span: Span) -> RangeInclusive<usize> {
    span.start().line..=span.end().line
}
