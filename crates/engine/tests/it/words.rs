//! What agents are told, and which agent a session runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use samovar_core::agent::AgentModel;
use samovar_core::command::{Opening, Post};
use samovar_core::error::FaultCode;
use samovar_core::event::Fault;
use samovar_core::situation::{Posted, Tab};
use samovar_core::tool::UiEvent;
use samovar_core::{
    Action, Agent, AgentName, Approval, Code, Delivery, FinishReason, Kind, Outcome, PostedContext,
    Prompt, SystemPrompt, ToolReply,
};
use samovar_doubles::{Gate, TestTool, World, call, say};
use samovar_engine::{AgentModes, Beginning, Conversation, Folder, FolderFile, Toolbox};
use serde_json::json;

use crate::children::{agent, delegate, world};
use crate::rig::{Rig, said, settings, texts_of, turn_of, well};

/// A session of an agent, which is told this.
fn open(agent: &str, prompt: Option<&str>) -> Action {
    Action::Open(Opening {
        agent: Some(AgentName::new(agent).unwrap()),
        system_prompt: prompt.map(|prompt| SystemPrompt::new(prompt).unwrap()),
        ..Opening::default()
    })
}

pub(crate) fn layers(prompt: &Prompt) -> Vec<(&'static str, String)> {
    let layers = prompt.layers.iter();
    layers
        .map(|layer| (layer.name, layer.text.to_string()))
        .collect()
}

pub(crate) fn tools(prompt: &Prompt) -> Vec<String> {
    prompt.tools.iter().map(|tool| tool.name.clone()).collect()
}

/// A folder whose file says how often it was read.
fn counting() -> Folder {
    let reads = AtomicU64::new(0);
    Folder::new(move || {
        Some(FolderFile {
            name: "AGENTS.md".to_owned(),
            text: format!("read {}", 1 + reads.fetch_add(1, Ordering::Relaxed)),
            left_out: 0,
            is_foreign: false,
        })
    })
}

// proves SA-1, SA-4
#[tokio::test]
async fn a_session_runs_the_agent_that_it_names_within_its_limits_also_after_a_restart() {
    let tester = Agent {
        system_prompt: "You are {{agent.name}}.".to_owned(),
        model: Some(AgentModel {
            name: "scripted".to_owned(),
            temperature: Some(0.25),
            max_tokens: Some(77),
        }),
        max_steps: Some(3),
        approval: Some(Approval::ReadOnly),
        ..agent("tester", &["look"], &["helper"])
    };
    let agents = [tester.clone(), agent("helper", &[], &[])];
    let tool = |name| TestTool::new(name, |_, _| std::future::pending());
    let world = world(|_, _, _| say("fine"));
    let rig = Rig::with_agents(world, [tool("look"), tool("write")], agents, settings()).await;
    rig.submit(open("tester", None)).await.unwrap();
    assert_eq!(rig.row().await.agent, "tester");

    let mut action = said("one", Delivery::Queue);
    if let Action::Post(Post { bounds, .. }) = &mut action {
        bounds.approval = Some(Approval::Auto);
        bounds.max_iterations = Some(9);
    }
    let turn = turn_of(rig.submit(action).await);
    let log = rig.log_of(&turn).await;

    let started = log.iter().find_map(|kind| match kind {
        Kind::TurnStarted {
            limits, approval, ..
        } => Some((*limits, *approval)),
        _ => None,
    });
    let (limits, approval) = started.unwrap();
    assert_eq!((limits.max_iterations, approval), (3, Approval::ReadOnly));
    assert_eq!((limits.max_output_tokens, limits.temperature), (77, 0.25));
    let rig = rig.restart().await;
    assert_eq!(rig.turn("two").await, well());
    for prompt in rig.world.model.prompts() {
        let own = [("agent", "You are tester.".to_owned())];
        assert_eq!(layers(&prompt), own);
        assert_eq!(tools(&prompt), ["look", "subAgent"]);
    }
    let speakers = rig.messages(samovar_core::history::Speakers::Master).await;
    assert!(speakers.iter().all(|row| row.agent.to_string() == "tester"));

    // A change counts from the next turn on.
    rig.define([Agent {
        system_prompt: "You are new.".to_owned(),
        ..tester
    }]);
    assert_eq!(rig.turn("three").await, well());
    let last = rig.world.model.prompts().pop().unwrap();
    assert_eq!(layers(&last)[0].1, "You are new.");
}

// proves SA-1
#[tokio::test]
async fn an_agent_that_is_not_there_opens_no_session_and_one_that_is_gone_begins_no_turn() {
    let held = Gate::default();
    let gate = held.clone();
    let world = world(move |_, said, _| match said {
        "first" => say("slow").hold_after(1, &gate),
        _ => say("fine"),
    });
    let rig = Rig::with_agents(world, [], [agent("tester", &[], &[])], settings()).await;
    assert_eq!(rig.refused(open("nobody", None)).await, Code::UnknownAgent);
    rig.submit(open("tester", None)).await.unwrap();
    let first = rig.post("first").await;
    rig.speaks(&first).await;
    let waiting = rig.post("second").await;

    rig.define([]);
    let refused = rig.refused(said("third", Delivery::Queue)).await;
    held.open();

    assert_eq!(refused, Code::UnknownAgent);
    assert_eq!(rig.over(&first).await, well(), "it keeps its definition");
    let log = rig.log_of(&waiting).await;
    let Some(Kind::TurnFinished {
        reason: FinishReason::Error,
        fault: Some(Fault { code, .. }),
        ..
    }) = log.last()
    else {
        panic!("{log:?}");
    };
    assert_eq!(*code, FaultCode::UnusableAgent);
    rig.define([agent("tester", &[], &[])]);
    assert_eq!(rig.turn("fourth").await, well());
}

// proves MD-27
#[tokio::test]
async fn what_the_server_the_session_and_the_folder_say_reaches_the_agents_that_it_is_for() {
    let world = world(|who, said, results| match (who, said, results) {
        ("master", "go", 0) => call("subAgent", delegate("helper", "look")),
        _ => say("fine"),
    });
    let mut settings = settings();
    settings.system_prompt = SystemPrompt::new("Be brief.").ok();
    settings.folder = counting();
    let rig = Rig::with_agents(world, [], [agent("helper", &[], &[])], settings).await;
    rig.submit(open("master", Some("Speak French.")))
        .await
        .unwrap();

    assert_eq!(rig.turn("go").await, well());
    let rig = rig.restart().await;
    assert_eq!(rig.turn("again").await, well());

    let of = |prompt: &Prompt| {
        let mut layers = layers(prompt);
        let folder = layers.pop().unwrap();
        assert_eq!(folder.0, "folder");
        let names: Vec<_> = layers.iter().map(|(name, _)| *name).collect();
        (
            names.join(" "),
            folder.1.rsplit(' ').next().unwrap().to_owned(),
        )
    };
    let prompts: Vec<_> = rig.world.model.prompts().iter().map(of).collect();
    let own = |reads: &str| ("soul agents server session".to_owned(), reads.to_owned());
    let helper = ("agent server".to_owned(), "2".to_owned());
    assert_eq!(prompts, [own("1"), helper, own("3"), own("4")]);
    assert_eq!(
        rig.row().await.system_prompt.unwrap().as_str(),
        "Speak French."
    );
}

// proves MD-27
#[tokio::test]
async fn a_session_in_memory_is_told_nothing_by_the_server_or_the_folder() {
    let mut settings = settings();
    settings.system_prompt = SystemPrompt::new("Be brief.").ok();
    settings.folder = counting();
    let world = World::answering([say("fine")]);
    let rig = Rig::with(world, [], settings).await;
    let session = rig.engine.begin_in_memory(Beginning {
        model: "scripted".to_owned(),
        toolbox: Arc::new(Toolbox::default()),
        settings: rig.engine.settings().clone(),
        conversation: Conversation::default(),
    });
    let session = session.unwrap();

    session
        .post("hello".to_owned(), Delivery::Queue)
        .await
        .unwrap();
    rig.world.model.seen(1).await;

    let prompt = rig.world.model.prompts().pop().unwrap();
    let names: Vec<_> = prompt.layers.iter().map(|layer| layer.name).collect();
    assert_eq!(names, ["soul", "agents"]);
}

/// A message that is sent in this situation.
pub(crate) fn said_in(text: &str, context: Option<PostedContext>, mode: Option<&str>) -> Action {
    let mut action = said(text, Delivery::Queue);
    if let Action::Post(Post { posted, .. }) = &mut action {
        *posted = Posted::new(context, mode.map(str::to_owned)).unwrap();
    }
    action
}

/// A page with a tab of this kind.
fn page(id: &str, kind: &str) -> PostedContext {
    PostedContext {
        page_id: Some(id.to_owned()),
        active_tab: Some(Tab {
            url: Some("https://example.com/tea".to_owned()),
            kind: Some(kind.to_owned()),
            ..Tab::default()
        }),
        ..PostedContext::default()
    }
}

// proves SA-17
#[tokio::test]
async fn a_posted_context_is_seen_in_its_turn_alone_also_when_a_restart_cuts_that() {
    let held = Gate::default();
    let gate = held.clone();
    let world = world(move |_, said, _| {
        if said.ends_with("first") {
            say("slow").hold_after(1, &gate)
        } else {
            say("fine")
        }
    });
    let own = Agent {
        system_prompt: "You see {{tab.url}} in {{mode}}.".to_owned(),
        ..agent("seer", &[], &[])
    };
    let rig = Rig::with_agents(world, [], [own], settings()).await;
    rig.submit(open("seer", None)).await.unwrap();
    let first = said_in("first", Some(page("home", "settings")), None);
    let first = turn_of(rig.submit(first).await);
    let waiting = said_in("second", Some(page("shop", "page")), None);
    let waiting = turn_of(rig.submit(waiting).await);
    rig.world.model.seen(1).await;

    let rig = rig.restart().await;
    rig.world.model.seen(2).await;
    held.open();
    assert_eq!(rig.over(&first).await, well());
    assert_eq!(rig.over(&waiting).await, well());
    assert_eq!(rig.turn("third").await, well());

    let prompts = rig.world.model.prompts();
    let seen = |at: usize| {
        let shown = texts_of(&prompts[at]);
        let is_marked = |text: &String| text.starts_with("The client says");
        let marked: Vec<_> = shown
            .iter()
            .filter(|text| is_marked(text))
            .cloned()
            .collect();
        (layers(&prompts[at])[0].1.clone(), marked)
    };
    let url = "https://example.com/tea";
    for at in [0, 1] {
        let (own, marked) = seen(at);
        assert_eq!(own, format!("You see {url} in settings."));
        assert!(
            marked.len() == 1 && marked[0].contains("\"home\"") && marked[0].ends_with("first")
        );
    }
    let (own, marked) = seen(2);
    assert_eq!(own, format!("You see {url} in default."));
    assert!(marked.len() == 1 && marked[0].contains("\"shop\"") && marked[0].ends_with("second"));
    assert_eq!(seen(3), ("You see  in default.".to_owned(), Vec::new()));
    assert_eq!(
        rig.asked().await,
        ["first", "second", "third"],
        "readers see what was said"
    );
}

// proves SA-3, SA-16
#[tokio::test]
async fn a_mode_takes_tools_from_an_agent_and_from_those_below_it_which_may_narrow_it_alone() {
    let order = |mode: &str| {
        let mut order = delegate("helper", "look");
        order["options"] = json!({"mode": mode});
        order
    };
    let world = world(move |who, _, results| match (who, results) {
        ("master", 0) => call("subAgent", order("default"))
            .and_call("subAgent", order("gone"))
            .and_call("subAgent", order("checkout"))
            .and_call("subAgent", delegate("helper", "look")),
        _ => say("fine"),
    });
    let modes = [("checkout", &["open_url", "write"][..])];
    let modes = modes.map(|(name, denied)| {
        let denied = denied.iter().map(ToString::to_string);
        (name.to_owned(), denied.collect())
    });
    let mut settings = settings();
    settings.agent_modes = AgentModes::new(modes);
    let tool = |name| TestTool::new(name, |_, _| std::future::pending());
    let helper = agent("helper", &["open_url", "write"], &[]);
    let tools_there = [tool("open_url"), tool("write")];
    let rig = Rig::delegating(world, tools_there, [helper], settings).await;
    let refused = rig
        .submit(said_in("x", None, Some("gone")))
        .await
        .unwrap_err();
    assert_eq!(refused.code, Code::InvalidParams);

    let turn = turn_of(rig.submit(said_in("go", None, Some("settings"))).await);
    let log = rig.log_of(&turn).await;

    let refused = log.iter().filter_map(|kind| match kind {
        Kind::CallClosed { outcome, .. } => outcome.data.as_ref()?["code"].as_str(),
        _ => None,
    });
    let refused: Vec<_> = refused.collect();
    assert_eq!(refused, ["SUBAGENT_NOT_ALLOWED", "SUBAGENT_ARGUMENTS"]);
    let mut below = Vec::new();
    for prompt in rig.world.model.prompts() {
        let tools = tools(&prompt);
        assert!(!tools.contains(&"open_url".to_owned()), "{tools:?}");
        if layers(&prompt)[0].0 == "agent" {
            below.push(tools);
        }
    }
    below.sort();
    assert_eq!(below, [vec![], vec!["write".to_owned()]]);
}

// proves SA-17, SA-20
#[tokio::test]
async fn an_agent_of_a_page_is_called_there_alone_and_a_steering_message_brings_no_context() {
    let world = world(|who, _, results| match (who, results) {
        ("master", 0) => call("subAgent", delegate("clerk", "sell")),
        _ => say("fine"),
    });
    let clerk = Agent {
        page_ids: vec!["shop".to_owned()],
        ..agent("clerk", &[], &[])
    };
    let rig = Rig::delegating(world, [], [clerk, agent("other", &[], &[])], settings()).await;
    for (page_id, code) in [("home", Some("SUBAGENT_NOT_ALLOWED")), ("shop", None)] {
        let action = said_in("go", Some(page(page_id, "page")), None);
        let turn = turn_of(rig.submit(action).await);
        let log = rig.log_of(&turn).await;
        let closed = log.iter().find_map(|kind| match kind {
            Kind::CallClosed { outcome, .. } => outcome.data.clone(),
            _ => None,
        });
        assert_eq!(closed.unwrap()["code"].as_str(), code, "{page_id}");
    }
    let described = |at: usize| {
        let prompts = rig.world.model.prompts();
        let tool = prompts[at]
            .tools
            .iter()
            .find(|tool| tool.name == "subAgent");
        tool.unwrap().description.contains("clerk")
    };
    assert!(
        !described(0) && described(2),
        "it is named where it can be called"
    );

    let mut steering = said_in("x", Some(PostedContext::default()), None);
    if let Action::Post(Post { delivery, .. }) = &mut steering {
        *delivery = Delivery::Steer;
    }
    assert_eq!(rig.refused(steering).await, Code::InvalidParams);
}

/// A tool that shows this.
fn showing(name: &str, payload: serde_json::Value) -> TestTool {
    TestTool::new(name, move |_, _| {
        let event = UiEvent {
            kind: "open_url".to_owned(),
            payload: payload.clone(),
        };
        async { ToolReply::Shown(Outcome::done("shown"), event) }
    })
}

// proves SA-14, SA-15
#[tokio::test]
async fn what_a_tool_shows_is_one_event_before_its_result_and_no_part_of_the_conversation() {
    let world = world(|_, said, results| match (said.ends_with("go"), results) {
        (true, 0) => call("show", json!({})).and_call("flood", json!({})),
        (false, 0) => call("show", json!({})),
        _ => say("fine"),
    });
    let show = showing("show", json!({"url": "u"}));
    let flood = showing("flood", json!("x".repeat(64 * 1024)));
    let mut settings = settings();
    settings.for_ui = vec!["show".to_owned()];
    let rig = Rig::delegating(world, [show, flood], [], settings).await;

    let action = said_in("go", Some(PostedContext::default()), None);
    let turn = turn_of(rig.submit(action).await);
    let log = rig.log_of(&turn).await;

    let seen = log.iter().filter_map(|kind| match kind {
        Kind::UiEvent { kind, payload, .. } => Some(format!("{kind} {payload}")),
        Kind::CallClosed { name, .. } => Some(name.clone()),
        _ => None,
    });
    let mut seen: Vec<_> = seen.collect();
    let at = seen.iter().position(|what| what == "show").unwrap();
    assert_eq!(seen[at - 1], r#"open_url {"url":"u"}"#);
    seen.sort();
    assert_eq!(seen.len(), 3, "what is too long is not shown: {seen:?}");
    let texts = rig.texts().await.concat();
    assert_eq!(texts, "goshownshownfine");

    let turn = rig.post("no page").await;
    let log = rig.log_of(&turn).await;
    let is_shown = |kind: &Kind| matches!(kind, Kind::UiEvent { .. });
    assert!(!log.iter().any(is_shown), "{log:?}");
    let prompts = rig.world.model.prompts();
    let offered = |at: usize| tools(&prompts[at]).contains(&"show".to_owned());
    assert!(offered(0) && !offered(2), "only where a client has a UI");
}
