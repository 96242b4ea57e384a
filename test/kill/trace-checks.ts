import { createHash } from 'node:crypto';
import type { RawJournal } from './raw-journal.ts';
import type { RawDelivery, RawLedger } from './raw-ledger.ts';

export interface TraceFigures {
  readonly appends: number;
  /** Deliveries, each counted once. */
  readonly deliveries: number;
  /** Deliveries that were written again after a crash: equal rows. */
  readonly writtenTwice: number;
  /** Client calls: each is the root of a trace. */
  readonly calls: number;
  /** Deliveries of the largest trace. */
  readonly largest: number;
  /** Traces that continue another one. */
  readonly linked: number;
  /** Violations, the first hundred. */
  readonly broken: readonly string[];
}

const MOST_TOLD = 100;

/**
 * Compares the ledger with the appended messages, and its traces with the definition of a trace: one graph for each client call
 * without orphans, and each message once.
 */
export function checkTraces({ deliveries: rows, appended = new Map(), journal }: RawLedger): TraceFigures {
  const broken: string[] = [];
  const report = (text: string): void => {
    if (broken.length < MOST_TOLD) broken.push(text);
  };
  const deliveries = onceEach(rows, report);
  if (journal === undefined) checkAppends(deliveries, appended, report);
  else checkJournal(deliveries, journal, report);
  const byId = checkMessages(deliveries, report);
  const traces = Map.groupBy(deliveries, ({ tenant, trace }) => `${tenant} ${trace}`);
  let linked = 0;
  for (const [name, some] of traces) if (checkTrace(name, some, byId, report)) linked += 1;
  return {
    appends: journal?.outcomes.size ?? [...appended.values()].reduce((sum, one) => sum + one, 0),
    deliveries: deliveries.length,
    writtenTwice: rows.length - deliveries.length,
    calls: deliveries.filter(({ cause }) => cause === null).length,
    largest: Math.max(0, ...[...traces.values()].map(({ length }) => length)),
    linked,
    broken,
  };
}

type Report = (text: string) => void;

const placeOf = ({ partition, seq }: RawDelivery): string => `${partition} ${seq}`;

/**
 * A crash between the write of segments and the trim of the journal writes deliveries again; the rows must be equal.
 */
function onceEach(rows: readonly RawDelivery[], report: Report): RawDelivery[] {
  const known = new Map<string, RawDelivery>();
  for (const row of rows) {
    const first = known.get(placeOf(row));
    if (first === undefined) known.set(placeOf(row), row);
    else if (JSON.stringify(first) !== JSON.stringify(row)) report(`${placeOf(row)}: two different deliveries`);
  }
  return [...known.values()];
}

/** Each appended entry was delivered, and no other. */
function checkAppends(
  deliveries: readonly RawDelivery[],
  appended: NonNullable<RawLedger['appended']>,
  report: Report,
): void {
  const seqs = Map.groupBy(deliveries, ({ partition }) => partition);
  for (const partition of new Set([...seqs.keys(), ...appended.keys()])) {
    const found = new Set((seqs.get(partition) ?? []).map(({ seq }) => seq));
    const last = appended.get(partition) ?? 0;
    for (let seq = 1; seq <= last; seq += 1)
      if (!found.has(seq)) report(`${partition} ${seq}: appended, not delivered`);
    for (const seq of found) if (seq > last + 1) report(`${partition} ${seq}: delivered, not appended`);
  }
}

/** Each message of the streams was delivered as they show, and no other. */
function checkJournal(deliveries: readonly RawDelivery[], { outcomes, gaps }: RawJournal, report: Report): void {
  for (const gap of gaps) report(gap);
  const found = new Map(deliveries.map((one) => [one.reference ?? one.id, one]));
  for (const [name, outcome] of outcomes) {
    const delivered = found.get(name);
    if (delivered === undefined) report(`message ${name}: appended (${outcome}), not delivered`);
    else if (delivered.outcome !== outcome) report(`message ${name}: ${outcome}, delivered as ${delivered.outcome}`);
  }
  for (const [name, one] of found) {
    if (!outcomes.has(name)) report(`message ${name} (${one.type}) at ${placeOf(one)}: delivered, not appended`);
  }
}

/** No message was appended twice. Returns the messages by tenant and id. */
function checkMessages(deliveries: readonly RawDelivery[], report: Report): ReadonlyMap<string, RawDelivery> {
  const byId = new Map<string, RawDelivery>();
  for (const one of deliveries) {
    const name = `${one.tenant} ${one.id}`;
    const first = byId.get(name);
    if (first !== undefined) report(`message ${one.id} (${one.type}) at ${placeOf(first)} and at ${placeOf(one)}`);
    else byId.set(name, one);
  }
  return byId;
}

/** Whether the trace continues another one. */
function checkTrace(
  name: string,
  deliveries: readonly RawDelivery[],
  byId: ReadonlyMap<string, RawDelivery>,
  report: Report,
): boolean {
  const roots = deliveries.filter(({ cause }) => cause === null);
  const isLinked = roots.length === 0;
  if (roots.length > 1) report(`trace ${name}: ${roots.length} roots, of ${roots.map(({ type }) => type).join(', ')}`);
  for (const one of deliveries) {
    if (one.cause === null) continue;
    const cause = byId.get(`${one.tenant} ${one.cause}`);
    if (cause === undefined) {
      report(`trace ${name}: ${one.type} to ${one.to} is an orphan: its cause ${one.cause} is nowhere`);
    } else if (cause.trace !== one.trace && nextOf(cause.trace) !== one.trace) {
      report(`trace ${name}: ${one.type} to ${one.to} has its cause in trace ${cause.trace}`);
    } else if (!endsAtRoot(one, byId)) report(`trace ${name}: ${one.type} to ${one.to} is in a circle of causes`);
  }
  return isLinked;
}

/** The trace that continues another one (docs/decisions/0041). */
const nextOf = (trace: string): string => createHash('sha256').update(`${trace} goes on`).digest('hex').slice(0, 32);

function endsAtRoot(from: RawDelivery, byId: ReadonlyMap<string, RawDelivery>): boolean {
  let one: RawDelivery | undefined = from;
  for (let steps = 0; one !== undefined && steps <= byId.size; steps += 1) {
    if (one.cause === null) return true;
    one = byId.get(`${one.tenant} ${one.cause}`);
  }
  // A missing cause is reported with the message that names it.
  return one === undefined;
}
