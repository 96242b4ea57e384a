import { isIP } from 'node:net';
import { z } from 'zod';
import { duration } from '../duration.ts';
import { bytes, millicores } from '../quantity.ts';

const DOMAIN =
  /^(\*\.)?([A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?\.)*[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?$/;

/** `example.com`, `*.example.com`, an address, or a CIDR block. */
function isNetworkTarget(text: string): boolean {
  const [address = '', prefix, ...more] = text.split('/');
  if (prefix === undefined) return isIP(text) !== 0 || (text.length <= 253 && DOMAIN.test(text));
  const family = isIP(address);
  return more.length === 0 && family !== 0 && /^\d{1,3}$/.test(prefix) && Number(prefix) <= (family === 4 ? 32 : 128);
}

const targets = z
  .array(
    z.string().refine(isNetworkTarget, {
      error: 'expected a domain such as api.example.com or *.example.com, or a CIDR',
      params: { show: true },
    }),
  )
  .max(500)
  .default([]);

const glob = z
  .string()
  .max(1_024)
  .regex(/^\//, 'expected an absolute path pattern such as /workspace/**')
  .refine((path) => !path.split('/').includes('..'), 'expected a path without ".." in it');
const globs = z.array(glob).max(200).default([]);

/** `deny`: nothing but the allowlist. `allow`: everything, or only the allowlist when it is given. `none`: nothing. */
const Network = z
  .strictObject({ mode: z.enum(['allow', 'deny', 'none']).default('deny'), allowlist: targets, denylist: targets })
  .superRefine((network, context) => {
    if (network.mode === 'none' && network.allowlist.length > 0)
      context.addIssue({
        code: 'custom',
        path: ['allowlist'],
        message: 'mode none has no network: expected no entries',
      });
  });

const KIB = 1_024;
const Resources = z
  .strictObject({
    cpu: millicores({ min: 10, max: 256_000 }).prefault(1_000),
    memory: bytes({ min: 4 * KIB ** 2, max: 4 * KIB ** 4, text: 'from 4Mi to 4Ti' }).prefault('512Mi'),
    disk: bytes({ min: KIB ** 2, max: 64 * KIB ** 4, text: 'from 1Mi to 64Ti' }).prefault('1Gi'),
    timeout: duration({ minMs: 1, maxMs: 3_600_000, text: 'at most 1h' }).prefault('1800s'),
  })
  .transform(({ cpu, memory, disk, timeout }) => ({
    cpu_millicores: cpu,
    memory_bytes: memory,
    disk_bytes: disk,
    /** Of the whole execution. */
    timeout_ms: timeout,
  }));

/** `spec.security`: deny by default (original-facts 2.8, decided.md). */
export const AgentSecurity = z.strictObject({
  network: Network.prefault({}),
  filesystem: z
    .strictObject({ read: globs, write: globs, read_only: z.boolean().default(false) })
    .superRefine((filesystem, context) => {
      if (filesystem.read_only && filesystem.write.length > 0)
        context.addIssue({ code: 'custom', path: ['write'], message: 'read_only is true: expected no entries' });
    })
    .prefault({}),
  resources: Resources.prefault({}),
});
