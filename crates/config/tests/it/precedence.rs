//! What counts where several say something, and the names that variables have.

use std::net::IpAddr;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use samovar_config::{Location, Origin, Settings};
use samovar_core::Approval;

use crate::desk::Desk;

// proves FC-3
#[test]
fn nothing_said_is_valid_and_gives_the_defaults_of_the_seeds() {
    let resolved = Desk::new().resolve();
    let settings = &resolved.settings;

    assert_eq!(*settings, Settings::default());
    assert_eq!(settings.defaults.model, None);
    assert_eq!(settings.defaults.max_tokens, 4096);
    assert_eq!(settings.defaults.temperature.to_string(), "0.7");
    assert_eq!(settings.defaults.max_iterations, 20);
    assert_eq!(settings.session.max_history_messages, 50);
    assert_eq!(settings.server.host, IpAddr::from([127, 0, 0, 1]));
    assert_eq!(settings.server.port, 4747);
    assert!(settings.tools.restrict_to_workspace);
    for key in resolved.keys().iter() {
        assert_eq!(resolved.origin(&key.name), Origin::Default);
    }
}

// proves FC-3
#[test]
fn a_flag_beats_a_variable_beats_this_folder_beats_the_user() {
    let mut desk = Desk::new().user_says("[defaults]\nmodel = \"of-user\"\n");
    let model = |desk: &Desk| {
        let resolved = desk.resolve();
        let model = resolved.settings.defaults.model.clone();
        (model.unwrap(), resolved.origin("defaults.model"))
    };
    let place = |file: PathBuf| Location {
        file,
        line: 2,
        column: 1,
    };

    let user = Origin::User(place(desk.user("samovar.toml")));
    assert_eq!(model(&desk), ("of-user".to_owned(), user));
    desk = desk.here_says("[defaults]\nmodel = \"of-here\"\n");
    let here = Origin::Here(place(desk.here("samovar.toml")));
    assert_eq!(model(&desk), ("of-here".to_owned(), here));
    desk = desk.set("AGENT_MODEL", "of-variable");
    let name = "AGENT_MODEL".to_owned();
    assert_eq!(
        model(&desk),
        ("of-variable".to_owned(), Origin::Variable { name })
    );
    desk = desk.set("SAMOVAR__DEFAULTS__MODEL", "of-its-own-variable");
    let name = "SAMOVAR__DEFAULTS__MODEL".to_owned();
    let (said, origin) = model(&desk);
    assert_eq!(
        (said.as_str(), origin),
        ("of-its-own-variable", Origin::Variable { name })
    );
    desk = desk.typed("--model", "defaults.model", "of-flag");
    let name = "--model".to_owned();
    assert_eq!(model(&desk), ("of-flag".to_owned(), Origin::Flag { name }));
}

#[test]
fn keys_of_one_table_come_from_where_each_is_said() {
    let desk = Desk::new()
        .user_says("[defaults]\nmax_tokens = 1\nmax_iterations = 1\n")
        .here_says("[defaults]\nmax_iterations = 2\n");
    let defaults = desk.resolve().settings.defaults;
    assert_eq!((defaults.max_tokens, defaults.max_iterations), (1, 2));
}

// proves AS-16, FC-3
#[test]
fn the_names_that_the_seeds_have_set_their_keys() {
    let desk = Desk::new()
        .set("CLAUDE_API_KEY", "sk-claude")
        .set("OPENAI_API_KEY", "sk-openai")
        .set("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
        .set("OLLAMA_HOST", "127.0.0.1:2")
        .set("DATA_DIR", "kept")
        .set("SAMOVAR_TOKEN", "0123456789abcdef")
        .set("SAMOVAR_HOST", "::1")
        .set("SAMOVAR_PORT", "0")
        .set("SAMOVAR_LOG", "info")
        .set("SAMOVAR_REQUIRE_MODEL", "1");
    let Settings {
        providers,
        server,
        models,
        log,
        ..
    } = desk.resolve().settings;

    let key = |name: &str| {
        providers[name]
            .api_key
            .as_ref()
            .unwrap()
            .expose()
            .to_owned()
    };
    assert_eq!(
        (key("anthropic"), key("openai")),
        ("sk-claude".into(), "sk-openai".into())
    );
    let base = |name: &str| providers[name].api_base.clone().unwrap();
    assert_eq!(base("openai"), "http://127.0.0.1:1/v1");
    assert_eq!(base("ollama"), "127.0.0.1:2");
    assert_eq!(server.data_dir, Some(desk.here("kept")));
    assert_eq!(server.token.unwrap().expose(), "0123456789abcdef");
    assert_eq!(
        (server.host.to_string(), server.port),
        ("::1".to_owned(), 0)
    );
    assert_eq!((log.as_str(), models.require), ("info", true));
}

#[test]
fn of_two_names_for_one_key_the_first_counts() {
    let both = Desk::new()
        .set("CLAUDE_API_KEY", "second")
        .set("ANTHROPIC_API_KEY", "first");
    let key = |desk: &Desk| {
        let providers = desk.resolve().settings.providers;
        providers["anthropic"]
            .api_key
            .as_ref()
            .unwrap()
            .expose()
            .to_owned()
    };
    assert_eq!(key(&both), "first");
    assert_eq!(key(&both.set("ANTHROPIC_API_KEY", "")), "second");
}

// proves FC-3
#[test]
fn every_key_has_a_variable_of_its_own_and_is_read_as_what_it_is() {
    let desk = Desk::new()
        .set("SAMOVAR__DEFAULTS__MAX_TOKENS", " 17 ")
        .set("SAMOVAR__DEFAULTS__TEMPERATURE", "1")
        .set("SAMOVAR__TOOLS__RESTRICT_TO_WORKSPACE", "No")
        .set("SAMOVAR__TOOLS__APPROVAL", "read-only")
        .set("SAMOVAR__PROVIDERS__LM_STUDIO__API_BASE", "http://box:1234")
        .set("SAMOVAR__LANGUAGE", "en");
    let settings = desk.resolve().settings;

    assert_eq!(settings.defaults.max_tokens, 17);
    assert_eq!(settings.defaults.temperature.to_string(), "1");
    assert!(!settings.tools.restrict_to_workspace);
    assert_eq!(settings.tools.approval, Some(Approval::ReadOnly));
    let studio = &settings.providers["lm-studio"];
    assert_eq!(studio.api_base.as_deref(), Some("http://box:1234"));
    assert_eq!(settings.language.as_deref(), Some("en"));
    assert!(settings.providers.len() == 1, "{:?}", settings.providers);
}

#[test]
fn an_empty_variable_counts_as_none() {
    let mut desk = Desk::new().user_says("[defaults]\nmodel = \"of-user\"\n");
    let names: Vec<_> = desk
        .sources
        .keys
        .iter()
        .flat_map(|key| key.variables.clone())
        .collect();
    for name in names {
        desk = desk.set(&name, " \t");
    }
    let resolved = desk.resolve();
    assert_eq!(resolved.settings.defaults.model.as_deref(), Some("of-user"));
    assert_eq!(resolved.settings.server, Settings::default().server);
}

#[test]
fn a_relative_folder_begins_where_it_is_written() {
    let data_dir = |desk: &Desk| desk.resolve().settings.server.data_dir.unwrap();
    let said = "[server]\ndata_dir = \"a/b\"\n";

    let user = Desk::new().user_says(said);
    assert_eq!(data_dir(&user), user.user("a/b"));
    let here = Desk::new().here_says(said);
    here.trust();
    assert_eq!(data_dir(&here), here.here("a/b"));
    let home = Desk::new().user_says("[server]\ndata_dir = \"~/kept\"\n");
    assert_eq!(data_dir(&home), home.home().join("kept"));
    let typed = Desk::new().typed("--data-dir", "server.data_dir", "/elsewhere");
    assert_eq!(data_dir(&typed), Path::new("/elsewhere"));
}

#[test]
fn a_folder_below_one_whose_name_is_no_text_is_refused_and_not_misspelt() {
    let mut desk = Desk::new();
    let name = std::ffi::OsString::from_vec(b"caf\xe9".to_vec());
    desk.sources.here = desk.sources.here.join(name);
    std::fs::create_dir(&desk.sources.here).unwrap();
    desk.resolve();
    let desk = desk.typed("--data-dir", "server.data_dir", "kept");
    assert_eq!(desk.refusal().code(), "config_not_text");
}

#[test]
fn the_users_folder_is_found_by_xdg_else_by_home_and_never_where_one_stands() {
    let desk = Desk::new();
    let elsewhere = desk.home().join("xdg");
    std::fs::create_dir_all(elsewhere.join("samovar")).unwrap();
    std::fs::write(elsewhere.join("samovar/samovar.toml"), "log = \"info\"").unwrap();

    let desk = desk.set("XDG_CONFIG_HOME", elsewhere.to_str().unwrap());
    assert_eq!(desk.resolve().settings.log, "info");
    for nowhere in ["", ".", "here", "../home/xdg"] {
        let desk = Desk::new()
            .set("XDG_CONFIG_HOME", nowhere)
            .set("HOME", nowhere);
        std::fs::create_dir_all(desk.here("samovar")).unwrap();
        std::fs::write(desk.here("samovar/samovar.toml"), "log = \"info\"").unwrap();
        assert_eq!(desk.resolve().settings.log, "warn", "{nowhere:?}");
    }
}

#[test]
fn who_stands_in_their_own_configuration_reads_it_once() {
    let mut desk = Desk::new().user_says("[server]\nport = 1\n");
    desk.sources.here = desk.user("");
    let resolved = desk.resolve();
    assert_eq!(resolved.settings.server.port, 1);
    assert!(matches!(resolved.origin("server.port"), Origin::User(_)));
}

// proves FC-3
#[test]
fn a_list_is_a_list_in_a_file_and_words_with_commas_in_a_variable() {
    let fallback = |desk: Desk| desk.resolve().settings.defaults.fallback.clone();
    let none: [&str; 0] = [];
    assert_eq!(fallback(Desk::new()), none);
    let said = Desk::new().user_says("[defaults]\nfallback = [\"a\", \"openai/b\"]\n");
    assert_eq!(fallback(said), ["a", "openai/b"]);
    let name = "SAMOVAR__DEFAULTS__FALLBACK";
    assert_eq!(
        fallback(Desk::new().set(name, "a, openai/b,")),
        ["a", "openai/b"]
    );
    assert_eq!(fallback(Desk::new().set(name, " ")), none);
}
