//! Streams of Chat Completions, with several servers' habits.

use super::Golden;

pub(super) const GOLDEN: &[Golden] = &[
    Golden {
        name: "text, with the usage in a chunk of its own",
        body: r#"data: {"id":"1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"role":"assistant","content":"","refusal":null},"logprobs":null,"finish_reason":null}],"usage":null}

data: {"id":"1","choices":[{"index":0,"delta":{"content":"Привет, "},"finish_reason":null}]}

data: {"id":"1","choices":[{"index":0,"delta":{"content":"\"мир\" 🌍\n"},"finish_reason":null}]}

data: {"id":"1","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}

data: {"id":"1","choices":[],"usage":{"prompt_tokens":20,"completion_tokens":9,"total_tokens":29,"prompt_tokens_details":{"cached_tokens":16,"audio_tokens":0},"completion_tokens_details":{"reasoning_tokens":4}}}

data: [DONE]

"#,
        wanted: "text Привет, \"мир\" 🌍\n\ncomplete stop 20 9 16 0 4",
    },
    Golden {
        name: "comments, ids, blank events, unknown fields, a second choice, no [DONE]",
        body: r#": OPENROUTER PROCESSING

retry: 100
id: 7

: OPENROUTER PROCESSING

data:

event: message
data: {"provider":"X","choices":[{"delta":{"content":"a","annotations":[{"x":[1,{}]}]}}],"x_new":{"deep":[[[]]]}}

data: {"choices":[{"index":1,"delta":{"content":"not asked for"}}]}

data: {"choices":null}

data: {"choices":[{"delta":{"content":null}}]}

data:{"choices":[{"delta":{"content":"b"},"finish_reason":"length"}],"usage":{"prompt_tokens":1,"completion_tokens":2}}

"#,
        wanted: "text ab\ncomplete length 1 2 0 0 0",
    },
    Golden {
        name: "reasoning_content, with the hits of the cache at the top",
        body: r#"data: {"choices":[{"index":0,"delta":{"role":"assistant","content":null,"reasoning_content":""}}]}

data: {"choices":[{"index":0,"delta":{"content":null,"reasoning_content":"Let "}}]}

data: {"choices":[{"index":0,"delta":{"content":null,"reasoning_content":"me"}}]}

data: {"choices":[{"index":0,"delta":{"content":"Yes","reasoning_content":null}}]}

data: {"choices":[{"index":0,"delta":{"content":"","reasoning_content":null},"finish_reason":"stop"}],"usage":{"prompt_tokens":10,"completion_tokens":5,"prompt_cache_hit_tokens":8,"prompt_cache_miss_tokens":2}}

data: [DONE]

"#,
        wanted: "think Let me\nthought\ntext Yes\ncomplete stop 10 5 8 0 0",
    },
    Golden {
        name: "the same reasoning under two names, reasoning left out of the completion's tokens",
        body: r#"data: {"choices":[{"index":0,"delta":{"reasoning":"Hm","reasoning_content":"Hm"}}]}

data: {"choices":[{"index":0,"delta":{"reasoning":", so"}}]}

data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":22,"completion_tokens_details":{"reasoning_tokens":7}}}

data: [DONE]

"#,
        wanted: "think Hm, so\nthought\ncomplete stop 10 12 0 0 7",
    },
    Golden {
        name: "details of the reasoning, which go back as they came",
        body: r#"data: {"choices":[{"index":0,"delta":{"reasoning":"Hm","reasoning_details":[{"type":"reasoning.text","text":"H","index":0}]}}]}

data: {"choices":[{"index":0,"delta":{"reasoning_details":[{"type":"reasoning.text","text":"m","index":0,"signature":"s"}]}}]}

data: {"choices":[{"index":0,"delta":{"content":"Yes"}}]}

data: {"choices":[{"index":0,"delta":{"reasoning_details":[{"type":"reasoning.encrypted","data":"e","id":"c1"}]},"finish_reason":"stop"}]}

data: [DONE]

"#,
        wanted: r#"think Hm
thought {"from":"openai","reasoning_details":[{"type":"reasoning.text","text":"Hm","index":0,"signature":"s"}]}
text Yes
thought {"from":"openai","reasoning_details":[{"type":"reasoning.encrypted","data":"e","id":"c1"}]}
complete stop 0 0 0 0 0"#,
    },
    Golden {
        name: "content in pieces, some of them thoughts",
        body: r#"data: {"choices":[{"index":0,"delta":{"content":[{"type":"thinking","thinking":[{"type":"text","text":"Hm"},{"type":"text","text":"m"}]}]}}]}

data: {"choices":[{"index":0,"delta":{"content":[{"type":"text","text":"Ye"},{"type":"text","text":"s"},{"type":"reference","reference_ids":[1]}]}}]}

data: {"choices":[{"index":0,"delta":{"content":"."},"finish_reason":"stop"}]}

"#,
        wanted: "think Hmm\nthought\ntext Yes.\ncomplete stop 0 0 0 0 0",
    },
    Golden {
        name: "a refusal",
        body: r#"data: {"choices":[{"index":0,"delta":{"refusal":"I can't"}}]}

data: {"choices":[{"index":0,"delta":{"refusal":" do that."}}]}

data: {"choices":[{"index":0,"delta":{},"finish_reason":"content_filter"}]}

data: [DONE]

"#,
        wanted: "text I can't do that.\ncomplete content_filter 0 0 0 0 0",
    },
    Golden {
        name: "one call behind a text, its id only in the first fragment",
        body: r#"data: {"choices":[{"index":0,"delta":{"content":"I look."}}]}

data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"read_file","arguments":""}}]}}]}

data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"path\":"}}]}}]}

data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\"чай.txt\"}"}}]}}]}

data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}

data: [DONE]

"#,
        wanted: r#"text I look.
start call_1 read_file
args call_1 {"path":"чай.txt"}
end call_1 read_file {"path":"чай.txt"}
complete tool_calls 0 0 0 0 0"#,
    },
    Golden {
        name: "two calls in turns, empty and repeated ids, names repeated",
        body: r#"data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":""}},{"index":1,"id":"b","function":{"name":"g","arguments":""}}]}}]}

data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"","function":{"name":"","arguments":"{\"x\""}}]}}]}

data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"y\":1}"}}]}}]}

data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":null,"function":{"name":null,"arguments":":2}"}}]},"finish_reason":"tool_calls"}]}

"#,
        wanted: r#"start a f
start b g
args b {"x"
args a {"y":1}
args b :2}
end a f {"y":1}
end b g {"x":2}
complete tool_calls 0 0 0 0 0"#,
    },
    Golden {
        name: "every call numbered 0, each whole in one fragment",
        body: r#"data: {"choices":[{"index":0,"delta":{"role":"assistant","content":"","tool_calls":[{"id":"call_x","index":0,"type":"function","function":{"name":"f","arguments":"{\"n\":1}"}}]},"finish_reason":null}]}

data: {"choices":[{"index":0,"delta":{"role":"assistant","content":"","tool_calls":[{"id":"call_y","index":0,"type":"function","function":{"name":"f","arguments":"{\"n\":2}"}}]},"finish_reason":null}]}

data: {"choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":"stop"}]}

data: [DONE]

"#,
        wanted: r#"start call_x f
args call_x {"n":1}
start call_y f
args call_y {"n":2}
end call_x f {"n":1}
end call_y f {"n":2}
complete stop 0 0 0 0 0"#,
    },
    Golden {
        name: "no numbers and no ids, arguments as JSON, none at all, or null",
        body: r#"data: {"choices":[{"index":0,"delta":{"tool_calls":[{"function":{"name":"f","arguments":{"n": 1}}},{"function":{"name":"g"}},{"function":{"name":"h","arguments":null}}]}}]}

data: {"choices":[{"index":0,"delta":{"tool_calls":[{"function":{"arguments":"{}"}}]},"finish_reason":"tool_calls"}]}

data: [DONE]

"#,
        wanted: r#"start 0 f
args 0 {"n": 1}
start 1 g
start 2 h
args 2 {}
end 0 f {"n":1}
end 1 g {}
end 2 h {}
complete tool_calls 0 0 0 0 0"#,
    },
    Golden {
        name: "no numbers, fragments found again by id",
        body: r#"data: {"choices":[{"index":0,"delta":{"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{\"n\""}},{"id":"b","function":{"name":"g","arguments":"{"}}]}}]}

data: {"choices":[{"index":0,"delta":{"tool_calls":[{"id":"a","function":{"arguments":":1}"}},{"id":"b","function":{"arguments":"}"}}]},"finish_reason":"tool_calls"}]}

"#,
        wanted: r#"start a f
args a {"n"
start b g
args b {
args a :1}
args b }
end a f {"n":1}
end b g {}
complete tool_calls 0 0 0 0 0"#,
    },
    Golden {
        name: "an id that comes late, a name that comes late, an empty call that never was one",
        body: r#"data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"name":"f","arguments":"{"}}]}}]}

data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"late","function":{"arguments":"}"}}]}}]}

data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"b","function":{"arguments":"{\"n\":"}}]}}]}

data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"function":{"name":"g","arguments":"1}"}}]}}]}

data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":2,"function":{"arguments":""}}]},"finish_reason":"tool_calls"}]}

"#,
        wanted: r#"start 0 f
args 0 {}
start b g
args b {"n":1}
end 0 f {}
end b g {"n":1}
complete tool_calls 0 0 0 0 0"#,
    },
    Golden {
        name: "the same id for two calls, arguments that are no JSON",
        body: r#"data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"same","function":{"name":"f","arguments":"{\"path\": \"a"}},{"index":1,"id":"same","function":{"name":"g","arguments":"[1]"}}]},"finish_reason":"tool_calls"}]}

"#,
        wanted: r#"start same f
args same {"path": "a
start 1 g
args 1 [1]
end same f "{\"path\": \"a"
end 1 g "[1]"
complete tool_calls 0 0 0 0 0"#,
    },
    Golden {
        name: "a call with a signature beside it",
        body: r#"data: {"choices":[{"index":0,"delta":{"role":"assistant","tool_calls":[{"index":0,"id":"f-1","type":"function","extra_content":{"google":{"thought_signature":"AY8="}},"function":{"name":"f","arguments":"{}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":3,"completion_tokens":4,"total_tokens":7}}

data: [DONE]

"#,
        wanted: r#"start f-1 f
args f-1 {}
end f-1 f {} {"from":"openai","extra_content":{"google":{"thought_signature":"AY8="}}}
complete tool_calls 3 4 0 0 0"#,
    },
    Golden {
        name: "an error in the middle, of a server that goes on as if nothing had happened",
        body: r#"data: {"choices":[{"index":0,"delta":{"content":"Hel"}}]}

data: {"error":{"message":"The server had an error","type":"server_error","code":null}}

data: {"choices":[{"index":0,"delta":{"content":"lo"},"finish_reason":"stop"}]}

data: [DONE]

"#,
        wanted: "text Hel\nfailed provider_error",
    },
    Golden {
        name: "a bill with numbers that cannot be",
        body: r#"data: {"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}],"usage":{"prompt_tokens":18446744073709551615,"completion_tokens":2.5,"total_tokens":-1,"prompt_tokens_details":"none","completion_tokens_details":{"reasoning_tokens":1e400}}}

data: [DONE]

"#,
        wanted: "text a\ncomplete stop 1099511627776 0 0 0 0",
    },
    Golden {
        name: "a bill that is none",
        body: r#"data: {"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}],"usage":"unknown"}

data: [DONE]

"#,
        wanted: "text a\ncomplete stop 0 0 0 0 0",
    },
];
