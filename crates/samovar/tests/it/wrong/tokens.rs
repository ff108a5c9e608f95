//! Tokens, and their names.

use super::{check, line, wrong};

// proves FC-2, FC-6
#[tokio::test]
async fn a_token_has_a_name_of_its_own() {
    const CODE: &str = "invalid_params";
    const MISSING: &str = "there is no such token; samovar token list shows them";
    check([
        line("token revoke nobody").is(2, "unknown_token", MISSING),
        line("token create ci").after(["token", "create", "ci"]).is(
            2,
            CODE,
            "there is already a token named \"ci\"; choose another name, or revoke it first",
        ),
        line("token create CI").is(
            2,
            CODE,
            "<NAME> cannot be \"CI\"; give 1 to 64 lower-case letters, digits, dots, underscores and hyphens",
        ),
        wrong(["token", "create", ""]).is(
            2,
            CODE,
            "<NAME> cannot be \"\"; give 1 to 64 lower-case letters, digits, dots, underscores and hyphens",
        ),
        wrong(["token", "create", "two words"]).is(
            2,
            CODE,
            "<NAME> cannot be \"two words\"; give 1 to 64 lower-case letters, digits, dots, underscores and hyphens",
        ),
        wrong(["token", "create", &"x".repeat(65)]).is(
            2,
            CODE,
            "<NAME> cannot be \"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\"; give 1 to 64 lower-case letters, digits, dots, underscores and hyphens",
        ),
        line("token revoke ../../lock").is(
            2,
            CODE,
            "<NAME> cannot be \"../../lock\"; give 1 to 64 lower-case letters, digits, dots, underscores and hyphens",
        ),
    ])
    .await;
}

// proves TL-11, RL-5, FC-6
#[tokio::test]
async fn a_scope_that_is_none_is_shown_with_those_there_are() {
    const RIGHT: &str = "give read, approve, use, admin, or relay:ROOM:ROLE with a room of 1 to 200 \
         bytes and the role host or agent";
    let long = format!("relay:{}:agent", "r".repeat(201));
    let mut rows = Vec::new();
    for scope in [
        "all",
        "",
        "Read",
        "relay",
        "relay:",
        "relay:cinema",
        "relay::agent",
        "relay:cinema:",
        "relay:cinema:owner",
        "relay:cinema:AGENT",
        "relay: cinema:agent",
        "relay:cinema :agent",
        "tele:cinema:agent",
    ] {
        let sentence = format!("--scope cannot be {scope:?}; {RIGHT}");
        let row = wrong(["token", "create", "ci", "--scope", scope]);
        rows.push(row.is(2, "invalid_params", sentence.leak()));
    }
    let shown = format!("--scope cannot be \"{}…\"; {RIGHT}", &long[..80]);
    let row = wrong(["token", "create", "ci", "--scope", &long]);
    rows.push(row.is(2, "invalid_params", shown.leak()));
    rows.push(line("token create ci --scope").is(2, "invalid_params", "--scope needs a value"));
    check(rows).await;
}
