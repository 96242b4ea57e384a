/** A duration that people can read: two units at most. */
export function formatDuration(ms: number): string {
  if (!Number.isFinite(ms)) return '–';
  if (ms < 1) return ms === 0 ? '0 ms' : `${ms.toFixed(2)} ms`;
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(ms < 10_000 ? 2 : 1)} s`;
  const seconds = Math.round(ms / 1_000);
  if (seconds < 3_600) return twoUnits(Math.floor(seconds / 60), 'min', seconds % 60, 's');
  const minutes = Math.round(seconds / 60);
  if (minutes < 1_440) return twoUnits(Math.floor(minutes / 60), 'h', minutes % 60, 'min');
  return twoUnits(Math.floor(minutes / 1_440), 'd', Math.floor((minutes % 1_440) / 60), 'h');
}

const twoUnits = (large: number, largeUnit: string, small: number, smallUnit: string): string =>
  small === 0 ? `${large} ${largeUnit}` : `${large} ${largeUnit} ${small} ${smallUnit}`;

/** `3 min ago` for a negative difference, `in 3 min` for a positive one. */
export function formatRelative(ms: number): string {
  const size = Math.abs(ms);
  if (size < 1_500) return 'now';
  const [value, unit] =
    size < 60_000
      ? [Math.round(size / 1_000), 's']
      : size < 3_600_000
        ? [Math.round(size / 60_000), 'min']
        : size < 86_400_000
          ? [Math.round(size / 3_600_000), 'h']
          : [Math.round(size / 86_400_000), 'd'];
  return ms < 0 ? `${value} ${unit} ago` : `in ${value} ${unit}`;
}

export function formatBytes(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let [value, at] = [bytes, 0];
  while (value >= 1_024 && at < units.length - 1) [value, at] = [value / 1_024, at + 1];
  return `${at === 0 ? value : value.toFixed(1)} ${units[at]}`;
}

const figures = new Intl.NumberFormat('en-US');

export const formatCount = (value: number): string => figures.format(value);

const UUID = /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/;

/** The name of a node in a line of text; a UUID is shortened. */
export const shortNode = (node: string): string => (UUID.test(node) ? node.slice(0, 8) : plainLine(node, 60));

/** `1,000 and more` where a list goes on behind its first rows. */
export const countOf = (shown: number, isCut: boolean): string => `${formatCount(shown)}${isCut ? ' and more' : ''}`;

/** `1 delivery`, `2,000 deliveries`. */
export const counted = (value: number, one: string, many: string): string =>
  `${formatCount(value)} ${value === 1 ? one : many}`;

/**
 * Text of agents and users for one line: control characters, among them those of terminals and those that change the
 * direction of writing, are shown as signs.
 */
export function plainLine(text: string, most = 400): string {
  const cut = text.length > most ? `${text.slice(0, most)}…` : text;
  return cut.replaceAll(/\s+/g, ' ').replaceAll(UNSEEN, sign);
}

/** The same for text of several lines. */
export const plainText = (text: string): string => text.replaceAll(UNSEEN_BUT_LINES, sign);

const UNSEEN = /[\p{Cc}\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/gu;
const UNSEEN_BUT_LINES = /(?![\n\t])[\p{Cc}\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/gu;

/** C0 controls as pictures (␛), others by number. */
function sign(char: string): string {
  const code = char.codePointAt(0) ?? 0;
  if (code < 0x20) return String.fromCodePoint(0x2400 + code);
  return `⟨${code.toString(16).toUpperCase().padStart(4, '0')}⟩`;
}

export const jsonText = (value: unknown): string => JSON.stringify(value, null, 2) ?? 'undefined';
