import { SvcError } from './errors.ts';

/** Of the product, as `package.json` and every node say it. */
export const VERSION = '0.1.0';

/**
 * The format of all that is stored: actor store, documents, data directory. Rises by one with each change of a stored shape
 * that a program of the format before would misread or drop. Stores without a format are of format 1.
 */
export const FORMAT = 3;

/**
 * Programs of an older format than this one cannot read what this program writes. It is in force once no node of an older
 * format is left (expand, then contract); until then a program of `EXPANDS_FROM` may still write beside this one.
 */
export const MIN_READER = 3;
export const EXPANDS_FROM = 1;

/**
 * Beside it this program reads and writes one more: a store on Redis Cluster that was made by it, whose partitions have hash
 * tags together (redis/slot-tags.ts). All other stores stay as they are.
 */
export const TAGS_FORMAT = 4;
export const NEWEST_READ = TAGS_FORMAT;

/** What programs of one format left in a store. */
export interface FormatNote {
  readonly format: number;
  /** Programs of an older format are refused. */
  readonly min_reader: number;
  /** Version of the program. */
  readonly written_by: string;
}

export const ownNote = (min_reader: number): FormatNote => ({ format: FORMAT, min_reader, written_by: VERSION });

/** The note that refuses programs which do not read `format`. */
export const formatNoteText = (format: number): string =>
  JSON.stringify({ format, min_reader: format, written_by: VERSION } satisfies FormatNote);

/** The note a text holds. Throws `failed_precondition`: a note that cannot be read is not of any version so far. */
export function parseFormatNote(store: string, text: string): FormatNote {
  const found = fieldsOf(text);
  const { format, min_reader, written_by } = found;
  if (typeof format !== 'number' || typeof min_reader !== 'number' || typeof written_by !== 'string') {
    throw new SvcError('failed_precondition', `${store} has a format note that svc ${VERSION} cannot read`);
  }
  return { format, min_reader, written_by };
}

function fieldsOf(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? { ...value } : {};
  } catch {
    return {};
  }
}

/** Throws `failed_precondition` when a program of this format cannot read what such notes were left with. */
export function refuseUnreadable(store: string, notes: readonly FormatNote[]): void {
  const newest = notes.reduce<FormatNote | null>((a, b) => (a === null || b.min_reader > a.min_reader ? b : a), null);
  if (newest === null || newest.min_reader <= NEWEST_READ) return;
  throw new SvcError(
    'failed_precondition',
    `${store} has format ${newest.format}, written by svc ${newest.written_by}, and this is svc ${VERSION}, which reads ` +
      `formats 1 to ${NEWEST_READ}: nothing was changed; start the newer version, or restore all stores from backups that the ` +
      'older version wrote',
  );
}
