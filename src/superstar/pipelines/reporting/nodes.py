"""Tables of a run, and its report."""

import logging
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from superstar.actions import ACTIONS
from superstar.control.clustering import cluster_states
from superstar.control.controllers import PAPER
from superstar.control.intervals import Bootstrap
from superstar.datasets import ShiftedSets
from superstar.parameters import (
    BenchmarkGeneration,
    Evaluation,
    Parameters,
    Reporting,
    SurrogateGeneration,
)
from superstar.pipelines.reporting import (
    clusters,
    comparison,
    figures,
    means,
    report,
    tables,
    typesetting,
)

logger = logging.getLogger(__name__)

STUDIES = {"projection_study", "corrupt", "oracle", "peers", "ruler_study", "sensitivity"}
CONFIGURATION = [name for name in Parameters.model_fields if name not in {"benchmark", *STUDIES}]
"""Parameters that the report shows, in its order."""


def make_tables(
    results: pd.DataFrame,
    gains: pd.DataFrame,
    transfer_results: pd.DataFrame,
    transfer_gains: pd.DataFrame,
    first_actions: pd.DataFrame,
    surrogates_inoperable: pd.DataFrame,
    shifts_inoperable: pd.DataFrame,
    reference_table: pd.DataFrame,
    reference_inoperable: pd.DataFrame,
    r_squared: float,
    parameters: dict[str, Any],
    seed: int,
) -> dict[str, Any]:
    """The fields of `Tables`."""
    given = Reporting.model_validate(parameters)
    bootstrap = Bootstrap(given.bootstrap_resamples, given.confidence, seed)
    main = tables.main_table(results, gains, bootstrap)
    transfer = tables.transfer_table(transfer_results, transfer_gains, bootstrap)
    policies = means.all_policies(results, transfer_results)
    policy_gains = means.all_policies(gains, transfer_gains)
    mean_table = means.mean_table(policies, policy_gains, bootstrap)
    own_means = mean_table[mean_table["policy"] == comparison.OWN]
    markdown = typesetting.to_markdown(main, own_means)
    logger.info("accuracy (%%) shifted (S), and points gained (Δ)\n%s", markdown.rstrip())
    mce_table = pd.DataFrame(columns=means.MCE_COLUMNS)
    if given.mce is not None:
        mce_table = means.mce_table(policies, policy_gains, bootstrap)
    actions = tables.action_table(results)
    made = tables.Tables(
        main_table=main,
        transfer_table=transfer,
        mean_table=mean_table,
        mce_table=mce_table,
        action_table=actions,
        inaction_table=tables.inaction_table(first_actions),
        worst_cells=tables.worst_cells(results, given.worst_cells),
        operability_table=tables.operability_table(
            surrogates_inoperable, shifts_inoperable, first_actions, reference_inoperable
        ),
        distance_table=tables.distance_table(of_paper(results), "standard", r_squared),
        reference_comparison=comparison.compare_accuracies(
            of_paper(main), transfer, reference_table
        ),
        main_table_markdown=markdown,
        main_table_latex=typesetting.to_latex(main),
        evaluation_metrics=tables.metrics(main, actions)
        | means.mean_metrics(mean_table, mce_table),
    )
    return vars(made)


def of_paper(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of controller `paper`."""
    return table[table["controller"] == PAPER]


def cluster_samples(
    surrogates: pd.DataFrame,
    sets: ShiftedSets,
    parameters: dict[str, Any],
    benchmark: dict[str, Any],
    evaluation: dict[str, Any],
    seed: int,
) -> tuple[pd.DataFrame, pd.DataFrame, Figure]:
    """States of single images with their clusters, each shift's clusters, and both drawn."""
    given = Reporting.model_validate(parameters)
    samples = clusters.sample_states(
        surrogates,
        sets,
        BenchmarkGeneration.model_validate(benchmark).shifts,
        Evaluation.model_validate(evaluation).severities,
        given.cluster_samples,
        seed,
    )
    found = cluster_states(samples[clusters.COLUMNS], most=given.most_clusters, seed=seed)
    samples["cluster"] = found.labels + 1
    table = clusters.cluster_table(samples)
    return samples, table, clusters.cluster_figure(samples, found.inertias, table)


def draw_policy(
    curves: pd.DataFrame, parameters: dict[str, Any], surrogates: dict[str, Any]
) -> Figure:
    """Training curves; batches are numbered surrogate by surrogate, as many of each."""
    policy = SurrogateGeneration.model_validate(surrogates).policy
    batches = {
        name: range(place * policy.training_batches, (place + 1) * policy.training_batches)
        for place, name in enumerate(policy.names)
    }
    window = Reporting.model_validate(parameters).curve_window
    return figures.policy_figure(curves, ACTIONS, batches, window)


def write_report(benchmark: str, **data: Any) -> str:
    """The results of the run on one page.

    Args:
        benchmark: its name.
        data: the fields of `report.Run` and the parameters of `CONFIGURATION`.
    """
    configuration = {name: data.pop(name) for name in CONFIGURATION}
    return report.compose(benchmark, report.Run(**data), configuration)
