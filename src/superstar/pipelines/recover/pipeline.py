"""A folder of images and a supervisor to a folder of corrected images."""

from kedro.pipeline import Pipeline, node

from superstar.pipelines.recover import nodes


def create_pipeline() -> Pipeline:
    """The pipeline."""
    return Pipeline(
        [
            node(
                nodes.recover_files,
                [
                    "images_to_recover",
                    "given_supervisor",
                    "params:recover",
                    "params:execution",
                    "params:seed",
                ],
                "recovered_images",
                name="recover_files",
            ),
        ],
    )
