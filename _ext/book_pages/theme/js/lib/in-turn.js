/** Runs jobs one after the other, each in a separate task, so that the page can respond to the reader between two. */

/** @type {(() => boolean | void)[]} */
const waiting = [];

/**
 * Run a job in a later task, after the jobs that are already waiting. If the job returns true, run it again in the task
 * after that.
 * @param {() => boolean | void} job
 */
export function inTurn(job) {
  if (waiting.push(job) === 1) setTimeout(runFirst);
}

function runFirst() {
  let isUnfinished;
  try {
    isUnfinished = waiting[0]();
  } finally {
    if (!isUnfinished) waiting.shift();
    if (waiting.length) setTimeout(runFirst);
  }
}
