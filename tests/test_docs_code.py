"""The code of README, CONTRIBUTING and docs/: Python runs, commands and settings are taken."""

import json
import os
import re
import runpy
import shlex
import shutil
import signal
import subprocess
import sys
import tomllib
from argparse import ArgumentParser
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import mlflow
import pytest
import requests
import torch
import yaml
from click.testing import CliRunner
from PIL import Image
from safetensors.numpy import load_file

from pages import FENCE, PAGES, blocks, name, text
from projects import ROOT, Project, make_project
from superstar import cli
from superstar.configuration import ProjectConfigLoader
from superstar.hooks import InputHook
from superstar.photos import photo_patches
from superstar.settings import CONFIG_LOADER_ARGS

# The run of the tests has smaller images, and another name.
SMALLER = {
    r"\b(64|224|256)\b": "32",
    r"(_models|_input)/(custom|mine|photos)/": r"\1/test/",
    "supervisor-photos": "supervisor-test",
}

# What holds once the Python of a page has run.
THEN = {
    "README.md": "recovery.operable and corrected.shape == (250, 3, 32, 32)",
    "docs/calibrated.md": "recovery.operable and later.shape == (1, 3, 32, 32)",
    "docs/denoiser.md": "not clean.equal(images)",
    "docs/howto/compare_runs.md": "supervisor.controllers == ('paper', 'calibrated')",
    "docs/howto/extend.md": "abs(_apply_saturation(torch.eye(3)[..., None].numpy(), (1.0,))"
    " - torch.eye(3)[..., None].numpy()).max() < 1e-6",
    "docs/howto/make_a_benchmark.md": "len(labels) == 100 and "
    "more.equal(corrupt(torch.cat([images, others]), 'fog', 3)[4:])",
    "docs/howto/study.md": "classify(torch.rand(8, 3, 32, 32)).shape == (8,)",
    "docs/quickstart.md": "corrected.shape == (1, 3, 32, 32)",
    "docs/recover.md": "len(list(Path('my_images').glob('*/*.png'))) == 120",
    "docs/serve.md": "'controller' in str(model.metadata.signature)",
    "docs/stream.md": "stream.drifting and answers.shape == camera.shape[:1]",
    "docs/your_images.md": "choice.p_value < 0.05 and denoised.shape == clean.shape",
}

# Commands between backquotes; what has an ellipsis is a message.
INLINE = re.compile(
    r"`((?:\S*bin/)?(?:(?:kedro|superstar) run|make|pip install|python -m benchmarks)\b[^`…]*)`"
)

MAKEFILE = (ROOT / "Makefile").read_text()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"].keys()
GLOBALS = {
    key for file in ROOT.glob("conf/*/globals.yml") for key in yaml.safe_load(file.read_text())
}
ELSEWHERE = {"cd", "curl", "export", "git", "printf"}
"""Programs that are no part of ours; the service's own test runs those of its page."""


def with_code(*kinds):
    pages = [page for page in PAGES if blocks(page, *kinds)]
    return pytest.mark.parametrize("page", pages, ids=name)


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_block_is_of_a_kind_that_is_tested(page):
    """But for text, which is what a program prints."""
    assert text(page).count("```") == 2 * len(blocks(page))
    assert {kind for kind, _ in blocks(page)} <= {"python", "sh", "yaml", "text"}


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    """Photographs, the same in the dark, and by class."""
    folder = tmp_path_factory.mktemp("images")
    photos = photo_patches(32, {"test": 255})["test"]
    for number, (pixels, label) in enumerate(zip(photos.images, photos.labels, strict=True)):
        places = {"clean": pixels, "camera": pixels // 3, f"photos/{label:02d}": pixels}
        for place, image in places.items():
            (folder / place).mkdir(parents=True, exist_ok=True)
            Image.fromarray(image).save(folder / place / f"{number:03d}.png")
    return folder


@pytest.fixture
def clone(images, tmp_path, monkeypatch):
    """A reader's project, with images and a classifier."""
    project = make_project(tmp_path / "clone")
    for place in ("clean", "camera", "photos"):
        (project.root / place).symlink_to(images / place)
    _, module = blocks(ROOT / "docs/your_images.md", "python")[0]
    (project.root / "my_module.py").write_text(module)
    monkeypatch.chdir(project.root)
    monkeypatch.setattr(sys, "path", sys.path[:])
    return project.root


@pytest.fixture
def reader(clone, images, finished_run, monkeypatch):
    """A reader's project after a run, with benchmarks of others."""
    (clone / "data").symlink_to(finished_run.root / "data")
    shutil.copy(finished_run.root / "mlflow.db", clone)
    shifted = clone / "my_images_c"
    shifted.mkdir()
    for place in ("none", "fog/3"):
        (shifted / place).parent.mkdir(exist_ok=True)
        (shifted / place).symlink_to(images / "photos")
    classes = "".join(f"{label:02d}\n" for label in range(17))
    for file in (shifted / "classes.txt", clone / "wnids.txt"):
        file.write_text(classes)
    (clone / "ImageNet-C").symlink_to(shifted)
    (clone / "CIFAR-100-C").symlink_to(finished_run.data("05_model_input/shifted_sets"))
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    mlflow.set_tracking_uri(None)  # The default: that of the working directory.
    yield
    mlflow.set_tracking_uri(None)


@with_code("python")
def test_python_runs(page, reader):
    names = {}
    for _, code in blocks(page, "python"):
        for longer, shorter in SMALLER.items():
            code = re.sub(longer, shorter, code)
        exec(compile(code, name(page), "exec"), names)
    assert eval(THEN[name(page)], {"torch": torch} | names)


@pytest.fixture
def terminal(clone, monkeypatch):
    """Programs end once they have taken their arguments, runs once these are checked."""
    parse = ArgumentParser.parse_args

    def parse_only(parser, arguments=None):
        parse(parser, arguments)
        sys.exit(0)

    def start(env, conf_source, params, **_):
        conf = conf_source or "conf"
        loader = ProjectConfigLoader(conf, env=env, runtime_params=params, **CONFIG_LOADER_ARGS)
        parameters = loader["parameters"]
        InputHook().after_context_created(
            SimpleNamespace(config_loader=loader, params=parameters, _runtime_params=params)
        )

    monkeypatch.setattr(ArgumentParser, "parse_args", parse_only)
    monkeypatch.setattr(cli.kedro_run, "callback", start)
    (clone / "CLONE").symlink_to(clone)


def commands(script):
    """The words of each, without comments and variables of the environment."""
    for line in re.split("\n|&&", script.replace("\\\n", " ")):
        words = shlex.split(line, comments=True)
        while words and re.match(r"\w+=", words[0]):
            words = words[1:]
        if words:
            yield (Path(words[0]).name, *words[1:])


@cache
def check(words):
    """Start a command up to its first work; once, however often pages name it."""
    match words:
        case ["kedro" | "superstar", "run", *given]:
            outcome = CliRunner().invoke(cli.run, given)
            assert outcome.exit_code == 0, outcome.output or outcome.exception
        case ["make", *given]:
            make = ["make", "--dry-run", *given]
            told = subprocess.run(make, cwd=ROOT, capture_output=True, text=True)
            assert told.returncode == 0, told.stderr
            variables = {f"$({word.partition('=')[0]})" for word in given if "=" in word}
            assert all(variable in MAKEFILE for variable in variables)
            for made in commands(told.stdout):
                if made[:2] == ("kedro", "run") or "benchmarks" in "".join(made[2:3]):
                    check(made)
        case ["python", "-m", module, *given]:
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(sys, "argv", [module, *given])
                with pytest.raises(SystemExit, match=r"^0$"):
                    runpy.run_module(module, run_name="__main__")
        case ["pip", "install", *given]:
            extras = re.findall(r"[\w-]+", "".join(re.findall(r"\[(.*)\]", " ".join(given))))
            assert set(extras) <= EXTRAS
        case ["dask", program, *given]:
            command = import_module(f"distributed.cli.dask_{program}").main
            command.make_context(program, given, ignore_unknown_options=False)
        case ["mlflow", "models", program, *given]:
            models = import_module("mlflow.models.cli").commands
            models.commands[program].make_context(program, given)
        case ["pytest", "-n", "0", path] | ["cp", "-r", path, _]:
            assert (ROOT / path).exists()
        case _:
            assert words[0] in ELSEWHERE


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_commands_and_settings_are_taken(page, terminal):
    """Commands of shell blocks, and those between backquotes, get as far as their first work.

    A run: its environment and pipelines are there, its --config too, and its parameters are
    checked as every run's are. Targets and variables of make are there, and what they start is
    checked in turn. Benchmarks, dask and mlflow parse their arguments. Extras of pip are ours, and
    what pytest and cp take exists.

    A YAML block is a file of an environment of the reader's own, which a run then takes.
    """
    for kind, code in blocks(page, "sh", "yaml"):
        if kind == "yaml":
            named = re.match(r"# (conf/mine/\S+)\n", code)
            file = Path(named[1] if named else "conf/mine/parameters.yml")
            file.parent.mkdir(exist_ok=True)
            file.write_text(code)
            assert file.name != "globals.yml" or yaml.safe_load(code).keys() <= GLOBALS
            for checkpoint in map(Path, re.findall(r"path: (\S+),", code)):
                checkpoint.parent.mkdir(parents=True, exist_ok=True)
                checkpoint.touch()
            check.__wrapped__(("kedro", "run", "--env", "mine"))
        else:
            for words in commands(code):
                check(words)
    for code in INLINE.findall(FENCE.sub("", text(page))):
        for words in commands(code):
            check(words)


def test_the_page_of_recovery_from_images_to_report(project_copy: Project) -> None:
    page = [code.replace("photos", "test") for _, code in blocks(ROOT / "docs/recover.md")]
    _, make_images, command = page  # The first command is for images that the reader brings.
    done = project_copy.python(make_images)
    assert done.returncode == 0, done.stderr
    done = project_copy.run(*shlex.split(command)[2:])
    assert done.returncode == 0, done.stderr
    assert (project_copy.root / "by_folder" / "report.html").is_file()


@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
def test_the_page_of_the_service_from_command_to_answer(project_copy: Project) -> None:
    page = blocks(ROOT / "docs/serve.md", "sh")
    serve, ask = (code.replace("photos", "test") for _, code in page)
    images = load_file(project_copy.data("03_primary/clean/test.safetensors"))["images"]
    Image.fromarray(images[0]).save(project_copy.root / "photo.png")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    how = {"cwd": project_copy.root, "env": os.environ | {"PATH": path}, "shell": True}
    with subprocess.Popen(f"{serve.strip()} & wait", **how, start_new_session=True) as server:
        try:
            while server.poll() is None:
                with suppress(requests.ConnectionError):
                    requests.get("http://127.0.0.1:5055/ping", timeout=5).raise_for_status()
                    break
            answer = subprocess.run(ask, **how, check=True, capture_output=True, text=True)
        finally:
            os.killpg(server.pid, signal.SIGTERM)
    assert len(json.loads(answer.stdout)["predictions"]["images"]) == 1
