use samovar_core::image::ImageType;
use samovar_core::{BlobHash, ContextLimit, Role};

use super::super::Transcript;
use super::super::tests::{message, prompt};
use super::*;

/// A message of the user with an image of so many bytes.
fn picture(number: usize, bytes: u64) -> Arc<Message> {
    let image = Part::Image {
        blob: BlobHash::of(&[]),
        media_type: ImageType::Png,
        width: 1000,
        height: 750,
        bytes,
    };
    message(number, Role::User, vec![Part::text("look"), image])
}

// proves AS-30
#[test]
fn images_leave_before_any_text_oldest_first() {
    const MIB: u64 = 1 << 20;
    let all = vec![
        picture(0, 8 * MIB),
        picture(1, 7 * MIB),
        picture(2, 7 * MIB),
    ];
    let limit = |tokens| Some(ContextLimit::new("m", tokens));
    for (limit, images, wanted) in [
        (None, Images::Shown, [false, true, true]),
        (None, Images::Described, [false; 3]),
        (limit(1900), Images::Shown, [false, false, true]),
        (limit(400), Images::Shown, [false; 3]),
    ] {
        let transcript = Transcript::new(0, all.clone(), vec![0, 1, 2], None);
        let shown = transcript.show_in(prompt(Vec::new(), 10), limit.as_ref(), None, images);

        let has = |message: &Arc<Message>| message.blobs().count() == 1;
        let texts: Vec<_> = shown
            .messages
            .iter()
            .map(|message| message.text())
            .collect();
        let shown: Vec<_> = shown.messages.iter().map(has).collect();
        assert_eq!(shown, wanted, "{texts:?}");
        for (text, is_shown) in texts.iter().zip(wanted) {
            assert!(text.starts_with("look"), "{text}");
            assert_eq!(text.contains("An image of 1000 × 750 pixels"), !is_shown);
        }
    }
}
