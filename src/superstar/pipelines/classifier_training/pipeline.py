"""Clean training images to the classifiers under study."""

from kedro.pipeline import Pipeline, node

from superstar.pipelines.classifier_training import nodes


def create_pipeline() -> Pipeline:
    """The pipeline."""
    return Pipeline(
        [
            node(
                nodes.train_standard_classifier,
                [
                    "clean_train",
                    "class_names",
                    # No more of them than bear on it, so that it outlasts changes of the others.
                    "params:classifier_training.architecture",
                    "params:classifier_training.standard",
                    "params:classifier_training.published",
                    "params:distance",
                    "params:execution",
                    "params:seed",
                ],
                ["classifier_standard", "standard_curve"],
                name="train_standard_classifier",
            ),
            node(
                nodes.train_robust_classifiers,
                [
                    "classifier_standard",
                    "clean_train",
                    "class_names",
                    "params:classifier_training",
                    "params:execution",
                    "params:seed",
                ],
                ["robust_classifiers", "robust_curves"],
                name="train_robust_classifiers",
            ),
            node(
                nodes.assess_classifiers,
                [
                    "classifier_standard",
                    "robust_classifiers",
                    "clean_validation",
                    "params:execution",
                ],
                "classifier_metrics",
                name="assess_classifiers",
            ),
        ],
    )
