"""The clients: one attribute for each resource of the API, one method for each operation."""

from __future__ import annotations

from types import TracebackType
from typing import Optional, Self, Type

import httpx

from .gen.async_operations import AsyncOperations
from .gen.operations import Operations
from .sending import AsyncSender, AsyncToken, Sender, Token

DEFAULT_URL = "http://127.0.0.1:8080"
_TIMEOUT_SECONDS = 60.0


class Client(Operations):
    """
    `token` is sent as a bearer token; a function is called before each request. Without one the caller is the local
    operator of a node on loopback. `transport` is for tests and for proxies of your own.
    """

    def __init__(
        self,
        base_url: str = DEFAULT_URL,
        *,
        token: Token = None,
        timeout_seconds: float = _TIMEOUT_SECONDS,
        transport: Optional[httpx.BaseTransport] = None,
    ) -> None:
        self._http = httpx.Client(base_url=base_url, timeout=timeout_seconds, transport=transport)
        super().__init__(Sender(self._http, token))

    def close(self) -> None:
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: Optional[Type[BaseException]],
        exc: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        self.close()


class AsyncClient(AsyncOperations):
    """As `Client`, with coroutines; `token` may be a function that returns an awaitable."""

    def __init__(
        self,
        base_url: str = DEFAULT_URL,
        *,
        token: AsyncToken = None,
        timeout_seconds: float = _TIMEOUT_SECONDS,
        transport: Optional[httpx.AsyncBaseTransport] = None,
    ) -> None:
        self._http = httpx.AsyncClient(base_url=base_url, timeout=timeout_seconds, transport=transport)
        super().__init__(AsyncSender(self._http, token))

    async def close(self) -> None:
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: Optional[Type[BaseException]],
        exc: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        await self.close()
