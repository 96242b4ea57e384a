import { z } from 'zod';
import { type Action, allows, heldScopes } from '../../security/api.ts';
import { operation } from './operation.ts';

const ACTIONS = ['read', 'run', 'write', 'audit', 'inspect', 'operate', 'break'] as const satisfies readonly Action[];

const Me = z
  .object({
    kind: z
      .enum(['local', 'operator', 'service_account', 'consumer', 'tenant_user', 'actor'])
      .describe('local: the operator of a loopback node without an identity provider.'),
    subject: z.string(),
    tenant: z.string(),
    roles: z.array(z.string()),
    tier: z.string(),
    actions: z
      .array(z.enum(ACTIONS))
      .describe('What the roles allow. inspect, operate and break are about the fleet; the others about the tenant.'),
    key: z
      .object({ id: z.string(), scopes: z.array(z.string()).readonly().describe('As granted.') })
      .nullable()
      .describe('API key of the call; null for other tokens.'),
    scopes: z
      .array(z.string())
      .readonly()
      .describe('`AREA:read` and `AREA:write` (`tools:call`) that the key allows; all without a key.'),
  })
  .meta({ id: 'Me' });

/** Operations of a caller on itself. */
export const CALLER_OPERATIONS = [
  operation({
    tag: 'callers',
    needs: [],
    name: 'callers.me',
    summary: 'Show who calls, and what the caller may do',
    description: 'A call is allowed when `actions` has its action and `scopes` its scope. Every API key may call this.',
    access: 'read',
    scope: 'any',
    input: {},
    answer: Me,
    rest: { method: 'GET', path: '/v1/me', style: 'coded' },
    commands: ['whoami', 'login'],
    async handle({ isReadOnly = false }, { caller }) {
      const { kind, subject, tenant, roles, tier, key } = caller;
      return {
        kind,
        subject,
        tenant,
        roles,
        tier,
        actions: ACTIONS.filter((action) => allows(caller, action) && (!isReadOnly || action === 'read')),
        key: key === undefined ? null : { id: key.id, scopes: key.scopes },
        scopes: heldScopes(key?.scopes ?? null),
      };
    },
  }),
];
