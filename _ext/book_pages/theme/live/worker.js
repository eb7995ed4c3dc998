// Python for one page, in a separate worker: it loads the files of the site, and then answers one request after the other.
//
// It sends a number (the share of the bytes loaded so far), "ready", {failed: why}, {ended: why}, or the text of an answer.
// Before the first program runs, the worker removes every function with which a program could send messages to the page,
// contact a server or store data. The program may change Python, whose state is lost with the worker.

import { loadPyodide } from "./pyodide.mjs";

const HERE = new URL("./", import.meta.url);
const MOST_MEMORY = 2 ** 30; // bytes; a program that needs more gets a MemoryError
// Names to keep: the language, and names that Python needs. All others are removed, also those of future browsers.
const STAYS = new Set(`
  globalThis self undefined NaN Infinity isFinite isNaN parseFloat parseInt decodeURI decodeURIComponent encodeURI encodeURIComponent escape unescape
  Object Boolean Symbol Number BigInt String RegExp Date Math JSON Intl Temporal Proxy Reflect Promise Iterator Atomics
  Error AggregateError EvalError RangeError ReferenceError SyntaxError TypeError URIError SuppressedError DOMException
  Array Map Set WeakMap WeakSet WeakRef FinalizationRegistry DisposableStack AsyncDisposableStack ArrayBuffer DataView
  Int8Array Uint8Array Uint8ClampedArray Int16Array Uint16Array Int32Array Uint32Array BigInt64Array BigUint64Array Float16Array Float32Array Float64Array
  WebAssembly TextDecoder TextEncoder console crypto performance scheduler queueMicrotask setTimeout clearTimeout setInterval clearInterval
`.trim().split(/\s+/));

const say = self.postMessage.bind(self);
let isShut = false;
let answer; // a function of Python that answers the text of a request

self.onmessage = ({ data }) => {
  try {
    say(String(answer(data)));
  } catch (error) {
    say({ ended: lastLine(error) }); // an error here is internal to Python, which may not work any longer
  }
};

load().then(() => say("ready"), (error) => say({ failed: lastLine(error) }));

async function load() {
  boundMemory();
  const about = await (await fetch(new URL("live.json", HERE), { cache: "no-cache" })).json();
  const files = Object.keys(about.files), total = Object.values(about.files).reduce((sum, file) => sum + file.bytes, 0);
  await keepFiles(about, total);
  const python = await loadPyodide({ indexURL: HERE.href, jsglobals: {} }); // the module js is empty for programs
  for (const name of files.filter((each) => each.endsWith(".whl"))) {
    python.unpackArchive(await (await fetch(new URL(name, HERE))).arrayBuffer(), "wheel");
  }
  const page = python.pyimport("book_kit.in_page.page_kernel");
  page.stand_in();
  answer = page.answer;
  for (const name of ["js", "pyodide_js"]) python.unregisterJsModule(name);
  page.forget_javascript();
  shut();
  say(1);
}

/** Fetch files through the browser's cache, and report the progress to the page. */
async function keepFiles(about, total) {
  const whole = about.files, name = `in-place ${await digest(JSON.stringify(whole))}`;
  const store = await caches.open(name).catch(() => undefined); // fails for an address without https
  for (const other of store ? await caches.keys() : []) if (other.startsWith("in-place ") && other !== name) await caches.delete(other);
  const ask = self.fetch.bind(self);
  let come = 0;
  self.fetch = async (asked, options) => {
    if (isShut) throw new TypeError("nothing can be fetched from here"); // for a program that has kept this function
    const address = String(asked.url ?? asked), size = whole[address.split("/").at(-1)]?.bytes;
    if (!size) return ask(asked, options);
    const kept = await store?.match(address), answered = kept ?? (await ask(asked, options));
    if (!answered.ok) return answered;
    if (!kept) await store?.put(address, answered.clone()).catch(() => {}); // no space: it is fetched again next time
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

/** Remove all other names, wherever they are defined, and everything that compiles text: `import("https://...")` is not a
    function, so it cannot be removed, and not every host of the book sends a policy that forbids it. */
function shut() {
  isShut = true;
  for (const kind of [function () {}, async function () {}, function* () {}, async function* () {}]) takeAway(Object.getPrototypeOf(kind), "constructor");
  for (const name of ["setTimeout", "setInterval"]) {
    const wait = self[name].bind(self);
    takeAway(self, name, (call, ...more) => (typeof call === "function" ? wait(call, ...more) : undefined)); // a text would be compiled
  }
  for (let holder = self; holder !== Object.prototype; holder = Object.getPrototypeOf(holder)) {
    for (const [name, { value, configurable }] of Object.entries(Object.getOwnPropertyDescriptors(holder))) {
      if (!STAYS.has(name) && (configurable || typeof value !== "number")) takeAway(holder, name); // constants that are numbers are harmless
    }
  }
}

/** Throw an error if the name cannot be removed; then no program runs. */
const takeAway = (holder, name, instead) => Object.defineProperty(holder, name, { value: instead, writable: false, configurable: false });

const lastLine = (error) => String(error?.message ?? error).trim().split("\n").at(-1);
