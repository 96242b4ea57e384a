"""Client of svc over REST: `Client`, and `AsyncClient` with the same methods as coroutines."""

from .client import AsyncClient, Client
from .errors import AccessEndedError, StreamCutError, SvcApiError
from .events import StreamedEvent
from .request import CallOptions

__all__ = [
    "AccessEndedError",
    "AsyncClient",
    "CallOptions",
    "Client",
    "StreamCutError",
    "StreamedEvent",
    "SvcApiError",
]
