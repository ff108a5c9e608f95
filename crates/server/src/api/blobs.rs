//! The bytes that messages name, under `/api/blobs`.

use axum::body::Body;
use axum::http::{HeaderValue, Response, header};
use samovar_core::image::ImageType;
use samovar_core::{Code, Error};
use samovar_locale as locale;
use samovar_wire::api::{BASE_PATH, BlobParams};

use super::state::{Call, Endpoint};

/// What has this name never changes.
const FOREVER: HeaderValue = HeaderValue::from_static("private, max-age=31536000, immutable");
/// A person may open it in a browser, where nothing of it may act.
const HARMLESS: HeaderValue = HeaderValue::from_static("default-src 'none'; sandbox");

pub(super) fn routes() -> Vec<Endpoint> {
    let path = format!("{BASE_PATH}/blobs/{{hash}}");
    vec![Endpoint::following::<_, String, _>(
        path,
        "Returns the bytes of an image that a message names.",
        blob,
    )]
}

async fn blob(call: Call, params: BlobParams) -> Result<Response<Body>, Error> {
    let engine = call.engine().await?;
    let found = engine.blobs().read(&params.hash).await.map_err(|broken| {
        tracing::error!(%broken, "a blob cannot be read");
        Error::new(Code::StoreFailed, locale::store::unreadable(&broken))
    })?;
    let Some(bytes) = found else {
        let why = locale::image::unknown(&params.hash);
        return Err(Error::new(Code::UnknownBlob, why));
    };
    let media_type = ImageType::of(&bytes).map_or("application/octet-stream", ImageType::as_str);
    let mut response = Response::new(Body::from(bytes.to_vec()));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    headers.insert(header::CACHE_CONTROL, FOREVER);
    headers.insert(header::CONTENT_SECURITY_POLICY, HARMLESS);
    Ok(response)
}
