"""Bounds of MLflow's scoring server, which takes any body whole and answers with stack traces."""

import json
import logging
from base64 import b64decode
from collections.abc import MutableMapping
from typing import Any

import fastapi
from fastapi import FastAPI

LARGEST_BODY = 2**26
"""Bytes: a thousand photographs of 224x224 pixels as JPEG, or 300 as PNG, in base64."""
LONGEST_MESSAGE = 300
PATH = "/invocations"
IMAGE = "image"
"""Column of a request."""
RECORDS = "dataframe_records"
TABLES = (RECORDS, "dataframe_split")
"""MLflow's forms of a table in JSON."""
FORM = '{"dataframe_records": [{"image": "<PNG or JPEG file in base64>"}, ...]}'
UNREADABLE = f"the body is no JSON of the form {FORM}"

logger = logging.getLogger(__name__)


class BoundedApp(FastAPI):
    """Takes JSON bodies of bounded length, and tells what is wrong with one in one line."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve a request, as of ASGI."""
        if scope["type"] != "http" or scope["path"] != PATH or scope["method"] != "POST":
            return await super().__call__(scope, receive, send)
        headers = dict(scope["headers"])
        kind = headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
        length = headers.get(b"content-length", b"")
        if kind != b"application/json":
            return await _refuse(send, 415, "the body must be of content type application/json")
        large = length.isdigit() and int(length) > LARGEST_BODY
        if large and b"expect" in headers:  # It waits for leave to send.
            return await _refuse_large(send)
        body = bytearray()
        more = True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return None
            if large := large or len(body) + len(message.get("body", b"")) > LARGEST_BODY:
                body.clear()  # The rest is read too: clients listen once they have sent all.
            else:
                body += message.get("body", b"")
            more = message.get("more_body", False)
        if large:
            return await _refuse_large(send)
        await self._answer(scope, bytes(body), receive, send)
        return None

    async def _answer(self, scope: Any, body: bytes, receive: Any, send: Any) -> None:
        """What MLflow answers, but errors in one line."""
        whole: list[MutableMapping[str, Any]] = [{"type": "http.request", "body": body}]
        status, told = 0, b""

        async def again() -> Any:
            return whole.pop() if whole else await receive()

        async def hold_errors(message: MutableMapping[str, Any]) -> None:
            nonlocal status, told
            if message["type"] == "http.response.start":
                status = message["status"]
            if status < 400:
                await send(message)
            else:
                told += message.get("body", b"")

        try:
            await super().__call__(scope, again, hold_errors)
        except Exception as error:  # What MLflow's parser lets through, of recursion for one.
            logger.warning("a body cannot be read: %r", error)
            status = 400
        if status == 504:
            await _refuse(send, status, "it took too long: send fewer images")
        elif status >= 400:
            await _refuse(send, status if status < 500 else 400, _fault(body) or _line(told))


def bound_server() -> None:
    """Have MLflow make its app, which it does next, of this kind; it takes no such setting."""
    fastapi.FastAPI = BoundedApp  # type: ignore[misc]


def _fault(body: bytes) -> str | None:
    """What is wrong with the form of a body that MLflow refused; None if nothing is.

    MLflow says it in words of its own, or hands the model something else than files.
    """
    try:
        asked = json.loads(body)
    except (ValueError, RecursionError):
        return UNREADABLE
    if not isinstance(asked, dict) or asked.keys().isdisjoint(TABLES):
        return f"the body holds no {RECORDS}: send {FORM}"
    if RECORDS not in asked:
        return None
    records = asked[RECORDS]
    if not isinstance(records, list) or not records:
        return f"{RECORDS} holds no images: send {FORM}"
    for number, record in enumerate(records, 1):
        text = record.get(IMAGE) if isinstance(record, dict) else None
        if not isinstance(text, str):
            return f'record {number} of {RECORDS} has no text "{IMAGE}": send {FORM}'
        try:
            b64decode("".join(text.split()), validate=True)
        except ValueError:
            return f"image {number} is not base64: send the file's bytes in base64, nothing else"
    return None


def _line(told: bytes) -> str:
    """The end of MLflow's message that says what is wrong."""
    try:
        message = json.loads(told)["message"]
    except (ValueError, KeyError, TypeError):
        return UNREADABLE
    _, marker, reason = message.rpartition("\nError: ")
    if not marker:
        return UNREADABLE
    return " ".join(reason.split())[:LONGEST_MESSAGE]


async def _refuse_large(send: Any) -> None:
    await _refuse(send, 413, f"the body has more than {LARGEST_BODY:,} bytes: send fewer images")


async def _refuse(send: Any, status: int, message: str) -> None:
    content = json.dumps({"error_code": "BAD_REQUEST", "message": message}).encode()
    headers = [(b"content-type", b"application/json"), (b"connection", b"close")]
    headers.append((b"content-length", str(len(content)).encode()))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": content})
