import {
  isUnfinished,
  RUN_STATUSES,
  type Run,
  type RunKind,
  type RunOutcome,
  type RunStatus,
  type WaitKind,
} from './run.ts';

/** Conditions on runs. All must hold; of a list of values one must. */
export interface RunFilter {
  readonly kind?: RunKind | undefined;
  readonly status?: readonly RunStatus[] | undefined;
  readonly outcome?: RunOutcome | undefined;
  readonly name?: string | undefined;
  readonly version?: string | undefined;
  /** All pairs must match. */
  readonly labels?: readonly (readonly [key: string, value: string])[] | undefined;
  /** Started at this time or later, ISO 8601. */
  readonly from?: string | undefined;
  /** Started before this time, ISO 8601. */
  readonly to?: string | undefined;
  /** Its node must have all of these. */
  readonly tags?: readonly string[] | undefined;
  readonly node?: string | undefined;
  readonly waitReason?: readonly WaitKind[] | undefined;
  readonly errorCode?: string | undefined;
  /** Id of the run, panel or stimulus that started it. */
  readonly parent?: string | undefined;
  readonly traceId?: string | undefined;
  /** Beginning of the id, or a part of the name in any case. */
  readonly text?: string | undefined;
}

/** A workflow whose last state failed is completed with the outcome `failed` (H21). */
const STATUSES_OF: Readonly<Record<RunOutcome, readonly RunStatus[]>> = {
  succeeded: ['completed'],
  failed: ['failed', 'completed'],
  cancelled: ['cancelled'],
};

/** Statuses that can meet the filter's conditions; null: all. */
export function statusesOf(filter: RunFilter): readonly RunStatus[] | null {
  const { status, outcome, errorCode, waitReason } = filter;
  if (status === undefined && outcome === undefined && errorCode === undefined && waitReason === undefined) return null;
  return RUN_STATUSES.filter(
    (one) =>
      (status === undefined || status.includes(one)) &&
      (outcome === undefined || STATUSES_OF[outcome].includes(one)) &&
      (errorCode === undefined || one === 'failed' || one === 'completed') &&
      (waitReason === undefined || isUnfinished(one)),
  );
}

export function matches(run: Run, filter: RunFilter): boolean {
  const { kind, status, outcome, name, version, labels, from, to, tags, node, waitReason, errorCode, text } = filter;
  const { parent, traceId } = filter;
  const is = <T>(wanted: T | undefined, value: T): boolean => wanted === undefined || wanted === value;
  return (
    is(kind, run.kind) &&
    (status === undefined || status.includes(run.status)) &&
    is<RunOutcome | null>(outcome, run.outcome) &&
    is(name, run.name) &&
    is(version, run.version) &&
    is<string | null>(node, run.node) &&
    is<string | null>(errorCode, run.error_code) &&
    is<string | null | undefined>(parent, run.parent?.id) &&
    is<string | null>(traceId, run.trace_id) &&
    (from === undefined || run.started_at >= from) &&
    (to === undefined || run.started_at < to) &&
    (waitReason === undefined || (run.wait_reason !== null && waitReason.includes(run.wait_reason))) &&
    (tags === undefined || tags.every((tag) => run.tags.includes(tag))) &&
    (labels === undefined ||
      labels.every(([key, value]) => Object.hasOwn(run.labels, key) && run.labels[key] === value)) &&
    (text === undefined || hasText(run, text.toLowerCase()))
  );
}

const hasText = ({ id, name }: Run, text: string): boolean =>
  id.toLowerCase().startsWith(text) || name.toLowerCase().includes(text);
