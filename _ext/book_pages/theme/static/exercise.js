// <exercise-box>: a box for an answer to the exercise of its cell, on a page without Python. The reader's browser stores
// the answer. Without this script the element explains how to run an answer.
(() => {
  if (customElements.get("exercise-box")) return;

  const KEPT = "in-place.exercises"; // in the reader's browser: page and number of an exercise -> the answer

  class ExerciseBox extends HTMLElement {
    connectedCallback() {
      if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", () => this.open(), { once: true });
      else this.open();
    }

    open() {
      this.querySelector(".mt-writing")?.remove();
      const all = [...document.querySelectorAll("exercise-box")], number = all.indexOf(this) + 1;
      const given = (this.closest(".cell")?.querySelector(".cell_input pre")?.textContent ?? "").trimEnd();
      const name = `${location.pathname.split("/").at(-1)} ${number}`;

      const text = make("textarea", { id: `answer-${number}`, rows: given.split("\n").length + 1, spellcheck: false, value: stored()[name] ?? given });
      text.setAttribute("autocapitalize", "off");
      text.setAttribute("autocomplete", "off");
      const told = make("span", { className: "mt-told" });
      told.setAttribute("role", "status");
      const copy = make("button", { type: "button" }, "Copy"), again = make("button", { type: "button" }, "Start again");
      const label = make("label", { htmlFor: text.id }, `Write your answer to exercise ${number} here. It stays in this browser.`);

      text.addEventListener("input", () => { store(name, text.value === given ? undefined : text.value); told.textContent = ""; });
      text.addEventListener("keydown", (event) => {
        if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
        // The next line has the indentation of this one, and one step more after a colon. Tab moves the focus, as everywhere.
        const line = text.value.slice(0, text.selectionStart).split("\n").at(-1), indent = line.match(/^ */)[0] + (/:\s*$/.test(line) ? "    " : "");
        event.preventDefault();
        text.setRangeText(`\n${indent}`, text.selectionStart, text.selectionEnd, "end");
        text.dispatchEvent(new Event("input"));
      });
      copy.addEventListener("click", async () => {
        try {
          await navigator.clipboard.writeText(text.value);
          told.textContent = "Copied.";
        } catch { // a page from the disk may not write to the clipboard, but the reader can copy the selection
          text.select();
          told.textContent = "Selected: copy it with the keys of your system.";
        }
      });
      again.addEventListener("click", () => { text.value = given; store(name, undefined); told.textContent = ""; text.focus(); });
      this.prepend(make("div", { className: "mt-writing" }, label, text, make("div", { className: "mt-actions" }, copy, again, told)));
    }
  }

  const make = (tag, properties, ...children) => {
    const node = Object.assign(document.createElement(tag), properties);
    node.append(...children);
    return node;
  };
  const stored = () => {
    try {
      return JSON.parse(localStorage.getItem(KEPT)) ?? {};
    } catch {
      return {};
    }
  };
  const store = (name, text) => {
    const answers = stored();
    if (text === undefined) delete answers[name];
    else answers[name] = text;
    try {
      if (Object.keys(answers).length) localStorage.setItem(KEPT, JSON.stringify(answers));
      else localStorage.removeItem(KEPT);
    } catch { /* not stored */ }
  };

  customElements.define("exercise-box", ExerciseBox);
})();
