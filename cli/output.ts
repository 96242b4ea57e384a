import { invalid } from './failure.ts';
import { isObject, type JsonObject } from './json.ts';
import { forReader, type Paint, paintFor, printable } from './screen/paint.ts';
import { cutTo, padded, widthOf } from './screen/width.ts';

const OUTPUT_FORMATS = ['text', 'table', 'json', 'yaml'] as const;
export type OutputFormat = (typeof OUTPUT_FORMATS)[number];

/** Whether a program reads the output. */
export const isForMachines = (format: OutputFormat): boolean => format === 'json' || format === 'yaml';

interface Result {
  /** The answer for machines (json, yaml). */
  readonly value: unknown;
  /** Text for people. Default: the `rows`, or else the fields of the value. */
  readonly text?: string;
  /** Whether the text has colours. Then each part of it that the node sent was made safe before it was painted. */
  readonly isPainted?: boolean;
  readonly rows?: { readonly items: readonly JsonObject[]; readonly columns: readonly string[] };
}

const MAX_CELL_CHARS = 80;

export function outputFormat(name: string): OutputFormat {
  const format = OUTPUT_FORMATS.find((one) => one === name);
  if (format === undefined) throw invalid(`--output: expected ${OUTPUT_FORMATS.join(', ')}, got ${name}`);
  return format;
}

/** Maximum length of a text inside a value for people. */
const MAX_TEXT_CHARS = 1_000;

/** A value for people: JSON in which long texts are cut, since one file in a state would fill the terminal. */
export function shownValue(value: unknown): string {
  const cut = (_key: string, member: unknown): unknown =>
    typeof member === 'string' && member.length > MAX_TEXT_CHARS
      ? `${member.slice(0, MAX_TEXT_CHARS)}… (${member.length} characters, all of them with --output json)`
      : member;
  return JSON.stringify(value, cut, 2);
}

/** Prints a result to standard output. Nothing else goes there, so pipes work. */
export async function print(format: OutputFormat, result: Result): Promise<void> {
  process.stdout.write(withNewline(await render(format, result)));
}

async function render(format: OutputFormat, { value, text, rows, isPainted }: Result): Promise<string> {
  if (format === 'json') return JSON.stringify(value, null, 2);
  if (format === 'yaml') {
    const { stringify } = await import('yaml');
    return stringify(value, { lineWidth: 0 });
  }
  if (rows !== undefined) return table(rows.items, rows.columns, process.stdout);
  if (format === 'text' && text !== undefined) return isPainted === true ? text : forReader(text);
  return isObject(value) ? fields(value) : cell(value);
}

const withNewline = (text: string): string => (text === '' || text.endsWith('\n') ? text : `${text}\n`);

/** Colours of statuses, outcomes and severities. */
const COLOURS: Readonly<Record<string, keyof Paint>> = {
  completed: 'green',
  succeeded: 'green',
  deployed: 'green',
  ACTIVE: 'green',
  running: 'cyan',
  pending: 'dim',
  archived: 'dim',
  paused: 'yellow',
  waiting_for_human_input: 'yellow',
  warning: 'yellow',
  DRAINING: 'yellow',
  failed: 'red',
  cancelled: 'red',
  error: 'red',
  UNHEALTHY: 'red',
};

const COLOURED: ReadonlySet<string> = new Set(['status', 'outcome', 'severity']);

const LEAST_LAST_WIDTH = 8;

/** Aligned columns below a header; the last one is not padded, and on a terminal it is cut where the line ends. */
export function table(
  items: readonly JsonObject[],
  columns: readonly string[],
  stream: { readonly isTTY?: boolean; readonly columns?: number } = {},
): string {
  const paint = paintFor(stream, process.env);
  const header = columns.map((column) => column.toUpperCase());
  const lines = [header, ...items.map((item) => columns.map((column) => shortCell(item[column])))];
  const widths = columns.map((_column, index) => Math.max(...lines.map((line) => widthOf(line[index] ?? ''))));
  const before = widths.slice(0, -1).reduce((sum, width) => sum + width + 2, 0);
  const room = stream.isTTY === true ? Math.max(LEAST_LAST_WIDTH, (stream.columns || 80) - before) : MAX_CELL_CHARS;
  return lines
    .map((line, row) =>
      line
        .map((text, index) => {
          const shown = index === columns.length - 1 ? cutTo(text, room) : padded(text, widths[index] ?? 0);
          if (row === 0) return paint.bold(shown);
          const colour = COLOURED.has(columns[index] ?? '') ? COLOURS[text] : undefined;
          return colour === undefined ? shown : paint[colour](shown);
        })
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

function fields(value: JsonObject): string {
  const entries = Object.entries(value);
  const width = Math.max(0, ...entries.map(([key]) => key.length));
  return entries.map(([key, member]) => `${key.padEnd(width)}  ${cell(member)}`.trimEnd()).join('\n');
}

function cell(value: unknown): string {
  if (value === null || value === undefined) return '-';
  return printable(typeof value === 'object' ? JSON.stringify(value) : String(value));
}

function shortCell(value: unknown): string {
  const line = cell(value).replaceAll(/\s+/g, ' ');
  return cutTo(line, MAX_CELL_CHARS);
}

/** `1 error`, `2 errors`; `many` is the plural form where it is not `one` with an s. */
export const counted = (count: number, one: string, many = `${one}s`): string => `${count} ${count === 1 ? one : many}`;
