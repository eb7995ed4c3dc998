// Run Python in a worker: unpack the archives from the server, then answer messages, which call functions of inside.py.

import { loadPyodide } from './pyodide.mjs';

const began = performance.now();
const python = await loadPyodide({
  indexURL: './',
  stdout: line => postMessage({ line }),
  stderr: line => postMessage({ line }),
});
const live = await (await fetch('live.json')).json();
const packages = python.runPython('import sysconfig; sysconfig.get_path("purelib")');
const archives = {
  [live.numpy]: packages,
  [live.minitensor]: packages,
  'pytest.zip': packages,
  'checkout.zip': '/checkout',
};
for (const [name, extractDir] of Object.entries(archives)) {
  python.unpackArchive(await (await fetch(name)).arrayBuffer(), 'zip', { extractDir });
}
python.runPython("import os, sys; os.chdir('/checkout'); sys.path.insert(0, '/checkout')");
const inside = python.pyimport('tests.in_the_browser.inside');

onmessage = ({ data: { call, given } }) => {
  try {
    postMessage({ answer: inside[call](JSON.stringify(given)) });
  } catch (error) {
    postMessage({ error: String(error) });
  }
};
postMessage({ answer: JSON.stringify({ ready: performance.now() - began }) });
