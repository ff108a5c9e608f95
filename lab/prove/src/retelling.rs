//! Everything read again when all is over: each turn's stream from its start in both profiles, and
//! the messages of each session.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, timeout_at};

use crate::client::{Address, Frames, Refusal, ServerGone, StreamItem};
use crate::listener;
use crate::observed::{
    CopiedRow, Copies, Images, Incident, ListedTurn, Profile, ReaderConnection, Stored, Tokens,
    Totals,
};
use crate::picture;
use crate::reader::Subject;
use crate::stage::Stage;

/// Reads everything again; a turn that does not end in this time is left as far as it was read.
pub(crate) async fn read_again(stage: &Arc<Stage>, at: &Address, patience: Duration) {
    let end = Instant::now() + patience;
    let observed = stage.observed();
    let mut sessions = BTreeSet::new();
    for post in observed.posts.iter().filter(|post| post.acked_at.is_some()) {
        sessions.insert(post.session.clone());
        let subject = Subject {
            session: post.session.clone(),
            message: post.message.clone(),
            delivery: post.delivery,
        };
        for profile in [Profile::Full, Profile::Default] {
            if let Some(reading) = whole(stage, at, &subject, profile, end).await {
                stage.retold(reading);
            }
        }
    }
    for session in sessions {
        stage.lists(turns(stage, at, &session, end).await);
        stage.keeps(rows(stage, at, &session).await);
        totals(stage, at, &session).await;
    }
    copies(stage, at, &observed.copies).await;
    images(stage, at, end).await;
    memories(stage, at).await;
    damage(stage, at).await;
    chat(stage, at, end).await;
    for session in observed.deleted {
        let params = json!({ "sessionId": session });
        match stage.client.call(at, "getSession", &params).await {
            Ok(Ok(_)) => stage.came_back(session),
            Ok(Err(refusal)) if refusal.code == "unknown_session" => {}
            Ok(Err(refusal)) => refused(stage, &session, refusal),
            Err(ServerGone) => stage.note(Incident::Unfinished(session)),
        }
    }
}

/// What is remembered.
async fn memories(stage: &Stage, at: &Address) {
    match stage.client.get(at, "/api/memory").await {
        Ok(Ok(answer)) => {
            let items = answer.value["items"].as_array().map(Vec::as_slice);
            let texts = items.unwrap_or_default().iter();
            let texts = texts.filter_map(|item| item["text"].as_str().map(str::to_owned));
            stage.lists_memories(texts.collect());
        }
        Ok(Err(refusal)) => refused(stage, "memory", refusal),
        Err(ServerGone) => stage.note(Incident::Unfinished("memory".to_owned())),
    }
}

async fn whole(
    stage: &Stage,
    at: &Address,
    subject: &Subject,
    profile: Profile,
    end: Instant,
) -> Option<ReaderConnection> {
    let mut frames = match open(stage, at, subject, profile, end).await {
        Ok(Ok(frames)) => frames,
        Ok(Err(refusal)) => {
            refused(stage, &subject.message, refusal);
            return None;
        }
        Err(ServerGone) => {
            stage.note(Incident::Unfinished(subject.message.clone()));
            return None;
        }
    };
    let mut reading = ReaderConnection {
        message: subject.message.clone(),
        profile,
        ..ReaderConnection::default()
    };
    loop {
        match timeout_at(end, frames.next()).await {
            Ok(StreamItem::Frame(frame)) => reading.frames.push(frame),
            Ok(StreamItem::Done) => {
                reading.is_done = true;
                return Some(reading);
            }
            Ok(StreamItem::Malformed(text)) => stage.note(Incident::Malformed(text)),
            Ok(StreamItem::Broken) | Err(_) => return Some(reading),
        }
    }
}

async fn open(
    stage: &Stage,
    at: &Address,
    subject: &Subject,
    profile: Profile,
    end: Instant,
) -> Result<Result<Frames, Refusal>, ServerGone> {
    loop {
        let posted = stage
            .client
            .post(at, &subject.params(), profile, None)
            .await?;
        match posted {
            Err(refusal) if Instant::now() < end && stage.is_put_off(&refusal) => {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            settled => return Ok(settled),
        }
    }
}

/// All messages of a session, oldest first.
pub(crate) async fn rows(stage: &Stage, at: &Address, session: &str) -> Vec<Stored> {
    let rows = all(stage, at, session).await.into_iter();
    rows.map(|copy| copy.row).collect()
}

/// The same, with what each is a copy of.
async fn all(stage: &Stage, at: &Address, session: &str) -> Vec<CopiedRow> {
    let mut rows: Vec<CopiedRow> = Vec::new();
    loop {
        let mut params = json!({ "sessionId": session });
        if let Some(oldest) = rows.first() {
            params["before"] = oldest.row.id.as_str().into();
        }
        let page = match stage.client.call(at, "getMessages", &params).await {
            Ok(Ok(page)) => page,
            Ok(Err(refusal)) => {
                refused(stage, session, refusal);
                return rows;
            }
            Err(ServerGone) => {
                stage.note(Incident::Unfinished(session.to_owned()));
                return rows;
            }
        };
        let page = page.as_array().map(Vec::as_slice).unwrap_or_default();
        if page.is_empty() {
            return rows;
        }
        let page = page.iter().map(|row| CopiedRow {
            row: row_of(session, row),
            of: row["metadata"]["forkedFrom"]["messageId"]
                .as_str()
                .map(str::to_owned),
        });
        rows.splice(0..0, page);
    }
}

/// What is in the sessions without turns.
async fn copies(stage: &Stage, at: &Address, copies: &Copies) {
    let forks = copies.forks.iter().map(|fork| &fork.session);
    let appended = copies.appended.first().map(|first| &first.session);
    let imports = copies.imports.iter().map(|import| &import.session);
    for session in forks.chain(imports).chain(appended) {
        stage.keeps_copies(all(stage, at, session).await.into_iter());
    }
}

/// What became of the images of the rows that were read, and of those of deleted sessions.
async fn images(stage: &Stage, at: &Address, end: Instant) {
    let observed = stage.observed();
    let mut images = Images::default();
    let copied = observed.copies.rows.iter().map(|copy| &copy.row);
    let rows = observed.stored.iter().chain(copied);
    let named: BTreeSet<_> = rows.filter_map(|row| row.image.as_deref()).collect();
    for name in named {
        match stage.client.bytes(at, &format!("/api/blobs/{name}")).await {
            Ok(Some(bytes)) if picture::name(&bytes) == name => {}
            Ok(_) => images.lost.push(name.to_owned()),
            Err(ServerGone) => stage.note(Incident::Unfinished(name.to_owned())),
        }
    }
    for session in &observed.deleted {
        let Some(image) = picture::of(&picture::message_of(session)) else {
            continue;
        };
        let name = picture::name(&image);
        let path = format!("/api/blobs/{name}");
        // It is removed a moment after the answer.
        while let Ok(Some(_)) = stage.client.bytes(at, &path).await {
            if Instant::now() > end {
                images.left.push(name);
                break;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
    stage.kept_images(images);
}

/// The last turns of a session, once all are over or it is too late for that: those in the background
/// are read by no client.
async fn turns(stage: &Stage, at: &Address, session: &str, end: Instant) -> Vec<ListedTurn> {
    let path = format!("/api/turns?sessionId={session}&limit=200");
    loop {
        let listed = match stage.client.get(at, &path).await {
            Ok(Ok(found)) => found.value,
            Ok(Err(refusal)) => {
                refused(stage, &path, refusal);
                return Vec::new();
            }
            Err(ServerGone) => {
                stage.note(Incident::Unfinished(path));
                return Vec::new();
            }
        };
        let turns = listed.as_array().map(Vec::as_slice).unwrap_or_default();
        let turns: Vec<_> = turns.iter().map(listed_turn).collect();
        if turns.iter().all(|turn| turn.is_over) || Instant::now() > end {
            return turns;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn listed_turn(turn: &Value) -> ListedTurn {
    ListedTurn {
        turn: text(&turn["turnId"]),
        depth: turn["depth"].as_u64().unwrap_or_default(),
        call: turn["toolCallId"].as_str().map(str::to_owned),
        is_over: turn["state"] == "finished",
        reason: text(&turn["finishReason"]),
    }
}

async fn totals(stage: &Stage, at: &Address, session: &str) {
    let params = json!({ "sessionId": session });
    match stage.client.call(at, "getSession", &params).await {
        Ok(Ok(said)) => {
            let tokens = |name: &str| said["tokens"][name].as_u64().unwrap_or_default();
            let totals = Totals {
                messages: said["messageCount"].as_u64().unwrap_or_default(),
                tokens: Tokens {
                    input: tokens("input"),
                    output: tokens("output"),
                },
            };
            stage.counts(session, totals);
        }
        Ok(Err(refusal)) => refused(stage, session, refusal),
        Err(ServerGone) => stage.note(Incident::Unfinished(session.to_owned())),
    }
}

/// The global chat from its first message, and whether it waits for nobody.
async fn chat(stage: &Stage, at: &Address, end: Instant) {
    let path = "/chat/history?after=0";
    match stage.client.get(at, path).await {
        Ok(Ok(found)) => {
            stage.boots(at.life, &found.boot);
            let place = stage.listens(at.life, 0);
            let messages = found.value.as_array().map(Vec::as_slice);
            for value in messages.unwrap_or_default() {
                match listener::message(value) {
                    Some(message) => stage.hears(place, message),
                    None => stage.note(Incident::Malformed(value.to_string())),
                }
            }
        }
        Ok(Err(refusal)) => refused(stage, path, refusal),
        Err(ServerGone) => stage.note(Incident::Unfinished(path.to_owned())),
    }
    if let Some(state) = still_waits(stage, at, end).await {
        stage.is_left(&state);
    }
}

/// What the chat waits for; what is withdrawn is so in a moment.
async fn still_waits(stage: &Stage, at: &Address, end: Instant) -> Option<String> {
    loop {
        let Ok(Ok(found)) = stage.client.get(at, "/chat/state").await else {
            return Some("no answer".to_owned());
        };
        let said = found.value;
        if said["pending_input"].is_null() && said["waiting"] == 0 {
            return None;
        }
        if Instant::now() > end {
            return Some(said.to_string());
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// What the server says is damaged; a kill damages nothing.
async fn damage(stage: &Stage, at: &Address) {
    match stage.client.get(at, "/api/damage").await {
        Ok(Ok(said)) => {
            let items = said.value["items"].as_array().map(Vec::as_slice);
            for item in items.unwrap_or_default() {
                stage.note(Incident::Damage(item.to_string()));
            }
        }
        Ok(Err(refusal)) => refused(stage, "/api/damage", refusal),
        Err(ServerGone) => stage.note(Incident::Unfinished("/api/damage".to_owned())),
    }
}

fn refused(stage: &Stage, what: &str, refusal: Refusal) {
    stage.note(Incident::Refused {
        message: what.to_owned(),
        why: refusal.body,
    });
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn row_of(session: &str, row: &Value) -> Stored {
    let (agent, background) = (&row["metadata"]["agent"], &row["metadata"]["background"]);
    Stored {
        depth: agent["depth"].as_u64().unwrap_or_default(),
        of_call: agent["toolCallId"].as_str().map(str::to_owned),
        result_of: background["turnId"].as_str().map(str::to_owned),
        session: session.to_owned(),
        id: text(&row["id"]),
        role: text(&row["role"]),
        content: text(&row["content"]),
        call: row["toolCallId"].as_str().map(str::to_owned),
        image: row["parts"][1]["blob"].as_str().map(str::to_owned),
    }
}
