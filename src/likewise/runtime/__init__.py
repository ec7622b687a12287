"""What every package runs on: component registry, pixels, executor, GPUs, threads, progress, configuration."""
