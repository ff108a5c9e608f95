//! What is left of an address that may be repeated.

use samovar_locale::without_secrets;

#[test]
fn an_address_is_repeated_without_the_keys_that_may_stand_in_it() {
    for (address, shown) in [
        ("http://127.0.0.1:8000/v1", "http://127.0.0.1:8000/v1"),
        ("localhost:1234", "localhost:1234"),
        ("http://me:sk-SECRET@host/v1", "http://***@host/v1"),
        ("user:sk-SECRET@host/v1", "***@host/v1"),
        ("sk-SECRET@host", "***@host"),
        ("http://me:sk-SE@CRET@host", "http://***@host"),
        ("http://me:sk-SE?CRET@host", "http://***@host"),
        ("http://me:sk-SE/CRET@host", "http://***@host"),
        ("sk-SECRET@host://v1", "***@host://v1"),
        ("host/v1?key=sk-SECRET", "host/v1?***"),
        ("http://host?a=sk-SECRET@b", "http://***@b"),
        ("http:/me:sk-SECRET@host", "***@host"),
        (" http://host/#sk-SECRET", "http://host/#***"),
        ("", ""),
    ] {
        assert_eq!(without_secrets(address), shown, "{address}");
    }
}
