//! Folders that cannot be used.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

use super::{check, line, wrong};

// proves FC-2, FC-6
#[tokio::test]
async fn a_data_directory_that_cannot_be_used_is_named_and_left_as_it_is() {
    const DIR: &str = "data_dir_unusable";
    const TOKEN: &str = "token_unusable";
    const STORE: &str = "store_unusable";
    check([
        line("run hi --data-dir /dev/null").is(3, DIR, "the data directory \"/dev/null\" is not a directory; choose another path"),
        line("sessions list").with("DATA_DIR", "/dev/null").is(3, DIR, "the data directory \"/dev/null\" is not a directory; choose another path"),
        line("stats --data-dir file").beside("file", b"").is(3, DIR, "the data directory \"{work}/file\" is not a directory; choose another path"),
        line("tools list --data-dir file/below").beside("file", b"").is(3, DIR, "the data directory \"{work}/file/below\" cannot be written: Not a directory (os error 20); choose another one"),
        line("serve --port 0 --data-dir /proc/nowhere").is(3, DIR, "the data directory \"/proc/nowhere\" cannot be written: No such file or directory (os error 2); choose another one"),
        wrong(["run", "hi", "--data-dir", ""]).is(2, "invalid_params", "--data-dir needs a value"),
        line("run hi --data-dir data").beside("data/token", b"short").is(3, TOKEN, "the file `token` in \"{work}/data\" cannot be used: the file `token` is too short to hold a token; delete it to get a new one"),
        line("token list --data-dir data").beside("data/tokens.json", b"{").is(3, TOKEN, "the file `tokens.json` in \"{work}/data\" cannot be used: invalid type: map, expected a sequence at line 1 column 0; fix it, or delete it and create the tokens again"),
        line("run hi --data-dir data").beside("data/journal", b"").is(3, STORE, "the journal in \"{work}/data\" cannot be opened: the store failed: {work}/data/journal: File exists (os error 17); it was not changed, choose another data directory or restore a backup"),
    ])
    .await;
}

// proves FC-2, FC-6
#[tokio::test]
async fn a_workspace_that_cannot_be_used_is_named() {
    const CODE: &str = "workspace_unusable";
    check([
        line("run hi --workspace nowhere").is(3, CODE, "there is no folder \"{work}/nowhere\"; create it, or choose another one with --workspace"),
        line("serve --port 0 --workspace nowhere").is(3, CODE, "there is no folder \"{work}/nowhere\"; create it, or choose another one with --workspace"),
        line("run hi --workspace file").beside("file", b"").is(3, CODE, "\"{work}/file\" is not a folder; choose one with --workspace"),
        line("tools list --workspace file").beside("file", b"").is(3, CODE, "\"{work}/file\" is not a folder; choose one with --workspace"),
        wrong(["run", "hi", "--workspace", ""]).is(2, "invalid_params", "--workspace needs a value"),
    ])
    .await;
}

// proves TL-12, FC-2, FC-6
#[tokio::test]
async fn an_address_that_others_can_reach_is_refused() {
    const TOKEN: &str = "the-token-of-an-operator";
    const CODE: &str = "address_refused";
    check([
        line("serve --host 0.0.0.0").is(3, CODE, "other machines can reach 0.0.0.0, so the server needs a token of yours: set SAMOVAR_TOKEN to at least 16 characters, or listen on 127.0.0.1"),
        line("serve --behind-proxy").with("SAMOVAR_HOST", "::").is(3, CODE, "other machines can reach ::, so the server needs a token of yours: set SAMOVAR_TOKEN to at least 16 characters, or listen on 127.0.0.1"),
        line("serve --host 192.0.2.1").with("SAMOVAR_TOKEN", TOKEN).is(3, CODE, "other machines can reach 192.0.2.1, and this server speaks no TLS: put a proxy that does in front and add --behind-proxy, or listen on 127.0.0.1"),
        line("serve --host 0.0.0.0 --behind-proxy").with("SAMOVAR_TOKEN", TOKEN).is(3, CODE, "0.0.0.0 stands for every address of this machine; set server.hosts to the names that clients use, such as [\"samovar.example\"]"),
        line("serve").with("SAMOVAR__SERVER__HOSTS", "https://samovar.example").is(3, "config_wrong_value", "SAMOVAR__SERVER__HOSTS: server.hosts is \"https://samovar.example\"; give hosts such as samovar.example or samovar.example:8443, without a scheme or a path"),
    ])
    .await;
}

// proves DU-13, FC-2, FC-6
#[tokio::test]
async fn a_folder_that_cannot_take_a_backup_or_is_none_is_named_and_nothing_is_changed() {
    const CODE: &str = "backup_unusable";
    const TYPED: &str = "invalid_params";
    let in_data = |args: &str| line(&format!("{args} --data-dir data"));
    let not_text = || OsString::from_vec(b"caf\xe9".to_vec());
    let hello = ["run", "hello", "--data-dir", "data"];
    check([
        line("backup").is(2, TYPED, "<FOLDER> is missing; type: samovar backup <FOLDER>"),
        wrong(["backup", ""]).is(2, TYPED, "<FOLDER> needs a value"),
        wrong(["backup".into(), not_text()]).is(2, TYPED, "an argument is not UTF-8; use UTF-8 text"),
        wrong(["restore".into(), not_text()]).is(2, TYPED, "an argument is not UTF-8; use UTF-8 text"),
        in_data("backup nowhere/saved").is(2, CODE, "\"{work}/nowhere/saved\" cannot be created: its parent folder must exist; give an absolute path"),
        in_data("backup file/saved").beside("file", b"").is(2, CODE, "\"{work}/file/saved\" cannot be created: its parent folder must exist; give an absolute path"),
        in_data("backup /").is(2, CODE, "\"/\" cannot be created: its parent folder must exist; give an absolute path"),
        in_data("backup taken").beside("taken/file", b"").is(2, CODE, "\"{work}/taken\" already exists; nothing was overwritten, name a new folder"),
        in_data("backup data/saved").is(2, CODE, "\"{work}/data/saved\" is inside the data directory, which the backup would include; name a folder elsewhere"),
        in_data("backup /proc/saved").is(2, CODE, "no backup was made in \"/proc/saved\": No such file or directory (os error 2); nothing was left there, free some space or fix the cause, then try again"),
        in_data("restore nowhere").is(2, CODE, "\"{work}/nowhere\" is not a samovar backup: it has no readable manifest.json; nothing was changed"),
        in_data("restore file").beside("file/manifest.json", b"{").is(2, CODE, "\"{work}/file\" is not a samovar backup: it has no readable manifest.json; nothing was changed"),
        in_data("restore nowhere").after(hello).is(2, CODE, "\"{work}/data\" already holds sessions; nothing was changed, add --force to move them aside"),
        in_data("restore nowhere --force").after(hello).is(2, CODE, "\"{work}/nowhere\" is not a samovar backup: it has no readable manifest.json; nothing was changed"),
    ])
    .await;
}
