//! Who answers where no name is given, and what is listed.

use super::*;

// proves FC-4
#[tokio::test]
async fn the_default_is_the_configured_model_else_the_first_key_else_demo() {
    for (keys, by_hand, default, wanted) in [
        (&["groq", "openai"][..], &[][..], None, Ok("gpt-5-mini")),
        (
            &["openai", "anthropic"],
            &[],
            None,
            Ok("claude-sonnet-4-20250514"),
        ),
        (&["groq"], &[], None, Ok("groq/llama-3.3-70b-versatile")),
        (&["openrouter"], &[], None, Ok("openrouter/auto")),
        (&["groq"], &[], Some(" ollama/llama3 "), Ok("ollama/llama3")),
        (&["groq"], &[], Some("qwen-max"), Err("DASHSCOPE_API_KEY")),
        (
            &["groq"],
            &["vllm"],
            None,
            Ok("groq/llama-3.3-70b-versatile"),
        ),
        (&["vllm"], &["vllm"], None, Err("AGENT_MODEL=vllm/MODEL")),
        (&[], &["openai"], None, Err("AGENT_MODEL=openai/MODEL")),
        (&[], &["openai"], Some("m"), Ok("m")),
        (&[], &[], None, Ok("demo")),
    ] {
        let mut config = config(keys, by_hand);
        config.default_model = default.map(str::to_owned);
        let found = registry_of(config).default_name().await;
        match (found, wanted) {
            (Ok(name), Ok(wanted)) => assert_eq!(name, wanted),
            (Err(refused), Err(needs)) => {
                assert!(refused.message.contains(needs), "{}", refused.message);
            }
            (found, wanted) => panic!("{found:?}, not {wanted:?}"),
        }
    }
}

// proves MD-1
#[tokio::test]
async fn every_row_of_the_table_is_listed_with_what_it_would_need() {
    let registry = registry(&["groq", "custom"], &["vllm"]);
    let rows = registry.overview().await;
    let names: Vec<_> = rows.iter().map(|row| row.name).collect();
    let table: Vec<_> = SPECS.iter().map(|spec| spec.name).collect();
    assert_eq!(names, table);
    let row = |name: &str| {
        let row = rows.iter().find(|row| row.name == name).unwrap();
        let base = row.base_url.as_deref().unwrap_or_default();
        (row.access, row.set.join(" "), base, row.is_chosen)
    };
    let needs = |names: &str| names.to_owned();
    for (name, wanted) in [
        (
            "openai",
            (
                Access::Missing,
                needs("OPENAI_API_KEY OPENAI_BASE_URL"),
                "https://api.openai.com/v1",
                false,
            ),
        ),
        (
            "groq",
            (
                Access::Key,
                needs(""),
                "https://api.groq.com/openai/v1",
                true,
            ),
        ),
        (
            "custom",
            (Access::Missing, needs("CUSTOM_BASE_URL"), "", false),
        ),
        ("vllm", (Access::Open, needs(""), HAND, false)),
        (
            "ollama",
            (Access::Open, needs(""), "http://127.0.0.1:11434/v1", false),
        ),
        ("demo", (Access::Open, needs(""), "", false)),
    ] {
        assert_eq!(row(name), wanted, "{name}");
    }
    let groq = rows.iter().find(|row| row.name == "groq").unwrap();
    let spelled = serde_json::to_value(groq).unwrap();
    assert_eq!(spelled["access"], "key");
    assert_eq!(spelled["dialect"], "chat_completions");
    assert_eq!(spelled["default_model"], "groq/llama-3.3-70b-versatile");
}

// proves MD-1
#[test]
fn a_row_of_the_table_is_all_that_detection_prefix_and_refusal_need() {
    let bare = registry(&[], &[]);
    for spec in SPECS.iter().filter(|spec| spec.name != "demo") {
        let usable = registry(&[spec.name], &[spec.name]);
        let explicit = format!("{}/acme-7b", spec.name);
        let model = usable.resolve(&explicit).unwrap();
        assert_eq!(usable.resolve(&model.name).unwrap().name, model.name);
        for word in spec.keywords {
            let name = format!("{word}-9");
            assert_eq!(bare.row_of(&name).unwrap().0.name, spec.name, "{name}");
        }
        if let (false, Err(refused)) = (spec.is_local, bare.resolve(&explicit)) {
            let variable = spec.env_vars[0];
            let is_told = [variable, &spec.base_url_var()]
                .iter()
                .any(|name| refused.message.contains(name));
            assert!(is_told, "{}", refused.message);
        } else {
            assert!(spec.is_local, "{} was usable without anything", spec.name);
        }
    }
}

// proves RL-24
#[tokio::test]
async fn what_an_external_agent_drives_is_resolved_and_never_listed_or_chosen() {
    let registry = registry_of(ProviderConfig {
        demo: DemoUse::Forbidden,
        ..config(&[], &["custom"])
    });
    assert_eq!(registry.resolve(EXTERNAL).unwrap().name, EXTERNAL);
    registry.claim(EXTERNAL).unwrap();
    assert_eq!(
        registry.resolve("custom/external").unwrap().endpoint_name,
        EXTERNAL
    );
    assert!(registry.default_name().await.is_err());
    let listed = registry.overview().await;
    assert!(listed.iter().all(|row| row.name != EXTERNAL));
}

#[tokio::test]
async fn demo_is_never_used_where_it_is_forbidden() {
    let registry = registry_of(ProviderConfig {
        demo: DemoUse::Forbidden,
        ..ProviderConfig::default()
    });
    let refused = registry.default_name().await.unwrap_err();
    for needs in ["OPENAI_API_KEY", "ZHIPU_API_KEY", "AGENT_MODEL"] {
        assert!(refused.message.contains(needs), "{}", refused.message);
    }
    assert!(registry.resolve("demo").is_err());
}

// proves FC-4
#[tokio::test]
async fn a_key_that_nothing_uses_is_named_with_what_to_do() {
    let mut config = config(&["azure-openai"], &[]);
    config
        .key_origins
        .insert("azure-openai".to_owned(), "MY_KEY".to_owned());
    config.unbuilt = crate::UNBUILT.iter().collect();
    let registry = registry_of(config.clone());
    let idle = registry.idle_keys();
    let sentences: Vec<_> = idle.iter().map(ToString::to_string).collect();
    assert_eq!(sentences.len(), 1 + crate::UNBUILT.len());
    assert!(
        sentences[0].contains("MY_KEY") && sentences[0].contains("AZURE_OPENAI_BASE_URL"),
        "{}",
        sentences[0]
    );
    for (sentence, unbuilt) in sentences[1..].iter().zip(crate::UNBUILT) {
        assert!(sentence.starts_with(unbuilt.variable), "{sentence}");
    }
    let choice = registry.choice().await.unwrap();
    assert_eq!(choice.name, "demo");
    assert!(matches!(choice.reason, Reason::Nothing { idle: told, .. } if told == idle));

    config.demo = DemoUse::Forbidden;
    let refused = registry_of(config.clone()).choice().await.unwrap_err();
    for sentence in &sentences {
        assert!(refused.message.contains(sentence), "{}", refused.message);
    }

    config
        .base_urls
        .insert("azure-openai".to_owned(), HAND.to_owned());
    config.unbuilt.clear();
    assert_eq!(registry_of(config).idle_keys(), []);
    assert_eq!(self::registry(&["openai", "vllm"], &[]).idle_keys(), []);
}
