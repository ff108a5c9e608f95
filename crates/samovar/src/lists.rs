//! The commands that show what a server has: its models, tokens and figures.

use samovar_core::Code;
use samovar_locale as text;
use samovar_server::{Address, Home};
use samovar_wire::agent::Stats;
use samovar_wire::api::{
    CreatedToken, ModelsAnswer, ProviderAccess, ProviderInfo, TokenInfo, TokenScope, WindowFrom,
};
use serde_json::json;

use crate::args::{self, DirArgs, ModelArgs, Models, Token};
use crate::client::{Client, segment};
use crate::config::{self, LocalData, Setup};
use crate::difference;
use crate::exit::{Exit, Failure};
use crate::model;
use crate::model_test;
use crate::output::{self, Format, table};
use crate::reconnecting::Repeat;
use crate::screen::{put, say, visible};
use crate::sessions::{ask, change, look, look_at};
use crate::timestamps::moment;

/// `samovar models`.
pub(crate) async fn models(command: Models) -> Result<Exit, Failure> {
    let (all, who, common) = match command {
        Models::List { all, who, common } => (all, who, common),
        Models::Test(args) => return model_test::test(args).await,
    };
    let rows = if all { Rows::All } else { Rows::Usable };
    let found = config::read(&common.places, &who, LocalData::UseOnly)?;
    let asked = async |client: &Client| {
        let answer: ModelsAnswer = client.get("/api/models?probe=true").await?;
        Ok((answer, client.holder()))
    };
    let (answer, holder) = look_at(&found, asked).await?;
    if let Some(holder) = holder
        && let Some(difference) = difference::of(holder, &answer, &found, false).await
    {
        say(&difference);
    }
    found.warn();
    match common.machine.format() {
        Format::Text => show_models(&answer, &found, rows)?,
        Format::Json => put(&output::line("models", &answer)?).map(drop)?,
        Format::Jsonl => {
            output::list(Format::Jsonl, "provider", &answer.providers, |_| {
                String::new()
            })?;
        }
    }
    Ok(Exit::Ok)
}

/// Which providers are shown.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rows {
    Usable,
    All,
}

/// The table of models, and in a line below which one answers.
pub(crate) fn show_models(answer: &ModelsAnswer, found: &Setup, rows: Rows) -> Result<(), Failure> {
    let providers = answer.providers.iter();
    let shown: Vec<_> = providers
        .filter(|provider| rows == Rows::All || is_usable(provider, found))
        .map(|provider| row(provider, rows))
        .collect();
    put(&visible(&table(&shown)))?;
    let rest = answer.providers.len() - shown.len();
    if rest > 0 {
        say(&text::models::rest(rest as u64));
    }
    for key in &answer.idle_keys {
        say(key);
    }
    match (&answer.chosen, &answer.refusal) {
        (Some(chosen), _) => say(&model::line(chosen, found)),
        (None, refusal) => {
            let why = refusal.as_deref().unwrap_or_default();
            say(&text::serve::model_none(why));
        }
    }
    Ok(())
}

/// Whether a provider can be used, or is to be by its address.
fn is_usable(provider: &ProviderInfo, found: &Setup) -> bool {
    let has_model = match provider.access {
        ProviderAccess::Key => true,
        ProviderAccess::Open => provider.default_model.is_some() || !provider.models.is_empty(),
        ProviderAccess::Missing => false,
    };
    has_model || provider.is_chosen || found.base_origins.contains_key(&provider.name)
}

fn row(provider: &ProviderInfo, rows: Rows) -> Vec<String> {
    let mark = if provider.is_chosen { "*" } else { "" };
    let state = match (provider.access, provider.set.first()) {
        (ProviderAccess::Key, _) => text::models::has_key().to_owned(),
        (ProviderAccess::Open, _) => text::models::open().to_owned(),
        (ProviderAccess::Missing, Some(variable)) => text::models::missing(variable),
        (ProviderAccess::Missing, None) => text::models::forbidden().to_owned(),
    };
    let found = provider.models.iter().map(|model| match model.tools {
        Some(true) => text::models::with_tools(&model.name),
        Some(false) => text::models::without_tools(&model.name),
        None => model.name.clone(),
    });
    let found: Vec<_> = found.collect();
    let models = match (found.as_slice(), &provider.default_model) {
        ([], Some(default)) => default.clone(),
        ([], None) => provider.seen.clone().unwrap_or_default(),
        (some, _) => some.join(", "),
    };
    let window = provider.window.map(|window| match window.from {
        WindowFrom::List => text::models::window_listed(window.tokens),
        WindowFrom::Setting => text::models::window_set(window.tokens),
    });
    let all = [provider.dialect.clone(), window.unwrap_or_default()];
    let all = all.into_iter().filter(|_| rows == Rows::All);
    let first = [mark.to_owned(), provider.name.clone()].into_iter();
    first.chain(all).chain([state, models]).collect()
}

/// `samovar token`.
pub(crate) async fn token(command: Token) -> Result<Exit, Failure> {
    match command {
        Token::Show { common } => {
            let token = owners_token(&common.places)?;
            let answer = json!({ "token": token.expose() });
            output::one(common.machine.format(), "owner_token", &answer, |_| {
                token.expose().to_owned() + "\n"
            })?;
        }
        Token::List { common } => {
            let asked = async |client: &Client| client.get::<Vec<TokenInfo>>("/api/tokens").await;
            let tokens = look(&common, asked).await?;
            if tokens.is_empty() && common.machine.format() == Format::Text {
                say(text::token::none());
            }
            output::list(common.machine.format(), "token", &tokens, |tokens| {
                let rows = tokens.iter().map(|token| {
                    let (name, scope) = (token.name.as_str(), token.scope.to_string());
                    let end = token.expires_at.map(|end| text::token::until(moment(end)));
                    let row = vec![name.to_owned(), scope, moment(token.created_at)];
                    row.into_iter().chain(end).collect()
                });
                table(&rows.collect::<Vec<_>>())
            })?;
        }
        Token::Create {
            name,
            scope,
            common,
        } => {
            let params = json!({ "name": name, "scope": scope });
            let asked = async |client: &Client| client.post("/api/tokens", &params).await;
            let made: CreatedToken = change(&common, Repeat::Untaken, asked).await?;
            if common.machine.format() == Format::Text {
                say(&match &scope {
                    TokenScope::Relay { room, role } => {
                        text::token::created_for_room(&name, room, role.as_str())
                    }
                    TokenScope::Read
                    | TokenScope::Approve
                    | TokenScope::Use
                    | TokenScope::Admin => text::token::created(&name, &scope),
                });
            }
            output::one(common.machine.format(), "token", &made, |made| {
                made.token.clone() + "\n"
            })?;
        }
        Token::Revoke { name, common } => {
            let path = format!("/api/tokens/{}", segment(&name));
            let asked = async |client: &Client| client.delete::<()>(&path).await;
            change(&common, Repeat::Untaken, asked).await?;
            let answer = json!({ "name": name, "revoked": true });
            output::one(common.machine.format(), "revoked", &answer, |_| {
                text::token::revoked(&name) + "\n"
            })?;
        }
    }
    Ok(Exit::Ok)
}

/// The token of the owner. A server that runs may have been started with another one.
fn owners_token(places: &DirArgs) -> Result<samovar_server::Token, Failure> {
    let config = config::read(places, &ModelArgs::default(), LocalData::UseOnly)?.config;
    let dir = config.data_dir.display();
    let token = Home::owners_token(&config)?.ok_or_else(|| {
        let why = text::token::not_made(&dir);
        Failure::new(Exit::Usage, Code::UnknownToken.as_str(), why)
    })?;
    match Address::read(&config.data_dir) {
        Some(server) if !server.takes(&token) => {
            let why = text::token::not_of_server(&dir);
            Err(Failure::new(Exit::Usage, Code::Unauthorized.as_str(), why))
        }
        Some(_) | None => Ok(token),
    }
}

/// `samovar stats`.
pub(crate) async fn stats(args: args::Stats) -> Result<Exit, Failure> {
    let common = args.common;
    let stats: Stats = ask(&common, "getStats", json!({})).await?;
    output::one(common.machine.format(), "stats", &stats, |stats| {
        let tokens = stats.tokens;
        text::stats::lines(
            stats.sessions,
            stats.messages,
            tokens.total,
            tokens.input,
            tokens.output,
        ) + "\n"
    })?;
    Ok(Exit::Ok)
}
