// Runs one TensorFlow.js graph model: node make.cjs MODEL.json MODEL.bin INPUT SHAPE OUTPUT...   (called by make.py)
const fs = require('fs');
const tf = require('@tensorflow/tfjs-core');
require('@tensorflow/tfjs-backend-cpu');
const { loadGraphModel } = require('@tensorflow/tfjs-converter');

const bytes = (path) => { const b = fs.readFileSync(path); return b.buffer.slice(b.byteOffset, b.byteOffset + b.length); };

(async () => {
  const [topology, numbers, input, shape, ...outputs] = process.argv.slice(2);
  await tf.setBackend('cpu');
  const json = JSON.parse(fs.readFileSync(topology));
  const model = await loadGraphModel({ load: async () => ({
    modelTopology: json.modelTopology, weightSpecs: json.weightsManifest[0].weights, weightData: bytes(numbers),
    signature: json.signature, userDefinedMetadata: json.userDefinedMetadata,
  }) });
  const x = tf.tensor(new Float32Array(bytes(input)), JSON.parse(shape));
  const made = [].concat(model.execute({ [model.inputs[0].name]: x }, outputs));
  process.stdout.write(JSON.stringify(made.map((tensor) => Array.from(tensor.dataSync()))));
})();
