//! Turns of an engine that ask the person in the chat, on stores that the test fills or holds.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use samovar_chat::{Bounds, Chat, Name, Voice, ask_for_turns};
use samovar_core::command::Opening;
use samovar_core::{
    Accepted, Action, Approval, ChatMeta, Code, Decision, Delivery, Effect, Error, Kind, Outcome,
    Sender, Seq, SessionId, ToolReply, TurnId, approval::Answer,
};
use samovar_doubles::{Disk, MemoryJournal, Reply, TestTool, World, call, say};
use samovar_engine::{Engine, Ports, Settings, Toolbox};
use serde_json::json;
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
        Self::of(ask, TestTool::asks("ask_user"), Approval::Auto).await
    }

    /// Its model answers this, and is then done.
    async fn of(reply: Reply, tool: TestTool, approval: Approval) -> Self {
        let world = World::answering([reply, say("done")]);
        let disk = Disk::on(Arc::new(MemoryJournal::new()));
        let toolbox = Toolbox::default();
        toolbox.add(&tool.build()).unwrap();
        let ports = Ports {
            journal: disk.boot().await,
            history: disk.history(),
            blobs: disk.blobs(),
            models: Arc::new(world.model.clone()),
            toolbox: Arc::new(toolbox),
            agents: Arc::new(()),
            clock: world.clock.clone(),
            ids: world.ids.clone(),
            damages: Arc::new(()),
            audit: Arc::new(()),
        };
        let settings = Settings {
            approval,
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
        let open = Action::Open(Opening::default());
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

/// Two calls that a person is asked about, each of which counts that it ran.
async fn two_asked(ran: &Arc<AtomicUsize>) -> Rig {
    let count = ran.clone();
    let change = TestTool::new("change", move |_, _| {
        count.fetch_add(1, Ordering::SeqCst);
        async { ToolReply::Closed(Outcome::done("changed")) }
    });
    let two = call("change", json!({"at": 1})).and_call("change", json!({"at": 2}));
    let change = change.effect(Effect::Unsafe);
    let rig = Rig::of(two, change, Approval::Supervised).await;
    rig.asks().await;
    while rig.engine.approvals().await.unwrap().len() < 2 || rig.chat.last(9).messages.len() < 2 {
        tokio::task::yield_now().await;
    }
    rig
}

// proves TL-5, CH-10
#[tokio::test(start_paused = true)]
async fn the_same_words_twice_at_once_decide_about_one_call() {
    let ran = Arc::default();
    let rig = two_asked(&ran).await;

    let (one, other) = tokio::join!(rig.chat.post_user("yes"), rig.chat.post_user("yes"));

    one.unwrap();
    other.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(ran.load(Ordering::SeqCst), 1);
    assert_eq!(rig.engine.approvals().await.unwrap().len(), 1);
}

// proves TL-5, CH-10
#[tokio::test(start_paused = true)]
async fn words_about_a_call_that_was_decided_meanwhile_decide_about_no_other() {
    let ran = Arc::default();
    let rig = two_asked(&ran).await;
    let open = rig.engine.approvals().await.unwrap().remove(0);
    let first = open.asked.unwrap().id.clone();
    let denied = Answer {
        decision: Decision::Deny,
        by: "owner".to_owned(),
        words: None,
    };

    let (denied, said) = tokio::join!(
        biased;
        rig.engine.decide(Sender::Embedder, first, denied),
        rig.chat.post_user("yes")
    );

    denied.unwrap();
    said.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(ran.load(Ordering::SeqCst), 0);
    assert_eq!(rig.engine.approvals().await.unwrap().len(), 1);
}

// proves TL-5, CH-10
#[tokio::test(start_paused = true)]
async fn words_that_name_their_question_answer_it_once_and_no_other() {
    let ran = Arc::default();
    let rig = two_asked(&ran).await;
    let asked = rig.chat.last(9).messages;
    let [first, second] = [asked[0].id, asked[1].id];
    let voice = |approves| Voice {
        name: "ana".to_owned(),
        approves,
    };
    let says = |question, approves| {
        let chat = rig.chat.clone();
        async move {
            chat.post_user_as("yes", &voice(approves), Some(question))
                .await
        }
    };

    // The second first, by a person who may not decide, and by one who may.
    assert_eq!(
        says(second, false).await.unwrap_err().code,
        Code::UnknownCall
    );
    says(second, true).await.unwrap();
    for question in [second, 0, 99] {
        let refused = says(question, true).await.unwrap_err();
        assert_eq!(refused.code, Code::UnknownCall, "{question}");
    }

    let pending = rig.chat.state().pending_input.unwrap();
    assert_eq!(pending.question, first);
    assert_eq!(rig.engine.approvals().await.unwrap().len(), 1);
    assert_eq!(
        rig.chat.last(9).messages.len(),
        3,
        "what was refused is not said"
    );
}
