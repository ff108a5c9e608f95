use std::collections::HashSet;

use super::*;
#[test]
fn names_variables_and_keywords_belong_to_one_row_each() {
    let mut names = HashSet::new();
    let mut variables = HashSet::new();
    let mut keywords = HashSet::new();
    for spec in SPECS {
        assert!(names.insert(spec.name), "{}", spec.name);
        assert_eq!(spec.name, spec.name.to_lowercase());
        assert_eq!(super::spec(spec.name).unwrap().name, spec.name);
        let own = spec.env_vars.iter().chain(&spec.address_var);
        let base = spec.base_url_var();
        for variable in own.copied().chain([base.as_str()]) {
            assert!(variables.insert(variable.to_owned()), "{variable}");
        }
        for word in spec.keywords {
            assert!(keywords.insert(word), "{word}");
            assert_eq!(*word, word.to_lowercase());
        }
    }
}

// proves MD-2
#[test]
fn every_provider_of_the_first_day_has_its_row() {
    fn speaks(spec: &ProviderSpec, name: &str) -> bool {
        spec.dialect.is_some_and(|dialect| dialect.name == name)
    }
    let rows = |wanted: fn(&ProviderSpec) -> bool| {
        let rows = SPECS.iter().filter(|spec| wanted(spec));
        rows.map(|spec| spec.name).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(
        rows(|spec| speaks(spec, "chat_completions") && !spec.is_local),
        "openai openrouter deepseek groq mistral xai together fireworks cerebras gemini moonshot \
         dashscope zhipu minimax azure-openai custom"
    );
    assert_eq!(rows(|spec| speaks(spec, "anthropic")), "anthropic");
    assert_eq!(
        rows(|spec| spec.is_local),
        "ollama lm-studio jan llama-cpp vllm",
        "in the order in which equals are chosen"
    );
    assert_eq!(rows(|spec| spec.is_gateway), "openrouter");
    assert_eq!(
        rows(|spec| spec.default_api_base.is_none()),
        "azure-openai custom demo",
        "where they are has to be said"
    );
    for (row, port) in [
        ("ollama", 11434),
        ("lm-studio", 1234),
        ("jan", 1337),
        ("llama-cpp", 8080),
        ("vllm", 8000),
    ] {
        let url = spec(row).unwrap().base_url(None).unwrap();
        assert_eq!(url.as_str(), format!("http://127.0.0.1:{port}/v1"));
    }
}

#[test]
fn a_variable_of_a_provider_without_a_row_belongs_to_no_row() {
    for unbuilt in crate::UNBUILT {
        let mut variables = SPECS.iter().flat_map(|spec| spec.env_vars);
        assert!(!variables.any(|name| *name == unbuilt.variable));
        if let crate::Alternative::Custom(base) = unbuilt.way {
            let url = spec("custom").unwrap().base_url(Some(base)).unwrap();
            assert_eq!(url.scheme(), "https");
        }
    }
}

#[test]
fn the_prices_of_a_row_are_plausible_and_each_model_has_one() {
    for spec in SPECS {
        for (at, listed) in spec.prices.iter().enumerate() {
            let price = spec.list_price(listed.model).unwrap();
            let same = spec.prices[..at]
                .iter()
                .find(|other| other.is_of(listed.model));
            assert!(same.is_none(), "{} has two prices", listed.model);
            let is_plausible = 0.0 < price.cache_read
                && price.cache_read <= price.input
                && price.input <= price.output
                && price.cache_write >= price.input
                && price.output < 100.0;
            assert!(is_plausible, "{listed:?}");
        }
        let default = spec.default_model.unwrap_or_default();
        let is_known = spec.list_price(default).is_some();
        let has_none = [
            "openrouter",
            "cerebras",
            "gemini",
            "moonshot",
            "dashscope",
            "zhipu",
            "minimax",
            "demo",
        ];
        let is_none = default.is_empty() || has_none.contains(&spec.name);
        assert_eq!(is_known, !is_none, "{}", spec.name);
    }
}

#[test]
fn every_address_in_the_table_can_be_asked() {
    for spec in SPECS.iter().filter(|spec| spec.default_api_base.is_some()) {
        let url = spec.base_url(None).unwrap();
        let url_text = url.as_str().trim_end_matches('/');
        assert_eq!(Some(url_text), spec.default_api_base, "{}", spec.name);
        let is_encrypted = url.scheme() == "https";
        assert_eq!(is_encrypted, !spec.is_local, "{}", spec.name);
    }
}

// proves MD-21
#[test]
fn a_canonical_name_has_the_prefix_once() {
    for (row, model, wanted) in [
        ("openai", "gpt-4o", "gpt-4o"),
        ("openai", "o1", "o1"),
        ("openai", "llama3", "openai/llama3"),
        ("openai", "acme/gpt-4o", "openai/acme/gpt-4o"),
        ("dashscope", "qwen-max", "dashscope/qwen-max"),
        ("groq", "llama3", "groq/llama3"),
        ("groq", "openai/gpt-oss-120b", "groq/openai/gpt-oss-120b"),
        ("groq", "groq/compound-mini", "groq/compound-mini"),
        (
            "openrouter",
            "anthropic/claude-sonnet-4",
            "openrouter/anthropic/claude-sonnet-4",
        ),
        ("openrouter", "openrouter/auto", "openrouter/auto"),
        (
            "fireworks",
            "accounts/fireworks/models/m",
            "accounts/fireworks/models/m",
        ),
        (
            "fireworks",
            "accounts/acme/models/m",
            "fireworks/accounts/acme/models/m",
        ),
        ("ollama", "llama3.2:3b", "ollama/llama3.2:3b"),
    ] {
        assert_eq!(spec(row).unwrap().canonical(model), wanted);
    }
}

#[test]
fn an_address_may_leave_out_what_a_local_servers_own_programs_leave_out() {
    for (row, raw, wanted) in [
        ("ollama", "127.0.0.1:4000", "http://127.0.0.1:4000/v1"),
        ("ollama", "0.0.0.0", "http://0.0.0.0:11434/v1"),
        ("ollama", "box", "http://box:11434/v1"),
        ("ollama", "localhost:4000", "http://localhost:4000/v1"),
        ("ollama", "http://box:4000", "http://box:4000/v1"),
        ("ollama", "http://box:4000/", "http://box:4000/v1"),
        ("ollama", "https://box/own/path", "https://box/own/path"),
        ("jan", "box", "http://box:1337/v1"),
        (
            "azure-openai",
            "https://acme.openai.azure.com/",
            "https://acme.openai.azure.com/openai/v1",
        ),
        (
            "azure-openai",
            "https://acme.openai.azure.com/openai/deployments/d?api-version=2024-10-21",
            "https://acme.openai.azure.com/openai/deployments/d?api-version=2024-10-21",
        ),
        (
            "openai",
            "http://127.0.0.1:4000/v1",
            "http://127.0.0.1:4000/v1",
        ),
        (
            "openai",
            " http://127.0.0.1:4000 ",
            "http://127.0.0.1:4000/",
        ),
        (
            "custom",
            "https://me@box/v1?version=2",
            "https://me@box/v1?version=2",
        ),
    ] {
        let url = spec(row).unwrap().base_url(Some(raw)).unwrap();
        assert_eq!(url.as_str(), wanted);
    }
    for (row, raw) in [
        ("openai", "127.0.0.1:4000"),
        ("openai", "localhost:4000"),
        ("openai", ""),
        ("openai", "ftp://box/v1"),
        ("openai", "/v1"),
        ("ollama", "unix:///tmp/s"),
        ("ollama", "a b"),
        ("azure-openai", "acme.openai.azure.com"),
    ] {
        let refused = spec(row).unwrap().base_url(Some(raw)).unwrap_err();
        assert_eq!(refused.code, Code::UnusableModel, "{raw}");
        let variable = spec(row).unwrap().base_url_var();
        assert!(refused.message.contains(&variable), "{}", refused.message);
    }
    assert!(spec("custom").unwrap().base_url(None).is_err());
}

#[test]
fn what_is_no_address_is_refused_without_the_keys_in_it() {
    for raw in [
        "user:sk-SECRET@host/v1",
        "ftp://user:sk-SECRET@host/v1",
        "http://user:sk-SECRET@ho st/v1",
        "host/v1?key=sk-SECRET",
        "ftp://host/v1?key=sk-SECRET#sk-SECRET",
    ] {
        let refused = spec("openai").unwrap().base_url(Some(raw)).unwrap_err();
        assert!(!refused.message.contains("SECRET"), "{}", refused.message);
    }
}

#[test]
fn the_first_override_whose_word_is_in_the_models_name_counts() {
    let wanted = |row: &str, model: &str| {
        let wants = spec(row).unwrap().overrides(model);
        (
            wants.temperature(0.7),
            wants.drops.contains(&Param::MaxTokens),
        )
    };
    assert_eq!(wanted("openai", "gpt-4o"), (Some(0.7), false));
    assert_eq!(wanted("openai", "o3-mini"), (None, true));
    assert_eq!(wanted("openai", "gpt-5-mini"), (None, true));
    assert_eq!(wanted("openai", "gpt-50"), (Some(0.7), false));
    assert_eq!(wanted("moonshot", "kimi-k2.5"), (Some(1.0), false));
    assert_eq!(wanted("moonshot", "kimi-k2"), (Some(0.7), false));
    let warm = |row: &str, model: &str| spec(row).unwrap().overrides(model).temperature(1.8);
    assert_eq!(warm("moonshot", "kimi-k2.5"), Some(1.8));
    assert_eq!(warm("moonshot", "kimi-k2"), Some(1.0));
    assert_eq!(warm("mistral", "mistral-large-latest"), Some(1.5));
    for (model, temperature) in [
        ("claude-sonnet-4-20250514", Some(1.0)),
        ("claude-3-5-haiku-20241022", Some(1.0)),
        ("claude-opus-4-6", Some(1.0)),
        ("claude-opus-4-7", None),
        ("claude-opus-4-8", None),
        ("claude-sonnet-5", None),
        ("claude-fable-5-1", None),
        ("some-model", None),
    ] {
        assert_eq!(warm("anthropic", model), temperature, "{model}");
    }
    assert_eq!(NO_OVERRIDE.limit(4096), 4096);
    let short = ModelOverride {
        max_tokens: Some(100),
        ..NO_OVERRIDE
    };
    assert_eq!((short.limit(4096), short.limit(10)), (100, 10));
}
