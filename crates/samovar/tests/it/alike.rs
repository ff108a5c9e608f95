//! The same command with a running server and without one: the same bytes.

use samovar_testkit::{Finished, Program};

use crate::setup::program;

/// What was typed, what came, without ids and moments.
async fn typed(program: &Program, rows: &[Vec<&str>]) -> Vec<(i32, String, String)> {
    let mut all = Vec::new();
    for row in rows {
        let said: Finished = program.run(row).await;
        let code = said.code.unwrap_or(-1);
        all.push((code, masked(&said.stdout), masked(&said.stderr)));
    }
    all
}

/// Every run of digits, hyphens and the letters of hexadecimal numbers that is as long as an id or
/// a moment becomes a `#`, and every count of tokens: a server offers the chat's tools too.
fn masked(text: &str) -> String {
    let is_part = |letter: char| letter.is_ascii_hexdigit() || letter == '-';
    let mut shown = String::new();
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.find(|letter| !is_part(letter)).unwrap_or(rest.len());
        let (part, after) = rest.split_at(end);
        let is_number = part.bytes().all(|byte| byte.is_ascii_digit());
        let is_count = is_number && part.len() >= 3;
        shown.push_str(if part.len() >= 13 || is_count {
            "#"
        } else {
            part
        });
        let next = after.find(is_part).unwrap_or(after.len());
        shown.push_str(&after[..next]);
        rest = &after[next..];
    }
    shown
}

async fn session(program: &Program) -> String {
    let said = program.run(["run", "-v", "hello"]).await;
    let id = said.stderr.split("session: ").nth(1).unwrap();
    id.lines().next().unwrap().to_owned()
}

// proves FC-1
#[tokio::test]
async fn what_is_shown_is_the_same_to_the_byte_with_a_server_and_without() {
    let program = program().set("DATA_DIR", "data");
    let id = session(&program).await;
    program.run(["token", "create", "ci"]).await;
    let mut rows: Vec<Vec<&str>> = vec![vec!["run", "hi", "--session", "nobody"]];
    for list in [
        vec!["sessions", "list"],
        vec!["sessions", "search", "hello"],
        vec!["sessions", "show", &id],
        vec!["sessions", "show", "nobody"],
        vec!["sessions", "delete", &id],
        vec!["token", "list"],
        vec!["token", "revoke", "nobody"],
        vec!["token", "create", "ci"],
        vec!["tools", "list"],
        vec!["models", "list"],
        vec!["stats"],
    ] {
        for format in ["--json", "--jsonl"] {
            rows.push(list.iter().copied().chain([format]).collect());
        }
        rows.push(list);
    }
    let plain = |said: Finished| (said.code, said.stdout, said.stderr);

    let mut alone = Vec::new();
    for row in &rows {
        alone.push(plain(program.run(row).await));
    }
    let _server = program.serve(&[]).await;
    for (row, alone) in rows.iter().zip(alone) {
        assert_eq!(plain(program.run(row).await), alone, "{row:?}");
    }
}

// proves FC-1
#[tokio::test]
async fn what_is_done_is_said_the_same_with_a_server_and_without() {
    let program = program().set("DATA_DIR", "data");
    let (first, second) = (session(&program).await, session(&program).await);
    let rows = |id: &'static str| {
        vec![
            vec!["run", "what is 1 + 1"],
            vec!["run", "-v", "what is 1 + 2", "--session", id],
            vec!["run", "-o", "json", "list the files here", "--session", id],
            vec!["run", "--continue", "what is 2 + 3"],
            vec!["sessions", "rename", id, "a title"],
            vec!["sessions", "rename", id, "", "--json"],
            vec!["sessions", "delete", id, "--yes"],
            vec!["sessions", "delete", id, "--yes"],
        ]
    };
    let alone = typed(&program, &rows(first.leak())).await;
    let _server = program.serve(&[]).await;

    assert_eq!(typed(&program, &rows(second.leak())).await, alone);
}
