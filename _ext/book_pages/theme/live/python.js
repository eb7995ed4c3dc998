// The Python of a page: the first request starts it, it answers requests in order, and a button or a time limit ends it.

const LIMIT = 20_000; // milliseconds for a request
const MOST = 8_000_000; // characters of an answer

let python; // { worker, ready, told } while it runs
let busy; // the current request: { fail }

/** Send a request to `book_kit.in_page.page_kernel`; call `progress(share)` while Python loads, and `loaded()` afterwards.
    If there is no answer, reject with the reason as a sentence. */
export async function ask(request, { progress = () => {}, loaded = () => {} } = {}) {
  if (busy) throw new Error("Another program of this page is running. Stop that one first.");
  return new Promise((done, refuse) => {
    const finish = (settle) => (value) => { clearTimeout(timer); busy = undefined; settle(value); };
    const give = finish(done), fail = finish((why) => refuse(new Error(why)));
    let timer;
    busy = { fail };
    python ??= start();
    const mine = python;
    mine.told = progress;
    mine.ready.then(() => {
      if (busy?.fail !== fail) return;
      loaded();
      timer = setTimeout(() => stop(`The program was stopped: it ran for ${LIMIT / 1000} seconds.`), LIMIT);
      mine.worker.onmessage = ({ data }) => {
        if (typeof data?.ended === "string") return stop(ending(data.ended));
        try {
          if (typeof data !== "string" || data.length > MOST) throw new Error();
          give(JSON.parse(data));
        } catch {
          stop("The program has changed Python so that nothing can be shown. Python was ended.");
        }
      };
      mine.worker.postMessage(JSON.stringify(request));
    }, (error) => { python = undefined; fail(`Python does not load here: ${error.message}`); });
  });
}

/** End Python at once; the next request starts it again. */
export function stop(why = "Stopped.") {
  python?.worker.terminate();
  python = undefined;
  busy?.fail(why);
}

function start() {
  const worker = new Worker(new URL("worker.js", import.meta.url), { type: "module", name: "Python" });
  const mine = { worker, told: () => {} };
  mine.ready = new Promise((done, refuse) => {
    worker.onerror = (event) => { event.preventDefault(); refuse(new Error(event.message || "a file is missing")); };
    worker.onmessage = ({ data }) => {
      if (typeof data === "number") mine.told(data);
      else if (data === "ready") done();
      else refuse(new Error(data.failed));
    };
  });
  return mine;
}

/** Return the reason for the end of Python as a sentence: a stack overflow, or the last message of Python. */
function ending(why) {
  const told = /call stack|recursion/i.test(why) ? "its calls, or its brackets, lie too deep inside each other" : why;
  return `The program has ended Python: ${told}. The next run starts it anew.`;
}
