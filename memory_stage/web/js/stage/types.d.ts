/** The state of the element `<memory-stage>`. */

import type { Trace } from '../trace/types.d.ts';

/** The step that is shown, and the reader's choices. */
interface At {
  variant: number;
  /** Counted from 0. */
  step: number;
  /** The variants whose last step was shown. */
  seen: Set<number>;
  /** True until the reader steps. */
  rest: boolean;
  /** True while the text beside the stage sets the step. */
  follows?: boolean;
  /** True if every storage is drawn. */
  unfold?: boolean;
  /** The storage or tensor of the reader's question. */
  asked?: any;
  /** The storage or tensor under the mouse. */
  pointed?: any;
  /** A name of the program. */
  lit?: string;
  /** The reader's choice for this stage. */
  depth?: string;
}

/** The properties that `start` and `fit` set before another method reads them. */
export interface Started {
  data: Trace;
  at: At;
  $: (selector: string) => any;
  /** True while the stage has its size, and its picture is drawn in a later task. */
  waits?: boolean;
  room: { pic: number; window: number; height: number; least: number };
}
