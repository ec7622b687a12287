"""StyleGAN2 checkpoints of several code bases: each reads one layout and writes the common form."""
