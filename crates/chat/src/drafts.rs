//! Who may say something in the chat, under which name and with what, and what the chat itself says.

use samovar_core::command::is_blank;
use samovar_core::{ChatMeta, ChatRole, Code, Error};
use samovar_locale as locale;

use crate::chat::{CHAT_AGENT, USER};
use crate::log::Draft;

/// Bytes of an author's name, at most.
const MAX_AUTHOR_BYTES: usize = 128;
/// Tags of a message, at most, and bytes of each.
const MAX_TAGS: usize = 16;
const MAX_TAG_BYTES: usize = 64;

/// What the person says, as the answer to a question or to none.
pub(crate) fn by_user(text: String, question: Option<u64>) -> Draft {
    Draft {
        role: ChatRole::User,
        author: USER.to_owned(),
        text,
        meta: question.map_or_else(ChatMeta::default, ChatMeta::reply_to),
        key: None,
    }
}

/// A note of the chat itself.
pub(crate) fn noted(text: String, meta: ChatMeta) -> Draft {
    Draft {
        role: ChatRole::System,
        author: CHAT_AGENT.to_owned(),
        text,
        meta,
        key: None,
    }
}

/// That a question is asked no longer.
pub(crate) fn withdrawn(question: u64) -> Draft {
    let text = locale::global_chat::withdrawn().to_owned();
    noted(text, ChatMeta::reply_to(question))
}

/// Nobody is taken for the person, and no name breaks a line.
pub(crate) fn check_author(author: &str) -> Result<(), Error> {
    let is_name = !is_blank(author)
        && author.len() <= MAX_AUTHOR_BYTES
        && !author.chars().any(char::is_control);
    if is_name && !author.trim().eq_ignore_ascii_case(USER) {
        return Ok(());
    }
    let why = locale::global_chat::bad_author(locale::quoted(author));
    Err(Error::new(Code::InvalidParams, why))
}

/// A message is answered once it is there, and tags are few and short.
pub(crate) fn check_meta(meta: &ChatMeta, head: u64) -> Result<(), Error> {
    let is_there = meta.reply_to.is_none_or(|id| (1..=head).contains(&id));
    let fits = |tag: &String| !is_blank(tag) && tag.len() <= MAX_TAG_BYTES;
    if is_there && meta.tags.len() <= MAX_TAGS && meta.tags.iter().all(fits) {
        return Ok(());
    }
    let why = locale::global_chat::bad_meta(MAX_TAGS as u64, MAX_TAG_BYTES);
    Err(Error::new(Code::InvalidParams, why))
}
