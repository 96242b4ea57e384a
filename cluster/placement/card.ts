import { z } from 'zod';

/**
 * What a member tells the others with its node lease (design P2). Additive: a reader ignores what it does not know, so
 * that nodes of different versions share a fleet.
 */
export const MemberCard = z.object({
  role: z.enum(['controller', 'worker', 'hybrid']),
  tags: z.array(z.string()).max(64),
  /** Share beside other members of the same pool. */
  weight: z.number().positive().max(100),
  draining: z.boolean(),
  /** Version of the product, shown to operators. */
  version: z.string(),
  /** Of what it stores (runtime/format.ts); members that do not say are of format 1. */
  format: z.number().int().positive().optional(),
  /** Unix ms. */
  startedAt: z.number(),
  /** `host:port` that peers hold a connection to; null when the node is not watched. */
  pulse: z.string().nullable(),
  /** `host:port` of NodeClusterService; null without. */
  clusterAddress: z.string().nullable(),
  /** Base URL of REST, for operators. */
  restUrl: z.string().nullable(),
});
export type MemberCard = z.output<typeof MemberCard>;
