"""How an operation becomes a request, and a refusal an error."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple, TypedDict, Union
from urllib.parse import quote

import httpx

from .errors import SvcApiError

PATIENCE_SECONDS = 60.0


class CallOptions(TypedDict, total=False):
    """Of one call."""

    #: A repeat with the same key and body starts nothing new and gets the first answer.
    idempotency_key: str
    #: Tenant that a service account acts in.
    tenant: str
    #: W3C trace context of the caller.
    traceparent: str
    #: Of streams: the id of the last event that was seen; the stream goes on after it.
    last_event_id: Union[int, str]
    #: Of streams: False raises a cut, and the caller resumes. Default: the stream resumes by itself.
    resume: bool
    #: Of streams: how long the node may be away before the stream fails. Default: one minute.
    patience_seconds: float
    #: Of calls that are no streams. Default: that of the client.
    timeout_seconds: float


@dataclass(frozen=True)
class Route:
    """How an operation is sent; made by the generator."""

    method: str
    #: Parameters as `{name}`.
    path: str
    query: Tuple[str, ...]
    #: `json`: the other members of the input; a media type: the member `body`; None: there is none.
    body: Optional[str]
    answer: str

    @property
    def resumes(self) -> bool:
        """Whether its stream can go on after an event."""
        return self.answer == "stream" and "last_event_id" in self.query


Params = List[Tuple[str, Union[str, int, float, bool, None]]]


class Request(NamedTuple):
    method: str
    path: str
    params: Params
    headers: Dict[str, str]
    content: Optional[bytes]


_ACCEPTED = {"json": "application/json", "text": "*/*", "bytes": "*/*", "stream": "text/event-stream"}
# Values of path parameters that would name another path: URLs drop or fold them.
_UNFIT = ("", ".", "..")


def request_of(
    route: Route, given: Mapping[str, Any], needed: Sequence[str], options: CallOptions, token: Optional[str]
) -> Request:
    """An input that may be absent is absent when it is None."""
    rest = {key: value for key, value in given.items() if value is not None or key in needed}
    path = route.path
    for name in [part[1:-1] for part in route.path.split("/") if part.startswith("{")]:
        part = str(rest.pop(name, ""))
        if part in _UNFIT:
            raise ValueError(f"{name}: expected a value for the path {route.path}")
        path = path.replace("{" + name + "}", quote(part, safe=""))
    params: Params = []
    for name in route.query:
        given_value = rest.pop(name, None)
        values = given_value if isinstance(given_value, (list, tuple)) else [given_value]
        params += [(name, _text(one)) for one in values if one is not None]
    content_type, content = _body_of(route, rest)
    headers = {"accept": _ACCEPTED[route.answer]}
    optional = {
        "authorization": None if token is None else f"Bearer {token}",
        "content-type": content_type,
        "idempotency-key": options.get("idempotency_key"),
        "x-tenant-id": options.get("tenant"),
        "traceparent": options.get("traceparent"),
        "last-event-id": options.get("last_event_id"),
    }
    headers.update({name: str(value) for name, value in optional.items() if value is not None})
    return Request(route.method, path, params, headers, content)


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _body_of(route: Route, rest: Mapping[str, Any]) -> Tuple[Optional[str], Optional[bytes]]:
    if route.body is None:
        return None, None
    body = rest.get("body")
    if isinstance(body, (str, bytes)):
        content_type = "application/yaml" if route.body == "json" else route.body
        return content_type, body.encode() if isinstance(body, str) else body
    if route.body != "json":
        return None, None
    return "application/json", json.dumps(rest if body is None else body).encode()


def refusal_of(response: httpx.Response) -> SvcApiError:
    """Error bodies are `{error: TEXT}` or `{error: CODE, message: TEXT}`. The body must have been read."""
    wait = response.headers.get("retry-after", "")
    seconds = float(wait) if wait.isdigit() else None
    try:
        body = response.json()
    except ValueError:
        # A proxy in between answered with something else than JSON.
        body = None
    if not isinstance(body, dict) or not isinstance(body.get("error"), str):
        excerpt = f"status {response.status_code}: {response.text[:200]}"
        return SvcApiError(response.status_code, excerpt, retry_after_seconds=seconds)
    error, message, details = body["error"], body.get("message"), body.get("details")
    if isinstance(message, str):
        return SvcApiError(
            response.status_code, message, code=error, details=details, retry_after_seconds=seconds
        )
    return SvcApiError(response.status_code, error, details=details, retry_after_seconds=seconds)
