import { z } from 'zod';
import { AuditRecord, hash } from './record.ts';

/** How an operation ended. `begun`: with `fail_closed` an entry is written before the operation runs. */
export const ENTRY_OUTCOMES = ['ok', 'denied', 'failed', 'begun'] as const;

/** Transport of the call; `tool` is a tool that a caller calls over REST or MCP, `node` a call of another node. */
const VIA = ['rest', 'grpc', 'tool', 'node'] as const;

/** One operation of an operator or tenant. It has names and ids only, never payloads, values of secrets or tokens. */
export const OperationEntry = z.object({
  kind: z.literal('operation'),
  /**
   * Name in the table of operations, `agents.remove`; a gRPC method by its name; `storage.` and the name of a storage event.
   */
  operation: z.string(),
  /** Null for an unidentified caller. For a storage event, the run that owns the volume. */
  subject: z.string().nullable(),
  caller: z.string().nullable(),
  roles: z.array(z.string()),
  /** Id or name of the changed object, as the path or the answer has it. */
  target: z.string().nullable(),
  outcome: z.enum(ENTRY_OUTCOMES),
  /** Code of the error table. */
  error: z.string().nullable(),
  reason: z.string().nullable(),
  /** W3C trace id. */
  trace: z.string(),
  via: z.enum(VIA),
  /** Address of a caller that was denied. */
  address: z.string().nullable(),
  /** Number of equal denials, failures or storage events in this entry. */
  count: z.number().int().min(1),
  /** Sequence of the entry `begun` of the same operation. */
  begun: z.number().int().min(1).nullable(),
});

export type OperationEntry = z.output<typeof OperationEntry>;

/** Content of a record of a chain of operations. */
export const EntryBody = z.discriminatedUnion('kind', [
  /** A process of the node wrote its first entry for this tenant, or its first one after `closed`. */
  z.object({ kind: z.literal('opened'), node: z.string(), tenant: z.string(), version: z.string() }),
  OperationEntry,
  /** This number of entries could not be written: the store was down for longer than the node can buffer entries. */
  z.object({ kind: z.literal('lost'), count: z.number().int().min(1) }),
  /** The node stopped normally, or had no entry of the tenant for a while. */
  z.object({ kind: z.literal('closed'), reason: z.string() }),
]);

export type EntryBody = z.output<typeof EntryBody>;

/** One link of the chain that a node writes for a tenant. */
export const EntryRecord = AuditRecord.extend({ body: EntryBody });

export type EntryRecord = z.output<typeof EntryRecord>;

/** A position in the chain of a node. */
const ChainPosition = z.strictObject({ node: z.string(), sequence: z.number().int().min(1), hash });

/** `typ` in the header of a statement. */
export const STATEMENT_TYPE = 'svc-audit-statement+jws';

/**
 * A node signs which ends of a tenant's chains it has seen: that of its own chain, and those that other nodes have signed.
 * Since nodes sign each other's ends, a chain that is cut or rewritten differs from a statement of another node.
 */
export const Statement = z.strictObject({
  tenant: z.string(),
  by: z.string(),
  /** ISO time. */
  signed_at: z.string(),
  ends: z.array(ChainPosition),
});

export type Statement = z.output<typeof Statement>;

/** `typ` in the header of a checkpoint. */
export const CHECKPOINT_TYPE = 'svc-audit-checkpoint+jws';

/** The beginning of a chain was removed because of its age, up to and with this record. */
export const Checkpoint = z.strictObject({
  tenant: z.string(),
  node: z.string(),
  sequence: z.number().int().min(1),
  hash,
  signed_at: z.string(),
});

export type Checkpoint = z.output<typeof Checkpoint>;

/** All chains of a tenant with the signed statements about them: the file that `svc audit export` writes and `verify` reads. */
export const EntryExport = z.strictObject({
  format: z.literal('svc-audit-operations/v1'),
  tenant: z.string(),
  chains: z.array(
    z.strictObject({
      node: z.string(),
      /** Compact JWS (RS256, `kid` of the JWKS) of a `Checkpoint`; null when nothing was removed. */
      checkpoint: z.string().nullable(),
      records: z.array(EntryRecord),
    }),
  ),
  /** Compact JWS of a `Statement` each, one for each node, and one of the export. */
  statements: z.array(z.string()),
});

export type EntryExport = z.output<typeof EntryExport>;
