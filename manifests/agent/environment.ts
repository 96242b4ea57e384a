import { z } from 'zod';

/** Set by the node for every program; a manifest may not replace them (original-facts 2.11). */
const RESERVED = /^SVC_(?!BOOTSTRAP_DEBUG$|KEEP_CONTAINER$)/;

const name = z
  .string()
  .max(256)
  .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'expected an environment variable name')
  .refine((key) => !RESERVED.test(key), 'names that start with SVC_ are set by the node');

const value = z
  .union([z.string().max(64 * 1024), z.number(), z.boolean()], 'expected text, a number or a boolean')
  .transform(String)
  .refine((text) => !/^(secret|config):\s*$/.test(text), 'expected a name after secret: or config:');

/** `spec.env`: literal | `secret:NAME` | `config:NAME`. References stay references here; secrets are never logged. */
export const AgentEnv = z.record(name, value).prefault({});
