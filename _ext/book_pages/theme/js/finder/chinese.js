/**
 * Splits Chinese text for the search. Chinese has no spaces between words, so the search compares pairs of neighbouring
 * characters instead of words. A word of two characters is one pair, and a longer word is found by its pairs.
 */

const HAN = /\p{Script=Han}+/gu;

/** Words and particles of questions that say nothing about the subject of the question. */
const FILLER = new RegExp(
  `为什么 什么时候 什么样 什么 怎么样 怎么办 怎么 如何 怎样 哪些
  哪个 哪里 能不能 可不可以 可以 是不是 有没有 是否 请问 这个 那个
  一个 这些 那些 的时候 之后 之前 以后 我的 我们 不能 还是 会不会
  吗 呢 吧 啊 的 了 着 是 在 把 被 和 与 或 就 都 也 还 我
  你 它 会 能 要`
    .split(/\s+/)
    .join('|'),
  'gu',
);

/** Patterns of synonyms, each with the word that the book uses. */
const SAME = /** @type {const} */ ([
  [/就地|原地|in[- ]?place/giu, '原位'],
  [/拷贝|副本/gu, '复制'],
  [/叶子张量|叶节点|叶子结点|叶结点/gu, '叶子节点'],
  [/步幅/gu, '步长'],
  [/切分/gu, '切片'],
  [/错误信息|错误消息|异常/gu, '报错'],
  [/爆显存|显存溢出|显存爆了|OOM/giu, '显存不够'],
  [/反传|后向/gu, '反向'],
  [/改动|修改|更改/gu, '改'],
]);

/** Return true if the page is in Chinese. */
export const isChinese = () => /^zh\b/.test(globalThis.document?.documentElement.lang ?? '');

/**
 * Return a text in which the book's word replaces each synonym.
 * @param {string} text
 */
export const inTermsOfTheBook = text => SAME.reduce((said, [other, term]) => said.replace(other, term), text);

/**
 * Return the pairs of neighbouring Chinese characters of a text. A character without a neighbour is returned alone.
 * @param {string} text
 * @returns {string[]}
 */
export const pairsOf = text =>
  (text.match(HAN) ?? []).flatMap(run => {
    const characters = [...run];
    if (characters.length === 1) return characters;
    return characters.slice(1).map((character, i) => characters[i] + character);
  });

/**
 * Return the pairs of a question to search for: those outside of filler words or, if there are none, all pairs.
 * @param {string} query
 */
export function pairsAsked(query) {
  const telling = pairsOf(query.replace(FILLER, ' '));
  return telling.length ? telling : pairsOf(query);
}
