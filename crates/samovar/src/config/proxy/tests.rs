use samovar_server::providers::Way;

use super::*;

/// What is set, the file of the user last.
fn of(variables: &[(&str, &str)], file: &str) -> Result<ProxyConfig, ConfigError> {
    let folder = tempfile::tempdir().unwrap();
    let user = folder.path().join("samovar");
    std::fs::create_dir(&user).unwrap();
    std::fs::write(user.join("samovar.toml"), file).unwrap();
    let home = ("XDG_CONFIG_HOME", folder.path().to_str().unwrap());
    let sources = Sources {
        here: folder.path().to_owned(),
        environment: [home]
            .iter()
            .chain(variables)
            .map(|(name, value)| (name.into(), value.into()))
            .collect(),
        keys: crate::config::KEYS.clone(),
        ..Sources::default()
    };
    set_up(&sources.resolve().unwrap(), &sources)
}

/// How an address is asked: the proxy, or why there is none.
fn way(config: &ProxyConfig, url: &str) -> String {
    match config.way(&url.parse().unwrap()) {
        Way::Direct => "direct".to_owned(),
        Way::Exempt(origin) => format!("exempt by {origin}"),
        Way::Ignored(origin, _) => format!("{origin} ignored"),
        Way::Through(origin, proxy) => format!("{proxy} of {origin}"),
    }
}

const FAR: &str = "https://api.example.com/v1";
const PLAIN: &str = "http://model.example.com:8000/v1";

/// Variables, an address, and how it is asked.
const ROWS: &[(&str, &str, &str)] = &[
    ("", FAR, "direct"),
    ("HTTPS_PROXY=http://p:1", FAR, "http://p:1 of HTTPS_PROXY"),
    ("HTTPS_PROXY=http://p:1", PLAIN, "direct"),
    ("HTTP_PROXY=http://p:1", PLAIN, "http://p:1 of HTTP_PROXY"),
    ("HTTP_PROXY=http://p:1", FAR, "direct"),
    ("ALL_PROXY=http://p:1", FAR, "http://p:1 of ALL_PROXY"),
    ("all_proxy=http://p:1", PLAIN, "http://p:1 of all_proxy"),
    (
        "HTTPS_PROXY=q:2;https_proxy=p:1",
        FAR,
        "http://p:1 of https_proxy",
    ),
    (
        "ALL_PROXY=q:2;HTTPS_PROXY=p:1",
        FAR,
        "http://p:1 of HTTPS_PROXY",
    ),
    (
        "HTTPS_PROXY= ;ALL_PROXY=p:1",
        FAR,
        "http://p:1 of ALL_PROXY",
    ),
    (
        "HTTPS_PROXY=https://me:pw@p:1/",
        FAR,
        "https://p:1 of HTTPS_PROXY",
    ),
    (
        "SAMOVAR__MODELS__PROXY=p:1;ALL_PROXY=q:2",
        FAR,
        "http://p:1 of SAMOVAR__MODELS__PROXY",
    ),
    // A proxy of another kind may be for other programs.
    ("ALL_PROXY=socks5://p:1", FAR, "ALL_PROXY ignored"),
    ("HTTPS_PROXY=http://", FAR, "HTTPS_PROXY ignored"),
    (
        "HTTPS_PROXY=socks5h://q;HTTP_PROXY=p:1",
        PLAIN,
        "http://p:1 of HTTP_PROXY",
    ),
    // This machine.
    ("ALL_PROXY=p:1", "http://127.0.0.1:8000/v1", "direct"),
    ("ALL_PROXY=p:1", "http://127.8.9.1:8000/v1", "direct"),
    ("ALL_PROXY=p:1", "https://localhost/v1", "direct"),
    ("ALL_PROXY=p:1", "http://model.localhost/v1", "direct"),
    ("ALL_PROXY=p:1", "http://[::1]:11434/v1", "direct"),
    ("ALL_PROXY=p:1", "http://[::ffff:127.0.0.1]/v1", "direct"),
    ("ALL_PROXY=p:1", "http://0.0.0.0:11434/v1", "direct"),
    ("ALL_PROXY=socks5://p:1", "http://127.0.0.1/v1", "direct"),
    (
        "SAMOVAR__MODELS__PROXY=p:1",
        "http://127.0.0.1/v1",
        "direct",
    ),
    (
        "ALL_PROXY=p:1",
        "http://203.0.113.7/v1",
        "http://p:1 of ALL_PROXY",
    ),
    // Hosts that are exempt.
    (
        "ALL_PROXY=p:1;NO_PROXY=example.com",
        FAR,
        "exempt by NO_PROXY",
    ),
    (
        "ALL_PROXY=p:1;no_proxy=a.b, .example.com",
        FAR,
        "exempt by no_proxy",
    ),
    (
        "ALL_PROXY=p:1;NO_PROXY=a.b *.example.com",
        FAR,
        "exempt by NO_PROXY",
    ),
    ("ALL_PROXY=p:1;NO_PROXY=*", FAR, "exempt by NO_PROXY"),
    (
        "ALL_PROXY=p:1;NO_PROXY=203.0.113.0/24",
        "http://203.0.113.7/v1",
        "exempt by NO_PROXY",
    ),
    (
        "ALL_PROXY=p:1;NO_PROXY=ample.com,api.example",
        FAR,
        "http://p:1 of ALL_PROXY",
    ),
    (
        "ALL_PROXY=p:1;NO_PROXY=*;SAMOVAR__MODELS__NO_PROXY=b.c",
        FAR,
        "http://p:1 of ALL_PROXY",
    ),
    (
        "SAMOVAR__MODELS__PROXY=p:1;NO_PROXY=example.com",
        FAR,
        "exempt by NO_PROXY",
    ),
];

// proves MD-5
#[test]
fn a_proxy_is_that_of_the_configuration_else_of_the_environment_and_never_for_this_machine() {
    for (variables, url, wanted) in ROWS {
        let set: Vec<_> = variables
            .split(';')
            .filter_map(|one| one.split_once('='))
            .collect();
        let config = of(&set, "").unwrap();
        assert_eq!(way(&config, url), *wanted, "{variables} {url}");
    }
    let file = "models.proxy = \"http://f:3\"\nmodels.no_proxy = [\"b.c\"]\n";
    let config = of(&[("HTTPS_PROXY", "http://p:1")], file).unwrap();
    assert!(way(&config, FAR).starts_with("http://f:3 of /"));
    assert!(way(&config, PLAIN).starts_with("http://f:3 of /"));
    assert!(way(&config, "https://a.b.c").starts_with("exempt by /"));
}

// proves MD-5, FC-3
#[test]
fn a_proxy_that_cannot_be_used_is_refused_where_it_is_set_for_samovar() {
    for wrong in [
        "socks5://me:a-pass@p:1",
        "http://",
        "ftp://p",
        "http://me:a-pass@p:port",
    ] {
        let refusal = of(&[("SAMOVAR__MODELS__PROXY", wrong)], "").unwrap_err();
        assert_eq!(refusal.code(), "config_wrong_value");
        let said = refusal.to_string();
        assert!(
            said.starts_with("SAMOVAR__MODELS__PROXY: models.proxy"),
            "{said}"
        );
        assert!(said.contains("socks proxies are not supported"), "{said}");
        assert!(!said.contains("a-pass"), "{said}");
    }
}
