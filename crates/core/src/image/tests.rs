use super::*;
use crate::Part;

/// Images of 3 by 2 pixels, as an image editor writes them.
const SAMPLES: [(&str, ImageType, &[u8]); 9] = [
    ("plain", ImageType::Png, include_bytes!("samples/plain.png")),
    (
        "baseline",
        ImageType::Jpeg,
        include_bytes!("samples/baseline.jpg"),
    ),
    (
        "progressive",
        ImageType::Jpeg,
        include_bytes!("samples/progressive.jpg"),
    ),
    (
        "with restart markers",
        ImageType::Jpeg,
        include_bytes!("samples/restarts.jpg"),
    ),
    (
        "with a whole JPEG as its thumbnail",
        ImageType::Jpeg,
        include_bytes!("samples/thumbnail.jpg"),
    ),
    (
        "lossy",
        ImageType::WebP,
        include_bytes!("samples/lossy.webp"),
    ),
    (
        "lossless",
        ImageType::WebP,
        include_bytes!("samples/lossless.webp"),
    ),
    (
        "with transparency",
        ImageType::WebP,
        include_bytes!("samples/alpha.webp"),
    ),
    (
        "moving",
        ImageType::WebP,
        include_bytes!("samples/moving.webp"),
    ),
];

// proves AS-30
#[test]
fn an_image_is_known_by_its_bytes_and_ends_where_it_says() {
    for (name, media_type, bytes) in SAMPLES {
        let polyglot = [bytes, b"PK\x03\x04 what follows"].concat();
        let image = Image::new(polyglot).unwrap();
        let Part::Image { width, height, .. } = Part::from(&image) else {
            panic!("{name}: an image is the part of an image");
        };
        assert_eq!(
            (image.media_type, width, height),
            (media_type, 3, 2),
            "{name}"
        );
        assert_eq!(**image.bytes(), *bytes, "{name}: what follows is cut off");
        assert_eq!(*image.hash(), BlobHash::of(bytes), "{name}");
    }
}

// proves AS-30
#[test]
fn an_image_that_is_cut_anywhere_is_refused_and_no_changed_byte_ends_the_server() {
    for (name, _, bytes) in SAMPLES {
        for end in 0..bytes.len() {
            let refused = Image::new(bytes[..end].to_vec());
            let code = refused.map_err(|error| error.code);
            assert!(
                matches!(code, Err(Code::InvalidImage)),
                "{name} of {end} bytes: {code:?}"
            );
        }
        for at in 0..bytes.len() {
            for byte in [0, 0xff, bytes[at] ^ 0x80] {
                let mut changed = bytes.to_vec();
                changed[at] = byte;
                let _some_are_still_images = Image::new(changed).is_ok();
            }
        }
    }
    let wide = Image::new(include_bytes!("samples/wide.png").to_vec());
    assert_eq!(wide.unwrap_err().code, Code::ImageTooLarge, "8,001 pixels");
}
