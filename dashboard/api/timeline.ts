import type { RunEvent } from './run-events.ts';
import type { RunKind } from './runs.ts';

/** A span of a run: one bar on its time axis. */
export interface Span {
  readonly key: string;
  readonly label: string;
  readonly kind: 'iteration' | 'state' | 'container' | 'child' | 'approval' | 'effect' | 'tool' | 'takeover';
  readonly from: number;
  /** Null while it runs. */
  readonly to: number | null;
  readonly status: 'running' | 'completed' | 'failed' | 'waiting';
  /** Its result or error. */
  readonly detail: string | null;
  /** Run that it started, for a link. */
  readonly child?: { readonly kind: RunKind; readonly id: string };
}

type Open = (event: RunEvent) => Omit<Span, 'from' | 'to' | 'status' | 'detail'> & { readonly status?: Span['status'] };
type Close = (event: RunEvent) => {
  readonly key: string;
  readonly status: Span['status'];
  readonly detail: string | null;
  readonly child?: Span['child'];
};

const text = (value: unknown): string => (typeof value === 'string' || typeof value === 'number' ? String(value) : '');

const messageOf = (value: unknown): string | null =>
  typeof value === 'object' && value !== null && 'message' in value ? text(value.message) : null;

/** Result of a final state. */
function endOf({ status, output }: RunEvent['payload']): string {
  if (status !== 'failed') return 'the end';
  const error = typeof output === 'object' && output !== null && 'error' in output ? messageOf(output.error) : null;
  return error ?? 'failed, and the run with it';
}

/** The run for which an Agent state waited, from the output of the state. */
const agentRunOf = (output: unknown): Span['child'] =>
  typeof output === 'object' && output !== null && 'execution_id' in output && 'iterations' in output
    ? { kind: 'execution', id: text(output.execution_id) }
    : undefined;

const iterationKey = ({ payload }: RunEvent): string => `iteration ${text(payload.iteration_number)}`;
const containerKey = ({ payload }: RunEvent): string =>
  `container ${text(payload.state_name)} ${text(payload.step_name)} ${text(payload.attempt)}`;
const childKey = ({ payload }: RunEvent): string => `child ${text(payload.child_execution_id)}`;
const approvalKey = ({ payload }: RunEvent): string => `approval ${text(payload.approval_id)}`;

const OPENS: Readonly<Record<string, Open>> = {
  iteration_started: (event) => ({
    key: iterationKey(event),
    label: `iteration ${text(event.payload.iteration_number)}`,
    kind: 'iteration',
  }),
  WorkflowStateEntered: ({ payload }) => ({
    key: `state ${text(payload.state_name)}`,
    label: `${text(payload.state_name)}${Number(payload.visit) > 1 ? ` (${text(payload.visit)})` : ''}`,
    kind: 'state',
  }),
  ContainerRunStarted: (event) => ({
    key: containerKey(event),
    label: text(event.payload.step_name) || text(event.payload.image),
    kind: 'container',
  }),
  SubworkflowTriggered: (event) => ({
    key: childKey(event),
    label: `child of ${text(event.payload.parent_state_name)}`,
    kind: 'child',
    child: { kind: 'workflow', id: text(event.payload.child_execution_id) },
  }),
  WorkflowHumanInputRequested: (event) => ({
    key: approvalKey(event),
    label: `asks a person`,
    kind: 'approval',
    status: 'waiting',
  }),
};

const CLOSES: Readonly<Record<string, Close>> = {
  iteration_completed: (event) => ({ key: iterationKey(event), status: 'completed', detail: null }),
  iteration_failed: (event) => ({ key: iterationKey(event), status: 'failed', detail: messageOf(event.payload.error) }),
  WorkflowStateExited: ({ payload }) => ({
    key: `state ${text(payload.state_name)}`,
    status: payload.status === 'failed' ? 'failed' : 'completed',
    detail:
      payload.next_state === null
        ? endOf(payload)
        : `${text(payload.condition) || 'always'} → ${text(payload.next_state)}`,
    child: agentRunOf(payload.output),
  }),
  ContainerRunCompleted: (event) => ({
    key: containerKey(event),
    status: event.payload.exit_code === 0 ? 'completed' : 'failed',
    detail: `exit ${text(event.payload.exit_code)}`,
  }),
  ContainerRunFailed: (event) => ({ key: containerKey(event), status: 'failed', detail: text(event.payload.reason) }),
  SubworkflowCompleted: (event) => ({ key: childKey(event), status: 'completed', detail: null }),
  SubworkflowFailed: (event) => ({ key: childKey(event), status: 'failed', detail: text(event.payload.reason) }),
  WorkflowHumanInputReceived: (event) => ({
    key: approvalKey(event),
    status: 'completed',
    detail: `${text(event.payload.how)}: ${text(event.payload.payload)}`,
  }),
};

const ENDS: ReadonlySet<string> = new Set([
  'execution_completed',
  'execution_failed',
  'WorkflowExecutionCompleted',
  'WorkflowExecutionFailed',
  'WorkflowExecutionCancelled',
]);

/** The spans of a run in the order of their start. Spans that are open at the end of the run end with it. */
export function spansOf(events: readonly RunEvent[]): Span[] {
  const spans: Span[] = [];
  /** Indexes of the open spans in `spans`. */
  const open = new Map<string, number>();
  const close = ({ key, status, detail, child }: ReturnType<Close>, at: number): void => {
    const place = open.get(key);
    const span = place === undefined ? undefined : spans[place];
    if (place === undefined || span === undefined) return;
    spans[place] = { ...span, to: at, status, detail, child: child ?? span.child };
    open.delete(key);
  };
  for (const event of events) {
    const at = Date.parse(event.at);
    const opened = OPENS[event.name]?.(event);
    if (opened !== undefined) {
      close({ key: opened.key, status: 'failed', detail: 'begun again' }, at);
      open.set(opened.key, spans.length);
      spans.push({ status: 'running', ...opened, key: `${opened.key} ${event.seq}`, from: at, to: null, detail: null });
    }
    const closed = CLOSES[event.name]?.(event);
    if (closed !== undefined) close(closed, at);
    if (ENDS.has(event.name)) {
      for (const key of [...open.keys()])
        close({ key, status: event.name.endsWith('ompleted') ? 'completed' : 'failed', detail: null }, at);
    }
  }
  return spans;
}

/** Spans of several sources in the order of their start, each after the span that contains it. */
export const inOrder = (...parts: readonly (readonly Span[])[]): Span[] =>
  parts
    .flat()
    // States follow each other, however long they took; spans within a state come after it.
    .sort((a, b) => a.from - b.from || (a.kind === b.kind ? 0 : (b.to ?? Infinity) - (a.to ?? Infinity)));

/** One attempt of an agent: its output, why it was rejected, and the difference to the next one. */
export interface Attempt {
  readonly number: number;
  readonly output: string;
  readonly error: { readonly type: string; readonly message: string } | null;
  readonly refinement: string | null;
  readonly isOver: boolean;
}

export function attemptsOf(events: readonly RunEvent[]): Attempt[] {
  const attempts = new Map<number, Attempt>();
  for (const { name, payload } of events) {
    const number = Number(payload.iteration_number);
    if (!Number.isInteger(number)) continue;
    const before = attempts.get(number) ?? { number, output: '', error: null, refinement: null, isOver: false };
    attempts.set(number, { ...before, ...changeOf(name, payload, before) });
  }
  return [...attempts.values()];
}

function changeOf(name: string, payload: RunEvent['payload'], { output }: Attempt): Partial<Attempt> {
  switch (name) {
    case 'iteration_output':
      return { output: output + text(payload.output) };
    case 'iteration_completed':
      return { output: text(payload.output), isOver: true };
    case 'iteration_failed': {
      const { error } = payload;
      const type = typeof error === 'object' && error !== null && 'error_type' in error ? text(error.error_type) : '';
      return { error: { type, message: messageOf(error) ?? '' }, isOver: true };
    }
    case 'refinement_applied':
      return { refinement: text(payload.code_diff) || null };
    default:
      return {};
  }
}
