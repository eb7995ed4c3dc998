/** Lets a link to this page in another language lead to the section that is in view. */

const FROM_TOP = 0.3; // of the window's height: a section that begins above this line is being read

/**
 * Return the id of the section that the reader has reached; empty above the first one.
 * @returns {string}
 */
function sectionInView() {
  const sections = [...document.querySelectorAll('.bd-article section section[id]')];
  const begun = sections.filter(section => section.getBoundingClientRect().top < innerHeight * FROM_TOP);
  return begun.at(-1)?.id ?? '';
}

/** Add the section to the address of each link to this page in another language, just before the reader follows it. */
export function keepSection() {
  for (const link of /** @type {NodeListOf<HTMLAnchorElement>} */ (document.querySelectorAll('a[data-same-page]'))) {
    const update = () => {
      link.hash = sectionInView();
    };
    for (const event of ['pointerdown', 'click', 'contextmenu', 'focus']) link.addEventListener(event, update);
  }
}
