/** Runs before the page is painted: shows it light or dark. */

import { followSystem } from './lib/color-mode.js';

followSystem();
