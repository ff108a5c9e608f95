//! Tools behind a webhook, and the addresses that they may have.

use samovar_core::tool::DeclaredEffect;

use crate::desk::Desk;

const TOOLS: &str = r#"
[egress]
allow = ["10.2.0.0/16", "127.0.0.1:8080"]

[tools.custom.book_table]
description = "Books a table."
url = "https://example.com/hook?api_key=s3cret"
effect = "idempotent"
timeout = 7
parameters = '''
{
  "type": "object"
}
'''

[tools.custom.look-up]
url = "http://10.2.0.1/"
"#;

// proves TL-17
#[test]
fn tools_have_the_names_that_a_person_gives_them() {
    let resolved = Desk::new().user_says(TOOLS).resolve();
    assert_eq!(
        resolved.settings.egress.allow,
        ["10.2.0.0/16", "127.0.0.1:8080"]
    );
    let custom = &resolved.settings.tools.custom;
    assert_eq!(custom.keys().collect::<Vec<_>>(), ["book_table", "look-up"]);
    let book = &custom["book_table"];
    assert_eq!(
        (book.effect, book.timeout),
        (Some(DeclaredEffect::Idempotent), Some(7))
    );
    assert!(book.parameters.as_ref().unwrap().contains("object"));
    assert!(!format!("{book:?}").contains("s3cret"), "{book:?}");

    let rows: Vec<_> = resolved
        .rows()
        .filter(|row| row.key.contains("custom"))
        .collect();
    assert_eq!(rows.len(), 6);
    let url = rows
        .iter()
        .find(|row| row.key == "tools.custom.book_table.url")
        .unwrap();
    assert!(!format!("{url:?}").contains("s3cret"), "{url:?}");
    let explained = resolved.explain("tools.custom.look-up.url").unwrap();
    assert_eq!(explained.value.unwrap(), "http://10.2.0.1/");
    assert!(explained.needs_trust);
}

// proves FC-3
#[test]
fn what_a_tool_cannot_have_is_told_where_it_stands() {
    for (text, code, sentence) in [
        (
            "[tools.custom.book]\nurll = \"x\"\n",
            "config_unknown_key",
            "samovar.toml:2:1: ",
        ),
        (
            "[tools.custom.\"a b\"]\nurl = \"x\"\n",
            "config_unknown_key",
            "samovar.toml:1:15: ",
        ),
        (
            "[tools.custom.book]\ntimeout = 3601\n",
            "config_wrong_value",
            "tools.custom.book.timeout is 3601; give a whole number from 1 to 3600",
        ),
        (
            "[tools.custom.book]\nparameters = \"[]\"\n",
            "config_wrong_value",
            "give a JSON object as text",
        ),
        (
            "[tools.custom.book]\neffect = \"none\"\n",
            "config_wrong_value",
            "idempotent",
        ),
        (
            "[tools.custom]\nbook = 1\n",
            "config_wrong_type",
            "[tools.custom.book]",
        ),
        (
            "[egress]\nallow = \"10.0.0.0/8\"\n",
            "config_wrong_type",
            "a list",
        ),
        ("[egress]\nallow = [1]\n", "config_wrong_type", "a list"),
    ] {
        let error = Desk::new().user_says(text).refusal();
        assert_eq!(error.code(), code, "{error}");
        assert!(error.to_string().contains(sentence), "{error}");
    }
}

// proves FC-3
#[test]
fn a_variable_opens_addresses_and_a_strangers_file_does_not() {
    let resolved = Desk::new()
        .set("SAMOVAR__EGRESS__ALLOW", " 10.2.0.0/16, ::1 ,")
        .resolve();
    assert_eq!(resolved.settings.egress.allow, ["10.2.0.0/16", "::1"]);
    for text in [
        "[egress]\nallow = [\"127.0.0.1\"]\n",
        "[tools.custom.book]\nurl = \"http://example.com\"\n",
        "[tools.custom.book]\ndescription = \"x\"\n",
    ] {
        let desk = Desk::new().here_says(text);
        assert_eq!(desk.refusal().code(), "config_untrusted", "{text}");
        desk.trust();
        desk.resolve();
    }
}
