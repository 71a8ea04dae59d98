"""Surrogates to labels, tree and its scores."""

from kedro.pipeline import Pipeline, node

from superstar.pipelines.operability import nodes


def create_pipeline() -> Pipeline:
    """The pipeline."""
    return Pipeline(
        [
            node(
                nodes.measure_surrogates,
                [
                    "surrogates",
                    "surrogate_strengths",
                    "validation_design",
                    "validation_points",
                    "projection",
                    "params:distance.measure",
                    # Alone, since the other settings have no bearing on what is measured.
                    "params:operability.shared_images",
                    "classifier_standard",
                    "external_labels",
                    "params:execution",
                ],
                ["operability_fits", "surrogate_states"],
                name="measure_surrogates",
            ),
            node(
                nodes.fit_operability,
                ["operability_fits", "surrogate_states", "params:operability", "params:seed"],
                [
                    "operability_tree",
                    "operability_labels",
                    "operability_depths",
                    "surrogates_inoperable",
                    "operability_metrics",
                ],
                name="fit_operability",
            ),
            node(
                nodes.draw_tree,
                ["operability_tree", "operability_depths", "operability_metrics"],
                ["tree_figure", "depths_figure"],
                name="draw_tree",
            ),
        ],
    )
