// Turns the plain question inside <predict-first data-right="1"> into radio buttons with a Check button.
// A classic script without dependencies: it runs from a file, inline, and any number of times on one page.
(() => {
  if (customElements.get("predict-first")) return;

  class PredictFirst extends HTMLElement {
    connectedCallback() {
      // While the page is being read, the element is there before its content is.
      if (document.readyState === "loading") {
        document.addEventListener("DOMContentLoaded", () => this.enhance(), { once: true });
      } else {
        this.enhance();
      }
    }

    enhance() {
      // A page saved from the browser holds a form already, without its listeners.
      this.querySelector("form")?.remove();
      const question = this.querySelector(".mt-question");
      const list = this.querySelector(".mt-options");
      const details = this.querySelector("details");

      const options = [...list.children].map((item, index) => {
        const radio = make("input", { type: "radio", name: "choice", value: index });
        return { radio, label: make("label", {}, radio, make("span", { className: "mt-text" }, ...copy(item))) };
      });
      const check = make("button", { type: "submit" }, "Check");
      const verdict = make("p", { className: "mt-verdict" });
      verdict.setAttribute("role", "status"); // a live region: a screen reader speaks what is put here

      const form = make(
        "form",
        { noValidate: true },
        make("fieldset", {}, make("legend", {}, ...copy(question)), ...options.map((option) => option.label)),
        make("div", { className: "mt-actions" }, check, verdict),
      );
      for (const control of [check, ...options.map((option) => option.radio)]) {
        control.dataset.lmSuppressShortcuts = ""; // JupyterLab would take the arrow keys
      }

      const clear = () => {
        verdict.textContent = "";
        form.querySelectorAll(".mt-mark").forEach((mark) => mark.remove());
      };
      form.addEventListener("change", clear);
      form.addEventListener("submit", (event) => {
        event.preventDefault();
        clear();
        const chosen = options.find((option) => option.radio.checked);
        if (!chosen) {
          verdict.textContent = "Choose an answer first.";
          return;
        }
        const right = options[Number(this.dataset.right)];
        right.label.append(make("span", { className: "mt-mark" }, "✓ right"));
        if (chosen !== right) chosen.label.append(make("span", { className: "mt-mark" }, "✗ your choice"));
        const answer = right.label.querySelector(".mt-text").textContent;
        verdict.textContent = chosen === right ? "Right." : `Not this one. The answer is ${answer}`;
        details.open = true;
      });

      this.classList.add("mt-asked");
      list.after(form);
    }
  }

  const make = (tag, properties, ...children) => {
    const node = Object.assign(document.createElement(tag), properties);
    node.append(...children);
    return node;
  };
  const copy = (node) => [...node.cloneNode(true).childNodes];

  customElements.define("predict-first", PredictFirst);
})();
