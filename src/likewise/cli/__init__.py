"""One verb a stage, one artefact each; the only room that knows all the others."""
