import type { ChaosApi } from '../../../../cluster/chaos/api.ts';
import type { RestApp } from '../../parts.ts';
import { callerOf } from '../../request-context.ts';
import { FaultAnswer, FaultBody } from '../../schemas/chaos.ts';
import { CallerHeaders } from '../../schemas/fields.ts';
import { problemSchemas } from '../../schemas/problems.ts';

const schema = {
  tags: ['chaos'],
  summary: 'Make a fault on purpose',
  description: 'Only where `spec.chaos` is on, for actors of the tenants it names; nodes need `svc-system` among them.',
  headers: CallerHeaders,
  body: FaultBody,
  response: { 200: FaultAnswer, ...problemSchemas({ style: 'coded', hasBody: true, also: [404, 409] }) },
};

/** POST /v1/chaos/faults. Answers when the node that acts has recorded it. */
export function injectFaultRoute(app: RestApp, chaos: ChaosApi): void {
  app.post('/v1/chaos/faults', { config: { access: 'break' }, schema }, async (request) =>
    chaos.inject(request.body, callerOf(request)),
  );
}
