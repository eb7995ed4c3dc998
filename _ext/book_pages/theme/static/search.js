// The search page: a term of the glossary, causes of a message, then sections, each with its chapter and a sentence of its prose.
(() => {
  const SHOWN = 12;
  const make = (tag, properties, ...children) => {
    const node = Object.assign(document.createElement(tag), properties);
    node.append(...children);
    return node;
  };

  document.addEventListener("DOMContentLoaded", () => {
    const query = new URLSearchParams(location.search).get("q")?.trim() ?? "";
    const fields = document.querySelectorAll('form.bd-search input[name="q"]');
    for (const field of fields) field.value = query;
    [...fields].at(-1)?.focus();
    const results = document.getElementById("search-results");
    if (!query) return;
    document.title = `${query} – ${document.title}`;
    const causes = bookFinder.causesOf(query), { text, changed } = causes.length ? { text: query, changed: [] } : bookFinder.spelled(query);
    const sections = bookFinder.sectionsFor(text);
    const places = new Set(causes.map(({ page, place }) => `${page}#${place}`));
    const others = sections.filter(({ page, place }) => !places.has(`${page}#${place}`));
    const told = make("p", { className: "told" }, summary(causes.length, others.length), ...changed.map(([word, other]) => ` The book has no “${word}”; this is for “${other}”.`));
    told.setAttribute("role", "status");
    const term = bookFinder.termFor(text);
    results.replaceChildren(told, ...(term ? [meaning(term)] : []), ...bookCauses(causes), list(others.slice(0, SHOWN), text));
    if (others.length > SHOWN) {
      const more = make("button", { type: "button" }, `Show ${others.length - SHOWN} more`);
      more.addEventListener("click", () => { results.lastElementChild.previousElementSibling.replaceWith(list(others, text)); more.remove(); });
      results.append(more);
    }
  });

  const summary = (causes, sections) => {
    if (causes) return "This is like a message that the book explains.";
    return sections ? `${sections} ${sections === 1 ? "section" : "sections"} found.` : "Nothing found. Try fewer or other words.";
  };

  // A term has its meaning in a sentence, and a link to the chapter that teaches it.
  const meaning = ({ name, chinese, meaning, page, place, anchor }) => make(
    "section",
    { className: "cause" },
    make("p", { className: "cause-title" }, make("a", { href: `${page}.html#${place}` }, name), " ", make("span", { lang: "zh" }, chinese)),
    make("p", {}, ...meaning.split("`").map((part, i) => (i % 2 ? make("code", {}, part) : part))),
    make("p", { className: "cause-place" }, "What the libraries call it: ", make("a", { href: `chapters/E_glossary.html#${anchor}` }, "glossary"), "."),
  );

  const list = (sections, query) => make("ol", { className: "hits" }, ...sections.map((section) => {
    const address = `${section.page}.html?marked=${encodeURIComponent(query)}${section.place ? `#${section.place}` : ""}`;
    return make(
      "li",
      {},
      make("a", { href: address }, ...bookFinder.marked(section.title, query)),
      section.of === section.title ? "" : make("span", { className: "of" }, section.of),
      make("p", {}, ...bookFinder.marked(bookFinder.excerpt(section, query), query)),
    );
  }));
})();
