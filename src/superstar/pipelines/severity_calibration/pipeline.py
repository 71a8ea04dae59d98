"""Strength grids and a clean set to five strengths a surrogate."""

from kedro.pipeline import Pipeline, node

from superstar.pipelines.severity_calibration import nodes


def create_pipeline() -> Pipeline:
    """The pipeline."""
    return Pipeline(
        [
            node(
                nodes.measure_grids,
                [
                    "validation_design",
                    "params:severity_calibration",
                    "params:scale",
                    "params:jpeg_quality",
                    "params:seed",
                ],
                "severity_grids",
                name="measure_grids",
            ),
            node(
                nodes.choose_severities,
                ["severity_grids", "params:severity_calibration"],
                ["surrogate_strengths", "severity_table"],
                name="choose_severities",
            ),
            node(
                nodes.draw_severities,
                ["severity_grids", "severity_table", "params:severity_calibration"],
                "severity_figure",
                name="draw_severities",
            ),
        ],
    )
