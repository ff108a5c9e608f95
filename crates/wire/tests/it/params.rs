//! Parameters, from a body and from a query.

use samovar_core::command::{Change, Opening, Post};
use samovar_core::history::{MessageQuery, SessionQuery};
use samovar_core::{Action, Approval, Bounds, Code, Delivery, MessageId};
use samovar_wire::agent::{
    CancelParams, CreateSessionParams, GetMessagesParams, NoParams, PaginationParams, Profile,
    SendMessageParams, SessionParams, StreamParams, UpdateSessionParams,
};
use samovar_wire::params::{MAX_DEPTH, from_body, from_query};
use serde::de::DeserializeOwned;
use serde_json::json;

use crate::log::{message_id, turn};

/// Checks why a body is refused, and which parameter is named.
fn refused<T: DeserializeOwned>(body: &str, code: Code, message: &str, parameter: Option<&str>) {
    let error = from_body::<T>(body.as_bytes()).err().expect("a refusal");
    assert_eq!(
        (error.code, error.message.as_ref()),
        (code, message),
        "{body}"
    );
    let details = parameter.map(|name| json!({ "parameter": name }));
    assert_eq!(error.details, details, "{body}");
}

fn query<T: DeserializeOwned>(pairs: &[(&str, &str)]) -> Result<T, String> {
    let pairs = pairs
        .iter()
        .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
    from_query(pairs.collect()).map_err(|error| error.message.into_owned())
}

// proves AS-1
#[test]
fn an_object_of_parameters_and_one_under_the_key_params_are_read_alike() {
    let expected = CreateSessionParams {
        model: Some("gpt-x".to_owned()),
        session_id: None,
        metadata: json!({"source": "page"}).as_object().cloned(),
        ..CreateSessionParams::default()
    };
    for body in [
        r#"{"model":"gpt-x","metadata":{"source":"page"}}"#,
        r#"{"params":{"model":"gpt-x","metadata":{"source":"page"}}}"#,
        r#"{"model":"gpt-x","sessionId":null,"metadata":{"source":"page"},"soon":[1]}"#,
    ] {
        let read = from_body::<CreateSessionParams>(body.as_bytes());
        assert_eq!(read, Ok(expected.clone()), "{body}");
    }
    for odd in [r#"{"params":7}"#, r#"{"params":{"model":"m"},"more":1}"#] {
        let read = from_body(odd.as_bytes());
        assert_eq!(read, Ok(CreateSessionParams::default()), "{odd}");
    }
}

// proves AS-1
#[test]
fn parameters_that_may_all_be_absent_need_no_body() {
    for body in ["", " \r\n\t", "null", "{}", r#"{"params":{}}"#] {
        assert_eq!(from_body(body.as_bytes()), Ok(NoParams {}), "{body:?}");
        assert_eq!(
            from_body(body.as_bytes()),
            Ok(PaginationParams::default()),
            "{body:?}"
        );
    }
}

// proves AS-1
#[test]
fn a_query_is_read_by_the_types_of_the_parameters() {
    let params: PaginationParams = query(&[
        ("offset", "7"),
        ("limit", "20"),
        ("query", "42"),
        ("_", "1"),
    ])
    .unwrap();
    let expected: PaginationParams = from_body(br#"{"offset":7,"limit":20,"query":"42"}"#).unwrap();
    assert_eq!(params, expected);

    let params: GetMessagesParams = query(&[("sessionId", "12"), ("before", "true")]).unwrap();
    assert_eq!(params.session_id.as_str(), "12");
    assert_eq!(params.before.as_ref().map(MessageId::as_str), Some("true"));

    let profile = |pairs: &[(&str, &str)]| query::<StreamParams>(pairs).map(|read| read.profile);
    assert_eq!(profile(&[]), Ok(Profile::Default));
    assert_eq!(profile(&[("profile", "default")]), Ok(Profile::Default));
    assert_eq!(profile(&[("profile", "full")]), Ok(Profile::Full));
    let unknown = "parameter `profile`: unknown variant `fool`, expected `default` or `full`";
    assert_eq!(profile(&[("profile", "fool")]), Err(unknown.to_owned()));
}

#[test]
fn a_query_that_cannot_be_read_is_refused_with_the_parameter_and_what_it_must_be() {
    for (pairs, message) in [
        (
            [("limit", "many")],
            "parameter `limit`: invalid type: string \"many\", expected a whole number from 0 to 200",
        ),
        (
            [("limit", "201")],
            "parameter `limit`: invalid value: integer `201`, expected a whole number from 0 to 200",
        ),
        (
            [("offset", "-1")],
            "parameter `offset`: invalid value: integer `-1`, expected a whole number from 0 to 4294967295",
        ),
    ] {
        assert_eq!(query::<PaginationParams>(&pairs), Err(message.to_owned()));
    }
    let twice = query::<SessionParams>(&[("sessionId", "a"), ("sessionId", "b")]);
    assert_eq!(
        twice,
        Err("parameter `sessionId` is given twice".to_owned())
    );
    let missing = query::<SessionParams>(&[("session", "a")]);
    assert_eq!(missing, Err("missing parameter `sessionId`".to_owned()));
    for near in ["sessionid", "session_id", "SessionId"] {
        let why =
            format!("`{near}` is not a parameter; did you mean `sessionId`, which is missing?");
        assert_eq!(query::<SessionParams>(&[(near, "a")]), Err(why));
    }
}

// proves AS-3
#[test]
fn bad_parameters_are_refused_with_their_name_and_what_was_expected() {
    let bad = Code::InvalidParams;
    refused::<SendMessageParams>(
        r#"{"sessionId":"s"}"#,
        bad,
        "missing parameter `content`",
        Some("content"),
    );
    refused::<SendMessageParams>(
        r#"{"params":{"sessionId":"s","content":["hi"]}}"#,
        bad,
        "parameter `content`: invalid type: sequence, expected a string",
        Some("content"),
    );
    refused::<SessionParams>(
        r#"{"sessionId":""}"#,
        bad,
        "parameter `sessionId`: must have 1 to 256 bytes, not 0",
        Some("sessionId"),
    );
    refused::<CancelParams>(
        r#"{"sessionId":"s","turnId":"a\nb"}"#,
        bad,
        "parameter `turnId`: must not contain control characters: \"a\\nb\"",
        Some("turnId"),
    );
    refused::<GetMessagesParams>(
        r#"{"sessionId":"s","limit":1001}"#,
        bad,
        "parameter `limit`: invalid value: integer `1001`, expected a whole number from 0 to 1000",
        Some("limit"),
    );
    refused::<GetMessagesParams>(
        r#"{"sessionId":"s","limit":2.5}"#,
        bad,
        "parameter `limit`: invalid type: floating point `2.5`, expected a whole number from 0 to 1000",
        Some("limit"),
    );
    refused::<CreateSessionParams>(
        r#"{"metadata":"page"}"#,
        bad,
        "parameter `metadata`: invalid type: string \"page\", expected a map",
        Some("metadata"),
    );
    for body in ["[]", "7", "true", "\"s\""] {
        let why = "the body must be a JSON object keyed by parameter name";
        refused::<NoParams>(body, bad, why, None);
    }
}

// proves AS-3
#[test]
fn a_body_that_is_no_json_or_too_deep_is_refused() {
    for body in [
        "{",
        "{\"content\":\"\\ud800\"}",
        "{'a':1}",
        "{} {}",
        "\u{0}",
        "nul",
    ] {
        let error = from_body::<NoParams>(body.as_bytes()).unwrap_err();
        assert_eq!(error.code, Code::InvalidJson, "{body:?}");
        assert!(
            error.message.starts_with("the body is not JSON: "),
            "{}",
            error.message
        );
    }
    let error = from_body::<NoParams>(b"{\"a\":\"\xff\"}").unwrap_err();
    assert_eq!(error.code, Code::InvalidJson);

    let nested = |depth: usize| {
        let (open, close) = ("[".repeat(depth - 2), "]".repeat(depth - 2));
        format!(r#"{{"content":"[[\"[[","metadata":{{"a":{open}{close}}}}}"#)
    };
    assert!(from_body::<CreateSessionParams>(nested(MAX_DEPTH).as_bytes()).is_ok());
    for depth in [MAX_DEPTH + 1, 100, 100_000] {
        let why = "the body is nested deeper than 64 levels";
        refused::<CreateSessionParams>(&nested(depth), Code::InvalidJson, why, None);
    }
    // Nor by texts in texts that a reader of JSON would read on in.
    let hidden = (0..12).fold("1".to_owned(), |inner, _| {
        let inner = json!({"$serde_json::private::RawValue": inner});
        format!("{}{inner}{}", "[".repeat(50), "]".repeat(50))
    });
    let body = format!(r#"{{"content":"x","metadata":{{"a":{hidden}}}}}"#);
    let error = from_body::<CreateSessionParams>(body.as_bytes()).unwrap_err();
    assert_eq!(error.code, Code::InvalidJson, "{}", error.message);
    let wide = format!(r#"{{"a":[{}[]]}}"#, "[{}],".repeat(MAX_DEPTH));
    assert_eq!(from_body(wide.as_bytes()), Ok(NoParams {}));
}

// proves AS-3
#[test]
fn a_blank_message_is_refused_before_it_becomes_a_command() {
    let send = |content: &str| {
        let body = json!({"sessionId": "s", "messageId": "u1", "content": content}).to_string();
        from_body::<SendMessageParams>(body.as_bytes()).and_then(SendMessageParams::into_action)
    };
    for blank in ["", " ", "\n\u{a0}\u{3000}"] {
        assert_eq!(
            send(blank).unwrap_err().code,
            Code::BlankContent,
            "{blank:?}"
        );
    }
    let (session, action) = send(" hi ").unwrap();
    assert_eq!(session.as_str(), "s");
    assert!(matches!(
        action,
        Action::Post(Post { message: Some(id), text, bounds, delivery: Delivery::Queue, .. })
            if id == message_id("u1") && text.as_str() == " hi " && bounds.is_empty()
    ));
}

#[test]
fn a_message_sets_bounds_for_its_turn_and_they_have_bounds_themselves() {
    let said = |bounds: &str| format!(r#"{{"sessionId":"s","content":"hi",{bounds}}}"#);
    let bounds = |given: &str| {
        let params = from_body::<SendMessageParams>(said(given).as_bytes()).unwrap();
        match params.into_action().unwrap().1 {
            Action::Post(post) => post.bounds,
            other => panic!("{other:?}"),
        }
    };
    let all = r#""maxIterations":1000,"budgetTokens":1,"approval":"read-only","noInput":true"#;
    assert_eq!(
        bounds(all),
        Bounds {
            max_iterations: Some(1000),
            budget: samovar_core::Budget::of_tokens(1),
            approval: Some(Approval::ReadOnly),
            no_input: true,
            ..Bounds::default()
        }
    );
    let budget = r#""budgetSteps":2,"budgetUsd":0.1,"budgetWallSeconds":3"#;
    let budget = bounds(budget).budget;
    assert_eq!(budget.cost, samovar_core::Usd::parse("0.1"));
    assert_eq!((budget.steps, budget.wall_ms), (Some(2), Some(3000)));
    for level in Approval::ALL {
        let given = format!(r#""approval":"{}""#, level.as_str());
        assert_eq!(bounds(&given).approval, Some(level));
    }
    let refusals = [
        ("\"maxIterations\":0", "maxIterations", "from 1 to 1000"),
        ("\"maxIterations\":1001", "maxIterations", "from 1 to 1000"),
        ("\"budgetTokens\":0", "budgetTokens", "from 1 to 4294967295"),
        (
            "\"budgetTokens\":-1",
            "budgetTokens",
            "from 1 to 4294967295",
        ),
        ("\"approval\":\"yolo\"", "approval", "`read-only`"),
    ];
    for (given, parameter, why) in refusals {
        let error = from_body::<SendMessageParams>(said(given).as_bytes()).unwrap_err();
        assert_eq!(error.code, Code::InvalidParams, "{given}");
        assert_eq!(error.details.unwrap()["parameter"], parameter);
        assert!(error.message.contains(why), "{}", error.message);
    }
}

#[test]
fn calls_that_change_something_become_commands() {
    let create: CreateSessionParams =
        from_body(br#"{"sessionId":"s","model":"m","metadata":{"a":1}}"#).unwrap();
    let (session, action) = create.into_action();
    assert_eq!(session.unwrap().as_str(), "s");
    assert!(matches!(
        action,
        Action::Open(Opening { model: Some(model), metadata, agent: None, system_prompt: None, approval: None }) if model == "m" && metadata["a"] == 1
    ));

    let update: UpdateSessionParams =
        from_body(br#"{"sessionId":"s","title":" Tea ","model":"m"}"#).unwrap();
    let (session, action) = update.into_action();
    assert_eq!(session.as_str(), "s");
    assert!(matches!(
        action,
        Action::Change(Change { model: Some(model), title: Some(title), approval: None, .. })
            if model == "m" && title.as_str() == "Tea"
    ));
    let update: UpdateSessionParams = from_body(br#"{"sessionId":"s","title":""}"#).unwrap();
    assert!(matches!(
        update.into_action().1,
        Action::Change(Change { model: None, title: Some(title), approval: None, .. }) if title.is_empty()
    ));

    let cancel: CancelParams = from_body(br#"{"sessionId":"s","turnId":"t"}"#).unwrap();
    let (session, action) = cancel.into_action();
    assert_eq!(session.as_str(), "s");
    assert!(matches!(action, Action::Cancel { turn: Some(id) } if id == turn("t")));
}

// proves AS-18
#[test]
fn lists_have_their_default_length_until_the_client_says_otherwise() {
    let sessions = |body: &str| {
        let params: PaginationParams = from_body(body.as_bytes()).unwrap();
        let query = SessionQuery::from(params);
        (query.offset, query.limit, query.matching)
    };
    assert_eq!(sessions(""), (0, 50, None));
    assert_eq!(sessions(r#"{"limit":200,"query":""}"#), (0, 200, None));
    assert_eq!(
        sessions(r#"{"params":{"offset":9,"limit":0,"query":"ёж"}}"#),
        (9, 0, Some("ёж".to_owned()))
    );

    let messages = |body: &str| {
        let params: GetMessagesParams = from_body(body.as_bytes()).unwrap();
        let query = MessageQuery::from(params);
        (query.session.to_string(), query.limit, query.before)
    };
    assert_eq!(
        messages(r#"{"sessionId":"s"}"#),
        ("s".to_owned(), 1000, None)
    );
    assert_eq!(
        messages(r#"{"sessionId":"s","limit":3,"before":"m"}"#),
        ("s".to_owned(), 3, Some(message_id("m")))
    );
}
