//! The plural rules, against the rows of CLDR.

use samovar_locale::plural::{Form, chinese, east_slavic, english};

/// The form of every one of these numbers.
fn check(rule: fn(u64) -> Form, form: Form, counts: &[u64]) {
    for count in counts {
        assert_eq!(rule(*count), form, "{count}");
    }
}

#[test]
fn english_tells_one_from_all_others() {
    check(english, Form::One, &[1]);
    check(
        english,
        Form::Other,
        &[0, 2, 5, 10, 11, 21, 22, 101, 111, 1_000_001, u64::MAX],
    );
}

#[test]
fn russian_and_ukrainian_go_by_the_last_digits() {
    check(
        east_slavic,
        Form::One,
        &[1, 21, 31, 101, 121, 1001, 1_000_001],
    );
    check(
        east_slavic,
        Form::Few,
        &[2, 3, 4, 22, 23, 24, 102, 1002, 10_052],
    );
    check(
        east_slavic,
        Form::Many,
        &[
            0,
            5,
            6,
            9,
            10,
            11,
            12,
            13,
            14,
            15,
            19,
            20,
            25,
            100,
            111,
            112,
            114,
            1011,
            1_000_000,
            u64::MAX,
        ],
    );
}

#[test]
fn chinese_counts_everything_alike() {
    check(chinese, Form::Other, &[0, 1, 2, 5, 11, 21, 101, u64::MAX]);
}
