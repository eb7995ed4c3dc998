// Python for one page, in a worker of its own: loads the site's files, then answers one request after the other.
//
// Messages out: a number (the share of the bytes that have come), "ready", {failed: why}, or the text of an answer.
// A program may do what it likes in here. Before the first one runs, everything by which it could speak to the page, ask
// a server or keep something is taken away; what it makes of Python goes with the worker.

import { loadPyodide } from "./pyodide.mjs";

const HERE = new URL("./", import.meta.url);
const MOST_MEMORY = 2 ** 30; // bytes; a program that asks for more gets a MemoryError
const REACHES_OUT = [
  "fetch", "XMLHttpRequest", "WebSocket", "WebSocketStream", "EventSource", "WebTransport", "RTCPeerConnection", "Request", "importScripts",
  "indexedDB", "caches", "CacheStorage", "BroadcastChannel", "MessageChannel", "MessagePort", "SharedWorker", "Worker", "ServiceWorkerContainer",
  "FontFace", "fonts", "Notification", "navigator", "cookieStore", "postMessage", "close", "addEventListener", "removeEventListener",
  "dispatchEvent", "onmessage", "onerror", "onmessageerror", "FileReaderSync", "webkitRequestFileSystem", "webkitRequestFileSystemSync",
  "webkitResolveLocalFileSystemURL", "webkitResolveLocalFileSystemSyncURL", "showOpenFilePicker", "eval", "Function",
];

const say = self.postMessage.bind(self);
let isShut = false;
let answer; // of Python: takes the text of a request

self.onmessage = ({ data }) => {
  let text;
  try {
    text = answer(data);
  } catch (error) {
    text = JSON.stringify({ failed: lastLine(error) });
  }
  say(String(text));
};

load().then(() => say("ready"), (error) => say({ failed: lastLine(error) }));

async function load() {
  boundMemory();
  const about = await (await fetch(new URL("live.json", HERE), { cache: "no-cache" })).json();
  const files = Object.keys(about.files), total = Object.values(about.files).reduce((sum, file) => sum + file.bytes, 0);
  await keepFiles(about, total);
  const python = await loadPyodide({ indexURL: HERE.href });
  for (const name of files.filter((each) => each.endsWith(".whl"))) {
    python.unpackArchive(await (await fetch(new URL(name, HERE))).arrayBuffer(), "wheel");
  }
  const page = python.pyimport("minitensor.notebook.in_page");
  page.stand_in();
  answer = page.answer;
  for (const name of ["js", "pyodide_js"]) python.unregisterJsModule(name);
  python.runPython("import sys\nfor name in [each for each in sys.modules if each.split('.')[0] in ('js', 'pyodide_js')]:\n    del sys.modules[name]\ndel name, sys");
  shut();
  say(1);
}

/** Files come from the browser's store where they were kept, and are kept there; the page is told how much has come. */
async function keepFiles(about, total) {
  const whole = about.files, name = `in-place ${await digest(JSON.stringify(whole))}`;
  const store = await caches.open(name).catch(() => undefined); // not for an address without https
  for (const other of store ? await caches.keys() : []) if (other.startsWith("in-place ") && other !== name) await caches.delete(other);
  const ask = self.fetch.bind(self);
  let come = 0;
  self.fetch = async (asked, options) => {
    if (isShut) throw new TypeError("nothing can be fetched from here"); // whoever kept this function
    const address = String(asked.url ?? asked), size = whole[address.split("/").at(-1)]?.bytes;
    if (!size) return ask(asked, options);
    const kept = await store?.match(address), answered = kept ?? (await ask(asked, options));
    if (!answered.ok) return answered;
    if (!kept) await store?.put(address, answered.clone()).catch(() => {}); // no room: it comes again next time
    const counted = new TransformStream({
      transform(chunk, controller) {
        come += chunk.length;
        say(Math.min(0.99, come / total));
        controller.enqueue(chunk);
      },
    });
    return new Response(answered.body.pipeThrough(counted), { headers: { "Content-Type": answered.headers.get("Content-Type") } });
  };
}

async function digest(text) {
  if (!crypto.subtle) return text.length;
  const bytes = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return [...new Uint8Array(bytes).slice(0, 8)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

function boundMemory() {
  const grow = WebAssembly.Memory.prototype.grow;
  WebAssembly.Memory.prototype.grow = function (pages) {
    if (this.buffer.byteLength + pages * 65536 > MOST_MEMORY) throw new RangeError("as much memory as a page may take");
    return grow.call(this, pages);
  };
}

/** Takes away what reaches out of the worker, wherever it is defined, and what makes code of text: `import("https://...")` is
    no function that could be taken away, and not every host of the book sends a policy that forbids it. */
function shut() {
  isShut = true;
  for (const kind of [function () {}, async function () {}, function* () {}, async function* () {}]) {
    Object.defineProperty(Object.getPrototypeOf(kind), "constructor", { value: undefined, writable: false, configurable: false });
  }
  for (const name of ["setTimeout", "setInterval"]) {
    const wait = self[name].bind(self), value = (call, ...more) => (typeof call === "function" ? wait(call, ...more) : undefined); // a text would be run
    for (let holder = self; holder; holder = Object.getPrototypeOf(holder)) if (Object.hasOwn(holder, name)) Object.defineProperty(holder, name, { value });
  }
  for (const name of REACHES_OUT) {
    for (let holder = self; holder; holder = Object.getPrototypeOf(holder)) {
      if (Object.hasOwn(holder, name)) Object.defineProperty(holder, name, { value: undefined, writable: false, configurable: false });
    }
    if (!Object.hasOwn(self, name)) Object.defineProperty(self, name, { value: undefined, writable: false, configurable: false });
  }
}

const lastLine = (error) => String(error?.message ?? error).trim().split("\n").at(-1);
