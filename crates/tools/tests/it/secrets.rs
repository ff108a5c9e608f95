//! Files with keys: of others, which tools pass on as they are, and our own, which a model never sees.

use samovar_core::redact::{self, Secret};
use serde_json::json;

use crate::yard::Yard;

const KEY: &str = "sk-Zq7-our-own-key-00";

// proves TL-14
#[tokio::test]
async fn a_file_is_not_given_a_mark_in_the_place_of_our_key() {
    redact::protect("OPENAI_API_KEY", &Secret::new(KEY).unwrap());
    let before = format!("A=1\nOPENAI_API_KEY={KEY}\nB=2\n");
    let yard = Yard::with(&[(".env", &before)]);
    let marked = "A=1\nOPENAI_API_KEY=[redacted: OPENAI_API_KEY]\nB=3\n";
    let write = json!({"path": ".env", "content": marked});
    let edit = json!({"path": ".env", "old": "B=2", "new": "C=[redacted: OPENAI_API_KEY]"});
    let find =
        json!({"path": ".env", "old": "OPENAI_API_KEY=[redacted: OPENAI_API_KEY]", "new": ""});

    for (tool, args) in [
        ("write_file", write),
        ("edit_file", edit),
        ("edit_file", find),
    ] {
        let why = yard.refusal(tool, args).await;
        assert!(
            why.contains("would lose that key; nothing was changed"),
            "{why}"
        );
        assert_eq!(yard.content(".env"), before);
    }

    let edit = json!({"path": ".env", "old": "B=2", "new": "B=3 # [redacted: OTHER]"});
    yard.done("edit_file", edit).await;
    assert_eq!(
        yard.content(".env"),
        before.replace("B=2", "B=3 # [redacted: OTHER]")
    );
}
