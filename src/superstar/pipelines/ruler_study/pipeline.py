"""Rulers beside one another: which of them tells what a correction is worth."""

from kedro.pipeline import Pipeline, node

from superstar.pipelines.ruler_study import nodes


def create_pipeline() -> Pipeline:
    """The pipeline."""
    settings = [
        "params:ruler_study",
        "params:calibration",
        "params:jpeg_quality",
        "params:execution",
        "params:seed",
    ]
    surrogates = ["validation_design", "surrogate_strengths", "params:scale"]
    return Pipeline(
        [
            node(
                nodes.read_surrogates,
                [*surrogates, "supervisor", "classifier_standard", *settings],
                "ruler_on_surrogates",
                name="read_surrogates",
            ),
            node(
                nodes.read_tests,
                [
                    "shifted_sets",
                    "params:benchmark_generation",
                    "supervisor",
                    "classifier_standard",
                    *settings,
                ],
                "ruler_on_tests",
                name="read_tests",
            ),
            node(
                nodes.measure_detection,
                ["clean_train", *surrogates, "supervisor", *settings],
                "ruler_detection",
                name="measure_detection",
            ),
            node(
                nodes.summarise,
                ["ruler_on_surrogates", "ruler_on_tests", "ruler_detection", "params:ruler_study"],
                ["ruler_table", "ruler_metrics", "ruler_report"],
                name="summarise_rulers",
            ),
            node(
                nodes.draw_rulers,
                ["ruler_on_surrogates", "ruler_on_tests"],
                "ruler_figure",
                name="draw_rulers",
            ),
        ],
    )
