"""The served model, asked over HTTP by MLflow's own server."""

import json
import socket
from base64 import b64decode, b64encode
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from threading import Thread

import mlflow
import numpy as np
import pytest
import requests
import torch
import uvicorn
from hypothesis import given
from hypothesis import strategies as st
from mlflow.pyfunc import scoring_server
from PIL import Image
from safetensors.numpy import load_file

from superstar.control import Supervisor
from superstar.images import from_uint8
from superstar.service import log_service, png, requirements


@pytest.fixture(scope="module")
def folder(finished_run):
    return finished_run.data("06_models/supervisor")


@pytest.fixture(scope="module")
def model(folder, tmp_path_factory):
    """What a run logs, loaded again."""
    place = tmp_path_factory.mktemp("store")
    before = mlflow.get_tracking_uri()
    mlflow.set_tracking_uri(f"sqlite:///{place / 'mlflow.db'}")
    mlflow.create_experiment("served", artifact_location=str(place / "artifacts"))
    mlflow.set_experiment("served")
    with mlflow.start_run():
        address = log_service(folder)
    model = mlflow.pyfunc.load_model(address)
    yield model
    mlflow.set_tracking_uri(before)


@pytest.fixture(scope="module")
def ask(model):
    """Post a body; the status and what comes back."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    app = scoring_server.init(model)
    server = uvicorn.Server(uvicorn.Config(app, port=port, log_level="error"))
    thread = Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive()

    def post(body, kind="application/json"):
        text = body if isinstance(body, bytes) else json.dumps(body).encode()
        address = f"http://127.0.0.1:{port}/invocations"
        return requests.post(address, text, headers={"Content-Type": kind}, timeout=60)

    yield post
    server.should_exit = True
    thread.join()


@pytest.fixture(scope="module")
def images(finished_run):
    """Test images in much noise."""
    clean = load_file(finished_run.data("03_primary/clean/test.safetensors"))["images"][:20]
    noise = np.random.default_rng(0).normal(0, 60, clean.shape)
    return np.clip(clean + noise, 0, 255).astype(np.uint8)


def records(*files):
    return {"dataframe_records": [{"image": b64encode(file).decode()} for file in files]}


@pytest.mark.parametrize("controller", ["paper", "calibrated"])
def test_it_answers_as_the_supervisor_does(ask, folder, images, controller):
    answer = ask(records(*map(png, images)) | {"params": {"controller": controller, "seed": 3}})
    assert answer.status_code == 200
    rows = answer.json()["predictions"]
    ours = Supervisor.load(folder).recover(from_uint8(images), 3, controller)
    assert {row["plan"] for row in rows} == {ours.plan.to_json()}
    assert {row["stopped_by"] for row in rows} == {ours.stopped_by}
    assert {row["p_value"] for row in rows} == {ours.p_value}
    corrected = [Image.open(BytesIO(b64decode(row["image"]))) for row in rows]
    expected = (ours.images * 255).round().to(torch.uint8).permute(0, 2, 3, 1).numpy()
    np.testing.assert_array_equal(np.stack(corrected), expected)


def huge():
    file = BytesIO()
    Image.new("L", (30000, 30000)).save(file, "PNG")
    return file.getvalue()


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (records(), "missing inputs"),
        (records(b"hello"), "image 1 is no image"),
        (records(b""), "image 1 is empty"),
        (records(png(np.zeros((16, 16, 3), np.uint8))), "images are 16x16 pixels"),
        (records(png(np.zeros((32, 32, 3), np.uint8))[:60]), "image 1 is truncated"),
        (records(huge()), "image 1 is too large"),
        ({"dataframe_records": [{"image": 3}]}, "image"),
        ({"dataframe_records": [{"picture": "x"}]}, "missing inputs"),
        ([1, 2], "JSON dictionary"),
        (b"{", "valid JSON"),
        (records(png(np.zeros((32, 32, 3), np.uint8))) | {"params": {"controller": "x"}}, "known:"),
        (records(png(np.zeros((32, 32, 3), np.uint8))) | {"params": {"seed": -1}}, "at least 0"),
    ],
)
def test_what_it_cannot_take_is_the_clients_to_mend(ask, body, message):
    answer = ask(body)
    assert answer.status_code == 400
    assert message in answer.json()["message"]


def test_other_bodies_are_no_media_of_its(ask):
    assert ask(b"x", "image/png").status_code == 415


@given(st.binary(max_size=200))
def test_no_file_takes_it_down(ask, content):
    assert ask(records(content)).status_code == 400


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(max_size=8),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
        max_leaves=6,
    )
)
def test_no_body_takes_it_down(ask, body):
    assert ask(body).status_code == 400
    assert ask({"dataframe_records": body}).status_code == 400


def test_clients_at_once_get_what_each_would_alone(ask, images):
    bodies = [records(*map(png, images[start : start + 10])) for start in (0, 10)] * 4
    alone = [ask(body).json() for body in bodies[:2]] * 4
    with ThreadPoolExecutor(8) as pool:
        assert [answer.json() for answer in pool.map(ask, bodies)] == alone


def test_its_requirements_are_pinned(model):
    pinned = requirements()
    assert all(each.count("==") == 1 for each in pinned)
    assert {"mlflow", "torch"} <= {each.partition("==")[0] for each in pinned}
    assert model.metadata.signature.inputs.input_names() == ["image"]
