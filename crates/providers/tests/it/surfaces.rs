//! Each local server as it really lists its models, found and then talked to without any setting.

use std::time::Duration;

use futures_util::StreamExt as _;
use samovar_core::{Models as _, ProviderEvent};
use samovar_model_server::{Model, ModelServer, Surface, say};
use samovar_providers::{Probing, ProviderConfig, Registry};

use crate::asking::{install_tls, prompt, registry_of};
use samovar_doubles::talk::user;

/// Three models, of which one can call tools and one makes vectors.
async fn server(surface: Surface) -> ModelServer {
    let builder = ModelServer::builder()
        .surface(surface)
        .model(Model::new("nomic-embed-text").for_embeddings())
        .model(Model::new("gemma3:4b"))
        .model(Model::new("qwen3:8b").with_tools());
    builder.start([say("hello")]).await.unwrap()
}

fn registry(row: &str, server: &ModelServer) -> Registry {
    install_tls();
    let mut config = ProviderConfig {
        probing: Probing::At([(row.to_owned(), server.base_url())].into()),
        ..ProviderConfig::default()
    };
    config.timeouts.probe = Duration::from_hours(1);
    registry_of(config)
}

// proves FC-4
#[tokio::test]
async fn every_local_server_is_found_and_its_best_model_answers() {
    for (row, surface, wanted) in [
        (
            "ollama",
            Surface::Ollama,
            "ollama/qwen3:8b+ ollama/gemma3:4b-",
        ),
        (
            "lm-studio",
            Surface::LmStudio,
            "lm-studio/qwen3:8b+ lm-studio/gemma3:4b-",
        ),
        ("jan", Surface::Jan, "jan/gemma3:4b jan/qwen3:8b"),
        (
            "llama-cpp",
            Surface::LlamaCpp,
            "llama-cpp/gemma3:4b llama-cpp/qwen3:8b",
        ),
        ("vllm", Surface::Vllm, "vllm/gemma3:4b vllm/qwen3:8b"),
    ] {
        let server = server(surface).await;
        let registry = registry(row, &server);

        let name = registry.default_name().await.unwrap();

        let probed = registry.probe().await;
        let tools = |tools| match tools {
            Some(true) => "+",
            Some(false) => "-",
            None => "",
        };
        let models = probed.models.iter();
        let models: Vec<_> = models
            .map(|model| format!("{}{}", model.name, tools(model.tools)))
            .collect();
        assert_eq!(models.join(" "), wanted);
        assert_eq!(name, probed.models[0].name);
        let model = registry.resolve(&name).unwrap();
        let prompt = prompt(&model.endpoint_name, vec![user("hi")]);
        let answer: Vec<_> = model.provider.stream(prompt).collect().await;
        let text = |event| match event {
            ProviderEvent::TextDelta(text) => text,
            _ => String::new(),
        };
        let answer: String = answer.concat().into_iter().map(text).collect();
        assert_eq!(answer, "hello", "{row}");
    }
}

// proves FC-4
#[tokio::test]
async fn a_llama_cpp_with_one_model_tells_whether_it_can_call_tools() {
    for (model, tools) in [
        (Model::new("m").with_tools(), true),
        (Model::new("m"), false),
    ] {
        let builder = ModelServer::builder().surface(Surface::LlamaCpp);
        let server = builder.model(model).start([say("unasked")]).await.unwrap();
        let probed = registry("llama-cpp", &server).probe().await;
        assert_eq!(probed.models[0].tools, Some(tools));
    }
}

#[tokio::test]
async fn a_server_without_a_model_leaves_demo_to_answer() {
    for (row, surface) in [
        ("ollama", Surface::Ollama),
        ("lm-studio", Surface::LmStudio),
        ("jan", Surface::Jan),
        ("llama-cpp", Surface::LlamaCpp),
        ("vllm", Surface::Vllm),
    ] {
        let server = ModelServer::builder()
            .surface(surface)
            .start([say("unasked")]);
        let server = server.await.unwrap();
        let registry = registry(row, &server);
        assert_eq!(registry.default_name().await.unwrap(), "demo");
        assert!(server.prompts().is_empty());
        assert!(!server.requests().is_empty(), "{row} was not asked");
    }
}
