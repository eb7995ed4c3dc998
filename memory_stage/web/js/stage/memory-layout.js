import { getOrMake } from '../shared/cache.js';
import { isStale } from '../trace/references.js';
import { cellsOf, piecesOf, runsText } from './cell-slots.js';
import { showsHistory } from './depth.js';
import { arrowMargin } from './memory-columns.js';
import { isFleeting, placesOf, rowKey, windowOf } from './plan.js';
import { restHeight } from './rest-picture.js';

export const TRACK_H = 8; // the height of a track in px

const TRACK = 13; // the height in px of a track and the space under it

const PAD = 7;

const CAPTION = 26;

const INDEX_H = 15;

const MOST_ROWS = 10;

export const CROWD = 30; // if there are more storages than this, the picture draws at most MOST_IN_FULL in full

const MOST_IN_FULL = 4; // of the storages that a step touches, as many as this are drawn in full even without room

const MOST_TRIED = 12; // if there are more than CROWD storages, only as many of the latest as this may be drawn in full

/**
 * Return the rows of each storage in this frame, as a map. A row has one tensor, or several saved tensors with the same
 * layout and version, and the names that refer to it. At a depth without history, saved tensors have rows only if no
 * other tensor uses their storage.
 */
function rowsAt(frame, depth) {
  const shown = it => it.freed === undefined || it.freed === frame.step;
  const there = [...frame.tensors.values()].filter(tensor => shown(tensor) && !isFleeting(tensor));
  const named = new Set();
  for (const { saved, freed, storage } of there) if (!saved && freed === undefined) named.add(storage);
  const isHidden = tensor => tensor.saved && !showsHistory(depth) && named.has(tensor.storage);
  /** @type {Map<string, Map<string, {key: string, t: any, saves: any[], names: any[]}>>} */
  const groups = new Map();
  for (const [id, storage] of frame.storages) {
    const isPassing = storage.born === storage.freed && storage.freed < frame.step;
    if (shown(storage) && !isPassing) groups.set(id, new Map());
  }
  const rows = new Map();
  for (const tensor of there) {
    const group = groups.get(tensor.storage);
    if (!group || isHidden(tensor)) continue;
    const key = rowKey(tensor);
    const row = getOrMake(group, key, () => ({ key, t: tensor, saves: [], names: [] }));
    if (tensor.saved && tensor.freed === undefined) {
      row.saves.push(tensor);
      row.t = tensor;
    }
    rows.set(tensor.id, row);
  }
  for (const n of frame.names.values()) rows.get(n.tensor)?.names.push(n);
  return groups;
}

const WORD = /[\p{L}_][\p{L}\p{N}_]*/gu;

/**
 * Return the storages of a frame, each with its rows. A freed storage is included only at the step that frees it. A
 * storage that one step both allocated and freed has the length 0, so that only its caption is drawn.
 */
function groupsAt(plan, frame, variant, depth) {
  const places = placesOf(plan, variant);
  return [...rowsAt(frame, depth)].map(([id, rows]) => {
    const storage = frame.storages.get(id);
    const g = plan.groups.get(id);
    const mine = [...rows.values()].map(r => ({
      ...r,
      place: places.get(g.rows.get(r.key)),
      order: r.saves.length ? ['node'] : r.names.map(n => n.name),
    }));
    return {
      g,
      st: storage,
      rows: mine,
      place: places.get(g),
      length: storage.born === storage.freed ? 0 : storage.length,
    };
  });
}

/** Merge the groups of several steps: return, for each storage, all its rows in these steps, with their first lines. */
function mergedGroups(found) {
  const groups = new Map();
  for (const { g, rows, place, length } of found) {
    const all = getOrMake(groups, g.id, () => ({ g, place, length: 0, rows: new Map() }));
    all.length = Math.max(all.length, length);
    for (const { key, t: tensor, place, order } of rows) {
      /** @type {{key: string, place: number, looks: Map<string, any>, order: string[]}} */
      const row = getOrMake(all.rows, key, () => ({ key, place, looks: new Map(), order: [] }));
      row.looks.set(`${tensor.shape}|${tensor.strides}|${tensor.offset}`, tensor);
      row.order.push(...order.filter(name => !row.order.includes(name)));
    }
  }
  for (const all of groups.values()) {
    const rows = [...all.rows.values()];
    const places = [...new Set(rows.map(r => r.place))].sort((a, b) => a - b);
    all.lines = 0;
    for (const place of places) {
      const mine = rows.filter(r => r.place === place);
      for (const r of mine) r.line = all.lines;
      all.lines += Math.max(1, ...mine.map(r => r.order.length));
    }
  }
  return [...groups.values()].sort((a, b) => a.place - b.place);
}

/** Return merged groups by place. Storages that do not exist at the same time may have the same place. */
function placed(groups) {
  const all = new Map();
  for (const group of groups) getOrMake(all, group.place, () => []).push(group);
  return all;
}

/**
 * Return a place, with the storage that is in it now if there is one. A place is measured only when its height `height`
 * or its sizes `m` are read, because only a few of many storages are drawn.
 */
function placeOf(now, groups, c, width) {
  const sizes = new Map();
  const sizeOf = group => getOrMake(sizes, group, () => measureGroup(group, c, width));
  const all = groups.find(x => x.g === now?.g);
  return {
    ...now,
    rows: all && now.rows.map(r => ({ ...r, line: all.rows.get(r.key).line, order: all.rows.get(r.key).order })),
    lines: Math.max(...groups.map(x => x.lines)),
    get m() {
      return all && sizeOf(all);
    },
    get height() {
      return Math.max(...groups.map(x => sizeOf(x).height));
    },
  };
}

/**
 * Return the places { st, rows, m, height } of memory in a frame: `list` has those that are drawn in full, `folded` the
 * others. If there is room, a place is high enough for every step that shares this layout. Storages that were not
 * touched recently are folded if they do not fit into `room` px, or if there are too many for a reader.
 */
export function memoryLayout(plan, frame, variant, c, width, unfold, room) {
  const { depth } = c;
  const frames = plan.runs[variant];
  const [a, b] = windowOf(frames, frame.step);
  const find = () => {
    const found = groupsAt(plan, frame, variant, depth);
    return { here: found, merged: mergedGroups(found) };
  };
  const { here, merged } = plan.found ? getOrMake(plan.found, `${variant} ${frame.step} ${depth}`, find) : find();
  const nowAt = new Map(here.map(x => [x.place, x]));
  const lay = kept => [...placed(kept)].map(([place, mine]) => placeOf(nowAt.get(place), mine, c, width));
  const sum = (list, of) => list.reduce((n, x) => n + of(x), 0);
  const isFew = list => sum(list, x => Math.max(1, x.lines)) <= MOST_ROWS;
  const fits = (list, less) => isFew(list) && sum(list, x => x.height) <= room - less;
  const now = lay(merged);
  if (unfold || isFew(now)) {
    const around = () => mergedGroups(frames.slice(a, b + 1).flatMap(x => groupsAt(plan, x, variant, depth)));
    const whole = a === b ? now : lay(getOrMake((plan.windows ??= new Map()), `${variant} ${a} ${depth}`, around));
    const last = groupGap(c); // the gap after the last storage is not drawn
    for (const list of unfold ? [whole] : [whole, now]) if (unfold || fits(list, -last)) return { list, folded: [] };
  }
  const words = new Set(plan.codes[variant].slice(frame.line - 1, frame.end).flatMap(text => text.match(WORD) ?? []));
  // the first are storages that this step touched, those with stale tensors and the storage of a question; then follow
  // storages with names in the line, then the others, in the order in which they were last touched
  const touchedAt = ({ st: storage, rows }) => {
    if (storage.id === frame.lit?.storage || rows.some(r => isStale(r.t))) return frame.step;
    const isMeant = rows.some(r => r.names.some(n => words.has(n.name.match(WORD)?.[0])));
    return Math.max(
      storage.changed,
      isMeant ? frame.step - 0.5 : -1,
      ...rows.flatMap(r => [r.t.changed, ...r.names.map(n => n.changed)]),
    );
  };
  const latest = now.map(x => [touchedAt(x), x]).sort((x, y) => y[0] - x[0]);
  const open = new Set();
  const isCrowd = now.length > CROWD;
  for (const [i, [at, x]] of latest.entries()) {
    const isDue = at === frame.step && open.size < MOST_IN_FULL && x.st?.born !== x.st?.freed;
    const isSpare = !isCrowd || (open.size < MOST_IN_FULL && i < MOST_TRIED);
    if (isDue || (isSpare && fits([...open, x], restHeight(now.length - open.size)))) open.add(x);
  }
  return { list: now.filter(x => open.has(x)), folded: now.filter(x => !open.has(x)) };
}

/** Return the height in px of the gap between two storages. */
export const groupGap = c => (c.narrow || c.plain ? 20 : 14);

/** Return the sizes of a storage's cells, tracks and caption, and of the rows of its tensors beside them. */
function measureGroup({ g, rows: all, lines, length }, c, width) {
  const rows = [...all.values()];
  // rows share a line if they never exist at the same time, and rows with the same line share a lane of tracks
  const lanes = [...new Set(rows.map(r => r.line))].sort((a, b) => a - b);
  const arrows = c.narrow ? arrowMargin(lanes.length) : 0;
  const cells = cellsOf(g, Math.floor(c.narrow ? width - 24 - arrows : width - c.st - 12), length, c.cell);
  const cellH = cells.height ?? c.cell;
  const reach = Object.fromEntries(lanes.map(line => [line, new Set()]));
  const counted = new Set();
  for (const r of rows) {
    for (const tensor of r.looks.values()) {
      for (const p of piecesOf(cells, tensor)) reach[r.line].add(p.line);
      if (tensor.shape.includes(0)) reach[r.line].add(0);
      else if (runsText(tensor)) counted.add(r.line); // the text about the runs of a tensor is under its track
    }
  }
  if (c.plain) {
    return { cells, cellH, arrows: 0, ...namedTracks({ rows, lanes, reach, counted, cells, cellH, length }, c) };
  }
  const lineTop = [];
  const indexH = cells.indexed ? INDEX_H : 0;
  /** @type {Record<number, number[]>} y of the track on each line of cells */
  const laneOf = Object.fromEntries(lanes.map(line => [line, []]));
  let y = PAD;
  for (let l = 0; l < (length || rows.length ? cells.lines : 0); l++) {
    lineTop.push(y + indexH);
    const mine = lanes.filter(line => reach[line].has(l));
    if (c.narrow) mine.reverse(); // reversed so that no arrow crosses another
    y += indexH + cellH + 5;
    for (const line of mine) {
      laneOf[line][l] = y;
      y += TRACK + (counted.has(line) ? 15 : 0);
    }
    y += (mine.length || cells.lines > 1 ? 0 : TRACK) - 5 + (l + 1 < cells.lines ? 8 : 0);
  }
  const bottom = y + CAPTION;
  const firstTrack = (lineTop[0] ?? 0) + cellH + 9;
  const rowsTop = c.narrow ? bottom + 8 : Math.max(0, firstTrack - c.rowH / 2);
  const height = Math.max(bottom, rows.length ? rowsTop + lines * c.rowH - 6 : 0) + groupGap(c);
  const arrowX = line => width - arrows + 6 + ((arrows - 8) / Math.max(1, lanes.length)) * lanes.indexOf(line);
  return { cells, cellH, lineTop, laneOf, bottom, rowsTop, height, arrows, arrowX };
}

/**
 * Return the sizes of a storage whose names are beside their tracks. The track of the first row is above the cells, and
 * the others are below them. If a track continues on several lines of cells, its names are beside the first of them.
 */
function namedTracks({ rows, lanes, reach, counted, cells, cellH, length }, c) {
  const namesOf = line => Math.max(1, ...rows.filter(row => row.line === line).map(row => row.order.length));
  const indexH = cells.indexed ? INDEX_H : 0;
  const lineTop = [];
  /** @type {Record<number, number[]>} y of the track on each line of cells */
  const laneOf = Object.fromEntries(lanes.map(line => [line, []]));
  let y = 2;
  const place = (line, l) => {
    const isFirst = !laneOf[line].length;
    laneOf[line][l] = y + (isFirst ? (c.rowH - TRACK_H) / 2 : 2);
    y += isFirst ? c.rowH * namesOf(line) : TRACK;
    if (counted.has(line)) y += isFirst ? 6 : 15;
  };
  for (let l = 0; l < (length || rows.length ? cells.lines : 0); l++) {
    const [over, ...under] = lanes.filter(line => reach[line].has(l));
    if (l) y += 6;
    if (over !== undefined) place(over, l);
    else y += PAD;
    lineTop.push(y + indexH);
    y += indexH + cellH + 2;
    for (const line of under) place(line, l);
  }
  // rows without a track, because this storage has none of the cells that their tensors read
  for (const line of lanes.filter(each => !laneOf[each].length)) place(line, 0);
  const bottom = y + CAPTION;
  return { lineTop, laneOf, bottom, rowsTop: 0, height: bottom + groupGap(c) };
}
