"""What test/clients/python.test.ts runs: each check prints one JSON value.

python test/clients/python_checks.py CHECK [ARGUMENT ...]
"""

import asyncio
import json
import sys
import typing

import httpx

import svc_client.gen.types
from svc_client import AsyncClient, Client, SvcApiError

URL = "http://127.0.0.1:1"


def types() -> object:
    """Every generated type can be read: no name is missing."""
    found = [value for value in vars(svc_client.gen.types).values() if typing.is_typeddict(value)]
    for one in found:
        if one is not typing.TypedDict:
            typing.get_type_hints(one, vars(svc_client.gen.types))
    return len(found)


class Broken(httpx.SyncByteStream, httpx.AsyncByteStream):
    """A body whose connection breaks after the text."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __iter__(self) -> typing.Iterator[bytes]:
        yield self._text.encode()
        raise httpx.ReadError("broken")

    async def __aiter__(self) -> typing.AsyncIterator[bytes]:
        yield self._text.encode()
        raise httpx.ReadError("broken")


def events(*ids: int) -> str:
    return "".join(f'id: {n}\ndata: {{"e":{n}}}\n\n' for n in ids)


class Cutting:
    """Answers a stream with each kind of cut in turn, and notes after which event it was asked for."""

    def __init__(self) -> None:
        self.after: list[str | None] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.after.append(request.headers.get("last-event-id"))
        answers: list[typing.Callable[[], httpx.Response]] = [
            lambda: httpx.Response(200, stream=Broken(f": heartbeat\n\n{events(1, 2)}id: 3\nda")),
            lambda: self._refuse(),
            lambda: httpx.Response(503, json={"error": "unavailable", "message": "it starts"}),
            # It sends again what was seen, and then announces that it stops.
            lambda: httpx.Response(200, text=f"{events(2, 3)}retry: 1\n\n"),
            # A proxy closed it in the middle of a record.
            lambda: httpx.Response(200, text=f'{events(4)}id: 5\ndata: {{"e"'),
            lambda: httpx.Response(200, text=events(5)),
            lambda: httpx.Response(204),
        ]
        return answers[len(self.after) - 1]()

    def _refuse(self) -> httpx.Response:
        raise httpx.ConnectError("refused")


def cuts() -> object:
    cutting = Cutting()
    with Client(URL, transport=httpx.MockTransport(cutting)) as svc:
        seen = [record.id for record in svc.executions.stream(id="x")]
    return {"seen": seen, "after": cutting.after}


def async_cuts() -> object:
    async def read() -> object:
        cutting = Cutting()
        async with AsyncClient(URL, transport=httpx.MockTransport(cutting)) as svc:
            seen = [record.id async for record in svc.executions.stream(id="x")]
        return {"seen": seen, "after": cutting.after}

    return asyncio.run(read())


def ends() -> object:
    """How streams end that are not resumed."""

    def error_of(answers: list[httpx.Response], options: dict[str, object]) -> list[object]:
        def answer(_request: httpx.Request) -> httpx.Response:
            if not answers:
                raise httpx.ConnectError("refused")
            return answers.pop(0)

        with Client(URL, transport=httpx.MockTransport(answer)) as svc:
            try:
                for _record in svc.executions.stream(id="x", options=options):  # type: ignore[arg-type]
                    pass
            except SvcApiError as error:
                return ["SvcApiError", error.status]
            except Exception as error:
                return [type(error).__name__, getattr(error, "last_event_id", None)]
        return ["ended", None]

    def cut() -> httpx.Response:
        return httpx.Response(200, stream=Broken(events(1)))

    return [
        error_of([], {}),
        error_of([cut()], {"patience_seconds": 0}),
        error_of([cut(), httpx.Response(404, json={"error": "execution not found"})], {}),
        error_of([httpx.Response(200, text=f"{events(7)}retry: 50\n\n")], {"resume": False}),
        error_of(
            [httpx.Response(200, text='event: access_ended\ndata: {"access_ended":{"message":"expired"}}\n\n')], {}
        ),
    ]


def bytes_and_refusals(url: str) -> object:
    with Client(url) as svc:
        volume = svc.volumes.create(name="from-python", storage_class="persistent", size_limit_bytes=1_000_000)
        svc.volume_files.write(id=volume["id"], path="/a b.bin", body=b"\x00\xff\r\n")
        read = list(svc.volume_files.read(id=volume["id"], path="/a b.bin"))
        refused: list[object] = []
        try:
            svc.executions.get(id="00000000-0000-4000-8000-000000000000")
        except SvcApiError as error:
            refused += [error.status, error.code, error.message]
        try:
            svc.executions.get(id="..")
        except ValueError as error:
            refused.append(str(error))
        return {"read": read, "refused": refused}


def follow(url: str, execution: str) -> object:
    """Prints a line at each event, so that the test knows when to end the node; then the whole."""

    async def read() -> object:
        ids: list[int] = []
        names: list[str] = []
        async with AsyncClient(url) as svc:
            async for record in svc.executions.stream(id=execution):
                ids.append(record.id)
                names += record.event
                print("event", record.id, file=sys.stderr, flush=True)
            status = (await svc.executions.get(id=execution))["status"]
        return {"ids": ids, "last": names[-1], "status": status}

    return asyncio.run(read())


if __name__ == "__main__":
    checks = [types, cuts, async_cuts, ends, bytes_and_refusals, follow]
    check = {one.__name__: one for one in checks}[sys.argv[1]]
    print(json.dumps(check(*sys.argv[2:])))
