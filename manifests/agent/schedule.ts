import { z } from 'zod';

/** `spec.schedule` (original-facts 2.10). */
export const AgentSchedule = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('cron'),
    cron: z
      .string()
      .regex(/^\S+(\s+\S+){4,5}$/, 'expected five or six cron fields such as "0 6 * * *"')
      .max(200),
    timezone: z.string().refine(isTimezone, 'expected a time zone such as Europe/Paris').default('UTC'),
    enabled: z.boolean().default(true),
  }),
  z.strictObject({ type: z.literal('interval'), seconds: z.number().int().min(1).max(31_536_000) }),
  z.strictObject({ type: z.literal('manual') }),
]);

function isTimezone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

const Destination = z.strictObject({
  name: z.string().min(1).max(100),
  condition: z.enum(['on_success', 'on_failure', 'always']).default('on_success'),
  type: z.enum(['email', 'webhook', 'rest', 'sms']),
  transform: z
    .strictObject({
      script: z
        .string()
        .min(1)
        .max(64 * 1024),
      args: z.array(z.string().max(4_096)).max(100).default([]),
      timeout_seconds: z.number().int().min(1).max(3_600).default(300),
    })
    .optional(),
  /** Of the type: addresses, URL, headers. */
  config: z.record(z.string(), z.json()).default({}),
});

/** `spec.delivery` (original-facts 2.10). */
export const AgentDelivery = z.strictObject({ destinations: z.array(Destination).max(20).default([]) });

/** `spec.advanced` (original-facts 2.10). `bootstrap_path` names the program that is the agent. */
export const AgentAdvanced = z.strictObject({
  warm_pool_size: z.number().int().min(0).max(100).default(0),
  startup_script: z
    .string()
    .min(1)
    .max(64 * 1024)
    .optional(),
  health_check: z.record(z.string(), z.json()).optional(),
  bootstrap_path: z.string().min(1).max(1_024).optional(),
});
