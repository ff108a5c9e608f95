//! What is remembered: seen, changed and deleted by its owner (MD-13).

use jiff::Timestamp;
use samovar_core::audit::What;
use samovar_core::history::{SearchQuery, TurnQuery};
use samovar_core::{Code, Error, TurnId};
use samovar_engine::memory_left_out;
use samovar_locale as locale;
use samovar_memory::{
    Asker, EXCHANGE, Hit, Memories, Memory, MemoryId, Origin, Proposal, Remembered, Section,
};
use samovar_wire::agent::{
    self, DailyNotes, FoundMemory, MAX_FACTS, MemoryState, NoParams, SearchMemoryParams,
    UpdateMemoryParams, VectorCount,
};
use samovar_wire::api::{
    AnswerProposalParams, BASE_PATH, EditRememberedParams, ForgottenInfo, ProposalAnswer,
    ProposalInfo, ProposalList, RememberedInfo, RememberedList, RememberedParams, SearchResult,
};
use serde_json::json;
use uuid::Uuid;

use super::audit::decided;
use super::state::{Call, Endpoint};
use crate::endpoint::Verb;
use crate::engine_cell::starting;
use crate::tokens::Scope;

/// Messages that are named when a memory is deleted, at most.
const MAX_QUOTES: u32 = 20;

pub(super) fn routes() -> Vec<Endpoint> {
    // No other token than the owner's reads or changes the owner's memory.
    let of_agent = |method: &str| format!("{}/{method}", agent::BASE_PATH);
    let at = |path: &str| format!("{BASE_PATH}/{path}");
    vec![
        Endpoint::answering(
            &[Verb::Post, Verb::Get],
            Scope::Admin,
            of_agent("getMemory"),
            "Returns the long-term memory and the notes of the last days.",
            get_memory,
        ),
        Endpoint::answering(
            &[Verb::Post],
            Scope::Admin,
            of_agent("updateMemory"),
            "Adds facts to the long-term memory.",
            update_memory,
        ),
        Endpoint::answering(
            &[Verb::Post, Verb::Get],
            Scope::Admin,
            of_agent("searchMemory"),
            "Returns the memories and the exchanges of earlier sessions that answer a query, best first.",
            search_memory,
        ),
        Endpoint::answering(
            &[Verb::Get],
            Scope::Admin,
            at("memory"),
            "Returns all memories, with their ids and where they come from.",
            list,
        ),
        Endpoint::answering(
            &[Verb::Get],
            Scope::Admin,
            at("memory/proposals"),
            "Returns what agents propose to remember.",
            proposals,
        ),
        Endpoint::answering(
            &[Verb::Post],
            Scope::Admin,
            at("memory/proposals/{id}"),
            "Accepts or refuses a proposal, and returns the memory that it has become.",
            answer,
        ),
        Endpoint::answering(
            &[Verb::Get],
            Scope::Admin,
            at("memory/{id}"),
            "Returns one memory.",
            show,
        ),
        Endpoint::answering(
            &[Verb::Put],
            Scope::Admin,
            at("memory/{id}"),
            "Gives a memory another text, and returns it.",
            edit,
        ),
        Endpoint::answering(
            &[Verb::Delete],
            Scope::Admin,
            at("memory/{id}"),
            "Deletes a memory, and returns what messages still say of it.",
            forget,
        ),
    ]
}

async fn get_memory(call: Call, _params: NoParams) -> Result<MemoryState, Error> {
    on_memories(&call, |memories| {
        let ([person, long_term], days) = memories.last_days();
        let daily = days
            .into_iter()
            .map(|(date, text)| DailyNotes { date, text });
        Ok(MemoryState {
            long_term,
            person,
            daily: daily.collect(),
            vectors: VectorCount {
                count: memories.meant() as u64,
            },
            problems: memories.problems(),
        })
    })
    .await
}

async fn update_memory(call: Call, params: UpdateMemoryParams) -> Result<(), Error> {
    let UpdateMemoryParams { facts } = params;
    if facts.len() > MAX_FACTS {
        return Err(refused("facts", locale::memory::too_many(MAX_FACTS)));
    }
    let added = on_memories(&call, move |memories| {
        let mut added = Vec::new();
        for fact in facts {
            let origin = Origin {
                id: MemoryId::of_call("", &Uuid::now_v7().to_string()),
                turn: None,
                is_tainted: false,
            };
            let kept = memories.remember(&fact, Section::Facts, origin);
            let kept = kept.map_err(|why| refused("facts", why))?;
            if !kept.was_there {
                added.push(kept.id);
            }
        }
        Ok(added)
    });
    for id in added.await? {
        record(&call, What::MemoryChanged, &id).await?;
    }
    Ok(())
}

async fn search_memory(call: Call, params: SearchMemoryParams) -> Result<Vec<FoundMemory>, Error> {
    on_memories(&call, move |memories| {
        let recalled = memories.recall(&params.query, &Asker::owner(), params.limit());
        match recalled.problem {
            Some(why) if recalled.hits.is_empty() => Err(Error::new(Code::Unavailable, why)),
            _ => Ok(recalled.hits.into_iter().map(found).collect()),
        }
    })
    .await
}

fn found(Hit { what, ranked }: Hit) -> FoundMemory {
    let tainted = what.is_tainted();
    let (session_id, turn_id) = match &what {
        Remembered::Memory(memory) => (None, memory.entry.turn.clone()),
        Remembered::Exchange(it) => (Some(it.id.session.clone()), Some(it.id.turn.clone())),
    };
    let (id, source, text, created_at) = match what {
        Remembered::Memory(Memory { entry, source }) => (
            entry.id.to_string(),
            source.to_string(),
            entry.text,
            entry.date,
        ),
        Remembered::Exchange(it) => {
            let day = Timestamp::from_millisecond(it.at.0).unwrap_or_default();
            (
                it.id.turn.to_string(),
                EXCHANGE.to_owned(),
                format!("{}\n{}", it.said, it.answer),
                Some(day.strftime("%Y-%m-%d").to_string()),
            )
        }
    };
    FoundMemory {
        id,
        source,
        text,
        score: ranked.score,
        words: ranked.words,
        meaning: ranked.meaning,
        created_at,
        session_id,
        turn_id,
        tainted,
    }
}

async fn list(call: Call, _params: NoParams) -> Result<RememberedList, Error> {
    on_memories(&call, |memories| {
        let settings = memories.settings();
        let mut problems = memories.problems();
        let long_term = memories.tell().long_term.unwrap_or_default();
        if let Some((tokens, most)) = memory_left_out(&long_term) {
            problems.push(locale::memory::over_budget(tokens, most));
        }
        Ok(RememberedList {
            items: memories.all().into_iter().map(info).collect(),
            proposals: memories.proposals().len(),
            long_term_path: settings.long_term.display().to_string(),
            person_path: settings
                .person
                .as_ref()
                .map(|path| path.display().to_string()),
            daily_dir: settings.daily.display().to_string(),
            problems,
        })
    })
    .await
}

async fn show(call: Call, params: RememberedParams) -> Result<RememberedInfo, Error> {
    let id = read(&params.id)?;
    let found = on_memories(&call, move |memories| known(memories, &id));
    Ok(info(found.await?))
}

async fn edit(call: Call, params: EditRememberedParams) -> Result<RememberedInfo, Error> {
    let EditRememberedParams { text } = params;
    let id = read(call.segment("id"))?;
    let edited = on_memories(&call, move |memories| {
        known(memories, &id)?;
        memories
            .edit(&id, &text)
            .map_err(|why| refused("text", why))
    });
    let edited = edited.await?;
    record(&call, What::MemoryChanged, &edited.entry.id).await?;
    Ok(info(edited))
}

async fn forget(call: Call, params: RememberedParams) -> Result<ForgottenInfo, Error> {
    let id = read(&params.id)?;
    let of = id.clone();
    let there = on_memories(&call, move |memories| known(memories, &of));
    let entry = there.await?.entry;
    let said = said(&call, &entry.text, entry.turn).await?;
    let gone = on_memories(&call, move |memories| {
        known(memories, &id)?;
        memories.forget(&id).map_err(|why| refused("id", why))
    });
    let gone = gone.await?;
    record(&call, What::MemoryRemoved, &gone.entry.id).await?;
    Ok(said)
}

/// What messages say of a memory, before it is deleted: afterwards its words are known no more.
async fn said(call: &Call, text: &str, turn: Option<TurnId>) -> Result<ForgottenInfo, Error> {
    let engine = call.engine().await?;
    let query = SearchQuery {
        text: text.to_owned(),
        limit: MAX_QUOTES,
        before: None,
        edit_forks: true,
    };
    let found = SearchResult::from(engine.search(query).await?);
    let of_turn = TurnQuery {
        session: None,
        among: turn.into_iter().collect(),
        unfinished: false,
        limit: 1,
    };
    // Without any it would be about all turns.
    let turns = if of_turn.among.is_empty() {
        Vec::new()
    } else {
        engine.turns(of_turn).await?
    };
    Ok(ForgottenInfo {
        quotes: found.items,
        indexed: found.indexed,
        session_id: turns.into_iter().next().map(|turn| turn.session),
    })
}

async fn proposals(call: Call, _params: NoParams) -> Result<ProposalList, Error> {
    on_memories(&call, |memories| {
        let items = memories.proposals().into_iter().map(proposed);
        Ok(ProposalList {
            items: items.collect(),
        })
    })
    .await
}

async fn answer(call: Call, params: AnswerProposalParams) -> Result<Option<RememberedInfo>, Error> {
    let AnswerProposalParams { decision, text } = params;
    let id = read(call.segment("id"))?;
    let is_accepted = decision == ProposalAnswer::Accept;
    if text.is_some() && !is_accepted {
        return Err(refused("text", locale::memory::no_text_of_refused()));
    }
    let proposed = id.clone();
    let kept = on_memories(&call, move |memories| {
        let mut waiting = memories.proposals().into_iter();
        if !waiting.any(|proposal| proposal.id == id) {
            let why = locale::memory::no_proposal(&id);
            return Err(Error::new(Code::UnknownMemory, why));
        }
        let why = |why| refused("text", why);
        if is_accepted {
            let kept = memories.accept(&id, text.as_deref());
            return kept.map(|memory| Some(info(memory))).map_err(why);
        }
        memories.refuse(&id).map(|_| None).map_err(why)
    });
    let kept = kept.await?;
    let what = if is_accepted {
        What::ProposalAccepted
    } else {
        What::ProposalRefused
    };
    record(&call, what, &proposed).await?;
    Ok(kept)
}

/// Does something with the memories, on a thread that may block.
async fn on_memories<A: Send + 'static>(
    call: &Call,
    run: impl FnOnce(&Memories) -> Result<A, Error> + Send + 'static,
) -> Result<A, Error> {
    let guide = call.state.guide.get().ok_or_else(starting)?.clone();
    let done = tokio::task::spawn_blocking(move || run(&guide.memories)).await;
    done.unwrap_or_else(|error| Err(Error::new(Code::Internal, error.to_string())))
}

async fn record(call: &Call, what: What, id: &MemoryId) -> Result<(), Error> {
    let decision = decided(what, &call.by.sender);
    call.state
        .record(decision.about(format!("memory {id}")))
        .await
}

fn info(memory: Memory) -> RememberedInfo {
    let source = memory.source.to_string();
    let entry = memory.entry;
    RememberedInfo {
        id: entry.id.to_string(),
        text: entry.text,
        source,
        date: entry.date,
        turn_id: entry.turn,
        tainted: entry.is_tainted,
    }
}

fn proposed(proposal: Proposal) -> ProposalInfo {
    ProposalInfo {
        id: proposal.id.to_string(),
        text: proposal.text,
        about: proposal.about.as_str().to_owned(),
        section: proposal.section.as_str().to_owned(),
        date: proposal.date,
        turn_id: proposal.turn,
        by: proposal.by,
        tainted: proposal.outside,
    }
}

fn read(word: &str) -> Result<MemoryId, Error> {
    MemoryId::read(word).ok_or_else(|| unknown(word))
}

fn unknown(word: &str) -> Error {
    let why = locale::memory::unknown(locale::quoted(word));
    Error::new(Code::UnknownMemory, why)
}

/// The memory of an id.
fn known(memories: &Memories, id: &MemoryId) -> Result<Memory, Error> {
    memories.get(id).ok_or_else(|| {
        let unread = memories.unread();
        if unread.is_empty() {
            return unknown(id.as_str());
        }
        let why = locale::memory::unknown_unread(id, unread.join("; "));
        Error::new(Code::UnknownMemory, why)
    })
}

fn refused(parameter: &str, why: impl Into<std::borrow::Cow<'static, str>>) -> Error {
    Error::new(Code::InvalidParams, why).with_details(json!({ "parameter": parameter }))
}
