//! What was typed.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

use super::{check, line, wrong};
use crate::setup::program;

const CODE: &str = "invalid_params";
const MISSING: &str = "a command is missing; the available commands are below";

/// What is said of a word that was read as options.
macro_rules! hyphen {
    ($word:literal) => {
        concat!(
            "\"",
            $word,
            "\" begins with a hyphen and was read as options; put -- before it to make it text"
        )
    };
}

// proves FC-2, FC-6
#[tokio::test]
async fn a_wrong_command_or_option_is_named_with_what_would_be_right() {
    check([
        line("boil").is(
            2,
            CODE,
            "there is no command \"boil\"; samovar --help lists them",
        ),
        line("sesions list").is(
            2,
            CODE,
            "there is no command \"sesions\"; did you mean sessions?",
        ),
        line("sessions lst").is(2, CODE, "there is no command \"lst\"; did you mean list?"),
        line("sessions").is(2, CODE, MISSING),
        line("token").is(2, CODE, MISSING),
        line("run").is(2, CODE, "<PROMPT> is missing; type: samovar run <PROMPT>"),
        line("run say hello").is(
            2,
            CODE,
            "unexpected argument \"hello\"; put quotes around a text of several words",
        ),
        line("run hi --modl demo").is(
            2,
            CODE,
            "there is no option --modl here; did you mean --model?",
        ),
        line("run hi --json").is(
            2,
            CODE,
            "there is no option --json here; --help lists the options",
        ),
        line("run hi -x").is(
            2,
            CODE,
            "there is no option -x here; --help lists the options",
        ),
        line("run hi --model").is(2, CODE, "--model needs a value"),
        line("run hi --model a --model b").is(2, CODE, "--model is given twice; give it once"),
        line("run hi --verbose=1").is(2, CODE, "--verbose takes no value; leave it out"),
        line("run hi --session a --continue").is(
            2,
            CODE,
            "--session and --continue cannot be used together; leave one of them out",
        ),
        line("sessions list --json --jsonl").is(
            2,
            CODE,
            "--json and --jsonl cannot be used together; leave one of them out",
        ),
        line("sessions rename a").is(
            2,
            CODE,
            "<TITLE> is missing; type: samovar sessions rename <ID> <TITLE>",
        ),
        line("--version=2").is(2, CODE, "--version takes no value; leave it out"),
        wrong(["\u{1b}[31mred"]).is(
            2,
            CODE,
            r#"there is no command "\u{1b}[31mred"; samovar --help lists them"#,
        ),
        wrong([""]).is(
            2,
            CODE,
            "there is no command \"\"; samovar --help lists them",
        ),
    ])
    .await;
}

// proves FC-2, FC-6
#[tokio::test]
async fn a_word_too_many_is_told_what_the_command_takes_and_a_hyphen_how_it_becomes_text() {
    check([
        line("sessions list tea").is(
            2,
            CODE,
            "unexpected argument \"tea\"; type: samovar sessions list [OPTIONS]",
        ),
        line("config explain a b").is(
            2,
            CODE,
            "unexpected argument \"b\"; type: samovar config explain [OPTIONS] [KEY]",
        ),
        line("sessions rename a my tea").is(
            2,
            CODE,
            "unexpected argument \"tea\"; put quotes around a text of several words",
        ),
        line("sessions search -here").is(2, CODE, hyphen!("-here")),
        line("run -what").is(2, CODE, hyphen!("-what")),
        wrong(["run", "- milk"]).is(2, CODE, hyphen!("- milk")),
        wrong(["run", "--no tea"]).is(2, CODE, hyphen!("--no tea")),
        line("sessions list -wide").is(
            2,
            CODE,
            "there is no option -w here; --help lists the options",
        ),
    ])
    .await;
}

// proves FC-2, FC-6
#[tokio::test]
async fn help_of_a_command_is_what_the_command_says_of_itself_and_of_no_other() {
    check([
        line("help boil").is(
            2,
            CODE,
            "there is no command \"boil\"; samovar --help lists them",
        ),
        line("help sessions lst").is(2, CODE, "there is no command \"lst\"; did you mean list?"),
        line("help config boil").is(
            2,
            CODE,
            "there is no command \"boil\"; samovar config --help lists them",
        ),
    ])
    .await;
    let program = program();
    for (asked, same) in [
        (&["help"][..], &["--help"][..]),
        (&["help", "run"], &["run", "--help"]),
        (
            &["help", "sessions", "list"],
            &["sessions", "list", "--help"],
        ),
        (&["help", "--", "run", "--"], &["run", "--help"]),
    ] {
        let (asked, same) = (program.run(asked).await, program.run(same).await);
        assert_eq!((asked.code, &asked.stdout), (Some(0), &same.stdout));
    }
}

// proves FC-2, FC-6
#[tokio::test]
async fn a_wrong_bound_of_a_turn_is_shown_with_what_its_option_takes() {
    check([
        line("run hi --max-iterations 0").is(
            2,
            CODE,
            "--max-iterations cannot be \"0\"; give a whole number from 1 to 1000",
        ),
        line("run hi --max-iterations 1001").is(
            2,
            CODE,
            "--max-iterations cannot be \"1001\"; give a whole number from 1 to 1000",
        ),
        line("run hi --max-iterations many").is(
            2,
            CODE,
            "--max-iterations cannot be \"many\"; give a whole number from 1 to 1000",
        ),
        line("run hi --max-iterations=").is(
            2,
            CODE,
            "--max-iterations cannot be \"\"; give a whole number from 1 to 1000",
        ),
        line("run hi --budget-tokens 0").is(
            2,
            CODE,
            "--budget-tokens cannot be \"0\"; give a whole number from 1 to 18446744073709551615",
        ),
        line("run hi --budget-usd 0").is(
            2,
            CODE,
            "--budget-usd cannot be \"0\"; give dollars above 0, such as 0.25, with at most nine decimal places",
        ),
        line("run hi --timeout 0").is(
            2,
            CODE,
            "--timeout cannot be \"0\"; give a number of seconds from 0.001 to 31536000",
        ),
        line("run hi --timeout 5s").is(
            2,
            CODE,
            "--timeout cannot be \"5s\"; give a number of seconds from 0.001 to 31536000",
        ),
        line("run hi --timeout inf").is(
            2,
            CODE,
            "--timeout cannot be \"inf\"; give a number of seconds from 0.001 to 31536000",
        ),
        line("run hi --timeout NaN").is(
            2,
            CODE,
            "--timeout cannot be \"NaN\"; give a number of seconds from 0.001 to 31536000",
        ),
        line("run hi -o yaml").is(
            2,
            CODE,
            "--output takes one of text, json, jsonl, ui-stream, not \"yaml\"",
        ),
        line("run hi -o").is(2, CODE, "--output needs a value: one of text, json, jsonl, ui-stream"),
        line("run hi --approval yolo").is(
            2,
            CODE,
            "--approval takes one of auto, supervised, read-only, not \"yolo\"",
        ),
    ])
    .await;
}

// proves FC-2, FC-6
#[tokio::test]
async fn a_wrong_value_is_shown_with_what_its_option_takes() {
    check([
        line("sessions list --limit 0").is(
            2,
            CODE,
            "--limit cannot be \"0\"; give a whole number from 1 to 200",
        ),
        line("sessions list --limit 201").is(
            2,
            CODE,
            "--limit cannot be \"201\"; give a whole number from 1 to 200",
        ),
        line("sessions list --offset=-1").is(
            2,
            CODE,
            "--offset cannot be \"-1\"; give a whole number from 0 to 4294967295",
        ),
        line("chat-global history --limit 1001").is(
            2,
            CODE,
            "--limit cannot be \"1001\"; give a whole number from 1 to 1000",
        ),
        line("chat-global tail --after last").is(
            2,
            CODE,
            "--after cannot be \"last\"; give a whole number from 0 to 18446744073709551615",
        ),
        line("sessions show a --limit 1001").is(
            2,
            CODE,
            "--limit cannot be \"1001\"; give a whole number from 1 to 1000",
        ),
        line("serve --port 65536").is(
            2,
            CODE,
            "--port cannot be \"65536\"; give a whole number from 0 to 65535",
        ),
        line("serve --port http").is(
            2,
            CODE,
            "--port cannot be \"http\"; give a whole number from 0 to 65535",
        ),
        line("serve --host localhost").is(
            2,
            CODE,
            "--host cannot be \"localhost\"; give an IP address such as 127.0.0.1",
        ),
        line("token create a --scope owner").is(
            2,
            CODE,
            "--scope cannot be \"owner\"; give read, approve, use, admin, or relay:ROOM:ROLE with a room of 1 to \
             200 bytes and the role host or agent",
        ),
        line("completions ksh").is(
            2,
            CODE,
            "<SHELL> takes one of bash, elvish, fish, powershell, zsh, not \"ksh\"",
        ),
    ])
    .await;
}

// proves FC-2, FC-6
#[tokio::test]
async fn a_prompt_says_something_in_text() {
    const BLANK: &str = "the content is blank; write at least one visible character";
    let not_text = || OsString::from_vec(b"caf\xe9".to_vec());
    check([
        wrong(["run", ""]).is(2, "blank_content", BLANK),
        wrong(["run", " \t\r\n"]).is(2, "blank_content", BLANK),
        wrong(["run", "\u{a0}\u{2003}\u{3000}"]).is(2, "blank_content", BLANK),
        wrong(["run", "\u{200b}\u{200d}\u{feff}"]).is(2, "blank_content", BLANK),
        wrong(["run", "\u{2028}\u{85}\u{1680}"]).is(2, "blank_content", BLANK),
        wrong(["run".into(), not_text()]).is(2, CODE, "an argument is not UTF-8; use UTF-8 text"),
        wrong(["sessions".into(), "show".into(), not_text()]).is(
            2,
            CODE,
            "an argument is not UTF-8; use UTF-8 text",
        ),
    ])
    .await;
}

// proves FC-2, FC-6
#[tokio::test]
async fn what_becomes_of_a_message_beside_another_turn_is_one_of_four() {
    check([
        line("run hi --delivery shout").is(
            2,
            CODE,
            "--delivery takes one of queue, steer, interrupt, reject, not \"shout\"",
        ),
        line("run hi --delivery steer --budget-tokens 5").is(
            2,
            CODE,
            "--delivery steer joins a turn that has its own --approval, --max-iterations and budget; nothing was sent, leave these options out",
        ),
    ])
    .await;
}

// proves FC-2, FC-6, DU-14
#[tokio::test]
async fn a_wrong_word_of_a_proof_is_shown_with_what_its_option_takes() {
    let kills = |typed: &str| {
        let sentence = "--kills cannot be \"KILLS\"; give a whole number from 1 to 10000000";
        let sentence = sentence.replace("KILLS", typed).leak();
        wrong(["prove".to_owned(), format!("--kills={typed}")]).is(2, CODE, sentence)
    };
    check([
        kills("0"),
        kills("-1"),
        kills("many"),
        kills("10000001"),
        kills(""),
        line("prove --kills").is(2, CODE, "--kills needs a value"),
        line("prove --seed=-1").is(
            2,
            CODE,
            "--seed cannot be \"-1\"; give a whole number from 0 to 18446744073709551615",
        ),
        line("prove --seconds 0").is(
            2,
            CODE,
            "--seconds cannot be \"0\"; give a number of seconds from 0.001 to 31536000",
        ),
        line("prove --stuck-after soon").is(
            2,
            CODE,
            "--stuck-after cannot be \"soon\"; give a number of seconds from 0.001 to 31536000",
        ),
        line("prove --plants x").is(2, CODE, "there is no option --plants here; did you mean --plant?"),
        line("prove 200").is(
            2,
            CODE,
            "unexpected argument \"200\"; type: samovar prove [OPTIONS]",
        ),
        line("prove --report no/such/folder.json").is(
            2,
            "report_unwritable",
            "the report \"no/such/folder.json\" cannot be written: No such file or directory (os error 2); name another file",
        ),
    ])
    .await;
}
