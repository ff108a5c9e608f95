//! Answers that are none.

use std::time::Duration;

use samovar_model_server::{
    Ending, Failure, Finish, Gate, Part, Point, fail, hang_up, page, reset, say,
};
use samovar_testkit::{App, AppBuilder};

use super::{check_all, check_messages, row};
use crate::shown::{last, text};

// proves MD-3
#[tokio::test]
async fn a_refused_request_ends_the_turn_with_its_own_code() {
    let failed = |status, words| fail(Failure::new(status, words));
    let (key, model) = (Failure::refused_key(), Failure::unknown_model("m"));
    let quota = fail(Failure::quota_exceeded());
    let rows = vec![
        row("400", failed(400, "bad"), "provider_rejected", "", "bad"),
        row("401", fail(key), "provider_auth", "", "Incorrect API key"),
        row("403", failed(403, "no"), "provider_auth", "", "no"),
        row("404", fail(model), "model_not_found", "", "scripted"),
        row("408", failed(408, "slow"), "provider_timeout", "", "slow"),
        row("quota", quota, "provider_rejected", "", "quota"),
    ];
    check_all(AppBuilder::new(), rows).await;
}

// proves MD-3
#[tokio::test]
async fn a_server_that_is_busy_or_broken_ends_the_turn_with_its_own_code() {
    let limited = fail(Failure::rate_limited(Duration::from_secs(7)));
    let (broken, busy) = (Failure::server_error(), Failure::overloaded());
    let (away, gone) = ("<p>moved</p>", "<h1>Bad Gateway</h1>");
    let failed = |status, words| fail(Failure::new(status, words));
    let page = |status, body| page(status, "text/html", body);
    let rows = vec![
        row("302", page(302, away), "bad_response", "", "302"),
        row("429", limited, "provider_rate_limited", "", "Rate limit"),
        row("500", fail(broken), "provider_error", "", "error while"),
        row("502", page(502, gone), "provider_error", "", "502"),
        row("503", fail(busy), "provider_error", "", "overloaded"),
        row("529", failed(529, "hot"), "provider_error", "", "hot"),
    ];
    check_all(AppBuilder::new(), rows).await;
}

// proves MD-3
#[tokio::test]
async fn a_stream_that_breaks_off_is_never_taken_for_an_answer() {
    let words = || say("so far so good");
    let mid_frame = Point::IntoDelta {
        deltas: 1,
        bytes: 20,
    };
    // Three bytes, of which one comes: half a letter is not shown.
    let euro = say("whole ").and_say("5€").deltas_of(0);
    let unfinished = || words().finish(Finish::Absent);
    let cut = |at, how| words().cut_at(at, how);
    let close = Ending::Close;
    let rows = [
        ("closed", cut(Point::Deltas(2), close), "so far s"),
        ("ended", cut(Point::Deltas(2), Ending::Body), "so far s"),
        ("at-once", cut(Point::Deltas(0), close), ""),
        ("mid-frame", cut(mid_frame, close), "so f"),
        (
            "mid-letter",
            euro.cut_at(Point::InsideCharacter(0), close),
            "whole ",
        ),
        (
            "nothing-more",
            unfinished().without_terminal(),
            "so far so good",
        ),
    ];
    let rows = rows.map(|(name, reply, shown)| row(name, reply, "stream_cut", shown, "broke"));
    let refused = "without an answer";
    let silent = [
        row("hang-up", hang_up(), "stream_cut", "", refused),
        row("reset", reset(), "stream_cut", "", refused),
    ];
    check_all(AppBuilder::new(), rows.into_iter().chain(silent).collect()).await;
}

// proves MD-3
#[tokio::test]
async fn what_was_read_before_a_reset_is_kept() {
    let gate = Gate::new("read");
    let cut = say("so far so good")
        .hold_after(2, &gate)
        .cut_after(2, Ending::Reset);
    let app = App::start([cut, say("fine")]).await;
    let session = app.session().await;

    let mut stream = app.say(&session, "go").await;
    let mut frames = stream.until("text_delta").await;
    while text(&frames) != "so far s" {
        frames.push(stream.next().await.unwrap());
    }
    app.model.open(&gate).unwrap();
    frames.extend(stream.rest().await);

    assert_eq!(last(&frames)["code"], "stream_cut");
    check_messages(&app, &session, &["go", "so far s"]).await;
    assert_eq!(text(&app.turn(&session, "again").await), "fine");
}

// proves MD-3
#[tokio::test]
async fn an_answer_that_said_why_it_stopped_is_whole_without_the_last_line() {
    let app = App::start([say("all of it").without_terminal()]).await;
    let session = app.session().await;
    let frames = app.turn(&session, "go").await;
    assert_eq!(last(&frames)["finishReason"], "stop");
    check_messages(&app, &session, &["go", "all of it"]).await;
}

// proves MD-3
#[tokio::test]
async fn what_is_no_answer_is_not_read_as_one() {
    let (html, json, events) = ("text/html", "application/json", "text/event-stream");
    let rows = [
        ("page", page(200, html, "<h1>Log in</h1>"), "a web page"),
        (
            "title",
            page(200, events, "<title>Log in</title>"),
            "Log in",
        ),
        ("json", page(200, json, "{\"a\":1}"), "not an answer"),
        ("no-json", page(200, json, "hi"), ""),
        ("no-event", page(200, events, "data: hi\n\n"), ""),
    ];
    let rows = rows.map(|(name, reply, says)| row(name, reply, "bad_response", "", says));
    check_all(AppBuilder::new(), rows.into()).await;
}

// proves MD-3
#[tokio::test]
async fn an_error_inside_a_stream_of_200_is_an_error() {
    let error = |failure| say("so far").deltas_of(0).and(Part::Failure(failure));
    let limited = error(Failure::rate_limited(Duration::from_secs(1)));
    let broken = error(Failure::server_error());
    let garbled = Part::Raw("{\"choices\":".to_owned());
    let garbled = say("so far").deltas_of(0).and(garbled);
    let rows = vec![
        row("broken", broken, "provider_error", "so far", "error while"),
        row(
            "limited",
            limited,
            "provider_rate_limited",
            "so far",
            "Rate",
        ),
        row("garbled", garbled, "bad_response", "so far", ""),
    ];
    check_all(AppBuilder::new(), rows).await;
}
