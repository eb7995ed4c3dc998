// The page's one Python: started by the first request, answers in turn, is ended by a button or after a limit.

const LIMIT = 20_000; // milliseconds that one request may take
const MOST = 8_000_000; // characters of an answer

let python; // { worker, ready, told } while there is one
let busy; // the request that is being answered: { fail }

/** Answers a request of `book_kit.in_page.page_kernel`; `progress(share)` is called while Python loads, `loaded()` after.
    Rejects with the reason, as a sentence, where there is no answer. */
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

/** Ends Python, whatever it is doing; the next request starts it anew. */
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

/** What ended Python, in a sentence: a stack that was used up, or what Python said last. */
function ending(why) {
  const told = /call stack|recursion/i.test(why) ? "its calls, or its brackets, lie too deep inside each other" : why;
  return `The program has ended Python: ${told}. The next run starts it anew.`;
}
