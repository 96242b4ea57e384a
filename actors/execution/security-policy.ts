import { z } from 'zod';

/** uint64 arrives as a number or, from protobuf JSON, as decimal text. Zero is protobuf's "not given". */
const amount = z.union([
  z.number().int().nonnegative().max(Number.MAX_SAFE_INTEGER),
  z
    .string()
    .regex(/^\d{1,15}$/, 'expected a whole number')
    .transform(Number),
]);

/** Lists of names; protobuf's empty list is "not given". */
const rules = (...fields: readonly string[]) =>
  z.strictObject(Object.fromEntries(fields.map((field) => [field, z.array(z.string()).default([])]))).nullish();

/**
 * gRPC SecurityPolicy as JSON (spec 1, original-facts 1.1). Only its resource limits act on the loop itself; network
 * and filesystem rules speak to tools. Nothing here grants any, and a program they could not bind is refused.
 */
export const SecurityPolicy = z.looseObject({
  network_policy: rules('allowed_domains', 'blocked_domains'),
  filesystem_policy: rules('read_paths', 'write_paths'),
  resource_limits: z
    .looseObject({
      cpu_millicores: amount.nullish(),
      memory_bytes: amount.nullish(),
      timeout_seconds: amount.nullish(),
    })
    .nullish(),
});
export type SecurityPolicy = z.output<typeof SecurityPolicy>;

/** The smaller of what the manifest has and what the policy gives; a policy never widens. */
export function narrow(own: number, given: number | null | undefined): number {
  return given === null || given === undefined || given === 0 ? own : Math.min(own, given);
}
