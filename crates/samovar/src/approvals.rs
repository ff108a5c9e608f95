//! `samovar approvals`: what waits for a decision, and what was allowed for good.

use samovar_core::approval::{Grant, visible};
use samovar_core::{Decision, Millis};
use samovar_locale as text;
use samovar_wire::api::{ApprovalInfo, ApprovalList, Decided, GrantInfo, RuleInfo};
use serde_json::{Value, json};

use crate::args::{AllowFor, Approvals, Common};
use crate::calls;
use crate::client::{Client, segment};
use crate::exit::{Exit, Failure};
use crate::output::{self, Format, table};
use crate::reconnecting::Repeat;
use crate::screen::{beginning, say};
use crate::sessions::{change, look};
use crate::timestamps::{age, moment, now};

/// Characters of a call in the list.
const SHOWN: usize = 60;

/// `samovar approvals`.
pub(crate) async fn approvals(command: Approvals) -> Result<Exit, Failure> {
    match command {
        Approvals::List { common } => {
            let waiting = waiting(&common).await?;
            let format = common.machine.format();
            if waiting.items.is_empty() && format == Format::Text {
                say(text::approvals::none());
            }
            output::list(format, "approval", &waiting.items, list)?;
        }
        Approvals::Show { approval, common } => {
            let found = find(&common, &approval).await?;
            output::one(common.machine.format(), "approval", &found, shown)?;
        }
        Approvals::Allow {
            approval,
            allow_for,
            common,
        } => {
            let decision = match allow_for {
                AllowFor::Once => Decision::Once,
                AllowFor::Turn => Decision::Turn,
                AllowFor::Always => Decision::Always,
            };
            decide(&common, &approval, json!({ "decision": decision })).await?;
        }
        Approvals::Deny {
            approval,
            message,
            common,
        } => {
            let decision = json!({ "decision": Decision::Deny, "message": message });
            decide(&common, &approval, decision).await?;
        }
        Approvals::Rules { common } => {
            let asked = async |client: &Client| client.get::<Vec<RuleInfo>>("/api/rules").await;
            let rules = look(&common, asked).await?;
            if rules.is_empty() && common.machine.format() == Format::Text {
                say(text::approvals::no_rules());
            }
            output::list(common.machine.format(), "rule", &rules, |rules| {
                let rows = rules.iter().map(|rule| {
                    let grant = covered(&rule.grant);
                    vec![
                        rule.id.to_string(),
                        grant,
                        rule.by.clone(),
                        moment(Millis(rule.created_at)),
                    ]
                });
                table(&rows.collect::<Vec<_>>())
            })?;
        }
        Approvals::Revoke { rule, common } => {
            let path = format!("/api/rules/{}", segment(&rule));
            let asked = async |client: &Client| client.delete::<()>(&path).await;
            change(&common, Repeat::Untaken, asked).await?;
            let answer = json!({ "id": rule, "revoked": true });
            output::one(common.machine.format(), "revoked", &answer, |_| {
                text::approvals::revoked(&rule) + "\n"
            })?;
        }
    }
    Ok(Exit::Ok)
}

async fn waiting(common: &Common) -> Result<ApprovalList, Failure> {
    let asked = async |client: &Client| client.get("/api/approvals").await;
    look(common, asked).await
}

/// The approval that was typed: its id, or the end of it.
async fn find(common: &Common, typed: &str) -> Result<ApprovalInfo, Failure> {
    let waiting = waiting(common).await?.items;
    let fits =
        |info: &&ApprovalInfo| info.id.as_str() == typed || info.id.as_str().ends_with(typed);
    let mut fitting = waiting.iter().filter(fits);
    match (fitting.next(), fitting.next()) {
        (Some(one), None) => Ok(one.clone()),
        (None, _) => Err(Failure::usage(text::approvals::none_fits(typed))),
        (Some(_), Some(_)) => Err(Failure::usage(text::approvals::several_fit(typed))),
    }
}

async fn decide(common: &Common, typed: &str, decision: Value) -> Result<(), Failure> {
    let approval = find(common, typed).await?;
    let path = format!("/api/approvals/{}", segment(approval.id.as_str()));
    // The first decision counts, so it may be sent twice.
    let asked = async |client: &Client| client.post::<Decided>(&path, &decision).await;
    let decided = change(common, Repeat::Harmless, asked).await?;
    output::one(common.machine.format(), "decided", &decided, |decided| {
        let line = match (&decided.rule, decision["decision"] == json!(Decision::Deny)) {
            (Some(rule), _) => text::approvals::rule_made(covered(&rule.grant), &rule.id),
            (None, false) => text::approvals::allowed(&approval.tool),
            (None, true) => text::approvals::denied(&approval.tool),
        };
        line + "\n"
    })?;
    Ok(())
}

fn list(items: &[ApprovalInfo]) -> String {
    let rows = items.iter().map(|info| {
        let agent = info.path.last().cloned().unwrap_or_default();
        let what = beginning(&calls::brief(&info.tool, &info.args), SHOWN);
        vec![info.id.to_string(), agent, what, left(info)]
    });
    table(&rows.collect::<Vec<_>>())
}

fn shown(info: &ApprovalInfo) -> String {
    let agent = info.path.join("/");
    let mut lines = vec![
        text::approvals::who(&agent, visible(&calls::whole(&info.tool, &info.args))),
        visible(&info.reason).into_owned(),
    ];
    lines.extend(info.preview.clone());
    lines.extend(
        info.grant
            .as_ref()
            .map(|grant| text::approvals::would_allow(covered(grant))),
    );
    lines.push(text::approvals::until(left(info)));
    lines.join("\n") + "\n"
}

fn covered(grant: &GrantInfo) -> String {
    let grant = grant.clone();
    let grant = Grant {
        tool: grant.tool,
        identity: None,
        folder: grant.folder,
        programs: grant.programs,
        tainted: grant.tainted,
    };
    grant.to_string()
}

/// How long a decision can still come.
fn left(info: &ApprovalInfo) -> String {
    age(now(), Millis(info.expires_at))
}
