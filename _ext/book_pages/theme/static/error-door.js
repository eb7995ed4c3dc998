// <error-door>: the reader pastes an error or a part of it, and gets a link to the explanation. Without this script the
// element has a link to the list of all messages.
(() => {
  if (customElements.get("error-door")) return;
  const make = (tag, properties, ...children) => {
    const node = Object.assign(document.createElement(tag), properties);
    node.append(...children);
    return node;
  };

  /** Return a text as nodes; text between backticks is code. */
  const prose = (text) => text.split("`").map((part, i) => (i % 2 ? make("code", {}, part) : part));

  /** Return the explanations of the causes of a message as nodes; links begin at the root of the book. */
  globalThis.bookCauses = (causes) => causes.map(({ title, what, do: todo, where, page, place, related, index, said }) => {
    const root = document.documentElement.dataset.content_root ?? "./";
    return make(
      "section",
      { className: "cause" },
      make("p", { className: "cause-title" }, make("a", { href: `${root}${page}.html#${place}` }, ...prose(title))),
      make("p", {}, ...prose(what)),
      make("p", {}, make("strong", {}, "What to do. "), ...prose(todo)),
      make("p", { className: "cause-place" }, related ? "See also " : "Explained in ", make("a", { href: `${root}${page}.html#${place}` }, where), ". Programs, and what to write instead: ", make("a", { href: `${root}chapters/B_error_index.html#${index}` }, "appendix B"), `. Recorded from ${said.by}: `, make("code", {}, said.short)),
    );
  });

  class ErrorDoor extends HTMLElement {
    connectedCallback() {
      if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", () => this.open(), { once: true });
      else this.open();
    }

    open() {
      this.querySelector("form")?.remove();
      const text = make("textarea", { rows: 3, id: "pasted-error", spellcheck: false, autocomplete: "off" });
      text.setAttribute("autocapitalize", "off");
      const told = make("p", { className: "told" }), found = make("div", { className: "found" });
      told.setAttribute("role", "status");
      const look = () => {
        const causes = text.value.trim() ? bookFinder.causesOf(text.value) : [];
        found.replaceChildren(...bookCauses(causes));
        if (!text.value.trim()) told.textContent = "";
        else if (causes.length) told.textContent = causes.length === 1 ? "One place explains it." : `${causes.length} places explain messages like it.`;
        else {
          const root = document.documentElement.dataset.content_root ?? "./";
          told.replaceChildren("No recorded message is like this one. ", make("a", { href: `${root}search.html?q=${encodeURIComponent(text.value.trim().split("\n").at(-1).slice(0, 200))}` }, "Search the book for its words"), ".");
        }
      };
      let waiting;
      text.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(look, 150); });
      const form = make("form", {}, make("label", { htmlFor: "pasted-error" }, "Paste your error, whole or in part"), text, make("button", { type: "submit" }, "Find it"), told, found);
      form.addEventListener("submit", (event) => { event.preventDefault(); clearTimeout(waiting); look(); });
      this.prepend(form);
      this.classList.add("opened");
    }
  }
  customElements.define("error-door", ErrorDoor);
})();
