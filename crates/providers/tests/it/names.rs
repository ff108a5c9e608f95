//! Who answers under a name, as a table.

use samovar_core::{Code, Models as _};
use samovar_providers::{Probing, ProviderConfig};
use serde_json::json;

use crate::asking::{config, install_tls, registry_of};
use crate::local::{Local, ok, response};

/// Name, and who answers: with nothing set, with one base URL, with a local server that lists it.
const TABLE: &str = include_str!("names.tsv");

fn rows() -> impl Iterator<Item = [&'static str; 4]> {
    let lines = TABLE.lines().filter(|line| !line.starts_with('#'));
    let cells = |line: &'static str| line.split('\t').collect::<Vec<_>>().try_into().unwrap();
    lines.skip(1).map(cells)
}

/// An LM Studio that lists every name of the table.
fn lists_all() -> Local {
    Local::answering(|request| {
        if !request.starts_with("GET /v1/models ") {
            return response("404 Not Found", "text/plain", "404 page not found");
        }
        let models: Vec<_> = rows().map(|[name, ..]| json!({ "id": name })).collect();
        ok(&json!({ "object": "list", "data": models }).to_string())
    })
}

async fn check(config: ProviderConfig, column: usize) {
    install_tls();
    // Where no server lists models, a name may belong to another provider.
    let later = registry_of(ProviderConfig {
        probing: Probing::Off,
        ..config.clone()
    });
    let registry = registry_of(config);
    let mut wrong = Vec::new();
    for row in rows() {
        registry.look_for(row[0]).await;
        let found = match registry.resolve(row[0]) {
            // The canonical name begins with the provider's; OpenAI's has no prefix.
            Ok(model) => {
                let again = later.resolve(&model.route).unwrap();
                assert_eq!((&again.name, &again.route), (&model.name, &model.route));
                match model.name.strip_suffix(&model.endpoint_name) {
                    Some("") if model.name != "demo" => "openai".to_owned(),
                    Some("") => model.name,
                    prefix => prefix.unwrap_or("?").trim_end_matches('/').to_owned(),
                }
            }
            Err(refused) => {
                assert_eq!(refused.code, Code::UnusableModel);
                let details = refused.details.unwrap();
                match details["provider"].as_str() {
                    Some(provider) => format!("needs {provider}"),
                    None => "unknown".to_owned(),
                }
            }
        };
        if found != row[column] {
            wrong.push(format!("{}: {found}, not {}", row[0], row[column]));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

// proves MD-2
#[tokio::test]
async fn a_name_with_nothing_set_belongs_to_the_provider_of_its_keyword() {
    check(ProviderConfig::default(), 1).await;
}

// proves MD-2
#[tokio::test]
async fn the_only_base_url_set_by_hand_gets_every_name_without_a_provider() {
    let mut config = ProviderConfig::default();
    let base = "http://127.0.0.1:9/v1".to_owned();
    config.base_urls.insert("openai".to_owned(), base);
    check(config, 2).await;
}

// proves MD-2
#[tokio::test]
async fn a_local_server_that_lists_a_name_beats_the_keyword() {
    let server = lists_all();
    let at = [("lm-studio".to_owned(), server.base.clone())];
    let config = ProviderConfig {
        probing: Probing::At(at.into()),
        ..ProviderConfig::default()
    };
    check(config, 3).await;
}

// proves MD-2
#[tokio::test]
async fn a_base_url_whose_server_lists_other_models_leaves_a_name_to_a_provider_with_a_key() {
    install_tls();
    let server = Local::json(r#"{"object": "list", "data": [{"id": "llama3.2"}]}"#);
    let mut config = config(&server.base);
    config.probing = Probing::On;
    config.base_urls = [("vllm".to_owned(), server.base.clone())].into();
    let registry = registry_of(config);
    for (name, canonical) in [
        ("gpt-4o", "gpt-4o"),
        ("llama3.2", "vllm/llama3.2"),
        ("qwen-max", "vllm/qwen-max"),
    ] {
        assert_eq!(registry.find(name).await.unwrap().name, canonical);
    }
}
