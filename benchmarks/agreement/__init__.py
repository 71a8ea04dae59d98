"""Our measures beside the figures that the paper's authors released: `make agreement`.

State features and Wasserstein distances of images under the six surrogates, on images of the
user's own, next to what the release says of the same surrogates and severities.
"""
