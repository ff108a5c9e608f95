//! Commands beside each other on one data directory.

use samovar_model_server::{Gate, When, say};
use samovar_testkit::Finished;
use tokio::io::AsyncWriteExt;

use crate::setup::with_model;

// proves FC-1
#[tokio::test]
async fn a_chat_goes_on_by_itself_when_the_command_that_let_it_in_has_left() {
    let held = Gate::new("held");
    let (program, model) = with_model([
        say("the first is done")
            .hold_after(1, &held)
            .when(When::user("first")),
        say("the second is done").when(When::user("second")),
        say("the third is done").when(When::user("third")),
    ])
    .await;
    let first = program.command(["run", "first"]).spawn().unwrap();
    model.seen(1).await;

    let mut second = program.command(["chat"]);
    let mut second = second.stdin(std::process::Stdio::piped()).spawn().unwrap();
    let mut stdin = second.stdin.take().unwrap();
    stdin.write_all(b"second\n").await.unwrap();
    model.seen(2).await;
    model.open(&held).unwrap();
    let first = Finished::of(first).await;
    stdin.write_all(b"third\n").await.unwrap();
    drop(stdin);
    let second = Finished::of(second).await;

    assert_eq!(first.stdout, "the first is done\n", "{first:?}");
    assert_eq!(
        second.stdout, "the second is done\nthe third is done\n",
        "{second:?}"
    );
    assert_eq!((first.code, second.code), (Some(0), Some(0)));
}
