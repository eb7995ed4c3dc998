/** Sets the page to light or dark colours. It runs before the browser paints the page. */

import { followSystem } from './lib/color-mode.js';

followSystem();
