"""Made reference.npz, with other people's runtimes on the published files: python make.py MEMBERS OUT.

tensorflow-cpu 2.21.0 (facenet), ai-edge-litert 2.3.0 (selfie-multiclass), efficientnet_lite_pytorch 0.1.0 on torch
2.13.0 (efficientnet-lite); tfjs-core, tfjs-converter and tfjs-backend-cpu 4.22.0 for the rest, by make.cjs, which is
called here. None of them is needed to use or to test likewise. MEMBERS holds the files that the records name.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf
import torch
from ai_edge_litert.interpreter import Interpreter
from efficientnet_lite_pytorch import EfficientNet
from inputs import SHAPES, noise


def tfjs(members: Path, name: str, file: str, outputs: dict[str, str]) -> dict[str, np.ndarray]:
    raw = members / f"{name}.input"
    raw.write_bytes(noise(name).astype("<f4").tobytes())
    arguments = [str(members / f"{file}.json"), str(members / f"{file}.bin"), str(raw), json.dumps(SHAPES[name])]
    ran = subprocess.run(["node", "make.cjs", *arguments, *outputs.values()], capture_output=True, check=True)
    return dict(zip(outputs, map(np.float32, json.loads(ran.stdout)), strict=True))


def litert(path: Path, x: np.ndarray) -> np.ndarray:
    model = Interpreter(str(path))
    model.allocate_tensors()
    answers = []
    for one in x:
        model.set_tensor(model.get_input_details()[0]["index"], one[None])
        model.invoke()
        answers.append(model.get_tensor(model.get_output_details()[0]["index"]).copy())
    return np.concatenate(answers)


def whitened(x: np.ndarray) -> np.ndarray:
    return (x - x.mean()) / np.maximum(x.std(), 1 / np.sqrt(x.size))


def frozen(path: Path, x: np.ndarray) -> np.ndarray:
    definition = tf.compat.v1.GraphDef()
    definition.ParseFromString(path.read_bytes())
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(definition, name="")
        with tf.compat.v1.Session(graph=graph) as session:
            run = [session.run("embeddings:0", {"input:0": whitened(one)[None]}) for one in x]
    return np.concatenate(run)


def efficientnet(path: Path, name: str) -> np.ndarray:
    network = EfficientNet.from_name(name)
    network.load_state_dict(torch.load(path, weights_only=True))
    with torch.no_grad():
        return network.eval()(torch.from_numpy(noise(name))).numpy()


def main() -> None:
    members, out = Path(sys.argv[1]), Path(sys.argv[2])
    heads = {"embedding": "global_pooling/Mean", "male": "gender_pred/Sigmoid", "age": "age_pred/Softmax"}
    found = {f"faceres/{k}": v for k, v in tfjs(members, "faceres", "faceres", heads).items()}
    answers = {"age": "Identity", "gender": "Identity_1", "race": "Identity_2"}
    found |= {f"gear/{k}": v for k, v in tfjs(members, "gear", "gear", answers).items()}
    found |= {f"emotion/{k}": v for k, v in tfjs(members, "emotion", "emotion", {"emotion": "Identity"}).items()}
    mesh = {"mesh": "Identity_2", "face": "Identity_1"}
    found |= {f"face-mesh/{k}": v for k, v in tfjs(members, "face-mesh", "facemesh", mesh).items()}
    classes = litert(members / "selfie_multiclass_256x256.tflite", noise("selfie-multiclass"))
    found["selfie-multiclass/classes"] = classes[:, ::16, ::16]
    found["facenet/embedding"] = frozen(members / "graph_final.pb", noise("facenet"))
    for name in ("efficientnet-lite0", "efficientnet-lite1", "efficientnet-lite2"):
        found[f"{name}/logits"] = efficientnet(next(members.glob(f"{name}-*.pth")), name)
    np.savez_compressed(out, **found)


if __name__ == "__main__":
    main()
