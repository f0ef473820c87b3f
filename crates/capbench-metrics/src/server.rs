//! The page for scrapers.

use capbench_http::header::{ACCEPT, ALLOW, CONTENT_TYPE, HeaderValue};
use capbench_http::{Answer, AnswerBody, Incoming, Method, Request, Response, StatusCode, text};

use crate::series::{Form, Metrics};

/// The only page.
const PATH: &str = "/metrics";

impl Answer for Metrics {
    fn answer(&self, request: Request<Incoming>) -> impl Future<Output = Response<AnswerBody>> + Send {
        std::future::ready(answer(&request, self))
    }
}

fn answer(request: &Request<Incoming>, metrics: &Metrics) -> Response<AnswerBody> {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        let mut refusal = text(StatusCode::METHOD_NOT_ALLOWED, "GET and HEAD only\n".into());
        refusal.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        return refusal;
    }
    if request.uri().path() != PATH {
        return text(StatusCode::NOT_FOUND, format!("the metrics are at {PATH}\n"));
    }
    let form = form(request.headers().get(ACCEPT).map(HeaderValue::as_bytes));
    let mut response = text(StatusCode::OK, metrics.text(form));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(form.content_type()));
    response
}

/// The form that a client asks for (RFC 9110, Accept): OpenMetrics only if it is named and not excluded by `q=0`.
fn form(accept: Option<&[u8]>) -> Form {
    let accept = accept.and_then(|value| std::str::from_utf8(value).ok()).unwrap_or_default();
    let wants = |range: &str| {
        let mut parts = range.split(';').map(str::trim);
        let is_named =
            parts.next().is_some_and(|name| name.eq_ignore_ascii_case("application/openmetrics-text"));
        is_named && !parts.any(|part| matches!(part, "q=0" | "q=0.0" | "q=0.00" | "q=0.000"))
    };
    if accept.split(',').any(wants) { Form::OpenMetrics } else { Form::Prometheus }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn openmetrics_is_for_those_who_ask_for_it() {
        let prometheus = "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,\
                          text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
        for (accept, expected) in [
            (Some(prometheus), Form::OpenMetrics),
            (Some("text/plain;version=0.0.4, application/openmetrics-text;q=0"), Form::Prometheus),
            (Some("*/*"), Form::Prometheus),
            (None, Form::Prometheus),
        ] {
            assert_eq!(form(accept.map(str::as_bytes)), expected, "{accept:?}");
        }
    }
}
