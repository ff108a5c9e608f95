//! Pages of the web that models ask for.

use samovar_tools::page_as_markdown;

/// Bytes that one byte of a page can become: the 11 of a small link are written with its base of 2 KiB, in
/// which each byte may be escaped.
const MAX_GROWTH: usize = 512;

/// A page, whatever its bytes: its text has nothing that moves a cursor, and no more than the page could
/// hold.
pub(crate) fn web_page(data: &[u8]) {
    for content_type in [Some("text/html"), Some("text/plain"), None] {
        let Ok(text) = page_as_markdown(data, content_type, "https://tea.example/a/b") else {
            continue;
        };
        let most = MAX_GROWTH * (data.len() + 1);
        assert!(
            text.len() <= most,
            "{} bytes became {}",
            data.len(),
            text.len()
        );
        let is_control = |c: char| c.is_control() && c != '\n' && c != '\t';
        assert!(!text.contains(is_control), "{text:?}");
    }
}
