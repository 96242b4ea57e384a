import { parseAddress } from '../../runtime/address.ts';
import { type Identity, tenantOfViewer } from '../../runtime/identity.ts';
import type { LedgerDelivery } from '../../runtime/ledger/ledger-reader.ts';
import { outcomeOf } from './delivery-row.ts';
import { isoTime, shownValue, withoutSecrets } from './reader-view.ts';
import { Sight } from './sight.ts';
import { keptLedger, type TraceParts } from './trace.ts';
import { payloadOf } from './trace-effects.ts';
import { runOf, type TraceStatus, traceStatus } from './trace-status.ts';

/** One trace in a list. */
interface TraceRow {
  readonly trace_id: string;
  /** Id of the message that began it. */
  readonly root: string;
  /** Kind and id of the actor that the root went to. */
  readonly kind: string;
  readonly id: string;
  /** Name of the agent or workflow; null for other calls. */
  readonly name: string | null;
  readonly type: string;
  readonly status: TraceStatus;
  readonly started_at: string;
  readonly ended_at: string | null;
  readonly duration_ms: number | null;
  readonly error_code: string | null;
  /** Node that handled the root. */
  readonly node: string | null;
}

export interface TraceFilter {
  readonly limit: number;
  readonly next?: string | undefined;
  /** Unix ms, inclusive. */
  readonly from?: number | undefined;
  readonly to?: number | undefined;
  readonly kind?: string | undefined;
  readonly name?: string | undefined;
  readonly status?: TraceStatus | undefined;
  readonly leastMs?: number | undefined;
  readonly mostMs?: number | undefined;
  readonly errorCode?: string | undefined;
  readonly node?: string | undefined;
  /** A kind of actors of which one got a delivery of the trace. */
  readonly actorKind?: string | undefined;
  readonly text?: string | undefined;
}

export interface TraceList {
  readonly traces: readonly TraceRow[];
  readonly next: string | null;
  readonly kept_from?: string;
}

/** Most roots that one call examines. */
const MOST_EXAMINED = 2_000;

/**
 * Roots that are read at a time once the first ones did not fill the page. Each reading of the ledger costs many times
 * as much as a root.
 */
const FURTHER_ROOTS = 200;

/** Deliveries of a trace that are searched for a kind of actors. */
const LOOKED_THROUGH = 1_000;

/** Characters of a payload that are searched for a text. */
const SEARCHED_CHARS = 64 * 1024;

/** Reads the roots of traces by time until the page is full or enough were examined. */
export async function listTraces(parts: TraceParts, viewer: Identity, filter: TraceFilter): Promise<TraceList> {
  const ledger = keptLedger(parts);
  const tenant = tenantOfViewer(viewer);
  const sight = new Sight(parts, viewer);
  const { from, to, limit } = filter;
  const traces: TraceRow[] = [];
  let next: string | null = filter.next ?? null;
  let examined = 0;
  let most = limit;
  do {
    const { deliveries, ...page } = await ledger.recent(tenant, {
      limit: most,
      from,
      to,
      roots: true,
      after: next ?? undefined,
    });
    next = page.next;
    for (const root of deliveries) {
      const row = await matchingRow(parts, sight, filter, root);
      if (row !== null) traces.push(row);
      if (traces.length < limit) continue;
      if (root !== deliveries.at(-1)) next = page.nextBehind(root);
      break;
    }
    // A page of the ledger without roots used all the work that one call may do.
    if (deliveries.length === 0) break;
    examined += deliveries.length;
    most = Math.max(limit, FURTHER_ROOTS);
  } while (next !== null && traces.length < limit && examined < MOST_EXAMINED);
  const keptFrom = await ledger.keptFrom(tenant);
  return { traces, next, ...(keptFrom === null ? {} : { kept_from: isoTime(keptFrom) }) };
}

/** The row of a trace that the reader sees and the filter finds; else null. Cheap conditions first. */
async function matchingRow(
  parts: TraceParts,
  sight: Sight,
  filter: TraceFilter,
  root: LedgerDelivery,
): Promise<TraceRow | null> {
  const { message, node, row } = root;
  const { kind, id } = parseAddress(message.to);
  if (filter.kind !== undefined && filter.kind !== kind) return null;
  if (filter.node !== undefined && filter.node !== node) return null;
  if (!(await sight.seesMessage(message))) return null;
  const run = await runOf(parts, root);
  if (filter.name !== undefined && filter.name !== run.name) return null;
  const again = outcomeOf(root) === 'retried' || outcomeOf(root) === 'deferred';
  const deliveries = again ? await keptLedger(parts).message(sight.tenant, message.id) : [root];
  const { status, endedAt } = await traceStatus(parts, sight.viewer, root, deliveries);
  if (filter.status !== undefined && filter.status !== status) return null;
  const end = endedAt ?? (status === 'running' ? null : isoTime(endOfRoot(deliveries.at(-1) ?? root)));
  const duration = end === null ? null : Math.max(0, Date.parse(end) - root.at);
  if (!isWithin(duration, filter)) return null;
  const failed = status === 'failed' ? (run.errorCode ?? outcomeOf(deliveries.at(-1) ?? root)) : run.errorCode;
  if (filter.errorCode !== undefined && filter.errorCode !== failed) return null;
  const texts = [
    ...run.texts.map(withoutSecrets),
    message.type,
    message.to,
    message.id,
    message.trace,
    withoutSecrets(row?.error ?? ''),
  ];
  if (filter.text !== undefined && !(await holds(parts, root, texts, filter.text))) return null;
  if (filter.actorKind !== undefined && !(await touches(parts, sight, root, filter.actorKind))) return null;
  return {
    trace_id: message.trace,
    root: message.id,
    kind,
    id,
    name: run.name,
    type: message.type,
    status,
    started_at: isoTime(root.at),
    ended_at: end,
    duration_ms: duration,
    error_code: failed,
    node,
  };
}

const endOfRoot = ({ at, row }: LedgerDelivery): number =>
  at + (row?.waitMs ?? 0) + Math.ceil((row?.turnUs ?? 0) / 1_000);

function isWithin(duration: number | null, { leastMs, mostMs }: TraceFilter): boolean {
  if (leastMs === undefined && mostMs === undefined) return true;
  return duration !== null && duration >= (leastMs ?? 0) && duration <= (mostMs ?? Number.POSITIVE_INFINITY);
}

/** Whether a text is part of the names of the trace or of its first message's payload. */
async function holds(
  { payloads }: TraceParts,
  root: LedgerDelivery,
  texts: readonly string[],
  text: string,
): Promise<boolean> {
  const wanted = text.toLowerCase();
  if (texts.some((one) => one.toLowerCase().includes(wanted))) return true;
  // Only text that readers may see is searched: otherwise searches could reveal a secret piece by piece.
  const payload = JSON.stringify(shownValue(await payloadOf(payloads, root)).value).slice(0, SEARCHED_CHARS);
  return payload.toLowerCase().includes(wanted);
}

/** Whether an actor of the kind is among the first deliveries of the trace that the reader sees. */
async function touches(parts: TraceParts, sight: Sight, { message }: LedgerDelivery, kind: string): Promise<boolean> {
  const { deliveries } = await keptLedger(parts).trace(sight.tenant, message.trace, { limit: LOOKED_THROUGH });
  for (const one of deliveries) {
    if (parseAddress(one.message.to).kind === kind && (await sight.seesMessage(one.message))) return true;
  }
  return false;
}
