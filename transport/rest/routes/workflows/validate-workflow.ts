import { z } from 'zod';
import { acceptYamlBodies } from '../../body-parsers.ts';
import type { RestApp } from '../../parts.ts';
import { callerOf } from '../../request-context.ts';
import { CallerHeaders } from '../../schemas/fields.ts';
import { problemSchemas } from '../../schemas/problems.ts';
import { ValidateAnswer, ValidateBody } from '../../schemas/workflows.ts';
import { manifestBody } from '../manifest-body.ts';
import { readerOf, type WorkflowRouteParts, workflowRoute } from './parts.ts';

/** Every document has an answer here. */
const Anything = z.unknown().describe('The workflow manifest.');

const schema = {
  tags: ['workflows'],
  summary: 'Check a workflow manifest without deploying it',
  description: 'Always 200: `valid` is false when there are errors. Warnings never refuse a deploy.',
  headers: CallerHeaders,
  body: { content: { 'application/json': { schema: ValidateBody }, 'application/yaml': { schema: Anything } } },
  response: { 200: ValidateAnswer, ...problemSchemas({ style: 'coded', hasBody: true }) },
};

/** POST /v1/workflows/validate: changes nothing, so a reader may. In a plugin of its own, for the YAML. */
export function validateWorkflowRoute(app: RestApp, { catalog }: WorkflowRouteParts): void {
  app.register((plugin: RestApp, _options, done) => {
    acceptYamlBodies(plugin);
    plugin.post('/v1/workflows/validate', { config: workflowRoute('read'), schema }, async (request) =>
      catalog.validate(readerOf(callerOf(request)), manifestBody(ValidateBody, request.body).manifest_yaml),
    );
    done();
  });
}
