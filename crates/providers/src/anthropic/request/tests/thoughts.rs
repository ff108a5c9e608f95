//! What the model thought, on its way back.

use super::*;
use crate::anthropic::thought;

pub(super) fn thought(text: &str, provider_state: Option<Value>) -> Part {
    Part::Reasoning {
        text: text.to_owned(),
        provider_state,
    }
}

/// The state of a thought that was had about these messages.
fn signed(about: &[Message], signature: &str) -> Value {
    let request = ask(&prompt(about.to_vec()));
    thought::signed(row(), signature, &request.fingerprint.hex())
}

// proves MD-3
#[test]
fn a_thought_goes_back_as_it_came_or_not_at_all() {
    let question = vec![user("Go")];
    let state = signed(&question, "s1");
    let request = ask(&prompt(question.clone()));
    let hidden = thought::redacted(row(), "AAAA", &request.fingerprint.hex());
    let mut of_another = state.clone();
    of_another["from"] = "openrouter".into();
    let parts = vec![
        thought("Hm \n", Some(state.clone())),
        thought("", Some(hidden)),
        thought("", Some(signed(&question, "s2"))),
        thought("unsigned", Some(signed(&question, ""))),
        thought("behind a gap", Some(state)),
        thought("without state", None),
        thought("of another provider", Some(of_another)),
        thought("of another dialect", Some(json!("state"))),
        Part::text("So."),
    ];
    let mut talk = question;
    talk.push(assistant(parts));
    talk.push(user("And?"));
    check(
        talk,
        &json!([
            said("user", &json!([block("Go")])),
            said(
                "assistant",
                &json!([
                    {"type": "thinking", "thinking": "Hm \n", "signature": "s1"},
                    {"type": "redacted_thinking", "data": "AAAA"},
                    {"type": "thinking", "thinking": "", "signature": "s2"},
                    block("So."),
                ])
            ),
            said("user", &json!([block("And?")])),
        ]),
    );
}

#[test]
fn no_message_ends_in_a_thought() {
    let question = vec![user("Go")];
    let state = || Some(signed(&question, "s1"));
    for (parts, wanted) in [
        (
            vec![
                Part::text("So."),
                thought("Hm", state()),
                thought("", state()),
            ],
            json!([
                said("user", &json!([block("Go")])),
                said("assistant", &json!([block("So.")])),
                said("user", &json!([block("And?")])),
            ]),
        ),
        (
            vec![thought("Hm", state())],
            json!([said("user", &json!([block("Go"), block("And?")]))]),
        ),
    ] {
        let mut talk = question.clone();
        talk.extend([assistant(parts), user("And?")]);
        check(talk, &wanted);
    }
}

// proves MD-3
#[test]
fn a_thought_does_not_go_back_behind_other_words_than_it_answered() {
    let mut talk = vec![user("Hello"), user("Go")];
    let first = signed(&talk, "s1");
    talk.push(assistant(vec![
        thought("1", Some(first)),
        call("c1", json!({})),
    ]));
    talk.push(result("c1", Status::Done, "three"));
    let second = signed(&talk, "s2");
    talk.push(assistant(vec![
        thought("2", Some(second)),
        Part::text("Three."),
    ]));
    talk.push(user("Sure?"));
    let kept = |prompt: &Prompt| {
        let body = sent(prompt).to_string();
        ["s1", "s2"].map(|signature| body.contains(&format!("\"signature\":\"{signature}\"")))
    };
    assert_eq!(kept(&prompt(talk.clone())), [true, true]);

    let later = Prompt {
        temperature: 0.1,
        max_tokens: 7,
        ..prompt([talk.clone(), vec![user("Really?")]].concat())
    };
    assert_eq!(kept(&later), [true, true]);
    let moved = prompt(talk[1..].to_vec());
    assert_eq!(kept(&moved), [false, false]);
    let mut other = talk.clone();
    other[3] = result("c1", Status::Done, "four");
    assert_eq!(kept(&prompt(other)), [true, false]);
    let with_layer = Prompt {
        layers: vec![layer("Be kind.")],
        ..prompt(talk.clone())
    };
    assert_eq!(kept(&with_layer), [false, false]);
    let with_tool = Prompt {
        tools: vec![tool("look")].into(),
        ..prompt(talk.clone())
    };
    assert_eq!(kept(&with_tool), [false, false]);
    let elsewhere = write(
        &endpoint("http://127.0.0.1:8080/v1"),
        &prompt(talk),
        &Habits::default(),
    )
    .unwrap();
    assert!(!String::from_utf8(elsewhere.body).unwrap().contains("s1"));
}
