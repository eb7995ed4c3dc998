import { getOrMake } from '../shared/cache.js';
import { HUES } from '../shared/patterns.js';

/**
 * Return the hue of each tensor for its whole life. Tensors that exist at the same time have different hues if there
 * are enough hues for all. If not, at least aliases of one storage have different hues, if there are enough for them.
 */
export function assignHues({ lives }) {
  const hues = new Map();
  const everywhere = new Map();
  const ofStorage = new Map();
  for (const life of lives.values()) {
    const storages = [...life.storages].map(id => getOrMake(ofStorage, id, () => new Map()));
    const crowd = countsOf([everywhere], life);
    const aliases = countsOf(storages, life);
    const all = Array.from({ length: HUES }, (_, i) => i + 1);
    const least = [...all].sort((a, b) => crowd[a] - crowd[b]);
    const hue = all.find(h => !crowd[h]) ?? least.find(h => !aliases[h]) ?? least[0];
    hues.set(life.id, hue);
    for (const alike of [everywhere, ...storages]) addLife(alike, life, hue);
  }
  return hues;
}

/**
 * Add a tensor's life to the counts of lives by hue. Lives with equal spans are counted together, because one step may
 * make thousands of tensors.
 * @param {Map<string, {spans: number[][], counts: number[]}>} alike
 */
function addLife(alike, { spans }, hue) {
  getOrMake(alike, spans.join(';'), () => ({ spans, counts: noCounts() })).counts[hue] += 1;
}

const noCounts = () => Array.from({ length: HUES + 1 }, () => 0);

/** Return, for each hue, how many of the lives counted in `all` overlap `life` in time. */
function countsOf(all, life) {
  const sums = noCounts();
  for (const alike of all) {
    for (const { spans, counts } of alike.values()) {
      if (meetIn(life.spans, spans)) counts.forEach((count, hue) => (sums[hue] += count));
    }
  }
  return sums;
}

const meetIn = (a, b) =>
  a.some((span, variant) => span && b[variant] && span[0] <= b[variant][1] && b[variant][0] <= span[1]);
