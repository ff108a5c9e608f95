//! What a person's own files tell agents, and what the log has of it.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use samovar_core::{
    Agent, Code, Command, Delivery, Effect, Kind, Outcome, PostedContext, Prompt, PromptHashes,
    Sender, ToolReply, TurnId,
};
use samovar_doubles::{ScriptedModel, TestTool, World, call, say};
use samovar_engine::{
    Beginning, Conversation, Guidance, Guide, Layout, Settings, ToldPrompt, Toolbox,
};
use serde_json::json;

use crate::children::{agent, delegate, world};
use crate::in_memory::toolbox;
use crate::rig::{Rig, disk, named, opening, said, session, settings, texts_of, turn_of, well};
use crate::words::{layers, said_in, tools};

/// A guide that tells each agent who it takes it for.
fn guide() -> Guide {
    Guide::new(|audience| Guidance {
        user: audience.is_with_person.then(|| "Likes tea.".to_owned()),
        skills: Some(format!(
            "{} reads: {}",
            audience.agent,
            audience.tools.contains("read_skill")
        )),
        ..Guidance::default()
    })
}

// proves MD-22, MD-25
#[tokio::test]
async fn only_an_agent_that_talks_to_the_person_is_told_of_them_and_one_with_skills_may_read_them()
{
    let world = world(|who, said, results| match (who, said, results) {
        ("master", "go", 0) => call("subAgent", delegate("helper", "look")),
        _ => say("fine"),
    });
    let mut settings = settings();
    settings.guide = guide();
    let tool = TestTool::new("read_skill", |_, _| std::future::pending());
    let helper = agent("helper", &[], &[]);
    let rig = Rig::delegating(world, [tool], [helper], settings.clone()).await;

    assert_eq!(rig.turn("go").await, well());

    let told: Vec<_> = rig.world.model.prompts().iter().map(layers).collect();
    let user = |at: usize| told[at].iter().any(|(name, _)| *name == "user");
    assert_eq!([user(0), user(1), user(2)], [true, false, true]);
    let skills = |at: usize| told[at].last().unwrap().1.clone();
    assert_eq!(skills(0), "master reads: true");
    assert_eq!(skills(1), "helper reads: false");
    assert!(tools(&rig.world.model.prompts()[0]).contains(&"read_skill".to_owned()));

    // In memory the owner says to which people its agents talk.
    for (guide, is_told) in [(guide(), true), (guide().apart(), false)] {
        let session = rig.engine.begin_in_memory(Beginning {
            model: "scripted".to_owned(),
            toolbox: Arc::new(Toolbox::default()),
            settings: Settings {
                guide,
                ..settings.clone()
            },
            conversation: Conversation::default(),
        });
        let session = session.unwrap();
        let before = rig.world.model.prompts().len();
        session
            .post("hello".to_owned(), Delivery::Queue)
            .await
            .unwrap();
        rig.world.model.seen(before + 1).await;
        let prompt = rig.world.model.prompts().pop().unwrap();
        let has_user = layers(&prompt).iter().any(|(name, _)| *name == "user");
        assert_eq!(has_user, is_told);
    }
}

// proves MD-11
#[tokio::test]
async fn a_called_agent_has_the_memory_only_where_its_definition_says_so() {
    let world = world(|who, said, results| match (who, said, results) {
        ("master", name, 0) => call("subAgent", delegate(name, "look")),
        _ => say("fine"),
    });
    let mut settings = settings();
    settings.guide = Guide::new(|audience| Guidance {
        memory: audience.has_memory.then(|| "Likes tea.".to_owned()),
        ..Guidance::default()
    });
    let recall = TestTool::new("recall", |_, _| std::future::pending());
    let one = agent("forgetful", &["recall"], &[]);
    let other = Agent {
        memory: true,
        ..agent("mindful", &["recall"], &[])
    };
    let rig = Rig::delegating(world, [recall], [one, other], settings).await;
    let by = |by: Sender, session, action| {
        rig.engine.submit(Command {
            by,
            session,
            action,
        })
    };
    // Whether an agent has it that is called in a session that the owner began, and in another.
    let mut seen = 0;
    for (sender, expected) in [
        (Sender::CommandLine, [false, true]),
        (Sender::Embedder, [false; 2]),
    ] {
        let session = named(sender.name().split(' ').next().unwrap());
        by(sender.clone(), session.clone(), opening())
            .await
            .unwrap();
        for (name, has_memory) in ["forgetful", "mindful"].into_iter().zip(expected) {
            let post = said(name, Delivery::Queue);
            by(sender.clone(), session.clone(), post).await.unwrap();
            rig.world.model.seen(seen + 3).await;
            let prompt = &rig.world.model.prompts()[seen + 1];
            let is_told = layers(prompt).iter().any(|(layer, _)| *layer == "memory");
            let offered = tools(prompt).contains(&"recall".to_owned());
            assert_eq!((is_told, offered), (has_memory, has_memory), "{name}");
            seen += 3;
        }
    }
}

// proves MD-7
#[tokio::test]
async fn tools_of_memory_that_would_find_nothing_are_not_offered() {
    let memory = ["remember", "recall", "forget"];
    let has_memories = Arc::new(AtomicBool::new(false));
    let mut settings = settings();
    let has = has_memories.clone();
    settings.guide = Guide::new(move |_| Guidance {
        has_memories: has.load(Ordering::SeqCst),
        ..Guidance::default()
    });
    let testing = memory.map(|name| TestTool::new(name, |_, _| std::future::pending()));
    let world = World::answering([say("fine"), say("fine"), say("fine")]);
    let rig = Rig::on(disk(), world, testing, settings).await;
    // The first session of the store, one after it, and that one with a memory.
    let mut offered = Vec::new();
    for (at, session) in [session(), named("later"), named("later")]
        .into_iter()
        .enumerate()
    {
        has_memories.store(at == 2, Ordering::SeqCst);
        let by = |action| Command {
            by: Sender::CommandLine,
            session: session.clone(),
            action,
        };
        if at < 2 {
            rig.engine.submit(by(opening())).await.unwrap();
        }
        rig.engine
            .submit(by(said("go", Delivery::Queue)))
            .await
            .unwrap();
        rig.world.model.seen(at + 1).await;
        offered.push(tools(&rig.world.model.prompts()[at]));
    }
    assert_eq!(
        offered,
        [
            &["remember"][..],
            &["recall", "remember"],
            &["forget", "recall", "remember"]
        ]
    );
}

// proves MD-25
#[tokio::test]
async fn without_skills_no_tool_is_offered_to_read_them() {
    let rig = Rig::with(
        World::answering([say("fine")]),
        [TestTool::new("read_skill", |_, _| std::future::pending())],
        settings(),
    );
    let rig = rig.await;
    assert_eq!(rig.turn("go").await, well());
    let prompt = rig.world.model.prompts().pop().unwrap();
    assert!(!tools(&prompt).contains(&"read_skill".to_owned()));
}

// proves MD-25
#[test]
fn the_tools_for_skills_and_memory_come_after_all_others() {
    let names = ["forget", "list_dir", "read_skill", "recall", "write_file"];
    let toolbox = toolbox(names.map(|name| TestTool::new(name, |_, _| std::future::pending())));
    let offered: Vec<_> = toolbox.specs().iter().map(|it| it.name.clone()).collect();
    assert_eq!(
        offered,
        ["list_dir", "write_file", "forget", "read_skill", "recall"]
    );
}

// proves MD-6
#[tokio::test]
async fn a_foreign_skill_in_the_prompt_taints_the_session() {
    let mut settings = settings();
    settings.guide = Guide::new(|_| Guidance {
        skills: Some("tea".to_owned()),
        is_foreign: true,
        ..Guidance::default()
    });
    let rig = Rig::with(World::answering([say("fine")]), [], settings).await;
    assert_eq!(rig.turn("go").await, well());
    assert!(rig.row().await.tainted);
}

// proves MD-23
#[tokio::test]
async fn what_a_client_posts_is_in_the_system_prompt_in_the_layout_of_the_seeds() {
    for layout in [Layout::Cached, Layout::Seed] {
        let mut settings = settings();
        (settings.layout, settings.guide) = (layout, guide());
        let rig = Rig::with(World::answering([say("fine")]), [], settings).await;
        let context = PostedContext {
            page_id: Some("home".to_owned()),
            ..PostedContext::default()
        };
        let turn = turn_of(rig.submit(said_in("go", Some(context), None)).await);
        assert_eq!(rig.over(&turn).await, well());
        let prompt = rig.world.model.prompts().pop().unwrap();
        let names: Vec<_> = prompt.layers.iter().map(|layer| layer.name).collect();
        let is_seed = layout == Layout::Seed;
        assert_eq!(names.contains(&"context"), is_seed);
        assert_eq!(texts_of(&prompt)[0].contains("home"), !is_seed);
        assert_eq!(prompt.system().contains("home"), is_seed);
    }
}

/// The hashes in the steps of a turn.
fn hashes(kinds: &[Kind]) -> Vec<Option<PromptHashes>> {
    let steps = kinds.iter().filter_map(|kind| match kind {
        Kind::StepStarted { told, .. } => Some(told.clone()),
        _ => None,
    });
    steps.collect()
}

// proves MD-8
#[tokio::test]
async fn the_log_says_once_what_a_model_is_told_and_which_layers_have_changed_since() {
    let text = Arc::new(Mutex::new("Likes tea.".to_owned()));
    let shared = text.clone();
    let mut settings = settings();
    settings.guide = Guide::new(move |_| Guidance {
        user: Some(shared.lock().unwrap().clone()),
        ..Guidance::default()
    });
    let world = World::answering([call("look", json!({})), say("fine"), say("well")]);
    let look = TestTool::new("look", |_, _| async {
        ToolReply::Closed(Outcome::done("seen"))
    });
    let rig = Rig::with(world, [look], settings).await;
    assert_eq!(rig.engine.told(&session(), None).await.unwrap(), None);

    let first = rig.post("go").await;
    let kinds = rig.log_of(&first).await;
    let [Some(began), None] = &hashes(&kinds)[..] else {
        panic!("{kinds:?}")
    };
    let names: Vec<_> = began.layers.keys().map(String::as_str).collect();
    assert_eq!(names, ["agents", "soul", "user"]);
    let told = rig.engine.told(&session(), None).await.unwrap().unwrap();
    assert_eq!((&told.turn, told.tool_count), (&first, 1));
    assert_eq!(told.messages, rig.world.model.prompts()[1].messages.len());
    let prompt = layers(&rig.world.model.prompts()[1]);
    let shown = told
        .layers
        .iter()
        .map(|it| (it.name.clone(), it.text.clone(), it.changed));
    let wanted = prompt
        .into_iter()
        .map(|(name, text)| (name.to_owned(), text, Some(false)));
    assert_eq!(shown.collect::<Vec<_>>(), wanted.collect::<Vec<_>>());
    assert_eq!(told.tools.changed, Some(false));

    *text.lock().unwrap() = "Likes coffee.".to_owned();
    let rig = rig.restart().await;
    let told = rig
        .engine
        .told(&session(), Some(first.clone()))
        .await
        .unwrap()
        .unwrap();
    let changed = |told: &ToldPrompt| {
        let changed = told.layers.iter().filter(|it| it.changed == Some(true));
        changed.map(|it| it.name.clone()).collect::<Vec<_>>()
    };
    assert_eq!(changed(&told), ["user"]);
    let second = rig.post("again").await;
    let kinds = rig.log_of(&second).await;
    let [Some(next)] = &hashes(&kinds)[..] else {
        panic!("{kinds:?}")
    };
    assert_ne!(next.layers["user"], began.layers["user"]);
    assert_eq!(next.layers["soul"], began.layers["soul"]);
    let told = rig.engine.told(&session(), None).await.unwrap().unwrap();
    assert_eq!((changed(&told).len(), &told.turn), (0, &second));
    let gone = TurnId::new("nothing").unwrap();
    let refused = rig.engine.told(&session(), Some(gone)).await.unwrap_err();
    assert_eq!(refused.code, Code::UnknownTurn);
}

// proves PF-2
#[tokio::test]
async fn a_step_looks_once_at_which_tools_its_model_is_offered() {
    let world = world(|_, said, results| match said {
        "five" if results < 5 => call("look", json!({})),
        _ => say("fine"),
    });
    let look = TestTool::new("look", |_, _| async {
        ToolReply::Closed(Outcome::done("here"))
    });
    let rig = Rig::delegating(world, [look], [agent("helper", &[], &[])], settings()).await;
    let turn = async |text: &str| {
        let before = rig.looks();
        assert_eq!(rig.turn(text).await, well());
        rig.looks() - before
    };
    let (one, six) = (turn("one").await, turn("five").await);
    let before = rig.looks();
    rig.engine.told(&session(), None).await.unwrap().unwrap();
    let each = rig.looks() - before;
    assert!(each > 0);
    assert_eq!(six - one, 5 * each);
}

// proves MD-25
#[tokio::test]
async fn a_call_knows_which_skills_its_agent_was_told_of() {
    let mut settings = settings();
    settings.guide = Guide::new(|_| Guidance {
        skills: Some("tea".to_owned()),
        readable: BTreeSet::from(["tea".to_owned()]),
        ..Guidance::default()
    });
    let read = TestTool::new("read_skill", |_, context| async move {
        let may = context.skills.expect("a turn has them");
        ToolReply::Closed(Outcome::done(format!("{may:?}")))
    });
    let read = read.effect(Effect::Read);
    let world = World::answering([call("read_skill", json!({})), say("fine")]);
    let rig = Rig::with(world, [read], settings).await;
    assert_eq!(rig.turn("go").await, well());
    let prompt = rig.world.model.prompts().pop().unwrap();
    let answer = prompt.messages.last().unwrap();
    let result = serde_json::to_string(&answer.parts).unwrap();
    assert!(result.contains(r#"{\"tea\"}"#), "{result}");
}

/// Whether a request begins with all of the one before it.
fn begins_with(next: &Prompt, before: &Prompt) -> bool {
    let tools = |prompt: &Prompt| {
        let tools = prompt.tools.iter();
        let shown = tools.map(|it| format!("{} {} {}", it.name, it.description, it.parameters));
        shown.collect::<Vec<_>>()
    };
    layers(next) == layers(before)
        && tools(next) == tools(before)
        && next.messages.starts_with(&before.messages)
}

// proves MD-8, MD-23
#[tokio::test(start_paused = true)]
async fn each_request_begins_with_all_of_the_one_before_also_over_evictions_and_restarts() {
    let calls = |prompt: &Prompt| {
        let rounds = samovar_doubles::user(prompt).parse().unwrap_or(0);
        if samovar_doubles::results(prompt) < rounds {
            return call("look", json!({"at": prompt.messages.len()}));
        }
        say("done")
    };
    let mut settings = settings();
    settings.guide = guide();
    let look = TestTool::new("look", |args, _| async move {
        ToolReply::Closed(Outcome::done(format!("seen {args}")))
    });
    let look = look.effect(Effect::Read);
    let mut rig = Rig::with(World::with(ScriptedModel::by(calls)), [look], settings).await;
    let mut requests: Vec<Prompt> = Vec::new();
    for turn in 0..20 {
        match turn % 5 {
            2 => {
                let before = rig.engine.memory();
                tokio::time::sleep(Duration::from_mins(1)).await;
                assert!(rig.engine.memory() < before, "the session has left memory");
            }
            4 => rig = rig.restart().await,
            _ => {}
        }
        assert_eq!(rig.turn(&(turn % 3).to_string()).await, well());
        requests = rig.world.model.prompts();
    }
    let pairs = requests.windows(2);
    let cut = pairs.filter(|pair| !begins_with(&pair[1], &pair[0]));
    let cut: Vec<_> = cut.collect();
    let moved = cut
        .iter()
        .filter(|pair| pair[1].messages[0].id != pair[0].messages[0].id);
    assert_eq!((requests.len(), cut.len()), (39, moved.count()));
    assert!(cut.len() <= 2, "the window has moved {} times", cut.len());
}
