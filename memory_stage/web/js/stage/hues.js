import { HUES } from '../shared/patterns.js';

/**
 * Return the hue of each tensor for its whole life. Two aliases of one storage never have the same hue; other tensors
 * that live at the same time have different ones as long as there are enough.
 */
export function assignHues({ lives }) {
  const hues = new Map();
  const done = [];
  const meetIn = (a, b) =>
    a.spans.some((s, variant) => s && b.spans[variant] && s[0] <= b.spans[variant][1] && b.spans[variant][0] <= s[1]);
  for (const life of lives.values()) {
    const rivals = done.filter(other => meetIn(life, other));
    const taken = new Set(rivals.map(o => hues.get(o.id)));
    const aliased = new Set(
      rivals.filter(o => [...o.storages].some(s => life.storages.has(s))).map(o => hues.get(o.id)),
    );
    const all = Array.from({ length: HUES }, (_, i) => i + 1);
    const crowd = h => rivals.filter(o => hues.get(o.id) === h).length;
    const least = [...all].sort((a, b) => crowd(a) - crowd(b));
    hues.set(life.id, all.find(h => !taken.has(h)) ?? least.find(h => !aliased.has(h)) ?? least[0]);
    done.push(life);
  }
  return hues;
}
