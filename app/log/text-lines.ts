/** Names of pino's levels. */
const LEVELS: Readonly<Record<number, string>> = {
  10: 'TRACE',
  20: 'DEBUG',
  30: 'INFO',
  40: 'WARN',
  50: 'ERROR',
  60: 'FATAL',
};

/** Where lines of a log go. */
interface LineOutput {
  write(line: string): void;
}

/** Writes each JSON line of a log as one line for people (`spec.observability.logging.format: text`). */
export const textLines = (output: LineOutput): LineOutput => ({
  write: (line) => output.write(`${textOf(line)}\n`),
});

/** `2026-01-31T12:00:00.000Z WARN  a run failed event=run_ended run=…`; what is no JSON object stays as it is. */
function textOf(line: string): string {
  const fields = fieldsOf(line);
  if (fields === null) return line.trimEnd();
  const { time, level, msg, ...rest } = fields;
  const head = [
    typeof time === 'number' ? new Date(time).toISOString() : '',
    (LEVELS[Number(level)] ?? String(level ?? '')).padEnd(5),
    typeof msg === 'string' ? msg : '',
  ];
  const more = Object.entries(rest).map(([key, value]) => `${key}=${shown(value)}`);
  return [...head, ...more].filter((part) => part !== '').join(' ');
}

function fieldsOf(line: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : null;
  } catch {
    // Written by something else than the logger.
    return null;
  }
}

/** Quoted where it would not be one word, so that a value cannot look like another field or line. */
function shown(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
  return /^[\w.:/@+-]+$/.test(text) ? text : JSON.stringify(text);
}
