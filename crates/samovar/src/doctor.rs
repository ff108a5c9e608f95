//! `samovar doctor`: every finding is a fact, a reason, and what to type. It opens no store and
//! starts nothing, so it can be asked at any time, beside a running server too.

use samovar_locale as text;
use samovar_server::providers::{ProviderConfig, SPECS};
use samovar_server::{Home, models};
use samovar_wire::api::ModelReason;
use serde_json::{Value, json};

use crate::args;
use crate::config::{self, Found, LocalData};
use crate::exit::{Exit, Failure};
use crate::model::{self, CONNECT};
use crate::screen::{put, visible};

/// What was found out about one thing.
struct Finding {
    what: &'static str,
    /// The exit code that it asks for.
    exit: Exit,
    fact: String,
    reason: String,
    /// What to type, when something can be done.
    command: Option<String>,
}

/// Looks at everything that a turn needs.
pub(crate) async fn doctor(args: &args::Doctor) -> Result<Exit, Failure> {
    let findings = match config::read(&args.places, &args.who, LocalData::UseOnly) {
        Ok(found) => examine(&found).await,
        Err(failure) => vec![unreadable(failure)],
    };
    let exits = findings.iter().map(|finding| finding.exit);
    let exit = exits.fold(Exit::Ok, |first, next| match first {
        Exit::Ok => next,
        worse => worse,
    });
    let shown = if args.json {
        as_json(&findings, exit)
    } else {
        as_text(&findings)
    };
    // Whoever closed the pipe has read enough.
    put(&shown).map(|_| exit)
}

async fn examine(found: &Found) -> Vec<Finding> {
    let mut findings = vec![data_dir(found)];
    // The tools must not see the data directory, so without one there is no workspace either.
    if findings.iter().all(|finding| finding.exit == Exit::Ok) {
        findings.push(workspace(found));
    }
    findings.push(model(found).await);
    findings.push(providers(&found.config.providers));
    findings
}

fn unreadable(failure: Failure) -> Finding {
    Finding {
        what: "configuration",
        exit: failure.exit,
        fact: failure.message,
        reason: format!("the code is {}", failure.code),
        command: None,
    }
}

fn data_dir(found: &Found) -> Finding {
    let dir = found.config.data_dir.display();
    let (exit, fact, command) = match Home::try_data_dir(&found.config) {
        Ok(()) => (Exit::Ok, format!("{dir} can be used"), None),
        Err(error) if error.code() == "data_dir_busy" => {
            let fact = format!("{dir} is in use by another samovar");
            (Exit::Ok, fact, None)
        }
        Err(error) => {
            let command = "export DATA_DIR=\"$HOME/samovar\"".to_owned();
            (Exit::Configuration, error.to_string(), Some(command))
        }
    };
    Finding {
        what: "data",
        exit,
        fact,
        reason: found.data_dir_reason.to_owned(),
        command,
    }
}

fn workspace(found: &Found) -> Finding {
    let dir = found.config.workspace.display();
    let (exit, fact, command) = match Home::try_workspace(&found.config) {
        Ok(()) => (Exit::Ok, format!("tools work in {dir}"), None),
        Err(error) => {
            let command = "samovar doctor --workspace \"$HOME\"".to_owned();
            (Exit::Configuration, error.to_string(), Some(command))
        }
    };
    Finding {
        what: "workspace",
        exit,
        fact,
        reason: found.workspace_reason.to_owned(),
        command,
    }
}

async fn model(found: &Found) -> Finding {
    let (exit, fact, reason, command) = match models::choice(&found.registry).await {
        Ok(choice) => {
            let fact = text::doctor::model_answers(model::what(&choice));
            let reason = model::reason(&choice, found);
            let connect = matches!(choice.reason, ModelReason::Nothing { .. });
            (Exit::Ok, fact, reason, connect.then(|| CONNECT.to_owned()))
        }
        Err(error) => {
            let reason = model::asked(found.model_from).to_owned();
            let command = remedy(error.details.as_ref());
            (
                Exit::NoModel,
                error.message.into_owned(),
                reason,
                Some(command),
            )
        }
    };
    Finding {
        what: "model",
        exit,
        fact,
        reason,
        command,
    }
}

/// What to type when a model cannot be used.
fn remedy(details: Option<&Value>) -> String {
    let detail = |name: &str| details.and_then(|details| details[name][0].as_str());
    match (detail("set"), detail("nearest")) {
        (Some(variable), _) => format!("export {variable}=YOUR_KEY"),
        (None, Some(name)) => format!("export AGENT_MODEL={name}"),
        (None, None) => CONNECT.to_owned(),
    }
}

fn providers(config: &ProviderConfig) -> Finding {
    let is_set_up = |name| config.keys.contains_key(name) || config.base_urls.contains_key(name);
    let names: Vec<_> = SPECS
        .iter()
        .map(|spec| spec.name)
        .filter(|name| is_set_up(*name))
        .collect();
    let fact = match names.as_slice() {
        [] => "none has a key or an address".to_owned(),
        some => format!("{} have a key or an address", some.join(", ")),
    };
    let variables: Vec<_> = SPECS
        .iter()
        .flat_map(|spec| spec.env_vars)
        .copied()
        .collect();
    let reason = format!(
        "a key is read from {}, an address from NAME_BASE_URL, as in OPENAI_BASE_URL",
        variables.join(", ")
    );
    Finding {
        what: "providers",
        exit: Exit::Ok,
        fact,
        reason,
        command: None,
    }
}

fn as_text(findings: &[Finding]) -> String {
    let lines = findings.iter().flat_map(|finding| {
        let mark = match finding.exit {
            Exit::Ok => "ok  ",
            _ => "fail",
        };
        let fact = format!("{mark} {}: {}\n", finding.what, finding.fact);
        let reason = format!("     why: {}\n", finding.reason);
        let command = finding
            .command
            .iter()
            .map(|it| format!("     type: {it}\n"));
        [fact, reason].into_iter().chain(command)
    });
    visible(&lines.collect::<String>())
}

fn as_json(findings: &[Finding], exit: Exit) -> String {
    let rows = findings.iter().map(|finding| {
        json!({
            "what": finding.what,
            "ok": finding.exit == Exit::Ok,
            "fact": finding.fact,
            "reason": finding.reason,
            "command": finding.command,
        })
    });
    let version = env!("CARGO_PKG_VERSION");
    let rows: Vec<_> = rows.collect();
    format!(
        "{}\n",
        json!({"version": version, "ok": exit == Exit::Ok, "findings": rows})
    )
}
