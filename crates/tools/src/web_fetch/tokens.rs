//! HTML as its tags and texts, in time and memory that grow with its length alone.

use html5gum::emitters::callback::{CallbackEmitter, CallbackEvent};
use html5gum::{Span, Tokenizer};

/// Attributes of a tag that are kept; real pages have fewer.
const MAX_ATTRIBUTES: usize = 64;

/// A piece of HTML.
pub(super) enum Token {
    Start(Tag),
    /// The name of a tag that ends.
    End(String),
    Text(String),
    Comment(String),
}

/// A tag that begins.
#[derive(Default)]
pub(super) struct Tag {
    /// In lower case.
    pub(super) name: String,
    pub(super) is_self_closing: bool,
    attributes: Vec<(String, String)>,
    /// Whether the value of the last attribute belongs to one that was not kept.
    is_full: bool,
}

impl Tag {
    /// The value of an attribute, the first of its name.
    pub(super) fn attribute(&self, name: &str) -> Option<&str> {
        let mut named = self.attributes.iter().filter(|(known, _)| known == name);
        named.next().map(|(_, value)| value.as_str())
    }

    fn begin_attribute(&mut self, name: &[u8]) {
        self.is_full = self.attributes.len() >= MAX_ATTRIBUTES;
        if !self.is_full {
            self.attributes.push((text(name), String::new()));
        }
    }

    fn add_value(&mut self, value: &[u8]) {
        if let (Some((_, known)), false) = (self.attributes.last_mut(), self.is_full) {
            known.push_str(&String::from_utf8_lossy(value));
        }
    }
}

/// The pieces of a page, its character references replaced.
pub(super) fn tokens(html: &str) -> impl Iterator<Item = Token> {
    let mut tag = Tag::default();
    let mut emitter =
        CallbackEmitter::new(move |event: CallbackEvent<'_>, _: Span<()>| match event {
            CallbackEvent::OpenStartTag { name } => {
                tag = Tag {
                    name: text(name),
                    ..Tag::default()
                };
                None
            }
            CallbackEvent::AttributeName { name } => {
                tag.begin_attribute(name);
                None
            }
            CallbackEvent::AttributeValue { value } => {
                tag.add_value(value);
                None
            }
            CallbackEvent::CloseStartTag { self_closing } => {
                tag.is_self_closing = self_closing;
                Some(Token::Start(std::mem::take(&mut tag)))
            }
            CallbackEvent::EndTag { name } => Some(Token::End(text(name))),
            CallbackEvent::String { value } => Some(Token::Text(text(value))),
            CallbackEvent::Comment { value } => Some(Token::Comment(text(value))),
            CallbackEvent::Doctype { .. } | CallbackEvent::Error(_) => None,
        });
    emitter.naively_switch_states(true);
    // A text in memory can always be read.
    Tokenizer::new_with_emitter(html, emitter).filter_map(Result::ok)
}

/// The text of a piece of HTML: its tags are gone, its character references are characters.
pub(crate) fn plain(html: &str) -> String {
    let texts = tokens(html).filter_map(|token| match token {
        Token::Text(text) => Some(text),
        Token::Start(_) | Token::End(_) | Token::Comment(_) => None,
    });
    texts.collect()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
