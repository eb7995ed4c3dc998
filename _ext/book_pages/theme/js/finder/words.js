/** Splits questions and sections into words, and brings the words into a form in which the search can compare them. */

import { inTermsOfTheBook, isChinese, pairsAsked, pairsOf } from './chinese.js';

/** Maps Chinese terms of the field, as Paddle's documents use them, to words of the English book. */
const TERMS = {
  原位: 'in place',
  就地: 'in place',
  原地: 'in place',
  inplace操作: 'in place',
  叶子: 'leaf',
  叶节点: 'leaf',
  版本: 'version',
  视图: 'view',
  梯度: 'gradient',
  反向传播: 'backward',
  反向: 'backward',
  前向: 'forward',
  显存: 'memory GPU',
  内存: 'memory',
  存储: 'storage',
  张量: 'tensor',
  步长: 'strides',
  步幅: 'strides',
  偏移: 'offset',
  形状: 'shape',
  别名: 'alias',
  共享: 'share',
  拷贝: 'copy',
  复制: 'copy',
  写时复制: 'copy on write',
  克隆: 'clone',
  分离: 'detach',
  切片: 'slice',
  转置: 'transpose',
  广播: 'broadcast',
  优化器: 'optimizer',
  报错: 'error',
  错误: 'error',
  分配器: 'allocator',
  峰值: 'peak',
  保存: 'saved',
  覆盖: 'overwritten',
  检测: 'detection',
  自动: 'automatic',
  算子: 'operation',
  操作: 'operation',
  动态图: 'autograd',
  计算图: 'history',
  历史: 'history',
  单元: 'cell',
  元数据: 'metadata',
  数据类型: 'dtype',
  普通操作: 'normal operation',
  连续: 'contiguous',
  已分配: 'allocated',
  已保留: 'reserved',
  缓存: 'cache',
  碎片: 'fragmentation',
  兆字节: 'MiB',
  二进制兆字节: 'MiB',
  段: 'segment',
  块: 'block',
  叶子节点: 'leaf',
  叶子张量: 'leaf',
  停止梯度: 'stop_gradient',
  不记录梯度: 'no_grad',
  禁用梯度计算: 'no_grad',
  操作数: 'operand',
  导数规则: 'rule',
  导数表: 'derivative table',
  保存的张量: 'saved tensor',
  过期: 'stale',
  策略: 'policy',
  视图组: 'view group',
  泄漏: 'memory',
  溢出: 'out of memory',
  名字: 'name',
  重塑: 'reshape',
  显存不足: 'out of memory',
  内存不足: 'out of memory',
  显存溢出: 'out of memory',
  内存溢出: 'out of memory',
  爆显存: 'out of memory',
  显存泄漏: 'memory',
  内存泄漏: 'memory',
};
const LONGEST_FIRST = Object.keys(TERMS).sort((a, b) => b.length - a.length);

/**
 * Phrases, each with the words to search for instead. A single word of the phrase would find other sections: "out", for
 * example, is also the name of an argument.
 */
const PHRASES = /** @type {const} */ ([
  [/\bout of memory\b/gi, 'memory error allocator'],
  [/\bversion counters?\b/gi, 'version'],
]);

/** Words that occur in most questions and say nothing about the subject of the question. */
const FILLER_WORDS = new Set(
  `a an and are as at be been being but by can could did do does for from had has have how i if in into is it its me my
  no not of on or our should so than that the their them then there these they this to was we were what when where which
  who why will with would you your`.split(/\s+/),
);

/** Maps words of questions to related words of the book. */
export const RELATED = {
  modified: 'overwrite',
  modify: 'overwrite',
  mutate: 'overwrite',
  mutation: 'overwrite',
  vram: 'memory',
  ram: 'memory',
  differ: 'difference',
  different: 'difference',
  grad: 'gradient',
  requires_grad: 'gradient',
  array: 'numpy',
  weights: 'leaf',
  parameter: 'leaf',
  other: 'alias',
  another: 'alias',
  original: 'alias',
  inplace: 'inplace',
};

/**
 * Replace the Chinese terms in a query by English ones, and "OOM" by its words.
 * @param {string} query
 */
export const inEnglish = query =>
  LONGEST_FIRST.reduce((text, term) => text.replaceAll(term, ` ${TERMS[term]} `), query).replace(
    /\boom\b/gi,
    'out of memory',
  );

/**
 * Return a word without its grammatical endings, such as "s", "ed" and "ing".
 * @param {string} word
 */
export function stem(word) {
  if (word === 'leaves') return 'leaf';
  if (word.length < 4 || /[_\d]/.test(word)) return word;
  return word
    .replace(/(ations?|ating|ated)$/, 'ate')
    .replace(/(ies|ied)$/, 'y')
    .replace(/(sses)$/, 'ss')
    .replace(/([^aisu])s$/, '$1')
    .replace(/(ing|ed|en)$/, '')
    .replace(/(.)\1$/, '$1')
    .replace(/e$/, '');
}

/**
 * Return a text in lower case, without apostrophes, and with "in place" as one word.
 * @param {string} text
 */
export const joined = text =>
  text
    .toLowerCase()
    .replace(/\bin[- ]place\b/g, 'inplace')
    .replace(/[’']/g, '');

/** @param {string} text */
const latinWords = text => joined(text).match(/[+*/-]=|[\p{L}\p{N}_]+(?:\.\d+)*/gu) ?? [];

/** Return the words of a text and, on a Chinese page, the pairs of neighbouring Chinese characters. */
export function wordsOf(text) {
  if (!isChinese()) return latinWords(text);
  const own = inTermsOfTheBook(text);
  return [...latinWords(own.replace(/\p{Script=Han}+/gu, ' ')), ...pairsOf(own)];
}

/** @param {string} text */
export const termsOf = text => wordsOf(text).map(stem);

/**
 * Return the words of a question to search for: all except filler words or, if there are no others, all words.
 * @param {string} query
 */
export function wordsAsked(query) {
  if (isChinese()) {
    const own = inTermsOfTheBook(query);
    const words = latinWords(own.replace(/\p{Script=Han}+/gu, ' ')).filter(word => !FILLER_WORDS.has(word));
    const asked = [...words, ...pairsAsked(own)];
    return asked.length ? asked : wordsOf(query);
  }
  const all = wordsOf(PHRASES.reduce((text, [phrase, words]) => text.replace(phrase, words), inEnglish(query)));
  const telling = all.filter(word => !FILLER_WORDS.has(word));
  return telling.length ? telling : all;
}

/** @param {string} word */
export const isFiller = word => FILLER_WORDS.has(word);
