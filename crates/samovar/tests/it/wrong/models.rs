//! Models, and the providers behind them.

use super::{check, line, wrong};

const CODE: &str = "unusable_model";

// proves FC-2, FC-4, FC-6
#[tokio::test]
async fn a_model_that_cannot_be_used_is_not_replaced_and_says_what_it_needs() {
    const UNCLAIMED: &str = "no provider has the model \"nope\"; use PROVIDER/MODEL, such as \"openrouter/vendor/model\" or \"ollama/model\", or set one base URL, such as CUSTOM_BASE_URL, and the request goes there; the closest known names are gpt-5-mini, groq/llama-3.3-70b-versatile, xai/grok-4";
    check([
        line("run hi --model nope").is(4, CODE, UNCLAIMED),
        line("serve --port 0 --model nope").is(4, CODE, UNCLAIMED),
        line("run hi").with("AGENT_MODEL", "nope").is(4, CODE, UNCLAIMED),
        wrong(["run", "hi", "--model", ""]).is(2, "config_wrong_value", "--model: defaults.model is \"\"; give a line of 1 to 256 characters"),
        line("run hi --model openai/").is(4, CODE, "\"openai/\" is not a model name; a name has 1 to 256 bytes and does not end in /"),
        line("run hi --model gpt-5-mini").is(4, CODE, "the model \"gpt-5-mini\" belongs to OpenAI, which has no key; set OPENAI_API_KEY, or OPENAI_BASE_URL for a server that needs none"),
        line("chat --model anthropic/claude-sonnet-4-20250514").is(4, CODE, "the model \"anthropic/claude-sonnet-4-20250514\" belongs to Anthropic, which has no key; set ANTHROPIC_API_KEY, or ANTHROPIC_BASE_URL for a server that needs none"),
        line("run hi --model custom/any").is(4, CODE, "the model \"custom/any\" has no server; set CUSTOM_BASE_URL to its address"),
        line("run hi --model demo").with("SAMOVAR_REQUIRE_MODEL", "1").is(4, CODE, "demo is forbidden by SAMOVAR_REQUIRE_MODEL; choose a language model"),
        line("models test").is(4, CODE, "demo is not a language model; name the one to test, such as: samovar models test openai/gpt-5-mini"),
        line("models test nope").is(4, CODE, UNCLAIMED),
        line("chat").reading("/model nope").is(4, CODE, UNCLAIMED),
    ])
    .await;
}

// proves FC-2, FC-4, FC-6
#[tokio::test]
async fn an_address_or_a_key_that_cannot_be_used_names_its_variable() {
    check([
        line("run hi").with("OPENAI_BASE_URL", "http://127.0.0.1:1/v1").is(4, CODE, "the base URL of OpenAI was set by hand, but not the model that it serves; set AGENT_MODEL, such as AGENT_MODEL=openai/MODEL"),
        line("run hi --model custom/x").with("CUSTOM_BASE_URL", "ftp://127.0.0.1/").is(4, CODE, "the base URL of custom is not a URL: \"ftp://127.0.0.1/\"; set CUSTOM_BASE_URL to something like http://127.0.0.1:8000/v1"),
        line("run hi --model openai/x").with("OPENAI_BASE_URL", "here").is(4, CODE, "the base URL of openai is not a URL: \"here\"; set OPENAI_BASE_URL to something like https://api.openai.com/v1"),
        line("run hi").with("OPENAI_API_KEY", "sk-the-secret\nof-two-lines").is(3, "config_wrong_value", "OPENAI_API_KEY: providers.openai.api_key is ***; give a line of 1 to 4096 characters"),
        line("run hi --model custom/x").with("CUSTOM_BASE_URL", "http://127.0.0.1:1/v1").with("SAMOVAR__MODELS__RETRIES", "0").is(5, "provider_unreachable", "custom (127.0.0.1:1): cannot be reached: Connection refused (os error 111); check the network and CUSTOM_BASE_URL; earlier messages are kept, send the message again"),
        line("run hi --model custom/x").with("CUSTOM_BASE_URL", "http://name:secret@127.0.0.1:1/v1").with("SAMOVAR__MODELS__RETRIES", "0").is(5, "provider_unreachable", "custom (127.0.0.1:1): cannot be reached: Connection refused (os error 111); check the network and CUSTOM_BASE_URL; earlier messages are kept, send the message again"),
    ])
    .await;
}
