import { z } from 'zod';
import { AuditRecord } from '../../manifests/audit/record.ts';
import { ToolOutcome } from '../../manifests/tool/call.ts';

/** What an allowed call came to. */
export const CallResult = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('outcome'), outcome: ToolOutcome }),
  /** A limit or a change of the tool that shows only where it runs. */
  z.object({
    kind: z.literal('denied'),
    reason: z.string(),
    message: z.string(),
    retry_after_ms: z.number().optional(),
  }),
  /** It could not be run; `code` is one of the error table. */
  z.object({ kind: z.literal('failed'), code: z.string(), message: z.string() }),
]);
export type CallResult = z.output<typeof CallResult>;

/**
 * A session's events are its audit chain (manifests/audit): each payload is one `AuditRecord`, whose `sequence` is the
 * event's number. `CallEnded` also has the result itself, beside the record and not part of what is hashed (its hash
 * is): a repeat is answered with it, and no state has to hold it. Records of an inner loop have none.
 */
export const toolSessionEvents = {
  SessionOpened: AuditRecord,
  CallDecided: AuditRecord,
  CallEnded: AuditRecord.extend({ result: CallResult.optional() }),
  EnvelopeRefused: AuditRecord,
  CallReplayed: AuditRecord,
  SessionClosed: AuditRecord,
} as const;

export type ToolSessionEventName = keyof typeof toolSessionEvents;
