"""Runs in MLflow: told from one another, closed however they end."""

import socket
from types import SimpleNamespace

import mlflow
import pytest
from filelock import FileLock, Timeout
from kedro.framework.hooks import hook_impl
from kedro.framework.hooks.manager import _create_hook_manager
from kedro.io import DataCatalog
from kedro.pipeline import Pipeline, node

from superstar.errors import InputError
from superstar.hooks import TrackingHook, tracking

RUN = {
    **dict.fromkeys(tracking.PARTS, ()),
    "pipeline_names": ["policy_training"],
    "only_missing_outputs": False,
    "runtime_params": {},
}
DEFAULTS = {
    "benchmark": "photos",
    "run_name": None,
    "seed": 0,
    "policy_training": {"beta": "calibrated", "reward": {"ssim_weight": 4}, "seeds": [0, 1]},
    "sensitivity": {"beta": [0.9]},
}
PIPELINE = Pipeline([node(max, ["params:seed", "params:policy_training"], "x", name="train")])


class KedroMlflow:
    """What of the plugin matters here."""

    @hook_impl
    def before_pipeline_run(self):
        if mlflow.active_run() is None:
            mlflow.start_run()

    @hook_impl
    def after_pipeline_run(self):
        mlflow.end_run()


class Refusing:
    @hook_impl(trylast=True)
    def before_pipeline_run(self):
        raise InputError("no")


class Session:
    """A session's hooks, over a project without Kedro's configuration."""

    def __init__(self, root, *others, store=None, **runtime_params):
        self.given = RUN | {"runtime_params": runtime_params}
        merged = DEFAULTS | {
            name: DEFAULTS[name] | value if isinstance(value, dict) else value
            for name, value in runtime_params.items()
        }
        loader = {"mlflow": {"server": {"mlflow_tracking_uri": store or f"sqlite:///{root}/m.db"}}}
        self.context = SimpleNamespace(
            project_path=root,
            env="test",
            params=merged,
            config_loader=type("Loader", (dict,), {"defaults": lambda self: DEFAULTS})(loader),
        )
        self.manager = _create_hook_manager()
        for hook in (TrackingHook(), KedroMlflow(), *others):
            self.manager.register(hook)

    def create(self):
        self.manager.hook.after_context_created(context=self.context)
        return self

    def begin(self, **run_params):
        arguments = {"run_params": self.given | run_params, "pipeline": PIPELINE}
        self.manager.hook.before_pipeline_run(catalog=DataCatalog(), **arguments)
        return mlflow.active_run() and mlflow.get_run(mlflow.active_run().info.run_id)

    def end(self):
        self.manager.hook.after_pipeline_run(
            run_params=self.given, run_result={}, pipeline=PIPELINE, catalog=DataCatalog()
        )


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    before = mlflow.get_tracking_uri()
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path_factory.mktemp('store')}/mlflow.db")
    mlflow.create_experiment("own", str(tmp_path_factory.mktemp("artifacts")))
    mlflow.set_experiment("own")
    yield
    mlflow.set_tracking_uri(before)


@pytest.fixture
def session(store, tmp_path):
    yield lambda *others, **runtime_params: Session(tmp_path, *others, **runtime_params).create()
    while mlflow.active_run():
        mlflow.end_run()


def test_a_plain_run_is_named_by_benchmark_and_pipelines(session):
    run = session().begin()
    assert run.info.run_name == "photos · policy_training"
    assert run.data.tags["changed"] == "nothing"
    assert run.data.tags["environment"] == "test"
    assert run.data.tags["benchmark"] == "photos"
    assert run.data.tags["controller"] == "paper, calibrated"
    assert run.data.tags["kedro_command"] == "a session in Python"


@pytest.mark.parametrize(
    ("runtime_params", "words"),
    [
        ({"seed": 1, "policy_training": {"beta": 0.9}}, "seed=1 beta=0.9"),
        ({"seed": 0, "policy_training": {"seeds": [0, 1]}}, ""),  # As the files have it.
        ({"policy_training": {"reward": None}}, "reward=None"),
        ({"sensitivity": {"beta": [1]}}, ""),  # No node of the run reads it.
    ],
)
def test_what_differs_from_the_configuration_is_in_the_name(session, runtime_params, words):
    run = session(**runtime_params).begin()
    assert run.info.run_name == " · ".join(filter(None, ("photos · policy_training", words)))
    assert run.data.tags["changed"] == (words or "nothing")
    assert all(word.split("=")[1] in run.data.tags["mlflow.note.content"] for word in words.split())


def test_a_part_a_whole_and_a_name_of_its_own(session):
    one = session(run_name="first")
    assert one.begin().info.run_name == "first"
    one.end()
    whole = {"pipeline_names": [], "node_names": ("a",), "only_missing_outputs": True}
    assert session().begin(**whole).info.run_name == "photos · whole run (part) (resumed)"
    mlflow.end_run()
    two = {"pipeline_names": ["reporting", "evaluation"]}
    assert session().begin(**two).info.run_name == "photos · evaluation+reporting"


def test_a_refused_run_is_failed_and_closed(session):
    with pytest.raises(InputError, match="no"):
        session(Refusing()).begin()
    assert mlflow.active_run() is None
    assert mlflow.last_active_run().info.status == "FAILED"


def test_a_run_that_ctrl_c_ended_is_closed_before_the_next(session):
    interrupted = session()
    run = interrupted.begin()
    interrupted.create()
    assert mlflow.active_run() is None
    assert mlflow.get_run(run.info.run_id).info.status == "KILLED"


def test_a_callers_own_run_goes_on(session):
    with mlflow.start_run() as callers:
        with pytest.raises(InputError, match="no"):
            session(Refusing()).begin()
        assert mlflow.get_run(callers.info.run_id).info.status == "RUNNING"
        session()


def test_headlines_are_few():
    deltas = {"delta.fog.standard": 3.0, "delta.none.standard": 0.0, "delta.fog.augmix": -1.0}
    others = {"operability/auroc": 0.7, "mean_delta.standard": 3.0, "reward": 1.0}
    assert tracking.headlines(deltas | others) == {
        "worst_delta": -1.0,
        "clean_delta": 0.0,
        "auroc": 0.7,
    }
    assert tracking.headlines({}) == {}


def test_the_model_of_a_run_is_a_version_of_the_benchmarks_supervisor(session, tmp_path):
    (tmp_path / "model.py").write_text(
        "import mlflow\n"
        "class Echo(mlflow.pyfunc.PythonModel):\n"
        "    def predict(self, context, model_input): return model_input\n"
        "mlflow.models.set_model(Echo())\n"
    )
    for version in ("1", "2"):
        one = session()
        run = one.begin()
        mlflow.pyfunc.log_model(
            name="supervisor", python_model=str(tmp_path / "model.py"), pip_requirements=[]
        )
        one.end()
        registered = mlflow.MlflowClient().get_model_version("supervisor-photos", version)
        assert registered.run_id == run.info.run_id
    assert mlflow.pyfunc.load_model("models:/supervisor-photos/2").predict("a") == "a"
    session().begin()
    session().end()
    assert len(mlflow.MlflowClient().search_model_versions("name = 'supervisor-photos'")) == 2


def test_a_server_that_is_not_there_is_told_at_once(monkeypatch, tmp_path):
    monkeypatch.setattr(tracking, "SERVER_SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:  # Takes connections, never answers.
        address = f"http://me:secret@127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(InputError, match="unset MLFLOW_TRACKING_URI") as error:
            Session(tmp_path, store=address).create()
    assert "secret" not in str(error.value)
    with pytest.raises(InputError, match=r"127\.0\.0\.1 does not answer"):
        tracking.check_server(address)


def test_one_process_at_a_time_opens_the_store(tmp_path):
    held = []

    class Opening:
        @hook_impl
        def after_context_created(self):
            with pytest.raises(Timeout):
                FileLock(tmp_path / "data" / ".mlflow.lock", blocking=False).acquire()
            held.append(True)

    Session(tmp_path, Opening()).create().create()
    assert held == [True, True]
