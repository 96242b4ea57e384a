import { z } from 'zod';

const tenant = z.string().min(1).max(128);

/** Places that the sandbox itself fills: nothing of the host can be there. */
const TAKEN = /^\/(?:$|(?:proc|sys|dev|workspace)(?:\/|$))/;

export const SharedPath = z.strictObject({
  /** Of this host; commands find it at the same path. */
  path: z
    .string()
    .max(4_096)
    .regex(/^\/[^\0]*$/, 'expected an absolute path')
    .refine((path) => !path.split('/').includes('..'), 'expected a path without ".." in it')
    .transform((path) => path.replace(/\/+$/, '') || '/')
    .refine((path) => !TAKEN.test(path), 'expected a path other than /, and none in /proc, /sys, /dev or /workspace'),
  writable: z.boolean().default(false),
});

/** `spec.runtime.host_commands`: `cmd.run`, System states, ExecuteSystemCommand and agents' programs on this host. */
export const NodeHostCommands = z.strictObject({
  /** Tenants that may run any when authentication is on (design S6). */
  allow: z.array(tenant).max(1_000).default([]),
  /**
   * `auto`: sandboxed where the node can; where it cannot, a node without identity provider warns and runs them as they are,
   * and one with an identity provider does not start. `required`: sandboxed, or the node does not start. `off`: as they are.
   */
  sandbox: z.enum(['auto', 'required', 'off']).default('auto'),
  /** `host`: the host's network for System states, and for agents whose manifest allows all of the network. */
  network: z.enum(['none', 'host']).default('none'),
  /** What commands see of this host beside the system's programs. */
  paths: z.array(SharedPath).max(100).default([]),
});
