//! A hole in a log, as a power cut leaves it: live events are gone while later facts are kept.

use std::path::Path;
use std::sync::Arc;

use samovar_core::event::Fragment;
use samovar_core::journal::Batch;
use samovar_core::{
    AgentPath, Author, Bounds, Event, Journal, Kind, Message, MessageId, Millis, Part, Role, Seq,
    SessionId, TurnId,
};
use samovar_model_server::say;
use samovar_stores::journal::LmdbJournal;
use samovar_testkit::{App, MODEL};
use serde_json::{Map, json};

fn session() -> SessionId {
    SessionId::new("s").unwrap()
}

fn message(id: &str, role: Role, text: &str) -> Message {
    Message::new(
        MessageId::new(id).unwrap(),
        role,
        vec![Part::text(text)],
        Millis(1),
    )
}

/// A log with an open turn, of which the positions 4 to 6 were only in the spool that is gone.
async fn leave_a_hole(dir: &Path) {
    let (journal, _) = LmdbJournal::open(dir, 1000).unwrap();
    let (log, epoch) = (journal.new_log(), journal.epoch());
    let event = |seq, turn: Option<&str>, kind| {
        Arc::new(Event {
            seq: Seq(seq),
            epoch,
            at: Millis(1),
            turn: turn.map(|turn| TurnId::new(turn).unwrap()),
            agent: AgentPath::root("master"),
            author: Author::Agent,
            kind,
        })
    };
    let opened = Kind::SessionOpened {
        model: MODEL.to_owned(),
        route: None,
        metadata: Map::new(),
        system_prompt: None,
        approval: None,
        begun_by: None,
    };
    let started = Kind::TurnStarted {
        model: MODEL.to_owned(),
        route: None,
        limits: samovar_core::Limits::default(),
        approval: samovar_core::Approval::Auto,
        bounds: Bounds::default(),
        parent_call: None,
        background: false,
        definition: None,
    };
    let keep = async |events| {
        let batch = Batch {
            log,
            session: session(),
            events,
            folded: Vec::new(),
            open_from: Some(Seq(2)),
        };
        journal.commit(batch).await.unwrap();
    };
    let asked = Kind::finished(message("question", Role::User, "what?"));
    keep(vec![
        event(1, None, opened),
        event(2, Some("turn"), asked),
        event(3, Some("turn"), started),
    ])
    .await;
    let deltas = (4..=6).map(|seq| {
        let delta = Kind::Delta {
            message: MessageId::new("answer").unwrap(),
            part: 0,
            fragment: Fragment::Text("lost ".to_owned()),
        };
        event(seq, Some("turn"), delta)
    });
    let deltas: Vec<_> = deltas.collect();
    journal.spool(log, &deltas).unwrap();
    let next = Kind::finished(message("next", Role::User, "and then?"));
    keep(vec![event(7, Some("next"), next)]).await;
    drop(journal);
    std::fs::remove_dir_all(dir.join("spool")).unwrap();
}

// proves DU-18
#[tokio::test]
async fn readers_step_over_a_hole_by_the_one_event_that_stands_for_it() {
    let mut app = App::start([say("an answer").forever()]).await;
    app.stop_now().await;
    leave_a_hole(&app.data_dir()).await;

    let app = app.restart().await;
    let engine = app.server().home().engine().clone();

    for after in [0, 3, 5] {
        let mut reader = engine.follow(&session(), Seq(after)).await.unwrap();
        let mut met: Vec<(Option<u64>, u64)> = Vec::new();
        while met.last().is_none_or(|(_, seq)| *seq < 7) {
            let events = reader.next().await.unwrap();
            met.extend(events.iter().map(|event| match event.kind {
                Kind::EventsLost { first } => (Some(first.0), event.seq.0),
                _ => (None, event.seq.0),
            }));
        }
        let lost = (Some(4), 6);
        let expected = [(None, 1), (None, 2), (None, 3), lost, (None, 7)];
        let behind = expected.iter().filter(|(_, seq)| *seq > after);
        met.truncate(behind.clone().count());
        assert!(met.iter().eq(behind), "behind {after}: {met:?}");
    }
    // Both turns come to their end, and the history has what was said.
    loop {
        let rows = app
            .ok("getMessages", json!({"sessionId": session().as_str()}))
            .await;
        let asked = |row: &serde_json::Value| row["role"] == "user";
        let asked = rows.as_array().unwrap().iter().filter(|row| asked(row));
        assert_eq!(asked.count(), 2);
        if rows.as_array().unwrap().last().unwrap()["content"] == "an answer" {
            break;
        }
    }
}
