//! What models cost.

use super::*;

const OWN: Price = Price {
    input: 1.0,
    output: 2.0,
    cache_read: 0.5,
    cache_write: 1.0,
};

// proves MD-5
#[test]
fn a_price_is_the_configured_one_else_that_of_the_providers_list() {
    let mut config = config(&["deepseek"], &["mistral", "custom"]);
    for name in ["deepseek/deepseek-chat", "groq", "vllm"] {
        config.prices.insert(name.to_owned(), OWN);
    }
    // One of them is elsewhere, the other on this machine.
    let elsewhere = "http://models.example/v1".to_owned();
    config.base_urls.insert("mistral".to_owned(), elsewhere);
    let registry = registry_of(config);
    for (model, wanted) in [
        ("gpt-4o", Some(2.5)),
        (" gpt-4o-mini-2024-07-18 ", Some(0.15)),
        ("openai/gpt-4o", Some(2.5)),
        ("claude-sonnet-4-20250514", Some(3.0)),
        ("claude-sonnet-4-5-20250929", None),
        ("deepseek-chat", Some(1.0)),
        ("deepseek-reasoner", Some(0.55)),
        ("groq/whatever", Some(1.0)),
        ("ollama/llama3", Some(0.0)),
        ("vllm/m", Some(1.0)),
        ("demo", Some(0.0)),
        // At an address by hand, a list of somebody else's prices says nothing.
        ("mistral-large-latest", None),
        ("custom/whatever", Some(0.0)),
        ("openrouter/openai/gpt-4o", None),
        ("", None),
    ] {
        let price = registry.price(model).map(|price| price.input);
        assert_eq!(price, wanted, "{model}");
    }
}

// proves MD-5, SA-12
#[test]
fn a_price_is_found_by_every_name_of_its_model_and_one_of_no_provider_is_told() {
    for (written, model) in [
        ("openai/gpt-5-mini", "gpt-5-mini"),
        ("gpt-5-mini", "openai/gpt-5-mini"),
        ("openai/my-own", "openai/my-own"),
        ("OpenAI", "gpt-5-mini"),
        ("anthropic/claude-sonnet-4-5", "claude-sonnet-4-5"),
        ("openrouter/openai/gpt-4o", "openrouter/openai/gpt-4o"),
        ("custom/whatever", "custom/whatever"),
    ] {
        let mut config = config(&["openrouter", "anthropic"], &["openai", "custom"]);
        let elsewhere = "http://models.example/v1".to_owned();
        config.base_urls.insert("openai".to_owned(), elsewhere);
        config.prices.insert(price_key(written).unwrap(), OWN);
        let price = registry_of(config).price(model);
        assert_eq!(price, Some(OWN), "{written}");
    }
    for nobodys in [
        "",
        "opanai/gpt-5-mini",
        "openai/",
        "what-is-this",
        "mistralai/x",
    ] {
        assert_eq!(price_key(nobodys), None, "{nobodys}");
    }
}
