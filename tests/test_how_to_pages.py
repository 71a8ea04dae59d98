"""The code of the pages in docs/, run on what a run leaves."""

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
import requests
from PIL import Image
from safetensors.numpy import load_file

from projects import ROOT, Project

PAGES = ("recover", "stream")
BLOCK = re.compile(r"^```(python|sh)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", PAGES)
def test_the_code_of_a_page_runs(page: str, project_copy: Project) -> None:
    # The run of the tests has another name than that of the docs.
    text = (ROOT / "docs" / f"{page}.md").read_text().replace("photos", "test")
    blocks = [(kind, code) for kind, code in BLOCK.findall(text)]
    # A page's first command is for images that the reader brings.
    commands = [code for kind, code in blocks if kind == "sh"][1:]
    done = project_copy.python("\n".join(code for kind, code in blocks if kind == "python"))
    assert done.returncode == 0, done.stderr
    for command in commands:
        _, run, *arguments = shlex.split(command)
        assert run == "run"
        done = project_copy.run(*arguments)
        assert done.returncode == 0, done.stderr
    if page == "recover":
        assert commands
        assert Path(project_copy.root, "by_folder", "report.html").is_file()


@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
def test_the_page_of_the_service_from_command_to_answer(project_copy: Project) -> None:
    text = (ROOT / "docs" / "serve.md").read_text().replace("photos", "test")
    blocks = BLOCK.findall(text)
    serve, ask = (code for kind, code in blocks if kind == "sh")
    (in_python,) = (code for kind, code in blocks if kind == "python")
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
    done = project_copy.python(in_python)
    assert done.returncode == 0, done.stderr
