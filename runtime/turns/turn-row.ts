/**
 * One line of the journal (design R3): what became of one mailbox entry. One that was `postponed` had no turn; it has another line
 * when it is handled.
 */
export interface TurnRow {
  readonly outcome: 'done' | 'refused' | 'retried' | 'deferred' | 'stale' | 'dead-lettered' | 'postponed';
  /** Recorded time of the turn. */
  readonly now: number;
  readonly waitMs: number;
  readonly turnUs: number;
  readonly error?: string;
  /** Messages that waited behind a failing one and were handled in this turn. */
  readonly drained?: readonly { readonly body: string; readonly outcome: string; readonly error?: string }[];
}
