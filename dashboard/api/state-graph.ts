/** States and transitions of a workflow, as its manifest has them. */
export interface StateGraph {
  readonly states: readonly { readonly name: string; readonly kind: string; readonly isFirst: boolean }[];
  readonly edges: readonly {
    readonly from: string;
    readonly to: string;
    readonly condition: string;
    /** Its index among the transitions of the state. */
    readonly place: number;
  }[];
}

/** The visits and transitions of a run. */
export interface Way {
  /** Number of entries of each state. */
  readonly visits: ReadonlyMap<string, number>;
  readonly failed: ReadonlySet<string>;
  /** By `FROM CONDITION TO`. */
  readonly taken: ReadonlyMap<string, number>;
  readonly current: string | null;
}

export const edgeKey = (edge: StateGraph['edges'][number]): string => `${edge.from} ${edge.condition} ${edge.to}`;

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const text = (value: unknown): string => (typeof value === 'string' ? value : '');

/** The graph of a manifest, also of an incomplete one: unreadable parts are skipped. */
export function graphOf(manifest: unknown): StateGraph {
  const spec = isRecord(manifest) && isRecord(manifest.spec) ? manifest.spec : {};
  const states = Object.entries(isRecord(spec.states) ? spec.states : {});
  return {
    states: states.map(([name, state]) => ({
      name,
      kind: isRecord(state) ? text(state.kind) : '',
      isFirst: spec.initial_state === name,
    })),
    edges: states.flatMap(([from, state]) =>
      (isRecord(state) && Array.isArray(state.transitions) ? state.transitions : [])
        .map((edge: unknown, place) => ({ edge, place }))
        .flatMap(({ edge, place }) =>
          isRecord(edge) ? [{ from, to: text(edge.target), condition: text(edge.condition) || 'always', place }] : [],
        )
        .filter(({ to }) => states.some(([name]) => name === to)),
    ),
  };
}
