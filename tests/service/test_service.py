"""The supervisor as MLflow's server serves it: over HTTP, to anyone."""

import json
import sys
import threading
import time
from base64 import b64decode, b64encode
from http.client import HTTPConnection
from importlib import import_module
from io import BytesIO
from pathlib import Path

import fastapi
import mlflow
import numpy as np
import pandas as pd
import pytest
import torch
import uvicorn
from PIL import Image

from control.control_toys import photographs, supervisor_for
from superstar.control import Supervisor
from superstar.images import from_uint8, to_uint8
from superstar.service import bounds, log_supervisor

SIDE = 32
APP = "mlflow.pyfunc.scoring_server.app"


@pytest.fixture(scope="module")
def supervisor() -> Supervisor:
    return supervisor_for(SIDE)


@pytest.fixture(scope="module")
def logged(supervisor, tmp_path_factory) -> str:
    """The model's folder, as a run leaves it."""
    root, before = tmp_path_factory.mktemp("store"), mlflow.get_tracking_uri()
    supervisor.save(root / "supervisor")
    mlflow.set_tracking_uri(f"sqlite:///{root}/mlflow.db")
    experiment = mlflow.create_experiment("own", str(root / "artifacts"))
    with mlflow.start_run(experiment_id=experiment) as run:
        log_supervisor(root / "supervisor")
    (model,) = mlflow.get_run(run.info.run_id).outputs.model_outputs
    location = mlflow.MlflowClient().get_logged_model(model.model_id).artifact_location
    mlflow.set_tracking_uri(before)
    return location


@pytest.fixture(scope="module")
def port(logged):
    """That of the app which `mlflow models serve` starts, in a thread."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fastapi, "FastAPI", fastapi.FastAPI)
        patch.setenv("__pyfunc_model_path__", logged)
        patch.setenv("_MLFLOW_IS_IN_SERVING_ENVIRONMENT", "true")
        app = import_module(APP).app
        server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="critical"))
        thread = threading.Thread(target=server.run)
        thread.start()
        while not server.started:
            time.sleep(0.01)
        yield server.servers[0].sockets[0].getsockname()[1]
        server.should_exit = True
        thread.join()
        del sys.modules[APP]


JSON = {"Content-Type": "application/json"}


def post(port, body, headers=JSON) -> tuple[int, dict]:
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("POST", "/invocations", body, headers)
    answer = connection.getresponse()
    found = answer.status, json.loads(answer.read())
    connection.close()
    return found


def encoded(image, kind="PNG", **options) -> str:
    file = BytesIO()
    Image.fromarray(image).save(file, kind, **options)
    return b64encode(file.getvalue()).decode()


def request(files, **params) -> bytes:
    body = {"dataframe_records": [{"image": file} for file in files]}
    return json.dumps(body | ({"params": params} if params else {})).encode()


def flat(count: int) -> torch.Tensor:
    """Photographs of a third of the contrast, of 8 bits."""
    images = photographs(count, SIDE, SIDE, seed=5)
    return from_uint8(to_uint8(0.5 + (images - 0.5) / 3))


def test_a_batch_comes_back_as_the_supervisor_corrects_it(supervisor, port):
    images = flat(12)
    files = [encoded(image) for image in to_uint8(images)]
    for params in ({}, {"controller": "paper", "seed": 3}):
        status, answer = post(port, request(files, **params))
        assert status == 200
        expected = supervisor.recover(images, **({"controller": "calibrated"} | params))
        told = answer["predictions"]
        corrected = [np.asarray(Image.open(BytesIO(b64decode(each)))) for each in told["images"]]
        assert np.array_equal(corrected, to_uint8(expected.images))
        assert json.dumps(told["plan"]) == expected.plan.to_json()
        assert told["stopped_by"] == expected.stopped_by
        assert told["p_value"] == expected.p_value
        assert told["readings"] == pytest.approx(expected.distances)
        assert told["alarm"] is (None if params else True)
    status, answer = post(port, request([encoded(to_uint8(images)[0], "JPEG")]))
    assert status == 200


def test_images_at_home_raise_no_alarm(port):
    images = to_uint8(photographs(12, SIDE, SIDE, seed=6))
    status, answer = post(port, request([encoded(image) for image in images]))
    assert (status, answer["predictions"]["alarm"]) == (200, False)
    assert answer["predictions"]["plan"] == []


GRAY = np.full((SIDE, SIDE, 3), 120, np.uint8)
GOOD = encoded(GRAY)


def bomb() -> str:
    """A few kilobytes that say they are 12,000 x 12,000 pixels."""
    return encoded(np.zeros((12_000, 12_000), np.uint8), compress_level=9)


MALFORMED = {
    "not JSON": b"{",
    "not text": b"\xff\xfe\x00",
    "nothing": b"",
    "a list": b"[1, 2]",
    "a number": b"NaN",
    "no input": b"{}",
    "another name": json.dumps({"images": [GOOD]}).encode(),
    "no images": request([]),
    "no rows": b'{"dataframe_split": {"columns": ["image"], "data": []}}',
    "another column": json.dumps({"dataframe_records": [{"picture": GOOD}]}).encode(),
    "rows that are none": b'{"dataframe_records": [1, "a", null]}',
    "numbers": request([1.5]),
    "NaN": b'{"dataframe_records": [{"image": NaN}]}',
    "null": request([None]),
    "a list of numbers": request([[[0.5] * 32] * 32]),
    "an array": json.dumps({"inputs": np.zeros((1, 3, 8, 8)).tolist()}).encode(),
    "a deep list": b'{"inputs": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "a deep image": b'{"dataframe_records": [{"image": ' + b"[" * 900 + b"]" * 900 + b"}]}",
    "huge dimensions": b'{"dataframe_split": {"columns": [4294967296], "data": [[1]]}}',
    "no base64": request(["?"]),
    "empty files": request([""]),
    "text": request([b64encode(b"hello").decode()]),
    "half a file": request([GOOD[: len(GOOD) // 2]]),
    "another size": request([encoded(GRAY[:16])]),
    "one of another size": request([GOOD, encoded(GRAY[:16])]),
    "a bomb": request([bomb()]),
    "another format": request([encoded(GRAY, "GIF")]),
    "too many": request([GOOD] * 1001),
    "no such controller": request([GOOD], controller="papers"),
    "no such seed": request([GOOD], seed="one"),
    "a negative seed": request([GOOD], seed=-1),
    "an endless seed": b'{"dataframe_records": [{"image": "' + GOOD.encode() + b'"}], '
    b'"params": {"seed": 1e999}}',
    "params that are none": b'{"dataframe_records": [], "params": 3}',
}


@pytest.mark.parametrize("body", MALFORMED.values(), ids=MALFORMED.keys())
def test_what_is_malformed_is_told_in_one_line(body, port):
    status, answer = post(port, body)
    assert status == 400
    assert answer.keys() == {"error_code", "message"}
    assert 10 < len(answer["message"]) <= bounds.LONGEST_MESSAGE
    assert "\n" not in answer["message"]
    assert "unexpected error" not in answer["message"]
    assert post(port, request([GOOD]))[0] == 200


def test_messages_say_which_image_and_what_to_do(port):
    _, answer = post(port, MALFORMED["one of another size"])
    assert answer["message"] == (
        "image 2 is 16x32 pixels, the supervisor for toys takes 32x32: resize it"
    )
    assert post(port, MALFORMED["text"])[1]["message"] == "image 1 is no PNG, JPEG, WEBP file"
    assert "did you mean 'paper'?" in post(port, MALFORMED["no such controller"])[1]["message"]
    assert post(port, MALFORMED["not JSON"])[1]["message"] == bounds.UNREADABLE


@pytest.mark.parametrize(
    ("body", "start"),
    [
        ({"instances": [{"image": GOOD}]}, "the body holds no dataframe_records: send {"),
        ([GOOD], "the body holds no dataframe_records: send {"),
        ({"dataframe_records": []}, "dataframe_records holds no images: send {"),
        (
            {"dataframe_records": [{"image": GOOD}, {"picture": GOOD}]},
            'record 2 of dataframe_records has no text "image": send {',
        ),
        ({"dataframe_records": [{"image": "abc"}]}, "image 1 is not base64: "),
        (
            {"dataframe_records": [{"image": f"data:image/png;base64,{GOOD}"}]},
            "image 1 is not base64: ",
        ),
    ],
)
def test_the_form_is_told_where_it_is_the_fault(body, start, port):
    status, answer = post(port, json.dumps(body))
    assert status == 400
    assert answer["message"].startswith(start)


def test_base64_may_have_lines(port):
    lines = "\n".join(GOOD[i : i + 76] for i in range(0, len(GOOD), 76))
    assert post(port, request([lines]))[0] == 200
    assert post(port, request([lines], controller="papers"))[1]["message"].startswith("unknown")


@pytest.mark.parametrize("kind", ["text/csv", "image/png", "", "application/vnd.apache.parquet"])
def test_other_kinds_of_bodies_are_refused(kind, port):
    status, answer = post(port, b"image\n1", {"Content-Type": kind})
    assert (status, answer["message"]) == (
        415,
        "the body must be of content type application/json",
    )


def test_large_bodies_are_refused(port, monkeypatch):
    monkeypatch.setattr(bounds, "LARGEST_BODY", 10_000)
    waiting = JSON | {"Content-Length": str(10**12), "Expect": "100-continue"}
    chunks = (b" " * 1000 for _ in range(11))
    for body, headers in (
        (None, waiting),
        (b" " * 10_001, JSON),
        (chunks, JSON),
    ):
        status, answer = post(port, body, headers)
        assert status == 413
        assert answer["message"] == "the body has more than 10,000 bytes: send fewer images"
    assert post(port, request([GOOD]))[0] == 200


def test_it_runs_nothing_that_is_pickled(logged):
    names = [path.name for path in Path(logged.removeprefix("file://")).rglob("*")]
    assert {"actor.safetensors", "served.py", "requirements.txt"} <= set(names)
    assert not [name for name in names if name.endswith((".pkl", ".pickle"))]


def test_in_python_it_takes_a_table_of_files(logged):
    model = mlflow.pyfunc.load_model(logged)
    told = model.predict(pd.DataFrame({"image": [b64decode(GOOD)]}), params={"seed": 1})
    assert len(told["images"]) == 1
    requirements = (Path(logged.removeprefix("file://")) / "requirements.txt").read_text()
    assert all(f"{name}==" in requirements for name in ("mlflow", "torch", "safetensors"))
