use super::*;
use crate::figures::{told, within};

static FAST: Figure = within("CPU of `x`", "ms", 10.0);
static SMALL: Figure = within("size", "MB", 30.0);
static TOLD: Figure = told("told", "KiB");

fn row(figure: &'static Figure, values: &[f64]) -> Row {
    let measured = Sample::of(values.to_vec());
    Row { figure, measured }
}

fn page(rows: Vec<Row>) -> Page {
    Page {
        commit: Commit::read(std::path::Path::new("/nowhere")),
        began: Machine::read(),
        ended: Machine::read(),
        doubts: vec!["It was busy."],
        rows,
    }
}

#[test]
fn the_table_has_a_line_for_every_row_and_one_width_for_every_column() {
    let rows = [
        row(&FAST, &[4.0, 2.0, 12.04]),
        row(&SMALL, &[30.04]),
        row(&SMALL, &[]),
        row(&TOLD, &[7.0]),
    ];

    let wanted = "\
| figure     | budget  | median  | min     | max     | values | is           |
| ---------- | ------- | ------- | ------- | ------- | ------ | ------------ |
| CPU of `x` | ≤ 10 ms | 4.0 ms  | 2.0 ms  | 12.0 ms | 3      | ok           |
| size       | ≤ 30 MB | 30.0 MB | 30.0 MB | 30.0 MB | 1      | over         |
| size       | ≤ 30 MB | –       | –       | –       | 0      | not measured |
| told       | –       | 7.0 KiB | 7.0 KiB | 7.0 KiB | 1      | –            |
";
    assert_eq!(table(&rows), wanted);
}

// proves PF-1
#[test]
fn the_median_decides_and_what_meets_its_budget_is_within() {
    for (figure, values, wanted) in [
        (&FAST, &[10.0][..], "ok"),
        (&FAST, &[10.1], "over"),
        (&FAST, &[1.0, 2.0, 50.0], "ok"),
        (&FAST, &[9.0, 11.0, 11.0], "over"),
        (&FAST, &[], "not measured"),
        (&TOLD, &[99.0], "–"),
        (&TOLD, &[], "not measured"),
    ] {
        assert_eq!(row(figure, values).standing(), wanted, "{values:?}");
    }
}

#[test]
fn the_page_names_what_is_over_its_budget_and_why_a_row_has_no_result() {
    let page = page(vec![
        row(&FAST, &[11.0]),
        row(&SMALL, &[]),
        row(&SMALL, &[31.0]),
    ]);

    let text = page.to_string();

    assert!(
        text.starts_with("# Results\n\nOf an unknown commit.\nOn "),
        "{text}"
    );
    let table = format!("\nIt was busy.\n\n{}", table(&page.rows));
    assert!(text.contains(&table), "{text}");
    assert!(
        text.contains("\nNot measured: size: nothing was measured\n"),
        "{text}"
    );
    assert!(text.ends_with("\nOver budget: CPU of `x`; size."), "{text}");
    let within = self::page(vec![row(&FAST, &[1.0])]).to_string();
    assert!(within.ends_with("\nNo row is over its budget."), "{within}");
    assert_eq!(
        (page.unmeasured(), page.name().as_str()),
        (1, "no-commit.md")
    );
}
