//! The tools with which an agent remembers, notes, recalls and forgets.

use std::sync::Arc;

use jiff::Timestamp;
use samovar_core::approval::{Previewed, visible};
use samovar_core::history::Exchange;
use samovar_core::tool::{DEFAULT_TIMEOUT, MARKED, Origin as ToolOrigin, OutsideText, Sharing};
use samovar_core::{
    Asks, Beginner, CallContext, CallFacts, Closer, Effect, Future, Outcome, Preview, Probed,
    ToolCall, ToolReply, ToolSpec, Toolset,
};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::document::Section;
use crate::entry::MemoryId;
use crate::exchange::Asker;
use crate::memories::{About, Memories, Recalled, Remembered};
use crate::memory::{Kept, Memory, Origin, Source};

/// Keeps a fact.
pub const REMEMBER: &str = "remember";
/// Adds to the notes of the present day.
pub const NOTE_TODAY: &str = "note_today";
/// Finds memories.
pub const RECALL: &str = "recall";
/// Deletes a memory.
pub const FORGET: &str = "forget";
/// All of them.
pub const NAMES: [&str; 4] = [REMEMBER, NOTE_TODAY, RECALL, FORGET];

/// Where an exchange is that was found.
pub const EXCHANGE: &str = "exchange";
/// Characters of it that are shown.
const MAX_SAID: usize = 300;
const MAX_ANSWER: usize = 600;
/// How many memories and exchanges a recall finds at most.
const HITS: usize = 8;
/// What a recall without any says: a small model that reads no more than that nothing is remembered gives up.
const NOTHING: &str = "nothing is remembered of this; look for it in the files";

/// The tools over the memories of a store.
pub fn tools(memories: Arc<Memories>) -> Arc<dyn Toolset> {
    Arc::new(MemoryTools(memories))
}

struct MemoryTools(Arc<Memories>);

#[derive(Deserialize)]
struct NewText {
    text: String,
    #[serde(default)]
    section: Section,
    #[serde(default)]
    about: About,
}

#[derive(Deserialize)]
struct Query {
    query: String,
}

#[derive(Deserialize)]
struct Gone {
    id: String,
}

fn spec(name: &str, about: &str, properties: &Value, effect: Effect) -> Arc<ToolSpec> {
    let (asks, required, sharing) = match name {
        FORGET => (
            Some(Asks::because("deletes a memory")),
            "id",
            Sharing::Exclusive,
        ),
        RECALL => (None, "query", Sharing::Parallel),
        _ => (None, "text", Sharing::Exclusive),
    };
    Arc::new(ToolSpec {
        name: name.to_owned(),
        description: about.to_owned(),
        parameters: json!({
            "type": "object",
            "properties": properties,
            "required": [required],
            "additionalProperties": false
        }),
        effect,
        asks,
        origin: ToolOrigin::BuiltIn,
        closed: false,
        timeout: DEFAULT_TIMEOUT,
        sharing,
        closer: Closer::Tool,
    })
}

impl Toolset for MemoryTools {
    fn specs(&self) -> Vec<Arc<ToolSpec>> {
        let text = || json!({"type": "string"});
        let sections = Section::ALL.map(Section::as_str);
        vec![
            spec(
                REMEMBER,
                "Keeps one lasting fact that the person told you about them or their work, for later \
                 sessions; about person: for every folder, if they agree.",
                &json!({
                    "text": text(),
                    "section": {"type": "string", "enum": sections},
                    "about": {"type": "string", "enum": [About::Folder, About::Person]},
                }),
                Effect::Idempotent,
            ),
            spec(
                NOTE_TODAY,
                "Adds a line to the diary of today, when the person says: note this.",
                &json!({"text": text()}),
                Effect::Idempotent,
            ),
            spec(
                RECALL,
                "Searches earlier conversations and memories, when the person asks what was said in \
                 them.",
                &json!({"query": text()}),
                Effect::Read,
            ),
            spec(
                FORGET,
                "Deletes a memory by its id.",
                &json!({"id": text()}),
                Effect::Verifiable,
            ),
        ]
    }

    fn facts(&self, call: &ToolCall) -> Option<CallFacts> {
        if call.name != RECALL {
            return Some(CallFacts {
                asks: (call.name == FORGET).then_some(Asks::because("deletes a memory")),
                grants: Some(Vec::new()),
                instructs: true,
                ..CallFacts::default()
            });
        }
        Some(CallFacts {
            reads: true,
            outside: Some(OutsideText::Marked),
            ..CallFacts::default()
        })
    }

    fn call(&self, call: ToolCall, context: CallContext) -> Future<'static, ToolReply> {
        let memories = self.0.clone();
        let answered = tokio::task::spawn_blocking(move || answer(&memories, &call, &context));
        Box::pin(async move {
            let outcome = answered.await;
            ToolReply::Closed(outcome.unwrap_or_else(|error| Outcome::failed(error.to_string())))
        })
    }

    fn preview(&self, call: &ToolCall) -> Future<'static, Previewed> {
        let (memories, call) = (self.0.clone(), call.clone());
        let looked = tokio::task::spawn_blocking(move || preview(&memories, &call));
        Box::pin(async move {
            let looked = looked.await;
            looked.unwrap_or_else(|error| Err(Outcome::failed(error.to_string())))
        })
    }

    fn probe(
        &self,
        call: ToolCall,
        _foreseen: Option<Value>,
        _context: CallContext,
    ) -> Future<'static, Probed> {
        let memories = self.0.clone();
        let look = move || {
            let id = id_of(&call)?;
            let is_gone = memories.get(&id).is_none();
            Some(if is_gone {
                Probed::Done(forgotten(&id, None))
            } else {
                Probed::NotDone
            })
        };
        let looked = tokio::task::spawn_blocking(look);
        Box::pin(async move { looked.await.ok().flatten().unwrap_or(Probed::Unknown) })
    }
}

fn id_of(call: &ToolCall) -> Option<MemoryId> {
    let gone = Gone::deserialize(&call.args).ok()?;
    MemoryId::read(gone.id.trim())
}

/// What a person sees of a deletion before it happens: the memory's present text.
fn preview(memories: &Memories, call: &ToolCall) -> Previewed {
    if call.name != FORGET {
        return Ok(Preview::default());
    }
    let Some(memory) = id_of(call).and_then(|id| memories.get(&id)) else {
        return Err(Outcome::failed(
            "there is no memory of this id; recall finds them",
        ));
    };
    not_persons(&memory).map_err(Outcome::failed)?;
    Ok(Preview {
        foreseen: Some(json!(memory.entry.line())),
        text: Some(visible(&memory.entry.line()).into_owned()),
    })
}

fn answer(memories: &Memories, call: &ToolCall, context: &CallContext) -> Outcome {
    let done = match call.name.as_str() {
        REMEMBER | NOTE_TODAY => keep(memories, call, context),
        RECALL => recall(memories, call, context),
        _ => forget(memories, call, context),
    };
    done.unwrap_or_else(Outcome::failed)
}

fn keep(memories: &Memories, call: &ToolCall, context: &CallContext) -> Result<Outcome, String> {
    let NewText {
        text,
        section,
        about,
    } = NewText::deserialize(&call.args).map_err(|error| misfit(&error))?;
    let origin = Origin {
        id: MemoryId::of_call(context.session.as_str(), context.key.as_str()),
        turn: Some(context.turn.clone()),
        is_tainted: context.tainted,
    };
    let token = context.guest.as_deref();
    let is_note = call.name == NOTE_TODAY;
    let about = if is_note { About::Day } else { about };
    if token.is_some() || about == About::Person {
        let kept = memories.propose(&text, (about, section), token, origin)?;
        return Ok(proposed(&kept));
    }
    let (Kept { id, was_there }, how) = if is_note {
        (memories.note(&text, origin)?, "noted")
    } else {
        (memories.remember(&text, section, origin)?, "remembered")
    };
    let words = if was_there {
        "this was there already"
    } else {
        how
    };
    Ok(Outcome::done(format!("{words}: {id}")).with_data(json!({"memory": id})))
}

fn proposed(Kept { id, was_there }: &Kept) -> Outcome {
    let words = if *was_there {
        "this was proposed already, or is known"
    } else {
        "proposed; it is remembered once the person accepts it"
    };
    Outcome::done(format!("{words}: {id}")).with_data(json!({"proposal": id}))
}

fn recall(memories: &Memories, call: &ToolCall, context: &CallContext) -> Result<Outcome, String> {
    let query = Query::deserialize(&call.args).map_err(|error| misfit(&error))?;
    let begun_by = match &context.guest {
        Some(name) => Beginner::Token(name.to_string()),
        None => Beginner::Owner,
    };
    let asker = Asker {
        begun_by,
        session: Some(context.session.clone()),
    };
    let Recalled { hits, problem } = memories.recall(&query.query, &asker, HITS);
    let mut lines: Vec<_> = hits.iter().map(|hit| found(&hit.what)).collect();
    // Another token's agent is told nothing of the owner's files.
    let unread = context.guest.is_none().then(|| memories.unread());
    let lacks: Vec<_> = unread.into_iter().flatten().chain(problem).collect();
    if !lacks.is_empty() {
        let why = lacks.join("; ");
        if hits.is_empty() {
            return Err(format!("nothing was found, but not all can be read: {why}"));
        }
        lines.push(format!("There may be more: {why}."));
    } else if hits.is_empty() {
        lines.push(NOTHING.to_owned());
    }
    let is_outside = hits.iter().any(|hit| hit.what.is_tainted());
    let hits = hits.iter().map(|hit| match &hit.what {
        Remembered::Memory(Memory { entry, source }) => json!({
            "id": entry.id, "score": hit.ranked.score, "source": source.to_string(),
        }),
        Remembered::Exchange(exchange) => json!({
            "id": exchange.id.turn, "score": hit.ranked.score, "source": EXCHANGE,
            "session": exchange.id.session,
        }),
    });
    let mut data = json!({"hits": hits.collect::<Vec<_>>()});
    if is_outside {
        data[MARKED] = true.into();
    }
    Ok(Outcome::done(lines.join("\n")).with_data(data))
}

/// What was found, as an agent reads it.
fn found(what: &Remembered) -> String {
    let Exchange {
        id,
        said,
        answer,
        at,
        tainted,
    } = match what {
        Remembered::Memory(memory) => return shown(memory),
        Remembered::Exchange(exchange) => exchange,
    };
    let short = |text: &str, most: usize| {
        let words: Vec<_> = text.split_whitespace().collect();
        let words = words.join(" ");
        let mut short: String = words.chars().take(most).collect();
        if short.len() < words.len() {
            short.push('…');
        }
        short
    };
    let day = Timestamp::from_millisecond(at.0).unwrap_or_default();
    let day = day.strftime("%Y-%m-%d");
    let (said, answer) = (short(said, MAX_SAID), short(answer, MAX_ANSWER));
    let (session, mark) = (&id.session, mark(*tainted));
    format!(
        "- asked: {said}\n  answered: {answer} [{EXCHANGE} of {day} in session {session}{mark}]"
    )
}

fn forget(memories: &Memories, call: &ToolCall, context: &CallContext) -> Result<Outcome, String> {
    let Gone { id } = Gone::deserialize(&call.args).map_err(|error| misfit(&error))?;
    let id = MemoryId::read(id.trim())
        .ok_or_else(|| format!("{id:?} is no id of a memory; recall shows them"))?;
    let found = memories.get(&id);
    found.as_ref().map_or(Ok(()), not_persons)?;
    // A person decided about what they saw.
    let line = found.map(|memory| memory.entry.line());
    if let (Some(seen), Some(line)) = (&context.approved, line)
        && *seen != json!(line)
    {
        return Err(format!(
            "{id} has changed since it was shown; nothing was deleted"
        ));
    }
    let memory = memories.forget(&id)?;
    Ok(forgotten(&id, Some(&memory)))
}

/// An agent changes nothing of the person's own file.
fn not_persons(memory: &Memory) -> Result<(), String> {
    match memory.source {
        Source::Person(_) => Err(format!(
            "{} is in the person's own file for all folders, and only they delete it: samovar memory \
             forget {0}",
            memory.entry.id
        )),
        Source::LongTerm(_) | Source::Day(_) => Ok(()),
    }
}

fn forgotten(id: &MemoryId, memory: Option<&Memory>) -> Outcome {
    let text = match memory {
        Some(memory) => format!("deleted: {}", shown(memory)),
        None => format!("deleted: {id}"),
    };
    Outcome::done(text).with_data(json!({"memory": id}))
}

fn misfit(error: &serde_json::Error) -> String {
    format!("the arguments do not fit: {error}")
}

fn mark(is_tainted: bool) -> &'static str {
    if is_tainted {
        ", after text from outside"
    } else {
        ""
    }
}

fn shown(memory: &Memory) -> String {
    let entry = &memory.entry;
    let mark = mark(entry.is_tainted);
    format!("- {} [{}; {}{mark}]", entry.text, entry.id, memory.source)
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;
    use samovar_core::{AgentPath, CallId, Clock, Millis, SessionId, TurnId};

    use super::*;
    use crate::memory::Settings;

    struct Still;

    impl Clock for Still {
        fn now(&self) -> Millis {
            Millis(0)
        }
    }

    fn opened(dir: &tempfile::TempDir) -> Arc<Memories> {
        let settings = Settings {
            long_term: dir.path().join("MEMORY.md"),
            person: None,
            daily: dir.path().join("memory"),
            window_days: 3,
            zone: TimeZone::UTC,
            remarks: Vec::new(),
        };
        Arc::new(Memories::open(settings, Arc::new(Still)))
    }

    // proves MD-13
    #[test]
    fn a_recall_says_what_it_could_not_read() {
        let dir = tempfile::TempDir::new().unwrap();
        let memories = opened(&dir);
        let (session, turn) = (SessionId::new("s").unwrap(), TurnId::new("t").unwrap());
        let id = CallId::new("c").unwrap();
        let context = CallContext::new(session, turn, AgentPath::root("master"), id.clone());
        let call = ToolCall::new(id, RECALL, json!({"query": "tea"}));
        let recalled = || super::recall(&memories, &call, &context);
        assert_eq!(recalled().unwrap().text, NOTHING);
        std::fs::write(dir.path().join("MEMORY.md"), b"- caf\xe9\n").unwrap();
        let why = recalled().unwrap_err();
        assert!(
            why.contains("not all can be read") && why.contains("it is not UTF-8"),
            "{why}"
        );
        std::fs::create_dir(dir.path().join("memory")).unwrap();
        std::fs::write(dir.path().join("memory/1970-01-01.md"), "- Drank tea.\n").unwrap();
        let found = recalled().unwrap().text;
        assert!(
            found.contains("Drank tea.") && found.contains("There may be more: "),
            "{found}"
        );
    }

    // proves MD-7
    #[test]
    fn the_tools_take_at_most_1200_bytes_of_a_request() {
        let dir = tempfile::TempDir::new().unwrap();
        let tools = tools(opened(&dir));
        let specs = tools.specs().into_iter();
        let shown = specs.map(|spec| {
            json!({"type": "function", "function": {
                "name": spec.name, "description": spec.description, "parameters": spec.parameters,
            }})
        });
        let bytes: usize = shown.map(|spec| spec.to_string().len() + 1).sum();
        assert!(bytes <= 1_200, "{bytes}");
        let names = tools.specs().into_iter().map(|spec| spec.name.clone());
        assert_eq!(names.collect::<Vec<_>>(), NAMES);
    }
}
