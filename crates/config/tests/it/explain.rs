//! What is told of one key.

use samovar_config::Origin;
use serde_json::{Value, json};

use crate::desk::Desk;

// proves FC-3
#[test]
fn a_key_is_explained_with_all_that_was_said_of_it() {
    let desk = Desk::new()
        .user_says("[defaults]\nmax_iterations = 1\n")
        .here_says("defaults.max_iterations = 2\n")
        .set("SAMOVAR__DEFAULTS__MAX_ITERATIONS", "3")
        .typed("--max-iterations", "defaults.max_iterations", "4");
    let explained = desk.resolve().explain("defaults.max_iterations").unwrap();

    assert_eq!(
        serde_json::to_value(&explained).unwrap(),
        json!({
            "key": "defaults.max_iterations",
            "value": 4,
            "origin": {"from": "flag", "name": "--max-iterations"},
            "overrides": [
                {
                    "value": 3,
                    "origin": {"from": "variable", "name": "SAMOVAR__DEFAULTS__MAX_ITERATIONS"},
                },
                {
                    "value": 2,
                    "origin": {
                        "from": "here", "file": desk.here("samovar.toml"), "line": 1, "column": 10,
                    },
                },
                {
                    "value": 1,
                    "origin": {
                        "from": "user", "file": desk.user("samovar.toml"), "line": 2, "column": 1,
                    },
                },
            ],
            "default": 20,
            "purpose": "The most iterations of the agent loop in a turn.",
            "accepts": "a whole number from 1 to 1000",
            "variables": ["SAMOVAR__DEFAULTS__MAX_ITERATIONS"],
            "needs_trust": false,
        })
    );
}

// proves AS-21, FC-3
#[test]
fn a_key_is_found_by_the_seeds_spelling_and_by_its_variables() {
    let resolved = Desk::new().resolve();
    for (asked, key) in [
        ("defaults.max_tokens", "defaults.max_tokens"),
        ("defaults.maxTokens", "defaults.max_tokens"),
        ("defaults.maxIterations", "defaults.max_iterations"),
        ("session.maxHistoryMessages", "session.max_history_messages"),
        ("tools.restrictToWorkspace", "tools.restrict_to_workspace"),
        ("tools.web.searchApiKey", "tools.web.search_api_key"),
        ("tools.web.search_api_key", "tools.web.search_api_key"),
        ("TAVILY_API_KEY", "tools.web.search_api_key"),
        ("providers.anthropic.apiKey", "providers.anthropic.api_key"),
        (
            "providers.lm_studio.apiBase",
            "providers.lm-studio.api_base",
        ),
        ("AGENT_MODEL", "defaults.model"),
        ("CLAUDE_API_KEY", "providers.anthropic.api_key"),
        ("SAMOVAR__SERVER__PORT", "server.port"),
    ] {
        assert_eq!(resolved.explain(asked).unwrap().key, key, "{asked}");
    }
    let refusal = resolved.explain("defaults.modle").unwrap_err();
    assert_eq!(refusal.code(), "config_unknown_key");
    assert_eq!(
        refusal.to_string(),
        "there is no key \"defaults.modle\"; did you mean defaults.model?"
    );
}

// proves AS-21, MD-27
#[test]
fn every_key_of_the_seeds_is_found_in_both_spellings_and_has_its_default() {
    let resolved = Desk::new().resolve();
    let none = Value::Null;
    for (seeds, ours, default) in [
        ("defaults.model", "defaults.model", none.clone()),
        ("defaults.maxTokens", "defaults.max_tokens", json!(4096)),
        ("defaults.temperature", "defaults.temperature", json!(0.7)),
        (
            "defaults.maxIterations",
            "defaults.max_iterations",
            json!(20),
        ),
        (
            "providers.openai.apiKey",
            "providers.openai.api_key",
            none.clone(),
        ),
        (
            "providers.openai.apiBase",
            "providers.openai.api_base",
            none.clone(),
        ),
        ("tools.exec.timeout", "tools.exec.timeout", json!(60)),
        (
            "tools.web.searchApiKey",
            "tools.web.search_api_key",
            none.clone(),
        ),
        (
            "tools.restrictToWorkspace",
            "tools.restrict_to_workspace",
            json!(true),
        ),
        ("skills.dir", "skills.dir", none.clone()),
        ("skills.alwaysLoad", "skills.always_load", json!([])),
        ("memory.longTermPath", "memory.long_term_path", none.clone()),
        ("memory.dailyDir", "memory.daily_dir", none.clone()),
        (
            "memory.dailyWindowDays",
            "memory.daily_window_days",
            json!(3),
        ),
        ("memory.vecStorePath", "memory.vec_store_path", none.clone()),
        ("bootstrap.dir", "bootstrap.dir", none.clone()),
        (
            "session.maxHistoryMessages",
            "session.max_history_messages",
            json!(50),
        ),
    ] {
        for asked in [seeds, ours] {
            let found = serde_json::to_value(resolved.explain(asked).unwrap()).unwrap();
            assert_eq!(found["key"], ours, "{asked}");
            assert_eq!(found["default"], default, "{asked}");
        }
    }
}

#[test]
fn no_secret_is_shown_anywhere() {
    let desk = Desk::new()
        .user_says("[providers.openai]\napi_key = \"sk-secret-of-user\"\n")
        .set("OPENAI_API_KEY", "sk-secret-of-variable")
        .set(
            "OPENAI_BASE_URL",
            "https://me:sk-secret@box/v1?api-key=sk-secret",
        )
        .set("SAMOVAR_TOKEN", "sk-secret-of-the-server");
    let resolved = desk.resolve();
    let shown = serde_json::to_string(&resolved.rows().collect::<Vec<_>>()).unwrap();

    assert!(!shown.contains("sk-secret"), "{shown}");
    assert!(shown.contains("https://***@box/v1?***"), "{shown}");
    let settings = &resolved.settings;
    let printed = format!("{settings:?} {settings:#?}");
    assert!(!printed.contains("sk-secret"), "{printed}");
    assert_eq!(
        settings.server.token.as_ref().unwrap().expose(),
        "sk-secret-of-the-server"
    );
}

#[test]
fn what_is_shown_is_every_key_and_of_providers_those_that_are_set_up() {
    let resolved = Desk::new().set("OLLAMA_HOST", "127.0.0.1:1").resolve();
    let rows: Vec<_> = resolved.rows().collect();
    let of_providers: Vec<_> = rows
        .iter()
        .filter(|row| row.key.starts_with("providers"))
        .collect();
    assert_eq!(of_providers.len(), 1);
    assert_eq!(of_providers[0].key, "providers.ollama.api_base");
    let others = resolved
        .keys()
        .iter()
        .filter(|key| !key.is_of_any && !key.name.starts_with("providers"));
    assert_eq!(rows.len(), 1 + others.count());
    let model = rows.iter().find(|row| row.key == "defaults.model").unwrap();
    assert_eq!(
        (&model.value, &model.origin),
        (&None::<Value>, &Origin::Default)
    );
}
