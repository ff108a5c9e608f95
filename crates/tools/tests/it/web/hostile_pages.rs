//! Pages that were made to cost time, stack or memory.

use serde_json::json;

use crate::web::site::{Site, html};

const MANY: usize = 100_000;

/// Pages whose text ends with the word.
fn pages() -> Vec<(&'static str, String)> {
    let end = "<p>the end";
    let nested = |open: &str| format!("<p>begin</p>{}{end}", open.repeat(MANY));
    let numbered = |open: &str| {
        let tags = (0..MANY).map(|at| open.replace('#', &at.to_string()));
        format!("{}{end}", tags.collect::<String>())
    };
    let megabytes = 5 * 1024 * 1024 - 2_000;
    vec![
        ("nested divs", nested("<div>")),
        (
            "nested divs that end",
            format!("{}{}{end}", "<div>".repeat(MANY), "</div>".repeat(MANY)),
        ),
        ("nested tables", nested("<table><tr><td>")),
        ("nested lists", nested("<ul><li>")),
        ("nested quotes", nested("<blockquote>")),
        ("nested links", numbered("<a href=/#>")),
        ("nested bold", numbered("<b id=#>")),
        ("bold in paragraphs", numbered("<p><b id=#>x")),
        ("nested spans", nested("<span>")),
        ("ends without a beginning", nested("</div></table></b></p>")),
        ("divs in tables", nested("<table><div>")),
        ("items that do not end", nested("<li>x")),
        ("headings", nested("<h1>x</h1>")),
        ("rows without a table", nested("<tr><td>x")),
        (
            "one tag with many attributes",
            format!("<p {}>{end}", numbered("a#=1 ")),
        ),
        ("many entities", nested("&amp;&lt;&#x41;")),
        ("code in code", nested("<pre><code>")),
        ("line breaks", nested("<br>")),
        ("comments", format!("{}{end}", "<!--".repeat(MANY) + "-->")),
        ("only less-than", "<".repeat(megabytes)),
        ("only greater-than", ">".repeat(megabytes)),
        ("only ampersands", "&".repeat(megabytes)),
        ("only tags", "<a>".repeat(megabytes / 3)),
        ("one long word", "x".repeat(megabytes)),
        (
            "one long attribute",
            format!("<a href=\"{}\">{end}", "x".repeat(megabytes)),
        ),
        ("scripts", nested("<script>x</script>")),
        ("templates", nested("<template>")),
        ("pictures", nested("<svg><foreignObject>")),
        ("hidden", nested("<div hidden>")),
    ]
}

// proves TL-2
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_page_takes_the_stack_or_the_time_of_the_server() {
    for (what, page) in pages() {
        let site = Site::saying(html(page)).await;
        let args = json!({"url": site.url("/"), "max_chars": 100_000});
        let outcome = site.yard().done("web_fetch", args).await;
        assert!(outcome.text.chars().count() < 100_600, "{what}");
    }
}

// proves TL-2
#[tokio::test]
async fn the_text_after_tags_that_were_too_many_or_too_deep_is_shown() {
    for open in [
        "<div>",
        "<span>",
        "<b>x</b>",
        "<blockquote>",
        "<table><tr><td>",
    ] {
        let page = format!("<p>the beginning</p>{}<p>the end</p>", open.repeat(30_000));
        let site = Site::saying(html(page)).await;
        let args = json!({"url": site.url("/"), "format": "text", "max_chars": 100_000});
        let text = site.yard().text("web_fetch", args).await;
        assert!(
            text.contains("the beginning") && text.contains("the end"),
            "{open}"
        );
    }
}

/// Each of 20,000 links is joined with it, whether or not the result is kept.
// proves TL-2
#[tokio::test]
async fn a_base_that_is_longer_than_a_link_may_be_is_no_base() {
    for (base, is_taken) in [
        ("/tea/".to_owned(), true),
        (format!("/{}/", "x".repeat(2_100)), false),
        // It becomes longer when it is escaped.
        (format!("/{}/", "é".repeat(500)), false),
    ] {
        let page = format!("<base href=\"{base}\"><p>a <a href=/cup>cup</a>, <a href=pot>pot</a>");
        let site = Site::saying(html(page)).await;
        let text = site
            .yard()
            .text("web_fetch", json!({"url": site.url("/")}))
            .await;
        let pot = site.url(if is_taken { "/tea/pot" } else { "/pot" });
        assert!(text.contains(&format!("[pot]({pot})")), "{text}");
        assert!(text.contains(&site.url("/cup")), "{text}");
    }
}
