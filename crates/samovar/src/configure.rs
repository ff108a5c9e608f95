//! `samovar config`: what is set, where it comes from, and what a folder's file may set.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use samovar_config::{Candidate, Explained, FolderTrust, Located, State, TrustState, schema};
use samovar_locale as text;
use samovar_server::{Config as ServerConfig, layer_sources, told_instructions};
use serde::Serialize;
use serde_json::Value;

use crate::args::{Common, Config, DirArgs, ModelArgs};
use crate::config::{self, LocalData, Setup};
use crate::exit::{Exit, Failure};
use crate::output::{self, Format, table};
use crate::screen::{confirm, put, say, visible};
use crate::trusting::is_foreign;

/// Runs one of the commands. None of them opens or makes a data directory.
///
/// # Errors
/// A mistake in the configuration: exit code 3; a key that is none: 2.
pub(crate) fn configure(command: Config) -> Result<Exit, Failure> {
    match command {
        Config::Show { who, common } => show(&who, &common),
        Config::Explain { key, who, common } => explain(key.as_deref(), &who, &common),
        Config::Schema => {
            let schema = serde_json::to_string_pretty(&schema());
            let schema = schema.map_err(|error| Failure::broken(&error))?;
            put(&format!("{schema}\n")).map(drop)
        }
        Config::Path { machine } => path(machine.format()),
        Config::Trust { yes, forget } => trust(yes, forget),
    }?;
    Ok(Exit::Ok)
}

fn show(who: &ModelArgs, common: &Common) -> Result<(), Failure> {
    let resolved = config::resolve(&config::sources(&common.places, who)?)?;
    let keys: Vec<Explained> = resolved.rows().collect();
    let found = config::read(&common.places, who, LocalData::UseOnly).ok();
    output::list(common.machine.format(), "key", &keys, |keys| {
        let row = |key: &Explained| {
            vec![
                key.key.clone(),
                value(key, found.as_ref()),
                key.origin.to_string(),
            ]
        };
        let keys = table(&keys.iter().map(row).collect::<Vec<_>>());
        keys + &found.as_ref().map(layers).unwrap_or_default()
    })
}

/// Which file each of the person's layers is, a line each.
fn layers(found: &Setup) -> String {
    let (sources, _) = layer_sources(&found.config);
    let rows = sources.iter().map(|source| {
        let file = source.file.as_ref().map(|file| file.display().to_string());
        let built_in = || match source.name {
            "USER.md" => text::config::layer_none().to_owned(),
            _ => text::config::layer_built_in().to_owned(),
        };
        vec![source.name.to_owned(), file.unwrap_or_else(built_in)]
    });
    format!("\n{}", table(&rows.collect::<Vec<_>>()))
}

fn explain(key: Option<&str>, who: &ModelArgs, common: &Common) -> Result<(), Failure> {
    let resolved = config::resolve(&config::sources(&common.places, who)?)?;
    let found = config::read(&common.places, who, LocalData::UseOnly).ok();
    let format = common.machine.format();
    let Some(key) = key else {
        let keys: Vec<Explained> = resolved.rows().collect();
        return output::list(format, "key", &keys, |keys| {
            let texts: Vec<_> = keys
                .iter()
                .map(|key| as_text(key, found.as_ref()))
                .collect();
            texts.join("\n")
        });
    };
    let explained = resolved.explain(key);
    let explained = explained.map_err(|error| Failure::new(Exit::Usage, error.code(), error))?;
    output::one(format, "key", &explained, |key| {
        as_text(key, found.as_ref())
    })
}

/// The value of a key for a person; of one that is not set, what holds in this folder.
fn value(key: &Explained, found: Option<&Setup>) -> String {
    let folder = |folder: &Path| Value::from(folder.to_string_lossy()).to_string();
    match (&key.value, key.key.as_str(), found) {
        (Some(value), _, _) => value.to_string(),
        (None, "language", _) => {
            Value::from(text::choose(text::Language::default()).tag()).to_string()
        }
        (None, "defaults.model", _) => text::config::model_unset().to_owned(),
        (None, "server.data_dir", Some(found)) => folder(&found.config.data_dir),
        (None, "server.workspace", Some(found)) => folder(&found.config.workspace),
        (None, _, _) => text::config::explain_unset().to_owned(),
    }
}

fn as_text(key: &Explained, found: Option<&Setup>) -> String {
    let unset = || text::config::explain_unset().to_owned();
    let value = value(key, found);
    let default = key.default.as_ref().map_or_else(unset, Value::to_string);
    let mut lines = vec![
        format!("{} = {value}", key.key),
        text::config::explain_from(&key.origin),
    ];
    lines.extend(
        key.overrides
            .iter()
            .map(|other| text::config::explain_overrides(&other.value, &other.origin)),
    );
    lines.extend([
        text::config::explain_default(default),
        text::config::explain_purpose(&key.purpose),
        text::config::explain_accepts(&key.accepts),
        text::config::explain_variables(key.variables.join(", ")),
    ]);
    if key.needs_trust {
        lines.push(text::config::explain_trust().to_owned());
    }
    lines.join("\n") + "\n"
}

/// A place that was looked at, for a program.
#[derive(Serialize)]
struct PathState {
    path: Option<String>,
    #[serde(flatten)]
    state: Value,
}

fn path(format: Format) -> Result<(), Failure> {
    let located = config::sources(&DirArgs::default(), &ModelArgs::default())?.located();
    let shown = |located: &Located| located.path.as_ref().map(|path| path.display().to_string());
    if format == Format::Text {
        let rows = located.iter().map(|located| {
            let unknown = || text::config::path_unknown().to_owned();
            vec![
                shown(located).unwrap_or_else(unknown),
                state(&located.state),
            ]
        });
        return put(&visible(&table(&rows.collect::<Vec<_>>()))).map(drop);
    }
    let looked = located.iter().map(|located| PathState {
        path: shown(located),
        state: match &located.state {
            State::Wrong(error) => serde_json::json!({
                "state": "wrong", "code": error.code(), "problem": error.to_string(),
            }),
            State::Absent => serde_json::json!({ "state": "absent" }),
            State::Used => serde_json::json!({ "state": "used" }),
            State::Untrusted => serde_json::json!({ "state": "untrusted" }),
        },
    });
    output::list(format, "config_file", &looked.collect::<Vec<_>>(), |_| {
        String::new()
    })
}

fn state(state: &State) -> String {
    match state {
        State::Absent => text::config::state_absent().to_owned(),
        State::Used => text::config::state_used().to_owned(),
        State::Untrusted => text::config::state_untrusted().to_owned(),
        State::Wrong(error) => text::config::state_wrong(error),
    }
}

/// Shows what trust would open, and asks; what was shown is what is trusted.
fn trust(is_sure: bool, forgets: bool) -> Result<(), Failure> {
    let sources = config::sources(&DirArgs::default(), &ModelArgs::default())?;
    let trust = FolderTrust::of(sources.folders().config.as_deref(), &sources.here);
    let folder = sources.here.display();
    if forgets {
        trust.decide(false, None)?;
        say(&text::config::trust_forgotten(folder));
        return Ok(());
    }
    let candidate = sources.candidate()?;
    let candidate = candidate.filter(|file| file.standing == TrustState::Untrusted);
    let told = told_instructions(&ServerConfig::new(PathBuf::new(), sources.here.clone()));
    let told = told.as_ref().map(|(name, text)| (*name, text.as_str()));
    let is_held = !trust.is_foreign() && !told.is_some_and(|file| is_foreign(&trust, file));
    if candidate.is_none() && is_held {
        say(&text::config::trust_held(folder));
        return Ok(());
    }
    if let Some(candidate) = &candidate {
        put(&visible(&opened(candidate)))?;
    }
    if !is_sure && !std::io::stdin().is_terminal() {
        return Err(Failure::usage(text::config::trust_needs_yes(folder)));
    }
    let sets = candidate.as_ref().map(|_| samovar_config::FILE_NAME);
    let named = sets.into_iter().chain(told.map(|(name, _)| name));
    let named: Vec<_> = named.collect();
    let question = match named.as_slice() {
        [] => text::config::trust_ask(&folder),
        named => text::config::trust_ask_with(&folder, named.join(", ")),
    };
    if is_sure || confirm(&question)? {
        candidate.map(|candidate| candidate.trust()).transpose()?;
        trust.decide(true, told)?;
        say(&text::config::trusted(folder));
    } else {
        say(&text::config::trust_kept(folder));
    }
    Ok(())
}

/// What the file sets and may not, a line each.
fn opened(candidate: &Candidate) -> String {
    let rows = candidate.widening.iter().map(|one| {
        vec![
            one.key.clone(),
            one.value.to_string(),
            one.origin.to_string(),
        ]
    });
    table(&rows.collect::<Vec<_>>())
}
