import { GrantRequest, ToolGrant } from '../../manifests/tool/scope.ts';
import { defineEffect, type EffectHandler } from '../../runtime/effect.ts';
import type { ToolDesk } from '../api.ts';

/**
 * `tools.grant`, repeatable: what an execution may call, pinned. Value: `ToolGrant`. Fails with `forbidden`, `not_found`
 * for its security context.
 */
export function createGrantEffect(desk: ToolDesk): EffectHandler<typeof GrantRequest> {
  return defineEffect({
    kind: 'tools.grant',
    input: GrantRequest,
    run: async (request, { tenant }) => ToolGrant.parse(await desk.grant(tenant, request)),
  });
}
