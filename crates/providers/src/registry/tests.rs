use samovar_core::Code;

use super::*;

mod choosing;
mod money;

const HAND: &str = "http://127.0.0.1:9/v1";

/// A registry with a key for some rows and an address by hand for others.
fn registry(keys: &[&str], by_hand: &[&str]) -> Registry {
    registry_of(config(keys, by_hand))
}

/// `demo` is played by a provider of this crate.
fn registry_of(config: ProviderConfig) -> Registry {
    Registry::new(config, Arc::new(External))
}

fn config(keys: &[&str], by_hand: &[&str]) -> ProviderConfig {
    let key = |name: &&str| ((*name).to_owned(), Secret::new("sk-test").unwrap());
    let base = |name: &&str| ((*name).to_owned(), HAND.to_owned());
    ProviderConfig {
        keys: keys.iter().map(key).collect(),
        base_urls: by_hand.iter().map(base).collect(),
        ..ProviderConfig::default()
    }
}

// proves MD-5
#[test]
fn calls_in_text_are_read_from_local_servers_and_addresses_set_by_hand_alone() {
    let registry = registry(&["openai", "anthropic", "vllm"], &["openai", "custom"]);
    let forms = SPECS
        .iter()
        .filter(|spec| registry.call_form(spec) == CallForm::OrText);
    let names: Vec<_> = forms.map(|spec| spec.name).collect();
    let wanted = [
        "openai",
        "ollama",
        "lm-studio",
        "jan",
        "llama-cpp",
        "vllm",
        "custom",
    ];
    assert_eq!(names, wanted);
}

const CLOUD: &[&str] = &[
    "anthropic",
    "openai",
    "deepseek",
    "groq",
    "mistral",
    "xai",
    "together",
    "fireworks",
    "cerebras",
    "gemini",
    "moonshot",
    "dashscope",
    "zhipu",
    "minimax",
];

/// Every key but the gateway's, no address by hand: name, canonical name, endpoint's name.
const KEYED: &[&str] = &[
    "claude-sonnet-4-20250514 | claude-sonnet-4-20250514 | claude-sonnet-4-20250514",
    "anthropic/claude-opus-4-1 | claude-opus-4-1 | claude-opus-4-1",
    "gpt-4o | gpt-4o | gpt-4o",
    " gpt-4o  | gpt-4o | gpt-4o",
    "GPT-4o | GPT-4o | GPT-4o",
    "chatgpt-4o-latest | chatgpt-4o-latest | chatgpt-4o-latest",
    "o1 | o1 | o1",
    "o3-mini | o3-mini | o3-mini",
    "o4-mini-high | o4-mini-high | o4-mini-high",
    "openai/gpt-4o | gpt-4o | gpt-4o",
    "OpenAI/gpt-4o | gpt-4o | gpt-4o",
    "openai/foo1bar | openai/foo1bar | foo1bar",
    "openai/ft:gpt-4o:acme::x | ft:gpt-4o:acme::x | ft:gpt-4o:acme::x",
    "deepseek-chat | deepseek/deepseek-chat | deepseek-chat",
    "deepseek/deepseek-reasoner | deepseek/deepseek-reasoner | deepseek-reasoner",
    "groq/llama-3.3-70b-versatile | groq/llama-3.3-70b-versatile | llama-3.3-70b-versatile",
    "groq/openai/gpt-oss-120b | groq/openai/gpt-oss-120b | openai/gpt-oss-120b",
    "groq/compound | groq/compound | groq/compound",
    "cerebras/gpt-oss-120b | cerebras/gpt-oss-120b | gpt-oss-120b",
    "mistral-large-latest | mistral/mistral-large-latest | mistral-large-latest",
    "codestral-latest | mistral/codestral-latest | codestral-latest",
    "grok-4 | xai/grok-4 | grok-4",
    "together/meta-llama/Llama-3.3-70B-Instruct-Turbo | together/meta-llama/Llama-3.3-70B-Instruct-Turbo | meta-llama/Llama-3.3-70B-Instruct-Turbo",
    "accounts/fireworks/models/glm | accounts/fireworks/models/glm | accounts/fireworks/models/glm",
    "fireworks/accounts/acme/models/m | fireworks/accounts/acme/models/m | accounts/acme/models/m",
    "gemini-2.5-pro | gemini/gemini-2.5-pro | gemini-2.5-pro",
    "gemini/gemini-flash-latest | gemini/gemini-flash-latest | gemini-flash-latest",
    "kimi-k2.5 | moonshot/kimi-k2.5 | kimi-k2.5",
    "moonshot-v1-8k | moonshot/moonshot-v1-8k | moonshot-v1-8k",
    "qwen-max | dashscope/qwen-max | qwen-max",
    "dashscope/qwen-max | dashscope/qwen-max | qwen-max",
    "qwen3-coder-plus | dashscope/qwen3-coder-plus | qwen3-coder-plus",
    "qwen2.5-72b-instruct | dashscope/qwen2.5-72b-instruct | qwen2.5-72b-instruct",
    "glm-4.6 | zhipu/glm-4.6 | glm-4.6",
    "MiniMax-M2 | minimax/MiniMax-M2 | MiniMax-M2",
    "ollama/llama3.2:3b | ollama/llama3.2:3b | llama3.2:3b",
    "ollama/gpt-oss:20b | ollama/gpt-oss:20b | gpt-oss:20b",
    "ollama/hf.co/acme/model | ollama/hf.co/acme/model | hf.co/acme/model",
    "vllm/Qwen/Qwen3-32B | vllm/Qwen/Qwen3-32B | Qwen/Qwen3-32B",
    "lm-studio/local | lm-studio/local | local",
    "llama-cpp/local | llama-cpp/local | local",
    "demo | demo | demo",
    "demo/demo | demo | demo",
];

fn cells(row: &'static str) -> [&'static str; 3] {
    let cells: Vec<_> = row.split(" | ").collect();
    cells.try_into().unwrap()
}

// proves MD-20, MD-21
#[test]
fn a_name_finds_its_row_and_its_canonical_name_finds_it_again() {
    let registry = registry(CLOUD, &[]);
    for row in KEYED {
        let [name, canonical, endpoint] = cells(row);
        let model = registry.resolve(name).unwrap();
        let found = (model.name.as_str(), model.endpoint_name.as_str());
        assert_eq!(found, (canonical, endpoint), "{name}");
        assert!(has_provider(&model.route), "{name}: {}", model.route);
        assert_eq!(registry.resolve(&model.route).unwrap().name, canonical);
        let again = registry.resolve(canonical).unwrap();
        assert_eq!(
            (again.name, again.endpoint_name),
            (model.name, model.endpoint_name)
        );
        assert!(
            Arc::ptr_eq(&again.provider, &model.provider),
            "{name} is asked at one place"
        );
    }
}

// proves MD-20
#[test]
fn a_name_without_a_provider_goes_to_the_only_base_url_set_by_hand() {
    let registry = registry(&["openai", "openrouter"], &["vllm"]);
    for (name, canonical) in [
        ("foo1bar", "vllm/foo1bar"),
        ("command-r", "vllm/command-r"),
        ("meta-llama/Llama-3.3-70B", "vllm/meta-llama/Llama-3.3-70B"),
        ("gpt-4o", "vllm/gpt-4o"),
        ("openai/gpt-4o", "gpt-4o"),
        ("openrouter/acme/m", "openrouter/acme/m"),
        ("openrouter/auto", "openrouter/auto"),
    ] {
        assert_eq!(registry.resolve(name).unwrap().name, canonical);
    }
}

#[test]
fn a_name_that_several_rows_claim_goes_to_the_first_that_can_be_used() {
    let name = "deepseek-r1-distill-qwen-32b";
    for (keys, wanted) in [
        (&["deepseek", "dashscope"][..], Some("deepseek/")),
        (&["dashscope"], Some("dashscope/")),
        (&["openai"], None),
    ] {
        let found = registry(keys, &[]).resolve(name).ok();
        let wanted = wanted.map(|prefix| format!("{prefix}{name}"));
        assert_eq!(found.map(|model| model.name), wanted);
    }
}

#[test]
fn a_gateway_with_a_key_takes_the_models_of_vendors_without_a_row() {
    let registry = registry(&["openrouter", "deepseek"], &[]);
    for (name, canonical, endpoint) in [
        (
            "cohere/command-r",
            "openrouter/cohere/command-r",
            "cohere/command-r",
        ),
        (
            "qwen/qwen3-32b",
            "openrouter/qwen/qwen3-32b",
            "qwen/qwen3-32b",
        ),
        (
            "openrouter/openai/gpt-4o",
            "openrouter/openai/gpt-4o",
            "openai/gpt-4o",
        ),
        (
            "openrouter/anthropic/claude-sonnet-4",
            "openrouter/anthropic/claude-sonnet-4",
            "anthropic/claude-sonnet-4",
        ),
        ("openrouter/auto", "openrouter/auto", "openrouter/auto"),
        (
            "deepseek/deepseek-chat",
            "deepseek/deepseek-chat",
            "deepseek-chat",
        ),
    ] {
        let model = registry.resolve(name).unwrap();
        assert_eq!(
            (model.name.as_str(), model.endpoint_name.as_str()),
            (canonical, endpoint)
        );
        assert_eq!(registry.resolve(canonical).unwrap().name, canonical);
    }
}

// proves MD-20
#[test]
fn a_name_that_cannot_be_used_is_refused_with_what_it_would_need() {
    let two = registry(&[], &["vllm", "custom"]);
    let one = registry(&[], &["vllm"]);
    let bare = registry(&[], &[]);
    for (registry, name, needs) in [
        (&bare, "gpt-4o", "OPENAI_API_KEY"),
        (&bare, "openai/gpt-4o", "OPENAI_API_KEY"),
        (&bare, "gpt-4o", "OPENAI_BASE_URL"),
        (&bare, "gemini-2.5-pro", "GEMINI_API_KEY"),
        (&bare, "openrouter/auto", "OPENROUTER_API_KEY"),
        (&bare, "custom/m", "CUSTOM_BASE_URL"),
        (&bare, "claude-sonnet-4", "ANTHROPIC_API_KEY"),
        (&bare, "anthropic/claude-sonnet-4", "ANTHROPIC_BASE_URL"),
        (&bare, "command-r", "PROVIDER/MODEL"),
        (&bare, "cohere/command-r", "openrouter/"),
        (&bare, "foo1bar", "CUSTOM_BASE_URL"),
        (&bare, "gtp-5-mini", "gpt-5-mini"),
        (&bare, "grock-4", "xai/grok-4"),
        (&bare, "qwem-max", "dashscope/qwen-max"),
        (&bare, "demp", " demo"),
        (&bare, "", "is not a model name"),
        (&bare, "openai/", "is not a model name"),
        (&bare, "openrouter/acme/", "is not a model name"),
        (&bare, "demo/gpt", "\"demo\""),
        (
            &one,
            "dashscope/qwen-max",
            "use \"vllm/dashscope/qwen-max\"",
        ),
        (&two, "foo1bar", "one of vllm, custom"),
    ] {
        let refused = registry.resolve(name).map(|model| model.name).unwrap_err();
        assert_eq!(refused.code, Code::UnusableModel, "{name}");
        assert!(
            refused.message.contains(needs),
            "{name}: {}",
            refused.message
        );
        assert_eq!(refused.details.unwrap()["model"], name);
    }
}

// proves AS-18
#[test]
fn a_name_that_a_row_claims_may_be_written_down_before_it_can_be_used() {
    let registry = registry_of(ProviderConfig {
        demo: DemoUse::Forbidden,
        ..config(&[], &["vllm", "custom"])
    });
    for name in ["gpt-4o", " groq/m ", "custom/m", "openrouter/a/b", "demo"] {
        assert_eq!(registry.claim(name).map_err(|error| error.message), Ok(()));
    }
    for name in ["foo1bar", "gtp-5-mini", "acme/m", "", "openai/", "demo/m"] {
        let refused = registry.claim(name).unwrap_err();
        let asked = registry.resolve(name).map(|model| model.name);
        assert_eq!(asked.unwrap_err(), refused, "{name}");
    }
}

#[test]
fn a_refusal_does_not_repeat_an_endless_name() {
    let name = "я".repeat(100_000);
    let refused = registry(&[], &[])
        .resolve(&name)
        .map(|model| model.name)
        .unwrap_err();
    assert!(refused.message.len() < 1000, "{}", refused.message);
}

#[test]
fn an_address_by_hand_needs_no_key_and_tells_how_near_it_is() {
    let registry = registry(&["groq"], &["openai", "custom"]);
    for (name, kind) in [
        ("gpt-4o", ModelKind::Local),
        ("custom/m", ModelKind::Local),
        ("ollama/m", ModelKind::Local),
        ("groq/m", ModelKind::Remote),
        ("demo", ModelKind::Demo),
    ] {
        assert_eq!(registry.resolve(name).unwrap().kind, kind, "{name}");
    }
    let access: BTreeMap<_, _> = registry
        .providers()
        .map(|(spec, access)| (spec.name, access))
        .collect();
    assert_eq!(access["openai"], Access::Open);
    assert_eq!(access["groq"], Access::Key);
    assert_eq!(access["ollama"], Access::Open);
    assert_eq!(access["mistral"], Access::Missing);
    assert_eq!(access["demo"], Access::Open);
}

#[test]
fn a_key_or_an_address_that_cannot_be_used_is_refused_without_showing_the_key() {
    let mut config = config(&["groq"], &["openai"]);
    let key = Secret::new("sk-a\u{7f}b").unwrap();
    config.keys.insert("groq".to_owned(), key);
    config
        .base_urls
        .insert("openai".to_owned(), "localhost:8080".to_owned());
    let registry = registry_of(config);
    for (name, needs) in [("groq/m", "GROQ_API_KEY"), ("gpt-4o", "OPENAI_BASE_URL")] {
        let refused = registry.resolve(name).map(|model| model.name).unwrap_err();
        assert_eq!(refused.code, Code::UnusableModel);
        assert!(refused.message.contains(needs), "{}", refused.message);
        assert!(!refused.message.contains("sk-a"), "{}", refused.message);
    }
}

#[test]
fn the_debug_print_of_a_configuration_shows_no_key() {
    let print = format!("{:?}", config(&["openai"], &[]));
    assert!(
        print.contains("openai") && !print.contains("sk-test"),
        "{print}"
    );
}
