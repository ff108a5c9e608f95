use samovar_core::Role;
use samovar_core::error::FaultCode;
use samovar_core::relay::{Envelope, MessageKind, PersonDeed, RelayRole};
use samovar_doubles::{Reply, World, call, fail, say};
use samovar_engine::Ports;
use samovar_movie_host::MovieHost;
use serde_json::{Value, json};

use super::*;
use crate::test_peer::{Path, TestPeer, asked, object};
use crate::{InProcess, Pass, Relay, RelayConfig};

impl TestPeer {
    async fn lets_in(&mut self) {
        let join = self.hears(MessageKind::RelayJoin).await;
        assert_eq!(
            join.payload,
            object(&json!({"role": "agent", "sessionId": "r"}))
        );
        let joined = MessageKind::RelayJoined;
        self.answers(joined, Some(&join), Value::Object(join.payload.clone()))
            .await;
    }

    /// Answers `snapshot.get`.
    async fn shows(&mut self, study: Value, stage: &str, tools: Value) {
        let look = self.hears(MessageKind::SnapshotGet).await;
        let mut shown = state(stage, &tools);
        shown["sessionId"] = study;
        self.answers(MessageKind::SnapshotState, Some(&look), shown)
            .await;
    }

    async fn refuses(&mut self, kind: MessageKind, code: &str) {
        let asked = self.hears(kind).await;
        let error = json!({"code": code, "message": "no"});
        self.answers(MessageKind::Error, Some(&asked), error).await;
    }

    async fn person_says(&self, text: &str) {
        let said = json!({"text": text, "stage": "movie"});
        self.tells(MessageKind::UserMessage, said).await;
    }

    async fn hears_words(&mut self, words: &str) {
        let said = self.hears(MessageKind::AgentMessage).await;
        assert_eq!(said.payload["text"], words);
    }

    async fn hears_call(&mut self, tool: &str) -> Envelope {
        let call = self.hears(MessageKind::ToolCall).await;
        assert_eq!(call.payload["toolName"], tool);
        call
    }
}

fn state(stage: &str, tools: &Value) -> Value {
    json!({"uiSpec": {"stage": stage}, "messageHistory": [], "toolSchema": tools})
}

fn select() -> Value {
    json!([{"name": "select", "description": "d", "parameters": {"itemId": {"type": "string"}}}])
}

fn screen(stage: &str) -> String {
    format!("[screen] {{\"uiSpec\":{{\"stage\":\"{stage}\"}},\"messageHistory\":[]}}")
}

struct Stage {
    world: World,
    agent: RelayAgent,
    ways: mpsc::Receiver<TestPeer>,
}

async fn parts(world: &World, way: Box<dyn Connector>) -> AgentParts {
    let ports = Ports {
        journal: Arc::new(()),
        history: Arc::new(()),
        blobs: Arc::new(samovar_core::blob::MemoryBlobs::default()),
        models: Arc::new(world.model.clone()),
        toolbox: Arc::default(),
        agents: Arc::new(()),
        clock: world.clock.clone(),
        ids: world.ids.clone(),
        damages: Arc::new(()),
        audit: Arc::new(()),
    };
    AgentParts {
        room: "r".to_owned(),
        way,
        study: Study {
            study: Some("pilot".to_owned()),
            participant: None,
        },
        model: None,
        engine: Engine::start(ports, Settings::default()).await.unwrap(),
    }
}

async fn begin(answers: impl IntoIterator<Item = Reply>) -> Stage {
    let world = World::answering(answers);
    let (made, ways) = mpsc::channel(1);
    let agent = RelayAgent::begin(parts(&world, Box::new(Path(made))).await);
    Stage { world, agent, ways }
}

impl Stage {
    async fn far(&mut self) -> TestPeer {
        let mut far = self.ways.recv().await.unwrap();
        far.lets_in().await;
        far
    }

    /// With an agent that is in a study session already.
    async fn ready(&mut self) -> TestPeer {
        let mut far = self.far().await;
        far.shows(json!("s-1"), "movie", select()).await;
        far
    }
}

// proves RL-22, RL-23
#[tokio::test(start_paused = true)]
async fn an_agent_looks_begins_a_study_and_does_what_the_person_says_with_the_tools_of_the_moment()
{
    let pick = say("I take the first.").and_call("select", json!({"itemId": "m1"}));
    let mut stage = begin([pick, say("It is done.")]).await;
    let mut far = stage.far().await;
    far.shows(Value::Null, "idle", json!([])).await;
    let start = far.hears(MessageKind::SessionStart).await;
    assert_eq!(start.payload, object(&json!({"studyId": "pilot"})));
    far.answers(
        MessageKind::SessionStarted,
        Some(&start),
        json!({"sessionId": "s-1"}),
    )
    .await;
    far.shows(Value::Null, "idle", json!([])).await;
    assert_eq!(stage.world.model.prompts().len(), 0, "nothing began yet");

    far.person_says("one ticket").await;
    far.shows(json!("s-1"), "movie", select()).await;
    far.hears_words("I take the first.").await;
    let call = far.hears_call("select").await;
    assert_eq!(call.payload["params"], json!({"itemId": "m1"}));
    assert_eq!(call.payload["reason"], "I take the first.");
    far.answers(
        MessageKind::ToolResult,
        Some(&call),
        json!({"ok": true, "toolName": "select"}),
    )
    .await;
    let tools = json!([{"name": "next"}, {"name": "not a name"}]);
    far.tells(MessageKind::StateUpdated, state("theater", &tools))
        .await;
    far.hears_words("It is done.").await;

    let asked = asked(&stage.world);
    assert_eq!(asked[0].0, ["select"]);
    assert_eq!(asked[0].1, format!("one ticket\n\n{}", screen("movie")));
    assert_eq!(asked[1].0, ["next"]);
    assert_eq!(asked[1].1, format!("ok\n\n{}", screen("theater")));
    stage.agent.shutdown(Duration::ZERO).await;
    assert!(far.heard.recv().await.is_none(), "it has left");
}

// proves RL-23
#[tokio::test(start_paused = true)]
async fn whatever_a_host_answers_a_call_has_an_outcome() {
    let go = || call("select", json!({"itemId": "m1"}));
    let answers = (0..5).map(|_| go()).chain([say("Enough.")]);
    let mut stage = begin(answers).await;
    let mut far = stage.ready().await;
    far.person_says("go").await;
    far.shows(json!("s-1"), "movie", select()).await;

    far.refuses(MessageKind::ToolCall, "UNKNOWN_TOOL").await;
    for result in [
        json!({"ok": false, "message": "sold out"}),
        json!({"ok": "yes"}),
    ] {
        let call = far.hears_call("select").await;
        assert_eq!(call.payload["reason"], locale_reason());
        far.answers(MessageKind::ToolResult, Some(&call), result)
            .await;
    }
    // No update follows, but the result shows something.
    let call = far.hears_call("select").await;
    let result = json!({"ok": true, "uiSpec": {"stage": "hint"}, "result": "three lines"});
    far.answers(MessageKind::StateUpdated, Some(&call), json!({"uiSpec": 7}))
        .await;
    far.answers(MessageKind::ToolResult, Some(&call), result)
        .await;
    // Nobody answers.
    far.hears_call("select").await;
    far.hears_words("Enough.").await;

    let asked = asked(&stage.world);
    let texts: Vec<_> = asked
        .iter()
        .skip(1)
        .map(|(_, text)| text.as_str())
        .collect();
    let expected = [
        format!("UNKNOWN_TOOL: no\n\n{}", screen("movie")),
        format!("TOOL_EXECUTION_FAILED: sold out\n\n{}", screen("movie")),
        format!(
            "TOOL_EXECUTION_FAILED: the host says that it failed\n\n{}",
            screen("movie")
        ),
        format!("ok\nthree lines\n\n{}", screen("hint")),
        format!(
            "outcome unknown: the host did not answer; look before you retry\n\n{}",
            screen("hint")
        ),
    ];
    assert_eq!(texts, expected);
}

fn locale_reason() -> &'static str {
    samovar_locale::relay::agent_reason()
}

// proves RL-23
#[tokio::test(start_paused = true)]
async fn an_agent_that_loses_the_relay_amid_a_call_says_so_comes_back_and_looks_again() {
    let pick = || say("Pick.").and_call("select", json!({"itemId": "m1"}));
    let mut stage = begin([pick(), pick(), say("There.")]).await;
    let mut far = stage.ready().await;
    far.person_says("go").await;
    far.shows(json!("s-1"), "movie", select()).await;
    far.hears_words("Pick.").await;
    far.hears_call("select").await;

    drop(far);
    let mut far = stage.far().await;
    far.hears_words("Pick.").await;
    far.shows(json!("s-1"), "seat", select()).await;
    let call = far.hears_call("select").await;
    far.answers(MessageKind::ToolResult, Some(&call), json!({"ok": true}))
        .await;
    far.hears_words("There.").await;

    let asked = asked(&stage.world);
    let lost = "outcome unknown: the connection to the room was lost (cut); look before you retry";
    assert_eq!(asked[1].1, lost);
    assert_eq!(asked[2].1, format!("ok\n\n{}", screen("seat")));
}

// proves RL-23
#[tokio::test(start_paused = true)]
async fn a_call_that_its_turn_has_given_up_is_never_made_and_keeps_no_other_from_being_made() {
    let pick = |item: &str| say("Pick.").and_call("select", json!({"itemId": item}));
    let mut stage = begin([pick("m1"), pick("m2"), pick("m3"), say("There.")]).await;
    let mut far = stage.ready().await;
    far.person_says("go").await;
    far.shows(json!("s-1"), "movie", select()).await;
    far.hears_words("Pick.").await;
    far.hears_call("select").await;

    // Until the second call has waited for as long as a call may take.
    drop(far);
    let mut far = loop {
        let far = stage.ways.recv().await.unwrap();
        if asked(&stage.world).len() == 3 {
            break far;
        }
    };
    far.lets_in().await;
    far.hears_words("Pick.").await;
    far.hears_words("Pick.").await;
    far.shows(json!("s-1"), "movie", select()).await;
    let call = far.hears_call("select").await;
    assert_eq!(call.payload["params"], json!({"itemId": "m3"}));
    far.answers(MessageKind::ToolResult, Some(&call), json!({"ok": true}))
        .await;
    far.hears_words("There.").await;
}

// proves RL-23
#[tokio::test(start_paused = true)]
async fn a_host_that_says_nothing_of_sessions_begins_one_once() {
    let mut stage = begin([say("One."), say("Two.")]).await;
    let mut far = stage.far().await;
    let silent = || state("movie", &select());
    let look = far.hears(MessageKind::SnapshotGet).await;
    far.answers(MessageKind::SnapshotState, Some(&look), silent())
        .await;
    let start = far.hears(MessageKind::SessionStart).await;
    far.answers(MessageKind::SessionStarted, Some(&start), json!({}))
        .await;
    let look = far.hears(MessageKind::SnapshotGet).await;
    far.answers(MessageKind::SnapshotState, Some(&look), silent())
        .await;
    for (text, answer) in [("first", "One."), ("second", "Two.")] {
        far.person_says(text).await;
        let look = far.hears(MessageKind::SnapshotGet).await;
        far.answers(MessageKind::SnapshotState, Some(&look), silent())
            .await;
        far.hears_words(answer).await;
    }
}

// proves RL-23
#[tokio::test(start_paused = true)]
async fn an_agent_waits_in_a_room_without_a_host_and_a_person_steers_the_turn_that_runs() {
    let pick = say("Pick.").and_call("select", json!({"itemId": "m1"}));
    let mut stage = begin([pick, say("Both.")]).await;
    let mut far = stage.far().await;
    far.refuses(MessageKind::SnapshotGet, "SESSION_NOT_ACTIVE")
        .await;
    far.tells(MessageKind::StateUpdated, state("movie", &select()))
        .await;
    far.shows(json!("s-1"), "movie", select()).await;
    far.person_says("go").await;
    far.shows(json!("s-1"), "movie", select()).await;
    far.hears_words("Pick.").await;
    let call = far.hears_call("select").await;

    far.person_says("two of them").await;
    far.person_says("\u{200b}").await;
    far.tells(MessageKind::UserMessage, json!({"text": 7}))
        .await;
    far.answers(MessageKind::ToolResult, Some(&call), json!({"ok": true}))
        .await;
    far.tells(MessageKind::StateUpdated, state("theater", &select()))
        .await;
    far.hears_words("Both.").await;

    let prompts = stage.world.model.prompts();
    let said = prompts[1]
        .messages
        .iter()
        .filter(|said| said.role == Role::User);
    let said: Vec<_> = said.map(|said| said.text()).collect();
    assert_eq!(said[1], format!("two of them\n\n{}", screen("movie")));
    assert_eq!((said.len(), prompts.len()), (2, 2));
}

// proves RL-23
#[tokio::test(start_paused = true)]
async fn a_person_whose_host_shows_nothing_gets_an_answer() {
    let mut stage = begin([say("I see nothing.")]).await;
    let mut far = stage.far().await;
    far.refuses(MessageKind::SnapshotGet, "INVALID_MESSAGE")
        .await;
    far.person_says("book").await;
    // Nobody answers this one.
    far.hears(MessageKind::SnapshotGet).await;
    far.hears_words("I see nothing.").await;
    let (tools, text) = asked(&stage.world).swap_remove(0);
    assert!(tools.is_empty());
    let nothing = "book\n\n[screen] {\"uiSpec\":null,\"messageHistory\":[]}";
    assert_eq!(text, nothing);
}

// proves RL-23
#[tokio::test(start_paused = true)]
async fn the_conversation_lasts_as_long_as_the_study_session_and_a_fault_is_told() {
    let failed = fail(FaultCode::ProviderAuth, "no key");
    let mut stage = begin([say("One."), failed, say("Three."), say(" "), say("Four.")]).await;
    let mut far = stage.ready().await;
    for (text, study, answer) in [
        ("first", "s-1", "One."),
        (
            "second",
            "s-1",
            "I failed: the model did not answer: no key",
        ),
        ("third", "s-1", "Three."),
        ("fourth", "s-2", "Four."),
    ] {
        // The session leaves memory in between.
        tokio::time::sleep(Duration::from_mins(1)).await;
        far.person_says(text).await;
        far.shows(json!(study), "movie", select()).await;
        let said = far.hears(MessageKind::AgentMessage).await;
        let said = said.payload["text"].as_str().unwrap();
        assert!(
            said.starts_with(answer.split(':').next().unwrap()),
            "{said}"
        );
    }
    let prompts = stage.world.model.prompts();
    let counts: Vec<_> = prompts.iter().map(|prompt| prompt.messages.len()).collect();
    assert_eq!(counts[..3], [1, 3, 4], "the whole conversation");
    assert_eq!(counts[3..], [1, 1], "another study session, asked twice");
}

#[tokio::test(start_paused = true)]
async fn one_that_is_dropped_ends_at_once() {
    let mut stage = begin([call("select", json!({}))]).await;
    let mut far = stage.ready().await;
    far.person_says("go").await;
    far.shows(json!("s-1"), "movie", select()).await;
    far.hears_call("select").await;
    let tasks = stage.agent.tasks.clone();

    drop(stage.agent);

    tasks.close();
    tasks.wait().await;
}

// proves RL-23
#[tokio::test]
async fn an_agent_drives_the_movie_host_of_the_same_process() {
    let answers = [
        say("The first one.").and_call("select", json!({"itemId": "m1"})),
        say("On with it.").and_call("next", json!({})),
        say("Which theater?"),
    ];
    let world = World::answering(answers);
    let folder = tempfile::tempdir().unwrap();
    let relay = Relay::open(folder.path(), world.clock.clone(), RelayConfig::default());
    relay.attach("r", Box::new(MovieHost::new())).unwrap();
    let parts = parts(
        &world,
        Box::new(InProcess::new(&relay, " r ", RelayRole::Agent)),
    )
    .await;
    let agent = RelayAgent::begin(parts);
    let mut observer = relay.enter(Pass::Any);
    let join = object(&json!({"role": "agent", "sessionId": "r"}));
    observer
        .say(Envelope::new(MessageKind::RelayJoin, join))
        .await;
    while relay.rooms()[0].study.is_none() {
        tokio::task::yield_now().await;
    }

    let deed = PersonDeed::Says("a ticket".to_owned());
    relay.person("r", &deed).unwrap();

    let said = loop {
        let shown = observer.next().await.unwrap();
        let history = shown
            .payload
            .get("messageHistory")
            .cloned()
            .unwrap_or_default();
        if history.to_string().contains("Which theater?") {
            break shown;
        }
    };
    assert_eq!(said.payload["uiSpec"]["stage"], "theater");
    let (tools, text) = asked(&world).swap_remove(0);
    assert!(tools.contains(&"select".to_owned()), "{tools:?}");
    assert!(
        text.starts_with("a ticket\n\n[screen] {\"uiSpec\":{\"stage\":\"movie\""),
        "{text}"
    );
    agent.shutdown(Duration::ZERO).await;
    assert_eq!(relay.rooms()[0].agents, 1, "it has left");
}
