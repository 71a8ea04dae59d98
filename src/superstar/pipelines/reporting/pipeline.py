"""Unaggregated results to tables and figures."""

from kedro.pipeline import Pipeline, node

from superstar.pipelines.reporting import nodes


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
                    "surrogates_inoperable",
                    "evaluation_inoperable",
                    "evaluation_first_actions",
                    "params:operability",
                    "params:reporting",
                    "params:seed",
                ],
                [
                    "main_table",
                    "main_table_markdown",
                    "main_table_latex",
                    "overall_table",
                    "transfer_table",
                    "severity_delta_table",
                    "action_table",
                    "operability_table",
                    "operability_two_columns",
                    "distance_table",
                    "inaction_table",
                    "evaluation_metrics",
                ],
                name="make_tables",
            ),
            node(
                nodes.compare_with_reference,
                ["main_table", "operability_table", "reference_table", "reference_inoperable"],
                ["reference_comparison", "inoperable_comparison"],
                name="compare_with_reference",
            ),
            node(
                nodes.sample_clusters,
                [
                    "surrogate_states",
                    "shifted_sets",
                    "params:reporting",
                    "params:benchmark_generation",
                    "params:evaluation",
                    "params:seed",
                ],
                ["state_samples", "cluster_inertias", "cluster_table"],
                name="sample_clusters",
            ),
            node(
                nodes.write_report,
                {
                    "benchmark": "params:benchmark",
                    "shifts": "benchmark_description",
                    "main_table": "main_table_markdown",
                    "overall": "overall_table",
                    "transfer": "transfer_table",
                    "by_severity": "severity_delta_table",
                    "actions": "action_table",
                    "operability": "operability_two_columns",
                    "labels": "operability_labels",
                    "distances": "distance_table",
                    "wanted": "inaction_table",
                    "alike": "cluster_table",
                    "severities": "severity_table",
                    "beside": "reference_comparison",
                    "abstained": "inoperable_comparison",
                    "evaluation_metrics": "evaluation_metrics",
                    "denoiser_metrics": "denoiser_metrics",
                    "operability_metrics": "operability_metrics",
                    "policy_metrics": "policy_metrics",
                    "stage_times": "stage_times",
                    "parameters": "params:reporting",
                    # In the order in which the report tells them.
                    **{f"given_{name}": f"params:{name}" for name in nodes.TOLD},
                },
                "report",
                name="write_report",
            ),
            node(
                nodes.draw_results,
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
                nodes.draw_clusters,
                ["state_samples", "cluster_inertias", "cluster_table"],
                "cluster_figure",
                name="draw_clusters",
            ),
            node(
                nodes.draw_design,
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
                nodes.draw_surrogates,
                ["validation_design", "surrogates", "surrogate_strengths"],
                "surrogates_figure",
                name="draw_surrogates",
            ),
            node(
                nodes.draw_shifts,
                ["shifted_sets", "params:benchmark_generation"],
                "shifts_figure",
                name="draw_shifts",
            ),
            node(
                nodes.draw_example,
                [
                    "evaluation_results",
                    "shifted_sets",
                    "denoiser",
                    "classifier_standard",
                    "robust_classifiers",
                    "params:reporting",
                    "params:execution",
                ],
                "example_figure",
                name="draw_example",
            ),
            node(
                nodes.draw_example_beta,
                [
                    "shifted_sets",
                    "supervisor",
                    "classifier_standard",
                    "robust_classifiers",
                    "params:reporting",
                    "params:evaluation",
                    "params:execution",
                    "params:seed",
                ],
                "example_beta_figure",
                name="draw_example_beta",
            ),
        ],
        tags="reporting",
    )
