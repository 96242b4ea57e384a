import { z } from 'zod';
import { ToolSubject } from '../tool/call.ts';
import { GrantRequest } from '../tool/scope.ts';

const description = z.string().max(2_000).optional();

const path = z.string().min(1).max(1_024);

/** Fields of entries that are read before the first prompt. */
const READ = [
  z.strictObject({ type: z.literal('file'), path, description }),
  z.strictObject({ type: z.literal('directory'), path, description }),
  z.strictObject({ type: z.literal('url'), url: z.url({ protocol: /^https?$/ }), description }),
] as const;

/** Longest text of one entry in the manifest. */
const MAX_TEXT = 256 * 1024;

/** One entry of `spec.context`. */
export const ContextEntry = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('text'), content: z.string().max(MAX_TEXT), description }),
  ...READ,
]);

export type ContextEntry = z.output<typeof ContextEntry>;

/** `spec.context[]`: attachments of the prompt (W22). */
export const AgentContext = z.array(ContextEntry).max(50).default([]);

/**
 * Input of the effect `context.read` (repeatable): the files, directories and URLs of `spec.context`. They are read under the
 * rules of `fs.read` and `web.fetch`, whether or not the agent has these tools, because the author of the manifest names them.
 */
export const ContextRequest = z.object({
  entries: z.array(z.object({ index: z.int().min(0), entry: z.discriminatedUnion('type', READ) })).max(50),
  /** With manifest null: `spec.tools` does not apply. */
  grant: GrantRequest,
  subject: ToolSubject,
});

export type ContextRequest = z.output<typeof ContextRequest>;

/** Its result: one text for each entry, in their order. */
export const ContextTexts = z.object({ texts: z.array(z.string()) });

/** Limits of the reads for one execution. */
export const CONTEXT_LIMITS = {
  /** All texts together, UTF-8. */
  bytes: 512 * 1024,
  /** Of one directory, including its subdirectories. */
  files: 200,
  /** Levels of subdirectories. */
  depth: 8,
  /** Entries of one directory, without its subdirectories. */
  entries: 1_000,
  /** One page. */
  pageMs: 30_000,
  /** All reads, in one attempt. */
  attemptMs: 300_000,
} as const;
