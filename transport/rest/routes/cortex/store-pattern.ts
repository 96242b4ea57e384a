import type { Patterns } from '../../../../catalog/patterns-api.ts';
import type { RestApp } from '../../parts.ts';
import { callerOf } from '../../request-context.ts';
import { CallerHeaders } from '../../schemas/fields.ts';
import { StorePatternAnswer, StorePatternBody } from '../../schemas/patterns.ts';
import { problemSchemas } from '../../schemas/problems.ts';

const schema = {
  tags: ['cortex'],
  summary: 'Store an error and what solved it',
  description: 'A pattern that means the same is counted once more instead.',
  headers: CallerHeaders,
  body: StorePatternBody,
  response: { 200: StorePatternAnswer, ...problemSchemas({ style: 'coded', hasBody: true, also: [409] }) },
};

/** POST /v1/cortex/patterns. */
export function storePatternRoute(app: RestApp, patterns: Patterns): void {
  app.post('/v1/cortex/patterns', { config: { access: 'write' }, schema }, async (request) => {
    const { solution_code, ...body } = request.body;
    return patterns.store(callerOf(request).tenant, {
      errorSignature: body.error_signature,
      errorType: body.error_type,
      errorMessage: body.error_message,
      solutionApproach: body.solution_approach,
      ...(solution_code === undefined ? {} : { solutionCode: solution_code }),
      tags: body.tags,
    });
  });
}
