//! The way from a movie to a ticket.

use samovar_core::Millis;
use samovar_core::relay::Host;
use serde_json::{Value, json};

use crate::theater::{Came, STAGES, Theater, ids};

// proves RL-18, RL-20, RL-21
#[test]
fn a_booking_goes_through_all_stages_and_ends_with_a_number_and_a_total() {
    let mut theater = Theater::started();
    for stage in STAGES {
        let spec = theater.spec();
        assert_eq!(spec["stage"], stage);
        for key in [
            "title",
            "visibleItems",
            "state",
            "items",
            "modification",
            "display",
        ] {
            assert!(!spec[key].is_null(), "{stage} has no {key}");
        }
        theater.complete();
        theater.ok("next", json!({}));
    }

    let history = theater.snapshot()["messageHistory"].clone();
    let receipt = history.as_array().unwrap().last().unwrap();
    assert_eq!(receipt["type"], "system");
    assert_eq!(receipt["stage"], "confirm");
    let (booking, meta) = (
        &receipt["spec"]["state"]["booking"],
        &receipt["spec"]["meta"],
    );
    assert_eq!(booking["movie"]["title"], "The Salt Road");
    assert_eq!(booking["seats"].as_array().unwrap().len(), 2);
    assert_eq!(booking["tickets"][0]["quantity"], 2);
    let price = booking["tickets"][0]["price"].as_f64().unwrap();
    assert_eq!(meta["total"], format!("{:.2} EUR", 2.0 * price));
    let number = meta["bookingNumber"].as_str().unwrap();
    assert!(number.starts_with("B-") && number.len() == 10, "{number}");
    let told = receipt["spec"]["description"].as_str().unwrap();
    assert!(told.contains(number), "{told}");

    // The same again is the same again, but for its times.
    let mut again = Theater::at("confirm");
    again.ok("next", json!({}));
    let again = again.snapshot()["messageHistory"].clone();
    assert_eq!(
        again.as_array().unwrap().last().unwrap()["spec"],
        receipt["spec"]
    );
}

// proves RL-20
#[test]
fn there_is_enough_to_choose_from_and_some_of_it_is_gone() {
    let count = |stage: &str| Theater::at(stage).visible().len();
    assert!(count("movie") >= 6);
    assert_eq!(count("theater"), 4);
    assert_eq!(count("date"), 7);
    assert_eq!(count("seat"), 60);
    assert_eq!(count("ticket"), 3);
    let mut seats = Theater::at("seat");
    let free = seats.free().len();
    assert!(free > 4 && free < 56, "{free}");

    let (mut showings, mut sold_out) = (0, 0);
    for movie in Theater::at("movie").free() {
        let mut theater = Theater::started();
        theater.ok("select", json!({"itemId": movie}));
        theater.ok("next", json!({}));
        for place in theater.free() {
            let _ = theater.call("select", json!({"itemId": place}));
            theater.ok("next", json!({}));
            for day in theater.free() {
                let _ = theater.call("select", json!({"itemId": day}));
                theater.ok("next", json!({}));
                showings += theater.visible().len();
                sold_out += theater.visible().len() - theater.free().len();
                theater.ok("prev", json!({}));
            }
            theater.ok("prev", json!({}));
        }
    }
    assert!(showings > 400, "{showings}");
    assert!(sold_out > 20 && sold_out < showings / 4, "{sold_out}");
}

// proves RL-18
#[test]
fn what_is_disabled_or_filtered_away_cannot_be_selected() {
    let mut theater = Theater::at("seat");
    let spec = theater.spec();
    let taken = ids(&spec["visibleItems"], |item| item["isDisabled"] == true).remove(0);
    let before = theater.snapshot();

    let (came, why) = theater.call("select", json!({"itemId": taken}));
    assert_eq!(came, Came::Refused("TOOL_EXECUTION_FAILED".to_owned()));
    assert!(why.contains(&taken) && why.contains("taken"), "{why}");
    assert_eq!(theater.snapshot(), before);

    let free = theater.free();
    let row = |id: &str| id[..1].to_owned();
    let hidden = free.iter().find(|id| row(id) != row(&free[0])).unwrap();
    theater.ok(
        "filter",
        json!({"field": "row", "operator": "eq", "value": row(&free[0])}),
    );
    let (came, why) = theater.call("select", json!({"itemId": hidden}));
    assert_eq!(came, Came::Refused("TOOL_EXECUTION_FAILED".to_owned()));
    assert!(why.contains("a filter hides it"), "{why}");

    let (came, why) = theater.call("select", json!({"itemId": "Z9"}));
    assert_eq!(came, Came::Refused("INVALID_PARAMS".to_owned()));
    assert!(why.contains("\"Z9\""), "{why}");
}

// proves RL-19
#[test]
fn a_seat_is_given_back_when_it_is_selected_again() {
    let mut theater = Theater::at("seat");
    let free = theater.free();
    for seat in [&free[1], &free[0]] {
        theater.ok("select", json!({"itemId": seat}));
    }
    assert_eq!(
        theater.spec()["state"]["selectedList"],
        json!([free[0], free[1]])
    );
    theater.ok("select", json!({"itemId": free[0]}));
    assert_eq!(theater.spec()["state"]["selectedList"], json!([free[1]]));
    theater.ok("select", json!({"itemId": free[1]}));
    assert!(!theater.tools().contains(&"next".to_owned()));
}

// proves RL-19
#[test]
fn tickets_are_as_many_as_seats_before_it_goes_on() {
    let mut theater = Theater::at("ticket");
    let has_next = |theater: &mut Theater| theater.tools().contains(&"next".to_owned());
    theater.ok("setQuantity", json!({"typeId": "adult", "quantity": 1}));
    assert!(!has_next(&mut theater));
    theater.ok("setQuantity", json!({"typeId": "child", "quantity": 1.0}));
    assert!(has_next(&mut theater));
    theater.ok("setQuantity", json!({"typeId": "senior", "quantity": 1}));
    assert!(!has_next(&mut theater));
    let (came, why) = theater.call("setQuantity", json!({"typeId": "adult", "quantity": -1}));
    assert_eq!(came, Came::Refused("INVALID_PARAMS".to_owned()));
    assert_eq!(why, "setQuantity requires quantity >= 0; quantity was -1");
    let quantities = json!({"adult": 1, "child": 1, "senior": 1});
    assert_eq!(theater.spec()["state"]["quantities"], quantities);
    for (quantity, what) in [
        (json!(1.5), "whole"),
        (json!("1"), "integer"),
        (json!(1e300), "<= 60"),
    ] {
        let (_, why) = theater.call(
            "setQuantity",
            json!({"typeId": "adult", "quantity": quantity}),
        );
        assert!(why.contains(what), "{why}");
    }
}

// proves RL-18
#[test]
fn a_choice_that_is_changed_takes_with_it_what_rests_on_it() {
    let back_to = |stage: &str| {
        let mut theater = Theater::at("confirm");
        while theater.stage() != stage {
            theater.ok("prev", json!({}));
        }
        theater
    };
    let booking = |theater: &mut Theater| theater.spec()["state"]["booking"].clone();
    let rests = [
        ("movie", &["theater", "date", "showing"][..]),
        ("theater", &["date", "showing"]),
        ("date", &["showing"]),
        ("time", &[]),
    ];
    for (stage, gone) in rests {
        let mut theater = back_to(stage);
        let before = booking(&mut theater);
        let selected = theater.spec()["state"]["selected"].clone();

        // The same again changes nothing.
        let (came, _) = theater.call("select", json!({"itemId": selected}));
        assert_eq!(came, Came::Ok { changed: false });
        assert_eq!(booking(&mut theater), before);

        let other = theater
            .free()
            .into_iter()
            .find(|id| selected != **id)
            .unwrap();
        theater.ok("select", json!({"itemId": other}));
        let after = booking(&mut theater);
        for key in gone {
            assert_eq!(after[key], Value::Null, "{stage} {key}");
        }
        assert_eq!(
            (&after["seats"], &after["tickets"]),
            (&json!([]), &json!([])),
            "{stage}"
        );
        assert_eq!(theater.spec()["state"]["selected"], other);
    }
    let mut theater = back_to("seat");
    let free = theater.free().pop().unwrap();
    theater.ok("select", json!({"itemId": free}));
    assert_eq!(booking(&mut theater)["seats"].as_array().unwrap().len(), 3);
    assert_eq!(booking(&mut theater)["tickets"], json!([]));
}

// proves RL-12
#[test]
fn nothing_that_the_host_says_has_what_only_the_box_office_knows() {
    let mut theater = Theater::started();
    let mut said = String::new();
    for stage in STAGES {
        assert_eq!(theater.stage(), stage);
        said += &Value::Object(theater.snapshot()).to_string();
        theater.complete();
        let answers = theater.hear("tool.call", json!({"toolName": "next", "params": {}}));
        for answer in answers {
            said += &Value::Object(answer.payload).to_string();
        }
    }
    assert!(said.len() > 10_000);
    for secret in ["backend", "surcharge", "\"taken\"", "base"] {
        assert!(!said.contains(secret), "{secret}");
    }
}

fn days(theater: &mut Theater) -> Vec<String> {
    theater.reach("date");
    let items = theater.spec()["items"].as_array().unwrap().clone();
    let day = |item: &Value| format!("{} {}", text(item, "id"), text(item, "weekday"));
    items.iter().map(day).collect()
}

fn text<'v>(item: &'v Value, field: &str) -> &'v str {
    item[field].as_str().unwrap()
}

// proves RL-20, RL-28
#[test]
fn the_dates_are_the_week_after_the_day_on_which_the_study_began() {
    const DAY: i64 = 86_400_000;
    for (begun, first, last) in [
        (1_796_558_400_000, "2026-12-07 Monday", "2026-12-13 Sunday"),
        // The last second of a year, and the day before a leap day.
        (
            1_798_761_599_000,
            "2027-01-01 Friday",
            "2027-01-07 Thursday",
        ),
        (1_835_308_800_000, "2028-02-29 Tuesday", "2028-03-06 Monday"),
    ] {
        let mut theater = Theater::new();
        theater.now = begun;
        theater.hear("session.start", json!({}));
        theater.now += 3 * DAY;
        let shown = days(&mut theater);
        assert_eq!(
            (shown.len(), shown[0].as_str(), shown[6].as_str()),
            (7, first, last)
        );

        let mut resumed = Theater::new();
        resumed.host.resume("s-20261207-001", Millis(begun));
        resumed.now = begun + 8 * DAY;
        assert_eq!(days(&mut resumed), shown);

        // Without a study they follow the first message.
        let mut early = Theater::new();
        early.now = begun;
        assert_eq!(days(&mut early), shown);
    }
}
