/** The data of a trace (`memory_stage/trace/trace.schema.json`), and the state of memory that is replayed from it. */

export interface Trace {
  schema: string;
  title: string;
  ask: string | null;
  device: string;
  compare?: string | null;
  depth?: 'memory' | 'tensors' | 'history';
  opens?: string;
  variants: Variant[];
}

export interface Variant {
  id: string;
  label: string;
  code: string[];
  policy?: string;
  verdict: string | null;
  truncated: string | null;
  key?: number;
  before?: Event[];
  steps: Step[];
}

export interface Step {
  line: number;
  end: number;
  phase: string;
  say: string;
  note?: string;
  out?: string;
  allocated: number;
  peak: number;
  reserved?: number;
  passes?: [line: number, n: number][];
  events: Event[];
}

/** A change of memory. `do` names its kind, and the schema lists the other properties of each kind. */
export interface Event {
  do: string;
  [property: string]: any;
}

/** A run of neighbouring cells of a storage, given by its first and its last cell. */
export type Run = [first: number, last: number];

/** The layout of a tensor. Its strides and offset are counted in elements of the storage. */
export interface View {
  shape: number[];
  strides: number[];
  offset: number;
}

/** A thing in memory. No change modifies it: each change replaces it by a changed copy. */
interface Entity {
  id: string;
  /** The step that made the thing; -1 if it existed before the first line. */
  born: number;
  /** The step that last changed the thing. */
  changed: number;
  freed?: number;
}

export interface Storage extends Entity {
  length: number;
  itemsize: number;
  bytes: number;
  dtype: string;
  device?: string;
  label?: string;
  borrowed?: boolean;
  version: number;
  values: Record<string, string>;
  wrote?: Write;
}

/** The writes of one step to a storage. */
export interface Write {
  at: number;
  was: number;
  old: Record<string, string>;
  ranges: Run[];
  loose: Run[];
}

export interface Tensor extends Entity, View {
  storage: string;
  dtype: string;
  elements?: View | null;
  stop_gradient: boolean;
  leaf: boolean;
  outside?: string;
  holder?: string;
  saved?: boolean;
  node: string;
  what: string;
  state: string | null;
  version: number;
  copy?: boolean;
  marks?: boolean;
  inferred?: boolean;
  part?: string;
  /** The runs of cells that another storage preserves as a copy, so that this tensor no longer reads them. */
  taken?: Run[];
  stale?: 'lost' | 'moved';
  unnoticed?: boolean;
}

export interface Name {
  name: string;
  tensor: string;
  kind: 'name' | 'line' | 'grad';
  changed: number;
  gone?: number;
}

export interface GraphNode extends Entity {
  op: string;
  line: number;
  ins: string[];
  out: string;
  saved: string[];
  unknown?: boolean;
  ran?: number;
  failed?: number;
  dropped?: number;
}

export interface State extends Entity {
  label: string;
  storage: string;
  version: number;
  names: string[];
  grad?: string;
  gradAt?: number;
  dropped?: number;
}

export interface Group {
  id: string;
  names: string[];
  states: string[];
  changed: number;
}

export interface Memory {
  names: Map<string, Name>;
  tensors: Map<string, Tensor>;
  storages: Map<string, Storage>;
  nodes: Map<string, GraphNode>;
  states: Map<string, State>;
  groups: Map<string, Group>;
  /** The bytes of gradients that exist only while backward runs. */
  flight: number;
  /** The ids of the saved tensors that read a copy of a part of another saved tensor's cells. */
  parts: string[];
}

/** A map of memory that also records which of its keys the current step has set. */
export interface TrackedMap<V> extends Map<string, V> {
  touched: Set<string>;
}

export type TrackedMemory = { [K in keyof Memory]: Memory[K] extends Map<string, infer V> ? TrackedMap<V> : Memory[K] };

export type Walk = (visit: (memory: TrackedMemory, step: number) => void) => void;

/** A step together with the memory after it. */
export interface Frame extends Readonly<Memory>, Omit<Step, 'events' | 'passes'> {
  step: number;
  error: string | null;
}

export type Frames = Frame[] & { walk: Walk };
