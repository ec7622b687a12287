"""Thin, optional connections to other tools: Excel, Hugging Face datasets, MLflow, Weights & Biases."""
