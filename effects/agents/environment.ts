import { SvcError } from '../../runtime/errors.ts';
import type { Secrets } from '../../security/api.ts';

/** One `NAME=value` holds at most 128 KiB with its closing NUL. */
const VALUE_LIMIT_BYTES = 131_071;

export interface ResolvedEnvironment {
  readonly variables: Readonly<Record<string, string>>;
  /** Values that must not appear in any output. */
  readonly secrets: readonly string[];
}

/**
 * Looks up `secret:NAME` and `config:NAME` for the tenant; `env:NAME` is plain text, since it would name a variable of the
 * node. Throws `failed_precondition` naming the reference.
 */
export async function resolveEnvironment(
  secrets: Secrets,
  tenant: string,
  given: Readonly<Record<string, string>>,
): Promise<ResolvedEnvironment> {
  const found: string[] = [];
  const variables: Record<string, string> = {};
  for (const [name, value] of Object.entries(given)) {
    if (!/^(secret|config):/.test(value)) {
      variables[name] = value.startsWith('literal:') ? value.slice('literal:'.length) : value;
      continue;
    }
    const resolved = await secrets.resolve(tenant, value);
    if (resolved.includes('\0') || Buffer.byteLength(name) + 1 + Buffer.byteLength(resolved) >= VALUE_LIMIT_BYTES)
      throw new SvcError('failed_precondition', `env.${name}: the value is too long for a variable or holds NUL`);
    if (value.startsWith('secret:')) found.push(resolved);
    variables[name] = resolved;
  }
  return { variables, secrets: found };
}

/** How an agent reaches the node over the network, where it has one (original-facts 2.11). */
export interface GatewayAddress {
  /** `http://HOST:PORT` of the internal listener; null: it is not served. */
  readonly url: string | null;
  /** Capability token of the execution (design S5). */
  readonly token: string;
}

/** What only the node knows, and nobody else may say. */
export function nodeVariables({ url, token }: GatewayAddress): Record<string, string> {
  if (url === null) return { SVC_SEAL_ENABLED: 'false' };
  const base = url.replace(/\/+$/, '');
  return { SVC_ORCHESTRATOR_URL: `${base}/x/${token}`, SVC_SEAL_ENABLED: 'true', SVC_SEAL_GATEWAY_URL: base };
}
