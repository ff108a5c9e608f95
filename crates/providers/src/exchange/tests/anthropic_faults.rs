//! Streams of Messages that end badly, or with numbers that cannot be.

use super::Golden;

pub(super) const GOLDEN: &[Golden] = &[
    Golden {
        name: "an overloaded server in the middle of a text",
        body: r#"event: message_start
data: {"type":"message_start","message":{"usage":{"input_tokens":5,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hel"}}

event: error
data: {"type":"error","error":{"details":null,"type":"overloaded_error","message":"Overloaded"},"request_id":"req_011"}

event: message_stop
data: {"type":"message_stop"}

"#,
        wanted: "text Hel\nfailed provider_error",
    },
    Golden {
        name: "a limit of requests before anything else, as an event without a name",
        body: r#"data: {"type":"error","error":{"type":"rate_limit_error","message":"slow down"}}

"#,
        wanted: "failed provider_rate_limited",
    },
    Golden {
        name: "an error as other dialects send it",
        body: "data: {\"error\":{\"message\":\"slow down\",\"code\":429}}\n\n",
        wanted: "failed provider_rate_limited",
    },
    Golden {
        name: "an error that is no JSON",
        body: "event: error\ndata: upstream timed out\n\n",
        wanted: "failed provider_error",
    },
    Golden {
        name: "a last event, but no word why the model stopped",
        body: r#"event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":"Hm"}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: message_stop
data: {"type":"message_stop"}

"#,
        wanted: "text Hm\nfailed stream_cut",
    },
    Golden {
        name: "a last event in the middle of a call",
        body: r#"event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"f","input":{}}}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":9}}

event: message_stop
data: {"type":"message_stop"}

"#,
        wanted: "start a f\nfailed bad_response",
    },
    Golden {
        name: "a bill with numbers that cannot be",
        body: r#"event: message_start
data: {"type":"message_start","message":{"usage":{"input_tokens":18446744073709551615,"output_tokens":-1,"cache_read_input_tokens":2.5}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":18446744073709551615,"output_tokens_details":7}}

event: message_stop
data: {"type":"message_stop"}

"#,
        wanted: "text a\ncomplete end_turn 1099511627776 1099511627776 0 0 0",
    },
];
