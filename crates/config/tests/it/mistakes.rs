//! Every mistake is one sentence: where, which key, what would be right.

use crate::desk::Desk;

/// A row is a file, ` => `, and the error that it causes.
#[track_caller]
fn check(row: &str, code: &str) {
    let (text, sentence) = row.split_once(" => ").unwrap();
    Desk::new()
        .here_says(text)
        .refuses(code, &format!("./samovar.toml:{sentence}"));
}

// proves FC-3, AS-16, AS-21
#[test]
fn an_unknown_key_is_told_with_its_place_and_the_nearest_that_there_is() {
    let code = "config_unknown_key";
    for row in [
        "[defaults]\n\nmodle = \"x\" => 3:1: there is no key \"defaults.modle\"; did you mean defaults.model?",
        "[defaults]\n  maxTokens = 5 => 2:3: there is no key \"defaults.maxTokens\"; did you mean defaults.max_tokens?",
        "session.maxHistoryMessages = 5 => 1:9: there is no key \"session.maxHistoryMessages\"; did you mean session.max_history_messages?",
        "model = \"x\" => 1:1: there is no key \"model\"; did you mean defaults.model?",
        "[sever]\nport = 1 => 1:2: there is no key \"sever\"; did you mean server?",
        "[providers.opnai]\napi_key = \"sk-secret\" => 1:12: there is no key \"providers.opnai\"; did you mean providers.openai?",
        "[providers.lm_studio] => 1:12: there is no key \"providers.lm_studio\"; did you mean providers.lm-studio?",
        "[providers.openai]\napiKey = \"sk-secret\" => 2:1: there is no key \"providers.openai.apiKey\"; did you mean providers.openai.api_key?",
        "[mcp] => 1:2: there is no key \"mcp\"; to list them all, type: samovar config show",
        "\"defaults.model\" = \"x\" => 1:1: there is no key \"\\\"defaults.model\\\"\"; did you mean defaults.model?",
        "\"a\\u001bb\" = 1 => 1:1: there is no key \"\\\"a\\\\u{1b}b\\\"\"; to list them all, type: samovar config show",
    ] {
        check(row, code);
    }
}

// proves FC-3
#[test]
fn a_wrong_type_is_told_with_what_would_be_right() {
    let code = "config_wrong_type";
    for row in [
        "[defaults]\nmax_tokens = \"many\" => 2:1: defaults.max_tokens is text; give a whole number from 1 to 1000000",
        "[defaults]\nmax_tokens = 1.5 => 2:1: defaults.max_tokens is a number; give a whole number from 1 to 1000000",
        "[defaults]\nmodel = 5 => 2:1: defaults.model is a whole number; give a line of 1 to 256 characters",
        "[defaults]\nmodel = [\"x\"] => 2:1: defaults.model is a list; give a line of 1 to 256 characters",
        "[defaults]\ntemperature = true => 2:1: defaults.temperature is true or false; give a number from 0 to 2",
        "[tools]\nrestrict_to_workspace = 1979-05-27 => 2:1: tools.restrict_to_workspace is a date; give true or false",
        "[tools]\napproval = 1 => 2:1: tools.approval is a whole number; give one of auto, supervised, read-only",
        "[server.port]\nx = 1 => 1:9: server.port is a table; give a whole number from 0 to 65535",
        "defaults = \"x\" => 1:1: defaults is text; give a table: [defaults]",
        "providers.openai = \"sk-secret\" => 1:11: providers.openai is text; give a table: [providers.openai]",
        "[[session]] => 1:3: session is a list; give a table: [session]",
        "[providers.openai]\napi_key = 99887766 => 2:1: providers.openai.api_key is a whole number; give a line of 1 to 4096 characters",
    ] {
        check(row, code);
    }
}

// proves FC-3
#[test]
fn a_value_out_of_bounds_is_told_with_them() {
    let code = "config_wrong_value";
    for row in [
        "[defaults]\nmax_tokens = 0 => 2:1: defaults.max_tokens is 0; give a whole number from 1 to 1000000",
        "[defaults]\nmax_tokens = -1 => 2:1: defaults.max_tokens is -1; give a whole number from 1 to 1000000",
        "[defaults]\nmax_tokens = 99999999999999999999 => 2:1: defaults.max_tokens is 99999999999999999999; give a whole number from 1 to 1000000",
        "[defaults]\nmax_tokens = 0xFFFFFFFF => 2:1: defaults.max_tokens is \"0xFFFFFFFF\"; give a whole number from 1 to 1000000",
        "[defaults]\ntemperature = 2.1 => 2:1: defaults.temperature is 2.1; give a number from 0 to 2",
        "[defaults]\ntemperature = nan => 2:1: defaults.temperature is \"nan\"; give a number from 0 to 2",
        "[defaults]\ntemperature = 1e999 => 2:1: defaults.temperature is \"1e999\"; give a number from 0 to 2",
        "[defaults]\nmodel = \"\" => 2:1: defaults.model is \"\"; give a line of 1 to 256 characters",
        "[defaults]\nmodel = \"a\\u001bb\" => 2:1: defaults.model is \"a\\u{1b}b\"; give a line of 1 to 256 characters",
        "[server]\nhost = \"localhost\" => 2:1: server.host is \"localhost\"; give an IP address such as 127.0.0.1",
        "[server]\nport = 65536 => 2:1: server.port is 65536; give a whole number from 0 to 65535",
        "[server]\ndata_dir = \" \" => 2:1: server.data_dir is \" \"; give the path of a folder",
        "[tools]\napproval = \"yolo\" => 2:1: tools.approval is \"yolo\"; give one of auto, supervised, read-only",
        "[server]\ntoken = \"sk-short\" => 2:1: server.token is ***; give a line of 16 to 1024 characters",
        "language = \"tlh\" => 1:1: language is \"tlh\"; give en, the only one so far",
    ] {
        check(row, code);
    }
}

#[test]
fn what_is_long_is_cut_and_counted_in_characters() {
    let key = "ф".repeat(5_000);
    let error = Desk::new()
        .here_says(format!("\"{key}\" = 1"))
        .refusal()
        .to_string();
    assert!(error.chars().count() < 200, "{error}");
    let model = "ф".repeat(257);
    let error = Desk::new().here_says(format!("x = 1\n[defaults]\nmodel = \"{model}\""));
    assert_eq!(error.refusal().code(), "config_unknown_key");
    let desk = Desk::new().here_says(format!("[defaults]\nmodel = \"{}\"", "ф".repeat(256)));
    assert_eq!(
        desk.resolve()
            .settings
            .defaults
            .model
            .unwrap()
            .chars()
            .count(),
        256
    );
    let error = Desk::new()
        .here_says(format!("[defaults]\nmodel = \"{model}\""))
        .refusal();
    assert_eq!(error.code(), "config_wrong_value");
    assert!(error.to_string().chars().count() < 200, "{error}");
}

#[test]
fn what_is_no_toml_is_told_without_repeating_the_line() {
    for (text, place) in [
        ("[providers.openai]\napi_key = sk-live-1234", "2:11"),
        ("[providers.openai]\napi_key = \"sk-live-1234", "2:24"),
        ("[providers.openai]\napi_key \"sk-live-1234\"", "2:9"),
        ("log = \"a\"\nlog = \"sk-live-1234\"", "2:1"),
        ("[a\nb = 1", "1:3"),
    ] {
        let error = Desk::new().here_says(text).refusal();
        assert_eq!(error.code(), "config_syntax", "{text}");
        let said = error.to_string();
        let begin = format!("./samovar.toml:{place}: this is not valid TOML: ");
        assert!(said.starts_with(&begin), "{said}");
        assert!(!said.contains("sk-live") && !said.contains('\n'), "{said}");
    }
}

// proves FC-3
#[test]
fn a_variable_is_told_by_its_name() {
    for row in [
        "SAMOVAR_PORT=http | config_wrong_type | server.port is \"http\"; give a whole number from 0 to 65535",
        "SAMOVAR_PORT=70000 | config_wrong_value | server.port is 70000; give a whole number from 0 to 65535",
        "SAMOVAR_HOST=localhost | config_wrong_value | server.host is \"localhost\"; give an IP address such as 127.0.0.1",
        "SAMOVAR_TOKEN=short | config_wrong_value | server.token is ***; give a line of 16 to 1024 characters",
        "SAMOVAR_REQUIRE_MODEL=maybe | config_wrong_type | models.require is \"maybe\"; give true or false",
        "SAMOVAR__DEFAULTS__TEMPERATURE=warm | config_wrong_type | defaults.temperature is \"warm\"; give a number from 0 to 2",
        "SAMOVAR__DEFAULTS__TEMPERATURE=NaN | config_wrong_value | defaults.temperature is \"NaN\"; give a number from 0 to 2",
        "SAMOVAR__DEFAULTS__MAX_TOKENS=99999999999999999999 | config_wrong_value | defaults.max_tokens is 99999999999999999999; give a whole number from 1 to 1000000",
        "OPENAI_API_KEY=sk-a\nb | config_wrong_value | providers.openai.api_key is ***; give a line of 1 to 4096 characters",
        "OPENAI_BASE_URL=user:sk-a@host/v1?key=sk-b\nc | config_wrong_value | providers.openai.api_base is \"***@host/v1?***\"; give a line of 1 to 2048 characters",
    ] {
        let cells: Vec<_> = row.splitn(3, " | ").collect();
        let [set, code, sentence] = cells.try_into().unwrap();
        let (name, value) = set.split_once('=').unwrap();
        Desk::new()
            .set(name, value)
            .refuses(code, &format!("{name}: {sentence}"));
    }
}

// proves FC-3
#[test]
fn an_unknown_variable_of_ours_is_told_with_the_nearest() {
    for (name, sentence) in [
        (
            "SAMOVAR__DEFAULTS__MODLE",
            "no key is set by the variable \"SAMOVAR__DEFAULTS__MODLE\"; did you mean SAMOVAR__DEFAULTS__MODEL?",
        ),
        (
            "SAMOVAR__PROVIDERS__OPENAI__APIKEY",
            "no key is set by the variable \"SAMOVAR__PROVIDERS__OPENAI__APIKEY\"; did you mean SAMOVAR__PROVIDERS__OPENAI__API_KEY?",
        ),
        (
            "SAMOVAR__PROVIDERS__OPNAI__API_KEY",
            "no key is set by the variable \"SAMOVAR__PROVIDERS__OPNAI__API_KEY\"; did you mean SAMOVAR__PROVIDERS__OPENAI__API_KEY?",
        ),
        (
            "SAMOVAR__",
            "no key is set by the variable \"SAMOVAR__\"; samovar config explain KEY shows the variable of a key",
        ),
    ] {
        Desk::new()
            .set(name, "sk-secret")
            .refuses("config_unknown_key", sentence);
    }
}

#[test]
fn a_variable_that_is_no_text_is_refused_and_not_repeated() {
    for name in ["DATA_DIR", "OPENAI_API_KEY", "SAMOVAR__DEFAULTS__MODEL"] {
        let desk = Desk::new().set_bytes(name, b"sk-\xff-secret");
        let sentence = format!("{name}: its value is not UTF-8; set it to text");
        desk.refuses("config_not_text", &sentence);
    }
    // What is nobody's key is nobody's business.
    Desk::new().set_bytes("EDITOR", b"\xff").resolve();
}

#[test]
fn the_first_mistake_of_a_file_is_the_one_that_is_told() {
    let desk = Desk::new().here_says("zeta = 1\nalpha = 2\n[defaults]\nmodel = 1\n");
    let told = desk.refusal().to_string();
    assert!(
        told.starts_with("./samovar.toml:1:1: there is no key \"zeta\""),
        "{told}"
    );
}
