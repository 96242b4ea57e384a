import { z } from 'zod';
import { generateRequest } from '../../../../tools/management/generate/contracts.ts';
import { started } from '../../../../tools/management/results.ts';
import { IdempotencyKey } from '../../../idempotency.ts';
import type { RestApp, RestParts } from '../../parts.ts';
import { CallerHeaders } from '../../schemas/fields.ts';
import { problemSchemas } from '../../schemas/problems.ts';
import { starterOf } from './starter.ts';

const schemaOf = (kind: 'agent' | 'workflow') => ({
  tags: [`${kind}s`],
  summary: `Have ${kind === 'agent' ? 'an agent' : 'a workflow'} written and deployed`,
  description:
    `Says in plain words what the ${kind} should do; an agent writes the manifest, corrects what is refused, and deploys it. ` +
    'Answers with the execution of that agent, which is followed like all of them; its last output names what was deployed.',
  headers: CallerHeaders.extend({ 'idempotency-key': IdempotencyKey.optional() }),
  body: z.strictObject(generateRequest),
  response: { 200: started, ...problemSchemas({ style: 'coded', hasBody: true, also: [403, 409] }) },
});
const config = { access: 'run', problems: 'coded' } as const;

/** POST /v1/agents/generate and POST /v1/workflows/generate: svc.agent.generate, svc.workflow.generate (spec 3). */
export function generateRoutes(app: RestApp, { authors, startKeys }: RestParts): void {
  if (authors === undefined) return;
  app.post('/v1/agents/generate', { config, schema: schemaOf('agent') }, async (request) =>
    authors.agent(request.body.input, await starterOf(request, 'generate agent', startKeys)),
  );
  app.post('/v1/workflows/generate', { config, schema: schemaOf('workflow') }, async (request) =>
    authors.workflow(request.body.input, await starterOf(request, 'generate workflow', startKeys)),
  );
}
