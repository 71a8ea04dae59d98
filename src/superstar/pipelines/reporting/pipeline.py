"""Unaggregated results to tables and figures."""

from dataclasses import fields

from kedro.pipeline import Pipeline, node

from superstar.pipelines.reporting import figures, nodes, pictures
from superstar.pipelines.reporting.report import Run
from superstar.pipelines.reporting.tables import Tables


def _named(holder: type) -> dict[str, str]:
    """Data sets that are called what the fields that hold them are."""
    return {field.name: field.name for field in fields(holder)}


def create_pipeline() -> Pipeline:
    """The pipeline."""
    return Pipeline(
        [
            node(
                nodes.make_tables,
                [
                    "evaluation_results",
                    "evaluation_gains",
                    "transfer_results",
                    "transfer_gains",
                    "evaluation_first_actions",
                    "surrogates_inoperable",
                    "evaluation_inoperable",
                    "reference_table",
                    "reference_inoperable",
                    "params:operability.r_squared",
                    "params:reporting",
                    "params:seed",
                ],
                _named(Tables),
                name="make_tables",
            ),
            node(
                nodes.cluster_samples,
                [
                    "surrogate_states",
                    "shifted_sets",
                    "params:reporting",
                    "params:benchmark_generation",
                    "params:evaluation",
                    "params:seed",
                ],
                ["state_samples", "cluster_table", "cluster_figure"],
                name="cluster_samples",
            ),
            node(
                nodes.write_report,
                {
                    "benchmark": "params:benchmark",
                    **_named(Run),
                    **{name: f"params:{name}" for name in nodes.CONFIGURATION},
                },
                "report",
                name="write_report",
            ),
            node(
                figures.severity_figure,
                "main_table",
                "severity_delta_figure",
                name="draw_severity_deltas",
            ),
            node(figures.actions_figure, "action_table", "action_figure", name="draw_actions"),
            node(
                figures.inaction_figure, "inaction_table", "inaction_figure", name="draw_inaction"
            ),
            node(
                figures.fits_figure,
                ["operability_fits", "operability_labels"],
                "operability_figure",
                name="draw_operability_fits",
            ),
            node(
                nodes.draw_policy,
                ["policy_curves", "params:reporting", "params:surrogate_generation"],
                "policy_figure",
                name="draw_policy",
            ),
            node(
                pictures.draw_surrogates,
                [
                    "validation_design",
                    "surrogate_strengths",
                    "params:scale",
                    "params:jpeg_quality",
                    "params:seed",
                ],
                "surrogates_figure",
                name="draw_surrogates",
            ),
            node(
                pictures.draw_shifts,
                ["shifted_sets", "params:benchmark_generation"],
                "shifts_figure",
                name="draw_shifts",
            ),
            node(
                pictures.draw_examples,
                ["example_stages", "shifted_sets", "denoiser"],
                ["example_figure", "example_beta_figure"],
                name="draw_examples",
            ),
        ],
    )
