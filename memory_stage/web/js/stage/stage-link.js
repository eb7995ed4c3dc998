import { t } from '../shared/messages.js';

/** Links to a step of a stage: "#id/variant/step", with steps counted from 1. */

const SHOWN = 4000; // ms for which the message about a copied link is shown

/**
 * If the page's address is a link to this stage, go to the variant and the step that the link names.
 * @param {any} stage the element
 */
export function followLink(stage) {
  const [id, variant, step] = location.hash.slice(1).split('/');
  if (id !== encodeURIComponent(stage.id)) return;
  const found = stage.data.variants.findIndex(other => encodeURIComponent(other.id) === variant);
  if (found >= 0) stage.choose(found);
  if (+step) stage.go(+step - 1);
  stage.scrollIntoView();
}

/**
 * Copy a link to the current step or, if the browser does not allow that, write the link into the address bar.
 * @param {any} stage the element
 */
export async function copyLink(stage) {
  const hash = `#${[stage.id, stage.variant.id, stage.at.step + 1].map(encodeURIComponent).join('/')}`;
  const status = stage.$('.share [role=status]');
  try {
    await navigator.clipboard.writeText(location.href.split('#')[0] + hash);
    status.textContent = t('Link copied');
  } catch {
    history.replaceState(null, '', hash);
    status.textContent = t('In the address bar');
  }
  setTimeout(() => {
    status.textContent = '';
  }, SHOWN);
}

/** Make an id from a title, and return it with a number if another element of the page already has the id. */
export function idFor(title) {
  const words = title.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, '-');
  const base = `stage-${words.replace(/^-|-$/g, '')}`;
  let id = base;
  for (let n = 2; document.getElementById(id); n++) id = `${base}-${n}`;
  return id;
}
