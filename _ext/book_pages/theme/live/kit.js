// Small parts of what the page builds, and of what it says.

/** An element with properties and children. */
export function make(tag, properties = {}, ...children) {
  const { slot, ...rest } = properties, element = Object.assign(document.createElement(tag), rest);
  if (slot) element.setAttribute("slot", slot);
  element.append(...children);
  return element;
}

export function button(text, onClick) {
  const made = make("button", { type: "button" }, text);
  made.addEventListener("click", onClick);
  return made;
}

/** A select with its name; `.select` is the select itself. */
export function choice(name, options, onChoice) {
  const select = make("select", {}, ...options.map((text) => make("option", {}, text))), made = make("label", {}, `${name} `, select);
  select.setAttribute("aria-label", name);
  select.addEventListener("change", () => onChoice(select.selectedIndex));
  made.select = select;
  return made;
}

export const isDark = () => getComputedStyle(document.documentElement).colorScheme === "dark";

export const worded = (error) => String(error?.message || error);

/** What is shown while Python loads, in the `bar` and the `say` of whoever asked. */
export const loading = (who) => ({
  progress(share) {
    who.bar.hidden = false;
    who.bar.value = share;
    who.say(`Loading Python: ${Math.round(100 * share)} %`);
  },
  loaded() {
    who.bar.hidden = true;
    who.say("Running.");
  },
});
