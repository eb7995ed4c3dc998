/** The state of the element `<memory-stage>`. */

import type { Trace } from '../trace/types.d.ts';

/** The shown step and the reader's choices. */
interface At {
  variant: number;
  /** The index of the shown step, counted from 0. */
  step: number;
  /** The indexes of the variants whose last step has been shown. */
  seen: Set<number>;
  /** True until the reader first steps. */
  rest: boolean;
  /** True while the text beside the stage sets the step. */
  follows?: boolean;
  /** True if the picture draws every storage in full. */
  unfold?: boolean;
  /** The storage or tensor of the reader's question. */
  asked?: any;
  /** The storage or tensor under the mouse. */
  pointed?: any;
  /** The name of the program that the picture highlights. */
  lit?: string;
  /** The depth that the reader chose for this stage. */
  depth?: string;
}

/** The properties that `start` and `fit` set before another method reads them. */
export interface Started {
  data: Trace;
  at: At;
  $: (selector: string) => any;
  /** True while the stage already has its size, but has not yet drawn its picture. */
  waits?: boolean;
  room: { pic: number; window: number; height: number; least: number };
}
