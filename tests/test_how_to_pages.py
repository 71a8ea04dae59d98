"""The code of the pages in docs/, run on what a run leaves."""

import re
import shlex
from pathlib import Path

import pytest

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
