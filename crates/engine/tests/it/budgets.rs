//! One budget for a tree of turns: exact over stops of the server, and each cut names its limit.

use std::collections::HashMap;
use std::sync::Arc;

use samovar_core::command::Post;
use samovar_core::history::{TurnQuery, TurnRow};
use samovar_core::{
    Action, Bounds, Budget, BudgetLimit, Code, Delivery, Event, FinishReason, Kind, Millis,
    Outcome, Price, Role, ToolReply, TurnId, Usd,
};
use samovar_doubles::{Gate, Reply, TestTool, World, call, say};
use samovar_engine::Settings;
use serde_json::json;
use tokio::runtime::Runtime;

use crate::children::{agent, delegate, log, outcomes, world};
use crate::rig::{Rig, said, settings, turn_of};

const PRICE: Price = Price {
    input: 1_000_000,
    output: 2_000_000,
    cache_read: 1_000_000,
    cache_write: 1_000_000,
};

fn budgeted(text: &str, budget: Budget) -> Action {
    let mut action = said(text, Delivery::Queue);
    if let Action::Post(Post { bounds, .. }) = &mut action {
        *bounds = Bounds {
            budget,
            ..Bounds::default()
        };
    }
    action
}

/// A master with 8 agents of 7 each.
fn tree_of_64(gate: &Gate) -> World {
    let gate = gate.clone();
    world(move |who, _, results| {
        let fan = |count, name| {
            let reply = (0..count).fold(say(""), |reply: Reply, number: i32| {
                reply.and_call("subAgent", delegate(name, &number.to_string()))
            });
            reply.usage(300, 40)
        };
        match (who, results) {
            ("master", 0) => fan(8, "mid"),
            ("mid", 0) => fan(7, "leaf"),
            ("leaf", _) => say("a leaf").usage(200, 20).hold(&gate),
            _ => say("done").usage(500, 10),
        }
    })
}

async fn rows(rig: &Rig) -> Vec<TurnRow> {
    let query = TurnQuery {
        session: None,
        among: Vec::new(),
        unfinished: false,
        limit: 99,
    };
    rig.engine.turns(query).await.unwrap()
}

/// Adds up a log: what its turns have used at the end, and at each event no more than `limit` with
/// what was set aside.
fn add_up(log: &[Arc<Event>], limit: u64) -> (u64, u32) {
    let (mut spent, mut steps) = (0, 0);
    let mut held = HashMap::<TurnId, u64>::new();
    for event in log {
        let Some(turn) = event.turn.clone() else {
            continue;
        };
        match &event.kind {
            Kind::StepStarted {
                attempt,
                reserved_tokens,
                quote,
                ..
            } => {
                steps += u32::from(*attempt == 1);
                let prompt = quote.unwrap().prompt_tokens.unwrap();
                assert_eq!(held.insert(turn, prompt + reserved_tokens), None);
            }
            Kind::StepReset { .. } => spent += held.remove(&turn).unwrap(),
            Kind::MessageFinished { message, .. } if message.role == Role::Assistant => {
                let usage = message.usage.unwrap().total();
                assert!(usage <= held.remove(&turn).unwrap());
                spent += usage;
            }
            _ => {}
        }
        assert!(spent + held.values().sum::<u64>() <= limit);
    }
    assert!(held.is_empty());
    (spent, steps)
}

// proves SA-12
#[test]
fn sixty_four_children_share_one_budget_exactly_over_five_kills_of_the_server() {
    let gate = Gate::default();
    let limit = 9_000_000;
    let agents = [agent("mid", &[], &["leaf"]), agent("leaf", &[], &[])];
    let settings = Settings {
        max_continuations: 5,
        ..settings()
    };
    let mut life = Runtime::new().unwrap();
    let mut rig = life.block_on(Rig::delegating(tree_of_64(&gate), [], agents, settings));
    let budget = Budget {
        steps: Some(100),
        ..Budget::of_tokens(limit)
    };
    let turn = turn_of(life.block_on(rig.submit(budgeted("go", budget))));
    for kill in 1..=5 {
        life.block_on(rig.world.model.seen(9 + 56 * kill));
        let next = Runtime::new().unwrap();
        rig = rig.killed(life, &next);
        life = next;
    }
    gate.open();

    let log = life.block_on(log(&rig, &turn));

    let (spent, steps) = add_up(&log, limit);
    assert_eq!(steps, 1 + 8 + 56 + 8 + 1);
    // A reader may see the end a moment before the history is told of it.
    let rows = loop {
        let rows = life.block_on(rows(&rig));
        if rows.iter().all(|row| row.end.is_some()) {
            break rows;
        }
    };
    assert_eq!(rows.len(), 65);
    let [root] = rows
        .iter()
        .filter(|row| row.turn == turn)
        .collect::<Vec<_>>()[..]
    else {
        panic!("{rows:?}");
    };
    let left = root.left.unwrap();
    assert_eq!(left.tokens, Some(limit - spent));
    assert_eq!(left.steps, Some(100 - steps));
    let estimated: u64 = rows.iter().map(|row| row.bill.estimated_tokens).sum();
    assert!(estimated > 5 * 56 * 4096 && estimated < spent);
}

// proves SA-12, SA-6
#[tokio::test]
async fn a_tree_is_cut_where_its_budget_ends_and_no_child_outspends_it() {
    let gate = Gate::default();
    gate.open();
    let limit = 60_000;
    let agents = [agent("mid", &[], &["leaf"]), agent("leaf", &[], &[])];
    let rig = Rig::delegating(tree_of_64(&gate), [], agents, settings()).await;

    let turn = turn_of(rig.submit(budgeted("go", Budget::of_tokens(limit))).await);
    let log = log(&rig, &turn).await;

    let (spent, _) = add_up(&log, limit);
    let cut = log.iter().filter(|event| {
        let Kind::TurnFinished { reason, bill, .. } = &event.kind else {
            return false;
        };
        let is_cut = *reason == FinishReason::Budget;
        assert_eq!(bill.limit, is_cut.then_some(BudgetLimit::Tokens));
        is_cut
    });
    assert!(cut.count() > 0);
    let told = log.iter().filter(|event| match &event.kind {
        Kind::CallClosed { outcome, .. } => outcome.text.contains("SUBAGENT_BUDGET"),
        _ => false,
    });
    assert!(told.count() > 0);
    let rows = rows(&rig).await;
    let root = rows.iter().find(|row| row.turn == turn).unwrap();
    assert_eq!(root.left.unwrap().tokens, Some(limit - spent));
}

/// What is said, with which budget, and where that is cut: the limit, and after how many steps.
fn cuts() -> [(&'static str, Budget, BudgetLimit, u32); 6] {
    let none = Budget::default();
    let money = Some(Usd::from_nanos(18_050_000));
    [
        (
            "go",
            Budget {
                steps: Some(2),
                ..none
            },
            BudgetLimit::Steps,
            2,
        ),
        ("go", Budget::of_tokens(1), BudgetLimit::Tokens, 0),
        ("go", Budget::of_tokens(6_100), BudgetLimit::Tokens, 3),
        (
            "go",
            Budget {
                cost: money,
                ..none
            },
            BudgetLimit::Cost,
            6,
        ),
        (
            "wait",
            Budget {
                wall_ms: Some(5_000),
                ..none
            },
            BudgetLimit::Wall,
            1,
        ),
        (
            "go",
            Budget {
                wall_ms: Some(90_000_000),
                ..none
            },
            BudgetLimit::Wall,
            1,
        ),
    ]
}

// proves SA-12
#[tokio::test(start_paused = true)]
async fn each_limit_cuts_a_turn_and_is_named() {
    let rig = Rig::by(
        |said, _| match said {
            "wait" => say("a word").hold_after(1, &Gate::default()),
            _ => call("look", json!({})).usage(1_000, 1_000),
        },
        [TestTool::asks("look")],
        settings(),
    )
    .await;
    rig.world.model.costs(PRICE);
    for (text, budget, limit, steps) in cuts() {
        let row = run(&rig, text, budget).await;
        let turn = row.turn.clone();
        let (reason, _) = row.end.unwrap();
        let found = (reason, row.bill.limit, row.iterations);
        assert_eq!(
            found,
            (FinishReason::Budget, Some(limit), steps),
            "{budget:?}"
        );
        if let Some(all) = budget.cost {
            let cost = row.bill.cost.unwrap();
            assert_eq!(cost.nanos(), u64::from(steps) * 3_000_000);
            let left = rows(&rig)
                .await
                .into_iter()
                .find(|row| row.turn == turn)
                .unwrap()
                .left;
            assert_eq!(left.unwrap().cost, Some(all.minus(cost)));
        }
    }
}

/// Runs a turn to its end; each of its calls is answered.
async fn run(rig: &Rig, text: &str, budget: Budget) -> TurnRow {
    let turn = turn_of(rig.submit(budgeted(text, budget)).await);
    while rows_of(rig, &turn).await.end.is_none() {
        let Some(open) = rig.engine.open_calls().await.unwrap().pop() else {
            tokio::task::yield_now().await;
            tokio::time::sleep(std::time::Duration::from_secs(1)).await;
            continue;
        };
        if budget.wall_ms.is_some() {
            // The time passes while the turn waits for an answer.
            rig.world.clock.set(Millis(i64::MAX / 2));
        }
        rig.settle(open.call.id).await;
    }
    rows_of(rig, &turn).await
}

async fn rows_of(rig: &Rig, turn: &TurnId) -> TurnRow {
    let mut rows = rows(rig).await.into_iter();
    rows.find(|row| row.turn == *turn).unwrap()
}

// proves SA-12
#[tokio::test]
async fn a_model_without_a_price_refuses_a_budget_in_money_before_anything_is_kept() {
    let rig = Rig::new([say("done").usage(3, 4)]).await;
    let budget = Budget {
        cost: Some(Usd::from_nanos(1_000_000_000)),
        ..Budget::default()
    };

    assert_eq!(
        rig.refused(budgeted("go", budget)).await,
        Code::UnpricedModel
    );
    assert_eq!(rig.asked().await, Vec::<String>::new());

    rig.world.model.costs(PRICE);
    let turn = turn_of(rig.submit(budgeted("go", budget)).await);
    rig.over(&turn).await;
    let row = rows_of(&rig, &turn).await;
    assert_eq!(row.bill.cost, Some(Usd::from_nanos(11_000)));
}

/// The end of a turn of the session's own agent that began after another.
fn ends_after(turn: &TurnId) -> impl Fn(&Event) -> bool {
    move |event| {
        let ends = matches!(event.kind, Kind::TurnFinished { .. });
        ends && event.agent.depth() == 0 && event.turn.as_ref().is_some_and(|own| own > turn)
    }
}

// proves SA-12, SA-6
#[tokio::test]
async fn a_child_without_room_is_refused_and_one_in_the_background_gets_a_quarter() {
    let world = world(|who, said, results| match (who, said, results) {
        ("master", "no room", 0) => call("subAgent", delegate("a", "x")).usage(10, 10),
        ("master", "spawn", 0) => call("spawn", json!({"task": "x", "agent": "a"})).usage(10, 10),
        _ => say("done").usage(10, 10),
    });
    let rig = Rig::delegating(world, [], [agent("a", &[], &[])], settings()).await;
    let steps = |steps| Budget {
        steps: Some(steps),
        ..Budget::default()
    };

    let turn = turn_of(rig.submit(budgeted("no room", steps(1))).await);
    let refused = log(&rig, &turn).await;
    assert_eq!(outcomes(&refused, &turn)[0]["code"], "SUBAGENT_BUDGET");
    assert_eq!(rows(&rig).await.len(), 1, "nothing has run");

    let turn = turn_of(rig.submit(budgeted("spawn", steps(9))).await);
    // The words of the child begin a turn with what the child has left.
    rig.sees(ends_after(&turn)).await;
    let rows = rows(&rig).await;
    let budgets = rows.iter().skip(1);
    let budgets = budgets.map(|row| (row.budget.steps, row.left.unwrap().steps));
    let budgets: Vec<_> = budgets.collect();
    assert_eq!(
        budgets,
        [(Some(9), Some(5)), (Some(2), Some(1)), (Some(1), Some(0))]
    );
}

// proves SA-12, SA-6
#[tokio::test]
async fn what_a_call_had_set_aside_and_did_not_use_is_there_for_children_and_for_results() {
    let world = world(|who, said, results| match (who, said, results) {
        ("master", "ask", 0) => call("subAgent", delegate("a", "x")).usage(10, 10),
        ("master", "spawn", 0) => call("spawn", json!({"task": "x", "agent": "a"})).usage(10, 10),
        _ => say("done").usage(10, 10),
    });
    let rig = Rig::delegating(world, [], [agent("a", &[], &[])], settings()).await;
    let tokens = |tokens| Budget {
        tokens: Some(tokens),
        ..Budget::default()
    };

    // Less than a prompt with the longest answer: each call sets all of it aside.
    let turn = turn_of(rig.submit(budgeted("ask", tokens(4_000))).await);
    let log = log(&rig, &turn).await;
    assert_eq!(outcomes(&log, &turn)[0]["ok"], true);

    let turn = turn_of(rig.submit(budgeted("spawn", tokens(12_000))).await);
    let last = rig.sees(ends_after(&turn)).await;
    let is_whole = matches!(
        &last.kind,
        Kind::TurnFinished {
            reason: FinishReason::Model(_),
            ..
        }
    );
    assert!(is_whole, "{:?}", last.kind);
}

// proves SA-12, DU-10
#[tokio::test]
async fn a_message_that_was_to_join_a_turn_without_room_for_it_has_a_turn_of_its_own() {
    let gate = Gate::default();
    let held = gate.clone();
    let world = world(move |_, said, results| match (said, results) {
        ("go", 0) => call("x", json!({})).hold(&held),
        _ => say("done"),
    });
    let x = TestTool::new("x", |_, _| async { ToolReply::Closed(Outcome::done("x")) });
    let rig = Rig::delegating(world, [x], [], settings()).await;
    let one_step = Budget {
        steps: Some(1),
        ..Budget::default()
    };
    let turn = turn_of(rig.submit(budgeted("go", one_step)).await);
    rig.world.model.seen(1).await;
    let steering = rig.deliver("and that", Delivery::Steer).await;
    gate.open();

    assert_eq!(rig.over(&turn).await, FinishReason::Budget);
    assert!(matches!(rig.over(&steering).await, FinishReason::Model(_)));
    assert_eq!(rig.asked().await, ["go", "and that"]);
}
