"""What calls and streams raise beside the errors of httpx."""

from __future__ import annotations

from typing import Any, Optional, Union


class SvcApiError(Exception):
    """An answer with status 400 or more."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        code: Optional[str] = None,
        details: Any = None,
        retry_after_seconds: Optional[float] = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        #: Code of the error table; None where the route answers with a text alone.
        self.code = code
        self.details = details
        #: When the node takes the call again; None where it does not say.
        self.retry_after_seconds = retry_after_seconds


class StreamCutError(Exception):
    """The node ended a stream before its last event, because it stops or could not read on."""

    def __init__(self, last_event_id: Union[int, str], retry_after_seconds: float) -> None:
        super().__init__(f"the stream was cut after event {last_event_id}: resume it with this id as last_event_id")
        #: Id of the last event that was read: `last_event_id` of the call that resumes.
        self.last_event_id = last_event_id
        #: How long the node asks to wait.
        self.retry_after_seconds = retry_after_seconds


class AccessEndedError(Exception):
    """The node ended a stream because its token or API key was revoked or has expired."""

    def __init__(self, last_event_id: Union[int, str], reason: str) -> None:
        super().__init__(f"the caller has no access any more: {reason}")
        #: Id of the last event that was read: `last_event_id` of the call that resumes.
        self.last_event_id = last_event_id
