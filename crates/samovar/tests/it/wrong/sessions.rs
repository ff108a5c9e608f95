//! Sessions that are not there, and titles that cannot be.

use super::{check, line, wrong};

const UNKNOWN: &str = "unknown_session";
const WHICH: &str = "there is no such session; samovar sessions list shows them";

// proves FC-2, FC-6
#[tokio::test]
async fn a_session_that_is_not_there_is_said_to_be_missing() {
    check([
        line("run hi --session nobody").is(
            2,
            UNKNOWN,
            "there is no such session here; leave out --session to start a new one",
        ),
        line("run hi --continue").is(
            2,
            UNKNOWN,
            "this folder has no session to continue; leave out --continue to start a new one; sessions in other stores: samovar sessions list --all",
        ),
        line("chat --session nobody").is(
            2,
            UNKNOWN,
            "there is no such session here; leave out --session to start a new one",
        ),
        line("chat --continue").is(
            2,
            UNKNOWN,
            "this folder has no session to continue; leave out --continue to start a new one; sessions in other stores: samovar sessions list --all",
        ),
        line("sessions show nobody").is(2, UNKNOWN, WHICH),
        line("sessions resume nobody").is(2, UNKNOWN, WHICH),
        line("sessions cancel nobody").is(2, UNKNOWN, WHICH),
        line("sessions rename nobody title").is(2, UNKNOWN, WHICH),
        line("sessions delete nobody --yes").is(2, UNKNOWN, WHICH),
        line("sessions delete nobody").is(2, UNKNOWN, WHICH),
    ])
    .await;
}

// proves FC-2, FC-6
#[tokio::test]
async fn an_id_or_a_title_has_its_bounds() {
    const CODE: &str = "invalid_params";
    let long = "x".repeat(5000);
    check([
        wrong(["run", "hi", "--session", "a\u{7}b"]).is(
            2,
            CODE,
            r#"--session cannot be "a\u{7}b"; give an id or a title that samovar sessions list shows"#,
        ),
        wrong(["run", "hi", "--session", &"x".repeat(257)]).is(
            2,
            CODE,
            "--session cannot be \"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…\"; give an id or a title that samovar sessions list shows",
        ),
        wrong(["chat", "--session", ""]).is(2, CODE, "--session cannot be \"\"; give an id or a title that samovar sessions list shows"),
        wrong(["sessions", "show", " "]).is(
            2,
            CODE,
            "<ID> cannot be \" \"; give an id or a title that samovar sessions list shows",
        ),
        wrong(["sessions", "fork", "a", "--into", ""]).is(2, CODE, "--into cannot be \"\"; give an id of 1 to 256 bytes with a visible character and without control characters"),
        wrong(["sessions", "fork", "a", "--into", " "]).is(2, CODE, "--into cannot be \" \"; give an id of 1 to 256 bytes with a visible character and without control characters"),
        wrong(["sessions", "show", ""]).is(
            2,
            CODE,
            "<ID> cannot be \"\"; give an id or a title that samovar sessions list shows",
        ),
        wrong(["sessions", "delete", "a\n"]).is(
            2,
            CODE,
            r#"<ID> cannot be "a\n"; give an id or a title that samovar sessions list shows"#,
        ),
        wrong(["sessions", "rename", "nobody", "a\u{9b}b"]).is(
            2,
            CODE,
            r#"<TITLE> cannot be "a\u{9b}b"; give at most 256 bytes without control characters"#,
        ),
        wrong(["sessions", "rename", "nobody", &long]).is(
            2,
            CODE,
            "<TITLE> cannot be \"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…\"; give at most 256 bytes without control characters",
        ),
    ])
    .await;
}
