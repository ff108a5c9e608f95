//! What only this server can have made: signatures of thinking, and thinking that is hidden.

use bytes::Bytes;
use sha2::{Digest, Sha256};

/// The signature of a block of thinking.
pub(super) fn signature(thinking: &str) -> String {
    let digest = Sha256::new()
        .chain_update("thinking of the scripted model\0")
        .chain_update(thinking)
        .finalize();
    format!("sig{:x}", Bytes::copy_from_slice(&digest))
}

/// The opaque data of a block of redacted thinking: its signature, then the text itself.
pub(super) fn redacted(thinking: &str) -> String {
    let text = Bytes::copy_from_slice(thinking.as_bytes());
    format!("{}{text:x}", signature(thinking))
}

/// Whether `data` was made by [`redacted`].
pub(super) fn is_redacted(data: &str) -> bool {
    let length = signature("").len();
    let text = data.get(length..).and_then(unhex);
    text.is_some_and(|text| redacted(&text) == data)
}

fn unhex(text: &str) -> Option<String> {
    let digits = text.as_bytes().chunks(2);
    let bytes = digits.map(|pair| {
        let pair = std::str::from_utf8(pair).ok()?;
        u8::from_str_radix(pair, 16).ok()
    });
    String::from_utf8(bytes.collect::<Option<Vec<_>>>()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_data_that_was_made_here_is_known_again() {
        for text in ["", "Hm.", "žluť"] {
            let data = redacted(text);
            assert!(is_redacted(&data));
            assert!(!is_redacted(&data[1..]));
            assert!(!is_redacted(&format!("{data}00")));
            assert!(!is_redacted(&data.to_uppercase()));
        }
        assert_ne!(signature("a"), signature("b"));
        for other in ["", "sig", "žluť"] {
            assert!(!is_redacted(other));
        }
    }
}
