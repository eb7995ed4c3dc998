/** Run work in tasks of its own, in the order in which it is given, so that the page answers its reader in between. */

/** @type {(() => boolean | void)[]} */
const waiting = [];

/**
 * Run a job in a later task, and again in further ones while it returns true.
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
