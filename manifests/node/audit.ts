import { z } from 'zod';
import { secretText } from '../secret.ts';

const FileSink = z.strictObject({
  kind: z.literal('file'),
  path: z.string().min(1).max(4_096),
  /** The file is renamed to `PATH.1` when it is larger; the numbers of older ones grow. */
  max_bytes: z.number().int().min(4_096).max(1_099_511_627_776).default(104_857_600),
  /** Number of renamed files that are kept. */
  keep: z.number().int().min(1).max(1_000).default(10),
});

const SyslogSink = z.strictObject({
  kind: z.literal('syslog'),
  host: z.string().min(1).max(255).default('127.0.0.1'),
  port: z.number().int().min(1).max(65_535).default(514),
  protocol: z.enum(['tcp', 'udp']).default('tcp'),
});

const HttpSink = z.strictObject({
  kind: z.literal('http'),
  /** Gets entries as JSON lines by POST. */
  url: z.url({ protocol: /^https?$/, error: 'expected an http or https URL' }),
  /** Sent as `Authorization: Bearer`. */
  token: secretText.optional(),
  timeout_ms: z.number().int().min(100).max(60_000).default(5_000),
});

/** `spec.audit`: the audit log of operations by operators and tenants (docs/operations/audit.md). */
export const NodeAudit = z.strictObject({
  /** Refuses an operation as `unavailable` when its entry cannot be written. */
  fail_closed: z.boolean().default(false),
  /** Older entries are removed, after a signed checkpoint; -1: none are removed. */
  retention_days: z
    .number()
    .int()
    .refine((days) => days === -1 || (days >= 1 && days <= 36_500), 'expected days from 1 to 36500, or -1 to keep all')
    .default(-1),
  /** Where entries are sent in addition to the store. */
  sink: z.discriminatedUnion('kind', [FileSink, SyslogSink, HttpSink]).optional(),
});

export type NodeAudit = z.output<typeof NodeAudit>;

export type AuditSinkSettings = NonNullable<NodeAudit['sink']>;
