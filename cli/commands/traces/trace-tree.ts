import { type JsonObject, numberOf, textOf } from '../../json.ts';
import type { Paint } from '../../screen/paint.ts';

/** Columns of the bars. */
const BAR_COLUMNS = 32;

/** Longest text of a delivery or effect. */
const LABEL_COLUMNS = 58;

interface Line {
  readonly label: string;
  readonly from: number;
  /** End of the wait and start of the turn. */
  readonly began: number;
  readonly until: number;
  readonly outcome: string;
  readonly note: string;
}

/**
 * Deliveries and effects as a tree of causes, each with a time bar: `░` waiting in the mailbox, `█` a turn, `▒` an effect. A
 * message whose cause is not in the trace is at the top.
 */
export function traceTree(
  deliveries: readonly JsonObject[],
  effects: readonly JsonObject[],
  paint: Paint,
  now: number,
): string {
  const known = new Set(deliveries.map((one) => textOf(one, 'message_id')));
  const children = Map.groupBy(deliveries, (one) => {
    const cause = textOf(one, 'cause_id');
    return known.has(cause) ? cause : '';
  });
  const requested = Map.groupBy(effects, (one) => textOf(one, 'message_id'));
  const lines: Line[] = [];
  const shown = new Set<string>();
  const add = (delivery: JsonObject, indent: string): void => {
    lines.push(deliveryLine(delivery, indent));
    const id = textOf(delivery, 'message_id');
    // Later attempts of a message do not repeat the messages that it caused.
    if (shown.has(id)) return;
    shown.add(id);
    for (const effect of requested.get(id) ?? []) lines.push(effectLine(effect, `${indent}  `, now));
    for (const child of children.get(id) ?? []) add(child, `${indent}  `);
  };
  for (const root of children.get('') ?? []) add(root, '');
  const first = Math.min(...lines.map(({ from }) => from));
  const last = Math.max(...lines.map(({ until }) => until));
  return lines.map((line) => shownLine(line, first, last, paint)).join('\n');
}

function deliveryLine(delivery: JsonObject, indent: string): Line {
  const from = Date.parse(textOf(delivery, 'at'));
  const began = from + numberOf(delivery, 'wait_ms');
  const [kind = '', , id = ''] = textOf(delivery, 'to').split('/');
  const attempt = numberOf(delivery, 'attempt');
  return {
    label: `${indent}${textOf(delivery, 'type')} → ${kind}/${shortId(id)}`,
    from,
    began,
    until: began + numberOf(delivery, 'turn_ms'),
    outcome: textOf(delivery, 'outcome'),
    note: attempt > 1 ? ` attempt ${attempt}` : '',
  };
}

function effectLine(effect: JsonObject, indent: string, now: number): Line {
  const [started, ended] = [textOf(effect, 'started_at'), textOf(effect, 'ended_at')];
  const until = ended === '' ? now : Date.parse(ended);
  const from = started === '' ? until : Date.parse(started);
  const attempt = numberOf(effect, 'attempt');
  return {
    label: `${indent}◦ ${textOf(effect, 'kind') || 'effect'}`,
    from,
    began: until,
    until,
    outcome: textOf(effect, 'outcome'),
    note: attempt > 1 ? ` attempt ${attempt}` : '',
  };
}

const shortId = (id: string): string => (id.length > 12 ? id.slice(0, 8) : id);

function shownLine(
  { label, from, began, until, outcome, note }: Line,
  first: number,
  last: number,
  paint: Paint,
): string {
  const isEffect = began === until && label.includes('◦');
  const scale = BAR_COLUMNS / Math.max(1, last - first);
  const at = (time: number): number => Math.min(BAR_COLUMNS, Math.max(0, Math.round((time - first) * scale)));
  const [start, middle, end] = [at(from), at(began), Math.max(at(until), at(from) + 1)];
  const waits = (isEffect ? '▒' : '░').repeat(Math.max(0, Math.min(middle, end) - start));
  const bar = `${' '.repeat(start)}${waits}${'█'.repeat(Math.max(0, end - start - waits.length))}`;
  const text = label.length > LABEL_COLUMNS ? `${label.slice(0, LABEL_COLUMNS - 1)}…` : label.padEnd(LABEL_COLUMNS);
  const ok = outcome === 'done';
  const said = ok ? paint.dim(outcome) : paint.yellow(outcome);
  return `${text}  ${bar.slice(0, BAR_COLUMNS + 1).padEnd(BAR_COLUMNS + 1)}  ${duration(until - from).padStart(8)}  ${said}${note}`;
}

/** `12 ms`, `3.4 s`, `5 min`. */
export function duration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  return ms < 120_000 ? `${(ms / 1_000).toFixed(1)} s` : `${Math.round(ms / 60_000)} min`;
}

/** Parts of a whole with bars of their share, in the order given. */
export function shares(rows: readonly { readonly name: string; readonly ms: number }[], whole: number): string {
  const width = Math.max(0, ...rows.map(({ name }) => name.length));
  return rows
    .map(({ name, ms }) => {
      const share = whole === 0 ? 0 : ms / whole;
      const bar = '█'.repeat(Math.min(BAR_COLUMNS, Math.round(share * BAR_COLUMNS)));
      return `${name.padEnd(width)}  ${duration(ms).padStart(8)}  ${`${Math.round(share * 100)} %`.padStart(5)}  ${bar}`.trimEnd();
    })
    .join('\n');
}
