"""Streams of server-sent events: their records, and what resumes them after a cut."""

from __future__ import annotations

import json
import random
import time
from dataclasses import dataclass
from typing import Any, Generic, Iterator, List, Optional, TypeVar, Union

import httpx

from .errors import AccessEndedError, StreamCutError, SvcApiError

Event = TypeVar("Event")

# Three missed heartbeats of the node.
SILENCE_SECONDS = 45.0
# A connection that was open for this long was healthy, even without events.
_HEALTHY_SECONDS = 5.0
_FIRST_DELAY_SECONDS = 0.1
_LONGEST_DELAY_SECONDS = 2.0
# Statuses of refusals that pass: time-outs, too many calls, a node or proxy that stops or starts.
_PASSING = (408, 429, 502, 503, 504)


@dataclass(frozen=True)
class StreamedEvent(Generic[Event]):
    """One record of a stream."""

    #: Number of the event: 1, 2, 3 … without gaps.
    id: int
    #: The whole id: `last_event_id` of the call that resumes after this event.
    place: str
    event: Event


class RecordReader:
    """Takes the bytes of one connection and gives its records; comments (heartbeats) are skipped."""

    def __init__(self) -> None:
        self._rest = b""
        self._last: Union[int, str] = 0
        self._retry_seconds: Optional[float] = None

    def read(self, piece: bytes) -> Iterator[StreamedEvent[Any]]:
        """Raises `AccessEndedError` when the caller has no access any more."""
        blocks = (self._rest + piece).replace(b"\r\n", b"\n").split(b"\n\n")
        # A record that the stream cut off is dropped, as the HTML standard says.
        self._rest = blocks.pop()
        for block in blocks:
            event = self._event_of(block.decode())
            if event is not None:
                yield event

    def end(self) -> None:
        """Raises `StreamCutError` when the stream asked for a reconnect at its end."""
        if self._retry_seconds is not None:
            raise StreamCutError(self._last, self._retry_seconds)

    def _event_of(self, block: str) -> Optional[StreamedEvent[Any]]:
        place, kind, data = "", "", []  # type: str, str, List[str]
        for line in block.split("\n"):
            name, _, value = line.partition(":")
            value = value.removeprefix(" ")
            if name == "id":
                place = value
            elif name == "event":
                kind = value
            elif name == "data":
                data.append(value)
            elif name == "retry" and value.isdigit():
                self._retry_seconds = int(value) / 1_000
        if not data:
            return None
        event = json.loads("\n".join(data))
        if kind == "access_ended":
            raise AccessEndedError(self._last, event["access_ended"]["message"])
        # The ids of most streams are the number alone.
        self._last = int(place) if place.isdigit() else place
        number = place.split("-")[0]
        return StreamedEvent(id=int(number) if number.isdigit() else 0, place=place, event=event)


class Resuming:
    """Where a stream goes on after a cut, and when; nothing is missed, nothing comes twice."""

    def __init__(self, after: Union[int, str, None], patience_seconds: float, *, renews_token: bool) -> None:
        self.after = after
        self._patience_seconds = patience_seconds
        self._renews_token = renews_token
        self._opened_at: Optional[float] = None
        self._was_connected = False
        self._away_since: Optional[float] = None
        self._delay_seconds = 0.0

    def opened(self) -> None:
        self._was_connected = True
        self._opened_at = time.monotonic()

    def is_new(self, event: StreamedEvent[Any]) -> bool:
        """Takes an event; False for one that was seen: ids that are numbers alone count the events of the stream."""
        self._away_since, self._delay_seconds = None, 0.0
        after = str(self.after)
        if event.place.isdigit() and after.isdigit() and int(event.place) <= int(after):
            return False
        self.after = event.place
        return True

    def pause_after(self, cut: Optional[Exception]) -> float:
        """Seconds to wait before the next connection. Raises the cut when there is to be none; None is an early end."""
        if cut is not None and self._is_final(cut):
            raise cut
        now = time.monotonic()
        if self._opened_at is not None and now - self._opened_at > _HEALTHY_SECONDS:
            self._away_since = None
        self._opened_at = None
        self._away_since = now if self._away_since is None else self._away_since
        if now - self._away_since > self._patience_seconds:
            raise cut or StreamCutError(self.after or 0, 0)
        self._delay_seconds = min(_LONGEST_DELAY_SECONDS, max(_FIRST_DELAY_SECONDS, self._delay_seconds * 2))
        advised = cut.retry_after_seconds if isinstance(cut, StreamCutError) else 0.0
        # Readers that were cut at the same moment do not come back at the same moment.
        return max(self._delay_seconds, advised) * random.uniform(0.5, 1.0)

    def _is_final(self, cut: Exception) -> bool:
        # A node that was never there is not waited for.
        if not self._was_connected:
            return True
        if isinstance(cut, AccessEndedError):
            return not self._renews_token
        if isinstance(cut, SvcApiError):
            return cut.status not in _PASSING
        return not isinstance(cut, (StreamCutError, httpx.TransportError))
