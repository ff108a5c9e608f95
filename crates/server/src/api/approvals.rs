//! The calls that wait for a person's decision, and the rules that people made (TL-5).

use samovar_core::approval::{Answer, MAX_WORDS_BYTES};
use samovar_core::audit::What;
use samovar_core::{Code, Error};
use samovar_engine::OpenCall;
use samovar_locale as locale;
use samovar_wire::agent::NoParams;
use samovar_wire::api::{
    ApprovalInfo, ApprovalList, BASE_PATH, DecideParams, Decided, RuleInfo, RuleParams,
};
use serde_json::json;

use super::audit::decided;
use super::state::{Call, Endpoint};
use crate::endpoint::Verb;
use crate::reply::fitting;
use crate::tokens::Scope;

/// Approvals that are shown at once, at most.
const MAX_SHOWN: usize = 200;

pub(super) fn routes() -> Vec<Endpoint> {
    let at = |path: &str| format!("{BASE_PATH}/{path}");
    vec![
        Endpoint::showing(
            at("approvals"),
            "Returns the calls that wait for a person's decision, oldest first.",
            approvals,
        ),
        Endpoint::answering(
            &[Verb::Post],
            Scope::Approve,
            at("approvals/{id}"),
            "Decides about a call that waits for it. The first decision counts.",
            decide,
        ),
        Endpoint::showing(
            at("rules"),
            "Returns the rules that decisions made, oldest first.",
            rules,
        ),
        Endpoint::answering(
            &[Verb::Delete],
            Scope::Admin,
            at("rules/{id}"),
            "Revokes a rule.",
            revoke,
        ),
    ]
}

async fn approvals(call: Call, _params: NoParams) -> Result<ApprovalList, Error> {
    Ok(list(call.engine().await?.approvals().await?))
}

/// Those of the open calls that wait for a decision.
pub(super) fn list(mut open: Vec<OpenCall>) -> ApprovalList {
    open.retain(|open| open.asked.is_some());
    let total_count = open.len() as u64;
    let infos = open.into_iter().take(MAX_SHOWN).filter_map(|open| {
        let asked = open.asked?;
        let (session, turn) = (open.session, open.turn);
        Some(ApprovalInfo::new(
            session,
            turn,
            &open.agent,
            open.call,
            &asked,
        ))
    });
    ApprovalList {
        items: fitting(infos),
        total_count,
    }
}

async fn decide(call: Call, params: DecideParams) -> Result<Decided, Error> {
    let words = params.message.filter(|words| !words.trim().is_empty());
    check_words(words.as_deref())?;
    let id = serde_json::from_value(call.segment("id").into());
    let id = id.map_err(|_| {
        let why = locale::approval::unknown(locale::quoted(call.segment("id")));
        Error::new(Code::UnknownApproval, why)
    })?;
    let answer = Answer {
        decision: params.decision,
        by: call.by.sender.name().to_owned(),
        words,
    };
    let engine = call.engine().await?;
    let rule = engine.decide(call.by.sender.clone(), id, answer).await?;
    Ok(Decided {
        rule: rule.as_ref().map(RuleInfo::from),
    })
}

async fn rules(call: Call, _params: NoParams) -> Result<Vec<RuleInfo>, Error> {
    let engine = call.engine().await?;
    let rules = engine.settings().rules.list();
    Ok(rules.iter().map(RuleInfo::from).collect())
}

async fn revoke(call: Call, params: RuleParams) -> Result<(), Error> {
    let engine = call.engine().await?;
    let revoke = move || engine.settings().rules.revoke(&params.id);
    let revoked = tokio::task::spawn_blocking(revoke).await;
    let rule = revoked.unwrap_or_else(|error| Err(Error::new(Code::Internal, error.to_string())));
    let record = decided(What::RuleRevoked, &call.by.sender);
    call.state.record(record.about_rule(&rule?)).await
}

/// Refuses words that are longer than those of a decision may be.
pub(crate) fn check_words(words: Option<&str>) -> Result<(), Error> {
    let bytes = words.map_or(0, str::len);
    if bytes > MAX_WORDS_BYTES {
        let why = locale::approval::long_message(bytes, MAX_WORDS_BYTES);
        let details = json!({"parameter": "message"});
        return Err(Error::new(Code::InvalidParams, why).with_details(details));
    }
    Ok(())
}
