// Turns the plain question inside <predict-first data-right="1" data-name="..."> into a form: radio buttons, a Check
// button, what is mistaken in a wrong choice, and a way into the stage that shows the answer.
// A classic script without dependencies: it runs from a file, inline, and any number of times on one page.
(() => {
  if (customElements.get("predict-first")) return;

  const KEPT = "in-place.answers"; // in the reader's browser: the name of a question -> { tried: [options], shown }
  const FORGET = "in-place:forget";

  class PredictFirst extends HTMLElement {
    connectedCallback() {
      // While the page is being read, the element is there before its content is.
      if (document.readyState === "loading") {
        document.addEventListener("DOMContentLoaded", () => this.enhance(), { once: true });
      } else {
        this.enhance();
      }
    }

    disconnectedCallback() {
      document.removeEventListener(FORGET, this.begin);
    }

    enhance() {
      // A page saved from the browser holds a form already, without its listeners.
      this.querySelector("form")?.remove();
      const question = this.querySelector(".mt-question");
      const list = this.querySelector(".mt-options");
      const details = this.querySelector("details");
      this.right = Number(this.dataset.right);

      this.options = [...list.children].map((item, index) => {
        const radio = make("input", { type: "radio", name: "choice", value: index });
        const label = make("label", {}, radio, make("span", { className: "mt-text" }, ...copy(item)));
        const said = this.querySelector(`[data-option="${index}"]`); // none of the right one: the answer says why
        return { radio, label, said: make("p", { className: "mt-said", hidden: true }, ...(said ? copy(said) : [])) };
      });
      this.check = make("button", { type: "submit" }, "Check");
      this.look = make("button", { type: "button", className: "mt-look", hidden: true });
      this.verdict = make("p", { className: "mt-verdict" });
      this.verdict.setAttribute("role", "status"); // a live region: a screen reader speaks what is put here
      const [one, all] = [make("button", { type: "button" }, "Forget it"), make("button", { type: "button" }, "Forget all answers")];
      this.kept = make("p", { className: "mt-kept", hidden: true }, "Your answer is kept in this browser. ", one, " ", all);

      const form = make(
        "form",
        { noValidate: true },
        make("fieldset", {}, make("legend", {}, ...copy(question)), ...this.options.flatMap(({ label, said }) => [label, said])),
        make("div", { className: "mt-actions" }, this.check, this.look, this.verdict),
        this.kept,
      );
      for (const control of [this.check, this.look, one, all, ...this.options.map((option) => option.radio)]) {
        control.dataset.lmSuppressShortcuts = ""; // JupyterLab would take the arrow keys
      }

      form.addEventListener("change", () => { this.verdict.replaceChildren(); });
      form.addEventListener("submit", (event) => {
        event.preventDefault();
        this.judge();
      });
      details.addEventListener("toggle", () => {
        if (details.open && !this.state.shown) this.keep({ shown: true });
        if (details.open) this.mark();
      });
      this.look.addEventListener("click", () => this.lead());
      one.addEventListener("click", () => { store((answers) => { delete answers[this.dataset.name]; }); this.begin(); this.check.focus(); });
      all.addEventListener("click", () => {
        store((answers) => { for (const name of Object.keys(answers)) delete answers[name]; });
        document.dispatchEvent(new Event(FORGET));
        this.check.focus();
      });

      this.details = details;
      this.classList.add("mt-asked");
      list.after(form);
      this.begin();
      document.addEventListener(FORGET, this.begin);
    }

    /** As the reader left it, or untouched. */
    begin = () => {
      this.state = { tried: [], shown: false, ...stored()[this.dataset.name] };
      this.details.open = false;
      this.verdict.replaceChildren();
      const chosen = this.state.tried.at(-1);
      this.options.forEach(({ radio }, index) => { radio.checked = index === chosen; });
      this.mark();
    };

    judge() {
      const chosen = this.options.findIndex((option) => option.radio.checked);
      if (chosen < 0) {
        this.verdict.textContent = "Choose an answer first.";
        return;
      }
      this.keep({ tried: [...this.state.tried.filter((index) => index !== chosen), chosen] });
      this.mark();
      if (chosen === this.right) {
        this.verdict.textContent = "Right.";
        this.details.open = true;
        return;
      }
      // What is mistaken stands under the option; a screen reader hears it with the verdict.
      const heard = make("span", { className: "mt-heard" }, `${this.options[chosen].said.textContent} `);
      const more = this.state.shown ? "" : "Try again, or open the answer.";
      this.verdict.replaceChildren("Not this one. ", heard, more);
    }

    /** Marks what was tried, or every option once the answer was shown. */
    mark() {
      const { tried, shown } = this.state;
      this.querySelectorAll("form .mt-mark").forEach((mark) => mark.remove());
      this.options.forEach(({ label, said }, index) => {
        const was = tried.includes(index), isRight = index === this.right, told = isRight ? was || shown : was;
        if (told) label.append(make("span", { className: isRight ? "mt-mark" : "mt-mark mt-miss" }, isRight ? "✓ right" : "✗ not this one"));
        said.hidden = isRight || !(was || shown); // why the right one is right stands in the answer
      });
      this.kept.hidden = !(tried.length || shown) || !(this.dataset.name in stored());
      const proof = tried.length || shown ? this.querySelector(".mt-proof") : null;
      const stage = proof && stageOf(this, proof);
      this.look.hidden = !stage;
      if (stage) this.look.textContent = `Step the stage to line ${proof.dataset.line}`;
    }

    keep(change) {
      Object.assign(this.state, change);
      store((answers) => { answers[this.dataset.name] = this.state; });
    }

    /** Into the stage: the line that proves the guess or breaks it. */
    lead() {
      const proof = this.querySelector(".mt-proof"), stage = stageOf(this, proof);
      stage.scrollIntoView({ block: "start", behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth" });
      stage.showLine(Number(proof.dataset.line), proof.dataset.variant);
    }
  }

  /** The stage that a proof names, or the next one after the question; null where the page has none that can step. */
  const stageOf = (question, proof) => {
    const stages = [...document.querySelectorAll("memory-stage")];
    const follows = (stage) => question.compareDocumentPosition(stage) & Node.DOCUMENT_POSITION_FOLLOWING;
    const found = proof.dataset.stage ? stages.find((stage) => titleOf(stage) === proof.dataset.stage) : stages.find(follows);
    return found?.showLine ? found : null;
  };
  const titleOf = (stage) => stage.data?.title ?? JSON.parse(stage.querySelector(':scope > script[type="application/json"]')?.textContent ?? "{}").title;

  // A browser may keep nothing (a private window, a page without a place of its own): then nothing is kept.
  const stored = () => {
    try {
      return JSON.parse(localStorage.getItem(KEPT)) ?? {};
    } catch {
      return {};
    }
  };
  const store = (change) => {
    const answers = stored();
    change(answers);
    try {
      if (Object.keys(answers).length) localStorage.setItem(KEPT, JSON.stringify(answers));
      else localStorage.removeItem(KEPT);
    } catch { /* not kept */ }
  };

  const make = (tag, properties, ...children) => {
    const node = Object.assign(document.createElement(tag), properties);
    node.append(...children);
    return node;
  };
  const copy = (node) => [...node.cloneNode(true).childNodes];

  customElements.define("predict-first", PredictFirst);
})();
