//! The calls that a test makes, and what each of them showed.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use samovar_core::error::FaultCode;
use samovar_core::provider::{Layer, is_cut};
use samovar_core::{Image, Message, Model, Outcome, Part, Prompt, Role, ToolSpec, Usage};
use samovar_locale::{self as locale, models as text};
use serde::Serialize;
use serde_json::json;

use super::talk::{Heard, ask, message, result, tool};

pub(super) const TEXT: &str = "text";
pub(super) const CALL: &str = "call";
pub(super) const ANSWER: &str = "answer";
pub(super) const CUT: &str = "cut_call";
pub(super) const LONG: &str = "long";
pub(super) const CACHE: &str = "cache";
pub(super) const IMAGE: &str = "image";

/// The checks in their order.
const ALL: [&str; 7] = [TEXT, CALL, ANSWER, CUT, LONG, CACHE, IMAGE];

/// A red square.
const RED: &[u8] = include_bytes!("red.png");

/// The most tokens in an answer that should be short; reasoning is among them.
const SHORT: u32 = 1_024;
/// Tokens in which no poem has room.
const TOO_FEW: u32 = 40;
/// Characters of an answer that are shown.
const SHOWN_CHARS: usize = 60;
/// Lines of a prompt that is long enough to be cached: providers cache none below 1,024 tokens.
const CACHED_LINES: usize = 120;

/// What a check showed.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Check {
    #[serde(rename = "check")]
    pub(super) name: &'static str,
    pub(super) state: State,
    /// In a sentence, with the server's own words where it failed.
    pub(super) fact: String,
    /// The stable code, if a call failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<&'static str>,
    /// The server's own word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) finish_reason: Option<String>,
    /// Of all its calls.
    pub(super) usage: Usage,
    #[serde(rename = "milliseconds", serialize_with = "milliseconds")]
    pub(super) took: Duration,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum State {
    Ok,
    Failed,
    /// The model or its server gave no occasion to see it.
    Unseen,
    /// It was not tried, because an earlier check failed.
    Skipped,
}

impl Check {
    /// How it is called for people.
    pub(super) fn label(&self) -> &'static str {
        match self.name {
            TEXT => text::check_text(),
            CALL => text::check_call(),
            ANSWER => text::check_answer(),
            CUT => text::check_cut(),
            LONG => text::check_long(),
            CACHE => text::check_cache(),
            _ => text::check_image(),
        }
    }

    /// Whether no turn works without it.
    pub(super) fn is_needed(&self) -> bool {
        [TEXT, CALL, ANSWER].contains(&self.name)
    }

    fn new(name: &'static str, state: State, fact: String) -> Self {
        Self {
            name,
            state,
            fact,
            code: None,
            finish_reason: None,
            usage: Usage::default(),
            took: Duration::ZERO,
        }
    }

    /// What an answer showed, unless its call failed.
    fn of(name: &'static str, heard: &Heard, verdict: (State, String)) -> Self {
        let (state, fact, code, finish_reason) = match &heard.end {
            Ok(reason) => (verdict.0, verdict.1, None, Some(reason.clone())),
            Err((code, why)) => (State::Failed, why.clone(), Some(code.as_str()), None),
        };
        Self {
            code,
            finish_reason,
            usage: heard.usage,
            took: heard.took,
            ..Self::new(name, state, fact)
        }
    }

    /// The same, with what an earlier call used.
    fn after(mut self, earlier: &Heard) -> Self {
        self.usage = self.usage.plus(earlier.usage);
        self.took += earlier.took;
        self
    }
}

/// The checks of one model.
pub(super) struct Checks {
    model: Model,
    temperature: f32,
    next: usize,
    /// Whether the model's server answered the first one.
    is_there: bool,
    /// The conversation up to a call, if the model made one.
    called: Option<Vec<Message>>,
}

impl Checks {
    pub(super) fn new(model: Model, temperature: f32) -> Self {
        Self {
            model,
            temperature,
            next: 0,
            is_there: true,
            called: None,
        }
    }

    /// Makes the next one; `None` after the last.
    pub(super) async fn next(&mut self) -> Option<Check> {
        let check = *ALL.get(self.next)?;
        self.next += 1;
        if !self.is_there {
            return Some(Check::new(
                check,
                State::Skipped,
                text::check_skipped().to_owned(),
            ));
        }
        Some(match check {
            TEXT => self.text().await,
            CALL => self.call().await,
            ANSWER => self.answer().await,
            CUT => self.cut().await,
            LONG => self.long().await,
            CACHE => self.cache().await,
            _ => self.image().await,
        })
    }

    async fn text(&mut self) -> Check {
        let heard = self
            .ask(&[user("Reply with the single word: ready")], &[], SHORT)
            .await;
        self.is_there = heard.end.is_ok();
        Check::of(TEXT, &heard, said(&heard))
    }

    async fn call(&mut self) -> Check {
        let asked = user("What does the note `shopping` say? Read it with read_note.");
        let heard = self
            .ask(std::slice::from_ref(&asked), &[read_note()], SHORT)
            .await;
        let verdict = match heard.message.calls().next() {
            None => (
                State::Failed,
                text::check_no_call(locale::quoted(&shown(&heard))),
            ),
            Some(call) if call.args["name"].is_string() => {
                (State::Ok, text::check_called(&call.name, &call.args))
            }
            Some(call) => (State::Failed, text::check_bad_call(&call.name, &call.args)),
        };
        let check = Check::of(CALL, &heard, verdict);
        if check.state == State::Ok {
            self.called = Some(vec![asked, heard.message]);
        }
        check
    }

    async fn answer(&mut self) -> Check {
        let Some(mut messages) = self.called.take() else {
            return Check::new(ANSWER, State::Skipped, text::check_skipped().to_owned());
        };
        let outcome = Outcome::done("milk, bread and seven candles".to_owned());
        let calls: Vec<_> = messages.iter().flat_map(Message::calls).cloned().collect();
        messages.extend(calls.iter().map(|call| result(call, &outcome)));
        let heard = self.ask(&messages, &[read_note()], SHORT).await;
        Check::of(ANSWER, &heard, said(&heard))
    }

    /// A call that the limit cuts, and whether the server takes it back in the history.
    async fn cut(&self) -> Check {
        let asked =
            user("Save a poem of twenty lines as the note `poem`, with one call of write_note.");
        let tools = [write_note()];
        let first = self
            .ask(std::slice::from_ref(&asked), &tools, TOO_FEW)
            .await;
        let reason = match &first.end {
            Ok(reason) => reason.clone(),
            Err(_) => return Check::of(CUT, &first, (State::Failed, String::new())),
        };
        let calls: Vec<_> = first.message.calls().cloned().collect();
        let is_broken = calls.iter().any(|call| call.args.is_string());
        let is_left_out = is_cut(&reason) && calls.is_empty();
        if !(is_broken || is_left_out) {
            return Check::of(CUT, &first, (State::Unseen, text::check_uncut().to_owned()));
        }
        let outcome = Outcome::failed("The call was cut, so it did not run.".to_owned());
        let mut messages = vec![asked];
        if !first.message.parts.is_empty() {
            messages.push(first.message.clone());
        }
        messages.extend(calls.iter().map(|call| result(call, &outcome)));
        messages.push(user("Leave it. Just say hi."));
        let heard = self.ask(&messages, &tools, SHORT).await;
        let marked = locale::quoted(&reason);
        let fact = if is_broken {
            text::check_cut_accepted(marked)
        } else {
            text::check_cut_left_out(marked)
        };
        Check::of(CUT, &heard, (State::Ok, fact)).after(&first)
    }

    async fn long(&self) -> Check {
        let asked = user("Write the numbers from 1 to 200, separated by spaces, and nothing else.");
        let heard = self.ask(&[asked], &[], SHORT).await;
        let words = heard.message.text().split_whitespace().count() as u64;
        let verdict = match words {
            0 => (State::Failed, text::check_empty().to_owned()),
            words => (State::Ok, text::check_words(words)),
        };
        Check::of(LONG, &heard, verdict)
    }

    /// Two turns with the same long beginning.
    async fn cache(&self) -> Check {
        let mut lines = String::new();
        for line in 0..CACHED_LINES {
            // Writing to a string cannot fail.
            let _infallible = writeln!(
                lines,
                "Note {line}: on this day we sold {} books.",
                line * 37 % 89
            );
        }
        let layer = Layer {
            name: "test",
            text: lines.into(),
        };
        let with_lines = |messages: &[Message]| Prompt {
            layers: vec![layer.clone()],
            ..self.prompt(messages, &[], SHORT)
        };
        let mut messages = vec![user(
            "How many books did we sell in note 3? Say the number.",
        )];
        let first = ask(&self.model, with_lines(&messages)).await;
        if first.end.is_err() {
            return Check::of(CACHE, &first, (State::Failed, String::new()));
        }
        messages.push(first.message.clone());
        messages.push(user("And in note 5?"));
        let heard = ask(&self.model, with_lines(&messages)).await;
        let verdict = match heard.usage.cache_read {
            0 => (State::Unseen, text::check_uncached().to_owned()),
            cached => (State::Ok, text::check_cached(cached, heard.usage.input)),
        };
        Check::of(CACHE, &heard, verdict).after(&first)
    }

    /// A picture, if the model may take one.
    async fn image(&self) -> Check {
        let unseen = |fact| Check::new(IMAGE, State::Unseen, fact);
        if self.model.is_blind {
            return unseen(text::check_blind().to_owned());
        }
        let image = match Image::new(RED.to_vec()) {
            Ok(image) => image,
            Err(error) => return Check::new(IMAGE, State::Failed, error.message.into()),
        };
        let mut asked = user("Which colour has this picture? Say the colour alone.");
        asked.parts.push(Part::from(&image));
        let mut prompt = self.prompt(&[asked], &[], SHORT);
        let bytes = (image.hash().clone(), image.bytes().clone());
        prompt.images.extend([bytes]);
        let heard = ask(&self.model, prompt).await;
        match &heard.end {
            Err((FaultCode::ImagesRefused, why)) => unseen(why.clone()),
            _ => Check::of(IMAGE, &heard, said(&heard)),
        }
    }

    async fn ask(&self, messages: &[Message], tools: &[Arc<ToolSpec>], most: u32) -> Heard {
        ask(&self.model, self.prompt(messages, tools, most)).await
    }

    fn prompt(&self, messages: &[Message], tools: &[Arc<ToolSpec>], most: u32) -> Prompt {
        Prompt {
            model: self.model.endpoint_name.clone(),
            layers: Vec::new(),
            tools: tools.into(),
            messages: messages.iter().cloned().map(Arc::new).collect(),
            max_tokens: most,
            temperature: self.temperature,
            images: std::collections::BTreeMap::new(),
        }
    }
}

/// Whether an answer has text, and how it begins.
fn said(heard: &Heard) -> (State, String) {
    match shown(heard) {
        shown if shown.is_empty() => (State::Failed, text::check_empty().to_owned()),
        shown => (State::Ok, locale::quoted(&shown).to_string()),
    }
}

/// How the text of an answer begins.
fn shown(heard: &Heard) -> String {
    heard
        .message
        .text()
        .trim()
        .chars()
        .take(SHOWN_CHARS)
        .collect()
}

fn user(text: &str) -> Message {
    message(Role::User, vec![Part::text(text)])
}

fn read_note() -> Arc<ToolSpec> {
    let name = json!({"type": "string", "description": "The note's name."});
    let parameters = json!({"type": "object", "properties": {"name": name}, "required": ["name"]});
    tool(
        "read_note",
        "Reads a note and returns its text.",
        parameters,
    )
}

fn write_note() -> Arc<ToolSpec> {
    let field = |what: &str| json!({"type": "string", "description": what});
    let parameters = json!({
        "type": "object",
        "properties": {"name": field("The note's name."), "text": field("Its whole text.")},
        "required": ["name", "text"],
    });
    tool("write_note", "Saves a text as a note.", parameters)
}

fn milliseconds<S: serde::Serializer>(took: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u128(took.as_millis())
}
