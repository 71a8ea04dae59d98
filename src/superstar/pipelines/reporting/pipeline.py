"""Unaggregated results to tables and figures."""

from dataclasses import fields

from kedro.pipeline import Pipeline, node

from superstar.pipelines.reporting import drawing, nodes
from superstar.pipelines.reporting.report import Run


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
                {name: name for name in (*nodes.TABLES, "evaluation_metrics")},
                name="make_tables",
            ),
            node(
                nodes.typeset_tables,
                ["main_table", "transfer_table"],
                ["main_table_markdown", "main_table_latex", "transfer_table_latex"],
                name="typeset_tables",
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
                    **{field.name: field.name for field in fields(Run)},
                    **{name: f"params:{name}" for name in nodes.CONFIGURATION},
                },
                "report",
                name="write_report",
            ),
            node(
                drawing.draw_results,
                [
                    "main_table",
                    "severity_delta_table",
                    "action_table",
                    "inaction_table",
                    "thresholds",
                ],
                ["delta_figure", "severity_delta_figure", "action_figure", "inaction_figure"],
                name="draw_results",
            ),
            node(
                drawing.draw_design,
                [
                    "policy_curves",
                    "operability_fits",
                    "operability_labels",
                    "params:reporting",
                    "params:surrogate_generation",
                ],
                ["policy_figure", "operability_figure"],
                name="draw_design",
            ),
            node(
                drawing.draw_surrogates,
                ["validation_design", "surrogates", "surrogate_strengths"],
                "surrogates_figure",
                name="draw_surrogates",
            ),
            node(
                drawing.draw_shifts,
                ["shifted_sets", "params:benchmark_generation"],
                "shifts_figure",
                name="draw_shifts",
            ),
            node(
                drawing.draw_examples,
                ["example_stages", "shifted_sets", "denoiser"],
                ["example_figure", "example_beta_figure"],
                name="draw_examples",
            ),
        ],
        tags="reporting",
    )
