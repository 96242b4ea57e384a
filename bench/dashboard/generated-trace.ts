import type { Delivery, Trace, TraceEffect } from '../../clients/typescript/gen/operations.ts';
import type { ApiAnswers } from './built-pages.ts';

/** Size of a generated trace. */
export interface TraceShape {
  readonly deliveries: number;
  readonly lanes: number;
}

const TRACE_ID = '0af7651916cd43dd8448eb211c80319c';
const STARTED_AT = Date.UTC(2026, 0, 5, 9, 30);
const KINDS = ['workflow', 'execution', 'judge', 'container', 'tool-loop', 'approval'] as const;
const TYPES = ['Start', 'IterationStarted', 'EffectResult', 'ChildEnded', 'Progress', 'Tick', 'Verdict'] as const;
const NODES = ['node-a', 'node-b', 'node-c'] as const;

/** Numbers from 0 to 1 that are the same in every run. */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
    return (state >>> 8) / 16_777_216;
  };
}

const idOf = (message: number): string =>
  `${message.toString(16).padStart(8, '0')}-0000-7000-8000-${(message * 7_919).toString(16).padStart(12, '0')}`;

const addressOf = (lane: number): string => {
  const kind = KINDS[lane === 0 ? 0 : 1 + (lane % (KINDS.length - 1))] ?? 'execution';
  return `${kind}/acme/${lane.toString(16).padStart(4, '0')}a1b2-77c3-4d5e-9f00-${(lane * 104_729).toString(16).padStart(12, '0')}`;
};

const iso = (ms: number): string => new Date(STARTED_AT + ms).toISOString();

function outcomeOf(chance: number): Delivery['outcome'] {
  if (chance < 0.006) return 'retried';
  if (chance < 0.008) return 'refused';
  if (chance < 0.0085) return 'dead-lettered';
  return 'done';
}

/** A generated trace: each delivery follows from an earlier one, actors join over time, some change their node. */
export function generateTrace({ deliveries, lanes }: TraceShape): {
  readonly head: Omit<Trace, 'deliveries' | 'effects' | 'next'>;
  readonly deliveries: Delivery[];
  readonly effects: TraceEffect[];
} {
  const random = randomFrom(17);
  const rows: Delivery[] = [];
  const effects: TraceEffect[] = [];
  const free = new Float64Array(lanes);
  let clock = 0;
  for (let message = 0; message < deliveries; message += 1) {
    clock += random() ** 3 * 6;
    const open = Math.min(lanes, 1 + Math.floor((message * lanes * 1.2) / deliveries));
    const lane = message < open ? message : Math.floor(random() ** 2 * open);
    const at = Math.round(clock * 1_000) / 1_000;
    const begins = Math.max(at, free[lane] ?? 0);
    const turn = random() < 0.02 ? random() * 40 : 0.2 + random() * 3;
    free[lane] = begins + turn;
    const cause = message === 0 ? null : Math.max(0, message - 1 - Math.floor(random() * Math.min(message, 60)));
    const takeovers = Math.floor(clock / 90_000) * (lane % 3 === 0 ? 1 : 0);
    rows.push({
      message_id: idOf(message),
      cause_id: cause === null ? null : idOf(cause),
      from: cause === null ? null : (rows[cause]?.to ?? null),
      to: addressOf(lane),
      type: message === 0 ? 'Start' : (TYPES[Math.floor(random() * TYPES.length)] ?? 'Tick'),
      at: iso(at),
      wait_ms: begins - at,
      turn_ms: turn,
      node: NODES[(lane + takeovers) % NODES.length] ?? null,
      epoch: 1 + takeovers,
      attempt: 1,
      outcome: message === 0 ? 'done' : outcomeOf(random()),
    });
    if (random() < 0.1) {
      const startedAt = free[lane] + random() * 20;
      effects.push({
        effect_id: `effect-${message}`,
        message_id: idOf(message),
        kind: random() < 0.7 ? 'model.generate' : 'tool.call',
        attempt: 1,
        node: NODES[lane % NODES.length] ?? null,
        started_at: iso(startedAt),
        ended_at: iso(startedAt + random() * 900),
        outcome: random() < 0.03 ? 'failed' : 'done',
      });
    }
  }
  const head = {
    trace_id: TRACE_ID,
    root: idOf(0),
    status: 'completed',
    started_at: iso(0),
    ended_at: iso(clock),
    links: [],
  } as const;
  return { head, deliveries: rows, effects };
}

const PAGE_ROWS = 1_000;

/** Answers for one generated trace, and the path of its page. */
export function traceApi(shape: TraceShape): { readonly path: string; readonly answers: ApiAnswers } {
  const { head, deliveries, effects } = generateTrace(shape);
  const perPage = Math.ceil((effects.length / deliveries.length) * PAGE_ROWS);
  const count = Math.ceil(deliveries.length / PAGE_ROWS);
  const pages = Array.from({ length: count }, (_page, page) =>
    JSON.stringify({
      ...head,
      deliveries: deliveries.slice(page * PAGE_ROWS, (page + 1) * PAGE_ROWS),
      effects: effects.slice(page * perPage, (page + 1) * perPage),
      next: page + 1 < count ? String(page + 1) : null,
    }),
  );
  const path = `/traces/${head.trace_id}`;
  return {
    path,
    answers: ({ pathname, searchParams }) =>
      pathname === `/v1${path}` ? pages[Number(searchParams.get('next') ?? 0)] : undefined,
  };
}
