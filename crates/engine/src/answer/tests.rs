use samovar_core::provider::ProviderEvent::{ReasoningDelta, ReasoningEnd, TextDelta};
use samovar_doubles::CountedIds;
use serde_json::json;

use super::*;

fn parts(said: Vec<ProviderEvent>) -> Vec<Part> {
    let mut answer = Answer::new(MessageId::new("m").unwrap(), "model".to_owned());
    for event in said {
        answer.take(event, &CountedIds::default(), &mut Vec::new());
    }
    answer.parts
}

fn end(state: Option<Value>) -> ProviderEvent {
    ReasoningEnd {
        provider_state: state,
    }
}

fn thought(text: &str, provider_state: Option<Value>) -> Part {
    Part::Reasoning {
        text: text.to_owned(),
        provider_state,
    }
}

// proves MD-3
#[test]
fn every_thought_keeps_its_own_state() {
    let said = vec![
        ReasoningDelta("a".to_owned()),
        ReasoningDelta("b".to_owned()),
        end(Some(json!(1))),
        end(Some(json!(2))),
        end(Some(json!(3))),
        ReasoningDelta("c".to_owned()),
        end(Some(json!(4))),
        end(None),
        TextDelta("So.".to_owned()),
        end(Some(json!(5))),
        ReasoningDelta("d".to_owned()),
        end(None),
    ];
    let wanted = [
        thought("ab", Some(json!(1))),
        thought("", Some(json!(2))),
        thought("", Some(json!(3))),
        thought("c", Some(json!(4))),
        Part::text("So."),
        thought("", Some(json!(5))),
        thought("d", None),
    ];
    assert_eq!(parts(said), wanted);
}
