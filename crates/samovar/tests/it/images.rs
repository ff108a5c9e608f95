//! Images on the command line.

use std::fs;

use samovar_model_server::say;

use crate::setup::{ended_with, with_model};

// proves AS-30
#[tokio::test]
async fn run_and_chat_send_images_and_name_a_file_that_is_no_image() {
    let (program, model) = with_model([say("red").forever()]).await;
    let red = include_bytes!("../../src/model_test/red.png");
    fs::write(program.folder().join("a red.jpg"), red).unwrap();
    fs::write(program.folder().join("note.png"), "a note").unwrap();
    let shown = |at: usize| {
        let body = model.prompts()[at].body().to_string();
        body.matches("data:image/png;base64,").count()
    };

    let said = [
        "run",
        "which colour?",
        "--image",
        "a red.jpg",
        "--image",
        "a red.jpg",
    ];
    let answer = program.run(said).await.exits(0);
    assert_eq!((answer.stdout.trim(), shown(0)), ("red", 2));
    let lines = "/image 'a red.jpg'\nwhich colour?\nand now?\n";
    let chat = program
        .run_with_stdin(["chat"], Some(lines.into()))
        .await
        .exits(0);
    assert!(
        chat.stderr.contains("1 image goes with your next message"),
        "{chat:?}"
    );
    assert_eq!((shown(1), shown(2)), (1, 1), "sent once, and seen again");

    // A model without images leaves them with the person, who can take them away.
    let lines = "/image 'a red.jpg'\nhello\nhello\n/image\nhello\n";
    let chat = program
        .run_with_stdin(["chat", "--model", "demo"], Some(lines.into()))
        .await;
    let refused = chat.stderr.matches("[model_without_images]").count();
    let kept = chat.stderr.matches("1 image goes with").count();
    assert_eq!((refused, kept), (2, 3), "{chat:?}");
    assert!(chat.stderr.contains("has no image"), "{chat:?}");
    assert!(!chat.stdout.trim().is_empty(), "{chat:?}");

    for (file, code, named) in [
        (
            "note.png",
            "invalid_image",
            "\"note.png\": the attachment is not a PNG",
        ),
        ("none.png", "invalid_params", "\"none.png\" cannot be read"),
        (".", "invalid_params", "\".\" cannot be read"),
    ] {
        let refused = program.run(["run", "which colour?", "--image", file]).await;
        ended_with(&refused, 2, code);
        assert!(refused.stderr.contains(named), "{refused:?}");
    }
    let many = ["--image", "a red.jpg"].repeat(9);
    let refused = program
        .run([vec!["run", "which colour?"], many].concat())
        .await;
    ended_with(&refused, 2, "invalid_params");
    assert_eq!(model.prompt_count(), 3);
}
