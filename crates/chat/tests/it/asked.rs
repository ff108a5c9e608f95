//! Turns of an engine that ask the person in the chat, on stores that the test fills or holds.

use std::sync::Arc;
use std::time::Duration;

use samovar_chat::{Bounds, Chat, Name, ask_for_turns};
use samovar_core::{
    Accepted, Action, ChatMeta, Code, Delivery, Error, Kind, Outcome, Sender, Seq, SessionId,
    TurnId,
};
use samovar_doubles::{Disk, MemoryJournal, TestTool, World, call, say};
use samovar_engine::{Engine, Ports, Settings, Toolbox};
use serde_json::{Map, json};
use tokio::task::JoinSet;

fn session() -> SessionId {
    SessionId::new("s").unwrap()
}

/// An engine with one session, a chat, and what joins them.
struct Rig {
    engine: Arc<Engine>,
    chat: Chat,
    disk: Disk,
    world: World,
    tasks: JoinSet<()>,
}

impl Rig {
    /// Its model asks the person, and is then done.
    async fn new() -> Self {
        let ask = call("ask_user", json!({"question": "which one?"}));
        let world = World::answering([ask, say("done")]);
        let disk = Disk::on(Arc::new(MemoryJournal::new()));
        let toolbox = Toolbox::default();
        toolbox.add(&TestTool::asks("ask_user").build()).unwrap();
        let ports = Ports {
            journal: disk.boot().await,
            history: disk.history(),
            models: Arc::new(world.model.clone()),
            toolbox: Arc::new(toolbox),
            agents: Arc::new(()),
            clock: world.clock.clone(),
            ids: world.ids.clone(),
            damages: Arc::new(()),
        };
        let settings = Settings {
            approval: samovar_core::Approval::Auto,
            ..Settings::default()
        };
        let engine = Engine::start(ports, settings).await.unwrap();
        let (chat, _) = crate::bounded(Bounds::default());
        let mut tasks = JoinSet::new();
        tasks.spawn(ask_for_turns(chat.clone(), engine.clone(), Name::Path));
        let rig = Self {
            engine,
            chat,
            disk,
            world,
            tasks,
        };
        let open = Action::Open {
            model: None,
            metadata: Map::new(),
            agent: None,
            system_prompt: None,
        };
        rig.submit(open).await.unwrap();
        rig
    }

    async fn submit(&self, action: Action) -> Result<Accepted, Error> {
        self.engine.act(&session(), action).await
    }

    /// Begins a turn, and waits for its question.
    async fn asks(&self) -> TurnId {
        let (session, text) = (session(), "go".to_owned());
        let posted = self.engine.post(&session, text, Delivery::Queue).await;
        let (turn, _) = posted.unwrap();
        self.chat.follow(0).next().await.unwrap();
        turn
    }

    async fn over(&self, turn: &TurnId) {
        let mut reader = self.engine.follow(&session(), Seq(0)).await.unwrap();
        let is_end = |event: &Arc<samovar_core::Event>| {
            let is_end = matches!(event.kind, Kind::TurnFinished { .. });
            is_end && event.turn.as_ref() == Some(turn)
        };
        while !reader.next().await.unwrap().iter().any(is_end) {}
    }
}

// proves CH-4
#[tokio::test(start_paused = true)]
async fn an_answer_that_cannot_be_kept_is_refused_and_the_question_stays() {
    let rig = Rig::new().await;
    let chat = &rig.chat;
    let turn = rig.asks().await;
    let question = chat.last(1).messages[0].id;

    rig.disk.full_journal().set(true);
    let refused = chat.post_user("this one").await.unwrap_err();
    assert_eq!(refused.code, Code::StoreFull);
    assert_eq!(chat.last(10).messages.len(), 1);
    let pending = chat.state().pending_input.unwrap();
    assert_eq!(pending.question, question);
    rig.disk.full_journal().set(false);

    chat.post_user("that one").await.unwrap();
    rig.over(&turn).await;
    let prompts = rig.world.model.prompts();
    assert_eq!(prompts[1].messages.last().unwrap().text(), "that one");
}

// proves CH-13
#[tokio::test(start_paused = true)]
async fn who_answers_behind_a_deletion_hears_of_the_call_alone() {
    let rig = Rig::new().await;
    rig.asks().await;
    let call = rig.engine.open_calls().await.unwrap().remove(0).call.id;
    let answer = rig
        .engine
        .settle(Sender::Embedder, call, Outcome::done("this one"));

    // The first to be looked at is the first in the session's mailbox.
    let (deleted, refused) = tokio::join!(biased; rig.submit(Action::Close), answer);

    deleted.unwrap();
    assert_eq!(refused.unwrap_err().code, Code::UnknownCall);
}

// proves CH-10
#[tokio::test(start_paused = true)]
async fn what_a_turn_says_about_an_answer_stands_behind_it() {
    let mut rig = Rig::new().await;
    let (turn, other) = (rig.asks().await, TurnId::new("another").unwrap());
    let chat = rig.chat.clone();

    let answering = chat.clone();
    let begin = || {
        rig.tasks
            .spawn(async move { drop(answering.post_user("this one").await) });
    };
    // It is kept, and nobody has heard of that.
    rig.disk.hold(begin).await;
    let say = |turn, text| chat.post_for(turn, None, ("a", text, ChatMeta::default()));
    say(&other, "meanwhile").await.unwrap();
    let behind = say(&turn, "so be it");
    tokio::pin!(behind);
    let too_early = tokio::time::timeout(Duration::from_millis(50), &mut behind);
    assert!(too_early.await.is_err());
    rig.disk.let_go();
    behind.await.unwrap();

    let said = chat.read(0, usize::MAX).messages;
    let said: Vec<_> = said.iter().map(|message| message.text.as_str()).collect();
    assert_eq!(said, ["which one?", "meanwhile", "this one", "so be it"]);
    rig.over(&turn).await;
}
