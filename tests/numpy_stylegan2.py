"""StyleGAN2's forward pass, written a second time: NumPy, float64, one image at a time, gains applied as it goes."""

from __future__ import annotations

import numpy as np

FIR = np.outer([1.0, 3, 3, 1], [1, 3, 3, 1]) / 16


def lrelu(x):
    return np.where(x > 0, x, 0.2 * x) * np.sqrt(2)


def normal(x):
    return x / np.sqrt(np.square(x).mean() + 1e-8)


def mapped(shape, tensors, z, label=None):
    x = normal(z.astype(float))
    if label is not None:
        one = np.eye(shape.labels)[label] / np.sqrt(shape.labels)
        x = np.concatenate([x, normal(tensors["mapping.embed.weight"] @ one + tensors["mapping.embed.bias"])])
    for i in range(len(shape.mapping)):
        weight = tensors[f"mapping.fc{i}.weight"] * (0.01 / np.sqrt(len(x)))
        x = lrelu(weight @ x + 0.01 * tensors[f"mapping.fc{i}.bias"])
    return x


def correlate(x, kernel):
    """Slide a kernel [h, w] over every channel of an image that is padded already."""
    high, wide = kernel.shape
    rows, columns = x.shape[1] - high + 1, x.shape[2] - wide + 1
    return sum(kernel[a, b] * x[:, a : a + rows, b : b + columns] for a in range(high) for b in range(wide))


def spread(x):
    """Double the size: zeros between the pixels, then the filter."""
    wide = np.zeros((len(x), 2 * x.shape[1], 2 * x.shape[2]))
    wide[:, ::2, ::2] = x
    return correlate(np.pad(wide, ((0, 0), (2, 1), (2, 1))), FIR)


def convolve(x, weight, up):
    if not up:
        padded, (rows, columns) = np.pad(x, ((0, 0), (1, 1), (1, 1))), x.shape[1:]
        shifted = ((a, b, padded[:, a : a + rows, b : b + columns]) for a in range(3) for b in range(3))
        return sum(np.tensordot(weight[:, :, a, b], part, 1) for a, b, part in shifted)
    rows, columns = x.shape[1:]
    wide = np.zeros((len(weight), 2 * rows + 1, 2 * columns + 1))
    for a in range(3):
        for b in range(3):
            wide[:, a : a + 2 * rows : 2, b : b + 2 * columns : 2] += np.tensordot(weight[:, :, a, b], x, 1)
    return correlate(np.pad(wide, ((0, 0), (1, 1), (1, 1))), FIR)


def cut(x, clamp):
    return x if clamp is None else np.clip(x, -clamp, clamp)


def layer(shape, tensors, name, x, w, *, up=False, noise=True, gain=1.0):
    style = tensors[f"{name}.affine.weight"] @ w / np.sqrt(len(w)) + tensors[f"{name}.affine.bias"]
    weight = tensors[f"{name}.weight"].astype(float) * style[:, None, None]
    weight /= np.sqrt(np.square(weight).sum(axis=(1, 2, 3), keepdims=True) + 1e-8)
    x = convolve(x, weight, up)
    if shape.noise and noise:
        x = x + tensors[f"{name}.noise_const"] * tensors[f"{name}.noise_strength"]
    clamp = None if shape.clamp is None else shape.clamp * gain
    return cut(lrelu(x + tensors[f"{name}.bias"][:, None, None]) * gain, clamp)


def to_rgb(shape, tensors, name, x, w):
    style = tensors[f"{name}.affine.weight"] @ w / np.sqrt(len(w)) + tensors[f"{name}.affine.bias"]
    weight = tensors[f"{name}.weight"][:, :, 0, 0] * style / np.sqrt(len(x))
    return cut(np.tensordot(weight, x, 1) + tensors[f"{name}.bias"][:, None, None], shape.clamp)


def drawn(shape, tensors, w, *, noise=True):
    """Draw one latent ``w [rows, dim]``."""
    x, image, row = tensors["synthesis.b4.const"].astype(float), None, 0
    for i, size in enumerate(shape.sizes):
        at = f"synthesis.b{size}"
        if i == 0:
            x = layer(shape, tensors, f"{at}.conv1", x, w[0], noise=noise)
            row = 1
        else:
            half = np.sqrt(0.5) if shape.architecture == "resnet" else 1.0
            y = layer(shape, tensors, f"{at}.conv0", x, w[row], up=True, noise=noise)
            y = layer(shape, tensors, f"{at}.conv1", y, w[row + 1], noise=noise, gain=half)
            if shape.architecture == "resnet":
                mixed = np.tensordot(tensors[f"{at}.skip.weight"][:, :, 0, 0] / np.sqrt(len(x)), x, 1)
                y = y + half * spread(mixed)
            x, row = y, row + 2
        image = None if image is None else spread(image)
        if f"{at}.torgb.weight" in tensors:
            color = to_rgb(shape, tensors, f"{at}.torgb", x, w[row])
            image = color if image is None else image + color
    return image
