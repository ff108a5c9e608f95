//! Everything read again when all is over: each turn's stream from its start in both profiles, and
//! the messages of each session.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, timeout_at};

use crate::client::{Address, Came, Frames, Gone, Refusal};
use crate::observed::{Incident, Profile, Reading, Stored};
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
        };
        for profile in [Profile::Full, Profile::Default] {
            if let Some(reading) = whole(stage, at, &subject, profile, end).await {
                stage.retold(reading);
            }
        }
    }
    for session in sessions {
        stored(stage, at, &session).await;
    }
    for session in observed.deleted {
        let params = json!({ "sessionId": session });
        if let Ok(Ok(_)) = stage.client.call(at, "getSession", &params).await {
            stage.came_back(session);
        }
    }
}

async fn whole(
    stage: &Stage,
    at: &Address,
    subject: &Subject,
    profile: Profile,
    end: Instant,
) -> Option<Reading> {
    let mut frames = match open(stage, at, subject, profile, end).await {
        Ok(Ok(frames)) => frames,
        Ok(Err(refusal)) => {
            let message = subject.message.clone();
            let why = refusal.body;
            stage.note(Incident::Refused { message, why });
            return None;
        }
        Err(Gone) => return None,
    };
    let mut reading = Reading {
        message: subject.message.clone(),
        profile,
        ..Reading::default()
    };
    loop {
        match timeout_at(end, frames.next()).await {
            Ok(Came::Frame(frame)) => reading.frames.push(frame),
            Ok(Came::Done) => {
                reading.is_done = true;
                return Some(reading);
            }
            Ok(Came::Malformed(text)) => stage.note(Incident::Malformed(text)),
            Ok(Came::Broken) | Err(_) => return Some(reading),
        }
    }
}

async fn open(
    stage: &Stage,
    at: &Address,
    subject: &Subject,
    profile: Profile,
    end: Instant,
) -> Result<Result<Frames, Refusal>, Gone> {
    loop {
        let posted = stage
            .client
            .post(at, &subject.params(), profile, None)
            .await?;
        match posted {
            Err(refusal) if refusal.may_pass() && Instant::now() < end => {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            settled => return Ok(settled),
        }
    }
}

async fn stored(stage: &Stage, at: &Address, session: &str) {
    let params = json!({ "sessionId": session });
    match stage.client.call(at, "getMessages", &params).await {
        Ok(Ok(rows)) => {
            let rows = rows.as_array().map(Vec::as_slice).unwrap_or_default();
            stage.keeps(rows.iter().map(|row| row_of(session, row)).collect());
        }
        Ok(Err(refusal)) => stage.note(Incident::Refused {
            message: session.to_owned(),
            why: refusal.body,
        }),
        Err(_) => stage.note(Incident::Ended(session.to_owned())),
    }
}

fn row_of(session: &str, row: &Value) -> Stored {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    Stored {
        session: session.to_owned(),
        id: text(&row["id"]),
        role: text(&row["role"]),
        content: text(&row["content"]),
        call: row["toolCallId"].as_str().map(str::to_owned),
    }
}
