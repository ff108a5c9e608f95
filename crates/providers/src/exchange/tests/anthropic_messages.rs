//! Streams of Messages, as the service sends them and as those who imitate it do.

use super::Golden;

pub(super) const GOLDEN: &[Golden] = &[
    Golden {
        name: "text in several scripts, with citations, a ping, and the use of the cache",
        body: r#"event: message_start
data: {"type":"message_start","message":{"model":"claude-sonnet-4-20250514","id":"msg_01","type":"message","role":"assistant","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":12,"cache_creation_input_tokens":300,"cache_read_input_tokens":4000,"cache_creation":{"ephemeral_5m_input_tokens":300,"ephemeral_1h_input_tokens":0},"output_tokens":2,"service_tier":"standard"}}         }

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}            }

event: ping
data: {"type": "ping"}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Привет, "}   }

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"citations_delta","citation":{"type":"char_location","cited_text":"x","document_index":0}}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"\"мир\" 🌍\n世界"}}

event: content_block_stop
data: {"type":"content_block_stop","index":0             }

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"input_tokens":12,"cache_creation_input_tokens":300,"cache_read_input_tokens":4000,"output_tokens":25}         }

event: message_stop
data: {"type":"message_stop"}

"#,
        wanted: "text Привет, \"мир\" 🌍\n世界\ncomplete end_turn 4312 25 4000 300 0",
    },
    Golden {
        name: "a thought with its signature, and what it cost",
        body: r#"event: message_start
data: {"type":"message_start","message":{"usage":{"input_tokens":5,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Let me "}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"подумать.\n"}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"EqQBCkYIB+/AAg=="}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: content_block_start
data: {"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Yes."}}

event: content_block_stop
data: {"type":"content_block_stop","index":1}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":40,"output_tokens_details":{"thinking_tokens":30}}}

event: message_stop
data: {"type":"message_stop"}

"#,
        wanted: r#"think Let me подумать.

thought {"from":"anthropic","thinking":{"signature":"EqQBCkYIB+/AAg==","prefix":"cbf29ce484222325"}}
text Yes.
complete end_turn 5 40 0 0 30"#,
    },
    Golden {
        name: "hidden thoughts, a text and two calls, one of them without arguments",
        body: r#"event: message_start
data: {"type":"message_start","message":{"usage":{"input_tokens":472,"output_tokens":2}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"redacted_thinking","data":"EmwKAhgB"}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: content_block_start
data: {"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"AAAA"}}

event: content_block_stop
data: {"type":"content_block_stop","index":1}

event: content_block_start
data: {"type":"content_block_start","index":2,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"I look."}}

event: content_block_stop
data: {"type":"content_block_stop","index":2}

event: content_block_start
data: {"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"toolu_01T1x1fJ34qAmk2tNTrN7Up6","name":"read_file","input":{}}}

event: content_block_delta
data: {"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"{\"path\": \"ча"}}

event: content_block_delta
data: {"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"й.txt\"}"}}

event: content_block_stop
data: {"type":"content_block_stop","index":3}

event: content_block_start
data: {"type":"content_block_start","index":4,"content_block":{"type":"tool_use","id":"toolu_02","name":"list_dir","input":{}}}

event: content_block_delta
data: {"type":"content_block_delta","index":4,"delta":{"type":"input_json_delta","partial_json":""}}

event: content_block_stop
data: {"type":"content_block_stop","index":4}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":89}}

event: message_stop
data: {"type":"message_stop"}

"#,
        wanted: r#"thought {"from":"anthropic","thinking":{"redacted":"EmwKAhgB","prefix":"cbf29ce484222325"}}
thought {"from":"anthropic","thinking":{"redacted":"AAAA","prefix":"cbf29ce484222325"}}
text I look.
start toolu_01T1x1fJ34qAmk2tNTrN7Up6 read_file
args toolu_01T1x1fJ34qAmk2tNTrN7Up6 {"path": "чай.txt"}
start toolu_02 list_dir
end toolu_01T1x1fJ34qAmk2tNTrN7Up6 read_file {"path":"чай.txt"}
end toolu_02 list_dir {}
complete tool_use 472 89 0 0 0"#,
    },
    Golden {
        name: "two calls in turns, told apart by the numbers of their blocks",
        body: r#"event: content_block_start
data: {"type":"content_block_start","index":7,"content_block":{"type":"tool_use","id":"a","name":"f","input":{}}}

event: content_block_start
data: {"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"b","name":"g","input":{}}}

event: content_block_delta
data: {"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"{\"x\""}}

event: content_block_delta
data: {"type":"content_block_delta","index":7,"delta":{"type":"input_json_delta","partial_json":"{\"y\":1}"}}

event: content_block_stop
data: {"type":"content_block_stop","index":7}

event: content_block_delta
data: {"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":":2}"}}

event: content_block_stop
data: {"type":"content_block_stop","index":3}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":9}}

event: message_stop
data: {"type":"message_stop"}

"#,
        wanted: r#"start a f
start b g
args b {"x"
args a {"y":1}
args b :2}
end a f {"y":1}
end b g {"x":2}
complete tool_use 0 9 0 0 0"#,
    },
    Golden {
        name: "a thought that is not shown, between two calls another one, and one without a signature",
        body: r#"event: message_start
data: {"type":"message_start","message":{"usage":{"input_tokens":1,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"s1"}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: content_block_start
data: {"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"a","name":"f","input":{}}}

event: content_block_stop
data: {"type":"content_block_stop","index":1}

event: content_block_start
data: {"type":"content_block_start","index":2,"content_block":{"type":"thinking","thinking":"Hm","signature":"s2"}}

event: content_block_stop
data: {"type":"content_block_stop","index":2}

event: content_block_start
data: {"type":"content_block_start","index":3,"content_block":{"type":"thinking","thinking":""}}

event: content_block_stop
data: {"type":"content_block_stop","index":3}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":4}}

event: message_stop
data: {"type":"message_stop"}

"#,
        wanted: r#"thought {"from":"anthropic","thinking":{"signature":"s1","prefix":"cbf29ce484222325"}}
start a f
think Hm
thought {"from":"anthropic","thinking":{"signature":"s2","prefix":"cbf29ce484222325"}}
thought {"from":"anthropic","thinking":{"signature":"","prefix":"cbf29ce484222325"}}
end a f {}
complete tool_use 1 4 0 0 0"#,
    },
    Golden {
        name: "events, blocks and deltas that are not known, comments, ids, fields out of order",
        body: r#": hello

retry: 100
id: 7

event: news
data: {"type":"news","index":"first","content_block":7}

data: {"index":0,"content_block":{"text":"","type":"text"},"type":"content_block_start"}

data: {"type":"content_block_delta","index":0,"delta":{"type":"smell_delta","text":7}}

: still here

data: {"type":"content_block_delta","index":0,"delta":{"text":"a","type":"text_delta","more":[{}]},"x":{"deep":[[]]}}

data: {"type":"content_block_start","index":1,"content_block":{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}}

data: {"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"query\": \"x\"}"}}

data: {"type":"content_block_stop","index":1}

data: {"type":"content_block_start","index":2,"content_block":{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{"type":"web_search_result","title":"x"}]}}

data: {"type":"content_block_stop","index":2}

data:

data: {"type":"content_block_stop","index":0}

data: {"type":"message_delta","delta":{"stop_reason":"a_new_reason","stop_details":{"type":"x"},"container":null},"usage":{"output_tokens":3,"server_tool_use":{"web_search_requests":1}},"context_management":{"applied_edits":[]}}

data: {"type":"message_stop","amazon-bedrock-invocationMetrics":{"inputTokenCount":9}}

data: {"type":"error","error":{"type":"api_error","message":"too late to matter"}}

"#,
        wanted: "text a\ncomplete a_new_reason 0 3 0 0 0",
    },
    Golden {
        name: "a call that the limit cut in the middle",
        body: r#"event: message_start
data: {"type":"message_start","message":{"usage":{"input_tokens":5,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"toolu_1","name":"write_file","input":{}}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"path\": \"a"}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"max_tokens","stop_sequence":null},"usage":{"output_tokens":4096}}

event: message_stop
data: {"type":"message_stop"}

"#,
        wanted: r#"start toolu_1 write_file
args toolu_1 {"path": "a
end toolu_1 write_file "{\"path\": \"a"
complete max_tokens 5 4096 0 0 0"#,
    },
    Golden {
        name: "a refusal behind some text",
        body: r#"event: message_start
data: {"type":"message_start","message":{"usage":{"input_tokens":5,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"I can't"}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"refusal","stop_sequence":null,"stop_details":{"type":"refusal","category":"cyber","explanation":null}},"usage":{"output_tokens":4}}

event: message_stop
data: {"type":"message_stop"}

"#,
        wanted: "text I can't\ncomplete refusal 5 4 0 0 0",
    },
    Golden {
        name: "habits of imitators: arguments at once, ids empty or repeated, one number for all, no end of the text, the cost at the end",
        body: r#"event: message_start
data: {"type":"message_start","message":{"usage":{"input_tokens":0,"output_tokens":0,"cache_read_input_tokens":null}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"","name":"f","input":{"n":1}}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"same","name":"g","input":null}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"same","name":"h"}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":"Done"}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"."}}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":null}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":null},"usage":{"input_tokens":7,"output_tokens":8,"cache_read_input_tokens":2}}

event: message_stop
data: {"type":"message_stop"}

"#,
        wanted: r#"start 0 f
args 0 {"n":1}
start same g
start 2 h
text Done.
end 0 f {"n":1}
end same g {}
end 2 h {}
complete tool_use 9 8 2 0 0"#,
    },
];
