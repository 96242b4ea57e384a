/** States and transitions of a workflow, as its manifest has them. */
export interface StateGraph {
  readonly states: readonly { readonly name: string; readonly kind: string; readonly isFirst: boolean }[];
  readonly edges: readonly {
    readonly from: string;
    readonly to: string;
    readonly condition: string;
    /** Its place among the transitions of the state. */
    readonly place: number;
  }[];
}

/** What a run did with it. */
export interface Way {
  /** How often each state was entered. */
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

/** The graph of a manifest, also of one that is being typed: what cannot be read is skipped. */
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
