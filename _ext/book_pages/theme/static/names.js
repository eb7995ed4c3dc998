// If the reader points at a name in the prose, the nearest stage highlights it. With the keyboard, Tab moves to the first
// name of a section and the arrow keys to the others. For a screen reader the name remains a word, because the sentences
// of the stage contain the same information.
(() => {
  const NAME = /^[\p{L}_][\p{L}\p{N}_]*$/u;
  const told = new WeakMap(); // stage -> the names that its programs bind

  const dataOf = (stage) => stage.data ?? JSON.parse(stage.querySelector(':scope > script[type="application/json"]')?.textContent || "null");
  function namesOf(stage) {
    if (!told.has(stage)) {
      const events = (dataOf(stage)?.variants ?? []).flatMap((variant) => [...(variant.before ?? []), ...variant.steps.flatMap((step) => step.events)]);
      told.set(stage, new Set(events.filter((event) => event.do === "name").map((event) => event.name)));
    }
    return told.get(stage);
  }

  /** Return the stage nearest to a place in the prose, in the section that contains both. */
  function nearest(code, stages) {
    for (let section = code.closest("section"); section; section = section.parentElement.closest("section")) {
      const near = stages.filter((stage) => section.contains(stage));
      if (!near.length) continue;
      const after = near.find((stage) => code.compareDocumentPosition(stage) & Node.DOCUMENT_POSITION_FOLLOWING), before = near.filter((stage) => stage !== after && !(code.compareDocumentPosition(stage) & Node.DOCUMENT_POSITION_FOLLOWING)).at(-1);
      return [before, after].filter(Boolean).filter((stage) => namesOf(stage).has(code.textContent))[0];
    }
    return undefined;
  }

  function light(code, stage) {
    if (!stage.light) return;
    stage.light(code.textContent);
    code.classList.add("lit");
  }
  function unlight(code, stage) {
    stage.unlight?.();
    code.classList.remove("lit");
  }

  function start() {
    const stages = [...document.querySelectorAll("memory-stage")], groups = new Map();
    for (const code of document.querySelectorAll(".bd-article section > :is(p, ul, ol) code")) {
      if (!NAME.test(code.textContent) || code.closest("a, predict-first")) continue;
      const stage = nearest(code, stages);
      if (!stage) continue;
      const section = code.closest("section"), group = groups.get(section) ?? [];
      groups.set(section, [...group, code]);
      code.classList.add("points");
      code.tabIndex = group.length ? -1 : 0;
      code.addEventListener("pointerenter", () => light(code, stage));
      code.addEventListener("pointerleave", () => { if (document.activeElement !== code) unlight(code, stage); });
      code.addEventListener("focus", () => light(code, stage));
      code.addEventListener("blur", () => unlight(code, stage));
      code.addEventListener("keydown", (event) => {
        const all = groups.get(section), by = { ArrowRight: 1, ArrowLeft: -1 }[event.key], to = by && all[all.indexOf(code) + by];
        if (!to) return;
        event.preventDefault();
        code.tabIndex = -1;
        to.tabIndex = 0;
        to.focus();
      });
    }
  }
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start); else start();
})();
