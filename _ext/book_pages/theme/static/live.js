// Buttons for Python in the page: "Edit this program" at stages, "Check" at exercises, and the playground.
// Nothing is loaded before a click.
(() => {
  const script = document.currentScript, parts = new URL("live/", script.src), megabytes = script.dataset.megabytes;
  const size = `To run it, Python is loaded into this page: ${megabytes} MB, once.`;

  const stages = () => [...document.querySelectorAll("memory-stage")];
  const exercises = () => [...document.querySelectorAll("exercise-box[data-before]")];
  const playground = () => document.querySelector("play-ground");
  const make = (tag, properties) => Object.assign(document.createElement(tag), properties);
  if (location.protocol === "file:") {
    const why = make("p", { className: "live-why", textContent: "Opened from the disk, a page cannot load Python. Served by make book LIVE=1, it lets you edit and run programs." });
    (playground() ?? stages()[0] ?? exercises()[0])?.after(why);
    return;
  }
  if (!globalThis.Worker || !globalThis.WebAssembly || !globalThis.DecompressionStream) return;

  const part = (name) => import(new URL(name, parts));
  const edit = async (stage, given) => (await part("stage-editor.js")).edit(stage, size, given);
  const play = async (place, given) => (await part("playground.js")).play(place, size, given);
  for (const stage of stages()) {
    const start = make("button", { type: "button", className: "live-edit", slot: "edit", textContent: "Edit this program" });
    start.addEventListener("click", () => edit(stage));
    stage.append(start);
  }
  for (const box of exercises()) {
    const check = make("button", { type: "button", className: "live-check", textContent: "Check" });
    check.addEventListener("click", async () => (await part("exercise-check.js")).check(box));
    box.querySelector(".mt-actions")?.prepend(check);
    box.querySelector(".mt-writing")?.append(make("p", { className: "live-told", textContent: size }));
  }
  if (playground()) {
    const start = make("button", { type: "button", className: "live-edit", textContent: "Write a program" });
    start.addEventListener("click", () => play(playground()));
    playground().replaceChildren(start, make("p", { className: "live-told", textContent: size }));
  }

  let told; // the message about a link that opens nothing
  const tell = (beside, ...text) => {
    told?.remove();
    told = make("p", { className: "live-why", role: "status" });
    told.append(...text);
    beside?.after(told);
    told.scrollIntoView({ block: "center" });
  };

  /** Open the editor of a stage, or the playground, for a link with a program, without running it. */
  const follow = async () => {
    const [id, verb, text] = location.hash.slice(1).split("/");
    told?.remove();
    if (verb !== "edit" || !text) return;
    const place = [...stages(), playground()].find((each) => each && encodeURIComponent(each.id) === id);
    const given = await (await part("link.js")).programsIn(text);
    if (!given) return tell(place ?? document.querySelector("h1"), "The program of this link cannot be read: a part of the link is missing, or it is too long. Nothing was changed.");
    if (place) {
      place.scrollIntoView();
      return (place === playground() ? play : edit)(place, given);
    }
    const there = make("a", { href: new URL(`../../chapters/playground.html#program/edit/${text}`, parts), textContent: "the playground" });
    tell(document.querySelector("h1"), "The stage that this link is for is not on this page. Its program can be opened in ", there, ".");
  };
  addEventListener("hashchange", follow);
  follow();
})();
