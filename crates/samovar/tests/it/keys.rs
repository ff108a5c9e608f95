//! A key in the environment is all that a model needs.

use samovar_model_server::{ModelServer, say};

use crate::setup::program;

// proves AS-16
#[tokio::test]
async fn with_a_key_in_the_environment_its_provider_answers() {
    for (variable, address, key_header, model) in [
        (
            "ANTHROPIC_API_KEY",
            "ANTHROPIC_BASE_URL",
            "x-api-key: KEY",
            "claude-sonnet-4-20250514",
        ),
        (
            "CLAUDE_API_KEY",
            "ANTHROPIC_BASE_URL",
            "x-api-key: KEY",
            "claude-sonnet-4-20250514",
        ),
        (
            "OPENAI_API_KEY",
            "OPENAI_BASE_URL",
            "authorization: Bearer KEY",
            "gpt-5-mini",
        ),
    ] {
        let key = "sk-of-the-environment";
        let server = ModelServer::builder().key(key);
        let server = server.start([say("From afar.")]).await.unwrap();
        let program = program()
            .set(variable, key)
            .set(address, &server.base_url());

        let said = program.run(["run", "hello"]).await.exits(0);
        assert!(said.stdout.contains("From afar."), "{said:?}");
        let prompts = server.prompts();
        assert_eq!(prompts.len(), 1, "{variable}");
        assert_eq!(prompts[0].body()["model"], model);
        let (name, value) = key_header.split_once(": ").unwrap();
        let sent = prompts[0].headers()[name].to_str().unwrap();
        assert_eq!(sent, value.replace("KEY", key));
        assert!(!said.stderr.contains(key), "{said:?}");
    }
}
