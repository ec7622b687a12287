"""Commands around an audit: directions, lambdas, one image in detail."""
