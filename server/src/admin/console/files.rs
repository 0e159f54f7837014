//! Serves the page's files, which are embedded in the program.

use axum::extract::Path;
use axum::response::{IntoResponse, Response};
use http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use http::{HeaderMap, StatusCode};
use rust_embed::RustEmbed;

#[derive(RustEmbed)]
#[folder = "console/page"]
struct Files;

pub(super) async fn index(headers: HeaderMap) -> Response {
    file("index.html", &headers)
}

pub(super) async fn other(Path(path): Path<String>, headers: HeaderMap) -> Response {
    file(&path, &headers)
}

fn file(path: &str, headers: &HeaderMap) -> Response {
    let Some((file, kind)) = Files::get(path).zip(kind(path)) else {
        return (StatusCode::NOT_FOUND, "no such file\n").into_response();
    };
    let hash: String = file.metadata.sha256_hash().iter().map(|byte| format!("{byte:02x}")).collect();
    let tag = format!("\"{hash}\"");
    // Revalidated on each request, so that a page never mixes two versions; usually unmodified.
    let named = [(CACHE_CONTROL, "no-cache".to_owned()), (ETAG, tag.clone())];
    let known = headers.get_all(IF_NONE_MATCH).iter().filter_map(|known| known.to_str().ok());
    if known.flat_map(|known| known.split(',')).any(|known| known.trim().trim_start_matches("W/") == tag) {
        return (StatusCode::NOT_MODIFIED, named).into_response();
    }
    (named, [(CONTENT_TYPE, kind)], file.data.into_owned()).into_response()
}

/// The media type of a file. Other file types are not served.
fn kind(path: &str) -> Option<&'static str> {
    match path.rsplit_once('.')?.1 {
        "html" => Some("text/html; charset=utf-8"),
        "js" => Some("text/javascript; charset=utf-8"),
        "css" => Some("text/css; charset=utf-8"),
        "svg" => Some("image/svg+xml"),
        "txt" => Some("text/plain; charset=utf-8"),
        _ => None,
    }
}
