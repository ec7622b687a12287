"""Networks: generators, detectors, recognizers, classifiers, perception; one self-contained file each."""
