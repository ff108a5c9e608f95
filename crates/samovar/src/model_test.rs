//! `samovar models test`: real calls of a model, and what its server made of each. They are made by
//! this process, with the keys and addresses of this shell.

mod checks;
mod talk;

use std::io::IsTerminal;

use samovar_core::provider::ModelKind;
use samovar_core::{Code, Model, Models as _, Price, Usage};
use samovar_locale as text;
use serde_json::json;

use self::checks::{Check, Checks, State};
use crate::args::{ModelArgs, TestModel};
use crate::config::{self, LocalData};
use crate::exit::{Exit, Failure};
use crate::output::{self, Format};
use crate::screen::{confirm, one_line, put, visible};

/// About what the calls of one test use, for the question before them.
const EXPECTED: Usage = Usage {
    input: 8_000,
    output: 1_500,
    cache_read: 0,
    cache_write: 0,
    reasoning: 0,
};

/// Runs it. Without text, calls and answers after their results no turn works: then the exit code
/// is 1.
///
/// # Errors
/// There is no such model, or it costs something and nobody agreed.
pub(crate) async fn test(args: TestModel) -> Result<Exit, Failure> {
    let who = ModelArgs {
        model: args.name,
        no_probe: args.no_probe,
    };
    let found = config::read(&args.common.places, &who, LocalData::UseOnly)?;
    let chosen = found.registry.choice().await?;
    let model = found.registry.find(&chosen.name).await?;
    if model.kind == ModelKind::Demo {
        let why = text::models::test_no_model(&model.name);
        return Err(Failure::new(
            Exit::NoModel,
            Code::UnusableModel.as_str(),
            why,
        ));
    }
    let price = found.registry.price(&model.name).map(|price| price.exact());
    if !args.yes && !is_agreed(&model, price)? {
        return Ok(Exit::Ok);
    }
    let limits = &found.config.settings.limits;
    let mut checks = Checks::new(&model, limits.temperature);
    let (mut done, format) = (Vec::new(), args.common.machine.format());
    while let Some(check) = checks.next().await {
        match format {
            Format::Text => put(&visible(&line(&check))).map(drop)?,
            Format::Jsonl => put(&output::line("model_check", &check)?).map(drop)?,
            Format::Json => {}
        }
        done.push(check);
    }
    let works = done
        .iter()
        .all(|check| !check.is_needed() || check.state == State::Ok);
    let usage = done
        .iter()
        .fold(Usage::default(), |sum, check| sum.plus(check.usage));
    let cost = price.map(|price| price.cost(&usage).to_string());
    match format {
        Format::Text => {
            let (input, output) = (usage.input, usage.output);
            put(&(match &cost {
                Some(cost) => text::models::test_total(&model.name, input, output, cost),
                None => text::models::test_total_unpriced(&model.name, input, output),
            } + "\n"))
            .map(drop)?;
        }
        Format::Json => {
            let report = json!({
                "model": model.name,
                "ok": works,
                "checks": done,
                "usage": usage,
                "costUsd": cost,
            });
            put(&output::line("model_test", &report)?).map(drop)?;
        }
        Format::Jsonl => {}
    }
    Ok(if works { Exit::Ok } else { Exit::TurnFailed })
}

/// Asks before money is spent, or may be.
fn is_agreed(model: &Model, price: Option<Price>) -> Result<bool, Failure> {
    let tokens = EXPECTED.total();
    let question = match price {
        Some(price) if price.is_free() => return Ok(true),
        None if model.kind == ModelKind::Local => return Ok(true),
        Some(price) => text::models::test_sure(&model.name, tokens, price.cost(&EXPECTED)),
        None => text::models::test_sure_unpriced(&model.name, tokens),
    };
    if !std::io::stdin().is_terminal() {
        return Err(Failure::usage(text::models::test_needs_yes(&model.name)));
    }
    confirm(&question)
}

/// A check in a line.
fn line(check: &Check) -> String {
    let name = match check.name {
        checks::TEXT => text::models::check_text(),
        checks::CALL => text::models::check_call(),
        checks::ANSWER => text::models::check_answer(),
        checks::CUT => text::models::check_cut(),
        checks::LONG => text::models::check_long(),
        checks::CACHE => text::models::check_cache(),
        _ => text::models::check_image(),
    };
    let mut fact = one_line(&check.fact);
    if let Some(reason) = &check.finish_reason {
        let Usage { input, output, .. } = check.usage;
        let seconds = format!("{:.1}", check.took.as_secs_f64());
        fact = text::models::check_figures(fact, reason, input, output, seconds);
    }
    let line = match check.state {
        State::Ok => text::doctor::good(name, fact),
        State::Failed => text::doctor::bad(name, fact),
        State::Unseen | State::Skipped => text::doctor::absent(name, fact),
    };
    line + "\n"
}
