"""One run of a benchmark at a time."""

import os
import subprocess
import sys
from functools import partial

import pytest
from filelock import FileLock, Timeout
from kedro.framework.hooks import hook_impl
from kedro.framework.hooks.manager import _create_hook_manager
from kedro.io import DataCatalog, MemoryDataset
from kedro.pipeline import Pipeline, node
from kedro.runner import ParallelRunner, SequentialRunner, ThreadRunner

from superstar.datasets import ExternalDataset, RecoveredDataset
from superstar.errors import InputError
from superstar.hooks.guards import InputHook, LockHook, _readable


class RefusingHook:
    @hook_impl
    def before_pipeline_run(self):
        raise InputError("no")


class Run:
    """What Kedro tells hooks of a run."""

    def __init__(self, root, benchmark="photos", stage="evaluation", others=()):
        self.file = root / "data" / f".{benchmark}.lock"
        self.manager = _create_hook_manager()
        for hook in (*others, LockHook()):
            self.manager.register(hook)
        self.arguments = {
            "run_params": {"project_path": str(root)},
            "pipeline": Pipeline([node(len, "words", "count", namespace=stage)]),
            "catalog": DataCatalog({"params:benchmark": MemoryDataset(benchmark)}),
        }

    def begin(self):
        self.manager.hook.before_pipeline_run(**self.arguments)

    def end(self):
        self.manager.hook.after_pipeline_run(run_result={}, **self.arguments)

    def fail(self):
        self.manager.hook.on_pipeline_error(error=ValueError(), **self.arguments)

    def holds(self) -> bool:
        try:
            FileLock(self.file, blocking=False).acquire().lock.release()
        except Timeout:
            return True
        return False


@pytest.mark.parametrize("end", ["end", "fail"])
def test_a_second_run_waits_for_the_end_of_the_first(end, tmp_path):
    first, second = Run(tmp_path), Run(tmp_path, stage="sensitivity")
    first.begin()
    with pytest.raises(InputError, match=rf"benchmark photos .*\(process {os.getpid()}, ") as error:
        second.begin()
    assert "\n" not in str(error.value)
    assert first.holds()
    getattr(first, end)()
    second.begin()
    assert second.holds()
    second.end()
    assert not second.holds()


def test_other_benchmarks_and_other_folders_are_free(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    held = [Run(tmp_path), Run(tmp_path, "imagenet"), Run(tmp_path / "elsewhere")]
    for run in held:
        run.begin()
    assert all(run.holds() for run in held)
    for stage in ("corrupt", "recover"):
        Run(tmp_path, stage=stage).begin()


def test_a_folder_that_the_user_names_is_one_run_s_at_a_time(tmp_path):
    first, second, other = (Run(tmp_path, stage="recover") for _ in range(3))
    for run, output in ((first, "out"), (second, "out"), (other, "another")):
        run.arguments["pipeline"] = Pipeline(
            [node(len, "words", "recovered_images", name="recover")]
        )
        dataset = RecoveredDataset(filepath=str(tmp_path / output))
        run.arguments["catalog"]["recovered_images"] = dataset
    first.begin()
    other.begin()
    with pytest.raises(InputError, match=r"another run that writes .*out is going on"):
        second.begin()
    first.end()
    second.begin()


def test_a_refused_run_holds_nothing(tmp_path):
    run = Run(tmp_path, others=[RefusingHook()])
    with pytest.raises(InputError, match="no"):
        run.begin()
    assert not run.holds()


def test_a_run_after_one_that_was_interrupted_in_the_same_process(tmp_path):
    run = Run(tmp_path)
    run.begin()
    run.begin()
    assert run.holds()
    run.end()
    assert not run.holds()


def test_a_killed_run_leaves_no_lock(tmp_path):
    run = Run(tmp_path)
    run.file.parent.mkdir()
    code = (
        "import sys, filelock; lock = filelock.FileLock(sys.argv[1]); lock.acquire(); "
        "print(flush=True); input()"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", code, run.file], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    holder.stdout.readline()
    with pytest.raises(InputError, match="another run"):
        run.begin()
    holder.kill()
    holder.communicate()
    run.begin()
    assert run.holds()


def test_what_the_system_refuses_of_an_input_is_told_in_a_line(tmp_path):
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    told = r"loop cannot be read \(Too many .*\): repair or remove it"
    with pytest.raises(InputError, match=told), _readable():
        loop.stat()


@pytest.mark.parametrize("runner", [ThreadRunner, ParallelRunner])
def test_nodes_run_one_after_another(runner):
    """Kedro tells a runner that is made, and one that is not, by their texts."""
    check = partial(InputHook().before_pipeline_run, pipeline=Pipeline([]), catalog=DataCatalog())
    for told in (runner.__name__, f"<kedro.runner.{runner.__name__} object at 0x1>"):
        with pytest.raises(InputError, match="give --params execution"):
            check({"runner": told, "project_path": "."})
    check({"runner": str(SequentialRunner()), "project_path": "."})
    check({"runner": "None", "project_path": "."})


def test_what_comes_from_others_is_not_made():
    class Others(ExternalDataset):
        def check(self): ...
        def identity(self, digests): ...
        def load(self): ...
        def _describe(self): ...

    pipeline = Pipeline([node(len, "words", "clean_train")])
    catalog = DataCatalog({"clean_train": Others()})
    with pytest.raises(InputError, match="clean_train comes from others in this environment"):
        InputHook().before_pipeline_run({"runner": "None"}, pipeline, catalog)
