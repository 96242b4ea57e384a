import { z } from 'zod';

const seconds = z.number().int().min(1).max(86_400);
const image = z.string().min(1).max(1_024);

/** Longest that a program of svc.execute.intent may run, by the caller's tier (decided.md "svc.execute"). */
const TierTimeouts = z.strictObject({
  free: seconds.default(30),
  pro: seconds.default(120),
  business: seconds.default(600),
  enterprise: seconds.default(600),
});

/** Images in which programs run: a POSIX `sh` and the language's own program must be in them. */
const Images = z.strictObject({
  python: image.default('docker.io/library/python:3.11-slim'),
  javascript: image.default('docker.io/library/node:20-slim'),
  bash: image.default('docker.io/library/ubuntu:22.04'),
});

/** `spec.execute`: the intent pipeline (docs/intent.md). */
export const NodePipeline = z.strictObject({
  /** Seconds. */
  tier_timeouts: TierTimeouts.prefault({}),
  images: Images.prefault({}),
  /** Likeness, 0 to 1, from which an agent that was made for an earlier goal is taken again. */
  reuse_min_score: z.number().min(0).max(1).default(0.75),
  /** Whether an agent is made for a goal that none fits; if not, the code writers that ship with the product write. */
  generate: z.boolean().default(true),
});
export type NodePipeline = z.output<typeof NodePipeline>;
