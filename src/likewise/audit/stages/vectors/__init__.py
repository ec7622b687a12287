"""From Images to Vectors: embed, project, and the fidelity of the reconstructions."""
