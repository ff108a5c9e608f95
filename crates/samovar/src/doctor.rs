//! `samovar doctor`: every finding is a fact, a reason, and what to type.

use samovar_server::providers::{Access, Registry};
use samovar_server::{Home, OpenError};
use serde_json::json;

use crate::args;
use crate::config::{self, LocalData};
use crate::exit::{Exit, Failure};
use crate::model;

struct Finding {
    what: &'static str,
    is_good: bool,
    fact: String,
    /// What to type, when something is to be done.
    remedy: Option<String>,
}

/// Looks at everything that a turn needs.
pub(crate) async fn doctor(args: args::Doctor) -> Result<Exit, Failure> {
    let found = config::read(&args.places, args.model.clone(), LocalData::UseOnly)?;
    let config = found.config;
    let mut findings = Vec::new();
    let (stores, mut exit) = stores(&config).await;
    findings.push(stores);
    let (model, without_model) = chosen(&config.providers, args.model.is_some());
    findings.push(model);
    if exit == Exit::Ok {
        exit = without_model;
    }
    findings.push(keys(&Registry::new(config.providers.clone())));
    let shown = if args.json {
        as_json(&findings, exit)
    } else {
        as_text(&findings)
    };
    crate::run::put(&shown)?;
    Ok(exit)
}

async fn stores(config: &samovar_server::Config) -> (Finding, Exit) {
    let dir = config.data_dir.display();
    let opened = Home::open(config).await;
    let finding = |is_good, fact, remedy| Finding {
        what: "data",
        is_good,
        fact,
        remedy,
    };
    match opened {
        Ok(home) => {
            let fact = format!(
                "{dir} can be used; workspace {}",
                home.workspace().display()
            );
            home.close_now().await;
            (finding(true, fact, None), Exit::Ok)
        }
        Err(error) if error.code() == "data_dir_busy" => (
            finding(true, format!("{dir} is in use: {error}"), None),
            Exit::Ok,
        ),
        Err(error) => {
            let remedy = match &error {
                OpenError::Workspace(_) => "samovar doctor --workspace DIR",
                _ => "samovar doctor --data-dir DIR",
            };
            let exit = Failure::from(error);
            (
                finding(false, exit.message, Some(remedy.to_owned())),
                exit.exit,
            )
        }
    }
}

fn chosen(providers: &samovar_server::providers::ProviderConfig, asked: bool) -> (Finding, Exit) {
    let finding = |is_good, fact, remedy| Finding {
        what: "model",
        is_good,
        fact,
        remedy,
    };
    match model::choose(providers, asked) {
        Ok(choice) => (finding(true, choice.line(), None), Exit::Ok),
        Err(error) => {
            let remedy = Some("export OPENAI_API_KEY=…".to_owned());
            (
                finding(false, error.message.into_owned(), remedy),
                Exit::NoModel,
            )
        }
    }
}

fn keys(registry: &Registry) -> Finding {
    let usable = registry
        .providers()
        .filter(|(_, access)| *access != Access::Missing);
    let usable: Vec<_> = usable.map(|(spec, _)| spec.name).collect();
    let fact = format!("can be asked: {}", usable.join(", "));
    Finding {
        what: "providers",
        is_good: true,
        fact,
        remedy: None,
    }
}

fn as_text(findings: &[Finding]) -> String {
    let mut text = String::new();
    for finding in findings {
        let mark = if finding.is_good { "ok  " } else { "fail" };
        text.push_str(&format!("{mark} {}: {}\n", finding.what, finding.fact));
        if let Some(remedy) = &finding.remedy {
            text.push_str(&format!("     try: {remedy}\n"));
        }
    }
    text
}

fn as_json(findings: &[Finding], exit: Exit) -> String {
    let rows = findings.iter().map(|finding| {
        json!({
            "what": finding.what,
            "ok": finding.is_good,
            "fact": finding.fact,
            "remedy": finding.remedy,
        })
    });
    let version = env!("CARGO_PKG_VERSION");
    let rows: Vec<_> = rows.collect();
    let whole = json!({"version": version, "ok": exit == Exit::Ok, "findings": rows});
    format!("{whole}\n")
}
