import type { ChangePosition } from '../../runtime/documents/change-log.ts';
import { SvcError } from '../../runtime/errors.ts';

/** Position of a reader of a feed. */
export interface FeedPosition {
  /** Number of its last record: 1, 2, 3 … over all its connections. */
  readonly count: number;
  /** Position in the changes of its tenant. */
  readonly position: ChangePosition;
  /** Number of the last event of the followed run; 0 for none. */
  readonly event: number;
}

const NUMBER = String.raw`(0|[1-9]\d{0,14})`;
const ID = new RegExp(`^${NUMBER}-${NUMBER}\\.${NUMBER}\\.([0-9a-f]{8}|0)-${NUMBER}$`);

/** The id of a record, from which any node resumes the feed. */
export const feedId = ({ count, position: { n, first, mark }, event }: FeedPosition): string =>
  `${count}-${n}.${first}.${mark === '' ? '0' : mark}-${event}`;

/** Throws `invalid_argument` for text that is not the id of a record. */
export function parseFeedId(text: string): FeedPosition {
  const [, count = '', n = '', first = '', mark = '', event = ''] = ID.exec(text) ?? [];
  if (count === '')
    throw new SvcError('invalid_argument', 'Last-Event-ID: expected the id of a record of the feed', {
      field: 'last_event_id',
    });
  const position = { n: Number(n), first: Number(first), mark: mark === '0' ? '' : mark };
  return { count: Number(count), position, event: Number(event) };
}
