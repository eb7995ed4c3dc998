/**
 * Python for one page, in a worker: loads the site's files, then answers one request after the other.
 *
 * It posts a number (the share of the bytes that are loaded), "ready", {failed: why}, {ended: why}, or the text of an
 * answer. A program may do anything in here. So before the first program runs, the worker removes every function by
 * which a program could talk to the page, reach a server or store data. Changes to Python end with the worker.
 */

import { loadPyodide } from './pyodide.mjs';

const HERE = new URL('./', import.meta.url);
const MOST_MEMORY = 2 ** 30; // bytes; a program that asks for more gets a MemoryError
// The globals that stay: those of the language, and those that Python needs. All others are removed.
const STAYS = new Set(
  `
  globalThis self undefined NaN Infinity isFinite isNaN parseFloat parseInt decodeURI decodeURIComponent
  encodeURI encodeURIComponent
  escape unescape
  Object Boolean Symbol Number BigInt String RegExp Date Math JSON Intl Temporal Proxy Reflect Promise Iterator Atomics
  Error AggregateError EvalError RangeError ReferenceError SyntaxError TypeError URIError SuppressedError DOMException
  Array Map Set WeakMap WeakSet WeakRef FinalizationRegistry DisposableStack AsyncDisposableStack ArrayBuffer DataView
  Int8Array Uint8Array Uint8ClampedArray Int16Array Uint16Array Int32Array Uint32Array BigInt64Array BigUint64Array
  Float16Array Float32Array Float64Array
  WebAssembly TextDecoder TextEncoder console crypto performance scheduler queueMicrotask
  setTimeout clearTimeout setInterval clearInterval
`
    .trim()
    .split(/\s+/),
);

const say = self.postMessage.bind(self);
let isShut = false;
let answer; // of Python: takes the text of a request

self.onmessage = ({ data }) => {
  try {
    say(String(answer(data)));
  } catch (error) {
    say({ ended: lastLine(error) }); // an error here comes from Python itself, which may not work any more
  }
};

load().then(
  () => say('ready'),
  error => say({ failed: lastLine(error) }),
);

async function load() {
  boundMemory();
  const about = await (await fetch(new URL('live.json', HERE), { cache: 'no-cache' })).json();
  const files = Object.keys(about.files);
  const total = Object.values(about.files).reduce((sum, file) => sum + file.bytes, 0);
  await cacheFiles(about, total);
  // the module js of a program is empty
  const python = await loadPyodide({ indexURL: HERE.href, jsglobals: {} });
  for (const name of files.filter(each => each.endsWith('.whl'))) {
    python.unpackArchive(await (await fetch(new URL(name, HERE))).arrayBuffer(), 'wheel');
  }
  const page = python.pyimport('book_kit.in_page.page_kernel');
  page.stand_in();
  answer = page.answer;
  for (const name of ['js', 'pyodide_js']) python.unregisterJsModule(name);
  page.forget_javascript();
  shut();
  say(1);
}

/** Take files from the browser's cache, store them there, and post the share that is loaded. */
async function cacheFiles(about, total) {
  const whole = about.files;
  const name = `in-place ${await digest(JSON.stringify(whole))}`;
  const store = await caches.open(name).catch(() => undefined); // an address without https has no cache
  for (const other of store ? await caches.keys() : []) {
    if (other.startsWith('in-place ') && other !== name) await caches.delete(other);
  }
  const ask = self.fetch.bind(self);
  let come = 0;
  self.fetch = async (asked, options) => {
    if (isShut) throw new TypeError('nothing can be fetched from here'); // a program may have stored this function
    const address = asked instanceof Request ? asked.url : String(asked);
    const size = whole[address.split('/').at(-1) ?? '']?.bytes;
    if (!size) return ask(asked, options);
    const kept = await store?.match(address);
    const answered = kept ?? (await ask(asked, options));
    if (!answered.ok) return answered;
    if (!kept) await store?.put(address, answered.clone()).catch(() => {}); // without room it is loaded again next time
    const counted = new TransformStream({
      transform(chunk, controller) {
        come += chunk.length;
        say(Math.min(0.99, come / total));
        controller.enqueue(chunk);
      },
    });
    return new Response(answered.body?.pipeThrough(counted), {
      headers: { 'Content-Type': answered.headers.get('Content-Type') ?? '' },
    });
  };
}

async function digest(text) {
  if (!crypto.subtle) return text.length;
  const bytes = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text));
  return [...new Uint8Array(bytes).slice(0, 8)].map(byte => byte.toString(16).padStart(2, '0')).join('');
}

function boundMemory() {
  const grow = WebAssembly.Memory.prototype.grow;
  WebAssembly.Memory.prototype.grow = function (pages) {
    if (this.buffer.byteLength + pages * 65536 > MOST_MEMORY) throw new RangeError('as much memory as a page may take');
    return grow.call(this, pages);
  };
}

/**
 * Remove all globals that do not stay, wherever they are defined, and the ways to turn text into code. A text could
 * hold `import("https://...")`, which is syntax and cannot be removed, and not every host sends a policy against it.
 */
function shut() {
  isShut = true;
  for (const kind of [function () {}, async function () {}, function* () {}, async function* () {}]) {
    remove(Object.getPrototypeOf(kind), 'constructor');
  }
  for (const name of ['setTimeout', 'setInterval']) {
    const wait = self[name].bind(self);
    // these run a text as code
    remove(self, name, (call, ...more) => (typeof call === 'function' ? wait(call, ...more) : undefined));
  }
  for (let holder = self; holder !== Object.prototype; holder = Object.getPrototypeOf(holder)) {
    for (const [name, { value, configurable }] of Object.entries(Object.getOwnPropertyDescriptors(holder))) {
      const isConstant = !configurable && typeof value === 'number';
      if (!STAYS.has(name) && !isConstant) remove(holder, name);
    }
  }
}

/** Replace a property for good. It throws if that is impossible, and then no program runs. */
const remove = (holder, name, instead) =>
  Object.defineProperty(holder, name, { value: instead, writable: false, configurable: false });

const lastLine = error =>
  String(error?.message ?? error)
    .trim()
    .split('\n')
    .at(-1);
