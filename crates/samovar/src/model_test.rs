//! `samovar models test`: real calls of a model, and what its server made of each. They are made by
//! this process, with the keys and addresses of this shell.

mod checks;
mod talk;

use std::io::IsTerminal;
use std::sync::Arc;

use futures_util::{Stream, StreamExt as _, stream};
use samovar_core::provider::ModelKind;
use samovar_core::{Code, Error, Model, Models as _, Price, Usage};
use samovar_locale as text;
use samovar_server::TestLines;
use samovar_server::providers::Registry;
use samovar_wire::agent::ErrorBody;
use samovar_wire::api::{CheckState, ModelCheck, TestLine};
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
    let mut checks = Checks::new(model.clone(), limits.temperature);
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

/// The checks of a model as a server tells its owner, who has agreed to them.
pub(crate) fn lines(registry: Arc<Registry>, name: String, temperature: f32) -> TestLines {
    let checks = async move {
        let model = registry.find(&name).await?;
        if model.kind == ModelKind::Demo {
            let why = text::models::test_no_model(&model.name);
            return Err(Error::new(Code::UnusableModel, why));
        }
        Ok(Checks::new(model, temperature))
    };
    let failed = |error: &Error| TestLine::Failed(ErrorBody::from(error));
    Box::pin(stream::once(checks).flat_map(move |checks| match checks {
        Ok(checks) => told(checks).boxed(),
        Err(error) => stream::once(std::future::ready(failed(&error))).boxed(),
    }))
}

/// Each check, and at the end whether all that turns need are good.
fn told(checks: Checks) -> impl Stream<Item = TestLine> + Send {
    stream::unfold(Some((checks, true)), |begun| async {
        let (mut checks, ok) = begun?;
        let Some(check) = checks.next().await else {
            return Some((TestLine::End { ok }, None));
        };
        let ok = ok && (!check.is_needed() || check.state == State::Ok);
        Some((TestLine::Check(check.into()), Some((checks, ok))))
    })
}

impl From<Check> for ModelCheck {
    fn from(check: Check) -> Self {
        Self {
            check: check.name.to_owned(),
            label: check.label().to_owned(),
            state: match check.state {
                State::Ok => CheckState::Ok,
                State::Failed => CheckState::Failed,
                State::Unseen => CheckState::Unseen,
                State::Skipped => CheckState::Skipped,
            },
            fact: check.fact,
            tokens: check.usage.total(),
            milliseconds: u64::try_from(check.took.as_millis()).unwrap_or(u64::MAX),
        }
    }
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
    let name = check.label();
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
