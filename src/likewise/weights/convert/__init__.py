"""Converters: each reads the members of an archive (or a user's file) and writes one file in the common form.

A record names its converter by a key of ``CONVERTERS``. The name is part of the weight's fingerprint, the module path
is not: moving a module converts nothing again. ``FORMER`` lists the paths that older versions hashed.
"""

from __future__ import annotations

_HERE = "likewise.weights.convert"
CONVERTERS: dict[str, str] = {
    "passthrough": f"{_HERE}.passthrough:convert",
    "dynamic-batch": f"{_HERE}.dynamic_batch:convert",
    "dynamic-size": f"{_HERE}.dynamic_batch:convert_any_size",
    "efficientnet": f"{_HERE}.efficientnet:convert",
    "inception-2015": f"{_HERE}.inception:convert",
    "lpips": f"{_HERE}.lpips:convert",
    "mobilefacenet": f"{_HERE}.mobilefacenet:convert",
    "mobilestylegan": f"{_HERE}.mobilestylegan:convert",
    "openface": f"{_HERE}.openface:convert",
    "retinaface": f"{_HERE}.retinaface:convert",
    "emotion": f"{_HERE}.tensorflow:convert_emotion",
    "facenet": f"{_HERE}.tensorflow:convert_facenet",
    "faceres": f"{_HERE}.tensorflow:convert_faceres",
    "face-mesh": f"{_HERE}.tensorflow:convert_mesh",
    "gear": f"{_HERE}.tensorflow:convert_gear",
    "selfie-multiclass": f"{_HERE}.tensorflow:convert_segmentation",
    "stylegan2-nvidia": f"{_HERE}.stylegan2.nvidia:convert",
    "stylegan2-own-form": f"{_HERE}.stylegan2.own_form:convert",
    "stylegan2-rosinality": f"{_HERE}.stylegan2.rosinality:convert",
    "stylegan2-tensorflow": f"{_HERE}.stylegan2.tensorflow:convert",
}
"""``module:function`` by name, imported only when a weight is converted."""

_FORMATS = "likewise.weights.formats"
FORMER: dict[str, tuple[str, ...]] = {
    **{
        name: (f"{_HERE}.{name}:convert",)
        for name in ("efficientnet", "lpips", "mobilefacenet", "mobilestylegan", "openface", "retinaface")
    },
    "passthrough": (f"{_HERE}.copied:convert", f"{_HERE}.passthrough:convert"),
    "dynamic-batch": (f"{_HERE}.batched:convert", f"{_HERE}.dynamic_batch:convert"),
    "emotion": (f"{_HERE}.tfjs:convert_emotion", f"{_FORMATS}.tfjs:convert_emotion"),
    "facenet": (f"{_HERE}.frozen:convert_facenet", f"{_FORMATS}.tf_graphdef:convert_facenet"),
    "faceres": (f"{_HERE}.tfjs:convert_faceres", f"{_FORMATS}.tfjs:convert_faceres"),
    "face-mesh": (f"{_HERE}.tfjs:convert_mesh", f"{_FORMATS}.tfjs:convert_mesh"),
    "gear": (f"{_HERE}.tfjs:convert_gear", f"{_FORMATS}.tfjs:convert_gear"),
    "selfie-multiclass": (f"{_HERE}.tflite:convert_segmentation", f"{_FORMATS}.tflite:convert_segmentation"),
}
"""What version 0.1 hashed in the place of the name, so that its caches stay valid for this release."""
