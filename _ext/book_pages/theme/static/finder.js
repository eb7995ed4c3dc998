// Find the cause of a pasted message, and the sections that answer a question.
// These are plain functions over the book's data (messages.js, sections.js); nothing is sent from the reader's browser.
globalThis.bookFinder = (() => {
  /* ---------- messages ---------- */

  // A message is represented by its words and pairs of words, without numbers, addresses, files and names of errors.
  const spoken = (text) => text.toLowerCase()
    .replace(/\b[\w.]+(error|warning|exception):/g, " ")
    .replace(/https?:\S+|(\.{0,2}\/)?([\w.-]+\/)+[\w.-]+|\b[\w.-]+\.(py|cc|cpp|cu|h|pyx)\b/g, " ")
    .replace(/\bin[- ]place\b/g, "inplace")
    .replace(/['’`"]/g, "")
    .replace(/0x[0-9a-f]+|\b\d[\d.,]*[a-z]{0,3}\b/g, " ")
    .match(/[a-z_]{1,}/g) ?? [];
  const featuresOf = (said) => {
    const found = new Set(said);
    for (let i = 1; i < said.length; i++) found.add(`${said[i - 1]} ${said[i]}`);
    return found;
  };
  const isPair = (feature) => feature.includes(" ");

  let known; // the recorded messages with weights: a rare pair of words has more weight than a frequent one
  const catalogue = () => known ??= (() => {
    const { messages } = globalThis.bookMessages, count = new Map();
    const entries = messages.map((entry) => ({ ...entry, features: featuresOf(spoken(entry.message)) }));
    for (const { features } of entries) for (const feature of features) count.set(feature, (count.get(feature) ?? 0) + 1);
    const weight = (feature) => Math.log(1 + entries.length / (count.get(feature) ?? 1)) * (isPair(feature) ? 1 : 0.4);
    const sum = (features) => { let all = 0; for (const feature of features) all += weight(feature); return all; };
    const owners = new Map(); // the causes in whose messages a pair occurs
    for (const entry of entries) {
      entry.weight = sum(entry.features);
      for (const pair of [...entry.features].filter(isPair)) owners.set(pair, (owners.get(pair) ?? new Set()).add(entry.cause));
    }
    return { entries, weight, sum, telling: (pair) => owners.get(pair)?.size === 1 };
  })();

  const FEWEST_PAIRS = 3, FEWEST_TELLING = 2, ENOUGH = 0.55; // two pairs are enough if one of them occurs for only one cause

  /** Return how well a piece of pasted text and a message agree, 0 to about 1. It may be a part of a message, or contain a whole one. */
  const agreement = (features, asked, entry) => {
    const { weight, telling } = catalogue();
    let shared = 0, pairs = 0, told = false;
    for (const feature of features) if (entry.features.has(feature)) { shared += weight(feature); pairs += isPair(feature); told ||= telling(feature); }
    const ofMessage = shared / entry.weight, ofText = shared / asked;
    if (pairs < (told ? FEWEST_TELLING : FEWEST_PAIRS) && ofMessage < 0.9) return 0;
    return Math.max(ofMessage, ofText) + 0.1 * Math.min(ofMessage, ofText);
  };

  /** Return the causes of a pasted text, the likeliest first: { cause, title, what, do, address, where, said: [messages] }. */
  function causesOf(pasted) {
    const { entries, sum } = catalogue(), { causes } = globalThis.bookMessages, best = new Map();
    const text = inEnglish(pasted), pieces = new Set([text, ...text.split("\n")]);
    for (const piece of pieces) {
      const features = featuresOf(spoken(piece)), asked = sum(features);
      if (!asked) continue;
      for (const entry of entries) {
        const score = agreement(features, asked, entry);
        if (score >= ENOUGH && score > (best.get(entry.cause)?.score ?? 0)) best.set(entry.cause, { score, said: entry });
      }
    }
    const ranked = [...best].sort(([, a], [, b]) => b.score - a.score), top = ranked[0]?.[1].score ?? 0;
    return ranked.filter(([, { score }]) => score > top - 0.25).slice(0, 3)
      .map(([cause, { score, said }]) => ({ cause, score, said, ...causes[cause] }));
  }

  /* ---------- sections ---------- */

  // Terms of the field in Chinese, as in Paddle's documents, with the words of the book.
  const TERMS = {
    原位: "in place", 就地: "in place", 原地: "in place", inplace操作: "in place", 叶子: "leaf", 叶节点: "leaf", 版本: "version",
    视图: "view", 梯度: "gradient", 反向传播: "backward", 反向: "backward", 前向: "forward", 显存: "memory GPU", 内存: "memory",
    存储: "storage", 张量: "tensor", 步长: "strides", 步幅: "strides", 偏移: "offset", 形状: "shape", 别名: "alias",
    共享: "share", 拷贝: "copy", 复制: "copy", 写时复制: "copy on write", 克隆: "clone", 分离: "detach", 切片: "slice",
    转置: "transpose", 广播: "broadcast", 优化器: "optimizer", 报错: "error", 错误: "error", 分配器: "allocator", 峰值: "peak",
    保存: "saved", 覆盖: "overwritten", 检测: "detection", 自动: "automatic", 算子: "operation", 操作: "operation",
    动态图: "autograd", 计算图: "history", 历史: "history", 单元: "cell", 元数据: "metadata", 数据类型: "dtype", 普通操作: "normal operation", 连续: "contiguous",
    已分配: "allocated", 已保留: "reserved", 缓存: "cache", 碎片: "fragmentation", 兆字节: "MiB", 二进制兆字节: "MiB", 段: "segment", 块: "block",
    叶子节点: "leaf", 叶子张量: "leaf", 停止梯度: "stop_gradient", 不记录梯度: "no_grad", 禁用梯度计算: "no_grad", 操作数: "operand", 导数规则: "rule", 导数表: "derivative table",
    保存的张量: "saved tensor", 过期: "stale", 策略: "policy", 视图组: "view group", 泄漏: "memory", 溢出: "out of memory", 名字: "name", 重塑: "reshape",
    显存不足: "out of memory", 内存不足: "out of memory", 显存溢出: "out of memory", 内存溢出: "out of memory", 爆显存: "out of memory", 显存泄漏: "memory", 内存泄漏: "memory",
  };
  const CHINESE = Object.keys(TERMS).sort((a, b) => b.length - a.length);
  const inEnglish = (query) => CHINESE.reduce((text, term) => text.replaceAll(term, ` ${TERMS[term]} `), query);

  const SAID_OFTEN = new Set(("a an and are as at be been being but by can could did do does for from had has have how i if in into is it its me my no not of "
    + "on or our should so than that the their them then there these they this to was we were what when where which who why will with would you your").split(" "));
  const WAYS = { modified: "overwrite", modify: "overwrite", mutate: "overwrite", mutation: "overwrite", oom: "memory", vram: "memory", ram: "memory",
    differ: "difference", different: "difference", grad: "gradient", requires_grad: "gradient", array: "numpy", weights: "leaf", parameter: "leaf",
    other: "alias", another: "alias", original: "alias",
    inplace: "inplace" };
  const stem = (word) => {
    if (word === "leaves") return "leaf";
    if (word.length < 4 || /[_\d]/.test(word)) return word;
    return word.replace(/(ations?|ating|ated)$/, "ate").replace(/(ies|ied)$/, "y").replace(/(sses)$/, "ss").replace(/([^aisu])s$/, "$1").replace(/(ing|ed|en)$/, "").replace(/(.)\1$/, "$1").replace(/e$/, "");
  };
  const joined = (text) => text.toLowerCase().replace(/\bin[- ]place\b/g, "inplace").replace(/[’']/g, "");
  const wordsOf = (text) => joined(text).match(/[+*/-]=|[\p{L}\p{N}_]+(?:\.\d+)*/gu) ?? [];
  const termsOf = (text) => wordsOf(text).map(stem);

  let read; // the sections, split into terms
  const shelf = () => read ??= (() => {
    const count = new Map(), words = new Map();
    const sections = globalThis.bookSections.map((section) => {
      for (const word of wordsOf([section.title, ...section.text].join(" "))) if (word.length > 3) words.set(word, (words.get(word) ?? 0) + 1);
      const terms = new Map(), prose = termsOf(section.text.join(" ")), rows = termsOf(section.tables.join(" "));
      const title = new Set(termsOf(section.title)), of = new Set(termsOf(section.of));
      for (const term of prose) terms.set(term, (terms.get(term) ?? 0) + 1);
      for (const term of rows) terms.set(term, (terms.get(term) ?? 0) + 0.4);
      for (const term of new Set([...terms.keys(), ...title, ...of])) count.set(term, (count.get(term) ?? 0) + 1);
      return { ...section, terms, title_: title, of_: of, length: prose.length + 0.4 * rows.length };
    });
    const usual = sections.reduce((all, { length }) => all + length, 0) / sections.length;
    return { sections, usual, words, count, weight: (term) => Math.log(1 + sections.length / (0.5 + (count.get(term) ?? 0))) };
  })();

  /** Return the words of a question to search for. */
  function asked(query) {
    const all = wordsOf(inEnglish(query)), telling = all.filter((word) => !SAID_OFTEN.has(word));
    return telling.length ? telling : all;
  }

  /** Return the number of letters that are missing, added, changed or swapped; `most` + 1 if there are more than `most`. */
  function slips(a, b, most) {
    if (Math.abs(a.length - b.length) > most) return most + 1;
    let last = [], row = Array.from({ length: b.length + 1 }, (_, j) => j);
    for (let i = 1; i <= a.length; i++) {
      const next = [i];
      for (let j = 1; j <= b.length; j++) {
        next[j] = Math.min(row[j] + 1, next[j - 1] + 1, row[j - 1] + (a[i - 1] !== b[j - 1]));
        if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) next[j] = Math.min(next[j], last[j - 2] + 1);
      }
      [last, row] = [row, next];
    }
    return Math.min(row[b.length], most + 1);
  }

  /** Return the word of the book that is similar to a word that it does not have; undefined if there is none. */
  function meant(word) {
    const { words, count } = shelf();
    if (!/^[a-z_]{4,}$/.test(word) || SAID_OFTEN.has(word) || WAYS[word] || count.has(stem(word))) return undefined;
    const parts = word.split("_").filter(Boolean);
    if (parts.length > 1) return parts.some((part) => count.has(stem(part))) ? parts.join(" ") : undefined;
    const most = word.length < 8 ? 1 : 2, like = [...words].map(([other, times]) => [slips(word, other, most), times, other]);
    return like.filter(([wrong]) => wrong <= most).sort((a, b) => a[0] - b[0] || b[1] - a[1])[0]?.[2];
  }

  /** Return a query with the spelling of the book, and the corrected words: { text, changed: [[word, meant]] }. */
  function spelled(query) {
    const changed = [];
    const text = query.replace(/[A-Za-z_]{4,}/g, (word) => {
      const other = meant(word.toLowerCase());
      if (other) changed.push([word, other]);
      return other ?? word;
    });
    return { text, changed };
  }

  /** Return the weight of a page: chapters explain, so they precede appendices, and pages that repeat or only link. */
  const worthOf = ({ page, title }) => (/^index$/.test(page) ? 0.4 : /\/[A-Z]_|your_error$/.test(page) ? 0.6 : 1) * (/^(What to remember|Exercises|Where the facts come from)$/.test(title) ? 0.6 : 1);

  /** Return sections for a question, the best first. Not every word has to occur. */
  function sectionsFor(query) {
    const { sections, usual, weight } = shelf(), terms = new Map();
    for (const word of asked(query)) {
      terms.set(stem(word), 1);
      if (WAYS[word] && !terms.has(stem(WAYS[word]))) terms.set(stem(WAYS[word]), 0.5);
      if (/^\w{2,}_$/.test(word) && !terms.has(word.slice(0, -1))) terms.set(word.slice(0, -1), 0.3); // relu for relu_
    }
    const total = [...terms].reduce((all, [term, worth]) => all + worth * weight(term), 0);
    return sections.map((section) => {
      let score = 0, found = 0;
      for (const [term, worth] of terms) {
        const times = section.terms.get(term) ?? 0, inTitle = section.title_.has(term), inChapter = section.of_.has(term);
        if (!times && !inTitle && !inChapter) continue;
        const often = (times * 2.2) / (times + 1.2 * (0.4 + 0.6 * section.length / usual));
        score += worth * weight(term) * (often + (inTitle ? 1.6 : 0) + (inChapter ? 0.7 : 0));
        found += worth * weight(term);
      }
      return { section, score: score * (found / total) * worthOf(section) };
    }).filter(({ score }) => score > 0).sort((a, b) => b.score - a.score).map(({ section, score }) => ({ ...section, score }));
  }

  /** Return a sentence or two of a section with the words: prose, or a row of a table if the prose has none of them. */
  function excerpt(section, query) {
    const terms = new Set(asked(query).map(stem)), hits = (text) => new Set(termsOf(text).filter((term) => terms.has(term))).size;
    const best = (texts) => texts.map((text) => [hits(text), text]).reduce((a, b) => (b[0] > a[0] ? b : a), [0, ""]);
    const sentences = section.text.flatMap((paragraph) => paragraph.split(/(?<=[.!?:])\s+(?=[\p{Lu}`“(*])/u));
    let at = -1, most = 0;
    sentences.forEach((sentence, i) => { const n = hits(`${sentence} ${sentences[i + 1] ?? ""}`); if (n > most) [most, at] = [n, i]; });
    const row = best(section.tables);
    if (row[0] > most) return row[1];
    const said = at < 0 ? section.text[0] ?? "" : sentences.slice(at, at + 3).join(" ");
    return said.length > 260 ? `${said.slice(0, 260).replace(/\s+\S*$/, "")} …` : said;
  }

  /** Return the term of the glossary for a query in English, Chinese or a library's name; undefined if there is none. */
  function termFor(query) {
    const asked = query.trim().toLowerCase(), named = /^(?:\w+\.)*(\w+)(?:\(.*\))?$/.exec(asked)?.[1];
    return globalThis.bookTerms.find(({ name, chinese, forms }) => [name.toLowerCase(), chinese.toLowerCase(), ...forms].includes(asked))
      ?? globalThis.bookTerms.find((term) => term.named.includes(named));
  }

  /** Return a text as nodes, with marks around the words of the query. */
  function marked(text, query) {
    const terms = new Set(asked(query).map(stem));
    return text.split(/([+*/-]=|\bin[- ]place\b|[\p{L}\p{N}_]+(?:\.\d+)*)/iu).map((part) => {
      if (!part || !terms.has(stem(joined(part)))) return part;
      const mark = document.createElement("mark");
      mark.textContent = part;
      return mark;
    });
  }

  return { causesOf, termFor, spelled, sectionsFor, excerpt, marked, asked, stem };
})();
