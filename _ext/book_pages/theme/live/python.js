/** Runs Python in a worker, one for the whole page. The first request starts it; a button or a time limit ends it. */

import { t } from './words.js';

const LIMIT = 20_000; // milliseconds that one request may take
const MOST = 8_000_000; // characters of an answer

/** @type {any} */
let python; // { worker, ready, onProgress } while the worker exists
/** @type {{fail: (why: string) => void} | undefined} */
let busy; // the request that Python is answering

/**
 * Send a request to `book_kit.in_page.page_kernel`, and return its answer.
 * @param {object} request
 * @param {{progress?: (share: number) => void, loaded?: () => void}} [callbacks] `progress` is called with the share of
 * Python that is loaded, and `loaded` when all of it is
 * @returns {Promise<any>} the answer; rejected with an error whose message is for the reader if there is no answer
 */
export async function ask(request, { progress = () => {}, loaded = () => {} } = {}) {
  if (busy) throw new Error(t('Another program of this page is running. Stop that one first.'));
  return new Promise((done, refuse) => {
    const finish = settle => value => {
      clearTimeout(timer);
      busy = undefined;
      settle(value);
    };
    const give = finish(done);
    const fail = finish(why => refuse(new Error(why)));
    let timer;
    busy = { fail };
    python ??= start();
    const mine = python;
    mine.onProgress = progress;
    mine.ready.then(
      () => {
        if (busy?.fail !== fail) return;
        loaded();
        timer = setTimeout(
          () => stop(t('The program was stopped: it ran for {seconds} seconds.', { seconds: LIMIT / 1000 })),
          LIMIT,
        );
        mine.worker.onmessage = ({ data }) => {
          if (typeof data?.ended === 'string') return stop(ending(data.ended));
          try {
            if (typeof data !== 'string' || data.length > MOST) throw new Error();
            give(JSON.parse(data));
          } catch {
            stop(t('The program has changed Python so that nothing can be shown. Python was ended.'));
          }
        };
        mine.worker.postMessage(JSON.stringify({ ...request, language: document.documentElement.lang }));
      },
      error => {
        python = undefined;
        fail(t('Python does not load here: {why}', { why: error.message }));
      },
    );
  });
}

/** End Python, whatever it is doing; the next request starts it again. */
export function stop(why = t('Stopped.')) {
  python?.worker.terminate();
  python = undefined;
  busy?.fail(why);
}

function start() {
  const worker = new Worker(new URL('worker.js', import.meta.url), { type: 'module', name: 'Python' });
  /** @type {any} */
  const mine = { worker, onProgress: () => {} };
  mine.ready = /** @type {Promise<void>} */ (
    new Promise((done, refuse) => {
      worker.onerror = event => {
        event.preventDefault();
        refuse(new Error(event.message || t('a file is missing')));
      };
      worker.onmessage = ({ data }) => {
        if (typeof data === 'number') mine.onProgress(data);
        else if (data === 'ready') done();
        else refuse(new Error(data.failed));
      };
    })
  );
  return mine;
}

/** Return a sentence for the reader about the error that ended Python. Only a stack overflow has a special sentence. */
function ending(why) {
  const isTooDeep = /call stack|recursion/i.test(why);
  return isTooDeep
    ? t('The program has ended Python: its calls or brackets are nested too deeply. The next run starts it anew.')
    : t('The program has ended Python: {why}. The next run starts it anew.', { why });
}
