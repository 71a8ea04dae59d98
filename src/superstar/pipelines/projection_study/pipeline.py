"""Distances of perturbed images under every projection (paper, appendix C)."""

from kedro.pipeline import Pipeline, node

from superstar.pipelines.projection_study import nodes


def create_pipeline() -> Pipeline:
    """The pipeline."""
    return Pipeline(
        [
            node(
                nodes.prepare_images,
                ["mnist", "params:projection_study", "params:seed"],
                "projection_images",
                name="prepare_projection_images",
            ),
            node(
                nodes.measure_distances,
                ["projection_images", "params:projection_study", "params:seed"],
                "projection_distances",
                name="measure_projections",
            ),
            node(
                nodes.summarise,
                "projection_distances",
                ["projection_table", "projection_metrics"],
                name="summarise_projections",
            ),
            node(
                nodes.draw_distances,
                "projection_distances",
                "projection_figure",
                name="draw_projections",
            ),
            node(
                nodes.write_report,
                ["projection_table", "projection_distances", "params:projection_study"],
                "projection_report",
                name="write_projection_report",
            ),
        ],
    )
