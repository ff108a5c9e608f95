//! What one account has room for, and what a call counts as.

use samovar_core::{Message, MessageId};

use super::*;

const PRICE: Price = Price {
    input: 700_001,
    output: 3_000_007,
    cache_read: 70_000,
    cache_write: 900_000,
};

// proves SA-12
#[test]
fn an_answer_gets_what_is_left_and_the_first_limit_without_room_is_named() {
    let ask = Ask {
        iteration: 1,
        attempt: 1,
        prompt: 100,
        answer: 50,
        price: Some(PRICE),
    };
    let unpriced = Ask { price: None, ..ask };
    let again = Ask { attempt: 2, ..ask };
    let none = Budget::default();
    let tokens = |tokens| Budget {
        tokens: Some(tokens),
        ..none
    };
    let cost = |nanos| Budget {
        cost: Some(Usd::from_nanos(nanos)),
        ..none
    };
    let steps = Budget {
        steps: Some(0),
        ..none
    };
    let wall = Budget {
        wall_ms: Some(10),
        ..none
    };
    // 100 tokens in cost 90,000 billionths at most, and 10 out 30,001.
    for (limit, ask, now, found) in [
        (none, ask, 0, Ok(50)),
        (tokens(150), ask, 0, Ok(50)),
        (tokens(101), ask, 0, Ok(1)),
        (tokens(100), ask, 0, Err(BudgetLimit::Tokens)),
        (cost(120_001), ask, 0, Ok(10)),
        (cost(120_000), ask, 0, Ok(9)),
        (cost(90_000), ask, 0, Err(BudgetLimit::Cost)),
        (cost(9_000_000), unpriced, 0, Err(BudgetLimit::Cost)),
        (steps, ask, 0, Err(BudgetLimit::Steps)),
        (steps, again, 0, Ok(50)),
        (wall, ask, 9, Ok(50)),
        (wall, ask, 10, Err(BudgetLimit::Wall)),
    ] {
        let account = Account::new(limit, Millis(0));
        let reserved = account
            .room_for(&ask, Millis(now))
            .map(|hold| hold.longest());
        assert_eq!(reserved, found, "{limit:?}");
    }
}

// proves SA-12
#[test]
fn a_call_that_no_provider_counted_is_estimated_and_one_that_was_refused_costs_nothing() {
    let step = Kind::StepStarted {
        iteration: 1,
        attempt: 1,
        reserved_tokens: 50,
        model: None,
        route: None,
        quote: Some(Quote {
            prompt_tokens: Some(100),
            price: Some(PRICE),
        }),
        told: None,
    };
    let hold = Hold::of(&step).unwrap();
    let reset = |code| Kind::StepReset {
        iteration: 1,
        usage: Usage::default(),
        reason: String::new(),
        code: Some(code),
        context: None,
    };
    let id = MessageId::new("m").unwrap();
    let parts = vec![samovar_core::Part::text("123456")];
    let said = Message::new(id, Role::Assistant, parts, Millis(0));
    let cut = |reason: &str| {
        let reason = Some(reason.to_owned());
        Kind::finished(Message {
            finish_reason: reason,
            ..said.clone()
        })
    };
    for (kind, tokens) in [
        (cut("stop"), 114),
        // A call of which nothing was kept may have come after the words.
        (cut("cancelled"), 150),
        (cut("error"), 150),
        (cut("budget"), 150),
        (reset(FaultCode::Interrupted), 150),
        (reset(FaultCode::StreamCut), 150),
        (reset(FaultCode::ProviderRateLimited), 0),
        (Kind::finished(said.clone()), 114),
    ] {
        let spent = hold.settled(&kind).unwrap();
        assert_eq!(
            (spent.tokens, spent.estimated),
            (tokens, tokens),
            "{kind:?}"
        );
        let mut bill = Bill::default();
        hold.charge(&mut bill, spent);
        assert_eq!(bill.estimated_tokens, tokens);
    }
}
