use bytes::Bytes;
use samovar_core::{ProviderEvent, Usage};

use super::*;
use crate::decoder::Decoder;
use crate::specs::spec;

fn decoder() -> Decoder {
    let answers = Fingerprint::of("what is answered");
    Decoder::new(Box::new(Reply::new(spec("anthropic").unwrap(), answers)))
}

#[test]
fn an_answer_of_text_and_a_call_is_told_as_it_comes() {
    let body = r#"event: message_start
data: {"type":"message_start","message":{"id":"msg_1","usage":{"input_tokens":10,"cache_creation_input_tokens":20,"cache_read_input_tokens":30,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

event: ping
data: {"type": "ping"}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"I look."}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: content_block_start
data: {"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"toolu_1","name":"look","input":{}}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"at\": 1}"}}

event: content_block_stop
data: {"type":"content_block_stop","index":1}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":15}}

event: message_stop
data: {"type":"message_stop"}

"#;
    let mut events = Vec::new();
    let mut decoder = decoder();
    decoder.read(Bytes::from(body), &mut events).unwrap();
    assert_eq!(decoder.progress(), Progress::Over);
    let id = || "toolu_1".to_owned();
    let name = || "look".to_owned();
    let wanted = [
        ProviderEvent::TextDelta("I look.".to_owned()),
        ProviderEvent::ToolCallStart {
            id: id(),
            name: name(),
        },
        ProviderEvent::ToolCallDelta {
            id: id(),
            args_json: "{\"at\": 1}".to_owned(),
        },
        ProviderEvent::ToolCallEnd {
            id: id(),
            name: name(),
            args: serde_json::json!({"at": 1}),
            provider_state: None,
        },
        ProviderEvent::MessageComplete {
            finish_reason: "tool_use".to_owned(),
            usage: Usage {
                input: 60,
                output: 15,
                cache_read: 30,
                cache_write: 20,
                reasoning: 0,
            },
        },
    ];
    assert_eq!(events, wanted);
}
