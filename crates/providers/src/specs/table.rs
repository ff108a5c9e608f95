//! The rows, in the order in which a key in the environment is looked for, and then a server on this
//! machine.

use super::prices;
use super::{Listing, ModelOverride, NO_OVERRIDE, Param, ProviderSpec, Quirk};
use crate::{anthropic, chat_completions};

/// What most services are; a row says only what is its own.
const SERVICE: ProviderSpec = ProviderSpec {
    name: "",
    display_name: "",
    dialect: Some(&chat_completions::DIALECT),
    keywords: &[],
    env_vars: &[],
    default_api_base: None,
    address_var: None,
    usual_path: None,
    default_model: None,
    prefix: None,
    skip_prefix: &[],
    model_overrides: &[],
    images: &[],
    quirks: &[],
    listing: Listing::Names,
    prices: &[],
    is_gateway: false,
    is_local: false,
};

const LOCAL: ProviderSpec = ProviderSpec {
    usual_path: Some("/v1"),
    is_local: true,
    ..SERVICE
};

/// What a reasoning model of `openai` wants.
const fn reasoner(pattern: &'static str) -> ModelOverride {
    ModelOverride {
        pattern,
        drops: &[Param::Temperature, Param::MaxTokens],
        ..NO_OVERRIDE
    }
}

/// The reasoning models of `openai`, whoever serves them.
const REASONERS: &[ModelOverride] = &[
    ModelOverride {
        drops: &[Param::Temperature, Param::MaxTokens, Param::Tools],
        ..reasoner("o1-mini")
    },
    ModelOverride {
        drops: &[Param::Temperature, Param::MaxTokens, Param::Tools],
        ..reasoner("o1-preview")
    },
    reasoner("o1"),
    reasoner("o3"),
    reasoner("o4"),
    reasoner("gpt-5"),
];

/// Which models of `openai` take images, on any server.
const GPTS: &[(&str, bool)] = &[
    ("gpt-3.5", false),
    ("o1-mini", false),
    ("o1-preview", false),
    ("o3-mini", false),
    ("gpt-4o", true),
    ("gpt-4.1", true),
    ("gpt-5", true),
    ("o1", true),
    ("o3", true),
    ("o4", true),
];

/// What every model of a provider wants whose scale of temperatures ends early.
const fn up_to(max_temperature: f32) -> ModelOverride {
    ModelOverride {
        max_temperature: Some(max_temperature),
        ..NO_OVERRIDE
    }
}

/// What a model of `anthropic` takes that has a temperature. Those from 4.7 on have none, and the
/// next ones will not either: only these are sent one.
const fn tempered(pattern: &'static str) -> ModelOverride {
    ModelOverride {
        pattern,
        ..up_to(1.0)
    }
}

/// What a model wants that has no temperature.
const fn untempered(pattern: &'static str) -> ModelOverride {
    ModelOverride {
        pattern,
        drops: &[Param::Temperature],
        ..NO_OVERRIDE
    }
}

/// Every provider.
pub const SPECS: &[ProviderSpec] = &[
    ProviderSpec {
        name: "anthropic",
        display_name: "Anthropic",
        dialect: Some(&anthropic::DIALECT),
        keywords: &["claude", "anthropic"],
        env_vars: &["ANTHROPIC_API_KEY", "CLAUDE_API_KEY"],
        default_api_base: Some("https://api.anthropic.com"),
        default_model: Some("claude-sonnet-4-20250514"),
        model_overrides: &[
            untempered("claude-opus-4-7"),
            untempered("claude-opus-4-8"),
            tempered("claude-2"),
            tempered("claude-3"),
            tempered("claude-opus-4"),
            tempered("claude-sonnet-4"),
            tempered("claude-haiku-4"),
            untempered("*"),
        ],
        images: &[("claude-2", false), ("claude-instant", false), ("*", true)],
        prices: prices::ANTHROPIC,
        ..SERVICE
    },
    ProviderSpec {
        name: "openai",
        display_name: "OpenAI",
        keywords: &["gpt", "chatgpt", "openai", "o1", "o3", "o4"],
        env_vars: &["OPENAI_API_KEY"],
        default_api_base: Some("https://api.openai.com/v1"),
        default_model: Some("gpt-5-mini"),
        model_overrides: REASONERS,
        images: GPTS,
        quirks: &[Quirk::AnyArguments],
        prices: prices::OPENAI,
        ..SERVICE
    },
    ProviderSpec {
        name: "openrouter",
        display_name: "OpenRouter",
        keywords: &["openrouter"],
        env_vars: &["OPENROUTER_API_KEY"],
        default_api_base: Some("https://openrouter.ai/api/v1"),
        default_model: Some("openrouter/auto"),
        prefix: Some("openrouter/"),
        is_gateway: true,
        ..SERVICE
    },
    ProviderSpec {
        name: "deepseek",
        display_name: "DeepSeek",
        keywords: &["deepseek"],
        env_vars: &["DEEPSEEK_API_KEY"],
        default_api_base: Some("https://api.deepseek.com/v1"),
        default_model: Some("deepseek-chat"),
        prefix: Some("deepseek/"),
        images: &[("*", false)],
        quirks: &[Quirk::ReasoningBack],
        prices: prices::DEEPSEEK,
        ..SERVICE
    },
    ProviderSpec {
        name: "groq",
        display_name: "Groq",
        keywords: &["groq"],
        env_vars: &["GROQ_API_KEY"],
        default_api_base: Some("https://api.groq.com/openai/v1"),
        default_model: Some("llama-3.3-70b-versatile"),
        prefix: Some("groq/"),
        skip_prefix: &["groq/compound"],
        images: &[("llama-3.3", false), ("llama-4", true)],
        prices: prices::GROQ,
        ..SERVICE
    },
    ProviderSpec {
        name: "mistral",
        display_name: "Mistral",
        keywords: &[
            "mistral",
            "mixtral",
            "ministral",
            "magistral",
            "codestral",
            "devstral",
            "pixtral",
        ],
        env_vars: &["MISTRAL_API_KEY"],
        default_api_base: Some("https://api.mistral.ai/v1"),
        default_model: Some("mistral-large-latest"),
        prefix: Some("mistral/"),
        model_overrides: &[up_to(1.5)],
        quirks: &[
            Quirk::NoStreamOptions,
            Quirk::NineLetterIds,
            Quirk::AnswerAfterResult,
        ],
        prices: prices::MISTRAL,
        ..SERVICE
    },
    ProviderSpec {
        name: "xai",
        display_name: "xAI",
        keywords: &["grok", "xai"],
        env_vars: &["XAI_API_KEY"],
        default_api_base: Some("https://api.x.ai/v1"),
        default_model: Some("grok-4"),
        prefix: Some("xai/"),
        images: &[("grok-4", true)],
        prices: prices::XAI,
        ..SERVICE
    },
    ProviderSpec {
        name: "together",
        display_name: "Together AI",
        keywords: &["together"],
        env_vars: &["TOGETHER_API_KEY"],
        default_api_base: Some("https://api.together.xyz/v1"),
        default_model: Some("meta-llama/Llama-3.3-70B-Instruct-Turbo"),
        prefix: Some("together/"),
        prices: prices::TOGETHER,
        ..SERVICE
    },
    ProviderSpec {
        name: "fireworks",
        display_name: "Fireworks AI",
        keywords: &["fireworks"],
        env_vars: &["FIREWORKS_API_KEY"],
        default_api_base: Some("https://api.fireworks.ai/inference/v1"),
        default_model: Some("accounts/fireworks/models/llama-v3p3-70b-instruct"),
        prefix: Some("fireworks/"),
        skip_prefix: &["accounts/fireworks/"],
        prices: prices::FIREWORKS,
        ..SERVICE
    },
    ProviderSpec {
        name: "cerebras",
        display_name: "Cerebras",
        keywords: &["cerebras"],
        env_vars: &["CEREBRAS_API_KEY"],
        default_api_base: Some("https://api.cerebras.ai/v1"),
        default_model: Some("gpt-oss-120b"),
        prefix: Some("cerebras/"),
        images: &[("gpt-oss", false)],
        ..SERVICE
    },
    ProviderSpec {
        name: "gemini",
        display_name: "Google Gemini",
        keywords: &["gemini"],
        env_vars: &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
        default_api_base: Some("https://generativelanguage.googleapis.com/v1beta/openai"),
        default_model: Some("gemini-flash-latest"),
        prefix: Some("gemini/"),
        images: &[("*", true)],
        prices: prices::GEMINI,
        ..SERVICE
    },
    ProviderSpec {
        name: "moonshot",
        display_name: "Moonshot AI",
        keywords: &["kimi", "moonshot"],
        env_vars: &["MOONSHOT_API_KEY"],
        default_api_base: Some("https://api.moonshot.ai/v1"),
        default_model: Some("kimi-k2.5"),
        prefix: Some("moonshot/"),
        model_overrides: &[
            ModelOverride {
                pattern: "kimi-k2.5",
                min_temperature: Some(1.0),
                ..NO_OVERRIDE
            },
            up_to(1.0),
        ],
        quirks: &[Quirk::ReasoningBack],
        prices: prices::MOONSHOT,
        ..SERVICE
    },
    ProviderSpec {
        name: "dashscope",
        display_name: "Alibaba DashScope",
        keywords: &["qwen", "qwen2", "qwen3", "qwq", "qvq", "dashscope"],
        env_vars: &["DASHSCOPE_API_KEY"],
        default_api_base: Some("https://dashscope.aliyuncs.com/compatible-mode/v1"),
        default_model: Some("qwen-max"),
        prefix: Some("dashscope/"),
        ..SERVICE
    },
    ProviderSpec {
        name: "zhipu",
        display_name: "Zhipu AI",
        keywords: &["glm", "chatglm", "zhipu"],
        env_vars: &["ZHIPU_API_KEY", "ZHIPUAI_API_KEY"],
        default_api_base: Some("https://open.bigmodel.cn/api/paas/v4"),
        default_model: Some("glm-4.6"),
        prefix: Some("zhipu/"),
        model_overrides: &[up_to(1.0)],
        ..SERVICE
    },
    ProviderSpec {
        name: "minimax",
        display_name: "MiniMax",
        keywords: &["minimax", "abab"],
        env_vars: &["MINIMAX_API_KEY"],
        default_api_base: Some("https://api.minimax.io/v1"),
        default_model: Some("MiniMax-M2"),
        prefix: Some("minimax/"),
        model_overrides: &[up_to(1.0)],
        ..SERVICE
    },
    ProviderSpec {
        name: "azure-openai",
        display_name: "Azure OpenAI",
        env_vars: &["AZURE_OPENAI_API_KEY"],
        address_var: Some("AZURE_OPENAI_ENDPOINT"),
        usual_path: Some("/openai/v1"),
        prefix: Some("azure-openai/"),
        model_overrides: REASONERS,
        images: GPTS,
        quirks: &[Quirk::AnyArguments, Quirk::ApiKeyHeader],
        ..SERVICE
    },
    ProviderSpec {
        name: "ollama",
        display_name: "Ollama",
        env_vars: &["OLLAMA_API_KEY"],
        default_api_base: Some("http://127.0.0.1:11434/v1"),
        address_var: Some("OLLAMA_HOST"),
        prefix: Some("ollama/"),
        listing: Listing::Ollama,
        ..LOCAL
    },
    ProviderSpec {
        name: "lm-studio",
        display_name: "LM Studio",
        env_vars: &["LM_STUDIO_API_KEY"],
        default_api_base: Some("http://127.0.0.1:1234/v1"),
        prefix: Some("lm-studio/"),
        listing: Listing::LmStudio,
        ..LOCAL
    },
    ProviderSpec {
        name: "jan",
        display_name: "Jan",
        env_vars: &["JAN_API_KEY"],
        default_api_base: Some("http://127.0.0.1:1337/v1"),
        prefix: Some("jan/"),
        ..LOCAL
    },
    ProviderSpec {
        name: "llama-cpp",
        display_name: "llama.cpp",
        env_vars: &["LLAMA_API_KEY"],
        default_api_base: Some("http://127.0.0.1:8080/v1"),
        prefix: Some("llama-cpp/"),
        listing: Listing::LlamaCpp,
        ..LOCAL
    },
    ProviderSpec {
        name: "vllm",
        display_name: "vLLM",
        env_vars: &["VLLM_API_KEY"],
        default_api_base: Some("http://127.0.0.1:8000/v1"),
        prefix: Some("vllm/"),
        ..LOCAL
    },
    ProviderSpec {
        name: "custom",
        display_name: "custom",
        env_vars: &["CUSTOM_API_KEY"],
        prefix: Some("custom/"),
        ..SERVICE
    },
    ProviderSpec {
        name: "demo",
        display_name: "demo rules",
        dialect: None,
        default_model: Some("demo"),
        ..SERVICE
    },
];
