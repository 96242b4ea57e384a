"""Sends operations to one node, synchronously and asynchronously."""

from __future__ import annotations

import asyncio
import inspect
import time
from contextlib import asynccontextmanager, contextmanager
from typing import Any, AsyncIterator, Awaitable, Callable, Iterator, Mapping, Optional, Sequence, Union

import httpx

from .events import SILENCE_SECONDS, RecordReader, Resuming, StreamedEvent
from .request import PATIENCE_SECONDS, CallOptions, Request, Route, refusal_of, request_of

Token = Union[str, Callable[[], Optional[str]], None]
AsyncToken = Union[str, Callable[[], Union[Optional[str], Awaitable[Optional[str]]]], None]


def _resuming(options: CallOptions, *, renews_token: bool) -> Resuming:
    patience = options.get("patience_seconds", PATIENCE_SECONDS)
    return Resuming(options.get("last_event_id"), patience, renews_token=renews_token)


def _after(options: CallOptions, resuming: Resuming) -> CallOptions:
    return options if resuming.after is None else {**options, "last_event_id": resuming.after}


def _timeout(options: CallOptions) -> Any:
    return options["timeout_seconds"] if "timeout_seconds" in options else httpx.USE_CLIENT_DEFAULT


class Sender:
    def __init__(self, http: httpx.Client, token: Token) -> None:
        self._http = http
        self._token = token

    def json(self, route: Route, given: Mapping[str, Any], needed: Sequence[str], options: Optional[CallOptions]) -> Any:
        response = self._send(route, given, needed, options or {})
        return response.json() if response.content else None

    def text(self, route: Route, given: Mapping[str, Any], needed: Sequence[str], options: Optional[CallOptions]) -> str:
        return self._send(route, given, needed, options or {}).text

    def bytes(
        self, route: Route, given: Mapping[str, Any], needed: Sequence[str], options: Optional[CallOptions]
    ) -> bytes:
        return self._send(route, given, needed, options or {}).content

    def stream(
        self, route: Route, given: Mapping[str, Any], needed: Sequence[str], options: Optional[CallOptions]
    ) -> Iterator[StreamedEvent[Any]]:
        """
        The events until the last one, or until the loop is left. After a lost connection or a restart of the node it goes on
        after the last event, so none is missed and none comes twice; streams without numbers are not resumed.
        """
        options = options or {}
        resuming = _resuming(options, renews_token=callable(self._token))
        resumes = options.get("resume", True) and route.resumes
        while True:
            cut: Optional[Exception] = None
            try:
                with self._open(self._request(route, given, needed, _after(options, resuming))) as response:
                    if response.status_code == 204:
                        return
                    resuming.opened()
                    reader = RecordReader()
                    for piece in response.iter_bytes():
                        for event in reader.read(piece):
                            if resuming.is_new(event):
                                yield event
                    reader.end()
            except Exception as error:
                if not resumes:
                    raise
                cut = error
            if not resumes:
                return
            time.sleep(resuming.pause_after(cut))

    def _request(
        self, route: Route, given: Mapping[str, Any], needed: Sequence[str], options: CallOptions
    ) -> Request:
        token = self._token() if callable(self._token) else self._token
        return request_of(route, given, needed, options, token)

    def _send(
        self, route: Route, given: Mapping[str, Any], needed: Sequence[str], options: CallOptions
    ) -> httpx.Response:
        method, path, params, headers, content = self._request(route, given, needed, options)
        response = self._http.request(
            method, path, params=params, headers=headers, content=content, timeout=_timeout(options)
        )
        if response.status_code >= 400:
            raise refusal_of(response)
        return response

    @contextmanager
    def _open(self, request: Request) -> Iterator[httpx.Response]:
        method, path, params, headers, content = request
        timeout = httpx.Timeout(SILENCE_SECONDS)
        with self._http.stream(
            method, path, params=params, headers=headers, content=content, timeout=timeout
        ) as response:
            if response.status_code >= 400:
                response.read()
                raise refusal_of(response)
            yield response


class AsyncSender:
    def __init__(self, http: httpx.AsyncClient, token: AsyncToken) -> None:
        self._http = http
        self._token = token

    async def json(
        self, route: Route, given: Mapping[str, Any], needed: Sequence[str], options: Optional[CallOptions]
    ) -> Any:
        response = await self._send(route, given, needed, options or {})
        return response.json() if response.content else None

    async def text(
        self, route: Route, given: Mapping[str, Any], needed: Sequence[str], options: Optional[CallOptions]
    ) -> str:
        return (await self._send(route, given, needed, options or {})).text

    async def bytes(
        self, route: Route, given: Mapping[str, Any], needed: Sequence[str], options: Optional[CallOptions]
    ) -> bytes:
        return (await self._send(route, given, needed, options or {})).content

    async def stream(
        self, route: Route, given: Mapping[str, Any], needed: Sequence[str], options: Optional[CallOptions]
    ) -> AsyncIterator[StreamedEvent[Any]]:
        """As `Sender.stream`."""
        options = options or {}
        resuming = _resuming(options, renews_token=callable(self._token))
        resumes = options.get("resume", True) and route.resumes
        while True:
            cut: Optional[Exception] = None
            try:
                async with self._open(await self._request(route, given, needed, _after(options, resuming))) as response:
                    if response.status_code == 204:
                        return
                    resuming.opened()
                    reader = RecordReader()
                    async for piece in response.aiter_bytes():
                        for event in reader.read(piece):
                            if resuming.is_new(event):
                                yield event
                    reader.end()
            except Exception as error:
                if not resumes:
                    raise
                cut = error
            if not resumes:
                return
            await asyncio.sleep(resuming.pause_after(cut))

    async def _request(
        self, route: Route, given: Mapping[str, Any], needed: Sequence[str], options: CallOptions
    ) -> Request:
        found = self._token() if callable(self._token) else self._token
        token = await found if inspect.isawaitable(found) else found
        return request_of(route, given, needed, options, token)

    async def _send(
        self, route: Route, given: Mapping[str, Any], needed: Sequence[str], options: CallOptions
    ) -> httpx.Response:
        method, path, params, headers, content = await self._request(route, given, needed, options)
        response = await self._http.request(
            method, path, params=params, headers=headers, content=content, timeout=_timeout(options)
        )
        if response.status_code >= 400:
            raise refusal_of(response)
        return response

    @asynccontextmanager
    async def _open(self, request: Request) -> AsyncIterator[httpx.Response]:
        method, path, params, headers, content = request
        timeout = httpx.Timeout(SILENCE_SECONDS)
        async with self._http.stream(
            method, path, params=params, headers=headers, content=content, timeout=timeout
        ) as response:
            if response.status_code >= 400:
                await response.aread()
                raise refusal_of(response)
            yield response
