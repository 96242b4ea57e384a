import { z } from 'zod';

/** Parts of results that several management tools share (spec 3, Tool result records). */

export const executionStatus = z.enum(['pending', 'running', 'completed', 'failed', 'cancelled']);
export const workflowStatus = z.enum(['running', 'waiting_for_human_input', 'completed', 'failed', 'cancelled']);
export const catalogStatus = z.enum(['deployed', 'paused', 'archived']);
export const catalogScope = z.enum(['user', 'tenant', 'global']);

/** ISO 8601. */
export const time = z.string();
export const labels = z.record(z.string(), z.string());
export const count = z.int().min(0);
/** Any object: what it holds is another's. */
export const anyObject = z.record(z.string(), z.unknown());

/** Of a start: it is durable, and goes on by itself. */
export const started = z.strictObject({ execution_id: z.string(), status: z.literal('started') });

/** Entries of a log. */
export const page = { total: count, limit: count, offset: count };
