import { type JsonObject, numberOf, textOf } from '../../json.ts';
import { forReader, type Paint } from '../../screen/paint.ts';
import { cutTo, padded } from '../../screen/width.ts';

/** Columns of the bars, where the terminal has the room. */
const BAR_COLUMNS = 32;
const LEAST_BAR_COLUMNS = 8;

/** Longest text of a delivery or effect, with its indentation. */
const LABEL_COLUMNS = 58;
const LEAST_LABEL_COLUMNS = 20;

/** Columns of a line besides label and bar: gaps, duration and the usual outcome. */
const OTHER_COLUMNS = 27;

/** Columns that the indentation leaves to the name of a message: a chain of causes may be 10,000 long. */
const NAME_COLUMNS = 30;

interface Widths {
  readonly label: number;
  readonly bar: number;
}

/** Widths of a line that fits a terminal; without a terminal lines have their full length. */
function widthsFor(columns: number | undefined): Widths {
  if (columns === undefined) return { label: LABEL_COLUMNS, bar: BAR_COLUMNS };
  const room = columns - OTHER_COLUMNS;
  const bar = Math.min(BAR_COLUMNS, Math.max(LEAST_BAR_COLUMNS, Math.floor(room / 4)));
  return { label: Math.min(LABEL_COLUMNS, Math.max(LEAST_LABEL_COLUMNS, room - bar)), bar };
}

interface Line {
  /** Number of causes above it. */
  readonly depth: number;
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
 * message whose cause is not in the trace is at the top. Where the indentation has no more room, its depth is a number.
 * `columns`: width of the terminal.
 */
export function traceTree(
  deliveries: readonly JsonObject[],
  effects: readonly JsonObject[],
  paint: Paint,
  now: number,
  columns?: number,
): string {
  const known = new Set(deliveries.map((one) => textOf(one, 'message_id')));
  const children = Map.groupBy(deliveries, (one) => {
    const cause = textOf(one, 'cause_id');
    return known.has(cause) ? cause : '';
  });
  const requested = Map.groupBy(effects, (one) => textOf(one, 'message_id'));
  const lines: Line[] = [];
  const shown = new Set<string>();
  // A list of what is left instead of a recursion: a chain may be longer than the stack.
  const left: { readonly delivery: JsonObject; readonly depth: number }[] = [];
  const add = (all: readonly JsonObject[], depth: number): void => {
    for (const delivery of all.toReversed()) left.push({ delivery, depth });
  };
  add(children.get('') ?? [], 0);
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    const { delivery, depth } = next;
    lines.push(deliveryLine(delivery, depth));
    const id = textOf(delivery, 'message_id');
    // Later attempts of a message do not repeat the messages that it caused.
    if (shown.has(id)) continue;
    shown.add(id);
    for (const effect of requested.get(id) ?? []) lines.push(effectLine(effect, depth + 1, now));
    add(children.get(id) ?? [], depth + 1);
  }
  const first = Math.min(...lines.map(({ from }) => from));
  const last = Math.max(...lines.map(({ until }) => until));
  const widths = widthsFor(columns);
  return lines.map((line) => shownLine(line, first, last, paint, widths)).join('\n');
}

function deliveryLine(delivery: JsonObject, depth: number): Line {
  const from = Date.parse(textOf(delivery, 'at'));
  const began = from + numberOf(delivery, 'wait_ms');
  const [kind = '', , id = ''] = textOf(delivery, 'to').split('/');
  const attempt = numberOf(delivery, 'attempt');
  return {
    depth,
    label: `${textOf(delivery, 'type')} → ${kind}/${shortId(id)}`,
    from,
    began,
    until: began + numberOf(delivery, 'turn_ms'),
    outcome: textOf(delivery, 'outcome'),
    note: attempt > 1 ? ` attempt ${attempt}` : '',
  };
}

function effectLine(effect: JsonObject, depth: number, now: number): Line {
  const [started, ended] = [textOf(effect, 'started_at'), textOf(effect, 'ended_at')];
  const until = ended === '' ? now : Date.parse(ended);
  const from = started === '' ? until : Date.parse(started);
  const attempt = numberOf(effect, 'attempt');
  return {
    depth,
    label: `◦ ${textOf(effect, 'kind') || 'effect'}`,
    from,
    began: until,
    until,
    outcome: textOf(effect, 'outcome'),
    note: attempt > 1 ? ` attempt ${attempt}` : '',
  };
}

const shortId = (id: string): string => (id.length > 12 ? id.slice(0, 8) : id);

function shownLine(line: Line, first: number, last: number, paint: Paint, widths: Widths): string {
  const { from, began, until, outcome, note } = line;
  const isEffect = began === until && line.label.startsWith('◦');
  const scale = widths.bar / Math.max(1, last - first);
  const at = (time: number): number => Math.min(widths.bar, Math.max(0, Math.round((time - first) * scale)));
  const [start, middle, end] = [at(from), at(began), Math.max(at(until), at(from) + 1)];
  const waits = (isEffect ? '▒' : '░').repeat(Math.max(0, Math.min(middle, end) - start));
  const bar = `${' '.repeat(start)}${waits}${'█'.repeat(Math.max(0, end - start - waits.length))}`;
  const text = padded(cutTo(forReader(indented(line, widths)), widths.label), widths.label);
  // Made safe before it is painted: that would remove the colours, too.
  const said = forReader(outcome);
  const painted = outcome === 'done' ? paint.dim(said) : paint.yellow(said);
  return `${text}  ${bar.slice(0, widths.bar + 1).padEnd(widths.bar + 1)}  ${duration(until - from).padStart(8)}  ${painted}${note}`;
}

/** The label behind two blanks for each cause above it; where these have no room, the number of causes stands before it. */
function indented({ depth, label }: Line, widths: Widths): string {
  const room = Math.max(0, widths.label - NAME_COLUMNS);
  return depth * 2 <= room ? `${'  '.repeat(depth)}${label}` : `${`${depth} `.padStart(room)}${label}`;
}

/** `12 ms`, `3.4 s`, `5 min`, `2.5 h`, `3.2 d`. */
export function duration(ms: number): string {
  if (ms < 999.5) return `${Math.round(ms)} ms`;
  if (ms < 120_000) return `${(ms / 1_000).toFixed(1)} s`;
  if (ms < 120 * 60_000) return `${Math.round(ms / 60_000)} min`;
  return ms < 48 * 3_600_000 ? `${(ms / 3_600_000).toFixed(1)} h` : `${(ms / 86_400_000).toFixed(1)} d`;
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
