"""Measurements on images: perceptual distances, features, color, pose, glasses, segmentation."""
