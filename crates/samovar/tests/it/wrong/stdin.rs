//! What comes from stdin.

use super::{check, line};

// proves FC-2, FC-6
#[tokio::test]
async fn a_prompt_from_a_pipe_is_text_and_has_its_bounds() {
    const BLANK: &str = "the content is blank; write at least one visible character";
    const NOT_TEXT: &str = "the prompt is not UTF-8; nothing was sent, save it as UTF-8";
    const LARGE: &str = "the prompt is larger than 1048576 bytes; nothing was sent, put it in a file and name that file";
    check([
        line("run -").is(2, "blank_content", BLANK),
        line("run -")
            .reading("\u{3000}\u{200b}\n")
            .is(2, "blank_content", BLANK),
        line("run -")
            .reading(b"caf\xe9".to_vec())
            .is(2, "invalid_params", NOT_TEXT),
        line("run -")
            .reading(vec![b'a'; 5 * 1024 * 1024])
            .is(2, "body_too_large", LARGE),
        line("chat")
            .reading(b"caf\xe9\n".to_vec())
            .is(2, "invalid_params", NOT_TEXT),
        line("chat")
            .reading(vec![b'a'; 5 * 1024 * 1024])
            .is(2, "body_too_large", LARGE),
        line("chat").reading("/brew\n").is(
            2,
            "invalid_params",
            "\"/brew\" is not a command; /help lists them",
        ),
        line("chat").reading("/sessions nobody").is(
            2,
            "unknown_session",
            "there is no such session; samovar sessions list shows them",
        ),
        line("chat")
            .reading("\u{200b}\n")
            .is(2, "blank_content", BLANK),
    ])
    .await;
}
