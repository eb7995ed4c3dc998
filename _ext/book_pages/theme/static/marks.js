// Mark the words of a search on a page: `?marked=words` in its address. Escape removes the marks.
(() => {
  const query = new URLSearchParams(location.search).get("marked");
  if (!query) return;

  const NOT_PROSE = "script, style, pre, code.lines, memory-stage, memory-figure, predict-first, mark, .cell_input, mjx-container";

  const finder = Object.assign(document.createElement("script"), { src: document.currentScript.src.replace("marks.js", "finder.js") });
  finder.addEventListener("load", () => {
    const article = document.querySelector("article") ?? document.body, texts = [];
    const walker = document.createTreeWalker(article, NodeFilter.SHOW_TEXT, {
      acceptNode: (node) => (node.parentElement.closest(NOT_PROSE) ? NodeFilter.FILTER_REJECT : NodeFilter.FILTER_ACCEPT),
    });
    while (walker.nextNode()) texts.push(walker.currentNode);
    for (const text of texts) {
      const parts = bookFinder.marked(text.data, query);
      if (parts.some((part) => part instanceof Node)) text.replaceWith(...parts);
    }
    document.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      article.querySelectorAll("mark").forEach((mark) => mark.replaceWith(...mark.childNodes));
    });
  });
  document.head.append(finder);
})();
