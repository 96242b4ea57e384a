import { z } from 'zod';
import type { ChaosApi } from '../../../../cluster/chaos/api.ts';
import type { RestApp } from '../../parts.ts';
import { FaultList } from '../../schemas/chaos.ts';
import { CallerHeaders, limitField } from '../../schemas/fields.ts';
import { problemSchemas } from '../../schemas/problems.ts';

const MOST = 1_000;

const schema = {
  tags: ['chaos'],
  summary: 'List the faults that were asked for, newest first, and count those that were done',
  headers: CallerHeaders,
  querystring: z.object({ limit: limitField(50, MOST) }),
  response: { 200: FaultList, ...problemSchemas({ style: 'coded' }) },
};

/** GET /v1/chaos/faults. */
export function listFaultsRoute(app: RestApp, chaos: ChaosApi): void {
  app.get('/v1/chaos/faults', { config: { access: 'break' }, schema }, async (request) =>
    chaos.list(Math.min(request.query.limit, MOST)),
  );
}
