//! `samovar chat-global`: the one chat of a server, which lives in its memory and belongs to no
//! session. So a running server is asked, and none is opened in its place.

mod display;
mod tail;

use std::io::{IsTerminal, Read};

use samovar_core::approval::Answer;
use samovar_core::command::Text;
use samovar_core::{Code, Error};
use samovar_locale as text;
use samovar_wire::chat::{BASE_PATH, BOOT_HEADER, ChatStateInfo, PostedMessage, TRUNCATED_HEADER};
use serde_json::{Value, json};
use tokio::time::Instant;

use self::display::{Display, MESSAGE};
use crate::access::{LOOK_EVERY, PATIENCE, running};
use crate::args::{ChatGlobal, DirArgs, ModelArgs};
use crate::client::{Client, segment};
use crate::config::{self, LocalData, Setup};
use crate::exit::{Exit, Failure, ServerLoss};
use crate::output::{self, Format};
use crate::screen::{Reader, beginning, put, say};

/// Bytes of a text from stdin, at most; the server takes fewer, and says so.
const MAX_TEXT_BYTES: u64 = 1024 * 1024;

/// Characters of a question that are repeated.
const SHOWN: usize = 160;

/// Messages that are asked for at once where all are wanted: few enough for one answer.
const PAGE: u32 = 500;

/// Runs one of the commands.
pub(crate) async fn chat_global(command: ChatGlobal) -> Result<Exit, Failure> {
    match command {
        ChatGlobal::Tail {
            after,
            jsonl,
            places,
        } => {
            let format = if jsonl { Format::Jsonl } else { Format::Text };
            tail::tail(&found(&places)?, after, format).await
        }
        ChatGlobal::Say {
            text,
            reply_to,
            machine,
            places,
        } => {
            let said = Text::new(spoken(&text)?)?;
            let found = found(&places)?;
            let posted = post(&found, &said, reply_to).await?;
            let as_text = |posted: &PostedMessage| format!("{}\n", posted.id);
            output::one(machine.format(), "posted", &posted, as_text)?;
            if machine.format() == Format::Text {
                tell_answered(&found, posted.id, said.as_str()).await;
            }
            Ok(Exit::Ok)
        }
        ChatGlobal::History {
            after,
            limit,
            machine,
            places,
        } => history(&found(&places)?, Pages::new(after, limit), machine.format()).await,
    }
}

fn found(places: &DirArgs) -> Result<Setup, Failure> {
    let found = config::read(places, &ModelArgs::default(), LocalData::UseOnly)?;
    found.say_foreign();
    Ok(found)
}

/// The server whose chat it is.
async fn server(found: &Setup) -> Result<Client, Failure> {
    running(&found.config).await.ok_or_else(|| {
        let why = text::global_chat::no_server(found.config.data_dir.display());
        Failure::new(Exit::Busy, "server_unreachable", why)
    })
}

/// What is to be said: the words that were typed, or stdin.
pub(crate) fn spoken(words: &[String]) -> Result<String, Failure> {
    match words {
        [] if std::io::stdin().is_terminal() => {
            return Err(Failure::usage(text::global_chat::say_what()));
        }
        [] => {}
        [dash] if dash == "-" => {}
        words => return Ok(words.join(" ")),
    }
    if std::io::stdin().is_terminal() {
        say(text::global_chat::reading_stdin());
    }
    let mut bytes = Vec::new();
    let read = std::io::stdin()
        .take(MAX_TEXT_BYTES + 1)
        .read_to_end(&mut bytes);
    read.map_err(|error| Failure::usage(text::run::stdin_unreadable(error)))?;
    if bytes.len() as u64 > MAX_TEXT_BYTES {
        let why = text::global_chat::stdin_too_long(MAX_TEXT_BYTES);
        return Err(Error::new(Code::BodyTooLarge, why).into());
    }
    String::from_utf8(bytes).map_err(|_| Failure::usage(text::global_chat::not_text()))
}

/// Says something once, as the answer to a question if it names one. A server that may have heard it is
/// not told again.
async fn post(found: &Setup, said: &Text, reply_to: Option<u64>) -> Result<PostedMessage, Failure> {
    let until = Instant::now() + PATIENCE;
    let path = format!("{BASE_PATH}/user_message");
    let mut params = json!({ "text": said.as_str() });
    if let Some(question) = reply_to {
        params["reply_to"] = question.into();
    }
    loop {
        let posted = server(found).await?.post(&path, &params).await;
        match posted {
            Err(failure) if failure.gone == ServerLoss::Untaken && Instant::now() < until => {
                tokio::time::sleep(LOOK_EVERY).await;
            }
            Err(failure) if failure.gone == ServerLoss::Unsure => {
                let why = text::global_chat::unsure();
                return Err(Failure::new(failure.exit, failure.code, why));
            }
            posted => return posted,
        }
    }
}

/// Says which question the words have answered, as far as the server still tells.
async fn tell_answered(found: &Setup, id: u64, said: &str) {
    let Ok(client) = server(found).await else {
        return;
    };
    let message = async |id: u64| -> Option<Value> {
        let path = format!("{BASE_PATH}/history?after={}&limit=1", id.checked_sub(1)?);
        let messages: Vec<Value> = client.get(&path).await.ok()?;
        messages.into_iter().find(|message| message["id"] == id)
    };
    let answer = message(id).await.unwrap_or_default();
    let Some(question) = answer["meta"]["reply_to"].as_u64() else {
        return;
    };
    let asked = message(question).await.unwrap_or_default();
    let asked = asked["text"].as_str().unwrap_or_default();
    let first = beginning(asked.lines().next().unwrap_or_default(), SHOWN);
    let verdict = asks_to_decide(asked).then(|| {
        if Answer::read(said, "").decision.allows() {
            text::global_chat::allowed()
        } else {
            text::global_chat::denied()
        }
    });
    say(&match verdict {
        Some(verdict) => text::global_chat::decided_question(question, verdict, first),
        None => text::global_chat::answered_question(question, first),
    });
}

/// Whether a question is whether a call may run: it says last how that is decided.
fn asks_to_decide(question: &str) -> bool {
    let last = question.lines().next_back().unwrap_or_default();
    let with_grant = text::global_chat::how_to_decide("");
    let before_grant = with_grant.split('(').next().unwrap_or_default();
    last == text::global_chat::how_to_decide_once() || last.starts_with(before_grant)
}

/// What was said so far.
async fn history(found: &Setup, mut pages: Pages, format: Format) -> Result<Exit, Failure> {
    let client = server(found).await?;
    let mut shown = Display::new(format);
    if shown.is_for_people() {
        shown.take_state(&state(&client).await?);
    }
    // One document has all of it, and is written when all of it is there.
    let (mut all, mut is_empty) = (Vec::new(), true);
    while let Some(messages) = pages.next(&client, &shown).await? {
        is_empty &= messages.is_empty();
        if format == Format::Json {
            all.extend(messages);
            continue;
        }
        let lines: Result<String, _> = messages.iter().map(|one| shown.line(one)).collect();
        if put(&lines?)? == Reader::Gone {
            return Ok(Exit::Ok);
        }
    }
    if format == Format::Json {
        output::list(format, MESSAGE, &all, |_| String::new())?;
    }
    if is_empty && shown.is_for_people() {
        say(text::global_chat::nothing());
    }
    shown.say_question();
    Ok(Exit::Ok)
}

/// What was said, a part at a time where all of it may be more than one answer holds.
struct Pages {
    after: Option<u64>,
    limit: Option<u32>,
    /// The run of the chat that the part before is of.
    boot: Option<String>,
    is_over: bool,
}

impl Pages {
    fn new(after: Option<u64>, limit: Option<u32>) -> Self {
        Self {
            after,
            limit,
            boot: None,
            is_over: false,
        }
    }

    async fn next(
        &mut self,
        client: &Client,
        shown: &Display,
    ) -> Result<Option<Vec<Value>>, Failure> {
        if self.is_over {
            return Ok(None);
        }
        let is_all = self.after.is_some() && self.limit.is_none();
        let limit = if is_all { Some(PAGE) } else { self.limit };
        let mut query = Vec::new();
        query.extend(self.after.map(|after| format!("after={after}")));
        query.extend(limit.map(|limit| format!("limit={limit}")));
        let boot = self.boot.as_ref();
        query.extend(boot.map(|boot| format!("boot={}", segment(boot))));
        let path = format!("{BASE_PATH}/history?{}", query.join("&"));
        let (headers, messages): (_, Vec<Value>) = client.get_with_headers(&path).await?;
        let header = |name| headers.get(name).and_then(|value| value.to_str().ok());
        if let (true, Some(first)) = (shown.is_for_people(), header(TRUNCATED_HEADER)) {
            say(&text::global_chat::truncated(first));
        }
        self.boot = header(BOOT_HEADER).map(str::to_owned);
        let last = messages.last().and_then(|message| message["id"].as_u64());
        self.is_over = !is_all || last.is_none();
        self.after = last.or(self.after);
        Ok(Some(messages))
    }
}

/// Who waits for the person.
async fn state(client: &Client) -> Result<ChatStateInfo, Failure> {
    client.get(&format!("{BASE_PATH}/state")).await
}
