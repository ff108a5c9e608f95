//! Images that come with a message: what is accepted, what a model is shown, and when the bytes go.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::Method;
use samovar_model_server::{Reply, page, say};
use samovar_testkit::{Answer, App, AppBuilder};
use serde_json::{Value, json};

/// A PNG of this size, as far as its header tells, with so many bytes of anything in it.
pub(crate) fn png(width: u32, height: u32, bytes: usize) -> Vec<u8> {
    let chunk = |name: &[u8; 4], data: &[u8]| {
        let length = u32::try_from(data.len()).unwrap().to_be_bytes();
        [&length, name.as_slice(), data, &[0; 4]].concat()
    };
    let size = [width.to_be_bytes(), height.to_be_bytes()].concat();
    let head = chunk(b"IHDR", &[size.as_slice(), &[8, 2, 0, 0, 0]].concat());
    let data = chunk(b"IDAT", &vec![7; bytes]);
    [
        b"\x89PNG\r\n\x1a\n",
        head.as_slice(),
        &data,
        &chunk(b"IEND", b""),
    ]
    .concat()
}

fn message(session: &str, images: &[Vec<u8>]) -> Value {
    let attachment = |bytes: &Vec<u8>| json!({"data": STANDARD.encode(bytes)});
    let attachments: Vec<_> = images.iter().map(attachment).collect();
    json!({"sessionId": session, "content": "what is this?", "attachments": attachments})
}

async fn send(app: &App, session: &str, images: &[Vec<u8>]) -> Answer {
    app.call("sendMessage", message(session, images)).await
}

pub(crate) fn blobs(app: &App) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(app.data_dir().join("blobs")) else {
        return Vec::new();
    };
    let name = |entry: std::io::Result<std::fs::DirEntry>| entry.unwrap().file_name();
    entries
        .map(|entry| name(entry).into_string().unwrap())
        .collect()
}

/// Waits until so many blobs are there.
pub(crate) async fn come_to(app: &App, count: usize) {
    while blobs(app).len() != count {
        tokio::task::yield_now().await;
    }
}

async fn speaking(row: &'static str, model: &str, replies: impl IntoIterator<Item = Reply>) -> App {
    let builder = AppBuilder::new().provider(row, model);
    builder.start(replies.into_iter().collect::<Vec<_>>()).await
}

// proves AS-30
#[tokio::test]
async fn an_image_is_kept_once_shown_in_each_dialect_and_goes_with_its_last_session() {
    let picture = png(640, 480, 900);
    let data = STANDARD.encode(&picture);
    let url = format!("data:image/png;base64,{data}");
    let in_openai = json!({"type": "image_url", "image_url": {"url": url}});
    let source = json!({"type": "base64", "media_type": "image/png", "data": data});
    for (row, model, pointer, shown) in [
        ("openai", "gpt-4o", "/messages/1/content/1", in_openai),
        (
            "anthropic",
            "claude-test",
            "/messages/0/content/1/source",
            source,
        ),
    ] {
        let app = speaking(row, model, [say("a cat"), say("a cat"), say("a cat")]).await;
        let (one, other) = (app.session().await, app.session().await);

        for session in [&one, &other] {
            let answer = send(&app, session, std::slice::from_ref(&picture)).await;
            assert_eq!(answer.status, 200, "{row}: {answer:?}");
        }

        let prompt = app.model.prompt(0).await.unwrap();
        assert_eq!(
            prompt.body().pointer(pointer),
            Some(&shown),
            "{row}: {}",
            prompt.body()
        );
        let rows = app.ok("getMessages", json!({"sessionId": one})).await;
        let [hash] = blobs(&app).try_into().unwrap();
        let part = json!({"type": "image", "blob": hash, "mediaType": "image/png",
            "width": 640, "height": 480, "bytes": picture.len()});
        assert_eq!(rows[0]["parts"][1], part, "{row}");
        assert_eq!(rows[0]["content"], "what is this?");
        let path = format!("/api/blobs/{hash}");
        let response = app.request(Method::GET, &path).send().await.unwrap();
        let header = |name: &str| response.headers()[name].to_str().unwrap().to_owned();
        assert_eq!(header("content-type"), "image/png");
        assert_eq!(header("x-content-type-options"), "nosniff");
        assert!(header("content-security-policy").contains("sandbox"));
        assert!(header("cache-control").contains("immutable"));
        assert_eq!(response.bytes().await.unwrap(), picture);

        app.ok("deleteSession", json!({"sessionId": one})).await;
        let app = app.restart().await;
        send(&app, &other, &[]).await;
        assert_eq!(blobs(&app), [hash], "{row}: the other session has it still");
        app.ok("deleteSession", json!({"sessionId": other})).await;
        come_to(&app, 0).await;
        assert_eq!(app.get(&path).await.code(), "unknown_blob");
        assert_eq!(
            app.get("/api/blobs/..%2Ftoken").await.code(),
            "invalid_params"
        );
    }
}

// proves AS-30
#[tokio::test]
async fn what_is_no_whole_image_or_too_much_is_refused_before_anything_is_kept() {
    let app = speaking("openai", "gpt-4o", []).await;
    let session = app.session().await;
    let small = png(1, 1, 10);
    let cut = small[..small.len() - 5].to_vec();
    let large = png(1, 1, (4 << 20) + (60 << 10));
    let svg = b"<svg xmlns='http://www.w3.org/2000/svg'/>".to_vec();
    for (images, status, code) in [
        (vec![small.clone(); 9], 400, "invalid_params"),
        (vec![large; 5], 413, "image_too_large"),
        (vec![png(1, 1, 5 << 20)], 413, "image_too_large"),
        (vec![png(40_000, 1, 1)], 413, "image_too_large"),
        (vec![png(0, 1, 1)], 400, "invalid_image"),
        (vec![cut], 400, "invalid_image"),
        (vec![svg], 400, "invalid_image"),
        (vec![b"GIF89a\x01\0\x01\0".to_vec()], 400, "invalid_image"),
        (vec![b"%PDF-1.7".to_vec()], 400, "invalid_image"),
        (vec![Vec::new()], 400, "invalid_image"),
    ] {
        let answer = send(&app, &session, &images).await;
        assert_eq!((answer.status, answer.code()), (status, code), "{answer:?}");
        assert!(!answer.body.to_string().contains("iVBOR"), "{answer:?}");
    }
    let mut broken = message(&session, &[]);
    broken["attachments"] = json!([{"data": "not base64!"}]);
    assert_eq!(
        app.call("sendMessage", broken).await.code(),
        "invalid_image"
    );
    // Other routes take no longer bodies than before.
    let long =
        json!({"sessionId": session, "message": {"role": "user", "content": "x".repeat(2 << 20)}});
    assert_eq!(
        app.call("appendMessage", long).await.code(),
        "body_too_large"
    );
    let rows = app.ok("getMessages", json!({"sessionId": session})).await;
    assert_eq!((rows, blobs(&app)), (json!([]), Vec::new()));
}

// proves AS-30, SA-10
#[tokio::test]
async fn a_message_that_comes_again_has_the_same_images_and_what_follows_one_is_cut_off() {
    let app = speaking("openai", "gpt-4o", [say("a cat")]).await;
    let session = app.session().await;
    let polyglot = [png(2, 2, 10), b"PK\x03\x04 more".to_vec()].concat();
    let mut said = message(&session, &[polyglot]);
    said["messageId"] = json!("mine");
    for _ in 0..2 {
        let answer = app.call("sendMessage", said.clone()).await;
        assert_eq!(answer.body["text"], "a cat", "{answer:?}");
    }
    let app = app.restart().await;
    assert_eq!(app.call("sendMessage", said).await.status, 200);
    for images in [vec![], vec![png(3, 2, 10)]] {
        let mut other = message(&session, &images);
        other["messageId"] = json!("mine");
        let answer = app.call("sendMessage", other).await;
        assert_eq!(answer.code(), "message_conflict", "{answer:?}");
    }
    let [hash] = blobs(&app).try_into().unwrap();
    let kept = app.request(Method::GET, &format!("/api/blobs/{hash}"));
    let kept = kept.send().await.unwrap().bytes().await.unwrap();
    assert_eq!(kept, png(2, 2, 10));
    assert_eq!(app.model.prompts().len(), 1);

    app.ok("undo", json!({"sessionId": session})).await;
    come_to(&app, 0).await;
}

// proves AS-30
#[tokio::test]
async fn a_model_without_images_is_told_of_earlier_ones_and_refused_new_ones() {
    let app = speaking("openai", "gpt-4o", [say("a cat"), say("so you say")]).await;
    let session = app.session().await;
    send(&app, &session, &[png(640, 480, 10)]).await;
    app.ok(
        "updateSession",
        json!({"sessionId": session, "model": "gpt-3.5-turbo"}),
    )
    .await;

    let answer = send(&app, &session, &[png(640, 480, 10)]).await;
    assert_eq!(
        (answer.status, answer.code()),
        (422, "model_without_images")
    );
    assert!(answer.body.to_string().contains("gpt-5-mini"), "{answer:?}");
    let answer = send(&app, &session, &[]).await;
    assert_eq!(answer.body["text"], "so you say");
    let said = app.model.prompt(1).await.unwrap().body()["messages"].to_string();
    assert!(
        said.contains("An image of 640 × 480 pixels: this model takes no images"),
        "{said}"
    );
    assert!(!said.contains("base64"), "{said}");
}

// proves AS-30
#[tokio::test]
async fn a_first_refusal_ends_the_turn_and_is_remembered() {
    let why = "This model does not support image input.";
    let body = json!({"error": {"message": why, "type": "invalid_request_error"}});
    let refused = page(400, "application/json", body.to_string());
    let app = speaking("custom", "blind", [refused, say("hello")]).await;
    let session = app.session().await;

    let answer = send(&app, &session, &[png(1, 1, 1)]).await;
    assert!(
        answer.body.to_string().contains("images_refused"),
        "{answer:?}"
    );
    let answer = send(&app, &session, &[png(1, 1, 1)]).await;
    assert_eq!(answer.code(), "model_without_images");
    assert_eq!(send(&app, &session, &[]).await.body["text"], "hello");
}
