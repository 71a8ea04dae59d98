"""A supervisor's service under load: `python -m benchmarks.service ADDRESS` (docs/serve.md).

Eight clients at once for a minute, then 200 requests of which none is one, drawn at random from a
good request by cutting, changing and replacing. `--side` is that of the supervisor's images.
"""

import argparse
import json
import time
from base64 import b64decode, b64encode
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from io import BytesIO
from urllib.parse import urlsplit

import numpy as np
from PIL import Image

CLIENTS, BAD = 8, 200


def post(address: str, body: bytes, kind: str = "application/json") -> tuple[int, bytes]:
    parts = urlsplit(address)
    connection = HTTPConnection(parts.hostname or "", parts.port, timeout=300)
    try:
        connection.request("POST", parts.path, body, {"Content-Type": kind})
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def picture(side: int, seed: int) -> str:
    pixels = np.random.default_rng(seed).normal(128, 40, (side, side, 3)).clip(0, 255)
    file = BytesIO()
    Image.fromarray(pixels.astype(np.uint8)).save(file, "PNG")
    return b64encode(file.getvalue()).decode()


def request(images: list[str]) -> bytes:
    return json.dumps({"dataframe_records": [{"image": image} for image in images]}).encode()


def load(address: str, body: bytes, seconds: float) -> tuple[list[float], int]:
    """Seconds of each request, and how many had no good answer."""
    end = time.perf_counter() + seconds

    def client(_: int) -> list[tuple[float, int]]:
        told = []
        while (begin := time.perf_counter()) < end:
            status, _ = post(address, body)
            told.append((time.perf_counter() - begin, status))
        return told

    with ThreadPoolExecutor(CLIENTS) as pool:
        told = [each for client_told in pool.map(client, range(CLIENTS)) for each in client_told]
    return [taken for taken, _ in told], sum(status != 200 for _, status in told)


def bad_request(image: str, rng: np.random.Generator) -> tuple[bytes, str]:
    good, kind = request([image]), "application/json"
    odd = [None, 5, "", "hello", [], {}, float("nan"), 1e308, [image], image[:-40], "\x00"]
    match int(rng.integers(7)):
        case 0:  # Cut.
            return good[: rng.integers(len(good) - 1)], kind
        case 1:  # Bytes that are no text.
            return rng.bytes(int(rng.integers(1, 5000))), kind
        case 2:  # No such content type.
            return good, ["text/csv", "image/png", "", "application/x-parquet"][rng.integers(4)]
        case 3:  # Another value in place of the image, or of all.
            value = odd[rng.integers(len(odd))]
            return json.dumps({"dataframe_records": [{"image": value}]}).encode(), kind
        case 4:
            return json.dumps({"dataframe_records": odd[rng.integers(len(odd) - 3)]}).encode(), kind
        case 5:  # A damaged file: its header says another size.
            content = bytearray(b64decode(image))
            content[16:24] = rng.bytes(8)
            return request([b64encode(bytes(content)).decode()]), kind
        case _:  # Too many images, or bytes.
            return (request([""] * 2000) if rng.random() < 0.8 else b" " * (2**26 + 1)), kind


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("address")
    parser.add_argument("--side", type=int, default=64)
    parser.add_argument("--images", type=int, default=10, help="in a request")
    parser.add_argument("--seconds", type=float, default=60)
    given = parser.parse_args()
    body = request([picture(given.side, seed) for seed in range(given.images)])
    taken, errors = load(given.address, body, given.seconds)
    median, late = np.quantile(taken, [0.5, 0.99])
    print(f"{len(taken)} requests of {given.images} images by {CLIENTS} clients, {errors} errors:")
    print(f"median {median:.2f} s, 99th percentile {late:.2f} s")
    rng, image = np.random.default_rng(0), picture(given.side, 0)
    told = [post(given.address, *bad_request(image, rng)) for _ in range(BAD)]
    print(f"{BAD} bad requests: {dict(Counter(status for status, _ in told))}")
    print(f"longest answer {max(len(text) for _, text in told)} bytes")
    print(f"then a good one: {post(given.address, body)[0]}")


if __name__ == "__main__":
    main()
