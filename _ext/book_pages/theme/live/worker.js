/**
 * Runs Python for one page in a worker: loads Python from the site's files, then answers one request after the other.
 *
 * While it loads, it posts numbers (the share of the bytes that are loaded), and then "ready", or {failed: why} if
 * loading fails. For each request, it posts the text of the answer, or {ended: why} if Python cannot answer any more.
 *
 * A reader's program may call every function that it finds in the worker. So before the first program runs, the worker
 * removes every function by which a program could send messages to the page, reach a server or store data. If a program
 * changes Python itself, the changes end with the worker.
 */

import { loadPyodide } from './pyodide.mjs';

const HERE = new URL('./', import.meta.url);
const MOST_MEMORY = 2 ** 30; // bytes; a program that asks for more gets a MemoryError
// The globals that stay are those of JavaScript itself and those that Pyodide needs. `shut` removes all others.
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
let answer; // the Python function that takes the text of a request and returns the text of the answer

self.onmessage = ({ data }) => {
  try {
    say(String(answer(data)));
  } catch (error) {
    say({ ended: lastLine(error) }); // `answer` returns errors of programs, so Python itself failed and may be broken
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
  // a program that imports the module js gets an empty module
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

/**
 * Let `fetch` read the site's files from the browser's cache, or load and cache them, and post the share of their bytes
 * that is loaded. Delete the caches of other versions of the files.
 */
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
    // a program may find this function even after `shut` has removed `self.fetch`
    if (isShut) throw new TypeError('nothing can be fetched from here');
    const address = asked instanceof Request ? asked.url : String(asked);
    const size = whole[address.split('/').at(-1) ?? '']?.bytes;
    if (!size) return ask(asked, options);
    const kept = await store?.match(address);
    const answered = kept ?? (await ask(asked, options));
    if (!answered.ok) return answered;
    if (!kept) await store?.put(address, answered.clone()).catch(() => {}); // if the cache is full, it is not cached
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
 * Remove all globals that are not in `STAYS` from the global object and its prototypes, and remove every way to run a
 * text as code. Such a text could contain `import("https://...")`. This is syntax, so it cannot be removed, and not
 * every host sends a content security policy that forbids it.
 */
function shut() {
  isShut = true;
  for (const kind of [function () {}, async function () {}, function* () {}, async function* () {}]) {
    remove(Object.getPrototypeOf(kind), 'constructor');
  }
  for (const name of ['setTimeout', 'setInterval']) {
    const wait = self[name].bind(self);
    // the original function runs a text as code, so the replacement accepts only functions
    remove(self, name, (call, ...more) => (typeof call === 'function' ? wait(call, ...more) : undefined));
  }
  for (let holder = self; holder !== Object.prototype; holder = Object.getPrototypeOf(holder)) {
    for (const [name, { value, configurable }] of Object.entries(Object.getOwnPropertyDescriptors(holder))) {
      const isConstant = !configurable && typeof value === 'number';
      if (!STAYS.has(name) && !isConstant) remove(holder, name);
    }
  }
}

/** Replace a property permanently. Throw an error if that is impossible; loading then fails, and no program runs. */
const remove = (holder, name, instead) =>
  Object.defineProperty(holder, name, { value: instead, writable: false, configurable: false });

const lastLine = error =>
  String(error?.message ?? error)
    .trim()
    .split('\n')
    .at(-1);
